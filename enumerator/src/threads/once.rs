//! `pthread_once` and `call_once`: the first to come runs the routine, the others wait until it has returned.

use schedules::primitives::{Arg, NodeOp};

use super::trail::{NodeKind, SiteRef, Subject};
use super::{Attempt, Blocked, Kind, OnceState, Operation, World};
use crate::model::InstrId;
use crate::symbolic::engine::Engine;

impl World {
    pub(super) fn once_enter(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let address = op.pointer(self, Arg::Once);
        let index = self.object_at(op, address, 4, || Kind::Once(OnceState::Never));
        let argument = op.position_of(Arg::Once);
        let index = match self.exact(op, argument, index) {
            Ok(index) => index,
            Err(unclear) => return unclear,
        };
        let Kind::Once(state) = self.objects[index].kind else {
            return Attempt::Gap(format!("what is used at {} is no once-object", op.place()));
        };
        match state {
            OnceState::Done => {
                self.node_on(op, NodeOp::OnceEnter, index, &[]);
                op.return_code(self, 0)
            }
            OnceState::Running { slot } => Attempt::Blocked(Blocked {
                op: NodeOp::OnceEnter,
                site: op.site(),
                object: self.objects[index].name.clone(),
                waits_for: vec![slot],
                timed: false,
            }),
            OnceState::Never => {
                let routine = op.pointer(self, Arg::Routine);
                let Some(function) = op.named_function(routine) else {
                    return Attempt::Gap(format!("the routine at {} is not known", op.place()));
                };
                if op.engine.module.functions[function].is_declaration() {
                    return Attempt::Gap(format!(
                        "the routine at {} is outside the program",
                        op.place()
                    ));
                }
                self.node_on(op, NodeOp::OnceEnter, index, &[]);
                self.objects[index].kind = Kind::Once(OnceState::Running { slot: op.slot });
                let depth = self.state.threads[op.slot].frames.len();
                self.threads[op.slot].routines.push((depth, index));
                op.engine
                    .push_frame(&mut self.state, op.slot, function, Vec::new());
                Attempt::Done
            }
        }
    }

    /// The routine that a thread ran has returned.
    pub(crate) fn once_leave(&mut self, engine: &mut Engine<'_>, slot: usize) {
        let (depth, index) = self.threads[slot]
            .routines
            .pop()
            .expect("a routine has returned");
        debug_assert_eq!(self.state.threads[slot].frames.len(), depth);
        // Returning went on behind the call without a value.
        let frame = self.state.frame(slot);
        let call = InstrId(frame.next.0 - 1);
        let site = SiteRef::Instr(frame.func, call);
        let zero = engine.word(32, 0);
        self.state.frame_mut(slot).regs[call.0 as usize] = Some(zero);
        let kind = NodeKind {
            site,
            op: NodeOp::OnceLeave,
            subject: Subject::Object(self.objects[index].name.clone()),
            serial: false,
        };
        let after = self.objects[index].last.clone();
        let event = self.trail.add(slot, kind, &after);
        self.objects[index].last = vec![event];
        self.objects[index].kind = Kind::Once(OnceState::Done);
    }
}
