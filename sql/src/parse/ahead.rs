//! What the converter looks ahead for, where the library cannot tell what comes.

use super::convert::Converter;
use crate::{
    error::SqlError,
    lexer::{self, Kind, Lexer, Token},
};

impl Converter<'_> {
    /// The user variables after the INTO of a SELECT, which sqlparser does not know; then the
    /// lexer behind them.
    pub(super) fn take_into<'l>(
        &mut self,
        after: &Lexer<'l>,
    ) -> Result<Option<Lexer<'l>>, SqlError> {
        let queries = ["SELECT", "WITH", "("];
        let is_query = self.tokens.first().is_some_and(|first| {
            let is = |word: &&str| {
                first.is_word(self.source, word) || first.is_symbol(self.source, word)
            };
            queries.iter().any(is)
        });
        if !is_query || !self.into.is_empty() {
            return Ok(None);
        }
        let mut lexer = after.clone();
        let mut names = Vec::new();
        loop {
            let variable = lexer.next_token();
            for file in ["OUTFILE", "DUMPFILE"] {
                if variable.is_word(self.source, file) {
                    return Err(SqlError::not_supported(format!("SELECT … INTO {file}")));
                }
            }
            if variable.kind != Kind::UserVariable {
                return Ok(None);
            }
            let name = lexer::name(variable.text(self.source));
            names.push(name.to_lowercase());
            let mut ahead = lexer.clone();
            let mut next = ahead.next_token();
            if !next.is_symbol(self.source, ",") {
                while next.is_symbol(self.source, ")") {
                    next = ahead.next_token();
                }
                let combines = ["UNION", "EXCEPT", "INTERSECT"];
                if combines.iter().any(|word| next.is_word(self.source, word)) {
                    return Err(SqlError::misplaced_into());
                }
                self.into = names;
                return Ok(Some(lexer));
            }
            lexer = ahead;
        }
    }

    /// Whether a query in parentheses follows the name of INSERT's table: the library knows one only
    /// by SELECT, and takes WITH and VALUES for columns. Behind an empty list of columns it does not.
    pub(super) fn inserts_query(&self, after: &Lexer) -> bool {
        let has_begun = |token: &Token| {
            let words = ["SELECT", "VALUES", "VALUE", "SET", "TABLE", "WITH"];
            token.is_symbol(self.source, "(")
                || words.iter().any(|word| token.is_word(self.source, word))
        };
        let inserts = self.begins_with("INSERT") || self.begins_with("REPLACE");
        if !inserts || self.tokens.iter().any(has_begun) {
            return false;
        }
        let mut lexer = after.clone();
        let mut next = lexer.next_token();
        while next.is_symbol(self.source, "(") {
            next = lexer.next_token();
        }
        next.is_word(self.source, "WITH")
            || next.is_word(self.source, "VALUES") && lexer.next_token().is_word(self.source, "ROW")
    }
}
