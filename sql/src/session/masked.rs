//! The text of a statement as others may see it: without passwords.
//!
//! The process list, lock waits, deadlock reports and advice show statements. All of them have
//! the text from here, so a password is left out once, in one place.

use super::query::is_query;
use crate::lexer::{Kind, Lexer, Mode, Token};
use std::sync::Arc;

/// What stands for a password, as in MySQL's logs.
const SECRET: &[u8] = b"<secret>";
/// A statement with one of these words may have a password in it.
const WORDS: [&[u8]; 2] = [b"identified", b"password"];

/// A statement as text, for people; what is not UTF-8 is replaced, what is secret is left out.
pub(super) fn shown_text(statement: &[u8], mode: Mode) -> Arc<str> {
    // What begins with a bracket may be anything. Of other queries, which are most statements, nothing
    // is looked at.
    let in_brackets = statement.trim_ascii_start().starts_with(b"(");
    let words = match in_brackets {
        true => WORDS.get(..1).unwrap_or_default(),
        false => &WORDS,
    };
    if (in_brackets || !is_query(statement)) && has_one_of(statement, words) {
        return lossy(&masked(statement, mode));
    }
    lossy(statement)
}

fn lossy(statement: &[u8]) -> Arc<str> {
    // Most are UTF-8, which is checked faster than it is replaced.
    match str::from_utf8(statement) {
        Ok(text) => Arc::from(text),
        Err(_) => Arc::from(String::from_utf8_lossy(statement)),
    }
}

pub(super) fn is_about_passwords(text: &[u8]) -> bool {
    has_one_of(text, &WORDS)
}

fn has_one_of(text: &[u8], words: &[&[u8]]) -> bool {
    words.iter().any(|word| {
        let mut windows = text.windows(word.len());
        windows.any(|window| window.eq_ignore_ascii_case(word))
    })
}

fn masked(statement: &[u8], mode: Mode) -> Vec<u8> {
    let mut shown = Vec::with_capacity(statement.len());
    let mut kept = 0;
    let mut before: Option<Token> = None;
    let (mut about_passwords, mut was_secret) = (false, false);
    for token in Lexer::tokens(statement, mode) {
        let text = token.text(statement);
        // Strings that follow each other are one.
        let goes_on = was_secret && token.kind == Kind::String;
        let secret = goes_on || is_secret(&token, before.as_ref(), statement);
        // A statement within: PREPARE … FROM 'SET PASSWORD …'.
        if secret && (about_passwords || is_about_passwords(text)) {
            shown.extend_from_slice(statement.get(kept..token.start).unwrap_or_default());
            shown.extend_from_slice(SECRET);
            kept = token.end;
            was_secret = true;
        } else {
            was_secret = false;
        }
        about_passwords |= token.kind == Kind::Word && is_about_passwords(text);
        // _utf8mb4'…' is a string, too.
        let is_introducer = token.kind == Kind::Word && text.starts_with(b"_");
        if !is_introducer {
            before = Some(token);
        }
    }
    shown.extend_from_slice(statement.get(kept..).unwrap_or_default());
    shown
}

/// Whether a token stands where a password or its stored form does: not a user's name, which
/// follows FOR, USER or a comma.
fn is_secret(token: &Token, before: Option<&Token>, statement: &[u8]) -> bool {
    let is_text = matches!(
        token.kind,
        Kind::String | Kind::QuotedName | Kind::Hex | Kind::Invalid
    );
    let follows = before.is_some_and(|before| {
        ["BY", "AS", "REPLACE", "FROM", "IDENTIFIED", "PASSWORD"]
            .iter()
            .any(|word| before.is_word(statement, word))
            || ["=", ":=", "("]
                .iter()
                .any(|symbol| before.is_symbol(statement, symbol))
    });
    is_text && follows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(statement: &str) -> String {
        shown_text(statement.as_bytes(), Mode::default()).to_string()
    }

    #[test]
    fn passwords_are_left_out() {
        for (statement, expected) in [
            ("SET PASSWORD = 'p'", "SET PASSWORD = <secret>"),
            (
                "set password for 'joe'@'%' = 'p'",
                "set password for 'joe'@'%' = <secret>",
            ),
            (
                "SET PASSWORD FOR joe = PASSWORD('p')",
                "SET PASSWORD FOR joe = PASSWORD(<secret>)",
            ),
            (
                "SET PASSWORD TO RANDOM REPLACE 'o' RETAIN CURRENT PASSWORD",
                "SET PASSWORD TO RANDOM REPLACE <secret> RETAIN CURRENT PASSWORD",
            ),
            (
                "/* x */ ALTER USER a IDENTIFIED BY 'p' REPLACE 'o', 'b'@'h' IDENTIFIED BY \"q\"",
                "/* x */ ALTER USER a IDENTIFIED BY <secret> REPLACE <secret>, 'b'@'h' IDENTIFIED BY <secret>",
            ),
            (
                "CREATE USER 'a' IDENTIFIED WITH 'caching_sha2_password' AS '$A$'",
                "CREATE USER 'a' IDENTIFIED WITH 'caching_sha2_password' AS <secret>",
            ),
            (
                "CREATE USER a IDENTIFIED BY 'p' 'q' COMMENT 'c'",
                "CREATE USER a IDENTIFIED BY <secret> <secret> COMMENT 'c'",
            ),
            (
                "CREATE USER a IDENTIFIED BY _utf8mb4'p'",
                "CREATE USER a IDENTIFIED BY _utf8mb4<secret>",
            ),
            (
                "(create user a identified by 'p')",
                "(create user a identified by <secret>)",
            ),
            (
                "CREATE USER a IDENTIFIED 'p'",
                "CREATE USER a IDENTIFIED <secret>",
            ),
            (
                "CREATE USER a IDENTIFIED BY 'it''s",
                "CREATE USER a IDENTIFIED BY <secret>",
            ),
            (
                "SET @s = 'ALTER USER a IDENTIFIED BY ''p'''",
                "SET @s = <secret>",
            ),
            (
                "PREPARE s FROM 'SET PASSWORD = ''p'''",
                "PREPARE s FROM <secret>",
            ),
        ] {
            assert_eq!(shown(statement), expected);
        }
    }

    #[test]
    fn other_statements_are_shown_as_they_are() {
        for statement in [
            "SELECT 'password' AS 'x'",
            "INSERT INTO t (password) VALUES ('x')",
            "CREATE TABLE t (a CHAR(9) DEFAULT 'x', password INT)",
            "SET @x = 'y'",
        ] {
            assert_eq!(shown(statement), statement);
        }
    }
}
