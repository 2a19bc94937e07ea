//! What threads know of each other while an archive is made up: an edge that says nothing new is not written.
//!
//! Written a second time on purpose, apart from the verifier's: the two have to agree.

use std::collections::BTreeMap;

use schedules::SiteId;

/// By slot: how many of its nodes surely lie behind.
type Clock = Vec<i32>;

/// By slot.
#[derive(Clone, Default)]
pub(crate) struct Clocks {
    /// Whatever is skipped.
    certain: BTreeMap<u16, Clock>,
    /// In the arms that are open, outermost first.
    arms: BTreeMap<u16, Vec<(SiteId, Clock)>>,
}

/// A node that others may wait for.
#[derive(Clone)]
pub(crate) struct Event {
    pub(crate) slot: u16,
    /// The position behind it.
    pub(crate) passed: i32,
    clock: Clock,
}

impl Event {
    fn tells_of(&self, slot: u16) -> i32 {
        if slot == self.slot {
            return self.passed;
        }
        self.clock.get(usize::from(slot)).copied().unwrap_or(0)
    }
}

impl Clocks {
    /// Which of `after` a node of `slot` has to wait for; afterwards it knows what they know.
    pub(crate) fn wait<'a>(&mut self, slot: u16, after: &[&'a Event]) -> Vec<&'a Event> {
        let clock = self.current(slot);
        let at = |clock: &Clock, of: u16| clock.get(usize::from(of)).copied().unwrap_or(0);
        let fresh: Vec<&Event> = after
            .iter()
            .copied()
            .filter(|event| event.slot != slot && at(clock, event.slot) < event.passed)
            .collect();
        for event in &fresh {
            let last = clock
                .len()
                .max(event.clock.len())
                .max(usize::from(event.slot) + 1);
            clock.resize(last, 0);
            for (of, known) in clock.iter_mut().enumerate() {
                *known = (*known).max(event.tells_of(of as u16));
            }
        }
        let implied = |event: &Event| {
            fresh
                .iter()
                .any(|by| by.slot != event.slot && by.tells_of(event.slot) >= event.passed)
        };
        fresh
            .iter()
            .copied()
            .filter(|event| !implied(event))
            .collect()
    }

    /// The node behind which `slot` stands at `passed`, as others see it: what was learned in an arm is not known to them.
    pub(crate) fn event(&self, slot: u16, passed: i32) -> Event {
        let clock = self.certain.get(&slot).cloned().unwrap_or_default();
        Event {
            slot,
            passed,
            clock,
        }
    }

    /// An arm of `branch` begins; another one of it ends.
    pub(crate) fn open(&mut self, slot: u16, branch: SiteId) {
        self.close(slot, branch);
        let clock = self.current(slot).clone();
        self.arms.entry(slot).or_default().push((branch, clock));
    }

    /// The arms of `branch` end.
    pub(crate) fn close(&mut self, slot: u16, branch: SiteId) {
        let arms = self.arms.entry(slot).or_default();
        if arms.last().is_some_and(|(open, _)| *open == branch) {
            arms.pop();
        }
    }

    fn current(&mut self, slot: u16) -> &mut Clock {
        match self.arms.entry(slot).or_default().last_mut() {
            Some((_, clock)) => clock,
            None => self.certain.entry(slot).or_default(),
        }
    }
}
