//! What the server's log says of clients that were not let in: as MySQL says it, a note for each if
//! log_error_verbosity is 3, and why.
//!
//! What clients call themselves is theirs to choose: no line of it can pass for two, or for somebody
//! else's. Nor can they fill the disk: of a minute so many lines are written, and then how many were
//! left out.

use cohort_process::{Notice, notice};
use cohort_sql::error_log;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
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

/// See the module. Each kind of line has its own spans: a flood of one hides no other.
#[derive(Default)]
pub struct Refusals(Mutex<FxHashMap<Notice, Span>>);

impl Refusals {
    /// Writes a line, unless the log is not to have such lines, or has had enough of them.
    pub fn say(&self, notice: Notice, text: &str) {
        if !error_log::wants(notice) {
            return;
        }
        let now = Instant::now();
        self.end_spans(now);
        if self.count(notice, now) {
            notice!(notice, "{}", shortened(text));
        }
    }

    /// Called now and then: says what was left out of spans that are over.
    pub fn look(&self) {
        self.end_spans(Instant::now());
    }

    /// The server ends: no span will be over.
    pub fn finish(&self) {
        self.end_spans(Instant::now() + SPAN);
    }

    fn end_spans(&self, now: Instant) {
        for (notice, count) in self.take_ended(now) {
            notice!(
                Notice::LinesLeftOut,
                "{count} more lines ({notice}) about clients that were not let in were left out"
            );
        }
    }

    /// Forgets the spans that are over, and tells how many lines of which kind they left out.
    fn take_ended(&self, now: Instant) -> Vec<(Notice, u64)> {
        let mut spans = self.0.lock();
        let is_over =
            |_: &Notice, span: &mut Span| now.saturating_duration_since(span.begun) >= SPAN;
        let ended = spans.extract_if(is_over);
        let left_out = ended.map(|(notice, span)| (notice, span.left_out));
        left_out.filter(|(_, count)| *count > 0).collect()
    }

    /// Counts a line: whether it may be written.
    fn count(&self, notice: Notice, now: Instant) -> bool {
        let mut spans = self.0.lock();
        let span = spans.entry(notice).or_insert(Span {
            begun: now,
            written: 0,
            left_out: 0,
        });
        let may = span.written < LINES_MAX;
        match may {
            true => span.written += 1,
            false => span.left_out += 1,
        }
        may
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
        let (many, other) = (Notice::LoginRefused, Notice::FirstStatementFailed);
        let written = (0..1000).filter(|_| refusals.count(many, now)).count();
        assert_eq!(written, LINES_MAX as usize);
        assert!(refusals.count(other, now));
        assert_eq!(refusals.take_ended(now + SPAN), [(many, 900)]);
        assert_eq!(refusals.take_ended(now + SPAN), []);
        assert!(refusals.count(many, now + SPAN));
    }
}
