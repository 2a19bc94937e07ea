//! Terms as people read them: C-like, with the names of their symbols' origins.
//!
//! Long terms are cut: beyond a budget of nodes the rest of a subterm prints as `…`.

use std::fmt::{self, Write};

use super::{Expr, Node, Pool, concrete};
use crate::model::BinOp;
use schedules::archive::CompareOp;

/// How many nodes are printed before the rest becomes `…`.
const BUDGET: u32 = 400;

/// A term together with its pool, ready for `{}`.
pub struct Shown<'a> {
    pool: &'a Pool,
    e: Expr,
}

impl Pool {
    /// The term as C-like text.
    pub fn display(&self, e: Expr) -> Shown<'_> {
        Shown { pool: self, e }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer {
            pool: self.pool,
            out: String::new(),
            left: BUDGET,
        };
        printer.term(self.e, 0)?;
        f.write_str(&printer.out)
    }
}

struct Printer<'a> {
    pool: &'a Pool,
    out: String,
    left: u32,
}

/// Binding strengths of C's operators, weakest first.
mod level {
    pub(super) const TERNARY: u8 = 1;
    pub(super) const OR: u8 = 2;
    pub(super) const AND: u8 = 3;
    pub(super) const EQUAL: u8 = 7;
    pub(super) const ORDER: u8 = 8;
    pub(super) const UNARY: u8 = 12;
}

impl Printer<'_> {
    fn term(&mut self, e: Expr, outer: u8) -> fmt::Result {
        if self.left == 0 {
            return self.out.write_char('…');
        }
        self.left -= 1;
        match *self.pool.node(e) {
            Node::Const(value) => self.constant(self.pool.width(e), value, false),
            Node::Symbol(id) => self.symbol(e, id.0),
            Node::Bin(op, a, b) => self.binary(op, self.pool.width(e), a, b, outer),
            Node::Cmp(op, a, b) => self.comparison(op, a, b, outer),
            Node::Not(a) => self.negation(a, outer),
            Node::Ite(c, a, b) => self.nest(level::TERNARY, outer, |p| {
                p.term(c, level::TERNARY + 1)?;
                p.out.push_str(" ? ");
                p.term(a, level::TERNARY)?;
                p.out.push_str(" : ");
                p.term(b, level::TERNARY)
            }),
            // Extensions change no value that a reader of C would see differently.
            Node::Zext(a) => self.term(a, outer),
            Node::Sext(a) => self.cast("i", self.pool.width(e), a),
            Node::Extract { of, low: 0 } => self.cast("u", self.pool.width(e), of),
            Node::Extract { of, low } => {
                let high = low + self.pool.width(e) - 1;
                self.term(of, level::UNARY)?;
                write!(self.out, "[{high}:{low}]")
            }
            Node::Concat(h, l) => {
                self.out.push('{');
                self.term(h, 0)?;
                self.out.push_str(", ");
                self.term(l, 0)?;
                self.out.push('}');
                Ok(())
            }
        }
    }

    fn nest(
        &mut self,
        own: u8,
        outer: u8,
        body: impl FnOnce(&mut Self) -> fmt::Result,
    ) -> fmt::Result {
        if own < outer {
            self.out.push('(');
            body(self)?;
            self.out.push(')');
            return Ok(());
        }
        body(self)
    }

    fn symbol(&mut self, e: Expr, number: u32) -> fmt::Result {
        match self.pool.origin(e).map(|origin| origin.name()) {
            Some("") | None => write!(self.out, "s{number}"),
            Some(name) => self.out.write_str(name),
        }
    }

    fn constant(&mut self, width: u32, value: u128, as_signed: bool) -> fmt::Result {
        let small_negative =
            concrete::is_negative(width, value) && !value & concrete::mask(width) < 4096;
        if width > 1 && (as_signed || small_negative) {
            write!(self.out, "{}", concrete::signed(width, value))
        } else if value >= 1 << 20 {
            write!(self.out, "{value:#x}")
        } else {
            write!(self.out, "{value}")
        }
    }

    fn cast(&mut self, sign: &str, width: u32, a: Expr) -> fmt::Result {
        write!(self.out, "({sign}{width})")?;
        self.term(a, level::UNARY)
    }

    fn negation(&mut self, a: Expr, outer: u8) -> fmt::Result {
        if let Node::Cmp(CompareOp::Eq, x, y) = *self.pool.node(a) {
            return self.infix(level::EQUAL, outer, x, " != ", y);
        }
        self.out.push('!');
        self.term(a, level::UNARY)
    }

    fn comparison(&mut self, op: CompareOp, a: Expr, b: Expr, outer: u8) -> fmt::Result {
        let (text, is_signed) = match op {
            CompareOp::Eq => (" == ", false),
            CompareOp::Ult => (" <u ", false),
            CompareOp::Ule => (" <=u ", false),
            CompareOp::Slt => (" < ", true),
            CompareOp::Sle => (" <= ", true),
        };
        let own = if op == CompareOp::Eq {
            level::EQUAL
        } else {
            level::ORDER
        };
        // `c < x` reads better as `x > c`.
        if let (Some(_), true) = (self.pool.as_const(a), op != CompareOp::Eq) {
            return self.relation(own, outer, b, &text.replace('<', ">"), a, is_signed);
        }
        self.relation(own, outer, a, text, b, is_signed)
    }

    fn relation(
        &mut self,
        own: u8,
        outer: u8,
        a: Expr,
        text: &str,
        b: Expr,
        is_signed: bool,
    ) -> fmt::Result {
        match self.pool.as_const(b) {
            Some(value) if is_signed => self.nest(own, outer, |p| {
                p.term(a, own + 1)?;
                p.out.push_str(text);
                p.constant(p.pool.width(b), value, true)
            }),
            _ => self.infix(own, outer, a, text, b),
        }
    }

    fn infix(&mut self, own: u8, outer: u8, a: Expr, text: &str, b: Expr) -> fmt::Result {
        self.nest(own, outer, |p| {
            p.term(a, own)?;
            p.out.push_str(text);
            p.term(b, own + 1)
        })
    }

    fn binary(&mut self, op: BinOp, width: u32, a: Expr, b: Expr, outer: u8) -> fmt::Result {
        if let (BinOp::Add, Some(value)) = (op, self.pool.as_const(b)) {
            let value = concrete::signed(width, value);
            if value < 0 && value > i128::MIN {
                return self.nest(10, outer, |p| {
                    p.term(a, 10)?;
                    write!(p.out, " - {}", -value)
                });
            }
        }
        let (own, text) = match op {
            BinOp::Or if width == 1 => (level::OR, " || "),
            BinOp::And if width == 1 => (level::AND, " && "),
            BinOp::Or => (4, " | "),
            BinOp::Xor => (5, " ^ "),
            BinOp::And => (6, " & "),
            BinOp::Shl => (9, " << "),
            BinOp::LShr => (9, " >>u "),
            BinOp::AShr => (9, " >> "),
            BinOp::Add => (10, " + "),
            BinOp::Sub => (10, " - "),
            BinOp::Mul => (11, " * "),
            BinOp::UDiv => (11, " /u "),
            BinOp::SDiv => (11, " / "),
            BinOp::URem => (11, " %u "),
            BinOp::SRem => (11, " % "),
            BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv | BinOp::FRem => {
                unreachable!("floating-point operation in an integer expression")
            }
        };
        self.infix(own, outer, a, text, b)
    }
}
