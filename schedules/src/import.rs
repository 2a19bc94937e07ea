//! Taking one epoch's tree out of an archive into another that is in the making.
//!
//! Ids are translated one by one, so the result depends on what the tree says and not on the numbers in the archive it comes from.

use std::collections::HashMap;

use crate::archive::{
    Archive, ContextId, EpochId, Held, InputValue, LateArm, Next, Node, ObjectId, Position,
    PredicateId, PredicateOp, RootId, Shadow, ShadowId, Site, SiteId, Stuck, TextId, Undefined,
};
use crate::archive::{FragmentId, StepId};
use crate::builder::{ArchiveBuilder, BuildNode};
use crate::ids::Id;
use crate::primitives::Operand;

impl ArchiveBuilder {
    /// Adds the tree of `from`'s first epoch and gives its root. `epochs` names the epochs that its leaves lead to; those that
    /// have no name become a gap with the reason `nowhere`.
    pub fn import(
        &mut self,
        from: &Archive,
        epochs: &dyn Fn(EpochId) -> Option<EpochId>,
        nowhere: &str,
    ) -> StepId {
        let mut import = Import {
            builder: self,
            from,
            epochs,
            nowhere,
            sites: HashMap::new(),
            objects: HashMap::new(),
            contexts: HashMap::new(),
            fragments: HashMap::new(),
            steps: vec![None; from.steps.len()],
        };
        from.undefined.iter().for_each(|it| import.undefined(it));
        let root = from.epochs[0].root;
        // Successors have larger ids.
        for index in (root.index()..from.steps.len()).rev() {
            let id = StepId::from_index(index);
            let new = import.step(id);
            import.steps[index] = new;
        }
        import.steps[root.index()].expect("a root is reached")
    }
}

struct Import<'b, 'f> {
    builder: &'b mut ArchiveBuilder,
    from: &'f Archive,
    epochs: &'f dyn Fn(EpochId) -> Option<EpochId>,
    nowhere: &'f str,
    // Asked, never iterated.
    sites: HashMap<SiteId, SiteId>,
    objects: HashMap<ObjectId, ObjectId>,
    contexts: HashMap<ContextId, ContextId>,
    fragments: HashMap<FragmentId, FragmentId>,
    /// `None` for steps of other epochs.
    steps: Vec<Option<StepId>>,
}

impl Import<'_, '_> {
    fn text(&mut self, id: TextId) -> TextId {
        self.builder.text(&self.from.texts[id.index()])
    }

    fn position(&mut self, position: Position) -> Position {
        Position {
            function: self.text(position.function),
            file: self.text(position.file),
            ..position
        }
    }

    fn site(&mut self, id: SiteId) -> SiteId {
        if let Some(known) = self.sites.get(&id) {
            return *known;
        }
        let site = &self.from.sites[id.index()];
        let inlined_at = site.inlined_at.iter().map(|at| self.position(*at));
        let inlined_at = inlined_at.collect();
        let new = Site {
            stable: site.stable,
            kind: site.kind,
            function: self.text(site.function),
            position: self.position(site.position),
            inlined_at,
        };
        let new = self.builder.site(new);
        self.sites.insert(id, new);
        new
    }

    fn object(&mut self, id: ObjectId) -> ObjectId {
        if let Some(known) = self.objects.get(&id) {
            return *known;
        }
        let object = &self.from.objects[id.index()];
        let [name, memory] =
            [object.name, object.memory].map(|text| &self.from.texts[text.index()]);
        let new = self
            .builder
            .object_in(name, object.shared_with_externals, memory, object.offset);
        self.objects.insert(id, new);
        let pairs = self.from.pairs.iter().filter(|pair| pair.condition == id);
        for pair in pairs {
            let mutex = self.object(pair.mutex);
            self.builder.pair(new, mutex);
        }
        new
    }

    fn context(&mut self, id: ContextId) -> ContextId {
        if let Some(known) = self.contexts.get(&id) {
            return *known;
        }
        let frames: Vec<SiteId> = self.from.contexts[id.index()].frames.clone();
        let frames: Vec<SiteId> = frames.into_iter().map(|frame| self.site(frame)).collect();
        let new = self.builder.context(&frames);
        self.contexts.insert(id, new);
        new
    }

    fn root(&mut self, id: RootId) -> RootId {
        let root = &self.from.roots[id.index()];
        self.builder.root(&root.symbol, root.size)
    }

    fn shadow(&mut self, id: ShadowId) -> ShadowId {
        let shadow = self.from.shadows[id.index()].clone();
        let at = self.site(shadow.at);
        self.builder.shadow(Shadow { at, ..shadow })
    }

    fn predicate(&mut self, id: PredicateId) -> PredicateId {
        let predicate = &self.from.predicates[id.index()];
        let mut code = Vec::with_capacity(predicate.code.len());
        for op in &predicate.code {
            code.push(match *op {
                PredicateOp::Root { root } => PredicateOp::Root {
                    root: self.root(root),
                },
                PredicateOp::Shadow { slot, shadow } => PredicateOp::Shadow {
                    slot,
                    shadow: self.shadow(shadow),
                },
                other => other,
            });
        }
        let text = &self.from.texts[predicate.text.index()];
        self.builder.predicate(code, text)
    }

    fn fragment(&mut self, id: FragmentId) -> FragmentId {
        if let Some(known) = self.fragments.get(&id) {
            return *known;
        }
        let fragment = self.from.fragments[id.index()];
        let first = fragment.first_lane as usize;
        let mut lanes = Vec::new();
        for lane in &self.from.lanes[first..first + fragment.lanes as usize] {
            let first = lane.first_node as usize;
            let nodes = &self.from.nodes[first..first + lane.nodes as usize];
            let mut edge = lane.first_edge as usize;
            let mut built = Vec::with_capacity(nodes.len());
            for node in nodes {
                let edges = &self.from.edges[edge..edge + usize::from(node.edges)];
                edge += edges.len();
                let edges = edges.iter().map(|edge| (edge.slot(), edge.position()));
                let edges = edges.collect();
                built.push(self.node(*node, edges));
            }
            lanes.push(built);
        }
        let new = self.builder.fragment(lanes);
        self.fragments.insert(id, new);
        new
    }

    fn node(&mut self, node: Node, edges: Vec<(u16, i32)>) -> BuildNode {
        let what = match node.op.operand() {
            Operand::Object if node.what != Node::NO_OBJECT => self.object(ObjectId(node.what)).0,
            _ => node.what,
        };
        BuildNode {
            site: self.site(node.site),
            what,
            op: node.op,
            optional: node.is_optional(),
            serial: node.flags & Node::SERIAL != 0,
            edges,
        }
    }

    fn undefined(&mut self, undefined: &Undefined) {
        let new = Undefined {
            kind: undefined.kind,
            place: self.position(undefined.place),
            what: self.text(undefined.what),
            condition: self.texts(&undefined.condition),
            input: self.inputs(&undefined.input),
            certain: undefined.certain,
        };
        self.builder.undefined(new);
    }

    fn texts(&mut self, texts: &[TextId]) -> Vec<TextId> {
        texts.iter().map(|text| self.text(*text)).collect()
    }

    fn inputs(&mut self, input: &[InputValue]) -> Vec<InputValue> {
        let input = input.iter().map(|value| InputValue {
            name: self.text(value.name),
            value: value.value.clone(),
        });
        input.collect()
    }

    fn gap(&mut self, index: u32) -> u32 {
        let gap = self.from.gaps[index as usize].clone();
        let site = gap.site.map(|site| self.site(site));
        let reason = &self.from.texts[gap.reason.index()];
        self.builder.gap(reason, site)
    }

    fn stuck(&mut self, stuck: &Stuck) -> Stuck {
        let holds = stuck.holds.iter().map(|held| Held {
            object: self.object(held.object),
            site: self.site(held.site),
        });
        let holds = holds.collect();
        Stuck {
            slot: stuck.slot,
            context: self.context(stuck.context),
            op: stuck.op,
            object: self.object(stuck.object),
            waits_for: stuck.waits_for.clone(),
            holds,
        }
    }

    fn step(&mut self, id: StepId) -> Option<StepId> {
        let step = &self.from.steps[id.index()];
        let next = match &step.next {
            Next::Early {
                site,
                predicate,
                yes,
                no,
            } => Next::Early {
                site: self.site(*site),
                predicate: self.predicate(*predicate),
                yes: self.steps[yes.index()]?,
                no: self.steps[no.index()]?,
            },
            Next::Late {
                slot,
                site,
                condition,
                why,
                arms,
            } => {
                let mut new = Vec::with_capacity(arms.len());
                for arm in arms {
                    new.push(LateArm {
                        outcome: arm.outcome,
                        step: self.steps[arm.step.index()]?,
                    });
                }
                Next::Late {
                    slot: *slot,
                    site: self.site(*site),
                    condition: self.text(*condition),
                    why: self.text(*why),
                    arms: new,
                }
            }
            Next::Epoch { epoch, moves } => match (self.epochs)(*epoch) {
                Some(epoch) => Next::Epoch {
                    epoch,
                    moves: moves.clone(),
                },
                None => Next::Unexplored {
                    gap: self.builder.gap(self.nowhere, None),
                },
            },
            Next::Exit => Next::Exit,
            Next::Deadlock {
                stuck,
                condition,
                input,
                certain,
            } => Next::Deadlock {
                stuck: stuck.iter().map(|stuck| self.stuck(stuck)).collect(),
                condition: self.texts(condition),
                input: self.inputs(input),
                certain: *certain,
            },
            Next::Unexplored { gap } => Next::Unexplored {
                gap: self.gap(*gap),
            },
        };
        let fragment = self.fragment(step.fragment);
        Some(self.builder.step(fragment, next))
    }
}
