//! Sets of small numbers as sorted runs of 64-bit words: union and difference cost what the sets hold, not what they could hold.

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    /// Word number and bits, ascending; no word is zero.
    words: Vec<(u32, u64)>,
}

impl Set {
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Adds a number; true if it is new.
    pub(super) fn insert(&mut self, item: u32) -> bool {
        let bit = 1 << (item % 64);
        match self
            .words
            .binary_search_by_key(&(item / 64), |(number, _)| *number)
        {
            Ok(at) => {
                let new = self.words[at].1 & bit == 0;
                self.words[at].1 |= bit;
                new
            }
            Err(at) => {
                self.words.insert(at, (item / 64, bit));
                true
            }
        }
    }

    /// Adds all of `other` that `known` does not hold; true if that is anything.
    pub(super) fn add_new(&mut self, other: &Set, known: &Set) -> bool {
        let mut fresh = Vec::new();
        let mut at = 0;
        for &(number, bits) in &other.words {
            while known.words.get(at).is_some_and(|word| word.0 < number) {
                at += 1;
            }
            let held = known.words.get(at).filter(|word| word.0 == number);
            let new = bits & !held.map_or(0, |word| word.1);
            if new != 0 {
                fresh.push((number, new));
            }
        }
        if fresh.is_empty() {
            return false;
        }
        self.add_words(&fresh)
    }

    /// Adds all of `other`; true if the set grew.
    pub(super) fn add_all(&mut self, other: &Set) -> bool {
        self.add_words(&other.words)
    }

    fn add_words(&mut self, other: &[(u32, u64)]) -> bool {
        if self.words.is_empty() {
            self.words = other.to_vec();
            return !other.is_empty();
        }
        let mut grew = false;
        let mut merged = Vec::with_capacity(self.words.len() + other.len());
        let mut mine = self.words.iter().copied().peekable();
        for &(number, bits) in other {
            while let Some(word) = mine.next_if(|word| word.0 < number) {
                merged.push(word);
            }
            match mine.next_if(|word| word.0 == number) {
                Some((_, held)) => {
                    grew |= bits & !held != 0;
                    merged.push((number, held | bits));
                }
                None => {
                    grew = true;
                    merged.push((number, bits));
                }
            }
        }
        merged.extend(mine);
        self.words = merged;
        grew
    }

    pub(super) fn contains(&self, item: u32) -> bool {
        let at = self.words.binary_search_by_key(&(item / 64), |word| word.0);
        at.is_ok_and(|at| self.words[at].1 & 1 << (item % 64) != 0)
    }

    /// Takes out all of `other`; true if there was anything.
    pub(super) fn remove_all(&mut self, other: &Set) -> bool {
        let mut theirs = other.words.iter().copied().peekable();
        let mut removed = false;
        self.words.retain_mut(|(number, bits)| {
            while theirs.next_if(|word| word.0 < *number).is_some() {}
            if let Some(word) = theirs.peek().filter(|word| word.0 == *number) {
                removed |= *bits & word.1 != 0;
                *bits &= !word.1;
            }
            *bits != 0
        });
        removed
    }

    /// Ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().flat_map(|&(number, bits)| {
            (0..64)
                .filter(move |bit| bits & (1 << bit) != 0)
                .map(move |bit| number * 64 + bit)
        })
    }

    pub(super) fn len(&self) -> usize {
        self.words
            .iter()
            .map(|(_, bits)| bits.count_ones() as usize)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Set;
    use std::collections::BTreeSet;

    /// A reproducible stream of numbers.
    fn numbers(mut seed: u64) -> impl Iterator<Item = u32> {
        std::iter::repeat_with(move || {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 40) as u32 % 700
        })
    }

    #[test]
    fn behaves_like_a_set() {
        let mut stream = numbers(7);
        for _ in 0..50 {
            let model = |stream: &mut dyn Iterator<Item = u32>| -> BTreeSet<u32> {
                stream.take(60).collect()
            };
            let (a, b, c) = (model(&mut stream), model(&mut stream), model(&mut stream));
            let make = |model: &BTreeSet<u32>| {
                let mut set = Set::default();
                for &item in model {
                    assert!(set.insert(item) && !set.insert(item));
                }
                set
            };
            let mut union = make(&a);
            assert_eq!(union.add_all(&make(&b)), !b.is_subset(&a));
            assert_eq!(union.iter().collect::<BTreeSet<_>>(), &a | &b);
            assert_eq!(union.len(), (&a | &b).len());
            let mut fresh = make(&c);
            let new: BTreeSet<u32> = &a - &b;
            assert_eq!(fresh.add_new(&make(&a), &make(&b)), !new.is_subset(&c));
            assert_eq!(fresh.iter().collect::<BTreeSet<_>>(), &c | &new);
            assert_eq!(fresh.remove_all(&make(&b)), !(&c | &new).is_disjoint(&b));
            assert_eq!(fresh.iter().collect::<BTreeSet<_>>(), &(&c | &new) - &b);
            assert!(
                (0..700).all(|item| fresh.contains(item) == fresh.iter().any(|one| one == item))
            );
        }
    }
}
