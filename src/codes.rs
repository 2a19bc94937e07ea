//! The codes that messages carry: `HD0011` and so on, and which error has which.
//!
//! **Guarantees.** A code never changes its meaning and is never used again. Each has a section in `docs/codes.md`, which
//! `heddle explain CODE`, the man page and SARIF show; a test compares the two.
//!
//! 1 to 99 are errors of commands, 101 to 199 findings, 201 to 299 warnings, 301 to 399 what an archive does not cover, 401 to
//! 499 what a program says that follows its archive (`rt/src/codes.rs`).

use std::fmt;

/// Returns an error with its code from the function around it.
macro_rules! fail {
    ($code:ident, $($text:tt)*) => {
        return Err($crate::codes::Coded::new($crate::codes::Code::$code, format!($($text)*)).into())
    };
}

macro_rules! codes {
    ($($name:ident $number:literal $kind:literal)*) => {
        /// What a message is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Code {
            $($name),*
        }

        impl Code {
            /// All of them, ascending.
            pub(crate) const ALL: &[Code] = &[$(Code::$name),*];

            /// The number behind `HD`.
            pub(crate) fn number(self) -> u16 {
                match self {
                    $(Code::$name => $number),*
                }
            }

            /// The short name that JSON output and suppressions use.
            pub(crate) fn kind(self) -> &'static str {
                match self {
                    $(Code::$name => $kind),*
                }
            }
        }
    };
}

codes! {
    WrongUse            1   "wrong-use"
    File                2   "file"
    NotAProgram         3   "not-a-program"
    Overwritten         4   "overwritten"
    Compile             5   "compile"
    Link                6   "link"
    NotBitcode          7   "not-bitcode"
    Join                8   "join"
    NoMain              9   "no-main"
    NotPrepared         10  "not-prepared"
    NotAnArchive        11  "not-an-archive"
    OtherProgram        12  "other-program"
    NotATrace           13  "not-a-trace"
    NoBitcode           14  "no-bitcode"
    NoSuchSchedule      15  "no-such-schedule"
    Assumption          16  "assumption"
    MissingRuntime      17  "missing-runtime"
    MissingTool         18  "missing-tool"
    Refused             19  "refused-function"
    Unsupported         20  "unsupported"
    OurFault            21  "fault-in-heddle"
    NoSuchProgram       22  "no-such-program"
    System              23  "system"
    NotExplained          24  "no-such-code"
    NotStats            25  "not-stats"
    Config              26  "config"
    Other               99  "other"

    LockCycle           101 "lock-cycle"
    Relock              102 "relock"
    JoinCycle           103 "join-cycle"
    LostWakeUp          104 "lost-wake-up"
    NobodySignals       105 "nobody-signals"
    BarrierNeverFull    106 "barrier-never-full"
    SemaphoreStarved    107 "semaphore-starved"
    OwnerEnded          108 "owner-ended"
    OnceCycle           109 "once-cycle"
    NeverEnds           110 "never-ends"
    MixedCycle          111 "mixed-cycle"

    LockOrder           201 "lock-order"
    HeldAtEnd           202 "held-at-end"
    NeverJoined         203 "never-joined"
    NullAccess          204 "null-access"
    OutOfBounds         205 "out-of-bounds"
    UseAfterEnd         206 "use-after-end"
    BadFree             207 "bad-free"
    Uninitialized       208 "uninitialized"

    Incomplete          301 "incomplete"

    LeftSchedule        401 "left-schedule"
    UnknownThread       402 "unknown-thread"
    AfterItsEnd         403 "after-its-end"
    AssumptionBroken    404 "assumption-broken"
    DeadlockReached     405 "deadlock-reached"
    Unexplored          406 "unexplored"
    Stalled             407 "stalled"
    OrderGivenUp        408 "order-given-up"
    NoArchive           409 "no-archive"
    WrongOptions        410 "wrong-options"
    NoOutput            411 "no-output"
    NoHelp              412 "no-help"
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HD{:04}", self.number())
    }
}

impl Code {
    /// By `HD0101`, `hd101`, `101` or the short name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        let digits = name.trim_start_matches(['H', 'h', 'D', 'd']);
        let number = digits.parse().ok();
        let fits = |code: &&Code| Some(code.number()) == number || code.kind() == name;
        Self::ALL.iter().find(fits).copied()
    }

    /// The code of a finding or warning by its short name.
    pub(crate) fn of_kind(kind: &str) -> Self {
        let mut all = Self::ALL.iter().copied();
        all.find(|code| code.kind() == kind).unwrap_or(Code::Other)
    }
}

/// An error of the command itself, with its code.
#[derive(Debug)]
pub(crate) struct Coded {
    code: Code,
    message: String,
}

impl Coded {
    pub(crate) fn new(code: Code, message: String) -> Self {
        Self { code, message }
    }
}

impl fmt::Display for Coded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Coded {}

/// The code of an error: what the first of its causes that has one says.
pub(crate) fn of(error: &anyhow::Error) -> Code {
    error.chain().find_map(of_cause).unwrap_or(Code::Other)
}

fn of_cause(cause: &(dyn std::error::Error + 'static)) -> Option<Code> {
    if let Some(coded) = cause.downcast_ref::<Coded>() {
        return Some(coded.code);
    }
    if let Some(error) = cause.downcast_ref::<instrument_pass::Error>() {
        return Some(of_pass(error));
    }
    if let Some(error) = cause.downcast_ref::<enumerator::Error>() {
        return Some(match error {
            enumerator::Error::Load(_) => Code::Unsupported,
            enumerator::Error::NoMain => Code::NoMain,
            enumerator::Error::Assumption { .. } | enumerator::Error::Input { .. } => {
                Code::Assumption
            }
            enumerator::Error::NoThread { .. } => Code::System,
        });
    }
    let is_use = cause.is::<std::num::ParseIntError>();
    let is_archive = cause.is::<schedules::OpenError>() || cause.is::<schedules::read::Refusal>();
    let is_trace =
        cause.is::<schedules::trace::TraceError>() || cause.is::<schedules::conform::NotAllowed>();
    let is_file = cause.is::<std::io::Error>() || cause.is::<schedules::write::WriteError>();
    [
        (is_use, Code::WrongUse),
        (is_archive, Code::NotAnArchive),
        (is_trace, Code::NotATrace),
        (
            cause.is::<schedules::draw::NoPicture>(),
            Code::NoSuchSchedule,
        ),
        (is_file, Code::File),
    ]
    .into_iter()
    .find_map(|(is, code)| is.then_some(code))
}

fn of_pass(error: &instrument_pass::Error) -> Code {
    use instrument_pass::Error;
    match error {
        Error::File { .. } | Error::NotAFile { .. } => Code::File,
        Error::Compile { .. } => Code::Compile,
        Error::NotBitcode { .. } => Code::NotBitcode,
        Error::Join { .. } => Code::Join,
        Error::Link { .. } => Code::Link,
        Error::NotPrepared { .. } => Code::NotPrepared,
        Error::OtherProgram { .. } => Code::OtherProgram,
        Error::NoMain => Code::NoMain,
        Error::RefusedFunction { .. } => Code::Refused,
        Error::Unsupported { .. } => Code::Unsupported,
        Error::MissingTool { .. } => Code::MissingTool,
        Error::MissingRuntime => Code::MissingRuntime,
        Error::Spawn { .. } => Code::System,
    }
}

/// An error as it is printed: `heddle: error: message [CODE]`, or `file:line:column: error: message [CODE]` where the message
/// begins with a place in the user's sources, so that editors find it.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let code = of(error);
    let text = format!("{error:#}");
    let lines = text.lines().enumerate();
    let lines: Vec<String> = lines
        .map(|(index, line)| match (place_in_front(line), index) {
            (Some((place, rest)), _) => format!("{place}: error: {rest} [{code}]"),
            (None, 0) => format!("heddle: error: {line} [{code}]"),
            (None, _) => line.to_owned(),
        })
        .collect();
    lines.join("\n")
}

/// Splits `file:line:column: rest`.
fn place_in_front(line: &str) -> Option<(&str, &str)> {
    let (place, rest) = line.split_once(": ")?;
    let mut parts = place.rsplitn(3, ':');
    let is_number = |part: Option<&str>| part.is_some_and(|part| part.parse::<u32>().is_ok());
    let is_place = is_number(parts.next()) && is_number(parts.next()) && parts.next().is_some();
    is_place.then_some((place, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_and_are_found() {
        assert!(
            Code::ALL
                .windows(2)
                .all(|pair| pair[0].number() < pair[1].number())
        );
        for code in Code::ALL {
            assert_eq!(Code::find(&code.to_string()), Some(*code));
            assert_eq!(Code::find(code.kind()), Some(*code));
            assert_eq!(Code::of_kind(code.kind()), *code);
        }
        assert_eq!(Code::find("101"), Some(Code::LockCycle));
        assert_eq!(Code::find("HD9999"), None);
    }

    #[test]
    fn places_come_first() {
        let error = anyhow::Error::new(Coded::new(Code::Refused, "a.c:3:5: `f` is not".into()));
        assert_eq!(message(&error), "a.c:3:5: error: `f` is not [HD0019]");
        let error = anyhow::anyhow!("nothing special");
        assert_eq!(message(&error), "heddle: error: nothing special [HD0099]");
    }

    #[test]
    fn causes_have_codes() {
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        let error = anyhow::Error::new(missing).context("prog.c");
        assert_eq!(of(&error), Code::File);
        let error = anyhow::Error::new(instrument_pass::Error::NoMain);
        assert_eq!(of(&error), Code::NoMain);
    }
}
