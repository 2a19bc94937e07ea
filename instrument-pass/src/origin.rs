//! How a program was built, carried inside its bitcode as named metadata, so that one file is enough to build it again.

use crate::Bitcode;
use crate::error::Result;
use crate::ir::Context;

/// Name of the metadata.
const KEY: &str = "heddle.origin";

/// The project's own way of building the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Optimization level of most of its sources, for example `2` or `s`.
    pub level: String,
    /// Where the linker ran: relative names start here.
    pub directory: String,
    /// True if the C++ driver linked it.
    pub is_cxx: bool,
    /// Options for code generation and the linker, libraries and archives, in order.
    pub arguments: Vec<String>,
    /// Objects without bitcode that belong to the program.
    pub natives: Vec<Native>,
}

/// An object without bitcode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Native {
    /// For people.
    pub name: String,
    /// The file.
    pub object: Vec<u8>,
}

impl Bitcode {
    /// The same module with a note of how it was built.
    pub fn with_origin(&self, origin: &Origin) -> Result<Bitcode> {
        let context = Context::new();
        let module = context.parse(self)?;
        for string in origin.to_strings() {
            module.add_note(KEY, &string);
        }
        Ok(module.to_bitcode())
    }

    /// How the module was built, if it says.
    pub fn origin(&self) -> Result<Option<Origin>> {
        let context = Context::new();
        let notes = context.parse(self)?.notes(KEY);
        Ok(Origin::from_strings(notes))
    }
}

impl Origin {
    fn to_strings(&self) -> Vec<Vec<u8>> {
        let language = if self.is_cxx { "c++" } else { "c" };
        let mut strings = vec![
            self.level.clone().into_bytes(),
            self.directory.clone().into_bytes(),
            language.as_bytes().to_vec(),
            self.natives.len().to_string().into_bytes(),
        ];
        for native in &self.natives {
            strings.push(native.name.clone().into_bytes());
            strings.push(native.object.clone());
        }
        strings.extend(self.arguments.iter().map(|a| a.clone().into_bytes()));
        strings
    }

    fn from_strings(strings: Vec<Vec<u8>>) -> Option<Origin> {
        let mut strings = strings.into_iter();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let level = text(strings.next()?);
        let directory = text(strings.next()?);
        let is_cxx = strings.next()? == b"c++";
        let count: usize = text(strings.next()?).parse().ok()?;
        let mut natives = Vec::new();
        for _ in 0..count {
            let name = text(strings.next()?);
            let object = strings.next()?;
            natives.push(Native { name, object });
        }
        Some(Origin {
            level,
            directory,
            is_cxx,
            natives,
            arguments: strings.map(text).collect(),
        })
    }
}
