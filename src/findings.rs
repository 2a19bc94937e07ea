//! What an archive says about itself, in a few lines: its size, and what it does not cover.

use schedules::ids::Id as _;
use schedules::{Archive, Next, SiteId};

/// Numbers of an archive.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) epochs: usize,
    /// Paths through the decision trees of all epochs.
    pub(crate) schedules: u64,
    pub(crate) early: usize,
    pub(crate) late: usize,
    pub(crate) deadlocks: usize,
}

impl Size {
    pub(crate) fn of(archive: &Archive) -> Self {
        let mut size = Size {
            epochs: archive.epochs.len(),
            ..Size::default()
        };
        // Successors have larger ids: one pass from the end knows the paths below each step.
        let mut paths = vec![0u64; archive.steps.len()];
        for index in (0..archive.steps.len()).rev() {
            let next = &archive.steps[index].next;
            match next {
                Next::Early { .. } => size.early += 1,
                Next::Late { .. } => size.late += 1,
                Next::Deadlock { .. } => size.deadlocks += 1,
                Next::Epoch { .. } | Next::Exit | Next::Unexplored { .. } => {}
            }
            let mut below = u64::from(next.is_leaf());
            next.for_each_successor(|to| below = below.saturating_add(paths[to.index()]));
            paths[index] = below;
        }
        for epoch in &archive.epochs {
            size.schedules = size.schedules.saturating_add(paths[epoch.root.index()]);
        }
        size
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}, {}, {} early and {} late decisions",
            counted(self.epochs, "epoch"),
            counted(
                usize::try_from(self.schedules).unwrap_or(usize::MAX),
                "schedule"
            ),
            self.early,
            self.late
        )?;
        if self.deadlocks > 0 {
            write!(f, ", {}", counted(self.deadlocks, "deadlock"))?;
        }
        Ok(())
    }
}

/// `1 epoch`, `2 epochs`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

/// One line for each thing the archive does not cover, with its place.
pub(crate) fn gaps(archive: &Archive) -> Vec<String> {
    let text = |id: schedules::TextId| archive.texts[id.index()].as_str();
    archive
        .gaps
        .iter()
        .map(|gap| match gap.site {
            Some(site) => format!("{}: {}", place(archive, site), text(gap.reason)),
            None => text(gap.reason).to_owned(),
        })
        .collect()
}

/// `file:line:column` of a site, or the function that holds it.
fn place(archive: &Archive, site: SiteId) -> String {
    let site = &archive.sites[site.index()];
    let text = |id: schedules::TextId| archive.texts[id.index()].as_str();
    let position = site.position;
    if position.line == 0 {
        return format!("in `{}`", text(site.function));
    }
    let file = text(position.file);
    match position.column {
        0 => format!("{file}:{}", position.line),
        column => format!("{file}:{}:{column}", position.line),
    }
}
