//! Predicate byte code as words: `root0 load32+8 const32:5 eq32 not`.

use std::fmt::Write;

use super::lex::Wrong;
use crate::archive::{BinaryOp, CompareOp, PredicateOp, RootId, ShadowId};

const BINARY: &[(&str, BinaryOp)] = &[
    ("add", BinaryOp::Add),
    ("sub", BinaryOp::Sub),
    ("mul", BinaryOp::Mul),
    ("udiv", BinaryOp::UDiv),
    ("sdiv", BinaryOp::SDiv),
    ("urem", BinaryOp::URem),
    ("srem", BinaryOp::SRem),
    ("and", BinaryOp::And),
    ("or", BinaryOp::Or),
    ("xor", BinaryOp::Xor),
    ("shl", BinaryOp::Shl),
    ("lshr", BinaryOp::LShr),
    ("ashr", BinaryOp::AShr),
];

const COMPARE: &[(&str, CompareOp)] = &[
    ("eq", CompareOp::Eq),
    ("ult", CompareOp::Ult),
    ("ule", CompareOp::Ule),
    ("slt", CompareOp::Slt),
    ("sle", CompareOp::Sle),
];

/// Appends one instruction.
pub(crate) fn write(out: &mut String, op: PredicateOp) {
    let done = match op {
        PredicateOp::Constant { width, value } => write!(out, "const{width}:{value}"),
        PredicateOp::Root { root } => write!(out, "{root}"),
        PredicateOp::Shadow { slot, shadow } => write!(out, "slot{slot}.{shadow}"),
        PredicateOp::Load { width, offset } => write!(out, "load{width}{offset:+}"),
        PredicateOp::Binary { op, width } => write!(out, "{}{width}", binary_name(op)),
        PredicateOp::Compare { op, width } => write!(out, "{}{width}", compare_name(op)),
        PredicateOp::Zext { from, to } => write!(out, "zext{from}:{to}"),
        PredicateOp::Sext { from, to } => write!(out, "sext{from}:{to}"),
        PredicateOp::Extract { low, width } => write!(out, "extract{low}:{width}"),
        PredicateOp::Concat { high, low } => write!(out, "concat{high}:{low}"),
        PredicateOp::Not => write!(out, "not"),
        PredicateOp::Select => write!(out, "select"),
    };
    done.expect("writing to a string");
}

fn binary_name(op: BinaryOp) -> &'static str {
    let row = BINARY.iter().find(|(_, known)| *known == op);
    row.expect("every operation has a name").0
}

fn compare_name(op: CompareOp) -> &'static str {
    let row = COMPARE.iter().find(|(_, known)| *known == op);
    row.expect("every comparison has a name").0
}

/// Reads one instruction.
pub(crate) fn read(word: &str) -> Result<PredicateOp, Wrong> {
    parse(word).ok_or_else(|| Wrong::Unknown {
        what: "predicate instruction",
        name: word.to_owned(),
    })
}

fn parse(word: &str) -> Option<PredicateOp> {
    match word {
        "not" => return Some(PredicateOp::Not),
        "select" => return Some(PredicateOp::Select),
        _ => {}
    }
    if let Some((slot, shadow)) = word.strip_prefix("slot").and_then(|w| w.split_once('.')) {
        return Some(PredicateOp::Shadow {
            slot: slot.parse().ok()?,
            shadow: ShadowId(shadow.strip_prefix("shadow")?.parse().ok()?),
        });
    }
    let (name, rest) = word.split_at(word.find(|c: char| c.is_ascii_digit())?);
    let pair = || {
        let (first, second) = rest.split_once(':')?;
        Some((first.parse().ok()?, second.parse().ok()?))
    };
    match name {
        "root" => Some(PredicateOp::Root {
            root: RootId(rest.parse().ok()?),
        }),
        "const" => {
            let (width, value) = rest.split_once(':')?;
            Some(PredicateOp::Constant {
                width: width.parse().ok()?,
                value: value.parse().ok()?,
            })
        }
        "load" => {
            let (width, offset) = rest.split_at(rest.find(['+', '-'])?);
            Some(PredicateOp::Load {
                width: width.parse().ok()?,
                offset: offset.parse().ok()?,
            })
        }
        "zext" => pair().map(|(from, to)| PredicateOp::Zext { from, to }),
        "sext" => pair().map(|(from, to)| PredicateOp::Sext { from, to }),
        "extract" => pair().map(|(low, width)| PredicateOp::Extract { low, width }),
        "concat" => pair().map(|(high, low)| PredicateOp::Concat { high, low }),
        _ => arithmetic(name, rest.parse().ok()?),
    }
}

fn arithmetic(name: &str, width: u8) -> Option<PredicateOp> {
    let binary = BINARY.iter().find(|(known, _)| *known == name);
    let compare = COMPARE.iter().find(|(known, _)| *known == name);
    match (binary, compare) {
        (Some((_, op)), _) => Some(PredicateOp::Binary { op: *op, width }),
        (_, Some((_, op))) => Some(PredicateOp::Compare { op: *op, width }),
        _ => None,
    }
}
