//! The memory of objects: words, what fills them, and copies between them.

use super::{EXTERNAL, EXTERNAL_MEMORY, MAX_PAIRS, MemoryCopy, Solver};
use crate::analysis::points_to::AbstractObject;
use crate::analysis::points_to::objects::{Copied, Fold, LocationId, ObjectId};

impl Solver {
    /// Brings words and copies of an object in line with its new shape.
    pub(super) fn reshape(&mut self, object: ObjectId) {
        let place = &self.objects[object];
        let mut merges = Vec::new();
        for (&word, &node) in &place.words {
            for byte in 0..8 {
                let target = if place.shape.is_collapsed() {
                    0
                } else {
                    place.shape.canonical(word * 8 + byte).div_euclid(8)
                };
                if target != word {
                    merges.push((target, node));
                }
            }
        }
        for (target, node) in merges {
            let target = self.word(object, target);
            self.merges.push((target, node));
        }
        self.connect_all(object);
    }

    /// The node of a word of an object.
    pub(in super::super) fn word(&mut self, object: ObjectId, word: i64) -> u32 {
        if self.is_external(object) {
            return EXTERNAL_MEMORY;
        }
        let word = if self.objects[object].shape.is_collapsed() {
            0
        } else {
            word
        };
        if let Some(&node) = self.objects[object].words.get(&word) {
            return node;
        }
        let node = self.node();
        self.objects[object].words.insert(word, node);
        if self.objects[object].too_many_words() {
            self.coarsen(object);
        }
        if self.objects[object].escaped {
            self.share(node);
        }
        self.connect_word(object, word, node);
        node
    }

    /// Applies the copies and fills of an object to one of its words.
    fn connect_word(&mut self, object: ObjectId, word: i64, node: u32) {
        let place = &self.objects[object];
        let whole = place.shape.is_collapsed();
        let overlaps = |from: i64, to: i64| whole || (word * 8 + 8 > from && word * 8 < to);
        let fills: Vec<u32> = place
            .fills
            .iter()
            .filter(|(from, to, _)| overlaps(*from, *to))
            .map(|(_, _, node)| *node)
            .collect();
        let drains: Vec<u32> = place
            .drains
            .iter()
            .filter(|(from, to, _)| overlaps(*from, *to))
            .map(|(_, _, node)| *node)
            .collect();
        let copies = place.copies.clone();
        for fill in fills {
            self.copy(fill, node);
        }
        for drain in drains {
            self.copy(node, drain);
        }
        for copied in copies {
            self.copy_word(object, word, node, copied);
        }
    }

    /// Lets a word flow to where a copy of memory puts it.
    fn copy_word(&mut self, object: ObjectId, word: i64, node: u32, copied: Copied) {
        let target = copied.object;
        if self.objects[target].shape.is_collapsed() {
            let to = self.word(target, 0);
            self.copy(node, to);
            return;
        }
        if self.objects[object].shape.is_collapsed() {
            self.fill(target, copied.to, copied.length, node);
            return;
        }
        // Inside a fold the copy may wrap around the element: the target then repeats with the same stride.
        let wrap = self.objects[object]
            .shape
            .folds_at(copied.from)
            .filter(|fold| {
                copied.length > fold.stride - (copied.from - fold.start).rem_euclid(fold.stride)
            })
            .map(|fold| (fold.start, fold.stride))
            .next();
        let mut distance = word * 8 - copied.from;
        if let Some((start, stride)) = wrap {
            let in_fold = word * 8 + 8 > start && word * 8 < start + stride;
            if in_fold {
                self.fold_target(target, copied, stride);
                distance = distance.rem_euclid(stride);
                // A word that straddles the element's edges may land on either side.
                for shifted in [distance, distance - stride] {
                    self.land(target, copied.to, shifted, node);
                }
                return;
            }
        }
        if distance > -8 && distance < copied.length {
            self.land(target, copied.to, distance, node);
        }
    }

    fn fold_target(&mut self, target: ObjectId, copied: Copied, stride: i64) {
        let to = self.objects[target].shape.canonical(copied.to);
        let known = self.objects[target]
            .shape
            .folds_at(to)
            .any(|fold| stride % fold.stride == 0);
        if !known {
            self.objects[target].shape.add(Fold {
                start: to,
                end: to.saturating_add(copied.length),
                stride,
            });
            self.reshaped.push(target);
        }
    }

    /// A word arrives at `to + distance`, perhaps across a word boundary.
    fn land(&mut self, target: ObjectId, to: i64, distance: i64, node: u32) {
        let at = to.saturating_add(distance);
        let words: Vec<i64> = self.objects[target].touched(at, 8).into_iter().collect();
        for word in words {
            let into = self.word(target, word);
            self.copy(node, into);
        }
    }

    pub(super) fn fill(&mut self, target: ObjectId, from: i64, length: i64, node: u32) {
        let end = from.saturating_add(length);
        let entry = (from, end, node);
        if self.range_known.insert((target, false, entry)) {
            self.objects[target].fills.push(entry);
            self.connect_all(target);
        }
    }

    /// A copy of memory has a new source or a new target.
    pub(super) fn copy_pairs(
        &mut self,
        copy: u32,
        source: Option<LocationId>,
        target: Option<LocationId>,
    ) {
        let MemoryCopy {
            to,
            from,
            length,
            hub,
        } = self.copies[copy as usize];
        if let Some(hub) = hub {
            source
                .into_iter()
                .for_each(|source| self.drain(source, length, hub));
            target
                .into_iter()
                .for_each(|target| self.pour(target, length, hub));
            return;
        }
        let (from, to) = (self.find(from), self.find(to));
        let all = |solver: &Self, node: u32| -> Vec<LocationId> {
            let holds = solver.nodes[node as usize].holds.iter();
            holds.map(LocationId).collect()
        };
        let (sources, targets) = (all(self, from), all(self, to));
        if sources.len() * targets.len() > MAX_PAIRS {
            let hub = self.node();
            self.copies[copy as usize].hub = Some(hub);
            sources
                .into_iter()
                .for_each(|source| self.drain(source, length, hub));
            targets
                .into_iter()
                .for_each(|target| self.pour(target, length, hub));
            return;
        }
        for &source in source.as_ref().map_or(&sources[..], std::slice::from_ref) {
            for &target in target.as_ref().map_or(&targets[..], std::slice::from_ref) {
                self.copy_between(source, target, length);
            }
        }
    }

    /// All words from a place on flow into the node.
    fn drain(&mut self, source: LocationId, length: Option<u64>, hub: u32) {
        let (object, from) = self.settled(source);
        if matches!(self.objects[object].what, AbstractObject::Function(_)) {
            return;
        }
        if self.is_external(object) {
            self.point(hub, EXTERNAL);
            return;
        }
        let end = length.map_or(i64::MAX, |length| from.saturating_add_unsigned(length));
        // Inside a fold the copy may reach any word of the element.
        let wraps = self.objects[object].shape.folds_at(from).next().is_some();
        let entry = if wraps {
            (0, i64::MAX, hub)
        } else {
            (from, end, hub)
        };
        if self.range_known.insert((object, true, entry)) {
            self.objects[object].drains.push(entry);
            self.connect_all(object);
        }
    }

    /// All words from a place on hold what the node holds.
    fn pour(&mut self, target: LocationId, length: Option<u64>, hub: u32) {
        let (object, to) = self.settled(target);
        if matches!(self.objects[object].what, AbstractObject::Function(_)) {
            return;
        }
        if self.is_external(object) {
            self.copy(hub, EXTERNAL_MEMORY);
            return;
        }
        let wraps = self.objects[object].shape.folds_at(to).next().is_some();
        let length = length.and_then(|length| i64::try_from(length).ok());
        if wraps {
            self.fill(object, 0, i64::MAX, hub);
        } else {
            self.fill(object, to, length.unwrap_or(i64::MAX), hub);
        }
    }

    fn connect_all(&mut self, object: ObjectId) {
        let words: Vec<(i64, u32)> = self.objects[object]
            .words
            .iter()
            .map(|(word, node)| (*word, *node))
            .collect();
        for (word, node) in words {
            self.connect_word(object, word, node);
        }
    }

    fn copy_between(&mut self, from: LocationId, to: LocationId, length: Option<u64>) {
        let (source, from) = self.settled(from);
        let (target, to) = self.settled(to);
        let is_code = |what| matches!(what, AbstractObject::Function(_));
        if is_code(self.objects[source].what) || is_code(self.objects[target].what) {
            return;
        }
        if self.is_external(source) {
            if self.is_external(target) {
                return;
            }
            let length = length.map_or(i64::MAX, |length| length as i64);
            self.fill(target, to, length, EXTERNAL_MEMORY);
            return;
        }
        let copied = Copied {
            from,
            length: length
                .or_else(|| self.objects[source].size)
                .and_then(|length| i64::try_from(length).ok())
                .unwrap_or(i64::MAX),
            object: target,
            to,
        };
        if !self.copy_known.insert((source, copied)) {
            return;
        }
        self.objects[source].copies.push(copied);
        let words: Vec<(i64, u32)> = self.objects[source]
            .words
            .iter()
            .map(|(word, node)| (*word, *node))
            .collect();
        for (word, node) in words {
            self.copy_word(source, word, node, copied);
        }
    }
}
