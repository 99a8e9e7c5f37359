//! Takes the bytes of a file apart: lines, and fields within them.
//!
//! What makes it hard is that a file is taken as it is: nothing that stands in it is an error, and
//! what each byte means depends on what MySQL makes of it. So this follows MySQL's rules to the
//! letter, with all that is odd about them:
//!
//! 1. A field that begins with the byte of ENCLOSED BY ends where that byte stands before the end of a
//!    field, of a line, or of the file. Twice it is itself. Anywhere else it is a byte like others.
//!    Where the file ends within such a field, the field is not enclosed, and begins with that byte.
//! 2. The escape byte makes the next byte itself, or a control character. If it encloses, too, it
//!    escapes itself only. At the end of the file it stands for itself.
//! 3. A line ends where its end stands outside an enclosed field, whether all fields have come or not.
//!    Without an end of lines, or if it is the end of fields, a line has as many fields as are wanted.
//! 4. Bytes of a character of several bytes are never an end, unless a character set that does not know
//!    them is named. A byte that begins no character of UTF-8 is an error, and a character that the
//!    file ends in is left out.
//!
//! The buffer holds the rest of a chunk, and grows as long as a field does not end in it. A field is a
//! piece of it, unless something in it was escaped or doubled.

use super::{
    super::{ExecContext, Stop},
    source::Source,
};
use crate::{error::SqlError, parse::FileFormat};
use cohort_engine::types::Charset;
use std::ops::Range;

/// A field may have so many bytes.
const FIELD_MAX: usize = 512 << 20;
/// What was read is given back when it is so much.
const KEEP: usize = 64 << 10;
/// No character takes more bytes.
const CHARACTER_MAX: usize = 4;

/// See the module.
pub struct Reader<'o> {
    source: Source<'o>,
    /// What was read and not given back.
    buffer: Vec<u8>,
    /// Where it goes on.
    at: usize,
    /// The source has no more.
    over: bool,
    escape: Option<u8>,
    enclosed: Option<u8>,
    between: Vec<u8>,
    lines: Vec<u8>,
    starting: Vec<u8>,
    charset: Charset,
    /// The bytes at which something may begin.
    special: [bool; 256],
    /// A line begins: what it starts by is to be looked for.
    at_start: bool,
    /// The line has ended, and `next_line` was not called.
    line_ended: bool,
    /// So has the file.
    ended: bool,
    /// Bytes were left out by the last `next_line`.
    pub cut: bool,
    /// The field, if it is not as it stands in the buffer.
    made: Vec<u8>,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    place: Place,
    /// It is NULL.
    pub is_null: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Buffer(Range<usize>),
    Made(Range<usize>),
}

/// How a field ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Plain,
    Enclosed,
    OfFile,
}

impl<'o> Reader<'o> {
    /// A reader of a source. `escape`: the byte that escapes others.
    pub fn new(
        source: Source<'o>,
        format: &FileFormat,
        escape: Option<u8>,
        charset: Charset,
    ) -> Reader<'o> {
        let mut lines = format.lines.clone();
        if lines == format.between {
            lines.clear();
        }
        let enclosed = format.enclosed.first().copied();
        let mut special = [false; 256];
        let firsts = [format.between.first(), lines.first()];
        for &byte in firsts.into_iter().flatten().chain(&escape).chain(&enclosed) {
            special[usize::from(byte)] = true;
        }
        if charset.max_char_bytes() > 1 && charset.min_char_bytes() == 1 {
            special[0x80..].fill(true);
        }
        Reader {
            source,
            buffer: Vec::new(),
            at: 0,
            over: false,
            escape,
            enclosed,
            between: format.between.clone(),
            at_start: !format.starting.is_empty(),
            lines,
            starting: format.starting.clone(),
            charset,
            special,
            line_ended: false,
            ended: false,
            cut: false,
            made: Vec::new(),
        }
    }

    /// Whether lines have an end of their own.
    pub fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    /// The source, for what is left of it.
    pub fn into_source(self) -> Source<'o> {
        self.source
    }

    /// The bytes of a field, until the next one is read.
    pub fn text(&self, field: &Field) -> &[u8] {
        let bytes = match &field.place {
            Place::Buffer(range) => self.buffer.get(range.clone()),
            Place::Made(range) => self.made.get(range.clone()),
        };
        bytes.unwrap_or_default()
    }

    /// Whether so many bytes are here, if the source has them.
    #[inline]
    fn has(&mut self, count: usize, context: &mut ExecContext) -> Result<bool, Stop> {
        if self.buffer.len() - self.at >= count {
            return Ok(true);
        }
        self.fetch(count, context)
    }

    fn fetch(&mut self, count: usize, context: &mut ExecContext) -> Result<bool, Stop> {
        while self.buffer.len() - self.at < count && !self.over {
            self.over = !self.source.append(&mut self.buffer, context)?;
        }
        Ok(self.buffer.len() - self.at >= count)
    }

    /// Nobody needs what was read any more.
    fn give_back(&mut self) {
        if self.at >= KEEP {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.buffer.get(self.at + ahead).copied()
    }

    /// Whether a separator stands so many bytes from here.
    fn is_here(
        &mut self,
        separator: fn(&Self) -> &[u8],
        ahead: usize,
        context: &mut ExecContext,
    ) -> Result<bool, Stop> {
        let (length, first) = (separator(self).len(), separator(self).first().copied());
        if first.is_none() || self.byte(ahead) != first {
            return Ok(false);
        }
        if !self.has(ahead + length, context)? {
            return Ok(false);
        }
        let from = self.at + ahead;
        let here = self.buffer.get(from..from + length);
        Ok(here == Some(separator(self)))
    }

    /// Steps over what a line starts by; false if the file ends first.
    fn find_start(&mut self, context: &mut ExecContext) -> Result<bool, Stop> {
        self.at_start = false;
        loop {
            self.give_back();
            if !self.has(1, context)? {
                self.line_ended = true;
                self.ended = true;
                return Ok(false);
            }
            if self.is_here(|reader| &reader.starting, 0, context)? {
                self.at += self.starting.len();
                return Ok(true);
            }
            self.at += 1;
        }
    }

    /// Whether another field begins in this line.
    fn begin(&mut self, context: &mut ExecContext) -> Result<bool, Stop> {
        if self.line_ended || self.at_start && !self.find_start(context)? {
            return Ok(false);
        }
        self.give_back();
        self.made.clear();
        Ok(true)
    }

    /// The next field of the line; `None` if it has no more.
    pub fn field(&mut self, context: &mut ExecContext) -> Result<Option<Field>, Stop> {
        if !self.begin(context)? {
            return Ok(None);
        }
        if !self.has(1, context)? {
            self.line_ended = true;
            self.ended = true;
            return Ok(None);
        }
        let first = self.at;
        let encloses = self.enclosed.is_some() && self.byte(0) == self.enclosed;
        if encloses {
            self.at += 1;
        }
        let mut from = first;
        let (mut saw_null, mut is_made) = (false, false);
        let (end, ended) = loop {
            self.pass_plain();
            if !self.has(1, context)? {
                self.line_ended = true;
                self.ended = true;
                break (self.at, End::OfFile);
            }
            if self.at - first > FIELD_MAX {
                return Err(SqlError::out_of_sort_memory().into());
            }
            let here = self.byte(0);
            if here == self.escape && self.escape.is_some() {
                if !self.has(2, context)? {
                    self.at += 1;
                    continue;
                }
                let next = self.byte(1).unwrap_or_default();
                if self.escape != self.enclosed || Some(next) == self.escape {
                    self.take(from, &mut is_made);
                    saw_null |= next == b'N';
                    from = self.escaped(next, context)?;
                    continue;
                }
            }
            if !encloses && self.is_here(|reader| &reader.lines, 0, context)? {
                let end = self.at;
                self.at += self.lines.len();
                self.line_ended = true;
                break (end, End::Plain);
            }
            if encloses && here == self.enclosed {
                if self.has(2, context)? && self.byte(1) == self.enclosed {
                    self.at += 1;
                    self.take(from, &mut is_made);
                    self.at += 1;
                    from = self.at;
                    continue;
                }
                let end = self.at;
                if self.has_ended_enclosed(context)? {
                    break (end, End::Enclosed);
                }
            } else if !encloses && self.is_here(|reader| &reader.between, 0, context)? {
                let end = self.at;
                self.at += self.between.len();
                break (end, End::Plain);
            }
            match self.character(from, context)? {
                0 => {
                    let end = self.at;
                    self.at = self.buffer.len();
                    self.line_ended = true;
                    self.ended = true;
                    break (end, End::OfFile);
                }
                bytes => self.at += bytes,
            }
        };
        let begun = if is_made { from } else { first };
        let text = self.place(begun..end, is_made, usize::from(ended == End::Enclosed));
        let mut field = Field {
            place: text,
            is_null: false,
        };
        let text = self.text(&field);
        let word = self.enclosed.is_some() && ended != End::Enclosed && text == b"NULL";
        field.is_null = word || saw_null && text.len() == 1;
        Ok(Some(field))
    }

    /// Where a field is that ends with these bytes, without so many at its beginning.
    fn place(&mut self, last: Range<usize>, is_made: bool, without: usize) -> Place {
        if !is_made {
            return Place::Buffer(last.start + without..last.end);
        }
        let rest = self.buffer.get(last).unwrap_or_default();
        self.made.extend_from_slice(rest);
        Place::Made(without..self.made.len())
    }

    /// Steps over the escape byte and what is behind it; returns where the rest of the field begins.
    fn escaped(&mut self, next: u8, context: &mut ExecContext) -> Result<usize, Stop> {
        if self.begins_several(next) {
            // The escape byte goes, and the character is taken as any other.
            self.at += 1;
            let from = self.at;
            self.at += self.character(from, context)?.max(1);
            return Ok(from);
        }
        self.made.push(unescaped(next));
        self.at += 2;
        Ok(self.at)
    }

    /// Steps over bytes that mean nothing.
    #[inline]
    fn pass_plain(&mut self) {
        let rest = self.buffer.get(self.at..).unwrap_or_default();
        let plain = rest
            .iter()
            .position(|byte| self.special[usize::from(*byte)]);
        self.at += plain.unwrap_or(rest.len());
    }

    /// Bytes from a place to here go into the field that is made.
    fn take(&mut self, from: usize, is_made: &mut bool) {
        *is_made = true;
        let bytes = self.buffer.get(from..self.at).unwrap_or_default();
        self.made.extend_from_slice(bytes);
    }

    /// Whether the field ends behind the enclosing byte that is here; then steps over the end.
    fn has_ended_enclosed(&mut self, context: &mut ExecContext) -> Result<bool, Stop> {
        if !self.has(2, context)? {
            self.at += 1;
            self.line_ended = true;
            return Ok(true);
        }
        if self.is_here(|reader| &reader.lines, 1, context)? {
            self.at += 1 + self.lines.len();
            self.line_ended = true;
            return Ok(true);
        }
        if self.is_here(|reader| &reader.between, 1, context)? {
            self.at += 1 + self.between.len();
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether a byte may be the first of several that are a character.
    fn begins_several(&self, byte: u8) -> bool {
        byte >= 0x80 && self.charset.max_char_bytes() > 1 && self.charset.min_char_bytes() == 1
    }

    /// How many bytes the character takes that is here: 1 for what is none, 0 if the file ends within
    /// it. 1300 for a byte with which none of UTF-8 begins. `from`: where what follows begins of which the field is not made yet.
    fn character(&mut self, from: usize, context: &mut ExecContext) -> Result<usize, Stop> {
        if !self.byte(0).is_some_and(|byte| self.begins_several(byte)) {
            return Ok(1);
        }
        self.has(CHARACTER_MAX, context)?;
        let rest = self.buffer.get(self.at..).unwrap_or_default();
        let rest = rest.get(..CHARACTER_MAX).unwrap_or(rest);
        match (
            self.charset.character_bytes(rest),
            self.charset.bytes_from(rest),
        ) {
            (Some(bytes), _) => Ok(bytes),
            (None, 0) => {
                let mut shown = self.made.clone();
                let rest = self.buffer.get(from..self.at).unwrap_or_default();
                shown.extend_from_slice(rest);
                let shown = String::from_utf8_lossy(&shown).replace('\u{FFFD}', "?");
                let name = self.charset.name();
                Err(SqlError::invalid_character_string(name, shown).into())
            }
            (None, bytes) if rest.len() < bytes => Ok(0),
            (None, _) => Ok(1),
        }
    }

    /// The next row of so many bytes, or fewer where its line ends; `None` at the end of the file.
    pub fn fixed(
        &mut self,
        bytes: usize,
        context: &mut ExecContext,
    ) -> Result<Option<&[u8]>, Stop> {
        if !self.begin(context)? {
            return Ok(None);
        }
        while self.made.len() < bytes {
            if !self.has(1, context)? {
                self.line_ended = true;
                self.ended = true;
                let is_none = self.made.is_empty();
                return Ok((!is_none).then_some(&self.made));
            }
            let here = self.byte(0).unwrap_or_default();
            if Some(here) == self.escape {
                let next = self.has(2, context)?.then(|| self.byte(1)).flatten();
                self.made.push(next.map_or(here, unescaped));
                self.at += 1 + usize::from(next.is_some());
                continue;
            }
            if self.is_here(|reader| &reader.lines, 0, context)? {
                self.at += self.lines.len();
                self.line_ended = true;
                break;
            }
            self.made.push(here);
            self.at += 1;
        }
        Ok(Some(&self.made))
    }

    /// Steps to the next line; false if there is none.
    pub fn next_line(&mut self, context: &mut ExecContext) -> Result<bool, Stop> {
        self.cut = false;
        self.at_start = !self.starting.is_empty();
        if self.line_ended || self.ended {
            self.line_ended = false;
            return Ok(!self.ended);
        }
        if !self.has_lines() {
            return Ok(true);
        }
        loop {
            self.give_back();
            if !self.has(1, context)? {
                self.ended = true;
                return Ok(false);
            }
            if self.is_here(|reader| &reader.lines, 0, context)? && self.byte(0) != self.escape {
                self.at += self.lines.len();
                return Ok(true);
            }
            self.cut = true;
            if self.byte(0) == self.escape && self.escape.is_some() {
                if !self.has(2, context)? {
                    self.at += 1;
                    return Ok(false);
                }
                self.at += 2;
                continue;
            }
            self.at += match self.charset.is_as_stored() {
                true => 1,
                false => self.character(self.at, context)?.max(1),
            };
        }
    }
}

/// What a byte stands for behind the escape byte.
fn unescaped(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}
