//! Ends of paths: exit, deadlock, and what was not explored.

use std::sync::atomic::Ordering;

use schedules::archive::{Held, InputValue, Next, StepId, Stuck};

use super::marked::Branch;
use super::{Explorer, Path, emit};
use crate::model::Cmp;
use crate::symbolic::expr::{Assignment, Expr, Origin, Pool};
use crate::symbolic::solver::Answer;
use crate::threads::trail::SiteRef;
use crate::threads::{Blocked, World};

impl Explorer<'_, '_> {
    /// Ends a path.
    pub(super) fn leaf(&mut self, path: &mut Path, next: Next) -> StepId {
        self.count_leaf();
        let fragment = self.fragment(&mut path.world);
        self.builder.step(fragment, next)
    }

    /// Another leaf. With many, regions that could be elastic should be.
    pub(super) fn count_leaf(&mut self) {
        self.tally.leaves += 1;
        self.live.counts.leaves.fetch_add(1, Ordering::Relaxed);
        if self.tally.leaves > super::MANY_LEAVES && !self.found.prefer_elastic && !self.closing {
            self.found.prefer_elastic = true;
            self.restart = true;
        }
        let shorter =
            !self.found.short_epochs && !self.engine.facts.all_markers().bounded.is_empty();
        if self.tally.leaves > super::TOO_MANY_LEAVES && shorter && !self.closing {
            self.found.short_epochs = true;
            self.restart = true;
        }
    }

    /// Ends a path that is not explored further.
    pub(super) fn gap_leaf(
        &mut self,
        path: &mut Path,
        at: Option<SiteRef>,
        reason: &str,
    ) -> StepId {
        self.tally.gaps += 1;
        let later = !self.first_epoch_runs || !self.epochs.is_empty();
        let confused = reason.starts_with("which thread");
        if later && confused && !self.found.keep_order && !self.closing {
            // Threads that share epochs by what they do cannot be told apart by their handles.
            self.found.keep_order = true;
            self.restart = true;
        }
        let site = at.map(|at| self.stamped(at));
        let gap = self.builder.gap(reason, site);
        self.leaf(path, Next::Unexplored { gap })
    }

    /// Ends a path at a branch that would have to be instrumented, where nothing more can be.
    pub(super) fn closing_leaf(&mut self, path: &mut Path, branch: Branch) -> StepId {
        self.cut = true;
        let reason = match self.live.end() {
            Some(end) => end.reason(),
            None => "the enumeration ended",
        };
        self.gap_leaf(path, Some(SiteRef::Instr(branch.0, branch.1)), reason)
    }

    /// A site for a place, even if it carries no id of its own.
    pub(super) fn stamped(&mut self, at: SiteRef) -> schedules::SiteId {
        emit::stamped(&mut self.builder, self.engine.module, at)
    }

    /// Ends a path on which nobody can move.
    pub(super) fn deadlock_leaf(
        &mut self,
        path: &mut Path,
        blocked: &[(usize, Blocked)],
    ) -> StepId {
        let mut stuck = Vec::new();
        for (slot, why) in blocked {
            let context = self.context_of(&path.world, *slot);
            let object = self.builder.object(&why.object, false);
            let mut holds = Vec::new();
            for (name, site) in path.world.held_by(*slot) {
                let object = self.builder.object(&name, false);
                let site = self.site(site);
                holds.push(Held { object, site });
            }
            stuck.push(Stuck {
                slot: *slot as u16,
                context,
                op: why.op,
                object,
                waits_for: why.waits_for.iter().map(|slot| *slot as u16).collect(),
                holds,
            });
        }
        stuck.sort_by_key(|stuck| stuck.slot);
        let conjuncts = path.world.state.path.clone();
        let condition = conjuncts
            .iter()
            .map(|conjunct| {
                let text = self.engine.pool.display(*conjunct).to_string();
                self.builder.text(&text)
            })
            .collect();
        let (input, certain) = self.inputs(&conjuncts);
        self.leaf(
            path,
            Next::Deadlock {
                stuck,
                condition,
                input,
                certain,
            },
        )
    }

    /// Where a thread stands.
    pub(super) fn context_of(&mut self, world: &World, slot: usize) -> schedules::ContextId {
        let frames: Vec<SiteRef> = world.state.threads[slot]
            .frames
            .iter()
            .map(|frame| SiteRef::Instr(frame.func, frame.next))
            .collect();
        let sites: Vec<_> = frames
            .into_iter()
            .map(|frame| self.stamped(frame))
            .collect();
        self.builder.context(&sites)
    }

    /// A concrete input that satisfies the path, and whether the path really exists.
    pub(super) fn inputs(&mut self, conjuncts: &[Expr]) -> (Vec<InputValue>, bool) {
        let pool = &self.engine.pool;
        let mut symbols: Vec<Expr> = conjuncts
            .iter()
            .flat_map(|conjunct| pool.support(*conjunct).to_vec())
            .collect();
        symbols.sort_unstable();
        symbols.dedup();
        let (exact, vague): (Vec<Expr>, Vec<Expr>) = symbols
            .iter()
            .copied()
            .partition(|symbol| pool.origin(*symbol).is_some_and(Origin::is_given));
        let facts = vague
            .iter()
            .map(|symbol| pool.display(*symbol).to_string())
            .collect();
        let model = match self.engine.solver.check(&self.engine.pool, conjuncts) {
            Answer::Sat(model) => self.smaller(conjuncts, &exact, model),
            Answer::Unsat | Answer::Unknown => {
                let unsolved = "whether the condition can hold: the solver gave up".to_owned();
                return (self.unknown_facts(vec![unsolved]), false);
            }
        };
        let mut values: Vec<InputValue> = exact
            .iter()
            .filter_map(|symbol| self.input_value(*symbol, &model))
            .collect();
        values.extend(self.unknown_facts(facts));
        (values, vague.is_empty() && self.first_epoch_runs)
    }

    /// The same with small numbers where small ones do: people have to type them.
    fn smaller(
        &mut self,
        conjuncts: &[Expr],
        symbols: &[Expr],
        mut model: Assignment,
    ) -> Assignment {
        let mut all = conjuncts.to_vec();
        self.likely_count(&mut all, symbols, &mut model);
        for &symbol in symbols {
            let width = self.engine.pool.width(symbol);
            for most in SMALL.into_iter().filter(|_| width >= 8) {
                let bound = self.engine.pool.constant(width, most);
                let is_small = self.engine.pool.cmp(Cmp::Ule, symbol, bound);
                all.push(is_small);
                if model.get(symbol).unwrap_or(0) <= most {
                    break;
                }
                if let Answer::Sat(found) = self.engine.solver.check(&self.engine.pool, &all) {
                    model = found;
                    break;
                }
                all.pop();
            }
        }
        model
    }

    /// As many arguments as the others mention, if that is possible: a command line can only be given whole.
    fn likely_count(&mut self, all: &mut Vec<Expr>, symbols: &[Expr], model: &mut Assignment) {
        let name = |pool: &Pool, symbol: &Expr| pool.origin(*symbol).map(|o| o.name().to_owned());
        let mentioned = symbols.iter().filter_map(|symbol| {
            let name = name(&self.engine.pool, symbol)?;
            let (_, rest) = name.split_once("argv[")?;
            rest.split_once(']')?.0.parse::<u128>().ok()
        });
        let last = mentioned.max().unwrap_or(0);
        let count = symbols
            .iter()
            .find(|symbol| name(&self.engine.pool, symbol).as_deref() == Some("argc"));
        let Some(&argc) = count else { return };
        let width = self.engine.pool.width(argc);
        for (op, bound) in [(Cmp::Eq, last + 1), (Cmp::Ugt, last)] {
            let bound = self.engine.pool.constant(width, bound);
            let likely = self.engine.pool.cmp(op, argc, bound);
            all.push(likely);
            if let Answer::Sat(found) = self.engine.solver.check(&self.engine.pool, all) {
                *model = found;
                return;
            }
            all.pop();
        }
    }

    /// Facts that were approximated, each once, in the form that a leaf keeps them.
    fn unknown_facts(&mut self, mut facts: Vec<String>) -> Vec<InputValue> {
        facts.sort();
        facts.dedup();
        let row = |fact: &String| InputValue {
            name: self.builder.text(fact),
            value: String::new(),
        };
        facts.iter().map(row).collect()
    }

    fn input_value(&mut self, symbol: Expr, model: &Assignment) -> Option<InputValue> {
        let pool = &self.engine.pool;
        let origin = pool.origin(symbol)?;
        let value = crate::symbolic::expr::concrete::signed(
            pool.width(symbol),
            model.get(symbol).unwrap_or(0),
        );
        let name = origin.name().to_owned();
        // What a number was read from is more use than the number.
        let parsed = name
            .strip_suffix(')')
            .and_then(|name| name.split_once('('))
            .filter(|(function, of)| {
                (function.starts_with("ato") || function.starts_with("strto"))
                    && of.starts_with("argv[")
            });
        let (name, value) = match parsed {
            Some((_, of)) => (of.to_owned(), format!("\"{value}\"")),
            None => (name, value.to_string()),
        };
        Some(InputValue {
            name: self.builder.text(&name),
            value,
        })
    }
}

/// What small numbers of an example are tried, the smallest first.
const SMALL: [u128; 3] = [3, 20, 120];
