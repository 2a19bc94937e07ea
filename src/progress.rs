//! Says how far a long enumeration is, on standard error, and notices when somebody wants it to end.
//!
//! Silent for the first two seconds. On a terminal one line that is redrawn; elsewhere a plain line now and then, so that a log
//! stays readable; with `--log-json` one JSON object a line.
//!
//! The first Ctrl-C (or SIGTERM) lets the enumeration end in a valid archive; a second one ends the process at once, and nothing that
//! was kept is lost.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use enumerator::Progress;
use schedules::json::Json;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::output::width;

/// Nobody wants to read about work that is done before it is read.
const SILENT: Duration = Duration::from_secs(2);
const BETWEEN_REDRAWS: Duration = Duration::from_millis(200);
const BETWEEN_LINES: Duration = Duration::from_secs(10);
const BETWEEN_VERBOSE_LINES: Duration = Duration::from_secs(1);

/// How much is said about the work itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Voice {
    /// Errors and warnings only.
    Quiet,
    #[default]
    Normal,
    /// From the beginning, and often.
    Verbose,
    /// For programs: one JSON object a line.
    Json,
}

/// Set once somebody wants the work to end.
#[derive(Clone)]
struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    fn new() -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag unset and sets it, the second finds it set and ends the process.
            // A system that refuses leaves the signal as it was: it ends the process, too.
            let _ = signal_hook::flag::register_conditional_shutdown(
                signal,
                128 + signal,
                Arc::clone(&flag),
            );
            let _ = signal_hook::flag::register(signal, Arc::clone(&flag));
        }
        Self(flag)
    }

    fn is_set(&self) -> bool {
        // Relaxed: nothing else is handed over with it.
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) struct Reporter {
    began: Instant,
    next: Instant,
    voice: Voice,
    is_terminal: bool,
    has_drawn: bool,
    interrupt: Interrupt,
    has_acknowledged: bool,
}

impl Reporter {
    pub(crate) fn new(voice: Voice) -> Self {
        let began = Instant::now();
        let patience = match voice {
            Voice::Quiet | Voice::Normal => SILENT,
            Voice::Verbose | Voice::Json => Duration::ZERO,
        };
        Self {
            began,
            next: began + patience,
            voice,
            is_terminal: std::io::stderr().is_terminal() && voice != Voice::Json,
            has_drawn: false,
            interrupt: Interrupt::new(),
            has_acknowledged: false,
        }
    }

    /// Called as often as the enumerator likes; true if it should end.
    pub(crate) fn report(&mut self, progress: &Progress) -> bool {
        if self.interrupt.is_set() && !self.has_acknowledged {
            self.has_acknowledged = true;
            self.wipe();
            if self.voice != Voice::Json {
                eprintln!("heddle: ending; once more to end at once");
            }
        }
        let now = Instant::now();
        if now >= self.next && self.voice != Voice::Quiet {
            self.tell(progress, now);
        }
        self.has_acknowledged
    }

    fn tell(&mut self, progress: &Progress, now: Instant) {
        let elapsed = now - self.began;
        let mut out = std::io::stderr().lock();
        // A closed standard error is no reason to stop.
        let _ = match (self.voice, self.is_terminal) {
            (Voice::Json, _) => {
                self.next = now + BETWEEN_VERBOSE_LINES;
                writeln!(out, "{}", json("progress", progress, elapsed).line())
            }
            (_, true) => {
                self.next = now + BETWEEN_REDRAWS;
                self.has_drawn = true;
                let text = bar(progress, elapsed, width());
                write!(out, "\r\x1b[2K{text}").and_then(|()| out.flush())
            }
            (Voice::Verbose, false) => {
                self.next = now + BETWEEN_VERBOSE_LINES;
                writeln!(out, "heddle: {}", line(progress, elapsed))
            }
            _ => {
                self.next = now + BETWEEN_LINES;
                writeln!(out, "heddle: {}", line(progress, elapsed))
            }
        };
    }

    /// The enumeration is over. Says how it went if it took long enough for anybody to have wondered.
    pub(crate) fn conclude(mut self, progress: &Progress) {
        let elapsed = self.began.elapsed();
        self.wipe();
        let last = Progress {
            at: String::new(),
            ..progress.clone()
        };
        match self.voice {
            Voice::Quiet => {}
            Voice::Json => eprintln!("{}", json("end", &last, elapsed).line()),
            Voice::Normal if elapsed < SILENT => {}
            Voice::Normal | Voice::Verbose => eprintln!("heddle: {}", line(&last, elapsed)),
        }
    }

    fn wipe(&mut self) {
        if std::mem::take(&mut self.has_drawn) {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// Everything in words.
fn line(progress: &Progress, elapsed: Duration) -> String {
    if progress.situations > 0 {
        return situations(progress, elapsed);
    }
    let mut text = format!(
        "{}s: {} explorations of {} known epochs, {} schedules, {} decisions, {} queries, {} steps/s, {} MB",
        elapsed.as_secs(),
        progress.epochs_done,
        progress.epochs_known,
        progress.schedules,
        progress.decisions,
        progress.queries,
        rate(progress.steps, elapsed),
        progress.peak_memory >> 20
    );
    if progress.epochs_reused > 0 {
        text.push_str(&format!(", {} results reused", progress.epochs_reused));
    }
    if !progress.at.is_empty() {
        text.push_str(", at ");
        text.push_str(&progress.at);
    }
    text
}

/// The same where the orders of a program without Heddle are followed.
fn situations(progress: &Progress, elapsed: Duration) -> String {
    let at = match progress.at.as_str() {
        "" => String::new(),
        at => format!(", at {at}"),
    };
    format!(
        "{}s: {} situations, {} queries, {} steps/s, {} MB{at}",
        elapsed.as_secs(),
        progress.situations,
        progress.queries,
        rate(progress.steps, elapsed),
        progress.peak_memory >> 20,
    )
}

/// Letters of the bar itself.
const BAR: usize = 16;

/// The same for a terminal, never longer than a line: what wraps cannot be redrawn.
fn bar(progress: &Progress, elapsed: Duration, width: usize) -> String {
    let fits = |text: &str| -> String {
        let letters = text.trim_end().chars();
        letters.take(width.saturating_sub(1)).collect()
    };
    if progress.situations > 0 {
        return fits(&situations(progress, elapsed));
    }
    // Epochs are explored again when more ways lead to them.
    let known = progress.epochs_known.max(1);
    let done = progress.epochs_done.min(known);
    let full = (done * BAR / known).min(BAR);
    let text = format!(
        "{}{} {done}/{known} known epochs  {} schedules  {} steps/s  {} MB  {}s  {}",
        "█".repeat(full),
        "░".repeat(BAR - full),
        progress.schedules,
        rate(progress.steps, elapsed),
        progress.peak_memory >> 20,
        elapsed.as_secs(),
        progress.at
    );
    fits(&text)
}

fn json(event: &'static str, progress: &Progress, elapsed: Duration) -> Json {
    Json::Object(vec![
        ("event", event.into()),
        ("milliseconds", (elapsed.as_millis() as u64).into()),
        ("epochs_done", progress.epochs_done.into()),
        ("epochs_known", progress.epochs_known.into()),
        ("epochs_reused", progress.epochs_reused.into()),
        ("situations", progress.situations.into()),
        ("schedules", progress.schedules.into()),
        ("decisions", progress.decisions.into()),
        ("queries", progress.queries.into()),
        ("steps", progress.steps.into()),
        ("peak_memory", progress.peak_memory.into()),
        ("at", progress.at.as_str().into()),
    ])
}

fn rate(steps: u64, elapsed: Duration) -> u64 {
    (steps as f64 / elapsed.as_secs_f64().max(0.001)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Progress {
        Progress {
            epochs_done: 3,
            epochs_known: 5,
            schedules: 12,
            decisions: 4,
            steps: 1000,
            queries: 7,
            epochs_reused: 2,
            peak_memory: 30 << 20,
            at: "pool.c:88".into(),
            ended: None,
            situations: 0,
        }
    }

    #[test]
    fn one_line_says_it_all() {
        let text = line(&example(), Duration::from_millis(2500));
        assert_eq!(
            text,
            "2s: 3 explorations of 5 known epochs, 12 schedules, 4 decisions, 7 queries, 400 steps/s, 30 MB, \
             2 results reused, at pool.c:88"
        );
    }

    #[test]
    fn a_bar_fits_into_its_line() {
        let text = bar(&example(), Duration::from_millis(2500), 100);
        assert_eq!(
            text,
            "█████████░░░░░░░ 3/5 known epochs  12 schedules  400 steps/s  30 MB  2s  pool.c:88"
        );
        assert_eq!(bar(&example(), Duration::ZERO, 30).chars().count(), 29);
    }

    #[test]
    fn orders_are_counted_by_situations() {
        let progress = Progress {
            situations: 400,
            ..example()
        };
        assert_eq!(
            line(&progress, Duration::from_secs(2)),
            "2s: 400 situations, 7 queries, 500 steps/s, 30 MB, at pool.c:88"
        );
        assert!(bar(&progress, Duration::from_secs(2), 30).starts_with("2s: 400 situations"));
    }

    #[test]
    fn json_stays_on_one_line() {
        let text = json("progress", &example(), Duration::from_secs(1)).line();
        assert!(text.starts_with("{\"event\": \"progress\", \"milliseconds\": 1000, "));
        assert!(!text.contains('\n'));
    }
}
