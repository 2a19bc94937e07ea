//! Assumptions on inputs: `argc==3`, `argc>=2`, `argv[1]=="4"`.

use std::collections::BTreeSet;

use crate::Error;
use crate::analysis::{AbstractObject, Facts};
use crate::model::{Callee, Cmp, Const, GlobalId, InitValue, Module, Value};
use crate::symbolic::engine::Engine;
use crate::symbolic::expr::Origin;
use crate::symbolic::memory::{Background, Content, ObjId};
use crate::symbolic::state::{State, Val};

/// One assumption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Assumption {
    Count(Cmp, u64),
    Text(u64, String),
}

/// Understands assumptions as the user wrote them.
pub(super) fn parse(texts: &[String]) -> Result<Vec<Assumption>, Error> {
    texts
        .iter()
        .map(|text| {
            parse_one(text).ok_or_else(|| Error::Assumption {
                text: text.clone(),
                reason:
                    "expected `argc OP NUMBER` (OP is ==, !=, <, <=, >, >=) or `argv[N]==\"TEXT\"`"
                        .to_owned(),
            })
        })
        .collect()
}

fn parse_one(text: &str) -> Option<Assumption> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("argc") {
        let operators = [
            ("==", Cmp::Eq),
            ("!=", Cmp::Ne),
            ("<=", Cmp::Sle),
            (">=", Cmp::Sge),
            ("<", Cmp::Slt),
            (">", Cmp::Sgt),
        ];
        let rest = rest.trim_start();
        return operators.iter().find_map(|(symbol, op)| {
            let number = rest.strip_prefix(symbol)?.trim().parse().ok()?;
            Some(Assumption::Count(*op, number))
        });
    }
    let (index, rest) = text.strip_prefix("argv[")?.split_once(']')?;
    let value = rest.trim_start().strip_prefix("==")?.trim();
    let value = value.strip_prefix('"')?.strip_suffix('"')?;
    Some(Assumption::Text(
        index.trim().parse().ok()?,
        value.to_owned(),
    ))
}

/// Conditions that the program assumes itself, by `heddle_assume`: text and place.
pub(super) fn in_program(module: &Module) -> Vec<String> {
    let mut found = BTreeSet::new();
    for (_, function) in module.functions.iter() {
        for (_, instr) in function.instrs.iter() {
            let Some(call) = instr.call() else { continue };
            let Callee::Direct(callee) = call.callee else {
                continue;
            };
            if module.functions[callee].name == "heddle_assume_at" {
                let condition = literal(module, call.args.get(1)).unwrap_or_default();
                found.insert(format!("{condition} at {}", module.place(&instr.position)));
            }
        }
    }
    found.into_iter().collect()
}

/// The text of a string literal.
fn literal(module: &Module, value: Option<&Value>) -> Option<String> {
    let Value::Const(Const::Global { global, offset: 0 }) = value? else {
        return None;
    };
    let InitValue::Bytes(bytes) = &module.globals[*global].init.first()?.value else {
        return None;
    };
    let text = bytes.split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// Are these names of global variables?
pub(super) fn check_inputs(module: &Module, facts: &Facts, names: &[String]) -> Result<(), Error> {
    let mut engine = Engine::new(module, facts);
    let mut state = engine.initial_state();
    declare_inputs(&mut engine, &mut state, names)
}

/// Makes the contents of these globals inputs.
pub(super) fn declare_inputs(
    engine: &mut Engine<'_>,
    state: &mut State,
    names: &[String],
) -> Result<(), Error> {
    for name in names {
        let variable = |id: &GlobalId| {
            let global = &engine.module.globals[*id];
            global.defined && !global.constant && !global.thread_local
        };
        let Some(id) = engine.module.global_named(name).filter(variable) else {
            return Err(Error::Input { name: name.clone() });
        };
        engine.forget_global(state, id);
    }
    Ok(())
}

/// The `argv` array, with the texts that are assumed.
pub(super) fn argv(engine: &mut Engine<'_>, state: &mut State, assumed: &[Assumption]) -> Val {
    let name = "argv".to_owned();
    let source = engine.source(Origin::Input { name: name.clone() });
    let array = engine.new_object(name, None, AbstractObject::External, false);
    engine.set_content(state, array, Content::new(Background::Unknown(source)));
    for assumption in assumed {
        if let Assumption::Text(index, text) = assumption {
            let string = text_object(engine, state, *index, text);
            let pointer = engine.pointer(string, 0);
            engine.write(state, array, index * 8, pointer);
        }
    }
    Val::Scalar(engine.pointer(array, 0))
}

fn text_object(engine: &mut Engine<'_>, state: &mut State, index: u64, text: &str) -> ObjId {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    let size = bytes.len() as u64;
    let kind = AbstractObject::External;
    let object = engine.new_object(format!("argv[{index}]"), Some(size), kind, false);
    engine.set_content(state, object, Content::new(Background::Zero));
    for (offset, byte) in bytes.into_iter().enumerate() {
        let byte = engine.pool.constant(8, byte.into());
        engine.write(state, object, offset as u64, byte);
    }
    object
}

/// What the assumptions say about `argc`.
pub(super) fn constrain(
    engine: &mut Engine<'_>,
    state: &mut State,
    assumed: &[Assumption],
    argc: &mut Val,
) {
    let Val::Scalar(symbol) = *argc else {
        return;
    };
    let width = engine.pool.width(symbol);
    for assumption in assumed {
        match assumption {
            Assumption::Count(Cmp::Eq, count) => {
                *argc = Val::Scalar(engine.pool.constant(width, u128::from(*count)));
            }
            Assumption::Count(op, count) => {
                let count = engine.pool.constant(width, u128::from(*count));
                let holds = engine.pool.cmp(*op, symbol, count);
                state.path.push(holds);
            }
            // A text that is there is counted.
            Assumption::Text(index, _) => {
                let index = engine.pool.constant(width, u128::from(*index));
                let holds = engine.pool.cmp(Cmp::Sgt, symbol, index);
                state.path.push(holds);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumptions_are_understood_or_refused() {
        let texts = ["argc == 3", "argc>=2", "argv[1]==\"4\"", "argv[2] == \"\""];
        let parsed = parse(&texts.map(str::to_owned)).expect("all valid");
        assert_eq!(
            parsed,
            vec![
                Assumption::Count(Cmp::Eq, 3),
                Assumption::Count(Cmp::Sge, 2),
                Assumption::Text(1, "4".into()),
                Assumption::Text(2, String::new()),
            ]
        );
        for wrong in ["argc", "argv[1]", "argv[x]==\"4\"", "x==1", "argv[1]==4"] {
            assert!(parse(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
