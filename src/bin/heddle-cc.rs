//! `heddle-cc`: `heddle cc` under one word, for build systems that want one, and without the libraries that only analysis needs.
//!
//! A link to it named `heddle-c++` compiles C++.

#[path = "../cc/mod.rs"]
#[allow(dead_code)] // what only `heddle extract` reads
mod cc;

fn main() -> std::process::ExitCode {
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_default();
    let language = if name.to_string_lossy().ends_with("++") {
        cc::Language::Cxx
    } else {
        cc::Language::C
    };
    cc::run(language, &words.collect::<Vec<_>>())
}
