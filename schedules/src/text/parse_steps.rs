//! Text to archive: steps with their nodes and ends.

use std::collections::BTreeMap;

use super::lex::{self, Words, Wrong};
use super::parse::{Parser, in_order};
use crate::archive::{
    ContextId, EpochId, FragmentId, Held, InputValue, LateArm, Next, Node, PredicateId, Step,
    StepId, Stuck,
};
use crate::builder::{BuildNode, Fragments};
use crate::primitives::Operand;

/// A step whose lines are being read.
#[derive(Default)]
pub(super) struct OpenStep {
    /// The step whose nodes these are, if it is another one.
    same_as: Option<StepId>,
    lanes: Vec<Vec<BuildNode>>,
    pub(super) next: Option<Next>,
}

impl Parser {
    /// `1 mutex_lock ...` or `0 -> step1`.
    pub(super) fn numbered(&mut self, mut words: Words<'_>) -> Result<(), Wrong> {
        let number: u32 = words.number("a number")?;
        if words.take("->") {
            let step = StepId(words.id("step")?);
            words.end()?;
            let arms = match &mut self.open("an outcome")?.next {
                Some(Next::Late { arms, .. }) => arms,
                _ => {
                    return Err(Wrong::Misplaced {
                        what: "an outcome",
                        place: "a late decision",
                    });
                }
            };
            arms.push(LateArm {
                outcome: number,
                step,
            });
            return Ok(());
        }
        let operation = words.next("an operation")?;
        self.node(operation, &mut words)?;
        words.end()?;
        let slot = usize::from(self.slot.unwrap_or_default());
        let expected = self.open("a node")?.lanes[slot].len();
        in_order("node", expected, number as usize)
    }

    pub(super) fn open(&mut self, what: &'static str) -> Result<&mut OpenStep, Wrong> {
        self.step
            .and_then(|step| self.steps.get_mut(&step))
            .ok_or(Wrong::Misplaced {
                what,
                place: "a step",
            })
    }

    pub(super) fn open_step(&mut self, words: &mut Words<'_>) -> Result<(), Wrong> {
        let id = words.id("step")?;
        let same_as = words
            .take("as")
            .then(|| words.id("step").map(StepId))
            .transpose()?;
        words.end()?;
        let step = OpenStep {
            same_as,
            ..OpenStep::default()
        };
        if self.steps.insert(id, step).is_some() {
            return Err(Wrong::BadStep {
                step: id,
                what: "is there twice",
            });
        }
        self.step = Some(id);
        self.slot = None;
        Ok(())
    }

    pub(super) fn node(&mut self, operation: &str, words: &mut Words<'_>) -> Result<(), Wrong> {
        let op = self.operation(operation)?;
        let what = match op.operand() {
            Operand::Object if words.take("-") => Node::NO_OBJECT,
            Operand::Object => self.object(words)?.0,
            Operand::Slot => {
                words.word("slot")?;
                words.number("a slot")?
            }
            Operand::Outcome => {
                words.word("=")?;
                words.number("an outcome")?
            }
            Operand::Nothing => 0,
        };
        let site = self.site(words)?;
        let optional = words.take("optional");
        let serial = words.take("serial");
        let mut edges = Vec::new();
        if words.take("<-") {
            while words.peek().is_some() {
                edges.push(edge(words.next("an edge like 1:2")?)?);
            }
            if edges.len() >= usize::from(u16::MAX) {
                return Err(Wrong::TooManyEdges);
            }
        }
        let slot = self.slot.ok_or(Wrong::Misplaced {
            what: "a node",
            place: "a slot",
        })?;
        let lanes = &mut self.open("a node")?.lanes;
        let slot = usize::from(slot);
        if lanes.len() <= slot {
            lanes.resize(slot + 1, Vec::new());
        }
        lanes[slot].push(BuildNode {
            site,
            what,
            op,
            optional,
            serial,
            edges,
        });
        Ok(())
    }

    pub(super) fn next(&mut self, kind: &str, words: &mut Words<'_>) -> Result<Next, Wrong> {
        Ok(match kind {
            "early" => {
                let site = self.site(words)?;
                let predicate = PredicateId(words.id("predicate")?);
                words.word("yes")?;
                let yes = StepId(words.id("step")?);
                words.word("no")?;
                let no = StepId(words.id("step")?);
                Next::Early {
                    site,
                    predicate,
                    yes,
                    no,
                }
            }
            "late" => {
                words.word("slot")?;
                let slot = words.number("a slot")?;
                let site = self.site(words)?;
                let condition = self.string(words)?;
                words.word("because")?;
                let why = self.string(words)?;
                Next::Late {
                    slot,
                    site,
                    condition,
                    why,
                    arms: Vec::new(),
                }
            }
            "next" => {
                let epoch = EpochId(words.id("epoch")?);
                words.word("moves")?;
                let mut moves = Vec::new();
                while words.peek().is_some() {
                    let gone = words.take("-");
                    moves.push(if gone {
                        u16::MAX
                    } else {
                        words.number("a slot")?
                    });
                }
                Next::Epoch { epoch, moves }
            }
            "exit" => Next::Exit,
            "unexplored" => Next::Unexplored {
                gap: words.id("gap")?,
            },
            _ => {
                let certain = words.take("certain");
                if !certain {
                    words.word("possible")?;
                }
                Next::Deadlock {
                    stuck: Vec::new(),
                    condition: Vec::new(),
                    input: Vec::new(),
                    certain,
                }
            }
        })
    }

    pub(super) fn deadlock_line(&mut self, word: &str, words: &mut Words<'_>) -> Result<(), Wrong> {
        const OUTSIDE: Wrong = Wrong::Misplaced {
            what: "a line of a deadlock",
            place: "a deadlock",
        };
        let mut next = self.open("a deadlock's line")?.next.take();
        let Some(Next::Deadlock {
            stuck,
            condition,
            input,
            ..
        }) = &mut next
        else {
            return Err(OUTSIDE);
        };
        match word {
            "stuck" => stuck.push(self.stuck(words)?),
            "holds" => {
                let object = self.object(words)?;
                let site = self.site(words)?;
                let owner = stuck.last_mut().ok_or(OUTSIDE)?;
                owner.holds.push(Held { object, site });
            }
            "if" => condition.push(self.string(words)?),
            _ => {
                let name = self.string(words)?;
                words.word("=")?;
                let value = words.string()?;
                input.push(InputValue { name, value });
            }
        }
        self.open("a deadlock's line")?.next = next;
        Ok(())
    }

    fn stuck(&mut self, words: &mut Words<'_>) -> Result<Stuck, Wrong> {
        words.word("slot")?;
        let slot = words.number("a slot")?;
        let op = words.next("an operation")?;
        let op = self.operation(op)?;
        let object = self.object(words)?;
        words.word("in")?;
        let context = ContextId(words.id("context")?);
        let mut waits_for = Vec::new();
        if words.take("for") {
            while words.peek().is_some() {
                waits_for.push(words.number("a slot")?);
            }
        }
        Ok(Stuck {
            slot,
            context,
            op,
            object,
            waits_for,
            holds: Vec::new(),
        })
    }

    pub(super) fn finish_steps(&mut self) -> Result<(), Wrong> {
        let mut fragments = Fragments::default();
        // By step with nodes of its own; fragments get their ids in the order of the steps that have them.
        let mut known: BTreeMap<u32, FragmentId> = BTreeMap::new();
        let ids: Vec<u32> = self.steps.keys().copied().collect();
        for (expected, id) in ids.into_iter().enumerate() {
            in_order("step", expected, id as usize)?;
            let bad = |what| Wrong::BadStep { step: id, what };
            let step = &self.steps[&id];
            if step.same_as.is_some() && !step.lanes.is_empty() {
                return Err(bad("has nodes of its own and another's"));
            }
            let owner = step.same_as.map_or(id, |other| other.0);
            let fragment = match known.get(&owner) {
                Some(fragment) => *fragment,
                None => {
                    let owner = self.steps.get_mut(&owner);
                    let owner = owner.filter(|owner| owner.same_as.is_none());
                    let lanes = owner.map(|owner| std::mem::take(&mut owner.lanes));
                    let none = "has the nodes of a step that has none of its own";
                    fragments.add(lanes.ok_or_else(|| bad(none))?)
                }
            };
            known.insert(owner, fragment);
            let step = self.steps.get_mut(&id).expect("found before");
            let mut next = step.next.take().ok_or_else(|| bad("has no end"))?;
            if let Next::Late { arms, .. } = &mut next {
                arms.sort_by_key(|arm| arm.outcome);
            }
            self.archive.steps.push(Step { fragment, next });
        }
        fragments.store(&mut self.archive);
        Ok(())
    }
}

fn edge(word: &str) -> Result<(u16, i32), Wrong> {
    const EXPECTED: &str = "an edge like 1:2";
    let (slot, position) = word.split_once(':').unwrap_or((word, ""));
    Ok((
        lex::number(slot, EXPECTED)?,
        lex::number(position, EXPECTED)?,
    ))
}
