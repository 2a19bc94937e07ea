//! Before `main`: find the archive, check it, set up the runtime, or end with status 2 and one clear message.
//!
//! Where the archive is looked for, first hit counts: `HEDDLE_OPTIONS=archive=PATH` (never for programs that run with more
//! rights than their caller), embedded in the program, beside the executable under the name the program was built with. A file that
//! somebody else could have put there or could still change is refused (`sys::file::open_trusted`).

use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};

use schedules::file::BuiltFor;
use schedules::{ArchivedArchive, OpenArchive};

use crate::codes::{self, Code};
use crate::options::{self, Options, Where};
use crate::sys::{barrier, file, process, stderr};
use crate::world::{Tables, World};
use crate::{exit, trace};

/// `__heddle_program`, as `ARCHITECTURE.md` lays it out.
#[repr(C)]
struct Program {
    magic: [u8; 8],
    built_for: BuiltFor,
    root_count: u64,
    roots: *const usize,
    shadow_count: u64,
    shadow_address: Option<unsafe extern "C" fn() -> *const u64>,
    site_count: u64,
    archive_name: *const c_char,
    embedded: *const u8,
    embedded_size: u64,
}

const MAGIC: [u8; 8] = *b"HEDDLE\0\x02";

// A weak reference: the runtime's own tests have no such constant.
std::arch::global_asm!(
    ".weak __heddle_program",
    ".hidden heddle_program_reference",
    ".pushsection .data.rel.ro.heddle, \"aw\", @progbits",
    ".balign 8",
    ".globl heddle_program_reference",
    "heddle_program_reference:",
    ".quad __heddle_program",
    ".popsection",
);

unsafe extern "C" {
    static heddle_program_reference: *const Program;
}

/// Runs before `main`, also in programs that never synchronize.
#[used]
#[unsafe(link_section = ".init_array")]
pub(crate) static CONSTRUCTOR: extern "C" fn() = constructor;

extern "C" fn constructor() {
    // SAFETY: the word is defined above; the linker fills in the constant's address, or zero.
    let program = unsafe { heddle_program_reference };
    // SAFETY: null, or the program's constant.
    if let Some(program) = unsafe { program.as_ref() } {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| start(program));
    }
}

/// Ends the process with status 2.
fn refuse(code: Code, text: std::fmt::Arguments<'_>) -> ! {
    codes::say(code, text);
    process::exit_now(2)
}

fn start(program: &'static Program) {
    stderr::remember();
    barrier::register();
    if program.magic != MAGIC {
        refuse(
            Code::NoArchive,
            format_args!(
                "the program was instrumented by another version of Heddle; build it again"
            ),
        );
    }
    let options = read_options();
    if options.help {
        print_help();
    }
    if options.archive == Where::None {
        return;
    }
    let archive = open(program, &options);
    check_tables(program, archive);
    if let Some(path) = &options.trace
        && let Err(failed) = trace::open(path, program.built_for)
    {
        refuse(
            Code::NoOutput,
            format_args!("cannot write the trace {path}: {}", failed.0),
        );
    }
    // SAFETY: instrumentation wrote pointer and count together.
    let roots = unsafe { slice(program.roots, program.root_count) };
    let tables = Tables {
        roots,
        shadow_address: program.shadow_address,
    };
    World::new(archive, tables, options).install();
    exit::register();
}

/// # Safety
/// `pointer` is null or points to `count` values that live for ever.
unsafe fn slice<T>(pointer: *const T, count: u64) -> &'static [T] {
    if pointer.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(pointer, count as usize) }
}

fn read_options() -> Options {
    if process::is_secure() {
        return Options::default();
    }
    let Some(text) = std::env::var_os("HEDDLE_OPTIONS") else {
        return Options::default();
    };
    let Some(text) = text.to_str() else {
        refuse(
            Code::WrongOptions,
            format_args!("HEDDLE_OPTIONS is not UTF-8"),
        );
    };
    match options::parse(text) {
        Ok(options) => options,
        Err(wrong) => refuse(Code::WrongOptions, format_args!("HEDDLE_OPTIONS: {wrong}")),
    }
}

fn print_help() -> ! {
    stderr::line(format_args!(
        "HEDDLE_OPTIONS=key=value:key=value, with these keys:"
    ));
    for (key, meaning) in options::HELP {
        stderr::line(format_args!("  {key:<22} {meaning}"));
    }
    process::exit_now(0)
}

fn open(program: &Program, options: &Options) -> &'static ArchivedArchive {
    let opened = match &options.archive {
        Where::Path(path) => open_file(Path::new(path), program),
        // SAFETY: instrumentation wrote pointer and size together.
        _ if !program.embedded.is_null() => open_embedded(
            unsafe { slice(program.embedded, program.embedded_size) },
            program,
        ),
        _ => open_file(&beside_executable(program), program),
    };
    // A static, not a leaked box: leak checkers of the program would report that.
    static OPENED: OnceLock<OpenArchive> = OnceLock::new();
    OPENED.get_or_init(|| opened).archive()
}

fn open_embedded(bytes: &'static [u8], program: &Program) -> OpenArchive {
    let opened = OpenArchive::open_embedded(bytes);
    match opened.and_then(|open| open.check_program(program.built_for).map(|()| open)) {
        Ok(open) => open,
        Err(refusal) => refuse(
            Code::NoArchive,
            format_args!("the archive inside the program: {refusal}"),
        ),
    }
}

/// Opened once; what is looked at is what is read.
fn open_file(path: &Path, program: &Program) -> OpenArchive {
    let file = match file::open_trusted(path, process::is_secure()) {
        Ok(file) => file,
        Err(refused) => refuse(
            Code::NoArchive,
            format_args!("{}: {refused}", path.display()),
        ),
    };
    match OpenArchive::read_for(file, path, program.built_for) {
        Ok(open) => open,
        Err(error) => refuse(Code::NoArchive, format_args!("{error}")),
    }
}

fn beside_executable(program: &Program) -> PathBuf {
    if program.archive_name.is_null() {
        refuse(
            Code::NoArchive,
            format_args!(
                "the program does not say what its archive is called; set HEDDLE_OPTIONS=archive=PATH"
            ),
        );
    }
    // SAFETY: a C string of the program.
    let name = unsafe { CStr::from_ptr(program.archive_name) };
    let Ok(name) = name.to_str() else {
        refuse(
            Code::NoArchive,
            format_args!("the archive's name is not UTF-8"),
        );
    };
    match std::fs::read_link("/proc/self/exe") {
        Ok(executable) => executable.with_file_name(name),
        Err(error) => refuse(
            Code::NoArchive,
            format_args!("cannot find {name}: /proc/self/exe: {error}"),
        ),
    }
}

/// Program and plan agree; these numbers can only differ if one of the two was changed by hand.
fn check_tables(program: &Program, archive: &ArchivedArchive) {
    let counts = [
        ("roots", program.root_count, archive.roots.len()),
        ("shadow words", program.shadow_count, archive.shadows.len()),
        ("sites", program.site_count, archive.sites.len()),
    ];
    for (what, program, archive) in counts {
        if program < archive as u64 {
            refuse(
                Code::NoArchive,
                format_args!(
                    "the archive has {archive} {what}, the program {program}; build program and archive together"
                ),
            );
        }
    }
}
