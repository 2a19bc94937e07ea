//! Who goes next.
//!
//! Any order of the threads is a valid schedule; this one aims at schedules that run well: the thread with the least estimated work
//! behind it goes first, so threads advance side by side, and a thread in a critical section goes on until it leaves it, so
//! critical sections stay whole and locks taken in different orders do not meet.

use super::{Advance, Explorer, Path};
use crate::Strategy;
use crate::model::{BlockId, FuncId, InstrKind};
use crate::symbolic::run::{Stop, Until};
use schedules::primitives::NodeOp;

use crate::threads::trail::{NodeKind, SiteRef, Subject};
use crate::threads::{Ask, Attempt, Blocked, Status, Undecided};

impl Explorer<'_, '_> {
    /// Lets one thread make one move.
    pub(super) fn advance(&mut self, path: &mut Path) -> Advance {
        let mut blocked: Vec<(usize, Blocked)> = Vec::new();
        let mut undecided = None;
        let mut at_markers = 0;
        for slot in self.order(path) {
            match self.try_move(path, slot, false) {
                Try::Moved => return Advance::Moved,
                Try::Blocked(why) => blocked.push((slot, why)),
                Try::AtMarker => at_markers += 1,
                Try::Undecided(what) => undecided = Some((slot, what)),
                Try::Stop(advance) => return advance,
            }
        }
        if let Some((slot, unknown)) = &undecided
            && self.is_early(unknown.condition)
        {
            return Advance::Ask {
                slot: *slot,
                condition: unknown.condition,
            };
        }
        if at_markers > 0 {
            return Advance::Boundary;
        }
        if let Some((slot, unknown)) = undecided {
            self.want_question(unknown.ask);
            let reason = unknown.what;
            return Advance::Gap { slot, reason };
        }
        if blocked.is_empty() {
            return Advance::Exit;
        }
        // Nobody can move: a timed operation may give up.
        let timed: Vec<usize> = blocked
            .iter()
            .filter(|(_, why)| why.timed)
            .map(|(slot, _)| *slot)
            .collect();
        for slot in timed {
            match self.try_move(path, slot, true) {
                Try::Moved => return Advance::Moved,
                Try::Blocked(_) | Try::Undecided(_) | Try::AtMarker => {}
                Try::Stop(advance) => return advance,
            }
        }
        Advance::Deadlock(blocked)
    }

    /// Threads in the order in which they are asked to move.
    fn order(&mut self, path: &mut Path) -> Vec<usize> {
        let world = &path.world;
        let mut slots: Vec<usize> = (0..world.status.len())
            .filter(|slot| !matches!(world.status[*slot], Status::Ended))
            .collect();
        let count = world.status.len();
        let key = |slot: &usize| {
            let outside = !world.holds_locks(*slot);
            let cost = world.state.threads[*slot].cost;
            match path.strategy {
                Strategy::Balanced => (outside, cost, *slot),
                Strategy::FirstToLast => (false, 0, *slot),
                Strategy::LastToFirst => (false, 0, count - *slot),
                Strategy::Interleaved => (false, cost, *slot),
            }
        };
        slots.sort_by_key(key);
        slots
    }

    pub(super) fn try_move(&mut self, path: &mut Path, slot: usize, expire: bool) -> Try {
        self.engine.running = slot;
        let world = &mut path.world;
        if !world.threads[slot].started {
            world.start(slot);
            return Try::Moved;
        }
        if !matches!(world.status[slot], Status::Ready) {
            let attempt = world.resume(&mut self.engine, slot, expire);
            if matches!(attempt, Attempt::Done) {
                path.fresh[slot] = false;
            }
            return Try::of(slot, attempt);
        }
        if path.stops[slot].is_none() {
            path.stops[slot] = Some(self.run(path, slot));
            // Others may have less work behind them now.
            return Try::Moved;
        }
        self.perform(path, slot, expire)
    }

    /// Runs a thread to its next stop, which is then performed in its turn.
    pub(super) fn run(&mut self, path: &mut Path, slot: usize) -> Stop {
        let until = path.world.threads[slot]
            .routines
            .last()
            .map(|(depth, _)| Until::Return { depth: depth + 1 });
        self.engine.run(&mut path.world.state, slot, until)
    }

    fn perform(&mut self, path: &mut Path, slot: usize, expire: bool) -> Try {
        let stop = path.stops[slot].clone().expect("it has stopped");
        if stop == Stop::Marker {
            return self.at_marker(path, slot);
        }
        let world = &mut path.world;
        match stop {
            Stop::Sync { primitive } => {
                let frame = world.state.frame(slot);
                let call = (frame.func, frame.next);
                let attempt = world.attempt(&mut self.engine, slot, primitive, expire);
                if matches!(attempt, Attempt::Done) {
                    path.stops[slot] = None;
                    // Also on the way into a gap: the node that creates one thread too many is in the archive.
                    path.stops.resize(world.status.len(), None);
                    self.most_slots = self.most_slots.max(world.status.len());
                    if world.alive() > self.options.thread_bound as usize {
                        return Try::Stop(Advance::Gap {
                            slot,
                            reason: format!(
                                "more than {} threads live at once with the one created at {}; --threads raises the bound",
                                self.options.thread_bound,
                                self.engine.place(call.0, call.1)
                            ),
                        });
                    }
                    path.fresh[slot] = false;
                    path.fresh.resize(path.world.status.len(), false);
                }
                Try::of(slot, attempt)
            }
            Stop::Branch { mut outcomes } => {
                path.stops[slot] = None;
                // Others may have decided something since the thread came here.
                outcomes.retain(|(_, condition)| self.engine.may(&path.world.state, *condition));
                self.drop_quiet_ends(path, slot, &mut outcomes);
                if outcomes.is_empty() {
                    return Try::Stop(Advance::Exit);
                }
                if self.pass_branch(path, slot, &outcomes) {
                    return Try::Moved;
                }
                Try::Stop(Advance::Decide { slot, outcomes })
            }
            Stop::Reached => {
                path.stops[slot] = None;
                world.once_leave(&mut self.engine, slot);
                Try::Moved
            }
            Stop::Returned => {
                path.stops[slot] = None;
                let info = &world.threads[slot];
                if info.created_at.is_none() && info.ending.is_none() {
                    return Try::Stop(Advance::Exit);
                }
                Try::of(slot, world.leave_function(&mut self.engine, slot))
            }
            Stop::Ended => Try::Stop(Advance::Exit),
            Stop::Gap(reason) => Try::Stop(Advance::Gap { slot, reason }),
            Stop::Exits { func, header } => {
                self.want_exits(func, header);
                let reason = self.several_exits(func, header);
                Try::Stop(Advance::Gap { slot, reason })
            }
            Stop::Marker | Stop::Fuel | Stop::Unclear => {
                unreachable!("markers come first, the others only within loops that are tried")
            }
        }
    }

    /// A thread stands at a marker: it passes those that do not end epochs and the one at which the epoch began.
    fn at_marker(&mut self, path: &mut Path, slot: usize) -> Try {
        if !self.is_active(path, slot) {
            path.stops[slot] = None;
            self.visit(path, slot);
            self.engine.pass_marker(&mut path.world.state, slot);
            return Try::Moved;
        }
        if !path.fresh[slot] {
            return Try::AtMarker;
        }
        path.fresh[slot] = false;
        path.stops[slot] = None;
        let world = &mut path.world;
        let frame = world.state.frame(slot);
        let first = self.engine.module.functions[frame.func].blocks[frame.block].first;
        let kind = NodeKind {
            site: SiteRef::Instr(frame.func, first),
            op: NodeOp::Marker,
            subject: Subject::Nothing,
            serial: false,
        };
        world.trail.add(slot, kind, &[]);
        self.engine.pass_marker(&mut world.state, slot);
        Try::Moved
    }

    /// Does the marker at which a thread stands end epochs?
    fn is_active(&self, path: &Path, slot: usize) -> bool {
        let frame = path.world.state.frame(slot);
        self.marked.markers.contains(&(frame.func, frame.block))
    }

    /// A thread passes a place that could be a marker. A loop that goes on and on has to end epochs.
    fn visit(&mut self, path: &mut Path, slot: usize) {
        let frame = path.world.state.frame(slot);
        let place = (frame.func, frame.block);
        let count = path.visits.entry((slot, place.0, place.1)).or_default();
        *count += 1;
        if *count > MANY_ROUNDS {
            self.activate(place);
        }
    }

    /// A decision inside a loop that goes around again: its end depends on inputs, so it has to end epochs.
    pub(super) fn decided_in_loops(&mut self, path: &Path, slot: usize) {
        let facts = self.engine.facts;
        let mut again = Vec::new();
        let frame = path.world.state.frame(slot);
        if let Some(back) = facts.called_back(frame.func, frame.next) {
            let entries = back.functions.iter().map(|(_, f)| (*f, BlockId(0)));
            let often = |(func, entry): &(FuncId, BlockId)| {
                let visits = path.visits.get(&(slot, *func, *entry));
                visits.is_some_and(|count| *count >= 2)
            };
            again.extend(entries.filter(often));
        }
        for frame in &path.world.state.threads[slot].frames {
            let loops = &facts.cfg(frame.func).loops;
            for (&(visitor, func, header), &count) in &path.visits {
                let inside = loops
                    .headed_by(header)
                    .is_some_and(|id| loops[id].contains(frame.block));
                let recursion = header == BlockId(0);
                // Epochs do not make a recursion finite, so one that may be bounded gets its chance.
                let enough = if recursion { DEEP_RECURSION } else { 2 };
                if visitor == slot && func == frame.func && count >= enough && (inside || recursion)
                {
                    again.push((func, header));
                }
            }
        }
        // Where an inner loop ends epochs, those around it need not.
        let inside = |(func, header): (FuncId, BlockId), (other, inner): (FuncId, BlockId)| {
            let loops = &facts.cfg(func).loops;
            func == other
                && header != inner
                && loops
                    .headed_by(header)
                    .is_some_and(|id| loops[id].contains(inner))
        };
        for &place in &again {
            if !again.iter().any(|inner| inside(place, *inner)) {
                self.activate(place);
            }
        }
    }

    /// What would have to be asked before a call will be asked the next time.
    fn want_question(&mut self, ask: Option<Ask>) {
        let Some(ask) = ask.filter(|_| !self.closing) else {
            return;
        };
        let wanted = self.found.questions.entry(ask.call).or_default();
        wanted.argument = ask.argument;
        let before = wanted.candidates.len();
        wanted.candidates.extend(ask.candidates);
        self.restart |= wanted.candidates.len() > before;
    }

    /// Which exit of a loop is taken will be told the next time.
    fn want_exits(&mut self, func: FuncId, header: BlockId) {
        let function = &self.engine.module.functions[func];
        let loops = &self.engine.facts.cfg(func).loops;
        let exits = loops.headed_by(header).map(|id| &loops[id].exits);
        // What is thrown goes to a place that cannot be split from the call.
        let thrown = exits.into_iter().flatten().any(|(from, _)| {
            let leaves = &function.instrs[function.terminator(*from)].kind;
            matches!(leaves, InstrKind::Invoke { .. })
        });
        if !self.closing && !thrown {
            self.restart |= self
                .found
                .exits
                .insert((func, function.blocks[header].first));
        }
    }

    pub(super) fn several_exits(&self, func: FuncId, header: BlockId) -> String {
        let function = &self.engine.module.functions[func];
        let place = self.engine.place(func, function.blocks[header].first);
        format!(
            "the loop at {place} has several exits, and what follows them synchronizes differently"
        )
    }

    fn activate(&mut self, place: (FuncId, BlockId)) {
        if !self.closing && self.found.markers.insert(place) {
            self.restart = true;
        }
    }
}

/// Calls of a function that synchronizes and calls itself, with decisions inside; with more it ends epochs.
const DEEP_RECURSION: u32 = 12;

/// Rounds of a loop that synchronizes within one epoch; with more it ends epochs.
const MANY_ROUNDS: u32 = 64;

pub(super) enum Try {
    Moved,
    /// It waits for the epoch's end.
    AtMarker,
    Undecided(Undecided),
    Blocked(Blocked),
    Stop(Advance),
}

impl Try {
    fn of(slot: usize, attempt: Attempt) -> Self {
        match attempt {
            Attempt::Done => Try::Moved,
            Attempt::Blocked(why) => Try::Blocked(why),
            Attempt::Undecided(unknown) => Try::Undecided(unknown),
            Attempt::Gap(reason) => Try::Stop(Advance::Gap { slot, reason }),
        }
    }
}
