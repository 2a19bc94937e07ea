//! What a compiler command line asks for: enough of it to know sources, outputs and mode.
//!
//! Unknown options are passed on; they take no separate value as far as this file knows. A word that is no option is an input.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What the command makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nothing that could carry bitcode, or something that must not be touched.
    AsItIs,
    /// Objects (`-c`).
    Compile,
    /// An executable or a library.
    Link,
}

/// One word of the command line, or an option with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Option(Vec<OsString>),
    Source(PathBuf),
    /// A file for the linker, or a source in a language without bitcode.
    Other(PathBuf),
}

/// A command line, taken apart.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) mode: Mode,
    pub(crate) words: Vec<Word>,
    pub(crate) output: Option<PathBuf>,
    /// The user asked for debug information.
    pub(crate) debug: bool,
    /// The user said something about it that debug information for the bitcode would contradict.
    pub(crate) says_debug: bool,
    /// The last `-O`, without the letter; `0` if there is none.
    pub(crate) level: String,
    /// `-x` in force for each source, if any, by position among sources.
    pub(crate) languages: Vec<Option<OsString>>,
}

/// Options whose value is the next word.
const WITH_VALUE: &[&str] = &[
    "-o",
    "-x",
    "-D",
    "-U",
    "-I",
    "-L",
    "-l",
    "-F",
    "-T",
    "-u",
    "-z",
    "-e",
    "-b",
    "-B",
    "-V",
    "-A",
    "-G",
    "-h",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-cxx-isystem",
    "-stdlib++-isystem",
    "-include-pch",
    "-framework",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xclang",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xanalyzer",
    "-mllvm",
    "-arch",
    "-target",
    "--target",
    "--param",
    "-param",
    "-Tbss",
    "-Tdata",
    "-Ttext",
    "-dumpdir",
    "-dumpbase",
    "-aux-info",
    "-working-directory",
    "-serialize-diagnostics",
    "--serialize-diagnostics",
    "-rpath",
    "-wrapper",
    "-specs",
    "--sysroot",
    "-gcc-toolchain",
    "-resource-dir",
    "-install_name",
    "-current_version",
    "-compatibility_version",
    "-fmodules-cache-path",
    "--config",
    "-exported_symbols_list",
];

/// Options after which there is no object to add bitcode to, or none that may be changed.
const AS_IT_IS: &[&str] = &[
    "-E",
    "-S",
    "-M",
    "-MM",
    "-fsyntax-only",
    "--version",
    "-version",
    "-dumpmachine",
    "-dumpversion",
    "-###",
    "-cc1",
    "-cc1as",
    "-emit-llvm",
    "--analyze",
    "-emit-ast",
    "--precompile",
    "-save-temps",
    "--save-temps",
    "--help",
    "-help",
    "--preprocess",
    "--assemble",
    // Objects that are not 64-bit ELF.
    "-m32",
    "-mx32",
    "-m16",
    "-arch",
];

const AS_IT_IS_PREFIXES: &[&str] = &[
    "-print-",
    "--print-",
    "-save-temps=",
    "--help-",
    "-fembed-bitcode",
    "-rewrite-",
];

impl Invocation {
    /// `None` if a response file cannot be read: clang will say so.
    pub(crate) fn parse(arguments: &[OsString]) -> Option<Self> {
        let arguments = expand_response_files(arguments, 0)?;
        let mut parser = Parser::default();
        let mut words = arguments.into_iter();
        while let Some(word) = words.next() {
            parser.word(word, &mut words);
        }
        Some(parser.finish())
    }

    pub(crate) fn sources(&self) -> impl Iterator<Item = &PathBuf> {
        self.words.iter().filter_map(|word| match word {
            Word::Source(path) => Some(path),
            Word::Option(_) | Word::Other(_) => None,
        })
    }

    /// For each source, whether it is the preprocessor's output.
    pub(crate) fn preprocessed(&self) -> impl Iterator<Item = bool> {
        let languages = self.languages.iter();
        self.sources()
            .zip(languages)
            .map(|(source, language)| match language {
                Some(language) => language.to_string_lossy().ends_with("cpp-output"),
                None => extension_is(source, &["i", "ii"]),
            })
    }

    /// All options, in order, without inputs.
    pub(crate) fn options(&self) -> impl Iterator<Item = &[OsString]> {
        self.words.iter().filter_map(|word| match word {
            Word::Option(parts) => Some(parts.as_slice()),
            Word::Source(_) | Word::Other(_) => None,
        })
    }

    pub(crate) fn has_option(&self, names: &[&str]) -> bool {
        self.options()
            .any(|parts| parts[0].to_str().is_some_and(|name| names.contains(&name)))
    }
}

#[derive(Default)]
struct Parser {
    words: Vec<Word>,
    languages: Vec<Option<OsString>>,
    language: Option<OsString>,
    output: Option<PathBuf>,
    as_it_is: bool,
    compile: bool,
    debug: bool,
    /// `-g0` and the like: no debug information is added for the bitcode.
    says_debug: bool,
    level: Option<String>,
    /// Everything after `--` is an input.
    inputs_only: bool,
}

impl Parser {
    fn word(&mut self, word: OsString, rest: &mut impl Iterator<Item = OsString>) {
        let text = word.to_string_lossy().into_owned();
        if self.inputs_only || text == "-" || !text.starts_with('-') {
            return self.input(PathBuf::from(word));
        }
        if text == "--" {
            self.inputs_only = true;
            return;
        }
        self.note(&text);
        let value = if takes_value(&text) {
            rest.next()
        } else {
            None
        };
        self.note_value(&text, value.as_deref());
        let mut parts = vec![word];
        parts.extend(value);
        self.words.push(Word::Option(parts));
    }

    fn note(&mut self, text: &str) {
        if AS_IT_IS.contains(&text) || AS_IT_IS_PREFIXES.iter().any(|p| text.starts_with(p)) {
            self.as_it_is = true;
        } else if text == "-c" || text == "--compile" {
            self.compile = true;
        } else if let Some(level) = text.strip_prefix("-O") {
            self.level = Some(if level.is_empty() { "1" } else { level }.to_owned());
        } else if let Some(kind) = text.strip_prefix("-g") {
            self.says_debug |= kind == "0" || kind == "split-dwarf";
            self.debug = asks_for_debug(kind).unwrap_or(self.debug);
        }
    }

    fn note_value(&mut self, text: &str, value: Option<&OsStr>) {
        let target = match (text, value) {
            ("-target" | "--target", Some(value)) => value.to_str(),
            _ => text.strip_prefix("--target="),
        };
        self.as_it_is |= target.is_some_and(|target| !target.starts_with("x86_64"));
        match (text, value) {
            ("-o", Some(value)) => self.output = Some(PathBuf::from(value)),
            ("-x", Some(value)) => self.set_language(value),
            (_, None) => {
                if let Some(joined) = text.strip_prefix("-x") {
                    self.set_language(OsStr::new(joined));
                } else if let Some(joined) = text.strip_prefix("-o").filter(|j| !j.is_empty()) {
                    self.output = Some(PathBuf::from(joined));
                }
            }
            _ => {}
        }
    }

    fn set_language(&mut self, language: &OsStr) {
        self.language = (language != "none").then(|| language.to_owned());
    }

    fn input(&mut self, path: PathBuf) {
        if has_bitcode(&path, self.language.as_deref()) {
            self.languages.push(self.language.clone());
            self.words.push(Word::Source(path));
        } else {
            // A header is compiled to something that is no object.
            self.as_it_is |= is_header(&path, self.language.as_deref());
            self.words.push(Word::Other(path));
        }
    }

    fn finish(self) -> Invocation {
        let has_inputs = self.words.iter().any(|w| !matches!(w, Word::Option(_)));
        let has_sources = self.words.iter().any(|w| matches!(w, Word::Source(_)));
        // To standard output there is no file to change.
        let to_stdout = self.output.as_deref() == Some(Path::new("-"));
        let as_it_is = self.as_it_is || to_stdout || !has_inputs;
        let mode = match (as_it_is, self.compile) {
            (true, _) => Mode::AsItIs,
            (false, true) if has_sources => Mode::Compile,
            (false, true) => Mode::AsItIs,
            (false, false) => Mode::Link,
        };
        Invocation {
            mode,
            words: self.words,
            output: self.output,
            debug: self.debug,
            says_debug: self.says_debug,
            level: self.level.unwrap_or_else(|| "0".to_owned()),
            languages: self.languages,
        }
    }
}

fn takes_value(option: &str) -> bool {
    WITH_VALUE.contains(&option)
        || option.starts_with("-Xarch_")
        || option.starts_with("-Xopenmp-target")
}

/// `Some(false)` switches debug information off, `None` says nothing about it.
fn asks_for_debug(kind: &str) -> Option<bool> {
    match kind {
        "0" => Some(false),
        "" | "1" | "2" | "3" => Some(true),
        _ if kind.starts_with("dwarf") || kind.starts_with("gdb") || kind.starts_with("line-") => {
            Some(true)
        }
        _ => None,
    }
}

/// Sources whose front end can embed bitcode.
fn has_bitcode(path: &Path, language: Option<&OsStr>) -> bool {
    match language.and_then(OsStr::to_str) {
        Some(language) => matches!(
            language,
            "c" | "c++" | "cpp-output" | "c-cpp-output" | "c++-cpp-output"
        ),
        None => extension_is(
            path,
            &[
                "c", "i", "cc", "cpp", "cxx", "c++", "cp", "C", "CC", "CPP", "CXX", "ii",
            ],
        ),
    }
}

fn is_header(path: &Path, language: Option<&OsStr>) -> bool {
    match language.and_then(OsStr::to_str) {
        Some(language) => language.ends_with("-header"),
        None => extension_is(path, &["h", "hh", "hpp", "hxx", "H", "h++"]),
    }
}

fn extension_is(path: &Path, list: &[&str]) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| list.contains(&extension))
}

fn expand_response_files(arguments: &[OsString], depth: u32) -> Option<Vec<OsString>> {
    let mut expanded = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match argument.to_str().and_then(|text| text.strip_prefix('@')) {
            Some(path) if depth < 16 && Path::new(path).is_file() => {
                let text = std::fs::read_to_string(path).ok()?;
                expanded.extend(expand_response_files(&split_words(&text), depth + 1)?);
            }
            _ => expanded.push(argument.clone()),
        }
    }
    Some(expanded)
}

/// Words as GNU tools quote them in response files.
fn split_words(text: &str) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (_, '\\') => {
                if let Some(next) = characters.next() {
                    word.get_or_insert_default().push(next);
                }
            }
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take().map(OsString::from)),
            (None, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word.map(OsString::from));
    words
}

#[cfg(test)]
mod tests {
    use super::{Invocation, Mode, Word, split_words};

    #[track_caller]
    fn check(line: &str, mode: Mode, sources: &[&str], others: &[&str]) {
        let invocation = Invocation::parse(&split_words(line)).expect("no response file");
        let found: Vec<_> = invocation
            .sources()
            .map(|p| p.to_string_lossy().into_owned())
            .collect();
        let rest: Vec<_> = invocation
            .words
            .iter()
            .filter_map(|word| match word {
                Word::Other(path) => Some(path.to_string_lossy().into_owned()),
                _ => None,
            })
            .collect();
        assert_eq!(
            (invocation.mode, found, rest),
            (mode, owned(sources), owned(others))
        );
    }

    fn owned(list: &[&str]) -> Vec<String> {
        list.iter().map(|s| (*s).to_owned()).collect()
    }

    #[test]
    fn modes() {
        check("-c a.c -o a.o", Mode::Compile, &["a.c"], &[]);
        check("-O2 a.c b.c -lm -o p", Mode::Link, &["a.c", "b.c"], &[]);
        check("a.o b.o -o p", Mode::Link, &[], &["a.o", "b.o"]);
        check("-E a.c", Mode::AsItIs, &["a.c"], &[]);
        check("-v", Mode::AsItIs, &[], &[]);
        check("-c a.S", Mode::AsItIs, &[], &["a.S"]);
        check("-c a.h", Mode::AsItIs, &[], &["a.h"]);
        check("-MMD -MF x.c -c a.c", Mode::Compile, &["a.c"], &[]);
        check("-shared -o l.so a.o", Mode::Link, &[], &["a.o"]);
        check("-c a.c -o -", Mode::AsItIs, &["a.c"], &[]);
        check("-m32 -c a.c", Mode::AsItIs, &["a.c"], &[]);
        check("-target arm-none-eabi -c a.c", Mode::AsItIs, &["a.c"], &[]);
        check(
            "--target=x86_64-linux-gnu -c a.c",
            Mode::Compile,
            &["a.c"],
            &[],
        );
    }

    #[test]
    fn language_option_holds_until_the_next() {
        check("-x c - -x none l.a", Mode::Link, &["-"], &["l.a"]);
        check("-xassembler a.c", Mode::Link, &[], &["a.c"]);
    }

    #[test]
    fn values_are_no_inputs() {
        check(
            "-D x.c -include y.c -Xlinker z.c a.c -c",
            Mode::Compile,
            &["a.c"],
            &[],
        );
    }

    #[test]
    fn quoting() {
        assert_eq!(
            split_words(r#"a "b c" d\ e '' "f\"g""#),
            owned_os(&["a", "b c", "d e", "", "f\"g"])
        );
    }

    fn owned_os(list: &[&str]) -> Vec<std::ffi::OsString> {
        list.iter().map(std::ffi::OsString::from).collect()
    }
}
