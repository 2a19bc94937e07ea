//! Functions of the C library on texts that are known: searching, comparing, copying, reading numbers.
//!
//! Guarantees: a result only where every C library and every locale agrees; anything else goes by the table of effects.

use super::calls::At;
use super::engine::{Engine, width};
use super::expr::{Expr, Facts, Origin};
use super::state::{State, Val};
use crate::model::{Call, Type};

mod scan;

use scan::Item;

/// More bytes than this are not copied one by one.
const MOST_COPIED: usize = 4096;

impl Engine<'_> {
    /// What a function on texts returns, after its effects. `None`: something it needs is not known, and nothing has changed.
    pub(super) fn text_function(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        name: &str,
        call: &Call,
    ) -> Option<Val> {
        let plain = match name.strip_prefix("__") {
            Some(rest) => rest.strip_suffix("_chk").unwrap_or(rest),
            None => name,
        };
        let mut texts = Texts {
            engine: self,
            state,
            slot,
            at,
            call,
        };
        match plain {
            "strncmp" => texts.compare(true, false),
            "strcasecmp" => texts.compare(false, true),
            "strncasecmp" => texts.compare(true, true),
            "memcmp" | "bcmp" => texts.compare_bytes(),
            "strchr" | "index" | "strrchr" | "rindex" | "memchr" => texts.find_byte(plain),
            "strstr" => texts.find_text(),
            "strpbrk" | "strspn" | "strcspn" => texts.find_any(plain),
            "strnlen" => {
                let (text, most) = (texts.text(0)?, texts.number(1)?);
                Some(texts.long((text.len() as u128).min(most)))
            }
            "strcpy" | "strcat" | "strncpy" | "stpcpy" => texts.copy(plain),
            "strdup" | "strndup" => texts.duplicate(plain),
            "isoc99_sscanf" | "isoc23_sscanf" | "sscanf" => texts.scan(),
            "toupper" | "tolower" => {
                let byte = texts.letter()?;
                let changed = match plain {
                    "toupper" => byte.to_ascii_uppercase(),
                    _ => byte.to_ascii_lowercase(),
                };
                Some(texts.engine.word(32, changed.into()))
            }
            _ => {
                let is = class(plain)?;
                let byte = texts.letter()?;
                Some(match is(&byte) {
                    true => texts.some_of(1, u32::MAX.into(), "the class of a character"),
                    false => texts.engine.word(32, 0),
                })
            }
        }
    }
}

/// The test behind a function of `ctype.h`, on ASCII.
fn class(name: &str) -> Option<fn(&u8) -> bool> {
    Some(match name {
        "isalpha" => u8::is_ascii_alphabetic,
        "isdigit" => u8::is_ascii_digit,
        "isalnum" => u8::is_ascii_alphanumeric,
        "isspace" => |byte| matches!(byte, b' ' | 9..=13),
        "isupper" => u8::is_ascii_uppercase,
        "islower" => u8::is_ascii_lowercase,
        "isxdigit" => u8::is_ascii_hexdigit,
        "ispunct" => u8::is_ascii_punctuation,
        "isprint" => |byte| matches!(byte, 32..=126),
        "isgraph" => u8::is_ascii_graphic,
        "iscntrl" => u8::is_ascii_control,
        _ => return None,
    })
}

/// A call of such a function.
struct Texts<'t, 'm> {
    engine: &'t mut Engine<'m>,
    state: &'t mut State,
    slot: usize,
    at: At,
    call: &'t Call,
}

impl Texts<'_, '_> {
    fn argument(&mut self, index: usize) -> Option<Expr> {
        let (value, ty) = (self.call.args.get(index)?, self.call.arg_types.get(index)?);
        width(ty)?;
        Some(self.engine.scalar(self.state, self.slot, value, ty))
    }

    fn number(&mut self, index: usize) -> Option<u128> {
        let value = self.argument(index)?;
        self.engine.pool.as_const(value)
    }

    fn text(&mut self, index: usize) -> Option<Vec<u8>> {
        let pointer = self.argument(index)?;
        self.engine.known_text(self.state, pointer)
    }

    /// A character that means the same in every locale.
    fn letter(&mut self) -> Option<u8> {
        let changed = self.engine.module.function_named("setlocale");
        let byte = u8::try_from(self.number(0)?).ok()?;
        (byte.is_ascii() && changed.is_none()).then_some(byte)
    }

    fn long(&mut self, value: u128) -> Val {
        self.engine.word(64, value)
    }

    /// A number in a range, nobody says which.
    fn some_of(&mut self, low: u128, high: u128, what: &str) -> Val {
        let (func, id) = self.at;
        let site = self.engine.module.functions[func].instrs[id].site;
        let name = format!("{what} at {}", self.engine.place(func, id));
        let origin = Origin::External { site, name };
        let facts = Facts::between(32, low, high);
        Val::Scalar(self.engine.pool.symbol_in(32, origin, facts))
    }

    fn inside(&mut self, argument: usize, found: Option<usize>) -> Option<Val> {
        let base = self.argument(argument)?;
        Some(Val::Scalar(match found {
            Some(offset) => self.engine.offset_pointer(base, offset as i64),
            None => self.engine.pool.constant(64, 0),
        }))
    }

    fn compare(&mut self, limited: bool, any_case: bool) -> Option<Val> {
        let (mut a, mut b) = (self.text(0)?, self.text(1)?);
        if limited {
            let most = usize::try_from(self.number(2)?).ok()?;
            a.truncate(most);
            b.truncate(most);
        }
        if any_case {
            let plain = a.is_ascii() && b.is_ascii();
            if !plain || self.engine.module.function_named("setlocale").is_some() {
                return None;
            }
            a.make_ascii_lowercase();
            b.make_ascii_lowercase();
        }
        Some(self.engine.order(a.cmp(&b), self.at))
    }

    fn compare_bytes(&mut self) -> Option<Val> {
        let size = usize::try_from(self.number(2)?).ok()?;
        let (a, b) = (self.bytes(0, size)?, self.bytes(1, size)?);
        Some(self.engine.order(a.cmp(&b), self.at))
    }

    /// So many bytes at a pointer.
    fn bytes(&mut self, index: usize, size: usize) -> Option<Vec<u8>> {
        let pointer = self.argument(index)?;
        let (object, start) = self.engine.exact_place(pointer)?;
        let room = self.engine.objects.info(object).size?.checked_sub(start)?;
        if size > MOST_COPIED || size as u64 > room {
            return None;
        }
        let mut all = Vec::with_capacity(size);
        for at in start..start + size as u64 {
            let byte = self.engine.read(self.state, object, at, 1);
            all.push(self.engine.pool.as_const(byte)? as u8);
        }
        Some(all)
    }

    fn find_byte(&mut self, name: &str) -> Option<Val> {
        let byte = self.number(1)? as u8;
        let text = match name {
            "memchr" => {
                let size = usize::try_from(self.number(2)?).ok()?;
                self.bytes(0, size)?
            }
            _ => {
                let mut text = self.text(0)?;
                text.push(0);
                text
            }
        };
        let found = match name {
            "strrchr" | "rindex" => text.iter().rposition(|known| *known == byte),
            _ => text.iter().position(|known| *known == byte),
        };
        self.inside(0, found)
    }

    fn find_text(&mut self) -> Option<Val> {
        let (text, wanted) = (self.text(0)?, self.text(1)?);
        let found = match wanted.is_empty() {
            true => Some(0),
            false => text.windows(wanted.len()).position(|part| part == wanted),
        };
        self.inside(0, found)
    }

    fn find_any(&mut self, name: &str) -> Option<Val> {
        let (text, set) = (self.text(0)?, self.text(1)?);
        let found = (text.iter()).position(|byte| set.contains(byte) != (name == "strspn"));
        match name {
            "strpbrk" => self.inside(0, found),
            _ => Some(self.long(found.unwrap_or(text.len()) as u128)),
        }
    }

    fn copy(&mut self, name: &str) -> Option<Val> {
        let mut bytes = self.text(1)?;
        let to = self.argument(0)?;
        let mut start = 0;
        match name {
            "strncpy" => {
                let size = usize::try_from(self.number(2)?).ok()?;
                if size > MOST_COPIED {
                    return None;
                }
                bytes.resize(size, 0);
            }
            "strcat" => {
                start = self.text(0)?.len();
                bytes.push(0);
            }
            _ => bytes.push(0),
        }
        let to = self.engine.offset_pointer(to, start as i64);
        self.put(to, &bytes)?;
        match name {
            "stpcpy" => self.inside(0, Some(bytes.len() - 1)),
            _ => self.inside(0, Some(0)),
        }
    }

    /// Writes bytes where there is room for them.
    fn put(&mut self, to: Expr, bytes: &[u8]) -> Option<()> {
        let (object, start) = self.engine.exact_place(to)?;
        let room = self.engine.objects.info(object).size?.checked_sub(start)?;
        if bytes.len() as u64 > room {
            return None;
        }
        for (at, byte) in (start..).zip(bytes) {
            let byte = self.engine.pool.constant(8, (*byte).into());
            self.engine.write(self.state, object, at, byte);
        }
        Some(())
    }

    fn duplicate(&mut self, name: &str) -> Option<Val> {
        let mut bytes = self.text(0)?;
        if name == "strndup" {
            bytes.truncate(usize::try_from(self.number(1)?).ok()?);
        }
        bytes.push(0);
        let size = Some(bytes.len() as u64);
        let (engine, state) = (&mut *self.engine, &mut *self.state);
        let pointer = engine.allocate(state, self.slot, self.at, size, name);
        self.put(pointer, &bytes).expect("there is room");
        Some(Val::Scalar(pointer))
    }

    /// `sscanf` of integers, characters and words.
    fn scan(&mut self) -> Option<Val> {
        let (text, format) = (self.text(0)?, self.text(1)?);
        let (items, count) = scan::scan(&text, &format)?;
        if self.call.args.len() < 2 + items.len() {
            return None;
        }
        // All that is written is looked at before anything is.
        for (index, item) in items.iter().enumerate() {
            if let Item::Bytes(bytes) = item {
                let to = self.argument(2 + index)?;
                let (object, start) = self.engine.exact_place(to)?;
                let room = self.engine.objects.info(object).size?.checked_sub(start)?;
                if bytes.len() as u64 > room {
                    return None;
                }
            }
        }
        for (index, item) in items.iter().enumerate() {
            let to = self.argument(2 + index)?;
            match item {
                Item::Bytes(bytes) => self.put(to, bytes)?,
                Item::Number { bits, value } => {
                    let value = self.engine.pool.constant(*bits, *value);
                    let operand = &self.call.args[2 + index];
                    (self.engine).store_bytes(self.state, self.at, operand, to, value);
                }
            }
        }
        Some(self.engine.word(32, count as u32 as u128))
    }

    /// `strtol` and its kin: the number, and where the text goes on.
    fn read_number(&mut self, bits: u32, unsigned: bool) -> Option<Val> {
        let text = self.text(0)?;
        let base = u32::try_from(self.number(2)?).ok()?;
        let (value, length) = scan::integer(&text, base, bits, unsigned)?;
        let end = self.argument(1)?;
        if self.engine.pool.as_const(end) != Some(0) {
            let base = self.argument(0)?;
            let after = self.engine.offset_pointer(base, length as i64);
            let operand = &self.call.args[1];
            (self.engine).store_bytes(self.state, self.at, operand, end, after);
        }
        Some(self.engine.word(bits, value))
    }
}

impl Engine<'_> {
    /// `strtol` and its kin on a known text.
    pub(super) fn known_number(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        name: &str,
        call: &Call,
    ) -> Option<Val> {
        let plain = name.strip_prefix("__isoc23_").unwrap_or(name);
        let unsigned = match plain {
            "strtol" | "strtoll" => false,
            "strtoul" | "strtoull" => true,
            _ => return None,
        };
        let bits = match &self.module.functions[at.0].instrs[at.1].ty {
            Type::Int(bits) => *bits,
            _ => return None,
        };
        let mut texts = Texts {
            engine: self,
            state,
            slot,
            at,
            call,
        };
        texts.read_number(bits, unsigned)
    }
}
