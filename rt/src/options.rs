//! `HEDDLE_OPTIONS=key=value:key=value`: what the person who runs the program may change.
//!
//! Unknown keys and bad values are errors: an option that is silently ignored is worse than none. Ignored as a whole in
//! programs that run with more rights than their caller; the caller of [`parse`] decides that.

use std::fmt;

/// What to do when the program does something the archive does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Report and end by SIGABRT.
    Abort,
    /// Report once and go on without order.
    Free,
}

/// What to do when the schedule leads into a deadlock of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnDeadlock {
    /// Report and end by SIGABRT.
    Report,
    /// Report and hang, as the program would by itself.
    Hang,
}

/// Where the archive is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// Embedded in the program, or beside the executable.
    Default,
    /// At this path.
    Path(String),
    /// Nowhere: run without any order.
    None,
}

/// The options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) archive: Where,
    pub(crate) policy: Policy,
    pub(crate) deadlock: OnDeadlock,
    /// File to write a trace to.
    pub(crate) trace: Option<String>,
    /// Seed of random delays around nodes.
    pub(crate) jitter: Option<u64>,
    /// Print numbers at exit.
    pub(crate) stats: bool,
    /// File to write them to instead, all of them, for `heddle stats`.
    pub(crate) stats_file: Option<String>,
    /// Report who waits for whom after this many seconds without progress; 0: never.
    pub(crate) stall: u64,
    /// Say once when order keeps everybody waiting for a thread that is in a system call. Off when `stall` was given.
    pub(crate) notice: bool,
    /// Print the options and exit.
    pub(crate) help: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            archive: Where::Default,
            policy: Policy::Abort,
            deadlock: OnDeadlock::Report,
            trace: None,
            jitter: None,
            stats: false,
            stats_file: None,
            stall: 0,
            notice: true,
            help: false,
        }
    }
}

/// One option for people: key, values, meaning.
pub(crate) const HELP: &[(&str, &str)] = &[
    (
        "archive=PATH",
        "use this archive; `none`: run without any order",
    ),
    (
        "policy=abort|free",
        "after a divergence: end by SIGABRT (default), or go on without order",
    ),
    (
        "deadlock=report|hang",
        "in a deadlock of the program: end by SIGABRT (default), or hang as it would by itself",
    ),
    (
        "trace=FILE",
        "write every node to FILE for `heddle conform`",
    ),
    (
        "jitter=SEED",
        "random delays around every node, for testing",
    ),
    (
        "stats=1|FILE",
        "print nodes, waits and decisions at exit, or write them to FILE for `heddle stats`",
    ),
    (
        "stall=SECONDS",
        "report who waits for whom when nothing moves for so long; 0: not even when all wait for a system call",
    ),
    ("help", "print this and exit"),
];

/// Input: what is wrong with the options.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrong<'a> {
    UnknownKey(&'a str),
    BadValue { key: &'a str, value: &'a str },
    TooLong,
}

impl fmt::Display for Wrong<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::UnknownKey(key) => write!(
                f,
                "unknown key `{key:.60}`; `HEDDLE_OPTIONS=help` lists them"
            ),
            Wrong::BadValue { key, value } => {
                write!(f, "`{value:.60}` is not a value of `{key:.60}`")
            }
            Wrong::TooLong => write!(f, "longer than {MAX_LEN} bytes"),
        }
    }
}

const MAX_LEN: usize = 16 << 10;

/// Reads the options' text.
pub(crate) fn parse(text: &str) -> Result<Options, Wrong<'_>> {
    if text.len() > MAX_LEN {
        return Err(Wrong::TooLong);
    }
    let mut options = Options::default();
    for item in text.split(':').filter(|item| !item.is_empty()) {
        let (key, value) = item.split_once('=').unwrap_or((item, ""));
        set(&mut options, key, value)?;
    }
    Ok(options)
}

fn set<'a>(options: &mut Options, key: &'a str, value: &'a str) -> Result<(), Wrong<'a>> {
    let bad = Wrong::BadValue { key, value };
    match (key, value) {
        ("archive", "none") => options.archive = Where::None,
        ("archive" | "trace" | "stats", "") => return Err(bad),
        ("archive", path) => options.archive = Where::Path(path.to_owned()),
        ("policy", "abort") => options.policy = Policy::Abort,
        ("policy", "free") => options.policy = Policy::Free,
        ("deadlock", "report") => options.deadlock = OnDeadlock::Report,
        ("deadlock", "hang") => options.deadlock = OnDeadlock::Hang,
        ("trace", path) => options.trace = Some(path.to_owned()),
        ("jitter", seed) => options.jitter = Some(seed.parse().map_err(|_| bad)?),
        ("stats", "0") => options.stats = false,
        ("stats", "1") => options.stats = true,
        ("stats", path) => {
            options.stats = true;
            options.stats_file = Some(path.to_owned());
        }
        ("stall", seconds) => {
            options.stall = seconds.parse().map_err(|_| bad)?;
            options.notice = false;
        }
        ("help", "" | "1") => options.help = true,
        ("policy" | "deadlock" | "help", _) => return Err(bad),
        _ => return Err(Wrong::UnknownKey(key)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_is_read() {
        let options =
            parse("archive=/a/b.heddle:policy=free:deadlock=hang:trace=t:jitter=7:stats=1:stall=3")
                .unwrap();
        assert_eq!(
            options,
            Options {
                archive: Where::Path("/a/b.heddle".into()),
                policy: Policy::Free,
                deadlock: OnDeadlock::Hang,
                trace: Some("t".into()),
                jitter: Some(7),
                stats: true,
                stats_file: None,
                stall: 3,
                notice: false,
                help: false,
            }
        );
        let file = parse("stats=run.stats").unwrap();
        assert_eq!(
            (file.stats, file.stats_file.as_deref()),
            (true, Some("run.stats"))
        );
        assert_eq!(parse("archive=none").unwrap().archive, Where::None);
        assert_eq!(parse("").unwrap(), Options::default());
    }

    #[test]
    fn mistakes_are_named() {
        let bad = |key, value| Err(Wrong::BadValue { key, value });
        assert_eq!(parse("polcy=free"), Err(Wrong::UnknownKey("polcy")));
        assert_eq!(parse("policy=fre"), bad("policy", "fre"));
        assert_eq!(parse("jitter=x"), bad("jitter", "x"));
        assert_eq!(parse("archive="), bad("archive", ""));
        assert_eq!(parse("a=a=a="), Err(Wrong::UnknownKey("a")));
        assert_eq!(parse("stats=1:stall=-1"), bad("stall", "-1"));
        assert_eq!(parse(&"x".repeat(MAX_LEN + 1)), Err(Wrong::TooLong));
    }
}
