//! Which branches and loops are instrumented, and how a pass over the program learns that more have to be.
//!
//! Every execution of an instrumented branch is a node, so all epochs must agree: exploration starts again whenever the set has grown.

use std::collections::{BTreeMap, BTreeSet};

use super::epochs::Count;
use crate::model::{BlockId, FuncId, InstrId, Module};
use crate::symbolic::portable::{Malformed, Names, Reader, Writer};
use crate::symbolic::questions::{Question, Questions, Which};

/// A branch.
pub(super) type Branch = (FuncId, InstrId);

/// What is asked before a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) argument: u8,
    pub(super) candidates: BTreeSet<Which>,
}

/// Instrumented branches and loops, and what else all epochs must agree on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marked {
    pub(super) decisions: BTreeSet<Branch>,
    pub(super) elastic: BTreeSet<Branch>,
    /// What is asked before calls.
    pub(super) questions: BTreeMap<Branch, Asked>,
    /// Silent loops whose exits are told apart, by the first instruction of the header.
    pub(super) exits: BTreeSet<Branch>,
    /// Loop headers and functions that end epochs.
    pub(super) markers: BTreeSet<(FuncId, BlockId)>,
    /// Branches that were tried as elastic and cannot be, and why not.
    pub(super) rigid: BTreeMap<Branch, String>,
    /// Slots keep their order from epoch to epoch: threads that are alike must be told apart.
    pub(super) keep_order: bool,
    /// Semaphores whose values do not tell epochs apart. Found where outcomes are gathered, never by an exploration.
    pub(super) uncounted: BTreeSet<Count>,
    /// Prefer one schedule with optional nodes to several.
    pub(super) prefer_elastic: bool,
}

impl Marked {
    /// What is marked here and not in `before`.
    pub(super) fn beyond(&self, before: &Marked) -> Marked {
        let new = |all: &BTreeSet<Branch>, known: &BTreeSet<Branch>| -> BTreeSet<Branch> {
            all.difference(known).copied().collect()
        };
        let is_new = |(branch, _): &(&Branch, &String)| !before.rigid.contains_key(branch);
        let rigid = self.rigid.iter().filter(is_new);
        Marked {
            decisions: new(&self.decisions, &before.decisions),
            elastic: new(&self.elastic, &before.elastic),
            questions: self.new_questions(before),
            exits: new(&self.exits, &before.exits),
            markers: self.markers.difference(&before.markers).copied().collect(),
            rigid: rigid.map(|(branch, why)| (*branch, why.clone())).collect(),
            keep_order: self.keep_order && !before.keep_order,
            uncounted: BTreeSet::new(),
            prefer_elastic: self.prefer_elastic && !before.prefer_elastic,
        }
    }

    /// Takes over what one exploration found beyond what it began with.
    pub(super) fn learn(&mut self, found: &Marked) {
        self.decisions.extend(&found.decisions);
        self.elastic.extend(&found.elastic);
        self.markers.extend(&found.markers);
        self.exits.extend(&found.exits);
        for (call, asked) in &found.questions {
            let known = self.questions.entry(*call).or_default();
            known.argument = asked.argument;
            known.candidates.extend(&asked.candidates);
        }
        for (branch, why) in &found.rigid {
            let known = self.rigid.entry(*branch);
            known.or_insert_with(|| why.clone());
        }
        self.elastic
            .retain(|branch| !self.rigid.contains_key(branch));
        // One exploration may decide a branch that another passes as elastic. A branch is a node of one kind only.
        self.decisions
            .retain(|branch| !self.elastic.contains(branch));
        self.keep_order |= found.keep_order;
        self.prefer_elastic |= found.prefer_elastic;
    }

    fn new_questions(&self, before: &Marked) -> BTreeMap<Branch, Asked> {
        let mut new = self.questions.clone();
        for (call, asked) in &before.questions {
            if let Some(now) = new.get_mut(call) {
                now.candidates
                    .retain(|which| !asked.candidates.contains(which));
            }
        }
        new.retain(|_, asked| !asked.candidates.is_empty());
        new
    }

    /// Is every execution of this branch a node, or of what counts as one?
    pub(super) fn is_node(&self, place: &Branch) -> bool {
        self.decisions.contains(place) || self.is_told(place)
    }

    /// Does the program say what is chosen here, although it is no branch?
    pub(super) fn is_told(&self, place: &Branch) -> bool {
        self.questions.contains_key(place) || self.exits.contains(place)
    }

    /// What is asked before calls, in the order in which the program compares.
    pub(super) fn questions(&self, module: &Module) -> Questions {
        let asked = self.questions.iter().map(|(call, asked)| {
            let question = Question {
                argument: asked.argument,
                candidates: asked.candidates.iter().copied().collect(),
            };
            (*call, question)
        });
        // The locks that a thread holds are the first arguments of the calls that took them.
        let is_lock = |(func, id): Branch| module.functions[func].instrs[id].call().is_some();
        Questions::new(asked.collect(), |call| is_lock(call).then_some(0))
    }

    /// The marks in one function.
    pub(super) fn within(&self, module: &Module, func: FuncId, out: &mut Writer) {
        let rigid: BTreeSet<Branch> = self.rigid.keys().copied().collect();
        for branches in [&self.decisions, &self.elastic, &rigid, &self.exits] {
            let here = branches.range((func, InstrId(0))..=(func, InstrId(u32::MAX)));
            let here: Vec<&Branch> = here.collect();
            out.count(here.len());
            here.iter().for_each(|(_, id)| out.number(id.0.into()));
        }
        // Calls that others' questions name keep an argument.
        let names = |which: &Which| matches!(which, Which::Last(place, _) if *place == func);
        let mut questions = self.questions.clone();
        questions.retain(|call, asked| call.0 == func || asked.candidates.iter().any(names));
        write_questions(module, &questions, out);
        let here = (func, BlockId(0))..=(func, BlockId(u32::MAX));
        let here: Vec<_> = self.markers.range(here).collect();
        out.count(here.len());
        here.iter()
            .for_each(|(_, block)| out.number(block.0.into()));
    }

    /// What the next pass begins with, if this one began with `before` and had to be given up.
    pub(super) fn after_restart(self, before: &Marked) -> Marked {
        if self.markers != before.markers
            || self.questions != before.questions
            || self.exits != before.exits
            || self.keep_order != before.keep_order
            || self.uncounted != before.uncounted
        {
            // Other branches may serve now that epochs end elsewhere.
            return Marked {
                markers: self.markers,
                questions: self.questions,
                exits: self.exits,
                keep_order: self.keep_order,
                uncounted: self.uncounted,
                ..Marked::default()
            };
        }
        let new = self.prefer_elastic && !before.prefer_elastic;
        Marked {
            decisions: if new { BTreeSet::new() } else { self.decisions },
            ..self
        }
    }

    pub(super) fn write(&self, module: &Module, out: &mut Writer) {
        let Marked {
            decisions,
            elastic,
            questions,
            exits,
            markers,
            rigid,
            keep_order,
            uncounted,
            prefer_elastic,
        } = self;
        write_questions(module, questions, out);
        for branches in [decisions, elastic, exits] {
            let places = branches.iter().map(|(func, id)| (*func, id.0));
            write_places(module, places, out);
        }
        let places = rigid.keys().map(|(func, id)| (*func, id.0));
        write_places(module, places, out);
        for why in rigid.values() {
            out.text(why);
        }
        let places = markers.iter().map(|(func, block)| (*func, block.0));
        write_places(module, places, out);
        out.flag(*keep_order);
        out.flag(*prefer_elastic);
        out.text(&format!("{uncounted:?}"));
    }

    pub(super) fn read(names: &Names, from: &mut Reader<'_>) -> Result<Marked, Malformed> {
        let questions = read_questions(names, from)?;
        let mut branches = || -> Result<BTreeSet<Branch>, Malformed> {
            let places = read_places(names, from)?;
            Ok(places.map(|(func, id)| (func, InstrId(id))).collect())
        };
        let (decisions, elastic, exits) = (branches()?, branches()?, branches()?);
        let mut rigid = BTreeMap::new();
        for branch in branches()? {
            rigid.insert(branch, String::new());
        }
        for why in rigid.values_mut() {
            *why = from.text()?;
        }
        let markers = read_places(names, from)?
            .map(|(func, block)| (func, BlockId(block)))
            .collect();
        let (keep_order, prefer_elastic) = (from.flag()?, from.flag()?);
        if from.text()? != format!("{:?}", BTreeSet::<Count>::new()) {
            return Err(Malformed);
        }
        Ok(Marked {
            decisions,
            elastic,
            questions,
            exits,
            markers,
            rigid,
            keep_order,
            uncounted: BTreeSet::new(),
            prefer_elastic,
        })
    }
}

fn write_questions(module: &Module, questions: &BTreeMap<Branch, Asked>, out: &mut Writer) {
    write_places(
        module,
        questions.keys().map(|(func, id)| (*func, id.0)),
        out,
    );
    for asked in questions.values() {
        out.number(asked.argument.into());
        out.count(asked.candidates.len());
        for which in &asked.candidates {
            match *which {
                Which::Global(global, offset) => {
                    out.flag(true);
                    out.text(&module.globals[global].name);
                    out.number(offset);
                }
                Which::Last(func, id) => {
                    out.flag(false);
                    out.text(&module.functions[func].name);
                    out.number(id.0.into());
                }
            }
        }
    }
}

fn read_questions(
    names: &Names,
    from: &mut Reader<'_>,
) -> Result<BTreeMap<Branch, Asked>, Malformed> {
    let calls: Vec<(FuncId, u32)> = read_places(names, from)?.collect();
    let mut questions = BTreeMap::new();
    for (func, id) in calls {
        let argument = u8::try_from(from.number()?).map_err(|_| Malformed)?;
        let mut candidates = BTreeSet::new();
        for _ in 0..from.count()? {
            let is_global = from.flag()?;
            let name = from.text()?;
            candidates.insert(match is_global {
                true => Which::Global(names.global(&name).ok_or(Malformed)?, from.number()?),
                false => {
                    let func = names.function(&name).ok_or(Malformed)?;
                    Which::Last(func, InstrId(from.small()?))
                }
            });
        }
        let asked = Asked {
            argument,
            candidates,
        };
        questions.insert((func, InstrId(id)), asked);
    }
    Ok(questions)
}

fn write_places(
    module: &Module,
    places: impl ExactSizeIterator<Item = (FuncId, u32)>,
    out: &mut Writer,
) {
    out.count(places.len());
    for (func, number) in places {
        out.text(&module.functions[func].name);
        out.number(number.into());
    }
}

fn read_places(
    names: &Names,
    from: &mut Reader<'_>,
) -> Result<impl Iterator<Item = (FuncId, u32)> + use<>, Malformed> {
    let mut places = Vec::new();
    for _ in 0..from.count()? {
        let func = names.function(&from.text()?).ok_or(Malformed)?;
        places.push((func, from.small()?));
    }
    Ok(places.into_iter())
}
