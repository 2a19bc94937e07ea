//! Operations on an object that may be one of several: what would have to be asked to know.

use super::{Attempt, Kind, Operation, Undecided, World};
use crate::analysis::AbstractObject;
use crate::model::{FuncId, InstrId};
use crate::symbolic::expr::Expr;
use crate::symbolic::memory::Place;
use crate::symbolic::questions::Which;

/// A question before a call, as far as one operation needs it.
#[derive(Clone, Debug)]
pub struct Ask {
    pub call: (FuncId, InstrId),
    /// Position of the argument.
    pub argument: u8,
    pub candidates: Vec<Which>,
}

impl World {
    /// The object that an operation is about: the one at `index`, or one that is known by now to be the same. One that may be several cannot be
    /// of a kind whose state matters.
    pub(super) fn exact(
        &mut self,
        op: &mut Operation<'_, '_>,
        argument: usize,
        index: usize,
    ) -> Result<usize, Attempt> {
        let rivals = self.aliases(op, index);
        self.told_apart(op, argument, index, &rivals)
    }

    /// As [`World::exact`], where only some others matter.
    pub(super) fn told_apart(
        &mut self,
        op: &mut Operation<'_, '_>,
        argument: usize,
        index: usize,
        rivals: &[usize],
    ) -> Result<usize, Attempt> {
        if rivals.is_empty() {
            return Ok(index);
        }
        if let Some(same) = self.same_in_use(op, index, rivals) {
            return Ok(same);
        }
        let address = self.objects[index].address;
        let what = format!(
            "which object `{}` at {} names is not known: {}",
            op.row.symbol,
            op.place(),
            op.engine.why_unknown(address)
        );
        Err(self.unclear(op, argument, address, rivals, what))
    }

    /// Of an idle object that surely is one of the others by another name: that one, if it is the only one with a state.
    pub(super) fn same_in_use(
        &mut self,
        op: &mut Operation<'_, '_>,
        index: usize,
        rivals: &[usize],
    ) -> Option<usize> {
        let used = |index: &&usize| !is_idle(&self.objects[**index].kind);
        let [only] = rivals.iter().filter(used).copied().collect::<Vec<_>>()[..] else {
            return None;
        };
        let (here, there) = (self.objects[index].address, self.objects[only].address);
        let equal = op.engine.same_object_address(here, there);
        let same = is_idle(&self.objects[index].kind) && op.engine.must(&self.state, equal);
        same.then_some(only)
    }

    /// An object that has to exist already, or what would have to be asked for it.
    pub(super) fn existing(
        &mut self,
        op: &mut Operation<'_, '_>,
        argument: usize,
        is_such: impl Fn(&Kind) -> bool,
        what: String,
    ) -> Result<usize, Attempt> {
        let address = op.argument(self, argument);
        if let Some(index) = self.find(op, address) {
            return self.exact(op, argument, index);
        }
        let mut rivals = Vec::new();
        for index in 0..self.objects.len() {
            if !is_such(&self.objects[index].kind) {
                continue;
            }
            let known = self.objects[index].address;
            let equal = op.engine.same_object_address(known, address);
            if op.engine.may(&self.state, equal) {
                rivals.push(index);
            }
        }
        Err(self.unclear(op, argument, address, &rivals, what))
    }

    /// The operation is about the object at `address`, which may be one of `rivals`: a gap, unless somebody could be asked.
    pub(super) fn unclear(
        &mut self,
        op: &mut Operation<'_, '_>,
        argument: usize,
        address: Expr,
        rivals: &[usize],
        what: String,
    ) -> Attempt {
        let mut candidates = Vec::new();
        let mut condition = None;
        for &index in rivals {
            if let Some(which) = self.candidate(op, index) {
                candidates.push(which);
                let known = self.objects[index].address;
                condition.get_or_insert_with(|| op.engine.same_object_address(known, address));
            }
        }
        let Some(condition) = condition else {
            return Attempt::Gap(what);
        };
        candidates.sort_unstable();
        candidates.dedup();
        Attempt::Undecided(Undecided {
            condition,
            what,
            ask: Some(Ask {
                call: (op.func, op.id),
                argument: argument as u8,
                candidates,
            }),
        })
    }

    /// How the thread can tell whether an address is that of an object.
    fn candidate(&mut self, op: &mut Operation<'_, '_>, index: usize) -> Option<Which> {
        let object = &self.objects[index];
        if let [target] = op.engine.resolve(object.address).as_slice()
            && let Place::Object(id, offset) = target.place
            && let AbstractObject::Global(global) = op.engine.objects.info(id).kind
            && !op.engine.module.globals[global].thread_local
            && let Some(offset) = op.engine.pool.as_const(offset)
        {
            return Some(Which::Global(global, u64::try_from(offset).ok()?));
        }
        match &object.kind {
            // Its own: the thread remembers what it took there.
            Kind::Mutex { owner: Some(owner) } if owner.slot == op.slot => match owner.site {
                super::trail::SiteRef::Instr(func, id) => Some(Which::Last(func, id)),
                super::trail::SiteRef::Entry(_) => None,
            },
            _ => None,
        }
    }
}

/// Is the object as if it had never been used?
fn is_idle(kind: &Kind) -> bool {
    match kind {
        Kind::Mutex { owner } => owner.is_none(),
        Kind::Cond { waiters } => waiters.is_empty(),
        Kind::Rwlock { writer, readers } => writer.is_none() && readers.is_empty(),
        Kind::Barrier { .. } | Kind::Semaphore { .. } | Kind::Once(_) => false,
    }
}
