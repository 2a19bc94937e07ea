//! `heddle analyze`: what the static analyses know about a program, for people (text) and for tools (`--json`).
//!
//! Shows synchronization sites and what each may touch, what governs them, how much of the program matters, where epochs may end
//! and why, what threads share, and what is external and assumed. `--skeleton` prints what remains of the program.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::time::Instant;

use anyhow::Result;
use enumerator::analysis::locks::{Locks, operation};
use enumerator::analysis::relevance::Relevance;
use enumerator::analysis::sharing::Sharing;
use enumerator::analysis::{Exempt, Facts, Why, library, names, skeleton};
use enumerator::model::load::load_bytes;
use enumerator::model::{Callee, FuncId, InstrId, Module};
use schedules::primitives;

use crate::Verdict;
use crate::input::Inputs;

#[derive(clap::Args)]
#[command(
    override_usage = "heddle analyze PROGRAM [--json|--skeleton] [--times]",
    after_help = "\
Options:
      --json      prints one JSON object
      --skeleton  prints the synchronization skeleton as pseudo-C
      --times     prints what each analysis took, and the most memory used, to standard error

Examples:
  heddle analyze prog.c -O2
  heddle analyze ./prog --skeleton     # a program made with `heddle cc`"
)]
pub(crate) struct Arguments {
    /// C sources with their compiler flags, bitcode, or one program made with `heddle cc`
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    words: Vec<OsString>,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Skeleton,
}

impl Form {
    /// Takes its options out of a command line; what is left is the compiler's.
    fn take(words: &mut Vec<OsString>) -> Result<Self> {
        let json = take_flag(words, "--json");
        let skeleton = take_flag(words, "--skeleton");
        match (json, skeleton) {
            (false, false) => Ok(Form::Text),
            (true, false) => Ok(Form::Json),
            (false, true) => Ok(Form::Skeleton),
            (true, true) => fail!(WrongUse, "either --json or --skeleton"),
        }
    }
}

/// Removes a word; true if it was there.
fn take_flag(words: &mut Vec<OsString>, name: &str) -> bool {
    let before = words.len();
    words.retain(|word| word != name);
    words.len() < before
}

/// Seconds by analysis.
struct Clock {
    began: Instant,
    laps: Vec<(&'static str, f64)>,
}

impl Clock {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            laps: Vec::new(),
        }
    }

    /// Counts the time since the last lap for this analysis.
    fn lap(&mut self, name: &'static str) {
        let seconds = self.began.elapsed().as_secs_f64();
        self.laps.push((name, seconds));
        self.began = Instant::now();
    }

    fn print(&self) {
        for (name, seconds) in &self.laps {
            eprintln!("{name} {seconds:.3} s");
        }
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        if let Some(most) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
            eprintln!("memory {}", most.trim());
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let mut words = arguments.words.clone();
    let form = Form::take(&mut words)?;
    let times = take_flag(&mut words, "--times");
    let inputs = Inputs::parse(&words)?;
    let mut clock = Clock::new();
    let prepared = inputs.prepare()?;
    clock.lap("prepare");
    let name = inputs.first().file_name().unwrap_or_default();
    let module = load_bytes(&prepared.bitcode.0, &name.to_string_lossy())?;
    clock.lap("load");
    let facts = Facts::of(&module);
    clock.lap("points-to and effects");
    if form == Form::Skeleton {
        crate::output::print(&skeleton::print(&module, &facts))?;
        return Ok(Verdict::Fine);
    }
    let report = Report {
        opaque: prepared.opaque,
        ..Report::of(&module, &facts, &mut clock)
    };
    if times {
        clock.print();
    }
    match form {
        Form::Json => crate::output::print(&format!("{}\n", report.json()))?,
        _ => crate::output::print(&report.text())?,
    }
    Ok(Verdict::Fine)
}

/// A synchronization call.
struct SyncSite {
    /// Its object is one place, as far as is known.
    exact: bool,
    place: String,
    function: String,
    primitive: &'static str,
    operands: Vec<String>,
    held: Vec<String>,
}

/// Everything that is shown; lists are in the order of the program.
struct Report {
    name: String,
    functions: usize,
    instructions: usize,
    relevant: usize,
    average_points_to: f64,
    threads: Vec<(String, bool)>,
    sites: Vec<SyncSite>,
    nesting: Vec<(String, String, Vec<String>)>,
    inputs: Vec<(String, String)>,
    variables: Vec<String>,
    shared: Vec<String>,
    markers: Vec<(String, String, String)>,
    exempt: Vec<(String, String, String)>,
    assumed: Vec<String>,
    unknown: Vec<String>,
    /// Objects in the program without bitcode.
    opaque: Vec<String>,
}

impl Report {
    fn of(module: &Module, facts: &Facts, clock: &mut Clock) -> Self {
        let relevance = Relevance::of(module, facts);
        clock.lap("relevance");
        let sharing = Sharing::of(module, facts);
        clock.lap("sharing");
        let locks = Locks::of(module, facts);
        clock.lap("locks");
        facts.all_markers();
        clock.lap("markers");
        let (relevant, instructions) = relevance.count();
        let (assumed, unknown) = externals(module);
        Self {
            name: module.name.clone(),
            functions: defined(module),
            instructions,
            relevant,
            average_points_to: facts.average_points_to(),
            threads: sharing
                .entries
                .iter()
                .map(|(entry, many)| (module.functions[*entry].name.clone(), *many))
                .collect(),
            sites: sites(module, facts, &locks),
            nesting: locks
                .nesting
                .iter()
                .map(|((outer, inner), sites)| {
                    (
                        names::place(module, outer.0, outer.1),
                        names::place(module, inner.0, inner.1),
                        sites.iter().map(|site| place(module, *site)).collect(),
                    )
                })
                .collect(),
            inputs: relevance
                .inputs
                .iter()
                .map(|site| (place(module, *site), called(module, *site)))
                .collect(),
            variables: relevance
                .memory
                .keys()
                .map(|object| names::object(module, *object))
                .collect(),
            shared: sharing
                .shared
                .iter()
                .map(|object| {
                    let written = sharing.written.contains(object);
                    let note = if written { "" } else { " (only read)" };
                    format!("{}{note}", names::object(module, *object))
                })
                .collect(),
            markers: markers(module, facts),
            exempt: exempt(module, facts),
            assumed,
            unknown,
            opaque: Vec::new(),
        }
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let share = 100.0 * self.relevant as f64 / self.instructions.max(1) as f64;
        let _ = writeln!(
            out,
            "{}: {} functions, {} instructions; {} matter to synchronization ({share:.1} %); average points-to set {:.2}",
            self.name, self.functions, self.instructions, self.relevant, self.average_points_to
        );
        let threads = self.threads.iter().map(|(name, many)| {
            let note = if *many { "several" } else { "one" };
            format!("{name} ({note})")
        });
        list(&mut out, "thread functions", threads);
        let sites = self.sites.iter().map(|site| {
            let held = if site.held.is_empty() {
                String::new()
            } else {
                format!("  may hold {}", site.held.join(", "))
            };
            format!(
                "{}  {}: {}({}){held}",
                site.place,
                site.function,
                site.primitive,
                site.operands.join(", ")
            )
        });
        list(&mut out, "synchronization sites", sites);
        let nesting = self
            .nesting
            .iter()
            .map(|(outer, inner, sites)| format!("{inner} under {outer}: {}", sites.join(", ")));
        list(&mut out, "locks taken under others", nesting);
        let markers = self
            .markers
            .iter()
            .map(|(place, function, why)| format!("{place}  {function}: {why}"));
        list(&mut out, "epochs may end", markers);
        let exempt = self
            .exempt
            .iter()
            .map(|(place, function, why)| format!("{place}  {function}: {why}"));
        list(&mut out, "loops that need no marker", exempt);
        let inputs = self
            .inputs
            .iter()
            .map(|(place, name)| format!("{place}  {name}"));
        list(&mut out, "inputs that govern synchronization", inputs);
        list(
            &mut out,
            "memory that governs synchronization",
            self.variables.iter().cloned(),
        );
        list(
            &mut out,
            "memory that threads share",
            self.shared.iter().cloned(),
        );
        let assumed = wrapped(&self.assumed);
        list(
            &mut out,
            "external, behaviour from the table",
            assumed.into_iter(),
        );
        let unknown = wrapped(&self.unknown);
        list(
            &mut out,
            "external, nothing known (may do anything to what escapes)",
            unknown.into_iter(),
        );
        list(
            &mut out,
            "without bitcode, so external",
            self.opaque.iter().cloned(),
        );
        out
    }

    fn json(&self) -> String {
        let strings = |list: &[String]| array(list.iter().map(|item| quoted(item)));
        let pairs =
            |list: &[(String, String)], first: &str, second: &str| {
                array(list.iter().map(|(a, b)| {
                    format!("{{\"{first}\":{},\"{second}\":{}}}", quoted(a), quoted(b))
                }))
            };
        let places = |list: &[(String, String, String)]| {
            array(list.iter().map(|(place, function, why)| {
                format!(
                    "{{\"place\":{},\"function\":{},\"why\":{}}}",
                    quoted(place),
                    quoted(function),
                    quoted(why)
                )
            }))
        };
        let sites = array(self.sites.iter().map(|site| {
            format!(
                "{{\"place\":{},\"function\":{},\"primitive\":{},\"operands\":{},\"held\":{}}}",
                quoted(&site.place),
                quoted(&site.function),
                quoted(site.primitive),
                strings(&site.operands),
                strings(&site.held)
            )
        }));
        let threads =
            array(self.threads.iter().map(|(name, many)| {
                format!("{{\"function\":{},\"several\":{many}}}", quoted(name))
            }));
        let nesting = array(self.nesting.iter().map(|(outer, inner, sites)| {
            format!(
                "{{\"outer\":{},\"inner\":{},\"sites\":{}}}",
                quoted(outer),
                quoted(inner),
                strings(sites)
            )
        }));
        let exact = self.sites.iter().filter(|site| site.exact).count();
        let fields = [
            ("program", quoted(&self.name)),
            ("functions", self.functions.to_string()),
            ("instructions", self.instructions.to_string()),
            ("relevant", self.relevant.to_string()),
            (
                "average_points_to",
                format!("{:.3}", self.average_points_to),
            ),
            ("sync_sites", self.sites.len().to_string()),
            ("exact_sites", exact.to_string()),
            ("threads", threads),
            ("sites", sites),
            ("nesting", nesting),
            ("markers", places(&self.markers)),
            ("exempt", places(&self.exempt)),
            ("inputs", pairs(&self.inputs, "place", "call")),
            ("memory", strings(&self.variables)),
            ("shared", strings(&self.shared)),
            ("assumed", strings(&self.assumed)),
            ("unknown", strings(&self.unknown)),
            ("opaque", strings(&self.opaque)),
        ];
        let fields: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        format!("{{{}}}", fields.join(","))
    }
}

fn defined(module: &Module) -> usize {
    let functions = module.functions.rows().iter();
    functions
        .filter(|function| !function.is_declaration())
        .count()
}

fn place(module: &Module, (func, id): (FuncId, InstrId)) -> String {
    module.place(&module.functions[func].instrs[id].position)
}

/// The name of the function that a site calls.
fn called(module: &Module, (func, id): (FuncId, InstrId)) -> String {
    let call = module.functions[func].instrs[id].call();
    match call.map(|call| &call.callee) {
        Some(Callee::Direct(target)) => module.functions[*target].name.clone(),
        Some(Callee::Asm { .. }) => "assembly".to_owned(),
        _ => "a function nobody can name".to_owned(),
    }
}

fn sites(module: &Module, facts: &Facts, locks: &Locks) -> Vec<SyncSite> {
    let mut found = Vec::new();
    for (func, function) in module.functions.iter() {
        for (id, instr) in function.instrs.iter() {
            let (Some((_, row)), Some(call)) = (operation(module, instr), instr.call()) else {
                continue;
            };
            let pointers = call
                .args
                .iter()
                .zip(&call.arg_types)
                .filter(|(_, ty)| **ty == enumerator::model::Type::Ptr)
                .map(|(value, _)| names::pointee(module, facts, func, value))
                .filter(|text| text != "?");
            let held = locks.held.get(&(func, id)).into_iter().flatten();
            let object = call.args.first().map(|value| facts.points_to(func, value));
            found.push(SyncSite {
                exact: object.is_some_and(|found| found.places.len() == 1 && !found.unknown),
                place: module.place(&instr.position),
                function: function.name.clone(),
                primitive: row.symbol,
                operands: pointers.collect(),
                held: held
                    .map(|(object, offset)| names::place(module, *object, *offset))
                    .collect(),
            });
        }
    }
    found
}

fn markers(module: &Module, facts: &Facts) -> Vec<(String, String, String)> {
    facts
        .markers()
        .iter()
        .map(|(func, block, why)| {
            let why = match why {
                Why::Loop(_) => "a loop that may synchronize on each way around",
                Why::Recursion => "recursion that synchronizes",
                Why::CalledBack => "called back by the library, and synchronizes",
            };
            (
                names::block_place(module, *func, *block),
                module.functions[*func].name.clone(),
                why.to_owned(),
            )
        })
        .collect()
}

fn exempt(module: &Module, facts: &Facts) -> Vec<(String, String, String)> {
    facts
        .all_markers()
        .exempt
        .iter()
        .map(|(func, id, why)| {
            let why = match why {
                Exempt::Bounded(trips) => format!("runs at most {trips} times"),
                Exempt::WaitsOnly => "only waits for a condition".to_owned(),
                Exempt::CreatesAndJoinsOnly => "only creates and joins threads".to_owned(),
                Exempt::Covered => "a marker inside is passed on each way around".to_owned(),
            };
            let header = facts.cfg(*func).loops[*id].header;
            (
                names::block_place(module, *func, header),
                module.functions[*func].name.clone(),
                why,
            )
        })
        .collect()
}

/// Declared functions: those of the table, and those about which nothing is known.
fn externals(module: &Module) -> (Vec<String>, Vec<String>) {
    let mut known = BTreeSet::new();
    let mut unknown = BTreeSet::new();
    for (_, function) in module.functions.iter() {
        let name = &function.name;
        if !function.is_declaration()
            || name.starts_with("llvm.")
            || primitives::is_family_name(name)
        {
            continue;
        }
        if library::library(name).is_some() {
            known.insert(name.clone());
        } else {
            unknown.insert(name.clone());
        }
    }
    (known.into_iter().collect(), unknown.into_iter().collect())
}

fn list(out: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title}:");
    for item in items {
        let _ = writeln!(out, "  {item}");
    }
}

/// Words in lines of about a hundred characters.
fn wrapped(words: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < 100 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
