//! JSON output, by hand: what we print is small and has few shapes, so a library would cost more than it saves.
//!
//! Objects keep the order in which they are written. Deliberately absent: reading.

use std::fmt::{self, Write};

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Number(i128),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// Names and values.
    Object(Vec<(&'static str, Json)>),
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Json::Bool(value)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Json::Text(value.to_owned())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Json::Text(value)
    }
}

macro_rules! from_numbers {
    ($($number:ty)*) => {$(
        impl From<$number> for Json {
            fn from(value: $number) -> Self {
                Json::Number(value as i128)
            }
        }
    )*};
}

from_numbers!(u8 u16 u32 i32 u64 i64 usize);

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Json::Null, Into::into)
    }
}

impl<T: Into<Json>> FromIterator<T> for Json {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Json::List(items.into_iter().map(Into::into).collect())
    }
}

impl fmt::Display for Json {
    /// Indented by two; lists and objects that fit on a line stay on one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        self.write(&mut out, 0);
        f.write_str(&out)
    }
}

const LINE: usize = 100;

impl Json {
    /// All of it on one line, however long, for logs.
    pub fn line(&self) -> String {
        let mut out = String::new();
        self.write_flat(&mut out);
        out
    }

    fn write(&self, out: &mut String, indent: usize) {
        let start = out.len();
        self.write_flat(out);
        if indent + out.len() - start > LINE {
            out.truncate(start);
            self.write_broken(out, indent);
        }
    }

    fn write_flat(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => write!(out, "{value}").expect("writing to a string"),
            Json::Number(value) => write!(out, "{value}").expect("writing to a string"),
            Json::Text(value) => quote(out, value),
            Json::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    item.write_flat(out);
                }
                out.push(']');
            }
            Json::Object(rows) => {
                out.push('{');
                for (index, (name, value)) in rows.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    quote(out, name);
                    out.push_str(": ");
                    value.write_flat(out);
                }
                out.push('}');
            }
        }
    }

    fn write_broken(&self, out: &mut String, indent: usize) {
        let inner = indent + 2;
        let separate = |out: &mut String, index: usize| {
            out.push_str(if index == 0 { "\n" } else { ",\n" });
            out.extend(std::iter::repeat_n(' ', inner));
        };
        match self {
            Json::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    separate(out, index);
                    item.write(out, inner);
                }
                close(out, indent, ']');
            }
            Json::Object(rows) => {
                out.push('{');
                for (index, (name, value)) in rows.iter().enumerate() {
                    separate(out, index);
                    quote(out, name);
                    out.push_str(": ");
                    value.write(out, inner);
                }
                close(out, indent, '}');
            }
            _ => self.write_flat(out),
        }
    }
}

fn close(out: &mut String, indent: usize, bracket: char) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
    out.push(bracket);
}

fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                write!(out, "\\u{:04x}", c as u32).expect("writing to a string");
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
