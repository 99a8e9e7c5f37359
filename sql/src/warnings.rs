//! The diagnostics area: what SHOW WARNINGS shows after a statement.

use crate::error::SqlError;

/// How serious a condition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something to know.
    Note,
    /// Something was changed or ignored.
    Warning,
    /// The statement failed.
    Error,
}

impl Level {
    /// The word in SHOW WARNINGS.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Level::Note => "Note",
            Level::Warning => "Warning",
            Level::Error => "Error",
        }
    }
}

/// What strict mode does not let pass in a statement that stores data: values cut or converted to
/// what they are not, functions of what they do not take.
const LOSSES: [u16; 9] = [1260, 1264, 1265, 1292, 1411, 1441, 3020, 3155, 3156];

/// One condition of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// How serious it is.
    pub level: Level,
    /// Number and words.
    pub error: SqlError,
}

/// The conditions of a statement. At most `max_error_count` are kept; all are counted.
#[derive(Clone, Debug)]
pub struct Warnings {
    kept: Vec<Condition>,
    total: u64,
    errors: u64,
    max: usize,
    notes: bool,
    strict: bool,
    raised: Option<SqlError>,
    /// What is told behind the error that ends the statement, if one does.
    behind: Vec<SqlError>,
}

impl Default for Warnings {
    fn default() -> Warnings {
        Warnings::new(1024)
    }
}

impl Warnings {
    /// An empty area that keeps `max` conditions (max_error_count).
    #[must_use]
    pub fn new(max: usize) -> Warnings {
        Warnings {
            kept: Vec::new(),
            total: 0,
            errors: 0,
            max,
            notes: true,
            strict: false,
            raised: None,
            behind: Vec::new(),
        }
    }
    /// Forgets everything, at the start of a statement. `max` is max_error_count, `notes` sql_notes.
    pub fn clear(&mut self, max: usize, notes: bool) {
        self.kept.clear();
        self.total = 0;
        self.errors = 0;
        self.max = max;
        self.notes = notes;
        self.strict = false;
        self.raised = None;
        self.behind.clear();
    }
    /// From here on, what an expression loses is an error of the statement: it stores data in
    /// strict mode. Evaluation goes on; `take_raised` tells of the first one.
    pub fn be_strict(&mut self) {
        self.strict = true;
    }
    /// An empty area under the same rules, for an evaluation that nobody is to hear of.
    #[must_use]
    pub fn apart(&self) -> Warnings {
        Warnings {
            strict: self.strict,
            ..Warnings::new(0)
        }
    }
    /// Whether there is anything in it.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.total == 0 && self.raised.is_none()
    }
    /// The error that a warning has become.
    pub fn take_raised(&mut self) -> Option<SqlError> {
        self.raised.take()
    }
    /// A mark before what `reword` is about; an error that was raised before stays as it is.
    pub fn begin_rewording(&mut self) -> (usize, Option<SqlError>) {
        (self.kept.len(), self.raised.take())
    }
    /// Gives what was told since the mark other words. An error for which these have the level of a
    /// warning becomes one.
    pub fn reword(
        &mut self,
        (known, before): (usize, Option<SqlError>),
        words: &dyn Fn(SqlError) -> (Level, SqlError),
    ) {
        for condition in self.kept.iter_mut().skip(known) {
            condition.error = words(condition.error.clone()).1;
        }
        match self.raised.take().map(words) {
            Some((Level::Error, error)) => self.raised = before.or(Some(error)),
            Some((level, error)) => {
                self.raised = before;
                self.push(level, error);
            }
            None => self.raised = before,
        }
    }
    /// How many are kept.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.kept.len()
    }
    /// What was told since so many were kept.
    pub fn since(&mut self, known: usize) -> impl Iterator<Item = &mut SqlError> {
        let kept = self.kept.iter_mut().skip(known);
        let kept = kept.map(|condition| &mut condition.error);
        kept.chain(&mut self.raised)
    }
    /// Adds a condition.
    pub fn push(&mut self, level: Level, error: SqlError) {
        self.total += 1;
        self.errors += u64::from(level == Level::Error);
        if self.kept.len() < self.max {
            self.kept.push(Condition { level, error });
        }
    }
    /// Adds the error that ends the statement, and what is told behind it.
    pub fn end(&mut self, error: SqlError) {
        self.push(Level::Error, error);
        for error in std::mem::take(&mut self.behind) {
            self.push(Level::Error, error);
        }
    }
    /// Something more that is wrong with a statement that fails: told behind its error.
    pub fn tell_behind(&mut self, error: SqlError) {
        self.behind.push(error);
    }
    /// Adds a warning.
    pub fn warn(&mut self, error: SqlError) {
        if self.strict && LOSSES.contains(&error.code) {
            self.raised.get_or_insert(error);
        } else {
            self.push(Level::Warning, error);
        }
    }
    /// Adds a warning, unless the same is there already.
    pub fn warn_once(&mut self, error: SqlError) {
        if !self.kept.iter().any(|condition| condition.error == error) {
            self.warn(error);
        }
    }
    /// Adds a note, unless nobody wants any: sql_notes.
    pub fn note(&mut self, error: SqlError) {
        if self.notes {
            self.push(Level::Note, error);
        }
    }
    /// The conditions kept, oldest first.
    #[must_use]
    pub fn list(&self) -> &[Condition] {
        &self.kept
    }
    /// @@warning_count: how many conditions there were, kept or not.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.total
    }
    /// @@error_count.
    #[must_use]
    pub fn error_count(&self) -> u64 {
        self.errors
    }
    /// The count as the protocol has it.
    #[must_use]
    pub fn count_u16(&self) -> u16 {
        u16::try_from(self.total).unwrap_or(u16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_more_than_it_keeps() {
        let mut warnings = Warnings::new(1);
        warnings.warn(SqlError::division_by_zero());
        warnings.push(Level::Error, SqlError::no_database());
        assert_eq!(
            (
                warnings.list().len(),
                warnings.count(),
                warnings.error_count()
            ),
            (1, 2, 1)
        );
        warnings.clear(2, true);
        assert_eq!(warnings.count(), 0);
    }
}
