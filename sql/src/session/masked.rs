//! The text of a statement as others may see it: without passwords.
//!
//! The process list, lock waits, deadlock reports and advice show statements, and logs have them. All of
//! them have the text from here, so a password is left out once, in one place.
//!
//! - Of a statement about accounts, what stands where a password does is left out.
//! - Of others, a string that is such a statement itself, or the beginning of one, is: somebody will
//!   prepare it. So are all strings behind it, which may be its rest: `CONCAT('ALTER USER a IDENTIFIED BY ',
//!   '''p''')`. A string that only has such words in it is shown.
//! - What INSERT, UPDATE, REPLACE and DELETE write and look for is data, and is shown.

use super::query::is_query;
use crate::lexer::{Kind, Lexer, Mode, Token};
use memchr::memchr2_iter;
use std::sync::Arc;

/// What stands for a password, as in MySQL's logs.
pub(super) const SECRET: &str = "<secret>";
/// A word in lower case, and the place of its letter that other words have least.
type Word = (&'static [u8], usize);

// A statement with one of these words may have a password in it.
const IDENTIFIED: Word = (b"identified", 6);
const PASSWORD: Word = (b"password", 4);

/// A statement as text, for people; what is not UTF-8 is replaced, what is secret is left out.
pub(super) fn shown_text(statement: &[u8], mode: Mode) -> Arc<str> {
    // Of changes of rows, which may be long, nothing is looked at. What begins with a bracket may be anything.
    let in_brackets = statement.trim_ascii_start().starts_with(b"(");
    let is_query = is_query(statement) && !(in_brackets && has(statement, IDENTIFIED));
    if (is_query && changes_rows(statement)) || !is_about_passwords(statement) {
        return lossy(statement);
    }
    lossy(&masked(statement, mode, is_query))
}

fn changes_rows(query: &[u8]) -> bool {
    let query = query.trim_ascii_start();
    let words: [&[u8]; 4] = [b"INSERT", b"UPDATE", b"REPLACE", b"DELETE"];
    words.iter().any(|word| {
        let start = query.get(..word.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(word))
    })
}

fn lossy(statement: &[u8]) -> Arc<str> {
    // Most are UTF-8, which is checked faster than it is replaced.
    match str::from_utf8(statement) {
        Ok(text) => Arc::from(text),
        Err(_) => Arc::from(String::from_utf8_lossy(statement)),
    }
}

pub(super) fn is_about_passwords(text: &[u8]) -> bool {
    has(text, IDENTIFIED) || has(text, PASSWORD)
}

/// Every SELECT is asked, so it has to be quick.
fn has(text: &[u8], (word, place): Word) -> bool {
    let rare = word.get(place).copied().unwrap_or_default();
    memchr2_iter(rare, rare.to_ascii_uppercase(), text).any(|at| {
        let start = at.checked_sub(place);
        let found = start.and_then(|start| text.get(start..start + word.len()));
        found.is_some_and(|found| found.eq_ignore_ascii_case(word))
    })
}

/// `is_query`: nothing in it is a password, unless a string is a statement.
fn masked(statement: &[u8], mode: Mode, is_query: bool) -> Vec<u8> {
    let mut shown = Vec::with_capacity(statement.len());
    let mut kept = 0;
    let mut before: Option<Token> = None;
    let (mut about_passwords, mut was_secret, mut was_statement) = (false, false, false);
    for token in Lexer::tokens(statement, mode) {
        let text = token.text(statement);
        let is_string = matches!(token.kind, Kind::String | Kind::Invalid);
        was_statement |= is_string && begins_statement(text, mode);
        // Strings that follow each other are one.
        let goes_on = was_secret && token.kind == Kind::String;
        let stands_there = about_passwords && is_secret(&token, before.as_ref(), statement);
        was_secret = goes_on || stands_there || (was_statement && is_string);
        if was_secret {
            shown.extend_from_slice(statement.get(kept..token.start).unwrap_or_default());
            shown.extend_from_slice(SECRET.as_bytes());
            kept = token.end;
        }
        about_passwords |= !is_query && token.kind == Kind::Word && is_about_passwords(text);
        // _utf8mb4'…' is a string, too.
        let is_introducer = token.kind == Kind::Word && text.starts_with(b"_");
        if !is_introducer {
            before = Some(token);
        }
    }
    shown.extend_from_slice(statement.get(kept..).unwrap_or_default());
    shown
}

/// Whether a string, in quotes, is a statement with a password, or the beginning or the middle of one.
fn begins_statement(string: &[u8], mode: Mode) -> bool {
    let quote = string.iter().position(|byte| matches!(byte, b'\'' | b'"'));
    let inside = string.get(quote.map_or(0, |quote| quote + 1)..);
    let inside = inside.unwrap_or_default();
    let mut lexer = Lexer::new(inside, mode);
    let (first, second) = (lexer.next_token(), lexer.next_token());
    let is_one = |token: &Token, words: &[&str]| words.iter().any(|w| token.is_word(inside, w));
    if is_one(&first, &["CREATE", "ALTER"]) && is_one(&second, &["USER"]) {
        return true;
    }
    if is_one(&first, &["IDENTIFIED"]) {
        return is_one(&second, &["BY", "WITH", "AS"]);
    }
    let begins = ["SET", "GRANT", "CREATE", "ALTER", "CHANGE", "START"];
    is_one(&first, &begins) && is_about_passwords(inside)
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
            (
                "set @z=concat('alter user a identified by ','''x''')",
                "set @z=concat(<secret>,<secret>)",
            ),
            (
                "SET @z = CONCAT('ALTER USER ', @u, ' IDENTIFIED BY ''', 'x', '''')",
                "SET @z = CONCAT(<secret>, @u, <secret>, <secret>, <secret>)",
            ),
            (
                "SELECT 'a', \"alter user a identified by 'x'\" INTO @s",
                "SELECT 'a', <secret> INTO @s",
            ),
            (
                "SELECT CONCAT(QUOTE(@u), ' identified with p by ', @p)",
                "SELECT CONCAT(QUOTE(@u), <secret>, @p)",
            ),
            (
                "DO (SELECT 'GRANT ALL ON *.* TO a IDENTIFIED BY ''p''')",
                "DO (SELECT <secret>)",
            ),
            (
                "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'u', SOURCE_PASSWORD = 'p'",
                "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'u', SOURCE_PASSWORD = <secret>",
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
            "SELECT 'he was identified by ''his voice''', 'x'",
            "SET @x = 'my password is long', @y = 'z'",
            "SELECT * FROM users WHERE password = 'x' AND a = CONCAT('b', 'c')",
            "(SELECT 'x' AS identified)",
            "(SELECT * FROM users WHERE password = 'x')",
            "INSERT INTO old VALUES ('ALTER USER a IDENTIFIED BY ''p''')",
            "UPDATE users SET password = 'x' WHERE a = 'b'",
        ] {
            assert_eq!(shown(statement), statement);
        }
    }
}
