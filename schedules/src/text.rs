//! The one text form of an archive: what `heddle inspect` prints, golden files hold and tests write by hand.
//!
//! **Guarantees.** Same archive, same text. `parse(dump(a)) == a` for every well-formed archive whose strings are numbered by
//! use (the builder's are), so dump, parse, dump is a fixpoint. No time, address or machine path that is not in the archive.
//!
//! One statement a line; indentation is for readers; `//` begins a comment. What is not said has its default, so an archive
//! by hand is short:
//!
//! ```text
//! program "a.c"                            the program; also: threads N, order all, assume "argc < 3"
//! site0 entry in main a.c:3:1              sites: entry, point, call, branch, or `sync pthread_mutex_lock`
//! object0 "m"                              objects; `external` behind the name if others may touch it
//! context0 @a.c:3                          stacks of sites, outermost first
//! root0 "x" 4                              globals with their size
//! shadow0 @a.c:3 32 main argument 0        a register copied before a site: width, function, argument or instruction
//! predicate0 "x == 0": root0 load32+0 const32:0 eq32
//! gap0 "loop is not bounded" @a.c:9        what is missing
//! undefined null-access certain in f a.c:4:2 "p" if "n < 2" input "n" "1"    undefined behaviour, when, for example with which input
//! plan decision @a.c:5                     also: marker, unordered, `elastic @a.c:5 join 7`, `callback @a.c:5 argument 1 f`
//! epoch0 slots 2 root step0 at context0    one context per slot that lives when the epoch begins
//! step0                                    `step1 as step0`: the same nodes
//! slot 0                                   the slot's nodes, from 1; numbers may be left out
//!   1 thread_create slot 1 @a.c:5
//!   2 mutex_lock "m" @a.c:6 <- 1:3         waits until slot 1 has passed its third node of this fragment (0: all before it)
//! late slot 0 @a.c:7 "y > 0" because "read during the epoch"
//!   0 -> step1                             outcome and where it leads
//! ```
//!
//! A step ends in `early @a.c:5 predicate0 yes step1 no step2`, `late` (above), `next epoch1 moves 1 0 -`, `exit`,
//! `unexplored gap0`, or `deadlock certain|possible` with its lines `stuck`, `holds`, `if`, `input`.
//!
//! A site is named by its line, `@a.c:6`, with `#N` behind it where a line has several (`@#N` alone is enough); an object by its name, or as `objectN`
//! where names are not unique.
//!
//! Fingerprint, tool, stable ids and footprints stand in the lines that begin with `identity`: they change with compiler and
//! tool while everything else stays, so golden files leave them out.

mod dump;
mod lex;
mod parse;
mod parse_steps;
mod predicates;

pub use dump::steps_of;
pub use dump::{Identity, dump};
pub use lex::{ParseError, Wrong};
pub use parse::parse;

use crate::primitives::{NodeOp, Operand};

/// The operation's name in the text form: `mutex_lock` for `MutexLock`.
pub fn op_name(op: NodeOp) -> String {
    let mut name = String::new();
    for letter in format!("{op:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// One instruction of predicate byte code as the text form has it.
pub fn instruction(op: crate::archive::PredicateOp) -> String {
    let mut out = String::new();
    predicates::write(&mut out, op);
    out
}

/// A node's operation with its operand, for people: `mutex_lock "m"`.
pub fn describe(archive: &crate::archive::Archive, node: &crate::archive::Node) -> String {
    let operand = match node.op.operand() {
        Operand::Object => node.object().map_or(String::new(), |object| {
            format!(" \"{}\"", archive.object_name(object))
        }),
        Operand::Slot => format!(" slot {}", node.what),
        Operand::Outcome => format!(" = {}", node.what),
        Operand::Nothing => String::new(),
    };
    format!("{}{operand}", op_name(node.op))
}
