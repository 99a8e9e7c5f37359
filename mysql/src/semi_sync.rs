//! What a source and a semi-synchronous replica say to each other, as MySQL's plugins do: two bytes
//! before each event, and an answer to some.
//! (<https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication.html>)

use cohort_engine::log::{Position, file_number};

/// Both begin so.
const MAGIC: u8 = 0xef;
/// The longest answer, in bytes: a position and a file's name.
pub const ANSWER_MAX: usize = 1 + 8 + 512;

/// What stands before an event: whether the replica is to say that it has it.
#[must_use]
pub fn head(is_asked: bool) -> [u8; 2] {
    [MAGIC, is_asked.into()]
}

/// Reads that: whether to answer, and the event.
#[must_use]
pub fn parse_head(packet: &[u8]) -> Option<(bool, &[u8])> {
    match packet {
        [MAGIC, asked @ (0 | 1), event @ ..] => Some((*asked == 1, event)),
        _ => None,
    }
}

/// The replica has everything up to a position of a file.
#[must_use]
pub fn answer(file: &str, position: u64) -> Vec<u8> {
    let mut answer = vec![MAGIC];
    answer.extend_from_slice(&position.to_le_bytes());
    answer.extend_from_slice(file.as_bytes());
    answer
}

/// Reads that; `None` if it is no answer, or names no file of this log.
#[must_use]
pub fn parse_answer(packet: &[u8]) -> Option<Position> {
    let (&MAGIC, rest) = packet.split_first()? else {
        return None;
    };
    let (offset, name) = rest.split_first_chunk::<8>()?;
    let file = file_number(std::str::from_utf8(name).ok()?)?;
    let offset = u64::from_le_bytes(*offset);
    Some(Position { file, offset })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_engine::log::file_name;

    #[test]
    fn what_is_said_is_understood() {
        assert_eq!(
            parse_head(&[&head(true)[..], b"event"].concat()),
            Some((true, &b"event"[..]))
        );
        assert_eq!(parse_head(b"\xef\x02e"), None);
        assert_eq!(parse_head(b"e"), None);
        let place = Position {
            file: 7,
            offset: 5 << 32,
        };
        let told = answer(&file_name(place.file), place.offset);
        assert_eq!(parse_answer(&told), Some(place));
        assert!(told.len() <= ANSWER_MAX);
        assert_eq!(parse_answer(&told[..8]), None);
        assert_eq!(parse_answer(b"\x01"), None);
        assert_eq!(parse_answer(&answer("elsewhere.000001", 4)), None);
    }
}
