//! A tar archive (ustar, with GNU's numbers for files of 8 GiB and more) of plain files.
//!
//! There is one way to write a name and a length here, and what is read must be written so, padding
//! and end included: no byte of an archive can be another one unnoticed. Any tar unpacks it.

use std::io::{self, Read, Write};

const BLOCK: usize = 512;
/// A larger size does not fit into eleven octal digits.
const OCTAL_MAX: u64 = 1 << 33;
const SUM: std::ops::Range<usize> = 148..156;
const NAME_MAX: usize = 99;

fn octal(field: &mut [u8], value: u64) {
    let digits = format!("{value:0width$o}", width = field.len() - 1);
    for (to, from) in field.iter_mut().zip(digits.bytes()) {
        *to = from;
    }
}

/// The block before a file.
fn header(name: &str, length: u64) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    for (to, from) in block.iter_mut().zip(name.bytes().take(NAME_MAX)) {
        *to = from;
    }
    octal(&mut block[100..108], 0o640);
    octal(&mut block[108..116], 0);
    octal(&mut block[116..124], 0);
    if length < OCTAL_MAX {
        octal(&mut block[124..136], length);
    } else {
        block[124] = 0x80;
        block[128..136].copy_from_slice(&length.to_be_bytes());
    }
    octal(&mut block[136..148], 0);
    block[SUM].fill(b' ');
    block[156] = b'0';
    block[257..263].copy_from_slice(b"ustar\0");
    block[263..265].copy_from_slice(b"00");
    let sum = block.iter().map(|byte| u64::from(*byte)).sum();
    octal(&mut block[148..155], sum);
    block
}

fn padding(length: u64) -> usize {
    (length.next_multiple_of(BLOCK as u64) - length) as usize
}

/// Begins a file.
pub fn begin(out: &mut dyn Write, name: &str, length: u64) -> io::Result<()> {
    out.write_all(&header(name, length))
}

/// Ends one.
pub fn end(out: &mut dyn Write, length: u64) -> io::Result<()> {
    out.write_all(&[0; BLOCK][..padding(length)])
}

/// Ends the archive.
pub fn finish(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&[0; 2 * BLOCK])?;
    out.flush()
}

/// The next file's name and length; `None`: the archive ends, and nothing is behind it.
pub fn next(input: &mut dyn Read) -> Result<Option<(String, u64)>, String> {
    let mut block = [0; BLOCK];
    input.read_exact(&mut block).map_err(|error| cut(&error))?;
    if block == [0; BLOCK] {
        input.read_exact(&mut block).map_err(|error| cut(&error))?;
        let behind = input.read(&mut [0]).map_err(|error| cut(&error))?;
        return match block == [0; BLOCK] && behind == 0 {
            true => Ok(None),
            false => Err("the archive's end is damaged".to_owned()),
        };
    }
    let damaged = || {
        "a header of the archive is damaged, or cohort has not written it (what another tar has \
         packed must be unpacked, and the directory named)"
            .to_owned()
    };
    let name = block.iter().take(NAME_MAX).take_while(|byte| **byte != 0);
    let name = String::from_utf8(name.copied().collect()).map_err(|_| damaged())?;
    let field = &block[124..136];
    let length = match field.first() {
        Some(0x80) => field.last_chunk().copied().map(u64::from_be_bytes),
        _ => std::str::from_utf8(&field[..11])
            .ok()
            .and_then(|digits| u64::from_str_radix(digits, 8).ok()),
    };
    let length = length.ok_or_else(damaged)?;
    match header(&name, length) == block {
        true => Ok(Some((name, length))),
        false => Err(damaged()),
    }
}

/// What stands behind a file's bytes.
pub fn skip_padding(input: &mut dyn Read, length: u64) -> Result<(), String> {
    let mut block = [0; BLOCK];
    let padding = &mut block[..padding(length)];
    input.read_exact(padding).map_err(|error| cut(&error))?;
    match padding.iter().all(|byte| *byte == 0) {
        true => Ok(()),
        false => Err("the archive is damaged between two files".to_owned()),
    }
}

fn cut(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            "the archive ends too early: the backup has not come to its end, or was cut".to_owned()
        }
        _ => format!("cannot read the archive: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut archive: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
        let mut files = Vec::new();
        while let Some((name, length)) = next(&mut archive)? {
            if length > archive.len() as u64 {
                return Err("cut".to_owned());
            }
            let mut bytes = vec![0; length as usize];
            archive.read_exact(&mut bytes).unwrap();
            skip_padding(&mut archive, length)?;
            files.push((name, bytes));
        }
        Ok(files)
    }

    #[test]
    fn what_is_written_is_read_and_all_else_is_refused() {
        let mut archive = Vec::new();
        let files = [
            ("base.000001", 700),
            ("binlog.000001", 512),
            ("backup.json", 0),
        ];
        for (name, length) in files {
            begin(&mut archive, name, length as u64).unwrap();
            archive.resize(archive.len() + length, b'x');
            end(&mut archive, length as u64).unwrap();
        }
        finish(&mut archive).unwrap();
        let found = read(&archive).unwrap();
        let expected = files.map(|(name, length)| (name.to_owned(), vec![b'x'; length]));
        assert_eq!(found, expected);
        for at in 0..archive.len() {
            let mut other = archive.clone();
            other[at] ^= 4;
            // A byte of a file, which has its own sum, or none at all.
            assert!(read(&other).is_err() || archive[at] == b'x', "{at}");
            assert!(read(&archive[..at]).is_err(), "cut at {at}");
        }
        archive.push(0);
        assert!(read(&archive).is_err());
    }

    #[test]
    fn large_files_have_their_length() {
        let block = header("binlog.000001", 1 << 40);
        let mut archive = &block[..];
        let found = next(&mut archive).unwrap();
        assert_eq!(found, Some(("binlog.000001".to_owned(), 1 << 40)));
    }
}
