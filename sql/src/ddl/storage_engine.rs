//! ENGINE: there is one storage engine, and it is called InnoDB, as it does what MySQL's does.
//!
//! | The statement names | What becomes of it |
//! |---|---|
//! | InnoDB | obeyed |
//! | MyISAM, MEMORY, ARCHIVE, CSV | a table of InnoDB's kind, with warning 1266: it keeps what those keep, and transactions besides |
//! | BLACKHOLE, MRG_MYISAM | 1235: their tables do not keep the rows that are written to them |
//! | another | 1286; a warning and a table of InnoDB's kind without NO_ENGINE_SUBSTITUTION |

use super::{DdlContext, syntax::TableOptions};
use crate::{
    error::SqlError,
    expr::SqlMode,
    lexer::{self, Kind, Lexer, Mode},
};
use cohort_engine::types::Value;
use std::borrow::Cow;

/// What MySQL has, and a table of InnoDB's kind can stand for.
const REPLACED: [&str; 5] = ["MyISAM", "MEMORY", "HEAP", "ARCHIVE", "CSV"];
/// What MySQL has, and nothing can stand for.
const REFUSED: [&str; 3] = ["BLACKHOLE", "MRG_MYISAM", "MERGE"];

/// Checks the engine that is named for a table. MySQL says which engine it takes instead of an
/// unknown one if the table `is_new`.
pub(super) fn check(
    options: &TableOptions,
    table: &str,
    is_new: bool,
    ctx: &mut DdlContext<'_>,
) -> Result<(), SqlError> {
    let Some(engine) = &options.engine else {
        return Ok(());
    };
    let is_in = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(engine));
    if is_in(&["InnoDB"]) {
        return Ok(());
    }
    if is_in(&REFUSED) {
        return Err(SqlError::not_supported(format_args!("ENGINE={engine}")));
    }
    let known = is_in(&REPLACED);
    if !known {
        let unknown = SqlError::unknown_storage_engine(engine);
        if ctx.session.sql_mode.has(SqlMode::NO_ENGINE_SUBSTITUTION) {
            return Err(unknown);
        }
        ctx.warnings.warn(unknown);
    }
    if known || is_new {
        ctx.warnings.warn(SqlError::using_other_engine(table));
    }
    Ok(())
}

/// A statement's text for the log: who repeats it must not make a table of another kind, which has
/// no transactions.
pub(super) fn logged(text: &str, mode: Mode) -> Cow<'_, str> {
    let source = text.as_bytes();
    let tokens = Lexer::tokens(source, mode);
    let mut logged = String::new();
    let mut done = 0;
    for (position, word) in tokens.iter().enumerate() {
        let mut behind = tokens.iter().skip(position + 1);
        let name = behind.find(|token| !token.is_symbol(source, "="));
        let Some(name) = name.filter(|_| word.is_word(source, "ENGINE")) else {
            continue;
        };
        let written = match name.kind {
            Kind::String => match lexer::string_value(name.text(source), mode) {
                Value::Bytes(written) => written,
                _ => continue,
            },
            _ => lexer::name(name.text(source)).into_owned().into(),
        };
        let is_written = |known: &&str| written.eq_ignore_ascii_case(known.as_bytes());
        let is_replaced = REPLACED.iter().any(is_written);
        if is_replaced && let Some(before) = text.get(done..name.start) {
            logged.push_str(before);
            logged.push_str("InnoDB");
            done = name.end;
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
    fn the_log_has_one_engine() {
        let logged = |text| logged(text, Mode::default()).into_owned();
        assert_eq!(
            logged(
                "CREATE TABLE t (engine VARCHAR(9), b INT) engine = MyISAM COMMENT 'ENGINE=CSV'"
            ),
            "CREATE TABLE t (engine VARCHAR(9), b INT) engine = InnoDB COMMENT 'ENGINE=CSV'"
        );
        assert_eq!(
            logged("ALTER TABLE t ENGINE 'heap', ADD n INT"),
            "ALTER TABLE t ENGINE InnoDB, ADD n INT"
        );
        assert_eq!(
            logged("ALTER TABLE t ENGINE=`Memory`"),
            "ALTER TABLE t ENGINE=InnoDB"
        );
        for same in [
            "DROP TABLE engine",
            "CREATE TABLE t (a INT) ENGINE=InnoDB",
            "ENGINE",
        ] {
            assert_eq!(logged(same), same);
        }
    }
}
