//! Source-level types, kept only to name places in memory the way the programmer wrote them.
//!
//! Nothing computes with layouts: sizes and offsets that matter to execution are resolved by the loader. A layout may be
//! missing anywhere; names then fall back to byte offsets.

use schedules::define_id;
use schedules::ids::Table;

define_id!(
    /// A source-level type.
    LayoutId, "ty"
);

/// A source-level type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Anything without parts that people name: numbers, enumerations, function types.
    Scalar { name: String, size: u64 },
    /// A pointer, and what it points to where that is known.
    Pointer { target: Option<LayoutId> },
    /// A struct: fields in order of declaration, which is ascending by offset. A union: all offsets 0.
    Record {
        name: String,
        size: u64,
        union: bool,
        fields: Vec<Field>,
    },
    /// An array of `count` elements.
    Array {
        element: LayoutId,
        stride: u64,
        count: u64,
    },
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub offset: u64,
    pub name: String,
    pub layout: LayoutId,
}

/// The access path of byte `offset` within a thing of this type, such as `[2].lock`; empty for its beginning.
///
/// Stops at the outermost path that names the byte exactly: `offset` 0 of a struct is the struct, unless `size` says that only
/// a part is meant.
pub fn path(layouts: &Table<LayoutId, Layout>, layout: LayoutId, offset: u64, size: u64) -> String {
    let mut text = String::new();
    let mut rest = offset;
    let mut current = layout;
    loop {
        match &layouts[current] {
            Layout::Array {
                element,
                stride,
                count,
            } if *stride > 0 && (rest > 0 || size < stride * count) => {
                text.push_str(&format!("[{}]", rest / stride));
                rest %= stride;
                current = *element;
            }
            Layout::Record {
                size: whole,
                fields,
                ..
            } if rest > 0 || size < *whole => {
                let Some(field) = fields.iter().rev().find(|field| field.offset <= rest) else {
                    break;
                };
                if !field.name.is_empty() {
                    text.push('.');
                    text.push_str(&field.name);
                }
                rest -= field.offset;
                current = field.layout;
            }
            _ => break,
        }
    }
    if rest > 0 {
        text.push_str(&format!("+{rest}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Table<LayoutId, Layout>, LayoutId) {
        let mut layouts = Table::new();
        let int = layouts.push(Layout::Scalar {
            name: "int".into(),
            size: 4,
        });
        let account = layouts.push(Layout::Record {
            name: "account".into(),
            size: 8,
            union: false,
            fields: vec![
                Field {
                    offset: 0,
                    name: "balance".into(),
                    layout: int,
                },
                Field {
                    offset: 4,
                    name: "lock".into(),
                    layout: int,
                },
            ],
        });
        let array = layouts.push(Layout::Array {
            element: account,
            stride: 8,
            count: 3,
        });
        (layouts, array)
    }

    #[test]
    fn paths_name_the_part_that_is_meant() {
        let (layouts, array) = sample();
        assert_eq!(path(&layouts, array, 0, 24), "");
        assert_eq!(path(&layouts, array, 0, 8), "[0]");
        assert_eq!(path(&layouts, array, 0, 4), "[0].balance");
        assert_eq!(path(&layouts, array, 12, 4), "[1].lock");
        assert_eq!(path(&layouts, array, 13, 1), "[1].lock+1");
    }
}
