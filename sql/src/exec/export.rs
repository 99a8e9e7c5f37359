//! SELECT … INTO OUTFILE and INTO DUMPFILE.
//!
//! The file is made before the first row is read, for a name that is taken is an error of its own. If
//! the statement fails it is removed again. What is written may be of commits that are not durable yet:
//! these are waited for before it leaves for the file.
//!
//! What MySQL writes is not always what LOAD DATA reads with the same clauses; all that is odd about
//! that is here, too, for files are compared byte by byte. See `Layout`.

use super::{ExecContext, Flow, Outcome, Stop, subquery::run_query};
use crate::{
    error::SqlError,
    expr::SqlMode,
    output::ColumnMeta,
    parse::{FileFormat, IntoFile},
    plan::Export,
    text::{self, TextForm},
};
use cohort_engine::{
    env::File,
    types::{Charset, ColumnType, Value},
};
use std::{borrow::Cow, path::PathBuf};

/// So many bytes are written at once.
const CHUNK: usize = 256 << 10;
/// Columns whose texts may have so many bytes make no fixed rows.
const BLOB_BYTES: u32 = 1 << 24;
/// What MySQL has a meaning for behind the escape byte.
const ESCAPED: &[u8] = b"ntrb0ZN";
/// What numbers are written with.
const NUMERIC: &[u8] = b".0123456789e+-";

/// Runs such a SELECT.
pub(super) fn export(export: &Export, context: &mut ExecContext) -> Result<Outcome, Stop> {
    let into = &export.file;
    let mut layout = None;
    if !into.dump {
        let mode = context.eval.statement.sql_mode;
        let escapes = !mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
        let made = Layout::new(&into.format, &export.columns, escapes);
        if let Some(warning) = into.format.check(characters)? {
            context.eval.warnings.warn(warning);
        }
        if made.is_ambiguous_between {
            context.eval.warnings.warn(SqlError::ambiguous_field_term());
        }
        layout = Some(made);
    }
    let mut file = NewFile::create(&into.path, context)?;
    let result = rows(export, layout.as_ref(), &mut file, context);
    match result.and_then(|rows| file.flush(context).map(|()| rows)) {
        Ok(rows) => Ok(Outcome {
            affected_rows: rows,
            rows,
            ..Outcome::default()
        }),
        Err(stop) => {
            file.remove(context);
            Err(stop)
        }
    }
}

/// How many characters a separator has.
fn characters(separator: &[u8]) -> usize {
    String::from_utf8_lossy(separator).chars().count()
}

/// Writes the rows, and returns how many there are.
fn rows(
    export: &Export,
    layout: Option<&Layout>,
    file: &mut NewFile,
    context: &mut ExecContext,
) -> Result<u64, Stop> {
    let (columns, into) = (&export.columns, &export.file);
    let limit = export.query.limit_of_rows(context.select_limit);
    let mut count = 0;
    if limit == 0 {
        return Ok(0);
    }
    run_query(&export.query, context, &[], &mut |context, row| {
        count += 1;
        match layout {
            Some(layout) => {
                layout.put(columns, into, row, count, &mut file.buffer, context);
            }
            None if count > 1 => return Err(SqlError::too_many_rows().into()),
            None => dump(columns, row, &mut file.buffer),
        }
        if file.buffer.len() >= CHUNK {
            file.flush(context)?;
        }
        Ok(if count >= limit {
            Flow::Stop
        } else {
            Flow::Continue
        })
    })?;
    Ok(count)
}

/// All values, one behind the other; of NULL a zero byte.
fn dump(columns: &[ColumnMeta], row: &[Value], out: &mut Vec<u8>) {
    for (column, value) in columns.iter().zip(row) {
        match value {
            Value::Null => out.push(0),
            _ => out.extend_from_slice(&shown(column, value).0),
        }
    }
}

/// The text of a value in the character set of its column, and which that is.
fn shown(column: &ColumnMeta, value: &Value) -> (Vec<u8>, Charset) {
    let mut shown = Vec::new();
    text::put(value, TextForm::of(column), &mut shown);
    let charset = match column.ty {
        Some(ColumnType::Json) => Charset::Utf8mb4,
        Some(ColumnType::Bit(_)) => Charset::Binary,
        Some(ty) if ty.has_collation() => column.collation.charset(),
        _ => Charset::Ascii,
    };
    match charset.encode(&shown) {
        Cow::Owned(encoded) => (encoded, charset),
        Cow::Borrowed(_) => (shown, charset),
    }
}

/// A file that is being written.
struct NewFile {
    path: PathBuf,
    file: File,
    written: u64,
    buffer: Vec<u8>,
}

impl NewFile {
    fn create(name: &str, context: &ExecContext) -> Result<NewFile, SqlError> {
        let (path, file) = context.files().create(name)?;
        Ok(NewFile {
            path,
            file,
            written: 0,
            buffer: Vec::new(),
        })
    }

    /// Writes what there is, when all that it tells of is durable.
    fn flush(&mut self, context: &mut ExecContext) -> Result<(), Stop> {
        context.look()?;
        context.engine.wait_for_reads(context.owner)?;
        let written = self.file.write_at(&self.buffer, self.written);
        written.map_err(|error| SqlError::error_on_write(self.path.display(), error))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Nothing of it is left; if it cannot be removed, that is no reason for another error.
    fn remove(self, context: &ExecContext) {
        let _ = context.engine.env().remove(&self.path);
    }
}

/// How rows are written: what FIELDS and LINES come to for these columns.
struct Layout {
    escape: Option<u8>,
    /// The byte that ends a field, and that which texts are looked through for: that which encloses,
    /// or else the former.
    between: Option<u8>,
    separator: Option<u8>,
    line: Option<u8>,
    /// Only texts are enclosed.
    optionally: bool,
    /// Behind the escape byte the separator would mean something else: it is doubled instead.
    is_ambiguous_separator: bool,
    /// Numbers may have the separator in them.
    is_unsafe_separator: bool,
    /// What ends a field may not be doubled, and is not escaped.
    is_ambiguous_between: bool,
    /// Fields have a fixed number of bytes, filled up with spaces.
    fixed: bool,
    ending: Vec<u8>,
}

impl Layout {
    fn new(format: &FileFormat, columns: &[ColumnMeta], escapes: bool) -> Layout {
        let between = format.between.first().copied();
        let enclosed = format.enclosed.first().copied();
        let ending = match format.lines.is_empty() {
            true => format.between.clone(),
            false => format.lines.clone(),
        };
        let separator = enclosed.or(between);
        let is_among = |byte: Option<u8>, set: &[u8]| byte.is_some_and(|byte| set.contains(&byte));
        let is_ambiguous_separator = is_among(separator, ESCAPED);
        let is_unsafe_separator = is_among(separator, NUMERIC);
        let has_blob = columns.iter().any(|column| column.length >= BLOB_BYTES);
        let texts = columns
            .iter()
            .take_while(|column| column.length < BLOB_BYTES);
        let (mut has_texts, mut has_numbers) = (false, false);
        for column in texts {
            match is_text(column) {
                true => has_texts = true,
                false => has_numbers = true,
            }
        }
        let optionally = match enclosed {
            None => true,
            Some(_) => format.optionally && between.is_some(),
        };
        let without_quotes =
            is_ambiguous_separator && enclosed.is_none() && (has_texts || is_unsafe_separator);
        let in_numbers = optionally && has_numbers && is_among(between, NUMERIC);
        Layout {
            escape: format.escape(!escapes),
            between,
            separator,
            line: ending.first().copied(),
            optionally,
            is_ambiguous_separator,
            is_unsafe_separator,
            is_ambiguous_between: without_quotes || in_numbers,
            fixed: format.is_fixed() && !has_blob,
            ending,
        }
    }

    /// Appends a row.
    fn put(
        &self,
        columns: &[ColumnMeta],
        into: &IntoFile,
        row: &[Value],
        number: u64,
        out: &mut Vec<u8>,
        context: &mut ExecContext,
    ) {
        out.extend_from_slice(&into.format.starting);
        for (at, (column, value)) in columns.iter().zip(row).enumerate() {
            if at > 0 {
                out.extend_from_slice(&into.format.between);
            }
            let mut used = 0;
            if value.is_null() {
                match self.escape {
                    _ if self.fixed => {}
                    Some(escape) => out.extend_from_slice(&[escape, b'N']),
                    None => out.extend_from_slice(b"NULL"),
                }
            } else {
                let (bytes, charset) = self.converted(column, value, into, number, context);
                let text = is_text(column);
                let enclosed = text || !self.optionally;
                let quotes = if enclosed {
                    &into.format.enclosed[..]
                } else {
                    &[]
                };
                used = match self.fixed {
                    true => bytes.len().min(column.length as usize),
                    false => bytes.len(),
                };
                let bytes = bytes.get(..used).unwrap_or_default();
                out.extend_from_slice(quotes);
                match self.escape {
                    Some(escape) if text || self.is_unsafe_separator => {
                        let enclosed = !quotes.is_empty();
                        self.put_escaped(bytes, charset, escape, enclosed, out);
                    }
                    _ => out.extend_from_slice(bytes),
                }
                out.extend_from_slice(quotes);
            }
            self.fill(column, used, out);
        }
        out.extend_from_slice(&self.ending);
    }

    /// Fills a field up, if it has a fixed number of bytes.
    fn fill(&self, column: &ColumnMeta, used: usize, out: &mut Vec<u8>) {
        let wanted = column.length as usize;
        if self.fixed && wanted > used {
            out.resize(out.len() + wanted - used, b' ');
        }
    }

    /// The text of a value in the character set of the file, and which it is in now. 1366 is a warning
    /// of what that does not have.
    fn converted(
        &self,
        column: &ColumnMeta,
        value: &Value,
        into: &IntoFile,
        number: u64,
        context: &mut ExecContext,
    ) -> (Vec<u8>, Charset) {
        let (bytes, own) = shown(column, value);
        let wanted = match into.charset {
            Some(wanted) if wanted != own && wanted != Charset::Binary => wanted,
            _ => return (bytes, own),
        };
        let text = match own {
            Charset::Binary => wanted.decode(&bytes),
            _ => own.decode(&bytes),
        };
        if let Some(foreign) = wanted.foreign_at(&text) {
            let fits = text.get(..foreign).unwrap_or_default();
            let shown = match own {
                Charset::Binary => bytes.get(wanted.encode(fits).len()..).map(printable),
                _ => text.get(foreign..).map(|rest| printable(&own.encode(rest))),
            };
            let shown = shown.unwrap_or_default();
            let name = &column.name;
            let lost = SqlError::incorrect_value_for_column("string", shown, name, number);
            context.eval.warnings.warn(lost);
            if own == Charset::Binary {
                // Of bytes that are no text nothing more is left.
                return (wanted.encode(fits).into_owned(), wanted);
            }
        }
        (wanted.encode(&text).into_owned(), wanted)
    }

    /// Appends a text with an escape byte before all that would mean something else.
    fn put_escaped(
        &self,
        bytes: &[u8],
        charset: Charset,
        escape: u8,
        enclosed: bool,
        out: &mut Vec<u8>,
    ) {
        let mut rest = bytes;
        while let Some((&byte, behind)) = rest.split_first() {
            let length = match byte {
                0..=0x7F if charset.min_char_bytes() == 1 => 1,
                _ if charset.min_char_bytes() > 1 => charset.min_char_bytes() as usize,
                _ => charset.character_bytes(rest).unwrap_or(1),
            };
            if length > 1 {
                let (character, behind) = rest.split_at(length.min(rest.len()));
                out.extend_from_slice(character);
                rest = behind;
                continue;
            }
            let is = |one: Option<u8>| one == Some(byte);
            let ends = if enclosed {
                self.separator
            } else {
                self.between
            };
            let special = byte == escape || is(ends) || is(self.line) || byte == 0;
            let doubled_between = !enclosed && self.is_ambiguous_between && is(self.between);
            if special && !doubled_between {
                let doubles = is(self.separator) && self.is_ambiguous_separator;
                out.push(if doubles { byte } else { escape });
                out.push(if byte == 0 { b'0' } else { byte });
            } else {
                out.push(byte);
            }
            rest = behind;
        }
    }
}

/// Whether MySQL computes the column as a text: strings, bits, documents, moments, and NULL.
fn is_text(column: &ColumnMeta) -> bool {
    match column.ty {
        None | Some(ColumnType::Json) => true,
        Some(ColumnType::Year) => false,
        Some(ty) => ty.has_collation() || ty.is_temporal() || matches!(ty, ColumnType::Bit(_)),
    }
}

/// The first bytes of what a character set does not have, as errors show them.
fn printable(bytes: &[u8]) -> String {
    /// MySQL shows no more.
    const SHOWN_MAX: usize = 6;
    let mut shown = String::new();
    for &byte in bytes.iter().take(SHOWN_MAX) {
        match byte {
            0x20..=0x7E => shown.push(byte.into()),
            _ => shown.push_str(&format!("\\x{byte:02X}")),
        }
    }
    if bytes.len() > SHOWN_MAX {
        shown.push_str("...");
    }
    shown
}
