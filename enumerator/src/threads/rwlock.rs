//! Read-write locks. Operations on one lock follow each other; the critical sections of readers still overlap.

use schedules::primitives::{Arg, NodeOp};

use super::{Attempt, Blocked, Kind, Operation, World, libc_code};

const SIZE: u64 = 56;

fn free() -> Kind {
    Kind::Rwlock {
        writer: None,
        readers: Vec::new(),
    }
}

impl World {
    pub(super) fn rw_init(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let address = op.pointer(self, Arg::Rwlock);
        self.reset(op, address, SIZE, free())
    }

    fn rwlock(&mut self, op: &mut Operation<'_, '_>) -> Result<usize, Attempt> {
        let address = op.pointer(self, Arg::Rwlock);
        let index = self.object_at(op, address, SIZE, free);
        if !matches!(self.objects[index].kind, Kind::Rwlock { .. }) {
            self.objects[index].kind = free();
        }
        let argument = op.position_of(Arg::Rwlock);
        self.exact(op, argument, index)
    }

    pub(super) fn rw_lock(
        &mut self,
        op: &mut Operation<'_, '_>,
        write: bool,
        expire: bool,
    ) -> Attempt {
        let index = match self.rwlock(op) {
            Ok(index) => index,
            Err(gap) => return gap,
        };
        let only_try = matches!(op.row.op, NodeOp::RwTryReadLock | NodeOp::RwTryWriteLock);
        let Kind::Rwlock { writer, readers } = self.objects[index].kind.clone() else {
            unreachable!("checked by `rwlock`");
        };
        let mut in_the_way: Vec<usize> = writer.into_iter().collect();
        if write {
            in_the_way.extend(&readers);
        }
        let node = op.row.op;
        if in_the_way.is_empty() {
            self.node_on(op, node, index, &[]);
            if let Kind::Rwlock { writer, readers } = &mut self.objects[index].kind {
                match write {
                    true => *writer = Some(op.slot),
                    false => readers.push(op.slot),
                }
            }
            return op.return_code(self, 0);
        }
        if only_try {
            self.node_on(op, node, index, &[]);
            return op.return_code(self, libc_code::EBUSY);
        }
        if writer == Some(op.slot) {
            // glibc notices a thread that holds the lock for writing.
            self.node_on(op, node, index, &[]);
            return op.return_code(self, libc_code::EDEADLK);
        }
        if expire && op.is_timed() {
            return self.time_out(op, index);
        }
        Attempt::Blocked(Blocked {
            op: node,
            site: op.site(),
            object: self.objects[index].name.clone(),
            waits_for: in_the_way,
            timed: op.is_timed(),
        })
    }

    pub(super) fn rw_unlock(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let index = match self.rwlock(op) {
            Ok(index) => index,
            Err(gap) => return gap,
        };
        self.node_on(op, NodeOp::RwUnlock, index, &[]);
        if let Kind::Rwlock { writer, readers } = &mut self.objects[index].kind {
            if *writer == Some(op.slot) {
                *writer = None;
            } else if let Some(at) = readers.iter().position(|reader| *reader == op.slot) {
                readers.remove(at);
            }
        }
        op.return_code(self, 0)
    }
}
