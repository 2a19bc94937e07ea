//! Abstract objects and the places inside them.
//!
//! A *location* is an object and a byte offset. Offsets that a variable index makes indistinguishable are *folded*: a fold says
//! that from `start` to `end` only the position modulo `stride` counts. Folds nest (an array in a struct in an array); where two
//! overlap otherwise they become one with the greatest common stride. [`Shape::canonical`] maps each offset to the one that stands
//! for its class. Folds only get coarser, so an answer once given stays inside the later one.
//!
//! What pointers may be *stored* is kept by aligned word of eight bytes: an access touches every word it overlaps, so copying by
//! bytes, unions and packed structs need no special care.
//!
//! Assumption (C11 6.5.6): a variable index stays inside the declared array it starts in, where the array is known; otherwise
//! it may reach the whole object.

use std::collections::{BTreeMap, BTreeSet};

use schedules::define_id;

use super::AbstractObject;

define_id!(
    /// An abstract object.
    ObjectId, "o"
);
define_id!(
    /// An object and an offset in it.
    LocationId, "l"
);

/// The offset of a pointer about which only the object is known.
pub(super) const ANY: i64 = i64::MIN;

/// More distinct words than this in one object and we no longer tell its parts apart.
const MAX_WORDS: usize = 1024;

/// More folds than this in one object and we no longer tell its parts apart.
const MAX_FOLDS: usize = 24;

/// A stretch of an object in which only the position modulo `stride` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fold {
    pub(super) start: i64,
    /// `i64::MAX`: the object's end.
    pub(super) end: i64,
    pub(super) stride: i64,
}

impl Fold {
    fn contains(&self, offset: i64) -> bool {
        self.start <= offset && offset < self.end
    }

    fn apply(&self, offset: i64) -> i64 {
        if self.contains(offset) {
            self.start + (offset - self.start) % self.stride
        } else {
            offset
        }
    }

    /// True if `inner` lies in one element.
    fn holds(&self, inner: &Fold) -> bool {
        self.contains(inner.start)
            && inner.end <= self.end
            && (inner.start - self.start) / self.stride
                == (inner.end.saturating_sub(1) - self.start) / self.stride
    }

    fn disjoint(&self, other: &Fold) -> bool {
        self.end <= other.start || other.end <= self.start
    }

    fn length(&self) -> i64 {
        self.end.saturating_sub(self.start)
    }
}

pub(super) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

/// A declared array: `count` elements of `stride` bytes from `start`. A count of 0 or 1 at an object's end means "as many as fit".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Array {
    pub(super) start: i64,
    pub(super) stride: i64,
    pub(super) count: u64,
}

impl Array {
    fn end(&self) -> i64 {
        match i64::try_from(self.count) {
            Ok(0 | 1) | Err(_) => i64::MAX,
            Ok(count) => self.start.saturating_add(self.stride.saturating_mul(count)),
        }
    }

    fn contains(&self, offset: i64) -> bool {
        self.start <= offset && offset < self.end()
    }
}

/// Which offsets of an object are told apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    /// Outer before inner, each in the coordinates that the ones before it leave.
    folds: Vec<Fold>,
    arrays: BTreeSet<Array>,
    /// Nothing is told apart.
    collapsed: bool,
}

impl Shape {
    /// The offset that stands for the class of `offset`.
    pub(super) fn canonical(&self, offset: i64) -> i64 {
        if self.collapsed {
            return 0;
        }
        if offset == ANY {
            return ANY;
        }
        self.folds
            .iter()
            .fold(offset, |offset, fold| fold.apply(offset))
    }

    pub(super) fn is_collapsed(&self) -> bool {
        self.collapsed
    }

    /// The folds that hold an offset, outer first.
    pub(super) fn folds_at(&self, offset: i64) -> impl Iterator<Item = &Fold> {
        self.folds.iter().filter(move |fold| fold.contains(offset))
    }

    /// Says that there is an array in the object.
    pub(super) fn declare(&mut self, array: Array) {
        if array.stride > 0 && self.arrays.len() < 4 * MAX_FOLDS {
            self.arrays.insert(array);
        }
    }

    /// Adds a variable multiple of `stride` to canonical `offset`; true if the shape became coarser.
    pub(super) fn index(&mut self, offset: i64, stride: i64) -> bool {
        let stride = stride.abs();
        if self.collapsed || stride == 0 || offset == ANY {
            return false;
        }
        if self.folds_at(offset).any(|fold| stride % fold.stride == 0) {
            return false;
        }
        let fold = self.declared(offset, stride).unwrap_or(Fold {
            start: offset.rem_euclid(stride),
            end: i64::MAX,
            stride,
        });
        self.add(fold);
        true
    }

    /// The declared array that a pointer at `offset` steps through; arrays of arrays are one.
    fn declared(&self, offset: i64, stride: i64) -> Option<Fold> {
        let mut best = self
            .arrays
            .iter()
            .filter(|array| {
                array.contains(offset)
                    && array.stride == stride
                    && (offset - array.start) % stride == 0
            })
            .min_by_key(|array| array.end().saturating_sub(array.start))
            .copied()?;
        while let Some(outer) = self.arrays.iter().find(|outer| {
            outer.stride > best.stride
                && Some(outer.stride) == best.end().checked_sub(best.start)
                && outer.contains(best.start)
                && (best.start - outer.start) % outer.stride == 0
        }) {
            best = Array {
                start: outer.start,
                stride: best.stride,
                // Of one element there may be as many as fit, and of those again: it must not stay as long as it was.
                count: match outer.count {
                    0 | 1 => 1,
                    count => count.saturating_mul(best.count),
                },
            };
        }
        Some(Fold {
            start: best.start,
            end: best.end(),
            stride,
        })
    }

    /// Adds a fold, merging what overlaps without nesting.
    pub(super) fn add(&mut self, mut new: Fold) {
        'again: loop {
            for index in 0..self.folds.len() {
                let old = self.folds[index];
                if old == new {
                    return;
                }
                if old.disjoint(&new) || old.holds(&new) {
                    continue;
                }
                self.folds.remove(index);
                if new.holds(&old) {
                    let start = new.apply(old.start);
                    let moved = Fold {
                        start,
                        end: start + old.length(),
                        ..old
                    };
                    // The moved one may meet others: put it back after the outer one.
                    self.add(new);
                    self.add(moved);
                    return;
                }
                let start = old.start.min(new.start);
                new = Fold {
                    start,
                    end: old.end.max(new.end),
                    stride: gcd(gcd(old.stride, new.stride), old.start - new.start),
                };
                continue 'again;
            }
            break;
        }
        self.folds.push(new);
        self.folds
            .sort_by_key(|fold| (std::cmp::Reverse(fold.length()), fold.start));
        self.collapsed |= self.folds.len() > MAX_FOLDS;
    }

    pub(super) fn collapse(&mut self) {
        self.collapsed = true;
        self.folds.clear();
        self.arrays.clear();
    }
}

/// What is copied out of an object: bytes from `from` on go to `to` in `object`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Copied {
    pub(super) from: i64,
    /// `i64::MAX`: all that follows.
    pub(super) length: i64,
    pub(super) object: ObjectId,
    pub(super) to: i64,
}

/// An abstract object with what its memory may hold.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) what: AbstractObject,
    pub(super) size: Option<u64>,
    pub(super) shape: Shape,
    /// Nodes of the words that may hold pointers, by word number.
    pub(super) words: BTreeMap<i64, u32>,
    /// Locations by offset, canonical or formerly so.
    pub(super) locations: BTreeMap<i64, LocationId>,
    /// Code we do not see may read and write it.
    pub(super) escaped: bool,
    pub(super) copies: Vec<Copied>,
    /// Every word between these offsets also holds what the node holds.
    pub(super) fills: Vec<(i64, i64, u32)>,
    /// What every word between these offsets holds, the node holds too.
    pub(super) drains: Vec<(i64, i64, u32)>,
}

impl Object {
    pub(super) fn new(what: AbstractObject, size: Option<u64>) -> Self {
        Self {
            what,
            size,
            shape: Shape::default(),
            words: BTreeMap::new(),
            locations: BTreeMap::new(),
            escaped: false,
            copies: Vec::new(),
            fills: Vec::new(),
            drains: Vec::new(),
        }
    }

    /// True if the object has so many words that keeping them apart costs more than it gives.
    pub(super) fn too_many_words(&self) -> bool {
        self.words.len() > MAX_WORDS
    }

    /// False for offsets that no valid pointer dereferences.
    pub(super) fn in_bounds(&self, offset: i64) -> bool {
        offset >= 0 && self.size.is_none_or(|size| (offset as u64) < size)
    }

    /// Numbers of the words that `length` bytes at canonical `offset` touch, ascending, each once.
    pub(super) fn touched(&self, offset: i64, length: u64) -> BTreeSet<i64> {
        if self.shape.is_collapsed() {
            return BTreeSet::from([0]);
        }
        // Small accesses byte by byte; of large ones every word at least once.
        let step = if length <= 16 { 1 } else { 4 };
        (0..length)
            .step_by(step)
            .chain(length.checked_sub(1))
            .map(|distance| offset.saturating_add_unsigned(distance))
            .filter(|at| self.in_bounds(*at))
            .map(|at| self.shape.canonical(at).div_euclid(8))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Array, Fold, Shape};

    #[test]
    fn folds_nest_and_merge() {
        let mut shape = Shape::default();
        assert!(shape.index(8, 32));
        assert_eq!(shape.canonical(8 + 3 * 32 + 5), 13);
        assert_eq!(shape.canonical(4), 4, "before the first element");
        shape.add(Fold {
            start: 16,
            end: 32,
            stride: 4,
        });
        assert_eq!(shape.canonical(8 + 3 * 32 + 8 + 6), 18);
        assert!(!shape.index(8, 64), "a multiple stays inside");
        assert!(shape.index(8, 12));
        assert_eq!(shape.canonical(8 + 4), shape.canonical(8));
    }

    #[test]
    fn an_index_stays_in_its_declared_array() {
        let mut shape = Shape::default();
        shape.declare(Array {
            start: 40,
            stride: 8,
            count: 4,
        });
        assert!(shape.index(48, 8));
        assert_eq!(shape.canonical(64), 40);
        assert_eq!(shape.canonical(72), 72);
        assert_eq!(shape.canonical(0), 0);
    }

    #[test]
    fn arrays_of_arrays_are_one() {
        let mut shape = Shape::default();
        for (stride, count) in [(40, 10), (4, 10)] {
            shape.declare(Array {
                start: 0,
                stride,
                count,
            });
        }
        assert!(shape.index(0, 4));
        assert_eq!(shape.canonical(396), 0);
        assert_eq!(shape.canonical(400), 400);
    }
}
