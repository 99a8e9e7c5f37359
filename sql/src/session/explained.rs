//! EXPLAIN FOR CONNECTION: how the statement that another session runs is executed.
//!
//! Its text is planned again, for that session's database: it has the plan that the statement would get
//! now, which is the one that it runs unless indexes or statistics have changed since it began. (A session's
//! plan is kept where nobody else looks, so that a statement does not pay for being asked about.)

use super::{Session, query::is_query};
use crate::{
    error::SqlError,
    lexer::{Kind, Lexer},
    output::Output,
    privileges::needed,
};

/// What a text is, for EXPLAIN FOR CONNECTION.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// It has a plan.
    Query,
    /// It has none to show, and that is no error: EXPLAIN itself, and CALL.
    Nothing,
    /// It is not supported.
    Other,
}

impl Session {
    /// EXPLAIN [FORMAT = …] FOR CONNECTION. Nothing is told of a session that runs nothing.
    ///
    /// # Errors
    /// 1094: there is no such session. 1045: it is another user's, and the privilege PROCESS is missing. 3012: it
    /// is our own, or what it runs is no query. Those of EXPLAIN of the statement.
    pub(super) fn explain_connection(
        &mut self,
        format: Option<&str>,
        id: u64,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let sessions = &self.state.instance.sessions;
        let entry = sessions.find(id);
        let entry = entry.ok_or_else(|| SqlError::unknown_thread(id))?;
        if id == self.state.id {
            return Err(SqlError::explain_not_supported());
        }
        let activity = entry.activity.lock().clone();
        let said = activity.statement.as_ref().map_or(Said::Nothing, |text| {
            said(text, self.state.settings().lexer)
        });
        // Who may ask is looked at if there is something to tell.
        let text = match (said, activity.statement) {
            (Said::Other, _) => return Err(SqlError::explain_not_supported()),
            (Said::Query, Some(text)) => text,
            (Said::Query, None) | (Said::Nothing, _) => return self.done(0, String::new(), out),
        };
        let is_own = entry.is_of(self.state.id, &self.state.account);
        if !is_own && !self.state.rights.has_any(needed::PROCESS) {
            return Err(self.state.refused_access());
        }
        let sql = match format {
            Some(format) if format.bytes().all(|b| b.is_ascii_alphabetic()) => {
                format!("EXPLAIN FORMAT = {format} {text}")
            }
            Some(format) => return Err(SqlError::unknown_explain_format(format)),
            None => format!("EXPLAIN {text}"),
        };
        let own = std::mem::replace(&mut self.state.database, activity.database);
        let result = self.compile(sql.as_bytes()).and_then(|explained| {
            if explained.parameters > 0 {
                let what = "EXPLAIN FOR CONNECTION of a prepared statement with parameters";
                return Err(SqlError::not_supported(what));
            }
            self.run(&explained, &[], out)
        });
        self.state.database = own;
        result
    }
}

fn said(text: &str, mode: crate::lexer::Mode) -> Said {
    let bytes = text.as_bytes();
    let mut lexer = Lexer::new(bytes, mode);
    let first = lexer.next_token();
    let is = |word: &str| first.is_word(bytes, word);
    if is_query(bytes.get(first.start..).unwrap_or_default())
        || (first.kind == Kind::Symbol && first.text(bytes) == b"(")
    {
        return Said::Query;
    }
    match ["explain", "describe", "desc", "call"].into_iter().any(is) {
        true => Said::Nothing,
        false => Said::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::Mode;

    #[test]
    fn what_has_a_plan() {
        for (text, wanted) in [
            ("SELECT 1", Said::Query),
            (" /* a */ replace INTO t VALUES (1)", Said::Query),
            ("(SELECT 1)", Said::Query),
            ("TABLE t", Said::Query),
            ("WITH a AS (SELECT 1) SELECT * FROM a", Said::Query),
            ("EXPLAIN SELECT 1", Said::Nothing),
            ("call p()", Said::Nothing),
            ("DO SLEEP(1)", Said::Other),
            ("EXECUTE s", Said::Other),
            ("CREATE TABLE t SELECT 1", Said::Other),
            ("", Said::Other),
        ] {
            assert_eq!(said(text, Mode::default()), wanted, "{text}");
        }
    }
}
