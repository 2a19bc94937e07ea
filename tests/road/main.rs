//! The command from end to end: C programs in, archives, enforced executables, reports and exit statuses out.
//!
//! Needs the static library beside the command: `cargo build --workspace` first, as `make test` does.

mod assumptions;
mod bad_input;
mod driver;
mod enforced;
mod examples;
mod faults;
mod handmade;
mod long_work;
mod native;
mod projects;
mod rebuild;
mod reuse;
mod robust;
mod sarif;
mod undefined;
mod workshop;
