//! What the server's log says of clients that were not let in: as MySQL says it, a note for each if
//! log_error_verbosity is 3, and why.
//!
//! What clients call themselves is theirs to choose: no line of it can pass for two, or for somebody
//! else's. Nor can they fill the disk: of a minute so many lines are written, and then how many were
//! left out.

use cohort_process::{Notice, notice};
use cohort_sql::error_log;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// For so long lines are counted.
const SPAN: Duration = Duration::from_secs(60);
/// So many are written in it.
const LINES_MAX: u32 = 100;

/// Lines of the span that has begun at a moment.
struct Span {
    begun: Instant,
    written: u32,
    left_out: u64,
}

/// See the module.
#[derive(Default)]
pub struct Refusals(Mutex<Option<Span>>);

impl Refusals {
    /// Writes a line, unless the log is not to have such lines, or has had enough of them.
    pub fn say(&self, notice: Notice, text: &str) {
        if !error_log::wants(notice) {
            return;
        }
        let (may, left_out) = self.count(Instant::now());
        tell_left_out(left_out);
        if may {
            notice!(notice, "{}", shortened(text));
        }
    }

    /// Called now and then: says what was left out of a span that is over.
    pub fn look(&self) {
        let over = {
            let mut span = self.0.lock();
            let is_over = |span: &Span| span.begun.elapsed() >= SPAN;
            match span.as_ref().is_some_and(is_over) {
                true => span.take(),
                false => None,
            }
        };
        tell_left_out(over.map_or(0, |span| span.left_out));
    }

    /// Counts a line: whether it may be written, and how many were left out of a span before.
    fn count(&self, now: Instant) -> (bool, u64) {
        let mut span = self.0.lock();
        let is_over = |span: &Span| now.saturating_duration_since(span.begun) >= SPAN;
        let left_out = match span.as_ref().is_some_and(is_over) {
            true => span.take().map_or(0, |span| span.left_out),
            false => 0,
        };
        let span = span.get_or_insert(Span {
            begun: now,
            written: 0,
            left_out: 0,
        });
        let may = span.written < LINES_MAX;
        match may {
            true => span.written += 1,
            false => span.left_out += 1,
        }
        (may, left_out)
    }
}

fn tell_left_out(count: u64) {
    if count > 0 {
        notice!(
            Notice::LinesLeftOut,
            "{count} more lines about clients that were not let in were left out"
        );
    }
}

/// A message with a user's name in it, in which the name cannot end before its quote does.
pub fn with_name_quoted(message: &str, user: &str) -> String {
    let quoted = user.replace('\\', "\\\\").replace('\'', "\\'");
    message.replacen(&format!("'{user}'"), &format!("'{quoted}'"), 1)
}

/// What is long is the client's doing.
fn shortened(text: &str) -> &str {
    const BYTES_MAX: usize = 1024;
    text.get(..text.floor_char_boundary(BYTES_MAX))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_quotes_and_in_its_line() {
        let user = "x'@'10.0.0.1'\n2026-01-01T00:00:00Z cohort: all is well\\";
        let message = format!("Access denied for user '{user}'@'10.9.9.9'");
        let line = with_name_quoted(&message, user);
        assert_eq!(
            line,
            "Access denied for user 'x\\'@\\'10.0.0.1\\'\n2026-01-01T00:00:00Z cohort: all is \
             well\\\\'@'10.9.9.9'"
        );
        assert_eq!(shortened(&"ü".repeat(100_000)).len(), 1024);
    }

    #[test]
    fn a_flood_writes_so_many_lines_and_how_many_are_missing() {
        let refusals = Refusals::default();
        let now = Instant::now();
        let written = (0..1000).filter(|_| refusals.count(now).0).count();
        assert_eq!(written, LINES_MAX as usize);
        assert_eq!(refusals.count(now + SPAN), (true, 900));
        assert_eq!(refusals.count(now + SPAN), (true, 0));
    }
}
