//! Makes an archive file from its text form, for trying things by hand.
//!
//! `cargo run -p schedules --example assemble -- archive.txt archive.heddle`

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [text, file] = arguments.as_slice() else {
        eprintln!("usage: assemble TEXT FILE");
        return ExitCode::from(2);
    };
    let result = std::fs::read_to_string(text)
        .map_err(|error| error.to_string())
        .and_then(|text| schedules::text::parse(&text).map_err(|error| error.to_string()))
        .and_then(|archive| {
            archive
                .write(Path::new(file))
                .map_err(|error| error.to_string())
        });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{text}: {error}");
            ExitCode::from(2)
        }
    }
}
