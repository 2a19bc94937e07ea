//! Random allowed runs of an archive: a second, simpler reading of what `archive` says about lanes, edges, arms and decisions.
//!
//! Threads go on one node at a time, whoever may; decisions come out at random; epochs end when everybody is through.

use schedules::ids::Id as _;
use schedules::order::{Lanes, Placed};
use schedules::primitives::NodeOp;
use schedules::trace::{Record, RecordKind, Trace};
use schedules::{Archive, EpochId, Next, SiteId, StepId};

use crate::archives::Random;

/// Most epoch instances of a run: archives may loop.
const MOST_EPOCHS: u32 = 6;

struct Runner<'a> {
    archive: &'a Archive,
    random: Random,
    records: Vec<Record>,
    /// Number of the next new thread.
    threads: u32,
}

/// A log that the archive allows.
pub(crate) fn run(archive: &Archive, seed: u64) -> Trace {
    let mut runner = Runner {
        archive,
        random: Random(seed),
        records: Vec::new(),
        threads: 1,
    };
    let mut at = Some((EpochId(0), vec![Some(0)]));
    for instance in 0..MOST_EPOCHS {
        let Some((epoch, threads)) = at else {
            break;
        };
        at = runner.epoch(instance, epoch, threads);
    }
    Trace {
        program: archive.built_for(),
        records: runner.records,
    }
}

/// One epoch instance under way.
struct World {
    instance: u32,
    path: Vec<(StepId, u32)>,
    /// By slot: position, thread, elastic branches it is inside of.
    position: Vec<usize>,
    threads: Vec<Option<u32>>,
    inside: Vec<Vec<SiteId>>,
}

impl Runner<'_> {
    fn record(&mut self, world: &World, slot: u16, kind: RecordKind) -> &mut Record {
        self.records.push(Record {
            sequence: self.records.len() as u64,
            thread: world.threads[usize::from(slot)].unwrap_or(0),
            instance: world.instance,
            step: world.path.last().expect("a root").0.0,
            position: 0,
            site: 0,
            what: 0,
            slot,
            op: NodeOp::Marker,
            kind,
        });
        self.records.last_mut().expect("just pushed")
    }

    /// Runs an epoch; returns what follows.
    fn epoch(
        &mut self,
        instance: u32,
        epoch: EpochId,
        living: Vec<Option<u32>>,
    ) -> Option<(EpochId, Vec<Option<u32>>)> {
        let slots = usize::from(self.archive.epochs[epoch.index()].slots);
        let mut threads = living;
        threads.resize(slots, None);
        let mut world = World {
            instance,
            path: vec![(self.archive.epochs[epoch.index()].root, 0)],
            position: vec![0; slots],
            threads,
            inside: vec![Vec::new(); slots],
        };
        self.record(&world, 0, RecordKind::Epoch).what = epoch.0;
        loop {
            let lanes = Lanes::of(self.archive, epoch, &world.path);
            let ready: Vec<u16> = (0..slots as u16)
                .filter(|slot| self.is_ready(&lanes, &world, *slot))
                .collect();
            let decided = self.choices(&lanes, &world);
            if ready.is_empty() && decided.is_empty() {
                break;
            }
            let choice = self
                .random
                .below(ready.len() + usize::from(!decided.is_empty()));
            match ready.get(choice) {
                Some(slot) => self.go_on(&lanes, &mut world, *slot),
                None => self.decide(&mut world, &decided),
            }
        }
        let (leaf, _) = *world.path.last().expect("a root");
        let Next::Epoch { epoch, moves } = &self.archive.steps[leaf.index()].next else {
            return None;
        };
        let mut next = vec![None; self.archive.epochs[epoch.index()].contexts.len()];
        for (from, to) in moves.iter().enumerate() {
            if *to != u16::MAX {
                next[usize::from(*to)] = world.threads[from];
            }
        }
        Some((*epoch, next))
    }

    fn is_ready(&self, lanes: &Lanes<'_>, world: &World, slot: u16) -> bool {
        let own = usize::from(slot);
        let lane = lanes.slots().get(own);
        let next = lane.and_then(|lane| lane.get(world.position[own]));
        next.is_some_and(|next| {
            lanes
                .waits(next)
                .all(|(of, to)| world.position[usize::from(of)] >= to as usize)
        })
    }

    /// Ways on from the last step, if it is time: (slot, site, step, outcome).
    fn choices(&self, lanes: &Lanes<'_>, world: &World) -> Vec<(u16, SiteId, StepId, u32)> {
        let (last, _) = *world.path.last().expect("a root");
        match &self.archive.steps[last.index()].next {
            Next::Early { site, yes, no, .. } => vec![(0, *site, *yes, 1), (0, *site, *no, 0)],
            Next::Late {
                slot, site, arms, ..
            } => {
                let own = usize::from(*slot);
                if world.position[own] < lanes.slots().get(own).map_or(0, Vec::len) {
                    return Vec::new();
                }
                let way = |arm: &schedules::LateArm| (*slot, *site, arm.step, arm.outcome);
                arms.iter().map(way).collect()
            }
            _ => Vec::new(),
        }
    }

    fn decide(&mut self, world: &mut World, ways: &[(u16, SiteId, StepId, u32)]) {
        let (slot, site, step, outcome) = ways[self.random.below(ways.len())];
        world.path.push((step, outcome));
        let record = self.record(world, slot, RecordKind::Decision);
        record.site = site.0;
        record.what = outcome;
    }

    /// One node of a slot, or a jump over an arm.
    fn go_on(&mut self, lanes: &Lanes<'_>, world: &mut World, slot: u16) {
        let own = usize::from(slot);
        let lane = &lanes.slots()[own];
        let next = lane[world.position[own]];
        let branch = next.node.site;
        if next.node.op == NodeOp::Arm && !self.takes(world, slot, &next) {
            // To another arm or to the end, whatever comes out.
            let end = |placed: &Placed<'_>| {
                placed.node.op == NodeOp::ArmsEnd && placed.node.site == branch
            };
            let behind = &lane[world.position[own] + 1..];
            let to_end = behind.iter().position(end).expect("arms have an end");
            let is_arm =
                |placed: &&Placed<'_>| placed.node.op == NodeOp::Arm && placed.node.site == branch;
            let other = behind[..to_end].iter().find(is_arm);
            let done = world.inside[own].last() == Some(&branch);
            world.position[own] = match other {
                Some(arm) if !done && self.random.chance(2) => arm.position as usize,
                _ => behind[to_end].position as usize,
            };
            return;
        }
        match next.node.op {
            NodeOp::Arm => world.inside[own].push(branch),
            NodeOp::ArmsEnd if world.inside[own].last() == Some(&branch) => {
                world.inside[own].pop();
            }
            _ => {}
        }
        if world.threads[own].is_none() {
            world.threads[own] = Some(self.threads);
            self.threads += 1;
        }
        let record = self.record(world, slot, RecordKind::Node);
        record.step = next.step.0;
        record.position = next.position;
        record.site = branch.0;
        record.what = next.node.what;
        record.op = next.node.op;
        world.position[own] += 1;
    }

    /// Is this arm entered? Only one of a branch is.
    fn takes(&mut self, world: &World, slot: u16, arm: &Placed<'_>) -> bool {
        let done = world.inside[usize::from(slot)].last() == Some(&arm.node.site);
        !done && self.random.chance(2)
    }
}
