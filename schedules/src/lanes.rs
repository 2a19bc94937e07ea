//! Looking at an archive in memory form: lanes with their nodes and edges, names.

use crate::archive::{Archive, Edge, FragmentId, Lane, Node, ObjectId, SiteId};
use crate::ids::Id;
use crate::view::Place;

/// The nodes of one lane, each with its edges.
#[derive(Clone, Debug)]
pub struct Nodes<'a> {
    nodes: std::slice::Iter<'a, Node>,
    edges: &'a [Edge],
}

impl<'a> Iterator for Nodes<'a> {
    type Item = (&'a Node, &'a [Edge]);

    fn next(&mut self) -> Option<Self::Item> {
        let node = self.nodes.next()?;
        let (own, rest) = self.edges.split_at(usize::from(node.edges));
        self.edges = rest;
        Some((node, own))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.nodes.size_hint()
    }
}

impl ExactSizeIterator for Nodes<'_> {}

impl Archive {
    /// The lanes of a fragment, by slot.
    pub fn lanes_of(&self, fragment: FragmentId) -> impl ExactSizeIterator<Item = Nodes<'_>> {
        let fragment = self.fragments[fragment.index()];
        let first = fragment.first_lane as usize;
        self.lanes[first..first + fragment.lanes as usize]
            .iter()
            .map(|lane| self.nodes_of(lane))
    }

    /// Where in the table the edges of a fragment's lanes begin, by slot.
    pub(crate) fn first_edges_of(&self, fragment: FragmentId) -> impl Iterator<Item = usize> {
        let fragment = self.fragments[fragment.index()];
        let first = fragment.first_lane as usize;
        self.lanes[first..first + fragment.lanes as usize]
            .iter()
            .map(|lane| lane.first_edge as usize)
    }

    /// The nodes of `slot` in a fragment.
    pub fn lane_of(&self, fragment: FragmentId, slot: u16) -> Nodes<'_> {
        self.lanes_of(fragment)
            .nth(usize::from(slot))
            .unwrap_or(Nodes {
                nodes: [].iter(),
                edges: &[],
            })
    }

    fn nodes_of(&self, lane: &Lane) -> Nodes<'_> {
        let first = lane.first_node as usize;
        Nodes {
            nodes: self.nodes[first..first + lane.nodes as usize].iter(),
            edges: &self.edges[lane.first_edge as usize..],
        }
    }

    /// `file:line` of a site.
    pub fn place(&self, site: SiteId) -> Place<'_> {
        let position = &self.sites[site.index()].position;
        Place {
            file: &self.texts[position.file.index()],
            line: position.line,
        }
    }

    /// The name of an object.
    pub fn object_name(&self, object: ObjectId) -> &str {
        &self.texts[self.objects[object.index()].name.index()]
    }

    /// How many nodes `slot` has in a fragment.
    pub fn lane_len(&self, fragment: FragmentId, slot: u16) -> u32 {
        let fragment = self.fragments[fragment.index()];
        if u32::from(slot) >= fragment.lanes {
            return 0;
        }
        self.lanes[fragment.first_lane as usize + usize::from(slot)].nodes
    }
}
