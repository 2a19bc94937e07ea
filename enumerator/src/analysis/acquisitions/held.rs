//! What a thread may and must hold at a point of a function.
//!
//! A release takes a lock out only if it surely names the same address: computed in the same way from values that did not change in
//! between, or one lock of which there is only one. A release that may name a lock makes it no longer sure.
//!
//! What a function was entered with (*given*) is told apart from what it took itself (*own*), and for the former it is known whether
//! the function leaves it alone: so a function may be followed once for many callers, and each gets back only what is its own.
//!
//! Recursive mutexes: a lock that is taken again while held counts one deeper, and a release takes out the deepest. From the third
//! time on nothing is taken out.

use super::names::{AddressId, HeldId, NamedId, Names};
use crate::analysis::locks::Site;
use crate::model::InstrId;

/// Deeper than this a lock stays held.
pub(super) const DEEPEST: u8 = 2;

/// A lock that may be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    pub(super) site: Site,
    pub(super) locks: NamedId,
    pub(super) address: Option<AddressId>,
    pub(super) shared: bool,
    pub(super) depth: u8,
}

impl Held {
    /// The same hold as seen from another function.
    pub(super) fn at(self, address: Option<AddressId>) -> Held {
        Held { address, ..self }
    }
}

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Grip {
    /// Held on every way here.
    pub(super) must: bool,
    /// If the function was entered with it, it is still held on every way here.
    pub(super) kept: bool,
    /// The function may have been entered with it.
    pub(super) given: bool,
    /// The function may have taken it itself.
    pub(super) own: bool,
}

impl Grip {
    /// Of a lock that the function takes.
    pub(super) fn own(must: bool) -> Self {
        Self {
            must,
            kept: false,
            given: false,
            own: true,
        }
    }

    /// Of a lock that the function is entered with.
    pub(super) fn given(must: bool) -> Self {
        Self {
            must,
            kept: true,
            given: true,
            own: false,
        }
    }

    fn join(self, other: Self) -> Self {
        Self {
            must: self.must && other.must,
            kept: self.kept && other.kept,
            given: self.given || other.given,
            own: self.own || other.own,
        }
    }

    /// Adds what another hold of the same name knows.
    fn learn(&mut self, other: Self) {
        self.must |= other.must;
        self.kept |= other.kept;
        self.given |= other.given;
        self.own |= other.own;
    }

    /// As it is where another way does not hold it.
    fn perhaps(self) -> Self {
        Self {
            must: false,
            kept: false,
            ..self
        }
    }
}

/// Locks that may be held, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    held: Vec<(HeldId, Grip)>,
}

impl State {
    pub(super) fn iter(&self) -> impl Iterator<Item = (HeldId, Grip)> {
        self.held.iter().copied()
    }

    pub(super) fn get(&self, id: HeldId) -> Option<Grip> {
        let at = self
            .held
            .binary_search_by_key(&id, |(held, _)| *held)
            .ok()?;
        Some(self.held[at].1)
    }

    /// Joins another way to the same point; true if that changes anything.
    pub(super) fn join(&mut self, other: &State) -> bool {
        if self == other {
            return false;
        }
        let joined = self.merged(other, Grip::join, Grip::perhaps);
        let changed = joined != *self;
        *self = joined;
        changed
    }

    /// Joins another way to enter a function; true if that changes anything. Both hold what is given only.
    pub(super) fn join_entry(&mut self, other: &State) -> bool {
        let unsure = |_: Grip| Grip::given(false);
        let joined = self.merged(other, |a, b| Grip::given(a.must && b.must), unsure);
        let changed = joined != *self;
        *self = joined;
        changed
    }

    fn merged(
        &self,
        other: &State,
        both: impl Fn(Grip, Grip) -> Grip,
        alone: impl Fn(Grip) -> Grip,
    ) -> State {
        let mut held = Vec::with_capacity(self.held.len().max(other.held.len()));
        let (mut mine, mut theirs) = (self.held.iter().peekable(), other.held.iter().peekable());
        loop {
            let next = match (mine.peek(), theirs.peek()) {
                (Some(a), Some(b)) if a.0 == b.0 => {
                    let joined = (a.0, both(a.1, b.1));
                    mine.next();
                    theirs.next();
                    joined
                }
                (Some(a), Some(b)) if a.0 < b.0 => {
                    let alone = (a.0, alone(a.1));
                    mine.next();
                    alone
                }
                (Some(a), None) => {
                    let alone = (a.0, alone(a.1));
                    mine.next();
                    alone
                }
                (_, Some(b)) => {
                    let alone = (b.0, alone(b.1));
                    theirs.next();
                    alone
                }
                (None, None) => return State { held },
            };
            held.push(next);
        }
    }

    /// Of holds in any order; of two that have one name each says what it knows.
    pub(super) fn from_pairs(mut held: Vec<(HeldId, Grip)>) -> Self {
        held.sort_unstable_by_key(|(id, _)| *id);
        held.dedup_by(|next, known| {
            let same = next.0 == known.0;
            if same {
                known.1.learn(next.1);
            }
            same
        });
        Self { held }
    }

    /// Adds a hold; of two that have one name each says what it knows.
    pub(super) fn add(&mut self, id: HeldId, grip: Grip) {
        match self.held.binary_search_by_key(&id, |(held, _)| *held) {
            Ok(at) => self.held[at].1.learn(grip),
            Err(at) => self.held.insert(at, (id, grip)),
        }
    }

    /// A lock is taken, surely or perhaps.
    pub(super) fn take(&mut self, mut held: Held, must: bool, names: &mut Names) {
        let depth = self
            .iter()
            .map(|(id, _)| names.hold(id))
            .filter(|other| names.surely_same(other, held.locks, held.address))
            .map(|other| other.depth + 1)
            .max();
        held.depth = depth.unwrap_or(0).min(DEEPEST);
        let id = names.held(held);
        self.add(id, Grip::own(must));
    }

    /// A lock is released; `stable` says whether loads at two places read the same.
    pub(super) fn release(
        &mut self,
        locks: NamedId,
        address: Option<AddressId>,
        names: &mut Names,
        stable: &mut dyn FnMut(&[InstrId], &[InstrId]) -> bool,
    ) {
        let mut same = |names: &Names, held: &Held| {
            let mut through = || match (held.address, address) {
                (Some(taken), Some(released)) => {
                    let (a, b) = (names.address(taken), names.address(released));
                    a.loads == b.loads || stable(&a.loads, &b.loads)
                }
                _ => false,
            };
            names.is_one(held.locks, locks) || names.surely_same(held, locks, address) && through()
        };
        // Depth of those that are surely released.
        let depths: Vec<Option<u8>> = self
            .iter()
            .map(|(id, _)| {
                let held = names.hold(id);
                same(names, &held).then_some(held.depth)
            })
            .collect();
        let deepest = depths.iter().flatten().max().copied();
        let of_deepest = self.held.iter().zip(&depths);
        let sure = of_deepest
            .filter(|(_, depth)| depth.is_some() && **depth == deepest)
            .any(|((_, grip), _)| grip.must);
        let mut left = Vec::with_capacity(self.held.len());
        for (&(id, grip), depth) in self.held.iter().zip(depths) {
            let grip = match depth {
                Some(depth) if Some(depth) == deepest && depth < DEEPEST => continue,
                Some(depth) if !sure || depth == DEEPEST => grip.perhaps(),
                Some(_) => grip,
                None if names.meet(names.hold(id).locks, locks) => grip.perhaps(),
                None => grip,
            };
            left.push((id, grip));
        }
        self.held = left;
    }

    /// Some of what is held may be released by code that is not followed here.
    pub(super) fn loosen(&mut self, loose: impl Fn(HeldId) -> bool) {
        for (id, grip) in &mut self.held {
            if (grip.must || grip.kept) && loose(*id) {
                *grip = grip.perhaps();
            }
        }
    }

    /// A value is computed anew: addresses that depend on it are no longer what they were.
    pub(super) fn recompute(&mut self, id: InstrId, names: &Names) {
        let lost = |names: &Names, held: HeldId| names.depends(&names.hold(held), id);
        if self.iter().any(|(held, _)| lost(names, held)) {
            let now = std::mem::take(&mut self.held).into_iter();
            let now = now.map(|(held, grip)| match lost(names, held) {
                true => (names.plain(held), grip),
                false => (held, grip),
            });
            *self = Self::from_pairs(now.collect());
        }
    }

    /// As somebody sees it who knows no addresses of this function.
    pub(super) fn plain(&self, names: &Names) -> Vec<(Held, bool)> {
        let plain = self.iter().map(|(id, grip)| (names.plain(id), grip));
        let plain = State::from_pairs(plain.collect());
        let mut held: Vec<(Held, bool)> = plain
            .iter()
            .map(|(id, grip)| (names.hold(id), grip.must))
            .collect();
        held.sort_unstable();
        held
    }

    /// Those that pass, changed.
    pub(super) fn filtered(&self, keep: impl Fn(HeldId, Grip) -> Option<Grip>) -> State {
        let held = self.iter();
        State {
            held: held
                .filter_map(|(id, grip)| Some((id, keep(id, grip)?)))
                .collect(),
        }
    }
}
