//! Which suspicions of undefined behaviour are told.
//!
//! Judged when an exploration is over, so that what is asked here changes nothing that was found before. A suspicion is told if the solver
//! has values under which everything on the way holds and the access goes wrong. It is *certain* if the program's beginning leads there and
//! every value is one that the user gives on the command line or declares as input; *possible* if calls give some of them, or if a
//! state in which a later epoch begins decides. Suspicions that hang on what was approximated are dropped.
//!
//! Deliberately absent: suspicions of explorations that are repeated or cut short.

use schedules::archive::{Undefined, UndefinedKind};

use super::{Explorer, emit};
use crate::model::{FuncId, InstrId};
use crate::symbolic::expr::{Expr, Origin};
use crate::symbolic::solver::Answer;
use crate::symbolic::undefined::{Suspicion, Trouble};

impl Explorer<'_, '_> {
    /// Puts what the engine suspects into the archive, as far as it is so.
    pub(super) fn tell_undefined(&mut self) {
        let suspicions = std::mem::take(&mut self.engine.suspicions);
        for ((func, id, kind), rows) in suspicions.into_rows() {
            let mut told: Option<Undefined> = None;
            for row in rows {
                let found = self.judge((func, id), kind, &row);
                told = match (told, found) {
                    (None, found) => found,
                    (Some(known), Some(better)) if better.certain && !known.certain => Some(better),
                    (known, _) => known,
                };
                if told.as_ref().is_some_and(|told| told.certain) {
                    break;
                }
            }
            if let Some(told) = told {
                self.builder.undefined(told);
            }
        }
    }

    fn judge(
        &mut self,
        (func, id): (FuncId, InstrId),
        kind: UndefinedKind,
        suspicion: &Suspicion,
    ) -> Option<Undefined> {
        let trouble = self.engine.trouble(suspicion);
        let always = self.engine.pool.is_true(trouble);
        // What a later epoch begins with is joined from every way in: values there need not occur together.
        if !self.first_epoch_runs && !always {
            return None;
        }
        let pool = &self.engine.pool;
        let given = |e: &Expr| {
            pool.support(*e)
                .iter()
                .all(|s| self.is(*s, Origin::is_given))
        };
        let decides = matches!(suspicion.trouble, Trouble::Decides(_));
        let fits = |symbol: &Expr| {
            self.is(*symbol, Origin::is_given)
                || decides && self.is(*symbol, Origin::is_uninitialized)
        };
        let is_exact = suspicion.path.iter().all(given) && pool.support(trouble).iter().all(fits);
        if !is_exact {
            return None;
        }
        let mut conjuncts = suspicion.path.clone();
        conjuncts.push(trouble);
        let Answer::Sat(_) = self.engine.solver.check(&self.engine.pool, &conjuncts) else {
            return None;
        };
        let known = |e: &Expr| {
            let mut support = self.engine.pool.support(*e).iter();
            support.all(|symbol| self.is_typed(*symbol))
        };
        let typed = suspicion.path.iter().all(known) && (decides || known(&trouble));
        let shown = match suspicion.trouble {
            Trouble::Decides(condition) => condition,
            _ => trouble,
        };
        let mut condition = suspicion.path.clone();
        if !always && !decides && !condition.contains(&shown) {
            condition.push(shown);
        }
        let condition = condition.iter().map(|conjunct| {
            let text = self.engine.pool.display(*conjunct).to_string();
            self.builder.text(&text)
        });
        let condition = condition.collect();
        let asked = if decides { &suspicion.path } else { &conjuncts };
        let (input, _) = self.inputs(asked);
        let module = self.engine.module;
        let position = &module.functions[func].instrs[id].position;
        Some(Undefined {
            kind,
            place: emit::position(&mut self.builder, module, position),
            what: self.builder.text(&suspicion.what),
            condition,
            input,
            certain: typed && self.first_epoch_runs,
        })
    }

    fn is(&self, symbol: Expr, what: fn(&Origin) -> bool) -> bool {
        self.engine.pool.origin(symbol).is_some_and(what)
    }

    /// Can the user give the program this value?
    fn is_typed(&self, symbol: Expr) -> bool {
        match self.engine.pool.origin(symbol) {
            Some(Origin::Input { .. } | Origin::Register { .. }) => true,
            // A letter of the command line, or a number that is read from it.
            Some(Origin::External { name, .. }) => {
                let read = name.starts_with("ato") || name.starts_with("strto");
                name.starts_with("argv[") || read && name.contains("(argv[")
            }
            _ => false,
        }
    }
}
