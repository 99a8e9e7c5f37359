//! Names that are told to be others than they are written as: see `lexer::is_beyond_names`.

use crate::{
    error::SqlError,
    expr::printable,
    lexer::{self, Kind, Lexer, Mode},
};

/// What is told of the names of a statement.
pub(super) fn beyond(sql: &[u8], mode: Mode) -> Vec<SqlError> {
    // The first byte of such a character.
    const FIRST: u8 = 0xF0;
    if !sql.iter().any(|byte| *byte >= FIRST) {
        return Vec::new();
    }
    let is_name = |kind| {
        matches!(
            kind,
            Kind::Word | Kind::QuotedName | Kind::UserVariable | Kind::SystemVariable
        )
    };
    let tokens = Lexer::tokens(sql, mode);
    let names = tokens.iter().filter(|token| is_name(token.kind));
    let names = names.filter_map(|token| {
        let written = String::from_utf8_lossy(token.text(sql)).into_owned();
        let quotes = ['`', '"', '@'];
        let written = written.trim_matches(quotes);
        written
            .contains(lexer::is_beyond_names)
            .then(|| SqlError::name_not_convertible(printable(written.as_bytes())))
    });
    names.collect()
}
