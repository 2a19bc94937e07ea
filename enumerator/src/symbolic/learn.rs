//! Equalities that the user assumes are put in wherever the value stands, so that what is computed from it is known too.
//!
//! The condition stays part of the path: whoever still holds the old term can prove what it equals.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::engine::Engine;
use super::expr::{Expr, Node};
use super::state::{State, Val};
use crate::model::BinOp;
use schedules::archive::CompareOp;

impl Engine<'_> {
    /// Puts constants in for terms that a condition equates with them: in memory, and in the registers of the thread that learned it.
    pub(super) fn put_in(&mut self, state: &mut State, slot: usize, condition: Expr) {
        let mut map = BTreeMap::new();
        self.equalities(condition, &mut map);
        // Others may have run before it was certain.
        if map.is_empty() || !state.is_alone(slot) {
            return;
        }
        let memory = Rc::make_mut(&mut state.memory);
        for content in memory.values_mut() {
            let changed: Vec<(u64, u64, Expr)> = content
                .cells()
                .filter_map(|(offset, size, value)| {
                    let new = self.pool.substitute(value, &map);
                    (new != value).then_some((offset, size, new))
                })
                .collect();
            if !changed.is_empty() {
                let content = Rc::make_mut(content);
                for (offset, size, value) in changed {
                    content.put(self, offset, size, value);
                }
            }
        }
        for frame in &mut state.thread_mut(slot).frames {
            let frame = Rc::make_mut(frame);
            let registers = frame.regs.iter_mut().flatten();
            for value in registers.chain(&mut frame.args).chain(&mut frame.varargs) {
                if let Val::Scalar(term) = value {
                    *term = self.pool.substitute(*term, &map);
                }
            }
        }
    }

    fn equalities(&self, condition: Expr, map: &mut BTreeMap<Expr, Expr>) {
        match *self.pool.node(condition) {
            Node::Bin(BinOp::And, a, b) => {
                self.equalities(a, map);
                self.equalities(b, map);
            }
            Node::Cmp(CompareOp::Eq, a, b) if self.pool.as_const(b).is_some() => {
                map.insert(a, b);
            }
            _ => {}
        }
    }
}
