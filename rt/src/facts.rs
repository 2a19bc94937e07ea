//! What the runtime works out about an archive once, at start-up, so that nothing has to be searched later.

use schedules::archive::{ArchivedArchive, ArchivedNext};

/// Facts about steps and epochs.
pub(crate) struct Facts {
    /// How many threads need a place at once: the largest number of slots of an epoch.
    pub(crate) seats: u16,
    /// The largest number of late decisions on a path through an epoch.
    pub(crate) longest_late: u32,
    /// By step: is there an early decision at or below it, within its epoch?
    early: Vec<bool>,
    /// Does some object keep native operations?
    pub(crate) any_native: bool,
}

/// What is known about a step while walking.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    No,
    Open,
    Done { late: u32, early: bool },
}

impl Facts {
    /// Looks at every step once.
    pub(crate) fn of(archive: &ArchivedArchive) -> Self {
        let mut seen = vec![Seen::No; archive.steps.len()];
        for epoch in archive.epochs.iter() {
            visit(archive, epoch.root.0.to_native(), &mut seen);
        }
        let longest = |seen: &Seen| match seen {
            Seen::Done { late, .. } => *late,
            _ => 0,
        };
        Self {
            seats: archive
                .epochs
                .iter()
                .map(|epoch| epoch.slots.to_native())
                .max()
                .unwrap_or(1)
                .max(1),
            longest_late: seen.iter().map(longest).max().unwrap_or(0),
            early: seen
                .iter()
                .map(|seen| matches!(seen, Seen::Done { early: true, .. }))
                .collect(),
            any_native: archive
                .objects
                .iter()
                .any(|object| object.shared_with_externals),
        }
    }

    /// Is there an early decision at or below `step`?
    pub(crate) fn has_early(&self, step: u32) -> bool {
        self.early[step as usize]
    }
}

/// Depth-first, without recursion: trees may be deeper than a stack.
fn visit(archive: &ArchivedArchive, root: u32, seen: &mut [Seen]) {
    let mut open = vec![root];
    while let Some(&step) = open.last() {
        let next = &archive.steps[step as usize].next;
        if seen[step as usize] == Seen::No {
            seen[step as usize] = Seen::Open;
            for_each_child(next, |child| {
                if seen[child as usize] == Seen::No {
                    open.push(child);
                }
            });
            continue;
        }
        open.pop();
        if seen[step as usize] == Seen::Open {
            seen[step as usize] = summarize(next, seen);
        }
    }
}

fn summarize(next: &ArchivedNext, seen: &[Seen]) -> Seen {
    let mut late = 0;
    let mut early = matches!(next, ArchivedNext::Early { .. });
    for_each_child(next, |child| {
        if let Seen::Done {
            late: below,
            early: has,
        } = seen[child as usize]
        {
            late = late.max(below);
            early |= has;
        }
    });
    late += u32::from(matches!(next, ArchivedNext::Late { .. }));
    Seen::Done { late, early }
}

fn for_each_child(next: &ArchivedNext, mut visit: impl FnMut(u32)) {
    match next {
        ArchivedNext::Early { yes, no, .. } => {
            visit(yes.0.to_native());
            visit(no.0.to_native());
        }
        ArchivedNext::Late { arms, .. } => {
            for arm in arms.iter() {
                visit(arm.step.0.to_native());
            }
        }
        _ => {}
    }
}
