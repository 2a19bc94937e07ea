//! Reading an archive in place: what the runtime needs, without deserializing or allocating.
//!
//! Every access is a bounds-checked slice; [`ranges`](crate::ranges) has seen to it that none of the checks can fail for ids
//! that come from the archive itself.

use crate::archive::{
    ArchivedArchive, ArchivedEdge, ArchivedEpoch, ArchivedFragment, ArchivedNode,
    ArchivedPredicate, ArchivedSite, ArchivedStep, EpochId, FragmentId, Node, ObjectId,
    PredicateId, SiteId, StepId, TextId,
};
use crate::primitives::{NodeOp, Operand};

/// One slot's nodes in one fragment.
#[derive(Clone, Copy)]
pub struct LaneView<'a> {
    /// The nodes.
    pub nodes: &'a [ArchivedNode],
    /// Begins with the edges of the first node, then those of the second, and so on; may go on behind the lane.
    pub edges: &'a [ArchivedEdge],
}

impl LaneView<'_> {
    /// A lane without nodes.
    pub const EMPTY: Self = Self {
        nodes: &[],
        edges: &[],
    };
}

impl ArchivedArchive {
    /// An epoch.
    #[inline]
    pub fn epoch(&self, id: EpochId) -> &ArchivedEpoch {
        &self.epochs[id.0 as usize]
    }

    /// A step of a decision tree.
    #[inline]
    pub fn step(&self, id: StepId) -> &ArchivedStep {
        &self.steps[id.0 as usize]
    }

    /// A site.
    pub fn site(&self, id: SiteId) -> &ArchivedSite {
        &self.sites[id.0 as usize]
    }

    /// A string.
    pub fn text(&self, id: TextId) -> &str {
        &self.texts[id.0 as usize]
    }

    /// An early decision's condition.
    pub fn predicate(&self, id: PredicateId) -> &ArchivedPredicate {
        &self.predicates[id.0 as usize]
    }

    /// The name of an object.
    pub fn object_name(&self, id: ObjectId) -> &str {
        self.text(self.objects[id.0 as usize].name.into())
    }

    /// `file:line` of a site.
    pub fn place(&self, id: SiteId) -> Place<'_> {
        let position = &self.site(id).position;
        Place {
            file: self.text(position.file.into()),
            line: position.line.to_native(),
        }
    }

    /// The nodes of `slot` in a fragment.
    #[inline]
    pub fn lane(&self, fragment: FragmentId, slot: u16) -> LaneView<'_> {
        let fragment = &self.fragments[fragment.0 as usize];
        if u32::from(slot) >= fragment.lanes.to_native() {
            return LaneView::EMPTY;
        }
        let lane = &self.lanes[fragment.first_lane.to_native() as usize + usize::from(slot)];
        let first = lane.first_node.to_native() as usize;
        let edges = lane.first_edge.to_native() as usize;
        LaneView {
            nodes: &self.nodes[first..first + lane.nodes.to_native() as usize],
            edges: &self.edges[edges..],
        }
    }

    /// How many slots a fragment mentions.
    pub fn lane_count(&self, fragment: FragmentId) -> u16 {
        let ArchivedFragment { lanes, .. } = &self.fragments[fragment.0 as usize];
        u16::try_from(lanes.to_native()).expect("checked at open")
    }

    /// The most slots an epoch has: slots everywhere in the archive are below this.
    pub fn max_slots(&self) -> u16 {
        self.epochs
            .iter()
            .map(|epoch| epoch.slots.to_native())
            .max()
            .unwrap_or(0)
    }
}

/// A source line; prints as `file:line`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place<'a> {
    /// File name.
    pub file: &'a str,
    /// From 1; 0 if unknown.
    pub line: u32,
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.file, self.line) {
            ("", _) => f.write_str("?"),
            (file, 0) => f.write_str(file),
            (file, line) => write!(f, "{file}:{line}"),
        }
    }
}

impl ArchivedNode {
    /// Where in the program.
    #[inline]
    pub fn site(self) -> SiteId {
        self.site.into()
    }

    /// See [`Node::what`].
    #[inline]
    pub fn what(self) -> u32 {
        self.what.to_native()
    }

    /// What it does.
    #[inline]
    pub fn op(self) -> NodeOp {
        self.op
    }

    /// How many edges come in.
    #[inline]
    pub fn edge_count(self) -> usize {
        usize::from(self.edges.to_native())
    }

    /// May it be skipped?
    #[inline]
    pub fn is_optional(self) -> bool {
        self.flags & Node::OPTIONAL != 0
    }

    /// Must progress become visible here?
    #[inline]
    pub fn publishes(self) -> bool {
        self.flags & Node::PUBLISHES != 0
    }

    /// The object, if the operation has one and it has a name.
    pub fn object(self) -> Option<ObjectId> {
        (self.op.operand() == Operand::Object && self.what() != Node::NO_OBJECT)
            .then_some(ObjectId(self.what()))
    }
}
