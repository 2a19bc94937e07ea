//! Epochs that no path leads to any more: while states were joined, paths came to end elsewhere.

use std::collections::BTreeSet;

use crate::archive::{Archive, EpochId, Next, StepId};
use crate::ids::Id;

/// Drops epochs that are not reached from the first, and gaps that neither a remaining step nor `limits` names.
pub(super) fn keep_reachable(archive: &mut Archive, limits: &BTreeSet<u32>) {
    let mut new: Vec<Option<u32>> = vec![None; archive.epochs.len()];
    let mut gaps: BTreeSet<u32> = limits.clone();
    let mut seen = vec![false; archive.steps.len()];
    let mut reached: BTreeSet<usize> = BTreeSet::new();
    let mut epochs: Vec<usize> = (0..archive.epochs.len().min(1)).collect();
    while let Some(epoch) = epochs.pop() {
        if !reached.insert(epoch) {
            continue;
        }
        let mut work: Vec<StepId> = vec![archive.epochs[epoch].root];
        while let Some(id) = work.pop() {
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            let next = &archive.steps[id.index()].next;
            match next {
                Next::Epoch { epoch, .. } => epochs.push(epoch.index()),
                Next::Unexplored { gap } => {
                    gaps.insert(*gap);
                }
                _ => {}
            }
            next.for_each_successor(|to| work.push(to));
        }
    }
    for (index, epoch) in reached.iter().enumerate() {
        new[*epoch] = Some(u32::try_from(index).expect("few epochs"));
    }
    let kept: Vec<u32> = gaps.into_iter().collect();
    for (step, _) in archive
        .steps
        .iter_mut()
        .zip(&seen)
        .filter(|(_, seen)| **seen)
    {
        match &mut step.next {
            Next::Epoch { epoch, .. } => {
                *epoch = EpochId(new[epoch.index()].expect("reached"));
            }
            Next::Unexplored { gap } => {
                let place = kept.binary_search(gap).expect("kept");
                *gap = u32::try_from(place).expect("few gaps");
            }
            _ => {}
        }
    }
    archive.gaps = kept
        .iter()
        .map(|gap| archive.gaps[*gap as usize].clone())
        .collect();
    let mut index = 0;
    archive.epochs.retain(|_| {
        index += 1;
        reached.contains(&(index - 1))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::ArchiveBuilder;

    #[test]
    fn what_nobody_reaches_is_dropped() {
        let mut builder = ArchiveBuilder::default();
        let empty = builder.fragment(Vec::new());
        let ids: Vec<EpochId> = (0..3).map(|_| builder.new_epoch(&[])).collect();
        let stale = builder.gap("stale", None);
        let open = builder.gap("open", None);
        builder.limit("everywhere", None);
        let to_last = builder.step(
            empty,
            Next::Epoch {
                epoch: ids[2],
                moves: Vec::new(),
            },
        );
        let nowhere = builder.step(empty, Next::Unexplored { gap: stale });
        let unknown = builder.step(empty, Next::Unexplored { gap: open });
        for (id, root) in ids.iter().zip([to_last, nowhere, unknown]) {
            builder.define_epoch(*id, 0, root, 0);
        }
        let archive = builder.finish_reachable();
        assert_eq!(archive.epochs.len(), 2);
        let reasons: Vec<&str> = (archive.gaps.iter())
            .map(|gap| archive.texts[gap.reason.index()].as_str())
            .collect();
        assert_eq!(reasons, ["open", "everywhere"]);
        let root = |epoch: usize| &archive.steps[archive.epochs[epoch].root.index()].next;
        assert!(matches!(
            root(0),
            Next::Epoch {
                epoch: EpochId(1),
                ..
            }
        ));
        assert!(matches!(root(1), Next::Unexplored { gap: 0 }));
    }
}
