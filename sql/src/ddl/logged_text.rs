//! A schema change's text as the log has it: what this server reads in a way of its own is written
//! so that whoever repeats it does the same.
//!
//! | option | here | in the log |
//! |---|---|---|
//! | ENGINE | MyISAM, MEMORY and the like are tables of InnoDB's kind, with transactions | InnoDB |
//! | ROW_FORMAT | FIXED, of such a table, is not kept | DEFAULT |
//! | | of others it is taken for DYNAMIC without innodb_strict_mode, and refused with it | DYNAMIC |
//! | ALGORITHM, LOCK | a schema change chooses its own way | DEFAULT: MySQL refuses what it cannot do so |

use super::{
    parse::{ALGORITHMS, LOCKS},
    row_format::FIXED,
    storage_engine::REPLACED,
};
use crate::lexer::{self, Kind, Lexer, Mode, Token};
use cohort_engine::types::Value;
use std::borrow::Cow;

/// The option, its values that are not written as they are, and what is written.
const OPTIONS: [(&str, &[&str], &str); 4] = [
    ("ENGINE", &REPLACED, "InnoDB"),
    ("ROW_FORMAT", &[FIXED], "DEFAULT"),
    ("ALGORITHM", &ALGORITHMS, "DEFAULT"),
    ("LOCK", &LOCKS, "DEFAULT"),
];

/// The text for the log.
pub(super) fn logged(text: &str, mode: Mode) -> Cow<'_, str> {
    let source = text.as_bytes();
    let is = |token: Option<&Token>, word| token.is_some_and(|token| token.is_word(source, word));
    let tokens = Lexer::tokens(source, mode);
    let mut changed = Vec::new();
    let mut before = None;
    for (position, word) in tokens.iter().enumerate() {
        // The words of a query are none of a table's options, nor are columns with their new names.
        if is(Some(word), "SELECT") {
            break;
        }
        let is_name = is(before, "CHANGE") || is(before, "COLUMN");
        before = Some(word);
        let mut options = OPTIONS.iter();
        let option = options.find(|(option, ..)| word.is_word(source, option));
        let Some((option, replaced, written)) = option.filter(|_| !is_name) else {
            continue;
        };
        let mut behind = tokens.iter().skip(position + 1);
        let Some(value) = behind.find(|token| !token.is_symbol(source, "=")) else {
            break;
        };
        let name = match value.kind {
            Kind::String => match lexer::string_value(value.text(source), mode) {
                Value::Bytes(name) => name,
                _ => continue,
            },
            _ => lexer::name(value.text(source)).into_owned().into(),
        };
        let is_replaced = |known: &&str| name.eq_ignore_ascii_case(known.as_bytes());
        if replaced.iter().any(is_replaced) {
            changed.push((*option, *value, *written));
        }
    }
    let of_another_engine = changed.iter().any(|(option, ..)| *option == "ENGINE");
    let mut logged = String::new();
    let mut done = 0;
    for (option, value, written) in changed {
        if let Some(passed) = text.get(done..value.start) {
            logged.push_str(passed);
            logged.push_str(match option == "ROW_FORMAT" && !of_another_engine {
                true => "DYNAMIC",
                false => written,
            });
            done = value.end;
        }
    }
    match (done, text.get(done..)) {
        (0, _) | (_, None) => Cow::Borrowed(text),
        (_, Some(rest)) => {
            logged.push_str(rest);
            Cow::Owned(logged)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_was_done() {
        let logged = |text| logged(text, Mode::default()).into_owned();
        for (text, written) in [
            (
                "CREATE TABLE t (engine VARCHAR(9), b INT) engine = MyISAM COMMENT 'ENGINE=CSV'",
                "CREATE TABLE t (engine VARCHAR(9), b INT) engine = InnoDB COMMENT 'ENGINE=CSV'",
            ),
            (
                "CREATE TABLE t (a INT) ROW_FORMAT=FIXED, ENGINE MyISAM",
                "CREATE TABLE t (a INT) ROW_FORMAT=DEFAULT, ENGINE InnoDB",
            ),
            (
                "CREATE TABLE t (a INT) ROW_FORMAT = FIXED, ENGINE InnoDB",
                "CREATE TABLE t (a INT) ROW_FORMAT = DYNAMIC, ENGINE InnoDB",
            ),
            (
                "ALTER TABLE t ENGINE 'heap', ADD n INT",
                "ALTER TABLE t ENGINE InnoDB, ADD n INT",
            ),
            (
                "ALTER TABLE t ENGINE=`Memory`",
                "ALTER TABLE t ENGINE=InnoDB",
            ),
            (
                "alter table t algorithm instant, add x int, lock=exclusive",
                "alter table t algorithm DEFAULT, add x int, lock=DEFAULT",
            ),
            (
                "CREATE INDEX i ON t (a) ALGORITHM=COPY LOCK=NONE",
                "CREATE INDEX i ON t (a) ALGORITHM=DEFAULT LOCK=DEFAULT",
            ),
        ] {
            assert_eq!(logged(text), written);
        }
        for same in [
            "DROP TABLE engine",
            "CREATE TABLE t (a INT) ENGINE=InnoDB",
            "ENGINE",
            "ALTER TABLE t CHANGE engine memory INT, CHANGE COLUMN algorithm copy INT",
            "ALTER TABLE t RENAME COLUMN engine TO csv",
            "CREATE TABLE t SELECT 1 AS algorithm, engine memory FROM u",
            "CREATE ALGORITHM=MERGE VIEW v AS SELECT engine csv FROM t",
        ] {
            assert_eq!(logged(same), same);
        }
    }
}
