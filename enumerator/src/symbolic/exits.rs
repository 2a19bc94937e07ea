//! Loops that are left by several exits behind which different things happen.
//!
//! A summary knows where such a loop may be left, not where it was. Where that matters, the instrumented program says by which exit it goes: to
//! the search, leaving the loop is a branch, whether the loop was executed here or summarized. Outcome `i` is exit `i` of [`cfg::Loop`].
//!
//! **Every** leaving of such a loop is a node of the schedule, so nothing around it counts as silent.
//!
//! [`cfg::Loop`]: crate::analysis::cfg

use super::engine::Engine;
use super::expr::{Expr, Origin};
use super::run::Stop;
use super::state::{Leaving, State};
use crate::analysis::cfg::LoopId;
use crate::model::{BlockId, FuncId, InstrId};

impl Engine<'_> {
    /// The instruction that names the branch at which a thread stands, for the archive and for what is marked.
    pub fn branch_at(&self, state: &State, slot: usize) -> (FuncId, InstrId) {
        let frame = state.frame(slot);
        match state.threads[slot].leaving {
            Some(leaving) => {
                let header = &self.module.functions[frame.func].blocks[leaving.header];
                (frame.func, header.first)
            }
            None => (frame.func, frame.next),
        }
    }

    /// Are the exits of this loop told apart?
    pub(super) fn is_told(&self, func: FuncId, id: LoopId) -> bool {
        let header = self.facts.cfg(func).loops[id].header;
        self.told.contains(&(func, header))
    }

    /// Does a loop whose exits are told apart lie among these blocks?
    pub(super) fn tells_among(
        &self,
        func: FuncId,
        blocks: impl IntoIterator<Item = BlockId>,
    ) -> bool {
        !self.told.is_empty()
            && (blocks.into_iter()).any(|block| self.told.contains(&(func, block)))
    }

    /// The thread was executed out of a loop: it says by which exit.
    pub(super) fn left(&mut self, state: &mut State, slot: usize, id: LoopId) -> Option<Stop> {
        let frame = state.frame(slot);
        let (func, to) = (frame.func, frame.block);
        let one = &self.facts.cfg(func).loops[id];
        let from = frame.entered?;
        let exit = one.exits.iter().position(|way| *way == (from, to))?;
        let always = self.pool.bool(true);
        state.thread_mut(slot).leaving = Some(Leaving {
            header: one.header,
            behind: true,
        });
        let outcomes = vec![(exit as u32, always)];
        Some(Stop::Branch { outcomes })
    }

    /// The thread is at the header of a loop that was summarized: it may leave by any of these exits.
    pub(super) fn leave_somewhere(
        &mut self,
        state: &mut State,
        slot: usize,
        id: LoopId,
        beginning: Option<u32>,
    ) -> Stop {
        let func = state.frame(slot).func;
        let one = &self.facts.cfg(func).loops[id];
        let mut exits = Vec::new();
        for (exit, (from, to)) in one.exits.iter().enumerate() {
            if self.leave_by(&mut state.clone(), slot, func, *from, *to) {
                exits.push(exit);
            }
        }
        let place = self.place(func, self.module.functions[func].blocks[one.header].first);
        let chosen = |engine: &mut Self, exit: usize| -> Expr {
            let name = format!("the loop at {place} is left by its exit {exit}");
            engine.exit_before(beginning, exit, |engine| {
                let origin = Origin::Summary { site: 0, name };
                engine.pool.symbol(1, origin)
            })
        };
        let outcomes = match exits.as_slice() {
            [] => return Stop::Gap(format!("the loop at {place} never ends")),
            [only] => vec![(*only as u32, self.pool.bool(true))],
            _ => (exits.into_iter())
                .map(|exit| (exit as u32, chosen(self, exit)))
                .collect(),
        };
        state.thread_mut(slot).leaving = Some(Leaving {
            header: one.header,
            behind: false,
        });
        Stop::Branch { outcomes }
    }

    /// The thread has said by which exit it goes.
    pub(super) fn leave_told(
        &mut self,
        state: &mut State,
        slot: usize,
        leaving: Leaving,
        exit: usize,
    ) {
        if leaving.behind {
            return;
        }
        let func = state.frame(slot).func;
        let loops = &self.facts.cfg(func).loops;
        let id = loops.headed_by(leaving.header).expect("it heads a loop");
        let (from, to) = loops[id].exits[exit];
        let left = self.leave_by(state, slot, func, from, to);
        assert!(left, "only exits that can be taken are outcomes");
    }
}
