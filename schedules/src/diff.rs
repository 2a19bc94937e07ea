//! What changed between two archives, by epoch and schedule.
//!
//! Ids mean nothing across archives, so everything is compared by what it stands for: sites by their stable ids, epochs by their
//! contexts (those that begin at the same places, and differ in who holds what, in their order), schedules by the decisions that lead to them, nodes by site, operation, object and what they wait for. Lines
//! that only moved are no change.
//!
//! At most [`MOST_SCHEDULES`] schedules of an epoch are compared; a difference that says so is reported where there are more.

use std::collections::BTreeMap;

use crate::archive::{Archive, Epoch, EpochId, Next, SiteId, StepId};
use crate::conform::Decided;
use crate::ids::Id;
use crate::order::Lanes;
use crate::paths::{Counts, Paths};
use crate::text;

/// How many schedules of an epoch are compared.
pub const MOST_SCHEDULES: u64 = 2000;

/// One difference, for people: `-` only in the first, `+` only in the second, `~` in both and different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// `-`, `+` or `~`.
    pub sign: char,
    /// What.
    pub what: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.sign, self.what)
    }
}

/// All differences, in a fixed order. Empty: the archives mean the same.
pub fn diff(old: &Archive, new: &Archive) -> Vec<Difference> {
    let mut differences = Differences::default();
    programs(old, new, &mut differences);
    let (old, new) = (Side::of(old), Side::of(new));
    for (key, epoch) in &old.epochs {
        match new.epochs.get(key) {
            None => differences.add('-', old.describe_epoch(*epoch)),
            Some(other) => epochs(&old, *epoch, &new, *other, &mut differences),
        }
    }
    for (key, epoch) in &new.epochs {
        if !old.epochs.contains_key(key) {
            differences.add('+', new.describe_epoch(*epoch));
        }
    }
    differences.found
}

#[derive(Default)]
struct Differences {
    found: Vec<Difference>,
}

impl Differences {
    fn add(&mut self, sign: char, what: impl Into<String>) {
        let what = what.into();
        self.found.push(Difference { sign, what });
    }

    fn compare<T: PartialEq + std::fmt::Display>(&mut self, what: &str, old: T, new: T) {
        if old != new {
            self.add('~', format!("{what}: {old} -> {new}"));
        }
    }
}

fn programs(old: &Archive, new: &Archive, differences: &mut Differences) {
    let (a, b) = (&old.program, &new.program);
    differences.compare("program", &a.name, &b.name);
    differences.compare("thread bound", a.thread_bound, b.thread_bound);
    differences.compare("order", &a.order, &b.order);
    lists(&a.assumptions, &b.assumptions, "assumption", differences);
    lists(&gaps(old), &gaps(new), "incomplete", differences);
    let unordered = |archive: &Archive| -> Vec<String> {
        let sites = archive.plan.unordered.iter();
        sites.map(|site| archive.place(*site).to_string()).collect()
    };
    lists(&unordered(old), &unordered(new), "unordered", differences);
    let (counts, other) = (Counts::of(old), Counts::of(new));
    differences.compare("epochs", counts.epochs, other.epochs);
    differences.compare("schedules", counts.schedules, other.schedules);
    differences.compare("deadlocks", counts.deadlocks, other.deadlocks);
}

fn gaps(archive: &Archive) -> Vec<String> {
    let gaps = archive.gaps.iter().map(|gap| {
        let reason = &archive.texts[gap.reason.index()];
        let place = gap.site.map(|site| format!(" ({})", archive.place(site)));
        format!("{reason}{}", place.unwrap_or_default())
    });
    gaps.collect()
}

fn lists(old: &[String], new: &[String], what: &str, differences: &mut Differences) {
    for row in old.iter().filter(|row| !new.contains(row)) {
        differences.add('-', format!("{what}: {row}"));
    }
    for row in new.iter().filter(|row| !old.contains(row)) {
        differences.add('+', format!("{what}: {row}"));
    }
}

/// By slot: the stable ids of a context's frames; then how many epochs before it begin at the same places.
type EpochKey = (Vec<Vec<u64>>, usize);

/// By decisions: a schedule's number and path.
type Schedules = BTreeMap<Vec<String>, (u64, Vec<(StepId, u32)>)>;

/// An archive, with its epochs by what they stand for.
struct Side<'a> {
    archive: &'a Archive,
    paths: Paths,
    epochs: BTreeMap<EpochKey, EpochId>,
}

/// A schedule as it can be compared: lines, with the same lines for people.
struct Content {
    keys: Vec<String>,
    shown: Vec<String>,
}

impl<'a> Side<'a> {
    fn of(archive: &'a Archive) -> Self {
        let mut epochs = BTreeMap::new();
        let mut alike: BTreeMap<Vec<Vec<u64>>, usize> = BTreeMap::new();
        for (index, epoch) in archive.epochs.iter().enumerate() {
            let places = places(archive, epoch);
            let before = alike.entry(places.clone()).or_default();
            epochs.insert((places, *before), EpochId::from_index(index));
            *before += 1;
        }
        Self {
            archive,
            paths: Paths::of(archive),
            epochs,
        }
    }

    fn stable(&self, site: SiteId) -> u64 {
        self.archive.sites[site.index()].stable
    }

    fn describe_epoch(&self, epoch: EpochId) -> String {
        let contexts = self.archive.epochs[epoch.index()].contexts.iter();
        let places: Vec<String> = contexts
            .map(|context| {
                let frames = &self.archive.contexts[context.index()].frames;
                let last = frames
                    .last()
                    .map(|site| self.archive.place(*site).to_string());
                last.unwrap_or_default()
            })
            .collect();
        format!("{epoch} (threads at {})", places.join(", "))
    }

    /// The epoch's schedules by the decisions that lead to them.
    fn schedules(&self, epoch: EpochId) -> Schedules {
        let count = self.paths.schedules(self.archive, epoch);
        let mut schedules = BTreeMap::new();
        for number in 0..count.min(MOST_SCHEDULES) {
            let Some(path) = self.paths.path(self.archive, epoch, number) else {
                break;
            };
            let decisions = path.windows(2).map(|pair| {
                let decided = Decided::at(self.archive, pair[0].0, pair[1].1);
                format!("{}: {}", decided.condition, decided.outcome)
            });
            schedules.insert(decisions.collect(), (number, path));
        }
        schedules
    }

    fn content(&self, epoch: EpochId, path: &[(StepId, u32)]) -> Content {
        let lanes = Lanes::of(self.archive, epoch, path);
        let mut content = Content {
            keys: Vec::new(),
            shown: Vec::new(),
        };
        for placed in lanes.slots().iter().flatten() {
            let what = text::describe(self.archive, placed.node);
            let waits: Vec<String> = lanes
                .waits(placed)
                .map(|(slot, to)| format!(" {slot}:{to}"))
                .collect();
            let waits = waits.concat();
            let slot = placed.slot;
            let flags = placed.node.flags & !crate::archive::Node::PUBLISHES;
            let stable = self.stable(placed.node.site);
            let place = self.archive.place(placed.node.site);
            content
                .keys
                .push(format!("{slot} {what} {stable:x} {flags} <-{waits}"));
            let arrow = if waits.is_empty() { "" } else { " <-" };
            content
                .shown
                .push(format!("slot {slot}: {what} at {place}{arrow}{waits}"));
        }
        if let Some((leaf, _)) = path.last() {
            let leaf = &self.archive.steps[leaf.index()].next;
            content.keys.push(self.leaf(leaf, true));
            content.shown.push(self.leaf(leaf, false));
        }
        content
    }

    /// Where a schedule ends. As a key, epochs are named by their contexts.
    fn leaf(&self, next: &Next, as_key: bool) -> String {
        match next {
            Next::Epoch { epoch, moves } if as_key => {
                let key = self.epochs.iter().find(|(_, id)| *id == epoch);
                format!("next {:?} {moves:?}", key.map(|(key, _)| key))
            }
            Next::Epoch { epoch, .. } => format!("then {}", self.describe_epoch(*epoch)),
            Next::Exit => "then exit".into(),
            Next::Deadlock { stuck, certain, .. } => {
                let threads: Vec<String> = stuck
                    .iter()
                    .map(|stuck| {
                        let name = self.archive.object_name(stuck.object);
                        format!(
                            "slot {} at {} \"{name}\"",
                            stuck.slot,
                            text::op_name(stuck.op)
                        )
                    })
                    .collect();
                let how = if *certain { "certain" } else { "possible" };
                format!("{how} deadlock: {}", threads.join(", "))
            }
            Next::Unexplored { .. } => "unexplored".into(),
            Next::Early { .. } | Next::Late { .. } => "undecided".into(),
        }
    }
}

/// Where an epoch's threads stand, by slot.
fn places(archive: &Archive, epoch: &Epoch) -> Vec<Vec<u64>> {
    let stable = |site: &SiteId| archive.sites[site.index()].stable;
    let contexts = epoch.contexts.iter();
    contexts
        .map(|context| {
            let frames = archive.contexts[context.index()].frames.iter();
            frames.map(stable).collect()
        })
        .collect()
}

fn epochs(
    old: &Side<'_>,
    epoch: EpochId,
    new: &Side<'_>,
    other: EpochId,
    differences: &mut Differences,
) {
    let (a, b) = (old.schedules(epoch), new.schedules(other));
    let name = |number: u64, epoch: EpochId, decisions: &[String]| {
        let decisions = decisions.join(", ");
        let shown = if decisions.is_empty() {
            String::new()
        } else {
            format!(" ({decisions})")
        };
        format!("{epoch}/{number}{shown}")
    };
    for (decisions, (number, path)) in &a {
        let Some((_, theirs)) = b.get(decisions) else {
            differences.add('-', format!("schedule {}", name(*number, epoch, decisions)));
            continue;
        };
        let (before, after) = (old.content(epoch, path), new.content(other, theirs));
        if before.keys != after.keys {
            differences.add('~', format!("schedule {}", name(*number, epoch, decisions)));
            first_change(&before, &after, differences);
        }
    }
    for (decisions, (number, _)) in &b {
        if !a.contains_key(decisions) {
            differences.add('+', format!("schedule {}", name(*number, other, decisions)));
        }
    }
    let count = |side: &Side<'_>, epoch| side.paths.schedules(side.archive, epoch);
    if count(old, epoch).max(count(new, other)) > MOST_SCHEDULES {
        differences.add(
            '~',
            format!("{epoch}: only the first {MOST_SCHEDULES} schedules were compared"),
        );
    }
}

/// The lines between what is equal at the beginning and at the end; at most a few.
fn first_change(before: &Content, after: &Content, differences: &mut Differences) {
    const SHOWN: usize = 8;
    let pairs = || before.keys.iter().zip(&after.keys);
    let same = pairs().take_while(|(a, b)| a == b).count();
    let shorter = before.keys.len().min(after.keys.len()) - same;
    let from_end = before.keys.iter().rev().zip(after.keys.iter().rev());
    let tail = from_end.take_while(|(a, b)| a == b).count().min(shorter);
    for (sign, side) in [('-', before), ('+', after)] {
        let changed = &side.shown[same..side.shown.len() - tail];
        for line in changed.iter().take(SHOWN) {
            differences.add(sign, format!("    {line}"));
        }
        if changed.len() > SHOWN {
            let more = changed.len() - SHOWN;
            differences.add(sign, format!("    and {more} more"));
        }
    }
}
