//! A statement without its values, in the form of MySQL's DIGEST_TEXT.
//!
//! Literals become `?`, lists of them `?, ...`, a row of one `(?)` and of several `(...)`, and
//! rows after each other `(...) /* , ... */`, what follows IN always `(...)`; keywords are in upper case, names in backquotes,
//! and one space stands between tokens. The digest itself is ours: SHA-256 of that text, not of
//! MySQL's token numbers.

use crate::{
    command::reserved::is_reserved,
    lexer::{Kind, Lexer, Mode, Token, name},
};
use cohort_engine::types::quoted;
use sha2::{Digest, Sha256};
use std::{borrow::Cow, fmt::Write};

/// A digest's text is not longer (max_digest_length).
const LENGTH_MAX: usize = 1024;

/// Words that are keywords without being reserved, in statements that name them.
const KEYWORDS: [&str; 26] = [
    "ANY",
    "AT",
    "BEGIN",
    "BOOLEAN",
    "CHAIN",
    "COMMIT",
    "CURRENT",
    "DATE",
    "DATETIME",
    "DUPLICATE",
    "END",
    "ESCAPE",
    "LOCKED",
    "MODE",
    "NAMES",
    "NOWAIT",
    "OFFSET",
    "ONLY",
    "ROLLBACK",
    "SAVEPOINT",
    "SHARE",
    "SKIP",
    "START",
    "TRANSACTION",
    "VALUE",
    "WORK",
];
/// Functions that are keywords.
const FUNCTIONS: [&str; 15] = [
    "ADDDATE",
    "AVG",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "COUNT",
    "CURDATE",
    "CURTIME",
    "EXTRACT",
    "GROUP_CONCAT",
    "MAX",
    "MIN",
    "NOW",
    "SUBSTRING",
    "SUM",
];

const VALUE: &str = "?";
const LIST: &str = "?, ...";
const ONE: &str = "(?)";
const ROW: &str = "(...)";
const ONES: &str = "(?) /* , ... */";
const ROWS: &str = "(...) /* , ... */";

/// The text of a statement's digest.
#[must_use]
pub fn text(sql: &[u8], mode: Mode) -> String {
    let tokens = Lexer::tokens(sql, mode);
    let mut parts: Vec<Cow<'static, str>> = Vec::with_capacity(tokens.len());
    for (i, token) in tokens.iter().enumerate() {
        push(&mut parts, part(sql, &tokens, i, *token));
        if token.is_symbol(sql, ";") {
            parts.pop();
            break;
        }
    }
    let mut out = String::new();
    for part in parts {
        if out.len() + 1 + part.len() > LENGTH_MAX {
            out.push_str(" ...");
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&part);
    }
    out
}

/// The digest of a text that [`text`] has made, in hexadecimal.
#[must_use]
pub fn digest(text: &str) -> String {
    let mut out = String::with_capacity(64);
    for byte in Sha256::digest(text) {
        let _ = write!(out, "{byte:02x}"); // a String takes everything
    }
    out
}

/// What stands for a token.
fn part(sql: &[u8], tokens: &[Token], i: usize, token: Token) -> Cow<'static, str> {
    let bytes = token.text(sql);
    let owned = || Cow::Owned(String::from_utf8_lossy(bytes).into_owned());
    match token.kind {
        Kind::String
        | Kind::Integer
        | Kind::Decimal
        | Kind::Float
        | Kind::Hex
        | Kind::Bit
        | Kind::Placeholder => VALUE.into(),
        Kind::Word => {
            let upper = String::from_utf8_lossy(bytes).to_ascii_uppercase();
            if upper == "NULL" {
                return VALUE.into();
            }
            // A name after a point is no keyword.
            let qualified = i > 0 && tokens[i - 1].is_symbol(sql, ".");
            let called = tokens
                .get(i + 1)
                .is_some_and(|next| next.is_symbol(sql, "("));
            let keyword = is_reserved(bytes)
                || KEYWORDS.contains(&&*upper)
                || called && FUNCTIONS.contains(&&*upper);
            if keyword && !qualified {
                upper.into()
            } else {
                quoted(&String::from_utf8_lossy(bytes)).into()
            }
        }
        Kind::UserVariable => "@?".into(),
        Kind::SystemVariable => format!("@@{}", quoted(&name(bytes))).into(),
        Kind::QuotedName => quoted(&name(bytes)).into(),
        _ => owned(),
    }
}

/// Adds a part, and folds what it completes.
fn push(parts: &mut Vec<Cow<'static, str>>, part: Cow<'static, str>) {
    if part == VALUE {
        drop_sign(parts);
    }
    parts.push(part);
    loop {
        let folded = match last(parts) {
            [.., VALUE | LIST, ",", VALUE] => (3, LIST),
            ["IN", "(", VALUE, ")"] => (3, ROW),
            [.., "(", VALUE, ")"] => (3, ONE),
            [.., "(", LIST, ")"] => (3, ROW),
            [.., ONE | ONES, ",", ONE] => (3, ONES),
            [.., ROW | ROWS, ",", ROW] => (3, ROWS),
            _ => return,
        };
        parts.truncate(parts.len() - folded.0);
        parts.push(folded.1.into());
    }
}

/// The last four parts.
fn last<'a>(parts: &'a [Cow<'static, str>]) -> [&'a str; 4] {
    let at = |back: usize| {
        let place = parts.len().checked_sub(back);
        place
            .and_then(|place| parts.get(place))
            .map_or("", |part| part)
    };
    [at(4), at(3), at(2), at(1)]
}

/// A sign before a value belongs to it, unless something stands before the sign that it is
/// added to.
fn drop_sign(parts: &mut Vec<Cow<'static, str>>) {
    let [_, _, before, sign] = last(parts);
    let operand = before == ")"
        || before.starts_with(['`', '?', '@'])
        || before.ends_with(['?', '/']) && before.len() > 1
        || before == ROW;
    if matches!(sign, "-" | "+") && !operand {
        parts.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both columns were taken from MySQL 9.7's STATEMENT_DIGEST_TEXT.
    #[test]
    fn as_mysql_has_them() {
        for (sql, expected) in [
            (
                "select c from sbtest1 where id=17",
                "SELECT `c` FROM `sbtest1` WHERE `id` = ?",
            ),
            ("SELECT 1, 'a', NULL", "SELECT ?, ..."),
            (
                "SELECT COUNT(*) FROM db.t WHERE a IN (1,2,3)",
                "SELECT COUNT ( * ) FROM `db` . `t` WHERE `a` IN (...)",
            ),
            (
                "SELECT * FROM t WHERE a IN (5) AND b = -2",
                "SELECT * FROM `t` WHERE `a` IN (...) AND `b` = ?",
            ),
            (
                "INSERT INTO t VALUES (1,2),(3,4),(5,6)",
                "INSERT INTO `t` VALUES (...) /* , ... */",
            ),
            (
                "INSERT INTO t VALUES (1),(2)",
                "INSERT INTO `t` VALUES (?) /* , ... */",
            ),
            (
                "UPDATE t SET k=k+1 WHERE id=5",
                "UPDATE `t` SET `k` = `k` + ? WHERE `id` = ?",
            ),
            (
                "SELECT a-1 FROM `x y` LIMIT 5 OFFSET 6",
                "SELECT `a` - ? FROM `x y` LIMIT ? OFFSET ?",
            ),
            (
                "SELECT a FROM t WHERE b BETWEEN 1 AND 2 ORDER BY c FOR UPDATE SKIP LOCKED",
                "SELECT `a` FROM `t` WHERE `b` BETWEEN ? AND ? ORDER BY `c` FOR UPDATE SKIP LOCKED",
            ),
            (
                "SELECT abs(1), now(), f(a,2), (1-2), @x, @@version, max(t.a) FROM t as u",
                "SELECT `abs` (?) , NOW ( ) , `f` ( `a` , ? ) , ( ? - ? ) , @? , @@`version` , \
                 MAX ( `t` . `a` ) FROM `t` AS `u`",
            ),
            ("START TRANSACTION READ ONLY", "START TRANSACTION READ ONLY"),
        ] {
            assert_eq!(text(sql.as_bytes(), Mode::default()), expected);
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let sql = format!("SELECT {} FROM t", vec!["a"; 2000].join("+"));
        let text = text(sql.as_bytes(), Mode::default());
        assert!(text.len() <= LENGTH_MAX + 4 && text.ends_with(" ..."));
    }

    #[test]
    fn digests_tell_texts_apart() {
        assert_eq!(digest("a").len(), 64);
        assert_ne!(digest("a"), digest("b"));
    }
}
