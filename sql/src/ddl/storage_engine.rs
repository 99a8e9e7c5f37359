//! ENGINE: there is one storage engine, and it is called InnoDB, as it does what MySQL's does.
//!
//! | The statement names | What becomes of it |
//! |---|---|
//! | InnoDB | obeyed |
//! | MyISAM, MEMORY, ARCHIVE, CSV | a table of InnoDB's kind, with warning 1266: it keeps what those keep, and transactions besides |
//! | BLACKHOLE, MRG_MYISAM | 1235: their tables do not keep the rows that are written to them |
//! | another | 1286; a warning and a table of InnoDB's kind without NO_ENGINE_SUBSTITUTION |

use super::{DdlContext, syntax::TableOptions};
use crate::{error::SqlError, expr::SqlMode};

/// What MySQL has, and a table of InnoDB's kind can stand for.
pub(super) const REPLACED: [&str; 5] = ["MyISAM", "MEMORY", "HEAP", "ARCHIVE", "CSV"];
/// What MySQL has, and nothing can stand for.
const REFUSED: [&str; 3] = ["BLACKHOLE", "MRG_MYISAM", "MERGE"];

/// Whether a table of InnoDB's kind stands for one of this engine.
pub(super) fn is_replaced(engine: &str) -> bool {
    REPLACED
        .iter()
        .any(|name| name.eq_ignore_ascii_case(engine))
}

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
