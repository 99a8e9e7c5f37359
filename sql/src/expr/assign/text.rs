//! What becomes a text is cut to what its column holds, in the column's character set.

use super::Target;
use crate::{
    error::SqlError,
    expr::{convert, types::NOT_FIXED},
    text::put_double_within,
};
use cohort_engine::types::{Charset, ColumnType, Value};

impl Target<'_, '_> {
    /// A text, from whatever it was.
    pub(super) fn string(&mut self, value: Value) -> Result<Value, SqlError> {
        let mut bytes = match value {
            Value::Bytes(bytes) => bytes,
            Value::Double(x) if !x.is_finite() => {
                let (name, row) = (&self.column.name, self.context.row_number);
                let error = SqlError::data_too_long(name, row);
                self.lossy(error)?;
                b"0".to_vec()
            }
            Value::Double(x) if let Some(length) = self.characters() => {
                let mut out = Vec::new();
                if !put_double_within(x, length, &mut out) {
                    self.too_long(&out)?;
                }
                out
            }
            other => {
                let mut out = Vec::new();
                convert::text(&other, NOT_FIXED, &mut out);
                out
            }
        };
        let binary = self.column.is_binary();
        let charset = self.column.collation.charset();
        let limit = match self.column.ty {
            ColumnType::Char(length) => usize::from(length),
            ColumnType::VarChar(length) => length as usize,
            _ => usize::MAX,
        };
        // What is behind the last character that fits is not looked at.
        let foreign = charset
            .foreign_at(&bytes)
            .filter(|&at| at < limit || self.column.collation.char_count(&bytes[..at]) < limit);
        if let Some(foreign) = foreign {
            let escaped = self.as_written(&bytes, foreign);
            let error = self.incorrect("string", escaped.as_bytes());
            self.lossy(error)?;
            match std::str::from_utf8(&bytes) {
                Ok(text) => bytes = charset.without_foreign(text).into(),
                Err(_) if self.is_converted() => {
                    let text = String::from_utf8_lossy(&bytes).replace('\u{FFFD}', "?");
                    bytes = charset.without_foreign(&text).into();
                }
                Err(_) => bytes.truncate(foreign),
            }
        }
        let end = match self.column.ty {
            ColumnType::Char(length) => self.column.collation.char_offset(&bytes, length.into()),
            ColumnType::VarChar(length) if bytes.len() > length as usize => {
                self.column.collation.char_offset(&bytes, length as usize)
            }
            ColumnType::Text(_) if !charset.is_as_stored() => {
                charset.fitting(&bytes, self.column.max_bytes() as usize)
            }
            ColumnType::Text(_) => self.whole_chars(&bytes),
            _ => bytes.len(),
        };
        if end < bytes.len() {
            if foreign.is_none() {
                self.too_long(&bytes[end..])?;
            }
            bytes.truncate(end);
        }
        if let ColumnType::Char(length) = self.column.ty {
            if binary {
                bytes.resize(length.into(), 0);
            } else {
                while bytes.last() == Some(&b' ') {
                    bytes.pop();
                }
            }
        }
        Ok(Value::Bytes(bytes))
    }

    /// How many characters the column has room for, if that is said.
    fn characters(&self) -> Option<usize> {
        match self.column.ty {
            ColumnType::Char(length) => Some(length.into()),
            ColumnType::VarChar(length) => Some(length as usize),
            _ => None,
        }
    }

    /// Whether a text of another character set is stored.
    fn is_converted(&self) -> bool {
        let charset = self.column.collation.charset();
        let from = self.source.as_ref().map(|(_, from)| from.charset());
        from.is_some_and(|from| from != charset && from != Charset::Binary)
    }

    /// A text from some byte on for an error, in the bytes it came in.
    fn as_written(&self, text: &[u8], from: usize) -> String {
        let (before, rest) = text.split_at(from);
        match &self.source {
            Some((bytes, collation)) if collation.is_binary() => {
                let before = self.column.collation.char_count(before);
                convert::printable(bytes.get(before..).unwrap_or_default())
            }
            Some((_, collation)) => convert::printable(&collation.charset().encode(rest)),
            None => convert::printable(rest),
        }
    }

    /// How much of a text fits into a TEXT column without cutting a character.
    fn whole_chars(&self, bytes: &[u8]) -> usize {
        let max = self.column.max_bytes() as usize;
        if bytes.len() <= max || self.column.is_binary() {
            return bytes.len().min(max);
        }
        (0..=max)
            .rev()
            .find(|&end| bytes[end] & 0xC0 != 0x80)
            .unwrap_or(0)
    }

    /// Something does not fit. Spaces may go: unnoticed from CHAR, with a note from others.
    fn too_long(&mut self, rest: &[u8]) -> Result<(), SqlError> {
        if !self.column.is_binary() && rest.iter().all(u8::is_ascii_whitespace) {
            if !matches!(self.column.ty, ColumnType::Char(_)) {
                let note = self.truncated();
                self.context.warnings.note(note);
            }
            return Ok(());
        }
        if self.context.is_strict() {
            return Err(SqlError::data_too_long(
                &self.column.name,
                self.context.row_number,
            ));
        }
        let warning = self.truncated();
        self.context.warnings.warn(warning);
        Ok(())
    }
}
