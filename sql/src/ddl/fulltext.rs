//! FULLTEXT indexes, by MySQL's rules.
//!
//! What a new index leaves out of texts is taken from the variables at once and kept with its
//! definition; an ALTER TABLE leaves it as it is.

use super::{DdlContext, syntax::PartSyntax};
use crate::error::SqlError;
use cohort_engine::{
    txn::{Batch, Isolation, KeyRange, Read, TxnOptions},
    types::fulltext::Parser,
    types::{Collation, Column, ColumnType, FullText, Index, IndexPart, Table, Value, row},
};
use std::sync::Arc;

/// What variables say of new indexes.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// innodb_ft_min_token_size and innodb_ft_max_token_size
    pub word_size: (u8, u8),
    /// ngram_token_size
    pub ngram_size: u8,
    /// innodb_ft_enable_stopword
    pub stopwords: bool,
    /// innodb_ft_user_stopword_table, or else innodb_ft_server_stopword_table: `database/table`.
    pub stopword_table: Option<String>,
}

/// Whether a column can be in an index whose first column has this collation: 1283, 3106, 3152.
pub(super) fn check_part(
    part: &PartSyntax,
    column: &Column,
    first: &mut Collation,
) -> Result<(), SqlError> {
    if part.desc {
        let what = "spatial/fulltext/hash index";
        return Err(SqlError::wrong_usage(what, "explicit index order"));
    }
    if column.ty == ColumnType::Json {
        return Err(SqlError::json_used_as_key(&column.name));
    }
    let is_text = matches!(
        column.ty,
        ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_)
    );
    let is_wide = column.collation.charset().min_char_bytes() > 1;
    if !is_text || column.is_binary() || is_wide || column.collation != *first {
        return Err(SqlError::not_for_fulltext(&column.name));
    }
    match column.is_virtual() {
        true => Err(SqlError::not_for_generated(
            "Fulltext index on virtual generated column",
        )),
        false => Ok(()),
    }
}

/// A part of such an index: the whole of a column, whatever prefix is written.
pub(super) fn part(column: u16) -> IndexPart {
    IndexPart {
        column,
        prefix: None,
        desc: false,
        trimmed: false,
    }
}

/// What WITH PARSER says of it, if anything.
pub(crate) fn parser_name(parser: Parser) -> Option<&'static str> {
    match parser {
        Parser::Words { .. } => None,
        Parser::Ngram(_) => Some("ngram"),
    }
}

/// A new index.
pub(super) fn define(
    index: Index,
    parser: Option<&str>,
    ctx: &DdlContext<'_>,
) -> Result<FullText, SqlError> {
    let settings = &ctx.fulltext;
    let parser = match parser {
        None => {
            let (min, max) = settings.word_size;
            Parser::Words { min, max }
        }
        Some(name) if name.eq_ignore_ascii_case("ngram") => Parser::Ngram(settings.ngram_size),
        Some(name) => return Err(SqlError::function_not_defined(name)),
    };
    let stopwords = match (&settings.stopword_table, settings.stopwords) {
        (_, false) => Some(Vec::new()),
        (None, true) => None,
        (Some(table), true) => Some(stopwords(table, ctx)?),
    };
    Ok(FullText {
        index,
        parser,
        stopwords: stopwords.map(Arc::from),
        prepared: Default::default(),
    })
}

/// An index that was there, with its new name, place or columns.
pub(super) fn kept(origin: &FullText, index: Index) -> FullText {
    FullText {
        index,
        ..origin.clone()
    }
}

/// The words of a table of stop words, whose only column is `value`.
fn stopwords(name: &str, ctx: &DdlContext<'_>) -> Result<Vec<String>, SqlError> {
    let wrong = || SqlError::wrong_value_for_variable("innodb_ft_user_stopword_table", name);
    let dictionary = ctx.engine.dictionary();
    let (database, table) = name.split_once('/').ok_or_else(wrong)?;
    let table = dictionary.table(database, table).ok_or_else(wrong)?;
    if !is_stopword_table(table) {
        return Err(wrong());
    }
    let options = TxnOptions {
        isolation: Isolation::ReadCommitted,
        read_only: true,
        lock_wait_ms: ctx.lock_wait_ms,
        table_lock_wait_ms: ctx.lock_wait_ms,
    };
    let mut txn = ctx.engine.begin(ctx.owner, options);
    let table = txn.use_table(table, false)?.ok_or_else(wrong)?;
    let all = KeyRange {
        low: Vec::new(),
        high: None,
    };
    let mut scan = txn.scan(table.rows, all, false, Read::Plain);
    let (mut words, mut batch) = (Vec::new(), Batch::default());
    loop {
        scan.next(&mut txn, &mut batch, 256)?;
        if batch.is_empty() {
            return Ok(words);
        }
        for at in 0..batch.len() {
            let row = row::decode(&table, batch.get(at).1);
            let row = row.map_err(|_| SqlError::internal("a damaged row"))?;
            if let Some(Value::Bytes(word)) = row.into_iter().next() {
                words.push(String::from_utf8_lossy(&word).into_owned());
            }
        }
    }
}

/// Whether stop words can be in a table: it has one column, a VARCHAR called `value`.
pub(crate) fn is_stopword_table(table: &Table) -> bool {
    match table.named_columns() {
        [column] => {
            column.name.eq_ignore_ascii_case("value")
                && matches!(column.ty, ColumnType::VarChar(_))
                && !column.is_binary()
        }
        _ => false,
    }
}
