//! What a conjunction says without solving anything.

use crate::model::BinOp;
use crate::symbolic::expr::{Expr, Node, Pool, concrete};
use schedules::archive::CompareOp;

/// The conjuncts, nested conjunctions taken apart, ascending, without repetition and without `true`.
/// `None` if one is false or they contradict each other on sight: a term and its negation, or bounds that leave no value.
pub(super) fn flatten(pool: &Pool, conjuncts: impl IntoIterator<Item = Expr>) -> Option<Vec<Expr>> {
    let mut flat = Vec::new();
    let mut todo: Vec<Expr> = conjuncts.into_iter().collect();
    while let Some(e) = todo.pop() {
        debug_assert_eq!(pool.width(e), 1, "{} is not a condition", pool.display(e));
        match *pool.node(e) {
            Node::Const(0) => return None,
            Node::Const(_) => {}
            Node::Bin(BinOp::And, a, b) => todo.extend([a, b]),
            _ => flat.push(e),
        }
    }
    flat.sort_unstable();
    flat.dedup();
    let negated = (flat.iter()).any(|&e| match *pool.node(e) {
        Node::Not(a) => flat.binary_search(&a).is_ok(),
        _ => false,
    });
    (!negated && !out_of_bounds(pool, &flat)).then_some(flat)
}

/// A term compared with constants: the values it may have, both ends included.
struct Bound {
    term: Expr,
    /// Under the signed order, values are shifted by 2^(width-1) so that unsigned comparison orders them.
    signed: bool,
    low: u128,
    high: u128,
}

/// True if the bounds that the conjuncts put on one term leave no value.
fn out_of_bounds(pool: &Pool, flat: &[Expr]) -> bool {
    let mut bounds = Vec::new();
    for &e in flat {
        collect_bounds(pool, e, &mut bounds);
    }
    bounds.sort_by_key(|bound| (bound.term, bound.signed));
    let same = |a: &Bound, b: &Bound| (a.term, a.signed) == (b.term, b.signed);
    bounds.chunk_by(same).any(|chunk| {
        let low = chunk.iter().map(|bound| bound.low).max();
        let high = chunk.iter().map(|bound| bound.high).min();
        low > high
    })
}

fn collect_bounds(pool: &Pool, e: Expr, bounds: &mut Vec<Bound>) {
    let Node::Cmp(op, a, b) = *pool.node(e) else {
        return;
    };
    let (term, constant, is_upper) = match (pool.as_const(a), pool.as_const(b)) {
        (None, Some(c)) => (a, c, true),
        (Some(c), None) => (b, c, false),
        _ => return,
    };
    let width = pool.width(term);
    let most = concrete::mask(width);
    let sign = 1u128 << (width - 1);
    let (signed, at) = match op {
        CompareOp::Slt | CompareOp::Sle => (true, constant ^ sign),
        _ => (false, constant),
    };
    let (low, high) = match (op, is_upper) {
        (CompareOp::Eq, _) => {
            let at = constant ^ sign;
            bounds.push(Bound {
                term,
                signed: true,
                low: at,
                high: at,
            });
            (constant, constant)
        }
        (CompareOp::Ule | CompareOp::Sle, true) => (0, at),
        (CompareOp::Ule | CompareOp::Sle, false) => (at, most),
        // Nothing is below the least value or above the greatest.
        (_, true) => (u128::from(at == 0), at.saturating_sub(1)),
        (_, false) => (
            at.saturating_add(1).min(most),
            if at == most { 0 } else { most },
        ),
    };
    bounds.push(Bound {
        term,
        signed,
        low,
        high,
    });
}
