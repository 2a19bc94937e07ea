//! Functions of the program that calls may run before they return: those that a call names, those that the library calls back, and
//! what code we do not see may call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schedules::ids::Id;

use super::effects::blocks::is_unknown;
use super::points_to::{Callees, Pointers};
use crate::model::{FuncId, InstrId, Module};

/// By call, ascending.
pub(super) type Runs = BTreeMap<InstrId, Arc<[FuncId]>>;

/// What calls of all functions may run.
pub(super) fn runs(module: &Module, pointers: &Pointers) -> Vec<Runs> {
    let is_defined = |target: &FuncId| !module.functions[*target].is_declaration();
    let exposed: Arc<[FuncId]> = pointers
        .exposed
        .iter()
        .copied()
        .filter(is_defined)
        .collect();
    let strange: Vec<bool> = module
        .functions
        .rows()
        .iter()
        .map(|function| function.is_declaration() && is_unknown(&function.name))
        .collect();
    let nobody = Callees::default();
    let mut all = vec![Runs::new(); module.functions.len()];
    for (place, direct) in &pointers.callees {
        let back = pointers.callbacks.get(place).unwrap_or(&nobody);
        let named = direct.known.iter().chain(&back.known);
        let mut targets: BTreeSet<FuncId> = named.copied().filter(is_defined).collect();
        let is_strange = |target: &FuncId| strange[target.index()];
        let anything = direct.unknown || back.unknown || direct.known.iter().any(is_strange);
        let known = |target: &FuncId| exposed.binary_search(target).is_ok();
        let targets = if anything && targets.iter().all(known) {
            exposed.clone()
        } else {
            targets.extend(exposed.iter().filter(|_| anything));
            targets.into_iter().collect()
        };
        if !targets.is_empty() {
            all[place.0.index()].insert(place.1, targets);
        }
    }
    all
}
