//! What the C library remembers for a thread: data under keys, cleanup handlers, and whether it may be cancelled in a call.
//!
//! Deliberately absent: what happens when a thread ends (`threads/keys.rs`, `threads/cancel.rs`).

use super::engine::Engine;
use super::expr::{Expr, Origin};
use super::run::Stop;
use super::state::State;
use crate::analysis::library::READ_OPTIONS;
use crate::analysis::{AbstractObject, ModSet};
use crate::model::{Call, FuncId, InstrId};

impl Engine<'_> {
    /// The key that a number surely names.
    pub(crate) fn key_named(&mut self, state: &State, number: Expr) -> Option<usize> {
        let living = |index: &usize| !state.keys[*index].deleted;
        let all = 0..state.keys.len();
        if let Some(same) = all
            .clone()
            .filter(living)
            .find(|index| state.keys[*index].number == number)
        {
            return Some(same);
        }
        all.filter(living).find(|index| {
            let known = state.keys[*index].number;
            let equal = self.pool.eq(known, number);
            self.must(state, equal)
        })
    }

    /// Forgets what the library remembers, if something that was not executed may have changed it: what the running thread keeps
    /// under its keys, and where `getopt` goes on.
    pub(super) fn forget_remembered(&mut self, state: &mut State, mods: &ModSet) {
        let sets = |name: &str| {
            let function = self.module.function_named(name);
            function.is_some_and(|f| mods.objects.contains_key(&AbstractObject::Function(f)))
        };
        if mods.everything || READ_OPTIONS.iter().any(|name| sets(name)) {
            state.options = None;
        }
        if !sets("pthread_setspecific") && !sets("tss_set") {
            return;
        }
        for key in 0..state.keys.len() {
            let name = format!("data under the key made at {}", state.keys[key].made_at);
            let unknown = self.pool.symbol(64, Origin::Summary { site: 0, name });
            state.thread_mut(self.running).specific.insert(key, unknown);
        }
    }

    /// What a thread keeps under a key.
    pub(crate) fn specific(&mut self, state: &State, slot: usize, index: usize) -> Expr {
        match state.threads[slot].specific.get(&index) {
            Some(value) => *value,
            None => self.pool.constant(64, 0),
        }
    }

    /// The `setjmp` of the handler that a call registers.
    pub(crate) fn jump_of(&self, func: FuncId, register: &Call) -> Option<InstrId> {
        let function = &self.module.functions[func];
        let sets = |call: &Call| {
            let name = self.direct_name(&call.callee).unwrap_or_default();
            name.ends_with("setjmp") && call.args.first() == register.args.first()
        };
        let mut found = function
            .instrs
            .iter()
            .filter(|(_, instr)| instr.call().is_some_and(sets));
        let (id, _) = found.next()?;
        found.next().is_none().then_some(id)
    }

    /// Is this the `setjmp` of a cleanup handler? Its second return is made by whoever unwinds.
    pub(crate) fn begins_cleanup(&self, at: (FuncId, InstrId), call: &Call) -> bool {
        let name = self.direct_name(&call.callee).unwrap_or_default();
        name.ends_with("setjmp")
            && self.module.functions[at.0].instrs.iter().any(|(_, instr)| {
                instr.call().is_some_and(|register| {
                    self.direct_name(&register.callee) == Some("__pthread_register_cancel")
                        && self.jump_of(at.0, register) == Some(at.1)
                })
            })
    }

    /// A thread calls a function of the C library in which it could be cancelled.
    pub(crate) fn may_be_cancelled(
        &mut self,
        state: &mut State,
        slot: usize,
        at: (FuncId, InstrId),
        name: &str,
    ) -> Option<Stop> {
        if !POINTS.contains(&name) || self.module.function_named("pthread_cancel").is_none() {
            return None;
        }
        if state.threads[slot].cancel_due {
            return Some(Stop::Gap(format!(
                "a cancelled thread calls `{name}` at {}",
                self.place(at.0, at.1)
            )));
        }
        state.thread_mut(slot).inside = Some(at);
        None
    }
}

/// Functions outside the threads library that shall be cancellation points (POSIX 2.9.5.2), and Linux's own.
const POINTS: &[&str] = &[
    "accept",
    "accept4",
    "clock_nanosleep",
    "close",
    "connect",
    "creat",
    "epoll_pwait",
    "epoll_wait",
    "fcntl",
    "fdatasync",
    "fsync",
    "getmsg",
    "lockf",
    "mq_receive",
    "mq_send",
    "mq_timedreceive",
    "mq_timedsend",
    "msgrcv",
    "msgsnd",
    "msync",
    "nanosleep",
    "open",
    "openat",
    "pause",
    "poll",
    "ppoll",
    "pread",
    "pselect",
    "pwrite",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "select",
    "send",
    "sendmsg",
    "sendto",
    "sigpause",
    "sigsuspend",
    "sigtimedwait",
    "sigwait",
    "sigwaitinfo",
    "sleep",
    "system",
    "tcdrain",
    "thrd_sleep",
    "usleep",
    "wait",
    "waitid",
    "waitpid",
    "write",
    "writev",
];
