//! Typed four-byte ids and the tables they index.
//!
//! Ids print as the text form prints them (`site3`, `epoch0`). Tables only grow and iterate in id order, which
//! is what makes archives reproducible.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A typed position in a [`Table`].
pub trait Id: Copy {
    /// The id of row `index`.
    fn from_index(index: usize) -> Self;
    /// The row this id names.
    fn index(self) -> usize;
}

/// Defines a four-byte id that prints as `prefix` followed by its number.
#[macro_export]
macro_rules! define_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $crate::ids::Id for $name {
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("table has fewer than 2^32 rows"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(self, f)
            }
        }
    };
}

/// A growable table whose positions are `I`.
#[derive(Clone, Debug)]
pub struct Table<I, T> {
    rows: Vec<T>,
    _id: PhantomData<fn() -> I>,
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            _id: PhantomData,
        }
    }
}

impl<I: Id, T> Table<I, T> {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a row and returns its id.
    pub fn push(&mut self, row: T) -> I {
        let id = I::from_index(self.rows.len());
        self.rows.push(row);
        id
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Rows with their ids, in id order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.rows
            .iter()
            .enumerate()
            .map(|(index, row)| (I::from_index(index), row))
    }

    /// All ids, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + use<I, T> {
        (0..self.rows.len()).map(I::from_index)
    }

    /// The row, if the id is in range.
    pub fn get(&self, id: I) -> Option<&T> {
        self.rows.get(id.index())
    }

    /// The rows as a slice, in id order.
    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    /// The rows as a vector, in id order.
    pub fn into_rows(self) -> Vec<T> {
        self.rows
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.rows[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.index()]
    }
}

impl<I: Id, T> FromIterator<T> for Table<I, T> {
    fn from_iter<S: IntoIterator<Item = T>>(rows: S) -> Self {
        Self {
            rows: rows.into_iter().collect(),
            _id: PhantomData,
        }
    }
}
