//! Joins of what is known about synchronization objects.

use super::*;

impl Joiner<'_, '_> {
    /// Synchronization objects that are in use. What is only an idle lock need not be remembered.
    pub(super) fn sync_objects(&mut self) -> Vec<crate::threads::Object> {
        let mut objects = Vec::new();
        for (x, y) in self.a.objects.iter().zip(&self.b.objects) {
            let name = x.name.to_string();
            let mut object = x.clone();
            if x.within != y.within {
                let known = !x.within.is_empty() && !y.within.is_empty();
                let both: BTreeSet<_> = x.within.iter().chain(&*y.within).copied().collect();
                object.within = both.into_iter().filter(|_| known).collect();
                self.changed |= object.within != x.within;
            }
            object.address = self.value(
                x.address,
                y.address,
                |_| Origin::Summary { site: 0, name },
                None,
            );
            let state = match (&x.kind, &y.kind) {
                (Kind::Semaphore { value: v }, Kind::Semaphore { value: w }) => Some((*v, *w)),
                (Kind::Barrier { needed: v, .. }, Kind::Barrier { needed: w, .. }) => {
                    Some((*v, *w))
                }
                _ => None,
            };
            if let Some((v, w)) = state {
                let name = format!("the count of {}", x.name);
                // The first word of a semaphore is its value, for the runtime as for the C library.
                let counted = matches!(x.kind, Kind::Semaphore { .. });
                let readable = self.way_to(x.address).filter(|_| counted);
                let origin = match readable {
                    Some(path) => Origin::Memory { path, name },
                    None => Origin::Summary { site: 0, name },
                };
                let joined = self.value(v, w, |_| origin, None);
                match &mut object.kind {
                    Kind::Semaphore { value } => *value = joined,
                    Kind::Barrier { needed, .. } => *needed = joined,
                    _ => {}
                }
            }
            objects.push(object);
        }
        objects
    }

    /// How to read what a pointer points to, if somebody knows a way to its object.
    pub(super) fn way_to(&mut self, pointer: Expr) -> Option<AccessPath> {
        let (object, offset) = self.target(pointer)?;
        let path = self.ways.get(&object).cloned();
        extend(&path, u64::try_from(offset).ok()?)
    }

    pub(super) fn gone(&mut self) -> Vec<crate::threads::Gone> {
        let pairs: Vec<_> = self
            .a
            .gone
            .iter()
            .cloned()
            .zip(self.b.gone.iter().cloned())
            .collect();
        pairs
            .into_iter()
            .map(|(x, y)| {
                let result = match (&x.result, &y.result) {
                    (Some(left), Some(right)) => {
                        Some(self.operand(left, right, None, "what a thread returned"))
                    }
                    _ => None,
                };
                crate::threads::Gone { result, ..x }
            })
            .collect()
    }
}
