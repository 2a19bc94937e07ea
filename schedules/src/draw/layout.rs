//! Where everything stands, in columns and rows.

use crate::archive::{Archive, EpochId, Next, StepId};
use crate::conform::Decided;
use crate::ids::Id;
use crate::order::{Lanes, linearize};
use crate::primitives::NodeOp;
use crate::text;

/// One schedule, laid out.
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    /// `epoch0/1 of 2`.
    pub title: String,
    /// Decisions that lead here.
    pub decisions: Vec<String>,
    /// One per slot that has a thread, ascending: the slot and who it is.
    pub columns: Vec<(u16, String)>,
    /// All nodes.
    pub marks: Vec<Mark<'a>>,
    /// Pairs of indices into `marks`: the second waits for the first.
    pub arrows: Vec<(usize, usize)>,
    /// How it ends.
    pub end: String,
    /// At a deadlock: (slot, what it waits for, where).
    pub stuck: Vec<(u16, String, String)>,
    /// Rows in all.
    pub rows: usize,
}

/// A node in its place.
#[derive(Clone, Debug)]
pub struct Mark<'a> {
    /// Whose.
    pub slot: u16,
    /// From 0, downwards.
    pub row: usize,
    /// Operation and object.
    pub what: String,
    /// File of the source line.
    pub file: &'a str,
    /// The line.
    pub line: u32,
    /// May be skipped.
    pub optional: bool,
}

impl Mark<'_> {
    /// `file:line`.
    pub fn place(&self) -> String {
        let Self { file, line, .. } = self;
        crate::view::Place { file, line: *line }.to_string()
    }
}

impl<'a> Picture<'a> {
    /// Which column, from the left, a slot has.
    pub fn column(&self, slot: u16) -> usize {
        self.columns.partition_point(|(known, _)| *known < slot)
    }

    pub(super) fn of(
        archive: &'a Archive,
        epoch: EpochId,
        number: u64,
        schedules: u64,
        path: &[(StepId, u32)],
    ) -> Self {
        let (leaf, _) = *path.last().expect("a path has its root");
        let decisions = path
            .windows(2)
            .map(|pair| Decided::at(archive, pair[0].0, pair[1].1).to_string());
        let mut picture = Self {
            title: format!(
                "{}: schedule {epoch}/{number} ({schedules} in all)",
                archive.program.name
            ),
            decisions: decisions.collect(),
            columns: columns(archive, epoch, path),
            marks: Vec::new(),
            arrows: Vec::new(),
            end: end(archive, leaf),
            stuck: stuck(archive, leaf),
            rows: 0,
        };
        picture.place(archive, epoch, path);
        picture
    }

    /// Rows: below the slot's last node and below all that is waited for.
    fn place(&mut self, archive: &'a Archive, epoch: EpochId, path: &[(StepId, u32)]) {
        let lanes = Lanes::of(archive, epoch, path);
        // By slot: the marks of its nodes, in order.
        let mut known: Vec<Vec<usize>> = vec![Vec::new(); lanes.slots().len()];
        for placed in linearize(archive, epoch, path) {
            let own = usize::from(placed.slot);
            let partners: Vec<usize> = lanes
                .waits(&placed)
                .filter_map(|(slot, to)| {
                    let before = (to as usize).checked_sub(1)?;
                    known.get(usize::from(slot))?.get(before).copied()
                })
                .collect();
            let above = partners.iter().chain(known[own].last());
            let row = above.map(|mark| self.marks[*mark].row + 1).max();
            let position = archive.place(placed.node.site);
            let index = self.marks.len();
            self.marks.push(Mark {
                slot: placed.slot,
                row: row.unwrap_or(0),
                what: text::describe(archive, placed.node),
                file: position.file,
                line: position.line,
                optional: placed.node.is_optional(),
            });
            self.arrows
                .extend(partners.into_iter().map(|from| (from, index)));
            known[own].push(index);
        }
        let lowest = self.marks.iter().map(|mark| mark.row + 1).max();
        self.rows = lowest.unwrap_or(0);
    }
}

fn columns(archive: &Archive, id: EpochId, path: &[(StepId, u32)]) -> Vec<(u16, String)> {
    let epoch = &archive.epochs[id.index()];
    let function = |site: crate::archive::SiteId| {
        archive.texts[archive.sites[site.index()].function.index()].as_str()
    };
    let entry = |slot: u16| -> Option<&str> {
        if let Some(context) = epoch.contexts.get(usize::from(slot)) {
            let frames = &archive.contexts[context.index()].frames;
            return Some(frames.first().map_or("", |site| function(*site)));
        }
        // A thread that is created here begins with its start.
        path.iter().find_map(|(step, _)| {
            let fragment = archive.steps[step.index()].fragment;
            let (node, _) = archive.lane_of(fragment, slot).next()?;
            let starts = node.op == NodeOp::ThreadStart;
            Some(if starts { function(node.site) } else { "" })
        })
    };
    let slots = crate::order::slots_of(archive, id, path).max(epoch.contexts.len());
    let slots = u16::try_from(slots).expect("slots are 16-bit");
    (0..slots)
        .filter_map(|slot| Some((slot, format!("{slot}: {}", entry(slot)?))))
        .collect()
}

fn end(archive: &Archive, leaf: StepId) -> String {
    match &archive.steps[leaf.index()].next {
        Next::Epoch { epoch, moves } => {
            let moves: Vec<String> = moves
                .iter()
                .enumerate()
                .map(|(from, to)| match *to {
                    u16::MAX => format!("{from} ends"),
                    to => format!("{from} becomes {to}"),
                })
                .collect();
            format!("then {epoch}: {}", moves.join(", "))
        }
        Next::Exit => "then the process ends".into(),
        Next::Deadlock { certain: true, .. } => "deadlock".into(),
        Next::Deadlock { .. } => "deadlock (possible)".into(),
        Next::Unexplored { gap } => {
            let reason = archive.gaps[*gap as usize].reason;
            format!("not explored: {}", archive.texts[reason.index()])
        }
        Next::Early { .. } | Next::Late { .. } => "undecided".into(),
    }
}

fn stuck(archive: &Archive, leaf: StepId) -> Vec<(u16, String, String)> {
    let Next::Deadlock { stuck, .. } = &archive.steps[leaf.index()].next else {
        return Vec::new();
    };
    stuck
        .iter()
        .map(|stuck| {
            let what = format!(
                "{} \"{}\"",
                text::op_name(stuck.op),
                archive.object_name(stuck.object)
            );
            let frames = &archive.contexts[stuck.context.index()].frames;
            let place = frames.last().map(|site| archive.place(*site).to_string());
            (stuck.slot, what, place.unwrap_or_default())
        })
        .collect()
}
