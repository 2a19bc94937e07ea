//! What the paths of two worlds knew about values, as far as it holds in both.

use super::*;

/// Joins of one epoch after which no fact is kept that it did not have before: any fact, and one that only compares values with each other. What
/// compares with numbers could go on for ever, the number a larger one each time.
const ROUNDS_OF_NEW_FACTS: (u32, u32) = (2, 12);

impl Joiner<'_, '_> {
    /// Keeps what either path knew, as far as it holds on both sides.
    pub(super) fn path(&mut self) {
        let (mut from_a, mut from_b) = (BTreeMap::new(), BTreeMap::new());
        let (mut to_a, mut to_b) = (BTreeMap::new(), BTreeMap::new());
        for (&(x, y), &symbol) in &self.symbols {
            from_a.insert(x, symbol);
            from_b.insert(y, symbol);
            to_a.insert(symbol, x);
            to_b.insert(symbol, y);
        }
        let joined: BTreeSet<Expr> = self.symbols.values().copied().collect();
        let candidates = self.renamed(&self.a.state.path, &from_a, &joined);
        if self.first {
            self.state.path = candidates;
            return;
        }
        for conjunct in &candidates {
            let there = self.engine.pool.substitute(*conjunct, &to_b);
            if self.engine.must(&self.b.state, there) {
                self.state.path.push(*conjunct);
            }
        }
        if self.state.path.len() < self.a.state.path.len() {
            self.changed = true;
        }
        // Where a loop was entered, what its condition says of the first round may follow from other facts and stand nowhere.
        if self.changed && self.round <= ROUNDS_OF_NEW_FACTS.1 {
            self.name_first_steps(&mut from_b);
            for conjunct in self.renamed(&self.b.state.path, &from_b, &joined) {
                let here = self.engine.pool.substitute(conjunct, &to_a);
                let there = self.engine.pool.substitute(conjunct, &to_b);
                let early = self.round <= ROUNDS_OF_NEW_FACTS.0;
                if !self.state.path.contains(&conjunct)
                    && (early || self.compares_values(conjunct))
                    && self.engine.must(&self.b.state, there)
                    && self.engine.must(&self.a.state, here)
                {
                    self.state.path.push(conjunct);
                }
            }
        }
    }

    /// Is it about several values, without any number to speak of?
    fn compares_values(&self, conjunct: Expr) -> bool {
        let pool = &self.engine.pool;
        let plain = |e: &Expr| match pool.as_const(*e) {
            Some(number) => number <= 1 || number == mask(pool.width(*e)),
            None => true,
        };
        pool.support(conjunct).len() > 1 && pool.reachable_from(&[conjunct]).iter().all(plain)
    }

    /// Where a value was a constant and is the next one, what is said of the old constant may be meant of the value less the step, and what is
    /// said of the number above, as in `n < 2` for `n <= 1`, of the value and one.
    fn name_first_steps(&mut self, names: &mut BTreeMap<Expr, Expr>) {
        for (&(x, y), &symbol) in &self.symbols {
            let pool = &mut self.engine.pool;
            if x == y || pool.as_const(x).is_none() || pool.as_const(y).is_none() {
                continue;
            }
            let step = pool.bin(BinOp::Sub, y, x);
            let before = pool.bin(BinOp::Sub, symbol, step);
            names.entry(x).or_insert(before);
            let one = pool.constant(pool.width(y), 1);
            let (above, after) = (
                pool.bin(BinOp::Add, y, one),
                pool.bin(BinOp::Add, symbol, one),
            );
            names.entry(above).or_insert(after);
        }
    }

    /// Conjuncts in the words of the join, where it has words for all that is in them.
    fn renamed(
        &mut self,
        path: &[Expr],
        names: &BTreeMap<Expr, Expr>,
        joined: &BTreeSet<Expr>,
    ) -> Vec<Expr> {
        let mut all: Vec<Expr> = Vec::new();
        let names = &self.with_shifted(names);
        for conjunct in path {
            let pool = &mut self.engine.pool;
            let renamed = pool.substitute(*conjunct, names);
            let known = pool.support(renamed).iter().all(|s| joined.contains(s));
            if known && !all.contains(&renamed) {
                all.push(renamed);
            }
        }
        all
    }

    /// A symbol of which only `symbol + constant` has a name is that name less the constant: so a counter's old value, of which its
    /// condition speaks, can be told from its new one.
    fn with_shifted(&mut self, names: &BTreeMap<Expr, Expr>) -> BTreeMap<Expr, Expr> {
        let mut all = names.clone();
        for (value, name) in names {
            let pool = &mut self.engine.pool;
            let Node::Bin(BinOp::Add, old, by) = *pool.node(*value) else {
                continue;
            };
            let counts = matches!(pool.node(old), Node::Symbol(_)) && pool.as_const(by).is_some();
            if counts && !all.contains_key(&old) {
                let before = pool.bin(BinOp::Sub, *name, by);
                all.insert(old, before);
            }
        }
        all
    }
}

/// What a path says of whole terms: a condition that holds is true, its contrary false, and a value that equals a constant is that constant.
pub(super) fn given(engine: &mut Engine<'_>, state: &State) -> BTreeMap<Expr, Expr> {
    let pool = &mut engine.pool;
    let (yes, no) = (pool.bool(true), pool.bool(false));
    let mut all = BTreeMap::new();
    for &conjunct in &state.path {
        match *pool.node(conjunct) {
            Node::Not(inside) => {
                all.insert(inside, no);
            }
            Node::Cmp(CompareOp::Eq, left, right) if pool.as_const(right).is_some() => {
                all.insert(left, right);
                all.insert(conjunct, yes);
            }
            _ => {
                all.insert(conjunct, yes);
            }
        }
    }
    all
}
