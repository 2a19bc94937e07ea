//! Semaphores.

use schedules::primitives::{Arg, NodeOp};

use super::{Attempt, Blocked, Kind, Operation, Undecided, World, libc_code};
use crate::model::BinOp;
use crate::symbolic::expr::Expr;

const SIZE: u64 = 32;

impl World {
    pub(super) fn sem_init(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let address = op.pointer(self, Arg::Sem);
        let value = op.argument(self, 2);
        self.reset(op, address, SIZE, Kind::Semaphore { value })
    }

    fn semaphore(&mut self, op: &mut Operation<'_, '_>) -> Result<(usize, Expr), Attempt> {
        let argument = op.position_of(Arg::Sem);
        let what = format!(
            "the semaphore at {} was not initialized by code that was seen",
            op.place()
        );
        let is_semaphore = |kind: &Kind| matches!(kind, Kind::Semaphore { .. });
        let index = self.existing(op, argument, is_semaphore, what.clone())?;
        match self.objects[index].kind {
            Kind::Semaphore { value } => Ok((index, value)),
            _ => Err(Attempt::Gap(what)),
        }
    }

    pub(super) fn sem_wait(&mut self, op: &mut Operation<'_, '_>, expire: bool) -> Attempt {
        let (index, value) = match self.semaphore(op) {
            Ok(found) => found,
            Err(gap) => return gap,
        };
        let node = op.row.op;
        let zero = op.engine.pool.constant(32, 0);
        let empty = op.engine.pool.eq(value, zero);
        let may_be_empty = op.engine.may(&self.state, empty);
        if may_be_empty && !op.engine.must(&self.state, empty) {
            return Attempt::Undecided(Undecided {
                condition: empty,
                what: format!(
                    "whether the semaphore at {} blocks depends on inputs",
                    op.place()
                ),
                ask: None,
            });
        }
        if !may_be_empty {
            self.node_on(op, node, index, &[]);
            let value = self.plus(op, value, u128::MAX);
            self.objects[index].kind = Kind::Semaphore { value };
            return op.return_code(self, 0);
        }
        if node == NodeOp::SemTryWait {
            self.node_on(op, node, index, &[]);
            return self.fail(op, libc_code::EAGAIN);
        }
        if expire && op.is_timed() {
            self.time_out(op, index);
            // The call itself was finished with the number; semaphores say it in errno.
            return self.fail_finished(op, libc_code::ETIMEDOUT);
        }
        Attempt::Blocked(Blocked {
            op: node,
            site: op.site(),
            object: self.objects[index].name.clone(),
            waits_for: Vec::new(),
            timed: op.is_timed(),
        })
    }

    fn plus(&mut self, op: &mut Operation<'_, '_>, value: Expr, by: u128) -> Expr {
        let by = op.engine.pool.constant(32, by);
        op.engine.pool.bin(BinOp::Add, value, by)
    }

    /// The call returns -1. What `errno` holds then is known to whoever asks the C library for it, not here.
    fn fail(&mut self, op: &mut Operation<'_, '_>, _errno: i32) -> Attempt {
        op.return_code(self, -1)
    }

    fn fail_finished(&mut self, op: &mut Operation<'_, '_>, _errno: i32) -> Attempt {
        let width = 32;
        let minus_one = op.engine.word(width, u128::MAX);
        let frame = self.state.frame_mut(op.slot);
        frame.regs[op.id.0 as usize] = Some(minus_one);
        Attempt::Done
    }

    pub(super) fn sem_post(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let (index, value) = match self.semaphore(op) {
            Ok(found) => found,
            Err(gap) => return gap,
        };
        self.node_on(op, NodeOp::SemPost, index, &[]);
        let value = self.plus(op, value, 1);
        self.objects[index].kind = Kind::Semaphore { value };
        op.return_code(self, 0)
    }

    pub(super) fn sem_value(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let (index, value) = match self.semaphore(op) {
            Ok(found) => found,
            Err(gap) => return gap,
        };
        self.node_on(op, NodeOp::SemGetValue, index, &[]);
        let at = (op.func, op.id);
        let out = &op.call.args[1];
        op.engine
            .write_out(&mut self.state, op.slot, at, out, value);
        op.return_code(self, 0)
    }
}
