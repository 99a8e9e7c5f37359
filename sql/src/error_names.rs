//! The numbers of MySQL 9.7's errors, with their names and SQLSTATEs.
//!
//! What is told of errors is looked up here: the state that a client sees, and the names in
//! performance_schema. The facts are those of MySQL's `events_errors_summary_global_by_error`.

use std::sync::LazyLock;

/// A line for each error, by number: the number, the name, and the state if it is not the general one.
const LINES: &str = include_str!("error_names.txt");

/// What MySQL's errors have that have no state of their own.
const GENERAL_STATE: &str = "HY000";

/// An error that MySQL knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownError {
    /// Its number.
    pub code: u16,
    /// ER_…
    pub name: &'static str,
    /// The five characters of SQLSTATE.
    pub state: &'static str,
}

static KNOWN: LazyLock<Vec<KnownError>> =
    LazyLock::new(|| LINES.lines().filter_map(read).collect());

fn read(line: &'static str) -> Option<KnownError> {
    let mut words = line.split(' ');
    Some(KnownError {
        code: words.next()?.parse().ok()?,
        name: words.next()?,
        state: words.next().unwrap_or(GENERAL_STATE),
    })
}

/// All of them, by number.
#[must_use]
pub fn known() -> &'static [KnownError] {
    &KNOWN
}

/// The error of a number.
#[must_use]
pub fn find(code: u16) -> Option<&'static KnownError> {
    let place = KNOWN.binary_search_by_key(&code, |error| error.code).ok()?;
    KNOWN.get(place)
}

/// The SQLSTATE of an error.
#[must_use]
pub fn state(code: u16) -> [u8; 5] {
    let state = find(code).map_or(GENERAL_STATE, |error| error.state);
    // They all have five characters.
    state.as_bytes().try_into().unwrap_or(*b"HY000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_an_error() {
        assert_eq!(known().len(), LINES.lines().count());
        assert!(known().is_sorted_by(|a, b| a.code < b.code));
        assert!(known().iter().all(|error| error.state.len() == 5));
    }

    #[test]
    fn states_are_found() {
        assert_eq!(find(1146).map(|error| error.name), Some("ER_NO_SUCH_TABLE"));
        assert_eq!(state(1146), *b"42S02");
        assert_eq!(state(1105), *b"HY000");
        assert_eq!(state(1), *b"HY000");
    }
}
