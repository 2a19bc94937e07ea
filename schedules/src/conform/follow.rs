//! Following a log through the archive, event by event.

use std::collections::BTreeMap;

use super::Wrong;
use super::instance::{Demand, Instance};
use crate::archive::{Archive, Edge, EpochId, Next, Node, ObjectId, SiteId, StepId};
use crate::entry::Subjects;
use crate::ids::Id;
use crate::primitives::{NodeOp, Operand};
use crate::text;
use crate::trace::{Record, RecordKind};

/// A thread from its beginning to its end, whatever slots it has.
#[derive(Debug, Default)]
struct Life {
    thread: Option<u32>,
    /// The epoch instance it was last seen in.
    instance: usize,
}

/// What is known about the run so far.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) archive: &'a Archive,
    pub(super) subjects: Subjects<'a>,
    /// Where the edges of each node begin.
    first_edge: Vec<u32>,
    pub(super) instances: Vec<Instance>,
    /// Everything of the instances before this one is known to be done.
    pub(super) open: usize,
    lives: Vec<Life>,
    threads: BTreeMap<u32, usize>,
    pub(super) nodes: u64,
    /// Who took what no two may hold, in the order of the log.
    pub(super) taken: Vec<(ObjectId, usize)>,
}

impl<'a> Run<'a> {
    pub(super) fn new(archive: &'a Archive) -> Self {
        let mut end = 0;
        let first_edge = archive
            .nodes
            .iter()
            .map(|node| {
                end += u32::from(node.edges);
                end - u32::from(node.edges)
            })
            .collect();
        Self {
            archive,
            subjects: Subjects::of(archive),
            first_edge,
            instances: Vec::new(),
            open: 0,
            lives: Vec::new(),
            threads: BTreeMap::new(),
            nodes: 0,
            taken: Vec::new(),
        }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads.len()
    }

    pub(super) fn event(&mut self, record: &Record) -> Result<(), Wrong> {
        match record.kind {
            RecordKind::Epoch => self.epoch(record),
            RecordKind::Decision => self.decision(record),
            RecordKind::Node => self.node(record),
        }
    }

    /// Rule 1.
    fn epoch(&mut self, record: &Record) -> Result<(), Wrong> {
        let wrong = |expected: String| Wrong::Epoch {
            found: record.what,
            expected,
        };
        let number = self.instances.len();
        if record.instance as usize != number {
            return Err(wrong(format!("it would have to be number {number}")));
        }
        let (epoch, moves): (_, &[u16]) = match self.instances.last() {
            None => (EpochId(0), &[]),
            Some(last) => match last.next(self.archive) {
                Next::Epoch { epoch, moves } => (*epoch, moves),
                other => {
                    let due = report_next(self.archive, other);
                    return Err(wrong(format!("{due} is due")));
                }
            },
        };
        if record.what != epoch.0 {
            return Err(wrong(format!("epoch {} is due", epoch.0)));
        }
        if record.step != self.archive.epochs[epoch.index()].root.0 {
            return Err(wrong("it does not begin with its first step".into()));
        }
        let lives = self.lives_in(epoch, moves);
        let instance = Instance::new(self.archive, epoch, lives);
        self.instances.push(instance);
        Ok(())
    }

    /// Who is in which slot of the epoch that begins.
    fn lives_in(&mut self, epoch: EpochId, moves: &[u16]) -> Vec<usize> {
        let slots = usize::from(self.archive.epochs[epoch.index()].slots);
        let mut lives = vec![usize::MAX; slots];
        if let Some(last) = self.instances.last() {
            for (from, to) in moves.iter().enumerate() {
                let slot = lives.get_mut(usize::from(*to));
                if let (Some(slot), Some(life)) = (slot, last.lives.get(from)) {
                    *slot = *life;
                }
            }
        }
        for life in &mut lives {
            if *life == usize::MAX {
                *life = self.lives.len();
                self.lives.push(Life::default());
            }
        }
        if self.instances.is_empty() {
            self.lives[lives[0]].thread = Some(0);
            self.threads.insert(0, lives[0]);
        }
        lives
    }

    /// Rule 2.
    fn decision(&mut self, record: &Record) -> Result<(), Wrong> {
        let archive = self.archive;
        let number = record.instance as usize;
        let instance = self.instances.get(number).ok_or(Wrong::NotBegun)?;
        let wrong = |expected: &str| Wrong::Decision {
            found: record.step,
            place: place(archive, record.site),
            expected: expected.to_owned(),
        };
        let (site, to, decider) = match instance.next(archive) {
            Next::Early { site, yes, no, .. } => {
                let to = match record.what {
                    0 => *no,
                    1 => *yes,
                    _ => return Err(wrong("the outcome is neither yes nor no")),
                };
                (*site, to, None)
            }
            Next::Late {
                site, arms, slot, ..
            } => {
                let arm = arms.iter().find(|arm| arm.outcome == record.what);
                let arm = arm.ok_or_else(|| wrong("the decision has no such outcome"))?;
                (*site, arm.step, Some(*slot))
            }
            other => {
                let due = report_next(archive, other);
                return Err(wrong(&format!("{due} is due")));
            }
        };
        if site.0 != record.site {
            let due = place(archive, site.0);
            return Err(wrong(&format!("the decision at {due} is due")));
        }
        if to.0 != record.step {
            return Err(wrong(&format!("this outcome leads to step {}", to.0)));
        }
        match decider {
            Some(slot) => {
                let end = instance.end(slot);
                if let Some(position) = instance.missing(archive, slot, end) {
                    let before = describe_at(archive, instance, slot, position);
                    return Err(wrong(&format!("{before} has to come before it")));
                }
            }
            None => self.finish_before(number, record, "the decision")?,
        }
        self.instances[number].enter(archive, to, record.what);
        Ok(())
    }

    fn node(&mut self, record: &Record) -> Result<(), Wrong> {
        let archive = self.archive;
        let number = record.instance as usize;
        let index = self.find(record)?;
        let node = archive.nodes[index];
        let text = describe(archive, node.op, Some(&node), node.site.0);
        same(archive, record, &node, &text)?;
        self.bind(record)?;
        self.in_order(record, &text)?;
        self.after_other_epochs(record, &node, &text)?;
        self.edges(record, index, &text)?;
        let instance = &mut self.instances[number];
        instance.progress[usize::from(record.slot)] = record.position + 1;
        self.nodes += 1;
        if let Some(object) = node.object().filter(|_| is_exclusive(node.op)) {
            let life = instance.lives[usize::from(record.slot)];
            self.taken.push((object, life));
        }
        Ok(())
    }

    /// Rule 3: the index of the record's node.
    fn find(&self, record: &Record) -> Result<usize, Wrong> {
        let instance = self
            .instances
            .get(record.instance as usize)
            .ok_or(Wrong::NotBegun)?;
        let off_path = Wrong::OffPath { step: record.step };
        let step = StepId(record.step);
        // Latest first: that is where events are.
        let stretch = instance.path.iter().rev().find(|s| s.step == step);
        let stretch = stretch.ok_or(off_path)?;
        let base = stretch.bases.get(usize::from(record.slot)).copied();
        instance
            .index(self.archive, stretch, record.slot, record.position)
            .ok_or_else(|| {
                let fragment = self.archive.steps[step.index()].fragment;
                let from = base.unwrap_or(0);
                Wrong::NoSuchNode {
                    position: record.position.saturating_add(1),
                    step: record.step,
                    from: from + 1,
                    to: from + self.archive.lane_len(fragment, record.slot),
                }
            })
    }

    /// Rule 7.
    fn bind(&mut self, record: &Record) -> Result<(), Wrong> {
        let instance = &self.instances[record.instance as usize];
        let life = instance.lives[usize::from(record.slot)];
        let known = *self.threads.entry(record.thread).or_insert(life);
        if known != life {
            return Err(Wrong::Binding(
                "this thread belongs to another slot".to_owned(),
            ));
        }
        match self.lives[life].thread.replace(record.thread) {
            Some(other) if other != record.thread => Err(Wrong::Binding(format!(
                "this slot belongs to thread {other}"
            ))),
            _ => Ok(()),
        }
    }

    /// Rule 4.
    fn in_order(&mut self, record: &Record, text: &str) -> Result<(), Wrong> {
        let archive = self.archive;
        let number = record.instance as usize;
        let slot = record.slot;
        self.finish_own(record, text)?;
        let instance = &self.instances[number];
        let from = instance.progress[usize::from(slot)];
        if record.position < from {
            return Err(Wrong::Backward {
                node: text.to_owned(),
            });
        }
        let demand = instance.demands[usize::from(slot)];
        if record.position < demand.position {
            return Err(Wrong::TooLate {
                node: text.to_owned(),
                waiter: demand.waiter,
            });
        }
        if record.position > from && !is_skip(archive, instance, slot, from, record.position) {
            let left_out = instance.missing(archive, slot, record.position);
            return Err(Wrong::LeftOut {
                node: text.to_owned(),
                left_out: describe_at(archive, instance, slot, left_out.unwrap_or(from)),
            });
        }
        Ok(())
    }

    /// The thread has left its slots of the instances before this one.
    fn finish_own(&mut self, record: &Record, text: &str) -> Result<(), Wrong> {
        let number = record.instance as usize;
        let life = self.instances[number].lives[usize::from(record.slot)];
        let seen = self.lives[life].instance;
        if number < seen {
            return Err(Wrong::Backward {
                node: text.to_owned(),
            });
        }
        for before in seen..number {
            let instance = &mut self.instances[before];
            let own = instance.lives.iter().position(|other| *other == life);
            let Some(slot) = own.and_then(|slot| u16::try_from(slot).ok()) else {
                continue;
            };
            let end = instance.end(slot);
            if let Some(position) = instance.missing(self.archive, slot, end) {
                return Err(Wrong::LeftOut {
                    node: text.to_owned(),
                    left_out: describe_at(self.archive, instance, slot, position),
                });
            }
            instance.progress[usize::from(slot)] = end;
        }
        self.lives[life].instance = number;
        Ok(())
    }

    /// Nothing is left to do in the instances before `number`.
    fn finish_before(&mut self, number: usize, record: &Record, text: &str) -> Result<(), Wrong> {
        if number < self.open {
            return Err(Wrong::Backward {
                node: text.to_owned(),
            });
        }
        for before in self.open..number {
            let instance = &mut self.instances[before];
            for slot in 0..instance.slots() {
                let end = instance.end(slot);
                if let Some(position) = instance.missing(self.archive, slot, end) {
                    return Err(Wrong::TooEarly {
                        node: text.to_owned(),
                        partner: describe_at(self.archive, instance, slot, position),
                        slot,
                    });
                }
                instance.demands[usize::from(slot)] = Demand {
                    position: end,
                    waiter: record.sequence,
                };
            }
        }
        self.open = number;
        Ok(())
    }

    /// Rule 5.
    fn edges(&mut self, record: &Record, index: usize, text: &str) -> Result<(), Wrong> {
        let archive = self.archive;
        let instance = &mut self.instances[record.instance as usize];
        let stretch = instance
            .path
            .iter()
            .rposition(|stretch| stretch.step.0 == record.step)
            .expect("found before");
        let first = self.first_edge[index] as usize;
        let edges = &archive.edges[first..first + usize::from(archive.nodes[index].edges)];
        for edge in edges {
            let target = Instance::target(&instance.path[stretch], *edge);
            wait(archive, instance, *edge, target, text)?;
            let Some(demand) = instance.demands.get_mut(usize::from(edge.slot())) else {
                continue;
            };
            if demand.position < target {
                *demand = Demand {
                    position: target,
                    waiter: record.sequence,
                };
            }
        }
        Ok(())
    }
}

/// Is everything behind `target` that an edge waits for?
fn wait(
    archive: &Archive,
    instance: &Instance,
    edge: Edge,
    target: u32,
    text: &str,
) -> Result<(), Wrong> {
    let slot = edge.slot();
    match instance.missing(archive, slot, target) {
        None => Ok(()),
        Some(position) => Err(Wrong::TooEarly {
            node: text.to_owned(),
            partner: describe_at(archive, instance, slot, position),
            slot,
        }),
    }
}

/// May a slot go from `from` to `to` without what lies between? See `archive`, "Optional nodes".
fn is_skip(archive: &Archive, instance: &Instance, slot: u16, from: u32, to: u32) -> bool {
    let node = |position| instance.node(archive, slot, position);
    let (Some(first), Some(last)) = (node(from), node(to)) else {
        return false;
    };
    let branch = first.site;
    first.op == NodeOp::Arm
        && matches!(last.op, NodeOp::Arm | NodeOp::ArmsEnd)
        && last.site == branch
        && (from..to).all(|position| {
            node(position).is_some_and(|node| {
                node.is_optional() && (node.op != NodeOp::ArmsEnd || node.site != branch)
            })
        })
}

/// Rule 3: does the record do what its node says?
fn same(archive: &Archive, record: &Record, node: &Node, text: &str) -> Result<(), Wrong> {
    let operand = match node.op.operand() {
        Operand::Slot | Operand::Outcome => record.what == node.what,
        Operand::Object | Operand::Nothing => true,
    };
    if record.op == node.op && record.site == node.site.0 && operand {
        return Ok(());
    }
    let seen = Node {
        what: record.what,
        op: record.op,
        ..*node
    };
    let object_is_known = record.op == node.op;
    let seen = (object_is_known || record.op.operand() != Operand::Object).then_some(&seen);
    Err(Wrong::OtherNode {
        found: describe(archive, record.op, seen, record.site),
        expected: text.to_owned(),
    })
}

/// Takes what no two may hold at the same time.
fn is_exclusive(op: NodeOp) -> bool {
    matches!(
        op,
        NodeOp::MutexLock | NodeOp::CondWake | NodeOp::RwWriteLock | NodeOp::SpinLock
    )
}

pub(super) fn describe_at(
    archive: &Archive,
    instance: &Instance,
    slot: u16,
    position: u32,
) -> String {
    match instance.node(archive, slot, position) {
        Some(node) => describe(archive, node.op, Some(node), node.site.0),
        None => format!("node {}", position + 1),
    }
}

/// `mutex_lock "m" at a.c:3`.
fn describe(archive: &Archive, op: NodeOp, node: Option<&Node>, site: u32) -> String {
    let operand = match (op.operand(), node) {
        (Operand::Slot, Some(node)) => format!(" of slot {}", node.what),
        (Operand::Outcome, Some(node)) => format!(" with outcome {}", node.what),
        (Operand::Object, Some(node)) => node.object().map_or(String::new(), |object| {
            format!(" \"{}\"", archive.object_name(object))
        }),
        _ => String::new(),
    };
    format!("{}{operand} at {}", text::op_name(op), place(archive, site))
}

fn place(archive: &Archive, site: u32) -> String {
    if (site as usize) < archive.sites.len() {
        archive.place(SiteId(site)).to_string()
    } else {
        format!("unknown site {site}")
    }
}

fn report_next(archive: &Archive, next: &Next) -> String {
    match next {
        Next::Early { site, .. } => format!("the early decision at {}", place(archive, site.0)),
        Next::Late { site, .. } => format!("the late decision at {}", place(archive, site.0)),
        Next::Epoch { epoch, .. } => format!("epoch {}", epoch.0),
        Next::Exit => "the end of the process".into(),
        Next::Deadlock { .. } => "a deadlock".into(),
        Next::Unexplored { .. } => "something unexplored".into(),
    }
}
