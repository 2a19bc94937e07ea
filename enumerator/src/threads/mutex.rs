//! Mutexes and spin locks.

use schedules::primitives::{Arg, NodeOp};

use super::trail::Subject;
use super::{Attempt, Blocked, Kind, Operation, Owner, World, libc_code};
use crate::symbolic::expr::Expr;
use crate::symbolic::memory::Place;

/// Size of a mutex, for its name.
const SIZE: u64 = 40;

/// Where glibc keeps a mutex's type.
const KIND_OFFSET: u64 = 16;

/// What taking a mutex again does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Type {
    Normal,
    Recursive,
    ErrorChecking,
}

impl World {
    pub(super) fn mutex_init(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let address = op.pointer(self, Arg::Mutex);
        let attributes = op.argument(self, 1);
        let kind = if op.row.symbol == "mtx_init" {
            // mtx_recursive is bit 0, mtx_timed bit 1.
            let one = op.engine.pool.constant(32, 1);
            op.engine
                .pool
                .bin(crate::model::BinOp::And, attributes, one)
        } else {
            self.attribute_kind(op, attributes)
        };
        // Memory as the C library leaves it: zero but for the type.
        for (offset, value) in [
            (0, None),
            (8, None),
            (16, Some(kind)),
            (24, None),
            (32, None),
        ] {
            let value = value.unwrap_or_else(|| op.engine.pool.constant(64, 0));
            let value = op.engine.pool.zext(value, 64);
            for target in op.engine.resolve(address) {
                if let Place::Object(object, base) = target.place {
                    let at = op.engine.pool.constant(64, offset);
                    let at = op.engine.pool.bin(crate::model::BinOp::Add, base, at);
                    let state = &mut self.state;
                    if !op.engine.write_at(state, object, at, value, target.guard) {
                        op.engine.forget_all(state, object);
                    }
                }
            }
        }
        self.reset(op, address, SIZE, Kind::Mutex { owner: None })
    }

    /// The type that an attributes object asks for; 0 for the default.
    fn attribute_kind(&mut self, op: &mut Operation<'_, '_>, attributes: Expr) -> Expr {
        for target in op.engine.resolve(attributes) {
            if let Place::Object(object, offset) = target.place {
                let held = op.engine.read_at(&mut self.state, object, offset, 4);
                let mask = op.engine.pool.constant(32, 3);
                return op.engine.pool.bin(crate::model::BinOp::And, held, mask);
            }
        }
        op.engine.pool.constant(32, 0)
    }

    pub(super) fn spin_init(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let address = op.pointer(self, Arg::Spin);
        self.reset(op, address, 4, Kind::Mutex { owner: None })
    }

    fn lock_address(&mut self, op: &mut Operation<'_, '_>) -> (Expr, u64) {
        match op.row.args[0] {
            Arg::Spin => (op.argument(self, 0), 4),
            _ => (op.argument(self, 0), SIZE),
        }
    }

    /// The type of a mutex, read from its memory; `None` if it is not known.
    fn mutex_type(&mut self, op: &mut Operation<'_, '_>, address: Expr) -> Option<Type> {
        if op.row.args[0] == Arg::Spin {
            return Some(Type::Normal);
        }
        let targets = op.engine.resolve(address);
        let mut found: Option<Type> = None;
        for target in targets {
            let Place::Object(object, base) = target.place else {
                return None;
            };
            let at = op.engine.pool.constant(64, KIND_OFFSET.into());
            let at = op.engine.pool.bin(crate::model::BinOp::Add, base, at);
            let held = op.engine.read_at(&mut self.state, object, at, 4);
            let Some(held) = op.engine.pool.as_const(held) else {
                if op.engine.only_normal_mutexes() {
                    continue;
                }
                return None;
            };
            let kind = match held & 3 {
                1 => Type::Recursive,
                2 => Type::ErrorChecking,
                _ => Type::Normal,
            };
            if found.is_some_and(|found| found != kind) {
                return None;
            }
            found = Some(kind);
        }
        Some(found.unwrap_or(Type::Normal))
    }

    pub(super) fn lock(
        &mut self,
        op: &mut Operation<'_, '_>,
        only_try: bool,
        expire: bool,
    ) -> Attempt {
        let (address, size) = self.lock_address(op);
        let index = self.object_at(op, address, size, || Kind::Mutex { owner: None });
        let mut holders = Vec::new();
        for other in 0..self.objects.len() {
            let Kind::Mutex { owner: Some(owner) } = self.objects[other].kind else {
                continue;
            };
            let known = self.objects[other].address;
            let equal = op.engine.same_object_address(known, address);
            if op.engine.pool.is_false(equal) || !op.engine.may(&self.state, equal) {
                continue;
            }
            let surely = other == index || op.engine.must(&self.state, equal);
            if owner.slot == op.slot && surely {
                return self.lock_again(op, other, only_try);
            }
            if owner.slot == op.slot {
                let what = format!(
                    "whether the lock taken at {} is one that the thread already holds is not known",
                    op.place()
                );
                return self.unclear(op, 0, address, &[other], what);
            }
            if only_try && !surely {
                let what = format!("which lock is tried at {} is not known", op.place());
                return self.unclear(op, 0, address, &[other], what);
            }
            holders.push(owner.slot);
        }
        if holders.is_empty() {
            return self.take_lock(op, index);
        }
        if only_try {
            let node = op.row.op;
            self.node_on(op, node, index, &[]);
            return op.return_code(self, libc_code::EBUSY);
        }
        if expire && op.is_timed() {
            return self.time_out(op, index);
        }
        Attempt::Blocked(Blocked {
            op: op.row.op,
            site: op.site(),
            object: self.objects[index].name.clone(),
            waits_for: holders,
            timed: op.is_timed(),
        })
    }

    fn take_lock(&mut self, op: &mut Operation<'_, '_>, index: usize) -> Attempt {
        let node = op.row.op;
        self.node_on(op, node, index, &[]);
        self.objects[index].kind = Kind::Mutex {
            owner: Some(Owner {
                slot: op.slot,
                depth: 1,
                site: op.site(),
            }),
        };
        op.return_code(self, 0)
    }

    /// A timed operation gives up: its node, then the outcome.
    pub(super) fn time_out(&mut self, op: &mut Operation<'_, '_>, index: usize) -> Attempt {
        let node = op.row.op;
        self.node_on(op, node, index, &[]);
        self.trail
            .add(op.slot, op.kind(NodeOp::Outcome, Subject::Outcome(1)), &[]);
        op.return_code(self, libc_code::ETIMEDOUT)
    }

    /// The thread holds the lock already.
    fn lock_again(&mut self, op: &mut Operation<'_, '_>, index: usize, only_try: bool) -> Attempt {
        let address = self.objects[index].address;
        let Some(kind) = self.mutex_type(op, address) else {
            return Attempt::Gap(format!(
                "the type of the mutex that is taken again at {} is not known",
                op.place()
            ));
        };
        let node = op.row.op;
        match kind {
            Type::Recursive => {
                self.node_on(op, node, index, &[]);
                if let Kind::Mutex { owner: Some(owner) } = &mut self.objects[index].kind {
                    owner.depth += 1;
                }
                op.return_code(self, 0)
            }
            _ if only_try => {
                self.node_on(op, node, index, &[]);
                op.return_code(self, libc_code::EBUSY)
            }
            Type::ErrorChecking => {
                self.node_on(op, node, index, &[]);
                op.return_code(self, libc_code::EDEADLK)
            }
            Type::Normal => Attempt::Blocked(Blocked {
                op: node,
                site: op.site(),
                object: self.objects[index].name.clone(),
                waits_for: vec![op.slot],
                timed: op.is_timed(),
            }),
        }
    }

    pub(super) fn unlock(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let (address, size) = self.lock_address(op);
        let index = self.object_at(op, address, size, || Kind::Mutex { owner: None });
        let rivals = self.aliases(op, index);
        let held = self.same_in_use(op, index, &rivals);
        self.give_up(op, held.unwrap_or(index))
    }

    /// Lets go of a lock, if the thread holds it.
    fn give_up(&mut self, op: &mut Operation<'_, '_>, index: usize) -> Attempt {
        match self.objects[index].kind {
            Kind::Mutex { owner: Some(owner) } if owner.slot == op.slot => {
                let node = op.row.op;
                self.node_on(op, node, index, &[]);
                let left = Owner {
                    depth: owner.depth - 1,
                    ..owner
                };
                self.objects[index].kind = Kind::Mutex {
                    owner: (left.depth > 0).then_some(left),
                };
                op.return_code(self, 0)
            }
            Kind::Mutex { owner } => self.unlock_unheld(op, index, owner),
            _ => Attempt::Gap(format!("what is unlocked at {} is no mutex", op.place())),
        }
    }

    /// Not held, or held by somebody else: an error for the types that check, undefined for the others.
    fn unlock_unheld(
        &mut self,
        op: &mut Operation<'_, '_>,
        index: usize,
        owner: Option<Owner>,
    ) -> Attempt {
        let rivals = self.aliases(op, index);
        if owner.is_none() && !rivals.is_empty() {
            let address = self.objects[index].address;
            let what = format!("which lock is released at {} is not known", op.place());
            return self.unclear(op, 0, address, &rivals, what);
        }
        let address = self.objects[index].address;
        let node = op.row.op;
        match self.mutex_type(op, address) {
            Some(Type::Normal) => {
                self.node_on(op, node, index, &[]);
                self.objects[index].kind = Kind::Mutex { owner: None };
                op.return_code(self, 0)
            }
            Some(_) => {
                self.node_on(op, node, index, &[]);
                op.return_code(self, libc_code::EPERM)
            }
            None => Attempt::Gap(format!(
                "the type of the mutex that is released unheld at {} is not known",
                op.place()
            )),
        }
    }
}
