//! Says how far a long enumeration is, on standard error.
//!
//! Silent for the first two seconds. On a terminal one line that is redrawn; elsewhere a plain line now and then, so that a log
//! stays readable.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use enumerator::Progress;

/// Nobody wants to read about work that is done before it is read.
const SILENT: Duration = Duration::from_secs(2);
const BETWEEN_REDRAWS: Duration = Duration::from_millis(200);
const BETWEEN_LINES: Duration = Duration::from_secs(10);

pub(crate) struct Reporter {
    began: Instant,
    next: Instant,
    is_terminal: bool,
    has_drawn: bool,
}

impl Reporter {
    pub(crate) fn new() -> Self {
        let began = Instant::now();
        Self {
            began,
            next: began + SILENT,
            is_terminal: std::io::stderr().is_terminal(),
            has_drawn: false,
        }
    }

    /// The enumeration is over. Says how it went if it took long enough for anybody to have wondered.
    pub(crate) fn conclude(self, progress: &Progress) {
        let elapsed = self.began.elapsed();
        drop(self);
        if elapsed >= SILENT {
            let last = Progress {
                at: String::new(),
                ..progress.clone()
            };
            eprintln!("heddle: {}", line(&last, elapsed));
        }
    }

    /// Called as often as the enumerator likes.
    pub(crate) fn report(&mut self, progress: &Progress) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        let text = line(progress, now - self.began);
        let mut out = std::io::stderr().lock();
        // A closed standard error is no reason to stop.
        let _ = if self.is_terminal {
            self.next = now + BETWEEN_REDRAWS;
            self.has_drawn = true;
            write!(out, "\r\x1b[2K{}", clip(&text, width())).and_then(|()| out.flush())
        } else {
            self.next = now + BETWEEN_LINES;
            writeln!(out, "heddle: {text}")
        };
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        if self.has_drawn {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

fn line(progress: &Progress, elapsed: Duration) -> String {
    let mut text = format!(
        "{}s: {} of {} known epochs, {} schedules, {} decisions, {} queries, {} steps/s, {} MB",
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

fn rate(steps: u64, elapsed: Duration) -> u64 {
    (steps as f64 / elapsed.as_secs_f64().max(0.001)) as u64
}

/// A line that wraps cannot be redrawn.
fn clip(text: &str, width: usize) -> String {
    text.chars().take(width.saturating_sub(1)).collect()
}

fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok();
    columns.and_then(|text| text.parse().ok()).unwrap_or(80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_says_it_all() {
        let progress = Progress {
            epochs_done: 3,
            epochs_known: 5,
            schedules: 12,
            decisions: 4,
            steps: 1000,
            queries: 7,
            epochs_reused: 2,
            peak_memory: 30 << 20,
            at: "pool.c:88".into(),
        };
        let text = line(&progress, Duration::from_millis(2500));
        assert_eq!(
            text,
            "2s: 3 of 5 known epochs, 12 schedules, 4 decisions, 7 queries, 400 steps/s, 30 MB, \
             2 results reused, at pool.c:88"
        );
        assert_eq!(clip(&text, 5), "2s: ");
    }
}
