//! What the converter looks ahead for, where the library cannot tell what comes.

use super::{IntoSyntax, convert::Converter, files};
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
        let queries = ["SELECT", "WITH", "VALUES", "TABLE", "("];
        let is_query = self.tokens.first().is_some_and(|first| {
            let is = |word: &&str| {
                first.is_word(self.source, word) || first.is_symbol(self.source, word)
            };
            queries.iter().any(is)
        });
        if !is_query {
            return Ok(None);
        }
        let mut lexer = after.clone();
        let ahead = lexer.clone().next_token();
        let files = ["OUTFILE", "DUMPFILE"];
        let file = files
            .iter()
            .position(|word| ahead.is_word(self.source, word));
        if self.into != IntoSyntax::Client {
            return match file {
                Some(_) => Err(SqlError::several_into()),
                None => Ok(None),
            };
        }
        if let Some(dump) = file {
            lexer.next_token();
            return self.take_into_file(lexer, dump == 1).map(Some);
        }
        let mut names = Vec::new();
        loop {
            let variable = lexer.next_token();
            if variable.kind != Kind::UserVariable {
                return Ok(None);
            }
            let name = lexer::name(variable.text(self.source));
            names.push(name.to_lowercase());
            let mut ahead = lexer.clone();
            let next = ahead.next_token();
            if !next.is_symbol(self.source, ",") {
                self.check_behind_into(&mut ahead, next)?;
                self.into = IntoSyntax::Variables(names);
                return Ok(Some(lexer));
            }
            lexer = ahead;
        }
    }

    /// 3954 for an INTO that another query follows.
    fn check_behind_into(&self, lexer: &mut Lexer, mut next: Token) -> Result<(), SqlError> {
        while next.is_symbol(self.source, ")") {
            next = lexer.next_token();
        }
        let combines = ["UNION", "EXCEPT", "INTERSECT"];
        match combines.iter().any(|word| next.is_word(self.source, word)) {
            true => Err(SqlError::misplaced_into()),
            false => Ok(()),
        }
    }

    /// The file that follows OUTFILE or DUMPFILE, and how its rows are to stand there; then the lexer
    /// behind that.
    fn take_into_file<'l>(
        &mut self,
        mut lexer: Lexer<'l>,
        dump: bool,
    ) -> Result<Lexer<'l>, SqlError> {
        if self.lifted {
            // They are no parameters of a plan.
            return Err(SqlError::not_supported("literals of INTO elsewhere"));
        }
        let warnings = &mut self.warnings;
        let (into, tokens) = files::read_into_file(self.source, self.mode, &lexer, dump, warnings)?;
        for _ in 0..tokens {
            lexer.next_token();
        }
        let mut ahead = lexer.clone();
        let next = ahead.next_token();
        if !self.open.is_empty() && self.begins_inside() {
            return Err(SqlError::misplaced_into());
        }
        // For the library it would be the name of a column.
        let clauses = ["FIELDS", "COLUMNS", "LINES", "CHARACTER", "CHARSET"];
        if clauses.iter().any(|word| next.is_word(self.source, word)) {
            return Err(SqlError::syntax_at(self.source, next.start));
        }
        self.check_behind_into(&mut ahead, next)?;
        self.into = IntoSyntax::File(into);
        Ok(lexer)
    }

    /// Whether a parenthesis is open that is not around the whole statement.
    fn begins_inside(&self) -> bool {
        let mut tokens = self.tokens.iter();
        let around = tokens
            .by_ref()
            .take_while(|t| t.is_symbol(self.source, "("));
        around.count() < self.open.len()
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
