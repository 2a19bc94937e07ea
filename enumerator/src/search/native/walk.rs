//! The search through orders: few decisions first, then depth first; sleep sets, each situation once.
//!
//! **Few decisions first.** A loop that goes on as long as an input says has orders of every length. Who follows the first way out of every
//! decision never comes back; here all orders with one decision are over before those with two begin, so short ways into a
//! deadlock are found before long ones.
//!
//! **Sleep sets with remembered situations** (Godefroid): a thread sleeps where its next move was tried before in a situation that differs only
//! by moves on other objects. With every situation the set with which it was explored is kept; who comes again with a smaller one
//! explores what slept then and does not now, and nothing else sleeps because of what was explored then: it was, with more sleepers.
//! None of this depends on which of the situations at hand is followed next.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::atomic::Ordering;

use schedules::primitives::NodeOp;

use super::super::assume::Assumption;
use super::super::{Explorer, Path};
use super::Limits;
use super::drive::{Moved, Settled, Situation, looks_without_waiting, woken_one};
use super::key::key;
use super::monitors::Monitors;
use super::registers::Registers;
use super::script::Step;
use crate::model::FuncId;
use crate::threads::trail::{PathNode, SiteRef, Subject};
use crate::threads::{Blocked, Status};

/// What the search came to.
pub(super) struct Walked {
    /// An order for each different set of blocked places.
    pub(super) deadlocks: Vec<Vec<Step>>,
    pub(super) states: u64,
    pub(super) gaps: BTreeSet<(String, Option<String>)>,
    /// Why not every order was followed, if a limit was hit.
    pub(super) cut_short: Option<Cut>,
}

/// A limit of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    Situations,
    Effort,
    Stopped,
    /// Deadlocks are known, and looking for more was given up.
    Enough,
}

/// How a situation was reached.
struct Link {
    step: Step,
    before: Way,
}

type Way = Option<Rc<Link>>;

/// The objects that a move and the local ones behind it touch.
#[derive(Clone, Debug, Default)]
struct Touched {
    everything: bool,
    names: BTreeSet<Rc<str>>,
}

/// A thread whose next move need not be tried, with what that move touches.
type Sleeping = (usize, Rc<Touched>);

/// A situation to go on from.
struct Branching {
    at: Situation,
    settled: Settled,
    way: Way,
    sleep: Vec<Sleeping>,
    /// Only these threads, if it was explored before; by bit.
    only: u64,
}

/// Who is blocked where: what tells deadlocks apart.
type Places = BTreeSet<(SiteRef, u8, FuncId)>;

pub(super) struct Walk<'a, 'm> {
    explorer: Explorer<'a, 'm>,
    limits: Limits,
    /// Situations with the threads that slept when they were explored.
    seen: HashMap<u128, u64>,
    known: BTreeSet<Places>,
    walked: Walked,
    registers: Registers<'m>,
    /// Situations and effort when the first deadlock was found.
    first_at: Option<(u64, u64)>,
    /// What is to be followed, by how many decisions led there.
    agenda: BTreeMap<usize, Vec<Branching>>,
}

impl<'a, 'm> Walk<'a, 'm> {
    pub(super) fn new(mut explorer: Explorer<'a, 'm>, limits: Limits) -> Self {
        explorer.follows_orders = true;
        explorer.looks_without_waiting = looks_without_waiting(explorer.engine.module);
        Self {
            registers: Registers::of(explorer.engine.module),
            explorer,
            limits,
            seen: HashMap::new(),
            known: BTreeSet::new(),
            walked: Walked {
                deadlocks: Vec::new(),
                states: 0,
                gaps: BTreeSet::new(),
                cut_short: None,
            },
            first_at: None,
            agenda: BTreeMap::new(),
        }
    }

    pub(super) fn run(
        mut self,
        main: FuncId,
        assumed: &[Assumption],
        monitors: &Rc<Monitors>,
    ) -> Walked {
        let path = self.explorer.beginning(main, assumed);
        let mut at = Situation::beginning(path, monitors.clone());
        let settled = self.explorer.settle(&mut at);
        self.enter(at, settled, None, Vec::new());
        while let Some(next) = self.next() {
            self.walked.cut_short = self.is_enough();
            if self.walked.cut_short.is_some() {
                break;
            }
            self.explorer.report(&next.at.path);
            self.follow(next);
        }
        self.walked
    }

    /// The last one entered of those that the fewest decisions lead to.
    fn next(&mut self) -> Option<Branching> {
        let mut first = self.agenda.first_entry()?;
        let next = first.get_mut().pop();
        if first.get().is_empty() {
            first.remove();
        }
        next
    }

    fn is_enough(&self) -> Option<Cut> {
        let (states, effort) = (self.walked.states, self.effort());
        let limits = &self.limits;
        let late = |(at, spent)| {
            states > at + limits.after_first || effort > spent + limits.effort_after_first
        };
        let reasons = [
            (self.explorer.live.end().is_some(), Cut::Stopped),
            (self.known.len() >= limits.witnesses, Cut::Enough),
            (self.first_at.is_some_and(late), Cut::Enough),
            (states > limits.states, Cut::Situations),
            (effort > limits.effort, Cut::Effort),
        ];
        let mut reasons = reasons.into_iter();
        reasons.find_map(|(holds, cut)| holds.then_some(cut))
    }

    /// Instructions executed, and what questions to the solver cost in their terms: a clock that is the same on every machine.
    fn effort(&self) -> u64 {
        let asked = self.explorer.engine.solver.statistics();
        let solved = asked.z3_sat + asked.z3_unsat + asked.z3_unknown;
        self.explorer.engine.counters.steps + asked.queries * QUERY + solved * SOLVED
    }

    /// A settled situation, if it is new.
    fn enter(&mut self, mut at: Situation, settled: Settled, way: Way, sleep: Vec<Sleeping>) {
        at.path.world.trail.cut();
        let mut only = u64::MAX;
        match &settled {
            Settled::Exit => return,
            Settled::Gap { slot, reason } => return self.gap(&at, *slot, reason),
            Settled::Fork { .. } | Settled::Alias { .. } => {}
            Settled::Open => {
                let asleep = sleep.iter().fold(0, |mask, (slot, _)| mask | bit(*slot));
                let key = key(&at, &mut self.registers);
                match self.seen.get_mut(&key) {
                    Some(slept) => {
                        only = *slept & !asleep;
                        *slept &= asleep;
                        if only == 0 {
                            return;
                        }
                    }
                    None => {
                        self.seen.insert(key, asleep);
                        self.walked.states += 1;
                        let counts = &self.explorer.live.counts;
                        counts.situations.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        }
        let decisions = at.path.decisions;
        self.agenda.entry(decisions).or_default().push(Branching {
            at,
            settled,
            way,
            sleep,
            only,
        });
    }

    fn gap(&mut self, at: &Situation, slot: usize, reason: &str) {
        let place = match self.explorer.standing(&at.path, slot) {
            Some(SiteRef::Instr(func, id)) => Some(self.explorer.engine.place(func, id)),
            _ => None,
        };
        self.walked.gaps.insert((reason.to_owned(), place));
    }

    fn follow(&mut self, next: Branching) {
        match next.settled {
            Settled::Fork { slot, ref outcomes } => {
                let outcomes = outcomes.clone();
                self.fork(next, slot, &outcomes);
            }
            Settled::Alias { same } => self.alias(next, same),
            _ => self.moves(next),
        }
    }

    /// An input decides: every way, each with the same sleepers.
    fn fork(
        &mut self,
        from: Branching,
        slot: usize,
        outcomes: &[(u32, crate::symbolic::expr::Expr)],
    ) {
        for (outcome, condition) in outcomes {
            let mut at = from.at.clone();
            at.path.decisions += 1;
            let frame = at.path.world.state.frame(slot);
            let branch = (frame.func, frame.next);
            self.explorer
                .take(&mut at.path, slot, branch, *outcome, *condition);
            let settled = self.explorer.settle(&mut at);
            let way = link(&from.way, Step::Branch { outcome: *outcome });
            self.enter(at, settled, way, from.sleep.clone());
        }
    }

    /// Whether two objects are one is decided by inputs, too.
    fn alias(&mut self, from: Branching, same: crate::symbolic::expr::Expr) {
        for outcome in [0, 1] {
            let mut at = from.at.clone();
            self.explorer.decide_alias(&mut at.path, same, outcome);
            let settled = self.explorer.settle(&mut at);
            let way = link(&from.way, Step::Branch { outcome });
            self.enter(at, settled, way, from.sleep.clone());
        }
    }

    /// Every thread that can move, in turn.
    fn moves(&mut self, from: Branching) {
        let world = &from.at.path.world;
        let mut slots: Vec<usize> = (0..world.status.len())
            .filter(|slot| !matches!(world.status[*slot], Status::Ended))
            .collect();
        // The last one entered is followed first: threads side by side, and those without locks before the others.
        let progress = |slot: usize| (world.holds_locks(slot), world.trail.position(slot));
        slots.sort_by_key(|slot| std::cmp::Reverse((progress(*slot), *slot)));
        let asleep = |slot: usize| from.sleep.iter().any(|(other, _)| *other == slot);
        let mut sleep = from.sleep.clone();
        let mut blocked = Vec::new();
        let mut can_move = false;
        for slot in slots {
            if asleep(slot) {
                can_move = true;
                continue;
            }
            // Explored when it was here before, with at least as many asleep: whether it can move is known, and it must not sleep.
            if from.only & bit(slot) == 0 {
                can_move = true;
                continue;
            }
            let (reached, why) = self.moves_of(&from, slot);
            if let Some(why) = why {
                blocked.push((slot, why));
            }
            can_move |= !reached.is_empty();
            let mut union = Touched::default();
            for (at, settled, step, touched) in reached {
                let stay = sleep.iter().filter(|(_, other)| other.is_apart(&touched));
                let stay: Vec<Sleeping> = stay.cloned().collect();
                union.add(&touched);
                self.enter(at, settled, link(&from.way, step), stay);
            }
            // Who is blocked has no move that was tried.
            if !union.is_nothing() && slot < MASKED {
                sleep.push((slot, Rc::new(union)));
            }
        }
        if !can_move && !blocked.is_empty() {
            self.deadlock(&from, &blocked);
        }
    }

    /// What a thread's next move leads to, by every choice there is; or why it cannot move.
    fn moves_of(&mut self, from: &Branching, slot: usize) -> (Vec<Next>, Option<Blocked>) {
        let plain = Step::Move {
            slot,
            expire: false,
            waiter: None,
        };
        let mut steps = vec![plain];
        let mut reached = Vec::new();
        let mut why = None;
        while let Some(step) = steps.pop() {
            let mut at = from.at.clone();
            match self.explorer.chosen_move(&mut at, step) {
                Moved::Done => {
                    if step == plain
                        && let Some((cond, count)) = woken_one(&from.at.path, &at.path)
                    {
                        let waiter = |position| Step::Move {
                            slot,
                            expire: false,
                            waiter: Some((cond, position)),
                        };
                        steps.extend((1..count).map(waiter));
                    }
                    let settled = self.explorer.settle(&mut at);
                    let touched = touched(&from.at.path, &mut at, &settled);
                    reached.push((at, settled, step, touched));
                }
                Moved::Blocked(blocked) if blocked.timed && step == plain => {
                    steps.push(Step::Move {
                        slot,
                        expire: true,
                        waiter: None,
                    });
                }
                Moved::Blocked(blocked) => why = Some(blocked),
                Moved::Gap(reason) => {
                    self.gap(&from.at, slot, &reason);
                    // Not blocked for certain: no deadlock is claimed here.
                    let settled = Settled::Exit;
                    let everything = Touched {
                        everything: true,
                        ..Touched::default()
                    };
                    reached.push((at, settled, step, everything));
                }
            }
        }
        (reached, why)
    }

    fn deadlock(&mut self, at: &Branching, blocked: &[(usize, Blocked)]) {
        let now = (self.walked.states, self.effort());
        self.first_at.get_or_insert(now);
        let places: Places = blocked
            .iter()
            .map(|(slot, why)| {
                let entry = at.at.path.world.threads[*slot].entry;
                (why.site, why.op as u8, entry)
            })
            .collect();
        if self.known.insert(places) {
            self.walked.deadlocks.push(steps(&at.way));
        }
    }
}

/// What a question costs that simplification or a cache answers, in instructions.
const QUERY: u64 = 5;

/// What a question costs that the solver answers.
const SOLVED: u64 = 200;

/// The most slots that can be told apart in a mask; others never sleep.
const MASKED: usize = 63;

fn bit(slot: usize) -> u64 {
    1 << slot.min(MASKED)
}

fn link(before: &Way, step: Step) -> Way {
    Some(Rc::new(Link {
        step,
        before: before.clone(),
    }))
}

fn steps(way: &Way) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut at = way;
    while let Some(link) = at {
        steps.push(link.step);
        at = &link.before;
    }
    steps.reverse();
    steps
}

/// What was touched since the trail was last cut, which was before the move.
fn touched(before: &Path, at: &mut Situation, settled: &Settled) -> Touched {
    let mut touched = Touched {
        everything: !matches!(settled, Settled::Open),
        ..Touched::default()
    };
    for (slot, (_, nodes)) in at.path.world.trail.cut().into_iter().enumerate() {
        for node in &nodes {
            touched.node(node);
            if matches!(node.op, NodeOp::CondWait | NodeOp::CondWake) {
                touched.mutex_of_wait(before, &at.path, slot);
            }
        }
    }
    touched
}

/// Where a move leads, what it was, and what it touched.
type Next = (Situation, Settled, Step, Touched);

impl Touched {
    fn node(&mut self, node: &PathNode) {
        // It numbers threads.
        self.everything |= node.op == NodeOp::ThreadCreate;
        if let Subject::Object(name) = &node.subject {
            self.name(name);
        }
    }

    fn name(&mut self, name: &Rc<str>) {
        let vague = name.contains('…') || name.contains(" or ") || name.contains("*(");
        self.everything |= vague;
        self.names.insert(name.clone());
    }

    /// A wait ends what a thread does without being chosen, and its end is where the thread goes on: the mutex is that of the wait at which
    /// it stood before, or stands now.
    fn mutex_of_wait(&mut self, before: &Path, after: &Path, slot: usize) {
        let mut known = false;
        for world in [&before.world, &after.world] {
            if let Some(Status::OnCond { mutex, .. }) = world.status.get(slot) {
                self.name(&world.objects[*mutex].name);
                known = true;
            }
        }
        self.everything |= !known;
    }

    fn add(&mut self, other: &Touched) {
        self.everything |= other.everything;
        self.names.extend(other.names.iter().cloned());
    }

    fn is_nothing(&self) -> bool {
        !self.everything && self.names.is_empty()
    }

    fn is_apart(&self, other: &Touched) -> bool {
        !self.everything && !other.everything && self.names.is_disjoint(&other.names)
    }
}
