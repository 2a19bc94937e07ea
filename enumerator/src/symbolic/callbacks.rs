//! Library functions that call the program back.
//!
//! Functions that do not synchronize are called any number of times at once: what they may write is forgotten. Where some synchronize
//! (`analysis::called_back`), the thread stops at the call, and again each time it comes back to it: outcome 0 is that the library
//! function returns, outcome k + 1 that it calls the k-th function. Which it is nobody can know before.
//!
//! **Guarantee.** Between any two outcomes everything may have changed that the library function, or a function that it calls and that
//! does not synchronize, may write. Arguments of called functions are what the library's manual says, or anything.
//!
//! Deliberately absent: functions that are called when the call has long returned (`atexit`, handlers): a gap if they synchronize.

use super::calls::At;
use super::engine::Engine;
use super::expr::{Expr, Facts, Origin};
use super::memory::Place;
use super::run::Stop;
use super::state::{State, Val};
use crate::analysis::library::{LibraryFunction, library};
use crate::analysis::{AbstractObject, SyncEffect};
use crate::model::{BinOp, Call, Callee, Cmp, FuncId, InstrKind, Type, Value};

impl Engine<'_> {
    /// The thread stands at a call that calls functions back: what may happen next.
    pub(super) fn ask_library(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        row: &LibraryFunction,
        call: &Call,
    ) -> Option<Stop> {
        let facts = self.facts;
        let back = facts.called_back(at.0, at.1)?;
        let site = self.module.functions[at.0].instrs[at.1].site;
        let name = format!("what {} does next", self.called_at(row.symbol, at));
        let most = back.functions.len() as u128;
        let next = self.pool.symbol_in(
            16,
            Origin::External { site, name },
            Facts::between(16, 0, most),
        );
        let mut outcomes = Vec::new();
        for outcome in 0..=back.functions.len() {
            let called = outcome.checked_sub(1).map(|index| back.functions[index]);
            if let Some((argument, function)) = called
                && !self.may_be_given(state, slot, &call.args[argument as usize], function)
            {
                continue;
            }
            let outcome = outcome as u32;
            let number = self.pool.constant(16, outcome.into());
            outcomes.push((outcome, self.pool.cmp(Cmp::Eq, next, number)));
        }
        Some(Stop::Branch { outcomes })
    }

    fn called_at(&self, symbol: &str, at: At) -> String {
        format!("`{symbol}`, called at {},", self.place(at.0, at.1))
    }

    /// May the operand be the address of the function?
    fn may_be_given(
        &mut self,
        state: &mut State,
        slot: usize,
        operand: &Value,
        function: FuncId,
    ) -> bool {
        let pointer = self.scalar(state, slot, operand, &Type::Ptr);
        let targets = self.resolve(pointer);
        targets.into_iter().any(|target| match target.place {
            Place::Null => false,
            Place::Unknown(_) => true,
            Place::Object(object, _) => {
                self.objects.info(object).kind == AbstractObject::Function(function)
                    && self.may(state, target.guard)
            }
        })
    }

    /// Goes on at a call that calls functions back.
    pub(super) fn take_in_library(&mut self, state: &mut State, slot: usize, outcome: u32) {
        let (func, id, instr) = self.current(state, slot);
        let InstrKind::Call(call) = &instr.kind else {
            unreachable!("only calls call back");
        };
        let Callee::Direct(callee) = call.callee else {
            unreachable!("only named functions are followed");
        };
        let row = library(&self.module.functions[callee].name).expect("it has a row");
        let (at, facts) = ((func, id), self.facts);
        let back = facts.called_back(func, id).expect("it calls back");
        self.library_writes(state, slot, at, row, call);
        for silent in &back.silent {
            self.forget_callee(state, at, *silent);
        }
        let Some(index) = outcome.checked_sub(1) else {
            let result = self.library_result(state, slot, at, row, call);
            self.finish(state, slot, result);
            return;
        };
        let (_, function) = back.functions[index as usize];
        let args = self.handed(state, slot, at, row, call, function);
        self.push_frame(state, slot, function, args);
    }

    /// What the library hands to a function that it calls.
    fn handed(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        row: &LibraryFunction,
        call: &Call,
        function: FuncId,
    ) -> Vec<Val> {
        let module = self.module;
        let types = &module.functions[function].args;
        let mut args = Vec::with_capacity(types.len());
        for (position, ty) in types.iter().enumerate() {
            let known = match handed_what(row.symbol, position) {
                Handed::Anything => None,
                Handed::Argument(index) => {
                    let value = call.args.get(index).zip(call.arg_types.get(index));
                    value.map(|(value, ty)| self.value(state, slot, value, ty))
                }
                Handed::Element { array, size } => self.element(state, slot, at, call, array, size),
            };
            args.push(match known {
                Some(value) if *ty == Type::Ptr => value,
                _ => self.handed_anything(at, row.symbol, ty),
            });
        }
        args
    }

    fn handed_anything(&mut self, at: At, symbol: &str, ty: &Type) -> Val {
        let site = self.module.functions[at.0].instrs[at.1].site;
        let name = format!("what {} hands over", self.called_at(symbol, at));
        self.fresh(ty, || Origin::External {
            site,
            name: name.clone(),
        })
    }

    /// The address of some element of an array.
    fn element(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        call: &Call,
        array: usize,
        size: usize,
    ) -> Option<Val> {
        let base = self.scalar(state, slot, call.args.get(array)?, &Type::Ptr);
        let size = self.scalar(state, slot, call.args.get(size)?, &Type::Int(64));
        let site = self.module.functions[at.0].instrs[at.1].site;
        let name = format!("an index of the array given at {}", self.place(at.0, at.1));
        let index: Expr = self.pool.symbol(64, Origin::External { site, name });
        let offset = self.pool.bin(BinOp::Mul, index, size);
        Some(Val::Scalar(self.pool.bin(BinOp::Add, base, offset)))
    }

    /// The library calls functions of the program, none of which synchronizes, any number of times, now or later.
    pub(super) fn call_back(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        symbol: &str,
        value: &Value,
    ) -> Option<Stop> {
        let pointer = self.scalar(state, slot, value, &Type::Ptr);
        let mut functions = Vec::new();
        for target in self.resolve(pointer) {
            match target.place {
                Place::Null => {}
                Place::Object(object, _) => {
                    if let AbstractObject::Function(callee) = self.objects.info(object).kind {
                        functions.push(callee);
                    }
                }
                Place::Unknown(_) => {
                    let pointed = self.facts.points_to(at.0, value);
                    if pointed.unknown {
                        return Some(Stop::Gap(format!(
                            "nobody knows which function {} calls back",
                            self.called_at(symbol, at)
                        )));
                    }
                    functions.extend(pointed.places.iter().filter_map(
                        |(object, _)| match object {
                            AbstractObject::Function(callee) => Some(*callee),
                            _ => None,
                        },
                    ));
                }
            }
        }
        for callee in functions {
            if self.facts.effects(callee).sync != SyncEffect::None {
                return Some(Stop::Gap(format!(
                    "{} calls back `{}`, which synchronizes",
                    self.called_at(symbol, at),
                    self.module.functions[callee].name
                )));
            }
            self.forget_callee(state, at, callee);
        }
        None
    }
}

/// What a library function hands to the functions that it calls.
enum Handed {
    Anything,
    /// Its own argument at this position.
    Argument(usize),
    /// The address of an element of the array at one position, whose elements are as large as another says.
    Element {
        array: usize,
        size: usize,
    },
}

/// By symbol and position among the handed arguments.
fn handed_what(symbol: &str, position: usize) -> Handed {
    match (symbol, position) {
        ("qsort" | "qsort_r", 0 | 1) => Handed::Element { array: 0, size: 2 },
        ("qsort_r", 2) => Handed::Argument(4),
        ("bsearch" | "lfind" | "lsearch", 0) => Handed::Argument(0),
        ("bsearch", 1) => Handed::Element { array: 1, size: 3 },
        _ => Handed::Anything,
    }
}
