//! Random well-formed archives, and random allowed runs of them. Same seed, same archive.
//!
//! A fragment is made by letting random threads do random things one after the other; each operation on a lock gets edges
//! from everybody's last operation on it. So the result is well-formed by construction, and the verifier must agree.

use std::collections::BTreeMap;

use crate::clocks::{Clocks, Event};
use schedules::archive::{Candidate, Exits, Question, Way};
use schedules::primitives::{NodeOp, Operand, PRIMITIVES, Policy};
use schedules::{
    Archive, ArchiveBuilder, BinaryOp, BuildNode, CompareOp, ContextId, Elastic, EpochId, Held,
    InputValue, LateArm, Next, Node, ObjectId, Position, PredicateOp, Program, Register,
    RegisterKind, Shadow, Site, SiteId, SiteKind, Statistic, StepId, Stuck,
};

/// Splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    fn word(&mut self) -> String {
        const LETTERS: &[&str] = &[
            "a", "b", "x", "_", "lock", "[1]", " ", ".", "->", "\"", "\\", "\n", "ü", "//", "#",
            "@", ":", "\u{1}", "锁",
        ];
        (0..1 + self.below(4)).map(|_| self.pick(LETTERS)).collect()
    }
}

/// Sites by what can be done at them.
struct Sites {
    entries: Vec<SiteId>,
    /// Any enforced call that is not about threads, with its operation.
    calls: Vec<(SiteId, NodeOp)>,
    create: SiteId,
    join: SiteId,
    markers: Vec<SiteId>,
    branches: Vec<SiteId>,
    elastic: Vec<SiteId>,
}

struct Maker {
    random: Random,
    builder: ArchiveBuilder,
    sites: Sites,
    objects: Vec<ObjectId>,
    shadows: usize,
    roots: usize,
    /// Declared epochs with the number of threads they begin with.
    epochs: Vec<(EpochId, usize)>,
    contexts: Vec<ContextId>,
}

/// Where a path stands: what the edges of its next fragment need.
#[derive(Clone, Default)]
struct State {
    /// By slot: nodes so far.
    position: Vec<i32>,
    alive: Vec<bool>,
    created: usize,
    /// By object: each slot's last operation.
    last: BTreeMap<u32, BTreeMap<u16, Event>>,
    clocks: Clocks,
}

const SLOTS: usize = 4;

/// The archive of a seed.
pub(crate) fn archive(seed: u64) -> Archive {
    let mut random = Random(seed);
    let mut builder = ArchiveBuilder::new(Program {
        name: random.word(),
        fingerprint: [0; 16],
        thread_bound: SLOTS as u32,
        assumptions: (0..random.below(3)).map(|_| random.word()).collect(),
        tool: "0.1.0".into(),
        order: random.pick(&["all", "essential", "strange order"]).into(),
    });
    let sites = sites(&mut random, &mut builder);
    let objects = (0..1 + random.below(5))
        .map(|_| builder.object(&random.word(), random.chance(4)))
        .collect();
    builder.statistics = (0..random.below(3))
        .map(|_| Statistic {
            name: random.word(),
            value: random.next(),
        })
        .collect();
    let mut maker = Maker {
        random,
        builder,
        sites,
        objects,
        shadows: 0,
        roots: 0,
        epochs: Vec::new(),
        contexts: Vec::new(),
    };
    maker.tables();
    for index in 0..maker.epochs.len() {
        maker.epoch(index);
    }
    maker.builder.finish()
}

fn sites(random: &mut Random, builder: &mut ArchiveBuilder) -> Sites {
    let mut stable = random.next() >> 8;
    let mut site = |random: &mut Random, builder: &mut ArchiveBuilder, kind| {
        stable += 1 + random.next() % 1000;
        let function = builder.text(&random.word());
        let written = builder.text(&random.word());
        let file = builder.text(random.pick(&["a.c", "dir with space/b.c", "", "ü.c", "//c.c"]));
        let position = Position {
            function: random.pick(&[function, written]),
            file,
            line: random.below(6) as u32,
            column: random.below(3) as u32,
        };
        builder.site(Site {
            stable,
            kind,
            function,
            position,
            inlined_at: (0..random.below(3)).map(|_| position).collect(),
        })
    };
    let sync = |symbol: &str| SiteKind::Sync {
        primitive: schedules::primitives::lookup(symbol).unwrap().0,
    };
    let mut many = |random: &mut Random, builder: &mut ArchiveBuilder, kind: SiteKind| {
        let count = 1 + random.below(2);
        (0..count)
            .map(|_| site(random, builder, kind))
            .collect::<Vec<_>>()
    };
    let entries = many(random, builder, SiteKind::Entry);
    let create = many(random, builder, sync("pthread_create"))[0];
    let join = many(random, builder, sync("pthread_join"))[0];
    let markers = many(random, builder, SiteKind::Point);
    let branches = many(random, builder, SiteKind::Branch);
    let elastic = many(random, builder, SiteKind::Branch);
    let mut calls = Vec::new();
    for _ in 0..6 {
        let row = random.below(PRIMITIVES.len());
        let primitive = &PRIMITIVES[row];
        let about_threads = matches!(
            primitive.op,
            NodeOp::ThreadCreate | NodeOp::ThreadExit | NodeOp::ThreadJoin
        );
        if primitive.policy == Policy::Enforced && !about_threads {
            let site = many(random, builder, sync(primitive.symbol))[0];
            calls.push((site, primitive.op));
        }
    }
    for symbol in ["pthread_mutex_lock", "pthread_mutex_unlock"] {
        let op = schedules::primitives::lookup(symbol).unwrap().1.op;
        calls.push((many(random, builder, sync(symbol))[0], op));
    }
    builder.plan.markers.clone_from(&markers);
    builder.plan.decisions.clone_from(&branches);
    builder.plan.elastic = elastic
        .iter()
        .map(|site| Elastic {
            site: *site,
            join_block: random.below(9) as u32,
        })
        .collect();
    let (question, other) = (calls[0].0, calls[1].0);
    let root = builder.root("asked", 64);
    builder.plan.questions = vec![Question {
        site: question,
        argument: random.below(3) as u8,
        candidates: vec![
            Candidate::Global {
                root,
                offset: random.below(64) as u64,
            },
            Candidate::Last { site: other },
        ],
    }];
    let ways = (0..1 + random.below(3) as u32).map(|way| Way {
        from_block: way,
        to_block: 9,
    });
    builder.plan.exits = vec![Exits {
        site: many(random, builder, SiteKind::Point)[0],
        ways: ways.collect(),
    }];
    builder.plan.unordered = vec![calls[0].0];
    Sites {
        entries,
        calls,
        create,
        join,
        markers,
        branches,
        elastic,
    }
}

impl Maker {
    fn tables(&mut self) {
        self.roots = 1 + self.random.below(3);
        for root in 0..self.roots {
            let symbol = format!("{}{root}", self.random.word());
            self.builder.root(&symbol, 1 + self.random.next() % 64);
        }
        self.shadows = 1 + self.random.below(3);
        for ordinal in 0..self.shadows as u32 {
            let at = self.random.pick(&self.sites.markers);
            let function = self.random.word();
            let value = match self.random.chance(2) {
                true => RegisterKind::Argument(ordinal),
                false => RegisterKind::Instruction(ordinal),
            };
            self.builder.shadow(Shadow {
                at,
                value: Register { function, value },
                width: self.random.pick(&[1, 8, 32, 64]),
            });
        }
        let count = 1 + self.random.below(4);
        for index in 0..count {
            let threads = if index == 0 {
                1
            } else {
                1 + self.random.below(SLOTS)
            };
            let contexts: Vec<ContextId> = (0..threads).map(|_| self.context()).collect();
            let epoch = self.builder.epoch(&contexts);
            if epoch.0 as usize == self.epochs.len() {
                self.epochs.push((epoch, threads));
            }
        }
        for _ in 0..1 + self.random.below(2) {
            let reason = self.random.word();
            let site = self.random.chance(2).then_some(self.sites.create);
            self.builder.gap(&reason, site);
        }
    }

    fn context(&mut self) -> ContextId {
        let mut frames = vec![self.random.pick(&self.sites.entries)];
        for _ in 0..self.random.below(3) {
            frames.push(self.random.pick(&self.sites.calls).0);
        }
        frames.push(self.random.pick(&self.sites.markers));
        let context = self.builder.context(&frames);
        self.contexts.push(context);
        context
    }

    fn epoch(&mut self, index: usize) {
        let (epoch, threads) = self.epochs[index];
        let mut alive = vec![false; SLOTS];
        alive[..threads].fill(true);
        let state = State {
            position: vec![0; SLOTS],
            alive,
            created: threads,
            last: BTreeMap::new(),
            clocks: Clocks::default(),
        };
        let depth = self.random.below(4);
        let root = self.tree(state, depth, None);
        let footprint = self.random.next();
        self.builder
            .define_epoch(epoch, SLOTS as u16, root, footprint);
    }

    /// A step and everything below it; `begin` is the late decision's node that it begins with.
    fn tree(&mut self, state: State, depth: usize, begin: Option<(u16, SiteId, u32)>) -> StepId {
        let mut state = state;
        let base = state.position.clone();
        let mut lanes = vec![Vec::new(); SLOTS];
        if let Some((slot, site, outcome)) = begin {
            self.node(
                &mut lanes,
                &mut state,
                &base,
                slot,
                (NodeOp::Branch, site, outcome),
                false,
            );
        }
        for _ in 0..self.random.below(8) {
            self.act(&mut lanes, &mut state, &base);
        }
        let next = self.next(&state, depth);
        let fragment = self.builder.fragment(lanes);
        self.builder.step(fragment, next)
    }

    fn next(&mut self, state: &State, depth: usize) -> Next {
        if depth == 0 {
            return self.leaf(state);
        }
        let living: Vec<u16> = (0..SLOTS as u16)
            .filter(|s| state.alive[usize::from(*s)])
            .collect();
        if self.random.chance(2) || living.is_empty() {
            let predicate = self.predicate();
            let yes = self.tree(state.clone(), depth - 1, None);
            let no = match self.random.chance(4) {
                true => yes,
                false => self.tree(state.clone(), depth - 1, None),
            };
            return Next::Early {
                site: self.random.pick(&self.sites.branches),
                predicate,
                yes,
                no,
            };
        }
        let slot = self.random.pick(&living);
        let site = self.random.pick(&self.sites.branches);
        let mut outcome = 0;
        let arms = (0..1 + self.random.below(3))
            .map(|_| {
                outcome += 1 + self.random.below(3) as u32;
                let step = self.tree(state.clone(), depth - 1, Some((slot, site, outcome)));
                LateArm { outcome, step }
            })
            .collect();
        let (condition, why) = (self.random.word(), self.random.word());
        Next::Late {
            slot,
            site,
            condition: self.builder.text(&condition),
            why: self.builder.text(&why),
            arms,
        }
    }

    fn leaf(&mut self, state: &State) -> Next {
        let mut living: Vec<u16> = (0..SLOTS as u16)
            .filter(|s| state.alive[usize::from(*s)])
            .collect();
        let fitting: Vec<EpochId> = self
            .epochs
            .iter()
            .filter(|(_, threads)| *threads == living.len())
            .map(|(epoch, _)| *epoch)
            .collect();
        match self.random.below(6) {
            0..3 if !fitting.is_empty() => {
                let mut moves = vec![u16::MAX; SLOTS];
                let mut to = 0;
                while !living.is_empty() {
                    let from = living.remove(self.random.below(living.len()));
                    moves[usize::from(from)] = to;
                    to += 1;
                }
                Next::Epoch {
                    epoch: self.random.pick(&fitting),
                    moves,
                }
            }
            3 if !living.is_empty() => self.deadlock(&living),
            4 => Next::Unexplored { gap: 0 },
            _ => Next::Exit,
        }
    }

    fn deadlock(&mut self, living: &[u16]) -> Next {
        let mut condition = Vec::new();
        for _ in 0..self.random.below(3) {
            let word = self.random.word();
            condition.push(self.builder.text(&word));
        }
        let input = (0..self.random.below(3))
            .map(|_| {
                let name = self.random.word();
                InputValue {
                    name: self.builder.text(&name),
                    value: self.random.word(),
                }
            })
            .collect();
        let stuck = living
            .iter()
            .map(|slot| Stuck {
                slot: *slot,
                context: self.random.pick(&self.contexts),
                op: self.random.pick(&[
                    NodeOp::MutexLock,
                    NodeOp::ThreadJoin,
                    NodeOp::CondWait,
                    NodeOp::SemWait,
                ]),
                object: self.random.pick(&self.objects),
                waits_for: (0..self.random.below(3))
                    .map(|_| self.random.pick(living))
                    .collect(),
                holds: (0..self.random.below(2))
                    .map(|_| Held {
                        object: self.random.pick(&self.objects),
                        site: self.sites.calls[0].0,
                    })
                    .collect(),
            })
            .collect();
        Next::Deadlock {
            stuck,
            condition,
            input,
            certain: self.random.chance(2),
        }
    }

    /// One thing that a random living thread does.
    fn act(&mut self, lanes: &mut [Vec<BuildNode>], state: &mut State, base: &[i32]) {
        let living: Vec<u16> = (0..SLOTS as u16)
            .filter(|s| state.alive[usize::from(*s)])
            .collect();
        if living.is_empty() {
            return;
        }
        let slot = self.random.pick(&living);
        match self.random.below(8) {
            0 if state.created < SLOTS => self.create(lanes, state, base, slot),
            1 if living.len() > 1 => {
                let site = self.random.pick(&self.sites.entries);
                self.node(
                    lanes,
                    state,
                    base,
                    slot,
                    (NodeOp::ThreadExit, site, 0),
                    false,
                );
                state.alive[usize::from(slot)] = false;
            }
            2 => {
                let site = self.random.pick(&self.sites.markers);
                self.node(lanes, state, base, slot, (NodeOp::Marker, site, 0), false);
            }
            3 => {
                let what = self.random.pick(&self.objects).0;
                let join = (NodeOp::ThreadJoin, self.sites.join, what);
                self.node(lanes, state, base, slot, join, false);
            }
            4 => self.elastic(lanes, state, base, slot, false, 0),
            _ => self.call(lanes, state, base, slot, false),
        }
    }

    fn create(&mut self, lanes: &mut [Vec<BuildNode>], state: &mut State, base: &[i32], slot: u16) {
        let child = state.created as u16;
        state.created += 1;
        let create = (NodeOp::ThreadCreate, self.sites.create, u32::from(child));
        self.node(lanes, state, base, slot, create, false);
        let passed = state.position[usize::from(slot)];
        let from = passed - base[usize::from(slot)];
        let created = state.clocks.event(slot, passed);
        state.clocks.wait(child, &[&created]);
        let entry = self.random.pick(&self.sites.entries);
        lanes[usize::from(child)].push(BuildNode {
            site: entry,
            what: 0,
            op: NodeOp::ThreadStart,
            optional: false,
            serial: false,
            edges: vec![(slot, from)],
        });
        state.position[usize::from(child)] += 1;
        state.alive[usize::from(child)] = true;
    }

    fn elastic(
        &mut self,
        lanes: &mut [Vec<BuildNode>],
        state: &mut State,
        base: &[i32],
        slot: u16,
        optional: bool,
        depth: usize,
    ) {
        // Nested regions have branches of their own.
        let Some(site) = self.sites.elastic.get(depth).copied() else {
            return;
        };
        for outcome in 0..self.random.below(3) as u32 {
            self.node(lanes, state, base, slot, (NodeOp::Arm, site, outcome), true);
            for _ in 0..self.random.below(3) {
                if self.random.chance(4) {
                    self.elastic(lanes, state, base, slot, true, depth + 1);
                } else {
                    self.call(lanes, state, base, slot, true);
                }
            }
        }
        let end = (NodeOp::ArmsEnd, site, 0);
        self.node(lanes, state, base, slot, end, optional);
    }

    fn call(
        &mut self,
        lanes: &mut [Vec<BuildNode>],
        state: &mut State,
        base: &[i32],
        slot: u16,
        optional: bool,
    ) {
        let (site, op) = self.random.pick(&self.sites.calls);
        let what = match self.random.chance(8) {
            true => Node::NO_OBJECT,
            false => self.random.pick(&self.objects).0,
        };
        self.node(lanes, state, base, slot, (op, site, what), optional);
    }

    /// Appends a node; one on an object waits for everybody's last operation on it.
    fn node(
        &mut self,
        lanes: &mut [Vec<BuildNode>],
        state: &mut State,
        base: &[i32],
        slot: u16,
        (op, site, what): (NodeOp, SiteId, u32),
        optional: bool,
    ) {
        let own = usize::from(slot);
        let mut edges = Vec::new();
        match op {
            NodeOp::Arm => state.clocks.open(slot, site),
            NodeOp::ArmsEnd => state.clocks.close(slot, site),
            _ => {}
        }
        if op.operand() == Operand::Object && what != Node::NO_OBJECT {
            let last = state.last.entry(what).or_default();
            let needed = state.clocks.wait(slot, &last.values().collect::<Vec<_>>());
            edges.extend(
                needed
                    .iter()
                    .map(|event| (event.slot, event.passed - base[usize::from(event.slot)])),
            );
            last.insert(slot, state.clocks.event(slot, state.position[own] + 1));
        }
        lanes[own].push(BuildNode {
            site,
            what,
            op,
            optional,
            serial: false,
            edges,
        });
        state.position[own] += 1;
    }

    fn predicate(&mut self) -> schedules::PredicateId {
        let mut code = Vec::new();
        self.bit(&mut code, 3);
        let text = self.random.word();
        self.builder.predicate(code, &text)
    }

    /// Code for one bit.
    fn bit(&mut self, code: &mut Vec<PredicateOp>, depth: usize) {
        match self.random.below(if depth == 0 { 1 } else { 4 }) {
            0 => code.push(PredicateOp::Constant {
                width: 1,
                value: self.random.next() & 1,
            }),
            1 => {
                self.bit(code, depth - 1);
                code.push(PredicateOp::Not);
            }
            2 => {
                let width = self.random.pick(&[8, 16, 32, 64]);
                self.value(code, width, depth - 1);
                self.value(code, width, depth - 1);
                let op = self.random.pick(&[
                    CompareOp::Eq,
                    CompareOp::Ult,
                    CompareOp::Ule,
                    CompareOp::Slt,
                    CompareOp::Sle,
                ]);
                code.push(PredicateOp::Compare { op, width });
            }
            _ => {
                self.bit(code, depth - 1);
                self.bit(code, depth - 1);
                self.bit(code, depth - 1);
                code.push(PredicateOp::Select);
            }
        }
    }

    /// Code for a value of this width.
    fn value(&mut self, code: &mut Vec<PredicateOp>, width: u8, depth: usize) {
        match self.random.below(if depth == 0 { 2 } else { 5 }) {
            0 => code.push(PredicateOp::Constant {
                width,
                value: self.random.next() >> (64 - u32::from(width)),
            }),
            1 => {
                let root = schedules::RootId(self.random.below(self.roots) as u32);
                code.push(PredicateOp::Root { root });
                let offset = self.random.below(200) as i64 - 100;
                code.push(PredicateOp::Load { width, offset });
            }
            2 => {
                let shadow = schedules::ShadowId(self.random.below(self.shadows) as u32);
                code.push(PredicateOp::Shadow { slot: 0, shadow });
                code.push(PredicateOp::Extract { low: 0, width });
            }
            3 => {
                self.value(code, width, depth - 1);
                self.value(code, width, depth - 1);
                let op = self.random.pick(&[
                    BinaryOp::Add,
                    BinaryOp::SDiv,
                    BinaryOp::AShr,
                    BinaryOp::Xor,
                    BinaryOp::URem,
                ]);
                code.push(PredicateOp::Binary { op, width });
            }
            _ => {
                self.bit(code, depth - 1);
                let zero = self.random.chance(2);
                code.push(match zero {
                    true => PredicateOp::Zext { from: 1, to: width },
                    false => PredicateOp::Sext { from: 1, to: width },
                });
            }
        }
    }
}
