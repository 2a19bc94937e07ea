//! What is checked at every open: no number in an archive leads outside it, and following it ends.
//!
//! 1. Every id is below the length of its table.
//! 2. Fragments own contiguous runs of lanes, lanes of nodes, nodes of edges, in order, and together all of them. So one
//!    linear pass checks them, however hostile the file.
//! 3. A step's successors have larger ids: trees end.
//! 4. There is an epoch; each has as many slots as contexts or more, and fewer than `u16::MAX`; every slot that is named
//!    anywhere is below the largest number of slots.
//! 5. A late decision has an arm; its outcomes ascend.
//! 6. Flags are known ones.
//! 7. Predicates are well-typed and bounded.
//!
//! Time is linear in the size of the file. Deliberately absent: whether the archive makes sense (`verify`).

use crate::archive::{
    ArchivedArchive, ArchivedCandidate, ArchivedNext, ArchivedNode, ArchivedPosition,
    ArchivedPredicateOp, ArchivedSiteId, ArchivedSiteKind, ArchivedStepId, ArchivedTextId, Node,
};
use crate::primitives::{NodeOp, Operand, PRIMITIVES};

/// What is wrong, and in which row of which table.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// An id is not below the length of its table.
    #[error("{table} {row} names {what} {id}, but there are {len}")]
    OutOfRange {
        table: &'static str,
        row: usize,
        what: &'static str,
        id: u64,
        len: usize,
    },
    /// A run does not begin where its predecessor's ends.
    #[error("{table} {row} does not begin where its predecessor ends")]
    NotContiguous { table: &'static str, row: usize },
    /// A run is too long, or something is left after the last one.
    #[error("{table}s do not add up to the number of {parts}")]
    DoesNotAddUp {
        table: &'static str,
        parts: &'static str,
    },
    /// A step leads to itself or backward.
    #[error("step {step} leads to step {to}, which does not come after it")]
    Backward { step: usize, to: u32 },
    /// No epoch.
    #[error("there is no epoch")]
    NoEpoch,
    /// More contexts than slots, or too many slots.
    #[error("epoch {epoch} has {slots} slots for {contexts} contexts")]
    BadSlots {
        epoch: usize,
        slots: u16,
        contexts: usize,
    },
    /// A late decision without arms, or not in ascending order.
    #[error("step {step} has a late decision whose outcomes do not ascend")]
    BadArms { step: usize },
    /// Byte code that does not compute one bit.
    #[error("predicate {predicate}: {bad}")]
    BadPredicate {
        predicate: usize,
        bad: crate::predicate::BadCode,
    },
    /// A flag nobody knows.
    #[error("node {node} has unknown flags {flags:#x}")]
    BadFlags { node: usize, flags: u8 },
}

/// Checks the rules above.
pub fn check(archive: &ArchivedArchive) -> Result<(), Broken> {
    let checker = Checker {
        archive,
        max_slots: archive.max_slots(),
    };
    checker.tables()?;
    checker.epochs()?;
    checker.steps()?;
    checker.fragments()?;
    checker.lanes()?;
    checker.nodes()?;
    checker.edges()?;
    checker.plan()
}

/// Checks the rules above for an archive that is not in a file yet.
pub fn check_in_memory(archive: &crate::archive::Archive) -> Result<(), Broken> {
    let bytes = rkyv::to_bytes::<rkyv::rancor::Error>(archive)
        .expect("serializing to memory fails only without memory");
    check_body(&bytes)
}

/// Checks the rules above for a body that was just made.
pub(crate) fn check_body(body: &[u8]) -> Result<(), Broken> {
    let archived = rkyv::access::<ArchivedArchive, rkyv::rancor::Error>(body)
        .expect("what rkyv wrote, rkyv reads");
    check(archived)
}

const KNOWN_FLAGS: u8 = Node::OPTIONAL | Node::PUBLISHES | Node::SERIAL;

struct Checker<'a> {
    archive: &'a ArchivedArchive,
    max_slots: u16,
}

/// A row of a table, for messages.
#[derive(Clone, Copy)]
struct At {
    table: &'static str,
    row: usize,
}

impl At {
    fn new(table: &'static str, row: usize) -> Self {
        Self { table, row }
    }

    fn check(self, what: &'static str, id: impl Into<u64>, len: usize) -> Result<(), Broken> {
        let id = id.into();
        if id < len as u64 {
            return Ok(());
        }
        Err(Broken::OutOfRange {
            table: self.table,
            row: self.row,
            what,
            id,
            len,
        })
    }
}

impl Checker<'_> {
    fn text(&self, at: At, id: &ArchivedTextId) -> Result<(), Broken> {
        at.check("text", id.0.to_native(), self.archive.texts.len())
    }

    fn site(&self, at: At, id: &ArchivedSiteId) -> Result<(), Broken> {
        at.check("site", id.0.to_native(), self.archive.sites.len())
    }

    fn slot(&self, at: At, slot: u32) -> Result<(), Broken> {
        at.check("slot", slot, usize::from(self.max_slots))
    }

    fn position(&self, at: At, position: &ArchivedPosition) -> Result<(), Broken> {
        self.text(at, &position.function)?;
        self.text(at, &position.file)
    }

    fn tables(&self) -> Result<(), Broken> {
        let archive = self.archive;
        for (row, gap) in archive.gaps.iter().enumerate() {
            let at = At::new("gap", row);
            self.text(at, &gap.reason)?;
            if let Some(site) = gap.site.as_ref() {
                self.site(at, site)?;
            }
        }
        for (row, site) in archive.sites.iter().enumerate() {
            let at = At::new("site", row);
            if let ArchivedSiteKind::Sync { primitive } = site.kind {
                at.check("primitive", primitive.to_native(), PRIMITIVES.len())?;
            }
            self.text(at, &site.function)?;
            self.position(at, &site.position)?;
            for position in site.inlined_at.iter() {
                self.position(at, position)?;
            }
        }
        for (row, object) in archive.objects.iter().enumerate() {
            self.text(At::new("object", row), &object.name)?;
        }
        for (row, context) in archive.contexts.iter().enumerate() {
            for frame in context.frames.iter() {
                self.site(At::new("context", row), frame)?;
            }
        }
        for (row, shadow) in archive.shadows.iter().enumerate() {
            self.site(At::new("shadow", row), &shadow.at)?;
        }
        self.predicates()
    }

    fn predicates(&self) -> Result<(), Broken> {
        for (row, predicate) in self.archive.predicates.iter().enumerate() {
            let at = At::new("predicate", row);
            self.text(at, &predicate.text)?;
            for op in predicate.code.iter() {
                match op {
                    ArchivedPredicateOp::Root { root } => {
                        at.check("root", root.0.to_native(), self.archive.roots.len())?;
                    }
                    ArchivedPredicateOp::Shadow { slot, shadow } => {
                        at.check("shadow", shadow.0.to_native(), self.archive.shadows.len())?;
                        self.slot(at, slot.to_native().into())?;
                    }
                    _ => {}
                }
            }
            let code = predicate.code.iter().map(|op| op.to_native());
            crate::predicate::check(code, &self.archive.shadows[..]).map_err(|bad| {
                Broken::BadPredicate {
                    predicate: row,
                    bad,
                }
            })?;
        }
        Ok(())
    }

    fn epochs(&self) -> Result<(), Broken> {
        let archive = self.archive;
        if archive.epochs.is_empty() {
            return Err(Broken::NoEpoch);
        }
        for (row, epoch) in archive.epochs.iter().enumerate() {
            let at = At::new("epoch", row);
            let slots = epoch.slots.to_native();
            if epoch.contexts.len() > usize::from(slots) || slots == u16::MAX {
                return Err(Broken::BadSlots {
                    epoch: row,
                    slots,
                    contexts: epoch.contexts.len(),
                });
            }
            for context in epoch.contexts.iter() {
                at.check("context", context.0.to_native(), archive.contexts.len())?;
            }
            at.check("step", epoch.root.0.to_native(), archive.steps.len())?;
        }
        Ok(())
    }

    fn steps(&self) -> Result<(), Broken> {
        let archive = self.archive;
        for (row, step) in archive.steps.iter().enumerate() {
            let at = At::new("step", row);
            let fragment = step.fragment.0.to_native();
            at.check("fragment", fragment, archive.fragments.len())?;
            self.next(at, &step.next)?;
        }
        Ok(())
    }

    fn successor(&self, at: At, to: ArchivedStepId) -> Result<(), Broken> {
        let to = to.0.to_native();
        at.check("step", to, self.archive.steps.len())?;
        if to as usize <= at.row {
            return Err(Broken::Backward { step: at.row, to });
        }
        Ok(())
    }

    fn next(&self, at: At, next: &ArchivedNext) -> Result<(), Broken> {
        let archive = self.archive;
        match next {
            ArchivedNext::Early {
                site,
                predicate,
                yes,
                no,
            } => {
                self.site(at, site)?;
                at.check(
                    "predicate",
                    predicate.0.to_native(),
                    archive.predicates.len(),
                )?;
                self.successor(at, *yes)?;
                self.successor(at, *no)
            }
            ArchivedNext::Late {
                slot,
                site,
                condition,
                why,
                arms,
            } => {
                self.slot(at, slot.to_native().into())?;
                self.site(at, site)?;
                self.text(at, condition)?;
                self.text(at, why)?;
                let ascending = arms
                    .windows(2)
                    .all(|pair| pair[0].outcome.to_native() < pair[1].outcome.to_native());
                if arms.is_empty() || !ascending {
                    return Err(Broken::BadArms { step: at.row });
                }
                arms.iter().try_for_each(|arm| self.successor(at, arm.step))
            }
            ArchivedNext::Epoch { epoch, moves } => {
                at.check("epoch", epoch.0.to_native(), archive.epochs.len())?;
                at.check("move", moves.len() as u64, usize::from(self.max_slots) + 1)?;
                let slots = archive.epoch((*epoch).into()).slots.to_native();
                moves
                    .iter()
                    .map(|to| to.to_native())
                    .filter(|to| *to != u16::MAX)
                    .try_for_each(|to| at.check("slot of the next epoch", to, slots.into()))
            }
            ArchivedNext::Exit => Ok(()),
            ArchivedNext::Deadlock {
                stuck,
                condition,
                input,
                certain: _,
            } => {
                for stuck in stuck.iter() {
                    self.slot(at, stuck.slot.to_native().into())?;
                    let context = stuck.context.0.to_native();
                    at.check("context", context, archive.contexts.len())?;
                    let object = stuck.object.0.to_native();
                    at.check("object", object, archive.objects.len())?;
                    for slot in stuck.waits_for.iter() {
                        self.slot(at, slot.to_native().into())?;
                    }
                    for held in stuck.holds.iter() {
                        at.check("object", held.object.0.to_native(), archive.objects.len())?;
                        self.site(at, &held.site)?;
                    }
                }
                condition.iter().try_for_each(|text| self.text(at, text))?;
                input
                    .iter()
                    .try_for_each(|value| self.text(at, &value.name))
            }
            ArchivedNext::Unexplored { gap } => {
                at.check("gap", gap.to_native(), archive.gaps.len())
            }
        }
    }

    fn fragments(&self) -> Result<(), Broken> {
        let archive = self.archive;
        let runs = archive
            .fragments
            .iter()
            .map(|fragment| (fragment.first_lane.to_native(), fragment.lanes.to_native()));
        contiguous("fragment", "lanes", runs, archive.lanes.len())?;
        for (row, fragment) in archive.fragments.iter().enumerate() {
            let at = At::new("fragment", row);
            let lanes = fragment.lanes.to_native();
            at.check("lane", lanes, usize::from(self.max_slots) + 1)?;
        }
        Ok(())
    }

    fn lanes(&self) -> Result<(), Broken> {
        let archive = self.archive;
        let nodes = archive
            .lanes
            .iter()
            .map(|lane| (lane.first_node.to_native(), lane.nodes.to_native()));
        contiguous("lane", "nodes", nodes, archive.nodes.len())?;
        // The nodes are known to be partitioned now, so this is one pass over them.
        let mut rest = &archive.nodes[..];
        let edges = archive.lanes.iter().map(|lane| {
            let (own, after) = rest.split_at(lane.nodes.to_native() as usize);
            rest = after;
            let count: u64 = own.iter().map(|node| node.edge_count() as u64).sum();
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            (lane.first_edge.to_native(), count)
        });
        contiguous("lane", "edges", edges, archive.edges.len())
    }

    /// Nearly all of an archive is nodes, and programs wait for this: first a pass that only says whether all is well.
    fn nodes(&self) -> Result<(), Broken> {
        let last_site = self.archive.sites.len() as i64 - 1;
        let limits = self.operand_limits();
        // Negative as soon as one number is above its limit.
        let sign = self.archive.nodes.iter().fold(0i64, |sign, node| {
            let (shift, limit) = limits[node.op() as usize];
            let operand = node.what().wrapping_add(shift);
            let unknown = -i64::from(node.flags & !KNOWN_FLAGS);
            sign | (last_site - i64::from(node.site().0))
                | (i64::from(limit) - i64::from(operand))
                | unknown
        });
        if sign < 0 {
            self.first_wrong_node()
        } else {
            Ok(())
        }
    }

    /// By operation: `what + .0` must not be above `.1`. For objects, 1 and their number: "no object" becomes 0.
    fn operand_limits(&self) -> [(u32, u32); NodeOp::ALL.len()] {
        let mut limits = [(0, u32::MAX); NodeOp::ALL.len()];
        for op in NodeOp::ALL {
            limits[*op as usize] = match op.operand() {
                Operand::Slot => (0, u32::from(self.max_slots).saturating_sub(1)),
                Operand::Object => {
                    let objects = u32::try_from(self.archive.objects.len());
                    (1, objects.unwrap_or(u32::MAX))
                }
                Operand::Outcome | Operand::Nothing => (0, u32::MAX),
            };
        }
        limits
    }

    fn first_wrong_node(&self) -> Result<(), Broken> {
        let archive = self.archive;
        for (row, node) in archive.nodes.iter().enumerate() {
            let at = At::new("node", row);
            self.site(at, &node.site)?;
            self.operand(at, *node)?;
            if node.flags & !KNOWN_FLAGS != 0 {
                return Err(Broken::BadFlags {
                    node: row,
                    flags: node.flags,
                });
            }
        }
        Ok(())
    }

    fn operand(&self, at: At, node: ArchivedNode) -> Result<(), Broken> {
        match node.op().operand() {
            Operand::Slot => self.slot(at, node.what()),
            Operand::Object => match node.object() {
                Some(object) => at.check("object", object.0, self.archive.objects.len()),
                None => Ok(()),
            },
            Operand::Outcome | Operand::Nothing => Ok(()),
        }
    }

    fn edges(&self) -> Result<(), Broken> {
        let slots = self.max_slots;
        match self.archive.edges.iter().position(|e| e.slot() >= slots) {
            Some(row) => self.slot(At::new("edge", row), self.archive.edges[row].slot().into()),
            None => Ok(()),
        }
    }

    fn plan(&self) -> Result<(), Broken> {
        let plan = &self.archive.plan;
        let elastic = plan.elastic.iter().map(|elastic| &elastic.site);
        let sites = plan.markers.iter().chain(plan.decisions.iter());
        sites
            .chain(plan.unordered.iter())
            .chain(elastic)
            .chain(plan.questions.iter().map(|question| &question.site))
            .chain(plan.exits.iter().map(|exits| &exits.site))
            .try_for_each(|site| self.site(At::new("plan", 0), site))?;
        let questions = plan.questions.iter().enumerate();
        questions
            .flat_map(|(row, question)| question.candidates.iter().map(move |what| (row, what)))
            .try_for_each(|(row, candidate)| {
                let at = At::new("question", row);
                match candidate {
                    ArchivedCandidate::Global { root, .. } => {
                        at.check("root", root.0.to_native(), self.archive.roots.len())
                    }
                    ArchivedCandidate::Last { site } => self.site(at, site),
                }
            })
    }
}

fn contiguous(
    table: &'static str,
    parts: &'static str,
    runs: impl Iterator<Item = (u32, u32)>,
    len: usize,
) -> Result<(), Broken> {
    let mut end = 0u64;
    for (row, (first, count)) in runs.enumerate() {
        if u64::from(first) != end {
            return Err(Broken::NotContiguous { table, row });
        }
        end += u64::from(count);
    }
    if end != len as u64 {
        return Err(Broken::DoesNotAddUp { table, parts });
    }
    Ok(())
}
