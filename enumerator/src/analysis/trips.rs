//! Loops that a constant bounds: induction variables with constant start and step, tested against a constant.
//!
//! **Guarantee.** [`most_trips`] is never smaller than the number of times the loop's header is executed per entry of the loop.
//! `None` says nothing.

use super::cfg::{Cfg, LoopId};
use super::points_to::signed_constant_of;
use crate::model::{BinOp, BlockId, Cmp, Function, InstrId, InstrKind, Value};

/// A variable that changes by the same amount on each way around a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Induction {
    /// The phi at the header.
    pub phi: InstrId,
    /// The addition whose result goes around.
    pub next: InstrId,
    pub start: Value,
    pub step: i64,
    pub width: u32,
}

/// All induction variables of a loop with one entry.
pub fn inductions(function: &Function, cfg: &Cfg, id: LoopId) -> Vec<Induction> {
    let body = &cfg.loops[id];
    if body.irreducible {
        return Vec::new();
    }
    function
        .block_instrs(body.header)
        .filter_map(|(phi, instr)| {
            let InstrKind::Phi(incoming) = &instr.kind else {
                return None;
            };
            let crate::model::Type::Int(width) = instr.ty else {
                return None;
            };
            let inside = |from: &BlockId| body.contains(*from);
            let around = single(incoming.iter().filter(|(from, _)| inside(from)))?;
            let start = single(incoming.iter().filter(|(from, _)| !inside(from)))?;
            let Value::Instr(next) = around else {
                return None;
            };
            let step = step_of(function, next, phi)?;
            Some(Induction {
                phi,
                next,
                start,
                step,
                width,
            })
        })
        .collect()
}

/// The one value that all of these have.
fn single<'a>(mut incoming: impl Iterator<Item = &'a (BlockId, Value)>) -> Option<Value> {
    let first = &incoming.next()?.1;
    incoming
        .all(|(_, value)| value == first)
        .then(|| first.clone())
}

/// `next = phi + step`.
fn step_of(function: &Function, next: InstrId, phi: InstrId) -> Option<i64> {
    let InstrKind::Bin { op, left, right } = &function.instrs[next].kind else {
        return None;
    };
    let is_phi = |value: &Value| *value == Value::Instr(phi);
    match op {
        BinOp::Add if is_phi(left) => signed_constant_of(right),
        BinOp::Add if is_phi(right) => signed_constant_of(left),
        BinOp::Sub if is_phi(left) => signed_constant_of(right)?.checked_neg(),
        _ => None,
    }
}

/// An upper bound of how often the header runs per entry, if it is a constant of at most `limit`.
pub fn most_trips(function: &Function, cfg: &Cfg, id: LoopId, limit: u64) -> Option<u64> {
    let body = &cfg.loops[id];
    let variables = inductions(function, cfg, id);
    body.exits
        .iter()
        .filter(|(from, _)| {
            // The test is made on every way around.
            cfg.loops.of(*from) == Some(id)
                && body
                    .latches
                    .iter()
                    .all(|latch| cfg.dominates(*from, *latch))
        })
        .filter_map(|(from, out)| trips_by(function, *from, *out, &variables, limit))
        .min()
}

fn trips_by(
    function: &Function,
    from: BlockId,
    out: BlockId,
    variables: &[Induction],
    limit: u64,
) -> Option<u64> {
    let InstrKind::CondBr {
        cond: Value::Instr(cond),
        then,
        otherwise,
    } = &function.instrs[function.terminator(from)].kind
    else {
        return None;
    };
    if then == otherwise {
        return None;
    }
    let InstrKind::Icmp {
        op, left, right, ..
    } = &function.instrs[*cond].kind
    else {
        return None;
    };
    let leaves_if = *then == out;
    for variable in variables {
        let Some(start) = signed_constant_of(&variable.start) else {
            continue;
        };
        for (value, bound, swapped) in [(left, right, false), (right, left, true)] {
            let ahead = match value {
                Value::Instr(used) if *used == variable.phi => 0,
                Value::Instr(used) if *used == variable.next => 1,
                _ => continue,
            };
            let Some(bound) = signed_constant_of(bound) else {
                continue;
            };
            let mut current = wrap(start, variable.width);
            for trip in 1..=limit {
                let seen = if ahead == 1 {
                    wrap(current.wrapping_add(variable.step), variable.width)
                } else {
                    current
                };
                let holds = if swapped {
                    compare(*op, bound, seen, variable.width)
                } else {
                    compare(*op, seen, bound, variable.width)
                };
                if holds == leaves_if {
                    return Some(trip);
                }
                current = wrap(current.wrapping_add(variable.step), variable.width);
            }
        }
    }
    None
}

/// Sign-extends the low bits.
fn wrap(value: i64, width: u32) -> i64 {
    if width >= 64 {
        return value;
    }
    let shift = 64 - width;
    (value << shift) >> shift
}

fn compare(op: Cmp, left: i64, right: i64, width: u32) -> bool {
    let mask = if width >= 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    };
    let (a, b) = (left as u64 & mask, right as u64 & mask);
    match op {
        Cmp::Eq => a == b,
        Cmp::Ne => a != b,
        Cmp::Ult => a < b,
        Cmp::Ule => a <= b,
        Cmp::Ugt => a > b,
        Cmp::Uge => a >= b,
        Cmp::Slt => left < right,
        Cmp::Sle => left <= right,
        Cmp::Sgt => left > right,
        Cmp::Sge => left >= right,
    }
}
