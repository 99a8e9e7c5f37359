//! What the user sees meanwhile: a bar on a terminal, a line now and then elsewhere.

use std::{
    io::{IsTerminal, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

const BAR: usize = 30;
/// How often the bar is drawn, and how often a line is printed where there is no terminal.
const TICK: Duration = Duration::from_millis(200);
const LINE: Duration = Duration::from_secs(10);

/// A task of known size; its bar goes when this is dropped.
pub struct Progress {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

struct State {
    label: String,
    /// Pieces, or milliseconds.
    total: u64,
    /// Of pieces; time passes by itself.
    done: AtomicU64,
    timed: bool,
    ended: AtomicBool,
    /// What the pieces hold, if that is counted.
    rows: AtomicU64,
    bytes: AtomicU64,
}

impl Progress {
    /// Begins to show a task of `total` pieces.
    #[must_use]
    pub fn new(label: String, total: u64) -> Progress {
        Progress::show(label, total, false)
    }

    /// Begins to show a task that takes so long.
    #[must_use]
    pub fn timed(label: String, time: Duration) -> Progress {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Progress::show(label, ms, true)
    }

    fn show(label: String, total: u64, timed: bool) -> Progress {
        let state = Arc::new(State {
            label,
            total,
            done: AtomicU64::new(0),
            timed,
            ended: AtomicBool::new(false),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        });
        let drawn = Arc::clone(&state);
        let thread = thread::Builder::new()
            .name("progress".into())
            .spawn(move || drawn.show())
            .ok();
        Progress { state, thread }
    }

    /// How many pieces are done.
    #[must_use]
    pub fn done(&self) -> &AtomicU64 {
        &self.state.done
    }

    /// How many rows and bytes are done so far.
    pub fn count(&self, rows: u64, bytes: u64) {
        self.state.rows.fetch_max(rows, Ordering::Relaxed);
        self.state.bytes.fetch_max(bytes, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It only draws: that it panicked is no reason to.
            let _ = thread.join();
        }
    }
}

impl State {
    /// The label, with what was counted.
    fn shown(&self, elapsed: Duration) -> String {
        let bytes = self.bytes.load(Ordering::Relaxed);
        if bytes == 0 {
            return self.label.clone();
        }
        let rows = self.rows.load(Ordering::Relaxed);
        let rate = bytes as f64 / elapsed.as_secs_f64().max(0.001);
        format!(
            "{rows} {}, {}, {}/s",
            self.label,
            size(bytes),
            size(rate as u64)
        )
    }

    fn show(&self) {
        let terminal = std::io::stderr().is_terminal();
        let every = if terminal { TICK } else { LINE };
        let begun = Instant::now();
        let mut next = begun + every;
        loop {
            thread::park_timeout(next.saturating_duration_since(Instant::now()));
            if self.ended.load(Ordering::Relaxed) {
                break;
            }
            if Instant::now() < next {
                continue;
            }
            next += every;
            let elapsed = begun.elapsed();
            let done = if self.timed {
                u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
            } else {
                self.done.load(Ordering::Relaxed)
            };
            say(
                &line(&self.shown(elapsed), done, self.total, elapsed),
                terminal,
            );
        }
        if terminal {
            say("", terminal);
        }
    }
}

/// Draws over the last line of a terminal, or prints one more line.
fn say(line: &str, terminal: bool) {
    let mut stderr = std::io::stderr().lock();
    // Nobody is left to tell if it cannot be written.
    let _ = if terminal {
        write!(stderr, "\r\x1b[K{line}").and_then(|()| stderr.flush())
    } else {
        writeln!(stderr, "{line}")
    };
}

/// So many bytes, for people.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

fn line(label: &str, done: u64, total: u64, elapsed: Duration) -> String {
    let share = (done as f64 / total.max(1) as f64).min(1.0);
    let full = (share * BAR as f64) as usize;
    let left = if share > 0.01 {
        let seconds = elapsed.as_secs_f64() * (1.0 - share) / share;
        format!(", {seconds:.0} s left")
    } else {
        String::new()
    };
    format!(
        "[{}{}] {:3.0}%{left}  {label}",
        "#".repeat(full),
        ".".repeat(BAR - full),
        share * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars() {
        let ten = Duration::from_secs(10);
        let begin = line("loading", 0, 50, ten);
        assert_eq!(begin, format!("[{}]   0%  loading", ".".repeat(30)));
        let half = line("loading", 25, 50, ten);
        assert!(half.ends_with("]  50%, 10 s left  loading"), "{half}");
        assert!(line("x", 9, 0, ten).starts_with(&format!("[{}] 100%", "#".repeat(30))));
    }
}
