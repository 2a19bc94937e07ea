//! `heddle_arms_end` where the arms of an elastic branch come together.
//!
//! The region of a branch is what can be reached from its successors without entering the join. The call belongs on every way from the
//! region into the join and on no other. If all ways in come from the region it stands at the head of the join; otherwise the
//! ways from the region get a block of their own before it. Inner regions are done before outer ones, so that the outer call comes
//! after the inner.

use schedules::{Archive, SiteId};

use super::sites::Sites;
use super::{Hooks, edges};
use crate::error::{Error, Result};
use crate::ir::{Block, Function, Value};
use crate::prepare::graph;

struct Region<'m> {
    site: SiteId,
    branch: Value<'m>,
    join: Block<'m>,
    /// Where calls at the head of the join go.
    head: Value<'m>,
    size: usize,
}

pub(super) fn insert_ends<'m>(
    hooks: &Hooks<'m>,
    sites: &Sites<'m>,
    archive: &Archive,
) -> Result<()> {
    let mut regions = Vec::new();
    for elastic in &archive.plan.elastic {
        let branch = sites.of(elastic.site)?.instruction;
        let (join, head) = sites.block(branch, elastic.join_block)?;
        let mut region = Region {
            site: elastic.site,
            branch,
            join,
            head,
            size: 0,
        };
        region.size = ways_in(&region)?.size;
        regions.push(region);
    }
    regions.sort_by_key(|region| (region.size, region.site));
    for region in &regions {
        insert_end(hooks, region)?;
    }
    Ok(())
}

struct WaysIn<'m> {
    from_region: Vec<Block<'m>>,
    others: bool,
    size: usize,
}

/// Which predecessors of the join belong to the region. A region with a second entry is refused: at its join nobody could say whether
/// the thread had passed the branch.
fn ways_in<'m>(region: &Region<'m>) -> Result<WaysIn<'m>> {
    let function: Function<'m> = region.join.function();
    let blocks = function.blocks();
    let ordinal = |block: Block<'m>| blocks.iter().position(|candidate| *candidate == block);
    let graph = graph(&blocks);
    let branch = ordinal(region.branch.block()).expect("branch is in its function");
    let join = ordinal(region.join).expect("join is in the branch's function");
    let starts: Vec<usize> = region
        .branch
        .successors()
        .into_iter()
        .filter_map(ordinal)
        .collect();
    let mut inside = graph.reachable_avoiding(&starts, join);
    let size = inside.iter().filter(|member| **member).count();
    let around = graph.reachable_avoiding(&[0], branch);
    let second_entry =
        (0..blocks.len()).any(|block| inside[block] && block != branch && around[block]);
    if second_entry || (inside[branch] && branch != join) {
        return Err(Error::Unsupported {
            place: region.branch.place(),
            what: "an elastic branch whose region can be entered or repeated without it".to_owned(),
        });
    }
    inside[branch] = true;
    let (members, others): (Vec<usize>, Vec<usize>) =
        graph.preds(join).iter().partition(|&&pred| inside[pred]);
    Ok(WaysIn {
        from_region: members.into_iter().map(|block| blocks[block]).collect(),
        others: !others.is_empty(),
        size,
    })
}

fn insert_end<'m>(hooks: &Hooks<'m>, region: &Region<'m>) -> Result<()> {
    let ways = ways_in(region)?;
    let before = if ways.others {
        edges::lead_through(hooks, region.join, &ways.from_region, region.branch)
    } else {
        region.head
    };
    hooks.insert(before, "heddle_arms_end", &[hooks.site(region.site.0)]);
    Ok(())
}
