//! The inclusion solver: nodes hold sets of locations, copy edges let sets flow, complex constraints add edges as sets grow.
//!
//! Waves: strongly connected nodes become one, new locations flow along the edges in topological order (only what is new flows),
//! then constraints that look through pointers see what is new. Until nothing is new.
//!
//! **External code** is one node and one location, [`EXTERNAL`]. The node holds every pointer that code we do not see may hold; an
//! object whose address gets there has *escaped*, and what its memory holds gets there too. The location in a set means "anything
//! external, or anything that escaped": it stands for the node's whole set, which therefore never flows anywhere.

mod memory;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use schedules::ids::Table;

use super::AbstractObject;
use super::objects::{ANY, Array, Copied, LocationId, Object, ObjectId};
use super::set::Set;
use crate::model::ShapeId;

/// What code we do not see may point to. Also the number of the external location in every set.
pub(super) const EXTERNAL: LocationId = LocationId(0);
/// The node of external memory.
pub(super) const EXTERNAL_MEMORY: u32 = 0;

/// Memory that the system and the library own: `argv`, the environment, streams, results of `getenv` or `localtime`. Unlike
/// [`EXTERNAL`] it is no object of the program.
pub(super) const OWNED: LocationId = LocationId(1);
/// The node of what owned memory holds: pointers into itself, and what the program stores there.
pub(super) const OWNED_MEMORY: u32 = 1;

/// After this many steps of one constant offset through an object it counts as a loop over an array.
const MAX_CHAIN: u32 = 3;

/// More places than this in one object and we no longer tell them apart.
const MAX_LOCATIONS: usize = 192;

/// More pairs of source and target than this, and a copy of memory no longer tells fields apart.
const MAX_PAIRS: usize = 256;

/// Next to the external location a node tells this many apart; what escaped besides, the external location stands for.
const MAX_BESIDE_EXTERNAL: usize = 64;

/// A constraint that looks at the locations a node holds.
#[derive(Clone, Debug)]
pub(super) enum Complex {
    /// `to = *this`, of so many bytes.
    Load {
        to: u32,
        size: u64,
    },
    /// `*this = from`, of so many bytes.
    Store {
        from: u32,
        size: u64,
    },
    /// `to = this + offset + any multiple of each stride`.
    Offset {
        to: u32,
        offset: i64,
        strides: Arc<[i64]>,
        /// Arrays of the type that the address computation assumes at `this`.
        shape: Option<ShapeId>,
    },
    /// `to = this` with an offset nobody knows.
    Blur {
        to: u32,
    },
    /// Bytes are copied from here; the other end is another node.
    CopyFrom {
        copy: u32,
    },
    CopyTo {
        copy: u32,
    },
    /// A call through this pointer, by number of the call.
    Call {
        call: u32,
    },
    /// Every word from here to the object's end holds what the node holds.
    Fill {
        from: u32,
    },
}

/// A copy of memory between what two nodes point to.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryCopy {
    pub(super) to: u32,
    pub(super) from: u32,
    pub(super) length: Option<u64>,
    /// With many pairs of source and target, everything goes through this node; fields are then no longer told apart.
    hub: Option<u32>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    holds: Set,
    /// Not yet sent along the edges.
    fresh: Set,
    /// Not yet seen by the constraints.
    unseen: Set,
    edges: Vec<u32>,
    complex: Vec<u32>,
    /// Holds the external location and many more: what that one stands for is left out.
    full: bool,
}

/// What the solver asks its owner: what a call means once its target is known.
pub(super) trait Calls {
    /// A call may reach `target`; `None` is a function we do not see.
    fn reach(&mut self, solver: &mut Solver, call: u32, target: Option<crate::model::FuncId>);
    /// The function's address is known to code we do not see.
    fn expose(&mut self, solver: &mut Solver, target: crate::model::FuncId);
}

#[derive(Default)]
pub(super) struct Solver {
    nodes: Vec<Node>,
    parent: Vec<u32>,
    pub(super) objects: Table<ObjectId, Object>,
    /// Arrays by type.
    shapes: Table<ShapeId, Vec<Array>>,
    pub(super) locations: Table<LocationId, (ObjectId, i64)>,
    complex: Vec<Complex>,
    copies: Vec<MemoryCopy>,
    edge_known: HashSet<(u32, u32)>,
    /// How many steps of the same offset constraint led to an offset.
    chains: HashMap<(u32, ObjectId, i64), u32>,
    /// Fills (false) and drains (true) of objects.
    range_known: HashSet<(ObjectId, bool, (i64, i64, u32))>,
    copy_known: HashSet<(ObjectId, Copied)>,
    /// Pairs of nodes to become one.
    merges: Vec<(u32, u32)>,
    /// Objects whose shape changed: words and copies have to be looked at again.
    reshaped: Vec<ObjectId>,
    escaping: Vec<ObjectId>,
    /// Locations in data that escaped: the external location stands for them.
    implied: Set,
    pub(super) waves: u32,
}

impl Solver {
    pub(super) fn new(shapes: Table<ShapeId, Vec<Array>>) -> Self {
        let mut solver = Self {
            shapes,
            ..Self::default()
        };
        assert_eq!(solver.node(), EXTERNAL_MEMORY);
        // Its own location needs no entry in its own set: it stands for the set.
        let external = solver.object(AbstractObject::External, None);
        solver.objects[external].shape.collapse();
        solver.objects[external].escaped = true;
        assert_eq!(solver.location(external, 0), EXTERNAL);
        let owned = solver.object(AbstractObject::External, None);
        solver.objects[owned].shape.collapse();
        // Never counted as escaped: what unknown code stores there, the program does not follow.
        solver.objects[owned].escaped = true;
        assert_eq!(solver.location(owned, 0), OWNED);
        let word = solver.node();
        assert_eq!(word, OWNED_MEMORY);
        solver.objects[owned].words.insert(0, word);
        solver.point(word, OWNED);
        solver
    }

    /// A new node that holds nothing.
    pub(super) fn node(&mut self) -> u32 {
        self.nodes.push(Node::default());
        let id = u32::try_from(self.parent.len()).expect("fewer than 2^32 nodes");
        self.parent.push(id);
        id
    }

    pub(super) fn nodes(&mut self, count: usize) -> u32 {
        let first = u32::try_from(self.parent.len()).expect("fewer than 2^32 nodes");
        for _ in 0..count {
            self.node();
        }
        first
    }

    pub(super) fn object(&mut self, what: AbstractObject, size: Option<u64>) -> ObjectId {
        self.objects.push(Object::new(what, size))
    }

    /// The location of an offset in an object, in today's coordinates.
    pub(super) fn location(&mut self, object: ObjectId, offset: i64) -> LocationId {
        let place = &mut self.objects[object];
        let offset = place.shape.canonical(offset);
        if let Some(&location) = place.locations.get(&offset) {
            return location;
        }
        if place.locations.len() >= MAX_LOCATIONS && offset != ANY && !place.shape.is_collapsed() {
            place.shape.collapse();
            self.reshaped.push(object);
            return self.location(object, 0);
        }
        let location = self.locations.push((object, offset));
        place.locations.insert(offset, location);
        if place.escaped && is_data(place.what) {
            self.implied.insert(location.0);
        }
        location
    }

    /// Object and offset of a location in today's coordinates.
    pub(super) fn place(&self, location: LocationId) -> (ObjectId, i64) {
        let (object, offset) = self.locations[location];
        (object, self.objects[object].shape.canonical(offset))
    }

    pub(super) fn find(&mut self, node: u32) -> u32 {
        let mut root = node;
        while self.parent[root as usize] != root {
            root = self.parent[root as usize];
        }
        let mut current = node;
        while self.parent[current as usize] != root {
            current = std::mem::replace(&mut self.parent[current as usize], root);
        }
        root
    }

    /// The node that stands for `node`, once solving is over.
    pub(super) fn root(&self, mut node: u32) -> u32 {
        while self.parent[node as usize] != node {
            node = self.parent[node as usize];
        }
        node
    }

    /// What a node holds, once solving is over.
    pub(super) fn holds(&self, node: u32) -> &Set {
        &self.nodes[self.root(node) as usize].holds
    }

    pub(super) fn point(&mut self, node: u32, location: LocationId) {
        let mut set = Set::default();
        set.insert(location.0);
        let node = self.find(node);
        self.add(node, &set);
    }

    fn add(&mut self, node: u32, set: &Set) {
        if self.nodes[node as usize].full {
            let mut set = set.clone();
            set.remove_all(&self.implied);
            self.add_to(node, &set);
        } else if self.add_to(node, set) && node != EXTERNAL_MEMORY {
            let holds = &self.nodes[node as usize].holds;
            if holds.contains(EXTERNAL.0) && holds.len() > MAX_BESIDE_EXTERNAL {
                self.nodes[node as usize].full = true;
                self.thin(node);
            }
        }
    }

    /// Leaves out of a full node what the external location stands for.
    pub(super) fn thin(&mut self, node: u32) {
        let node = &mut self.nodes[node as usize];
        if node.full && node.holds.remove_all(&self.implied) {
            node.fresh.remove_all(&self.implied);
            node.unseen.remove_all(&self.implied);
        }
    }

    fn add_to(&mut self, node: u32, set: &Set) -> bool {
        let node = &mut self.nodes[node as usize];
        let grows = node.fresh.add_new(set, &node.holds);
        if grows {
            let fresh = std::mem::take(&mut node.fresh);
            node.unseen.add_new(&fresh, &node.holds);
            node.holds.add_all(&fresh);
            node.fresh = fresh;
        }
        grows
    }

    /// All that `from` holds, `to` holds.
    pub(super) fn copy(&mut self, from: u32, to: u32) {
        let (from, to) = (self.find(from), self.find(to));
        if from == EXTERNAL_MEMORY {
            self.point(to, EXTERNAL);
            return;
        }
        if from == to || !self.edge_known.insert((from, to)) {
            return;
        }
        self.nodes[from as usize].edges.push(to);
        let holds = std::mem::take(&mut self.nodes[from as usize].holds);
        self.add(to, &holds);
        self.nodes[from as usize].holds = holds;
    }

    /// Adds a constraint on what `node` holds and will hold.
    pub(super) fn constrain(&mut self, node: u32, complex: Complex) {
        let node = self.find(node);
        let id = u32::try_from(self.complex.len()).expect("fewer than 2^32 constraints");
        self.complex.push(complex);
        let node = &mut self.nodes[node as usize];
        node.complex.push(id);
        let holds = node.holds.clone();
        node.unseen.add_all(&holds);
    }

    /// Bytes are copied from what `from` points to, to what `to` points to.
    pub(super) fn copy_memory(&mut self, to: u32, from: u32, length: Option<u64>) {
        let copy = u32::try_from(self.copies.len()).expect("fewer than 2^32 copies");
        self.copies.push(MemoryCopy {
            to,
            from,
            length,
            hub: None,
        });
        self.constrain(from, Complex::CopyFrom { copy });
        self.constrain(to, Complex::CopyTo { copy });
    }

    /// What `node` holds becomes known to code we do not see.
    pub(super) fn escape(&mut self, node: u32) {
        self.copy(node, EXTERNAL_MEMORY);
    }

    /// Solves. Afterwards nothing changes any more.
    pub(super) fn solve(&mut self, calls: &mut impl Calls) {
        loop {
            self.waves += 1;
            let order = super::cycles::collapse(self);
            for node in order {
                if self.parent[node as usize] != node {
                    continue;
                }
                let fresh = std::mem::take(&mut self.nodes[node as usize].fresh);
                if !fresh.is_empty() {
                    self.send(node, &fresh);
                }
            }
            if !self.look(calls) {
                break;
            }
        }
    }

    fn send(&mut self, node: u32, fresh: &Set) {
        for index in 0..self.nodes[node as usize].edges.len() {
            let edge = self.nodes[node as usize].edges[index];
            let to = self.find(edge);
            if to != node {
                self.add(to, fresh);
            }
        }
    }

    /// Lets constraints see what is new; true if there was anything.
    fn look(&mut self, calls: &mut impl Calls) -> bool {
        let mut any = false;
        for node in 0..self.parent.len() as u32 {
            if self.parent[node as usize] != node {
                continue;
            }
            let unseen = std::mem::take(&mut self.nodes[node as usize].unseen);
            if unseen.is_empty() {
                continue;
            }
            if node == EXTERNAL_MEMORY {
                self.note_escapes(&unseen, calls);
                any = true;
            }
            for index in 0..self.nodes[node as usize].complex.len() {
                let id = self.nodes[node as usize].complex[index];
                any = true;
                let complex = self.complex[id as usize].clone();
                for location in unseen.iter() {
                    self.apply(id, &complex, LocationId(location), calls);
                }
            }
        }
        any |= self.settle();
        any || self.nodes.iter().any(|node| !node.fresh.is_empty())
    }

    fn note_escapes(&mut self, unseen: &Set, calls: &mut impl Calls) {
        for location in unseen.iter() {
            let (object, _) = self.place(LocationId(location));
            if location == OWNED.0 {
                continue;
            }
            if let AbstractObject::Function(target) = self.objects[object].what
                && !std::mem::replace(&mut self.objects[object].escaped, true)
            {
                calls.expose(self, target);
            }
            self.escape_object(object);
        }
    }

    pub(super) fn escape_object(&mut self, object: ObjectId) {
        let place = &mut self.objects[object];
        if !std::mem::replace(&mut place.escaped, true) {
            self.escaping.push(object);
            if is_data(place.what) {
                for location in place.locations.values() {
                    self.implied.insert(location.0);
                }
            }
        }
    }

    /// Carries out merges, new shapes and escapes until there are none; true if there were any.
    fn settle(&mut self) -> bool {
        let mut any = false;
        loop {
            if let Some(object) = self.escaping.pop() {
                let words: Vec<u32> = self.objects[object].words.values().copied().collect();
                for word in words {
                    self.share(word);
                }
            } else if let Some(object) = self.reshaped.pop() {
                self.reshape(object);
            } else if let Some((a, b)) = self.merges.pop() {
                self.merge(a, b);
            } else {
                return any;
            }
            any = true;
        }
    }

    /// Code we do not see may read and write the word.
    fn share(&mut self, word: u32) {
        self.copy(word, EXTERNAL_MEMORY);
        self.point(word, EXTERNAL);
    }

    fn is_external(&self, object: ObjectId) -> bool {
        object == self.locations[EXTERNAL].0
    }

    /// Makes one node of two.
    pub(super) fn merge(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return;
        }
        let (keep, gone) = (a.min(b), a.max(b));
        self.parent[gone as usize] = keep;
        let other = std::mem::take(&mut self.nodes[gone as usize]);
        let node = &mut self.nodes[keep as usize];
        // What only one of them held is new to the edges and constraints of the other.
        let mut difference = Set::default();
        difference.add_new(&other.holds, &node.holds);
        difference.add_new(&node.holds, &other.holds);
        node.holds.add_all(&other.holds);
        for (mine, theirs) in [
            (&mut node.fresh, &other.fresh),
            (&mut node.unseen, &other.unseen),
        ] {
            mine.add_all(theirs);
            mine.add_all(&difference);
        }
        node.edges.extend(other.edges);
        node.complex.extend(other.complex);
        node.full |= other.full;
        self.thin(keep);
    }

    fn coarsen(&mut self, object: ObjectId) {
        if self.objects[object].too_many_words() {
            self.objects[object].shape.collapse();
        }
        self.reshaped.push(object);
    }

    fn apply(&mut self, id: u32, complex: &Complex, location: LocationId, calls: &mut impl Calls) {
        match complex {
            Complex::Load { to, size } => {
                for word in self.dereference(location, *size) {
                    self.copy(word, *to);
                }
            }
            Complex::Store { from, size } => {
                for word in self.dereference(location, *size) {
                    self.copy(*from, word);
                }
            }
            Complex::Offset {
                to,
                offset,
                strides,
                shape,
            } => {
                if let Some(earlier) = self.earlier(location, *offset) {
                    let moved = self.moved(id, earlier, 0, strides, *shape);
                    self.point(*to, moved);
                    // Whole elements back, and before the object: not the array's container.
                    let (object, start) = self.place(location);
                    let mut folds = self.objects[object].shape.folds_at(start);
                    if start.saturating_add(*offset) < 0
                        && folds.any(|fold| offset % fold.stride == 0)
                    {
                        return;
                    }
                }
                let moved = self.moved(id, location, *offset, strides, *shape);
                self.point(*to, moved);
            }
            Complex::Blur { to } => {
                let (object, _) = self.place(location);
                let moved = self.location(object, ANY);
                self.point(*to, moved);
            }
            Complex::Call { call } => {
                let (object, _) = self.place(location);
                match self.objects[object].what {
                    AbstractObject::Function(target) => calls.reach(self, *call, Some(target)),
                    AbstractObject::External => calls.reach(self, *call, None),
                    AbstractObject::Global(_)
                    | AbstractObject::Stack(..)
                    | AbstractObject::Heap(..) => {}
                }
            }
            Complex::Fill { from } => {
                let (object, offset) = self.place(location);
                if self.is_external(object) {
                    self.copy(*from, EXTERNAL_MEMORY);
                } else {
                    let offset = if offset == ANY { 0 } else { offset };
                    self.fill(object, offset, i64::MAX, *from);
                }
            }
            Complex::CopyFrom { copy } => self.copy_pairs(*copy, Some(location), None),
            Complex::CopyTo { copy } => self.copy_pairs(*copy, None, Some(location)),
        }
    }

    /// Object and offset of a location that is looked through; an unknown offset collapses the object.
    fn settled(&mut self, location: LocationId) -> (ObjectId, i64) {
        let (object, offset) = self.place(location);
        if offset != ANY {
            return (object, offset);
        }
        self.objects[object].shape.collapse();
        self.reshaped.push(object);
        (object, 0)
    }

    /// Nodes of the words that an access touches.
    fn dereference(&mut self, location: LocationId, size: u64) -> Vec<u32> {
        let (object, offset) = self.settled(location);
        if matches!(self.objects[object].what, AbstractObject::Function(_)) {
            return Vec::new();
        }
        if self.is_external(object) {
            return vec![EXTERNAL_MEMORY];
        }
        let words = self.objects[object].touched(offset, size);
        words
            .into_iter()
            .map(|word| self.word(object, word))
            .collect()
    }

    fn moved(
        &mut self,
        id: u32,
        location: LocationId,
        offset: i64,
        strides: &[i64],
        shape: Option<ShapeId>,
    ) -> LocationId {
        let (object, start) = self.place(location);
        if start == ANY || self.objects[object].what == AbstractObject::External {
            return location;
        }
        if let Some(shape) = shape {
            self.declare(object, start, shape);
        }
        let mut changed = false;
        let at = start.saturating_add(offset);
        if at < 0 {
            // Before the object: an element of a folded array found its container, or a C trick. Only the object is known.
            if !self.objects[object].shape.is_collapsed() {
                self.objects[object].shape.collapse();
                self.reshaped.push(object);
            }
            return self.location(object, 0);
        }
        let mut at = self.objects[object].shape.canonical(at);
        for &stride in strides {
            changed |= self.objects[object].shape.index(at, stride);
            at = self.objects[object].shape.canonical(at);
        }
        if offset != 0 && strides.is_empty() && self.chain(id, object, start, at) > MAX_CHAIN {
            changed |= self.objects[object].shape.index(at, offset);
        }
        if changed {
            self.coarsen(object);
        }
        self.location(object, at)
    }

    /// Where a negative offset leads from the later elements of a folded array that the location stands for: into an earlier
    /// element.
    fn earlier(&mut self, location: LocationId, offset: i64) -> Option<LocationId> {
        let (object, start) = self.place(location);
        if offset >= 0 || start == ANY || self.objects[object].shape.is_collapsed() {
            return None;
        }
        let at = start.saturating_add(offset);
        let shape = &self.objects[object].shape;
        let fold = *shape.folds_at(start).find(|fold| at < fold.start)?;
        let inside = fold.start + (at - fold.start).rem_euclid(fold.stride);
        Some(self.location(object, inside))
    }

    /// A type with arrays lies at an offset of an object.
    pub(super) fn declare(&mut self, object: ObjectId, start: i64, shape: ShapeId) {
        for array in &self.shapes[shape] {
            self.objects[object].shape.declare(Array {
                start: start + array.start,
                ..*array
            });
        }
    }

    fn chain(&mut self, id: u32, object: ObjectId, from: i64, to: i64) -> u32 {
        let steps = self
            .chains
            .get(&(id, object, from))
            .map_or(1, |steps| steps + 1);
        let entry = self.chains.entry((id, object, to)).or_insert(steps);
        *entry
    }

    /// Edges of a node, for cycle detection.
    pub(super) fn edges(&self, node: u32) -> &[u32] {
        &self.nodes[node as usize].edges
    }

    pub(super) fn count(&self) -> usize {
        self.parent.len()
    }

    /// Replaces a node's edges by their current ends, each once.
    pub(super) fn tidy_edges(&mut self, node: u32) {
        let mut edges = std::mem::take(&mut self.nodes[node as usize].edges);
        for edge in &mut edges {
            *edge = self.find(*edge);
        }
        edges.sort_unstable();
        edges.dedup();
        edges.retain(|edge| *edge != node);
        self.nodes[node as usize].edges = edges;
    }

    /// True if a node stands for itself.
    pub(super) fn is_root(&self, node: u32) -> bool {
        self.parent[node as usize] == node
    }
}

/// True for what may be left out next to the external location: functions are told apart for the sake of calls.
fn is_data(what: AbstractObject) -> bool {
    !matches!(what, AbstractObject::Function(_) | AbstractObject::External)
}
