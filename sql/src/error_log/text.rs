//! The lines as they are written: MySQL's text and MySQL's JSON.

use super::{Level, Line};
use crate::text::{log_time, put_log_time};
use serde_json::json;
use std::fmt::Write;

/// A line is no longer than this, in characters.
const CHARS_MAX: usize = 8192;

/// A text of one line, with no control characters and none that turns the direction of others:
/// what clients call themselves cannot pass for a line of the log.
pub(super) fn escaped(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars().take(CHARS_MAX) {
        let turns = ('\u{2028}'..='\u{202e}').contains(&character)
            || ('\u{2066}'..='\u{2069}').contains(&character);
        match character.is_control() || turns {
            // Writing to a string cannot fail.
            true => drop(write!(line, "{}", character.escape_default())),
            false => line.push(character),
        }
    }
    line
}

/// How lines of text name a level.
fn label(level: Level) -> &'static str {
    match level {
        Level::Error => "ERROR",
        other => other.name(),
    }
}

/// `2026-01-31T12:00:00.000000Z 0 [System] [MY-010931] [Server] ready`
pub(super) fn line(line: &Line) -> String {
    let mut out = String::with_capacity(line.text.len() + 80);
    put_log_time(line.micros, 6, &mut out);
    let (thread, label) = (line.thread, label(line.level));
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        " {thread} [{label}] [{}] [{}] {}",
        line.code, line.subsystem, line.text
    );
    out
}

/// The line that [`line`] has made.
pub(super) fn parsed(text: &str) -> Option<Line> {
    let (time, rest) = text.split_once(' ')?;
    let (thread, rest) = rest.split_once(" [")?;
    let (name, rest) = rest.split_once("] [")?;
    let (code, rest) = rest.split_once("] [")?;
    let (subsystem, text) = rest.split_once("] ")?;
    let levels = [Level::System, Level::Error, Level::Warning, Level::Note];
    Some(Line {
        micros: log_time(time)?,
        thread: thread.parse().ok()?,
        level: levels.into_iter().find(|level| label(*level) == name)?,
        code: code.to_owned(),
        subsystem: subsystem.to_owned(),
        text: text.to_owned(),
    })
}

/// A JSON object, with MySQL's keys.
pub(super) fn json(line: &Line, symbol: &str) -> String {
    let mut time = String::new();
    put_log_time(line.micros, 6, &mut time);
    let code = line
        .code
        .strip_prefix("MY-")
        .and_then(|digits| digits.parse::<u32>().ok());
    let object = json!({
        "prio": line.level as u8,
        "err_code": code,
        "subsystem": line.subsystem,
        "msg": line.text,
        "time": time,
        "ts": line.micros / 1000,
        "thread": line.thread,
        "err_symbol": symbol,
        "SQL_state": "HY000",
        "label": line.level.name(),
    });
    format!("{object}\n")
}
