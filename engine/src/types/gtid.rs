//! Global transaction identifiers, and sets of them, as MySQL writes them.
//!
//! A GTID names a transaction for all servers that have it: the UUID of the server that committed
//! it first, and a number. Sets are kept as ranges: a server has nearly all numbers from 1 on.

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// The UUID of a server.
pub type ServerUuid = [u8; 16];

/// No number is larger (MySQL: GNO_END − 1).
pub const NUMBER_MAX: u64 = i64::MAX as u64 - 1;

/// The name of a transaction: `3e11fa47-71ca-11e1-9e33-c80aa9429562:23`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gtid {
    /// Who committed it first.
    pub source: ServerUuid,
    /// Its number there, from 1 on.
    pub number: u64,
}

impl Gtid {
    /// Reads what `Display` writes; spaces around its parts do not count.
    #[must_use]
    pub fn parse(text: &str) -> Option<Gtid> {
        let (source, number) = text.split_once(':')?;
        Some(Gtid {
            source: parse_uuid(source.trim())?,
            number: parse_number(number)?,
        })
    }
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", format_uuid(&self.source), self.number)
    }
}

/// The bytes of a UUID's text: 32 digits, in groups of 8, 4, 4, 4 and 12 or in one.
#[must_use]
pub fn parse_uuid(text: &str) -> Option<ServerUuid> {
    let digits: String = match text.len() {
        36 => {
            let groups: Vec<&str> = text.split('-').collect();
            let lengths = groups.iter().map(|group| group.len());
            if !lengths.eq([8, 4, 4, 4, 12]) {
                return None;
            }
            groups.concat()
        }
        32 => text.to_owned(),
        _ => return None,
    };
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let number = u128::from_str_radix(&digits, 16).ok()?;
    Some(number.to_be_bytes())
}

/// The text of a UUID: `3e11fa47-71ca-11e1-9e33-c80aa9429562`.
#[must_use]
pub fn format_uuid(uuid: &ServerUuid) -> String {
    let mut text = String::with_capacity(36);
    for (place, byte) in uuid.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

fn parse_number(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let number = digits.then(|| text.parse().ok())??;
    (1..=NUMBER_MAX).contains(&number).then_some(number)
}

/// Sorted ranges of numbers, both ends included, that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// The range that has a number, or the place where one would be.
    fn find(&self, number: u64) -> Result<usize, usize> {
        let behind = self.0.partition_point(|(first, _)| *first <= number);
        match behind.checked_sub(1).and_then(|at| self.0.get(at)) {
            Some((_, last)) if number <= *last => Ok(behind - 1),
            _ => Err(behind),
        }
    }

    fn add(&mut self, first: u64, last: u64) {
        // The ranges that it overlaps or touches become one.
        let from = self
            .0
            .partition_point(|(_, end)| end.saturating_add(1) < first);
        let to = self
            .0
            .partition_point(|(start, _)| *start <= last.saturating_add(1));
        let joined = self.0.get(from..to).unwrap_or_default();
        let first = joined.first().map_or(first, |(start, _)| first.min(*start));
        let last = joined.last().map_or(last, |(_, end)| last.max(*end));
        self.0.splice(from..to.max(from), [(first, last)]);
    }

    fn remove(&mut self, first: u64, last: u64) {
        let from = self.0.partition_point(|(_, end)| *end < first);
        let to = self.0.partition_point(|(start, _)| *start <= last);
        let cut = self.0.get(from..to.max(from)).unwrap_or_default();
        let left = cut
            .first()
            .filter(|(start, _)| *start < first)
            .map(|(start, _)| (*start, first - 1));
        let right = cut
            .last()
            .filter(|(_, end)| *end > last)
            .map(|(_, end)| (last + 1, *end));
        self.0
            .splice(from..to.max(from), left.into_iter().chain(right));
    }

    fn has(&self, first: u64, last: u64) -> bool {
        let at = self.find(first).ok().and_then(|at| self.0.get(at));
        at.is_some_and(|(_, end)| last <= *end)
    }

    fn first_missing(&self) -> u64 {
        match self.0.first() {
            Some((1, last)) => last.saturating_add(1),
            _ => 1,
        }
    }
}

/// Why a text names no set of GTIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GtidSetFlaw {
    /// It is malformed.
    Malformed,
    /// It has tags (MySQL 8.3), which Cohort does not know.
    Tagged,
}

/// A set of GTIDs. Records have its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct GtidSet(BTreeMap<ServerUuid, Ranges>);

impl GtidSet {
    /// The numbers 1 to `last` of one source.
    #[must_use]
    pub fn first(source: ServerUuid, last: u64) -> GtidSet {
        let mut set = GtidSet::default();
        set.add_range(source, 1, last);
        set
    }

    /// Reads `uuid:1-5:7,uuid:3`, with spaces and empty members as MySQL allows them.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<GtidSet, GtidSetFlaw> {
        let mut set = GtidSet::default();
        for member in text.split(',') {
            let member = member.trim();
            if member.is_empty() {
                continue;
            }
            let mut parts = member.split(':');
            let source = parts.next().and_then(|uuid| parse_uuid(uuid.trim()));
            let source = source.ok_or(GtidSetFlaw::Malformed)?;
            for range in parts {
                let (first, last) = parse_range(range.trim())?;
                set.add_range(source, first, last);
            }
        }
        Ok(set)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds one.
    pub fn add(&mut self, gtid: Gtid) {
        self.add_range(gtid.source, gtid.number, gtid.number);
    }

    /// Adds a range, both ends included; an empty one adds nothing.
    pub fn add_range(&mut self, source: ServerUuid, first: u64, last: u64) {
        if first <= last {
            self.0.entry(source).or_default().add(first, last);
        }
    }

    /// Takes one away.
    pub fn remove(&mut self, gtid: Gtid) {
        self.remove_range(gtid.source, gtid.number, gtid.number);
    }

    fn remove_range(&mut self, source: ServerUuid, first: u64, last: u64) {
        if let Some(ranges) = self.0.get_mut(&source) {
            ranges.remove(first, last);
            if ranges.0.is_empty() {
                self.0.remove(&source);
            }
        }
    }

    /// Adds all of another set.
    pub fn add_all(&mut self, other: &GtidSet) {
        for (source, first, last) in other.ranges() {
            self.add_range(source, first, last);
        }
    }

    /// Takes all of another set away.
    pub fn remove_all(&mut self, other: &GtidSet) {
        for (source, first, last) in other.ranges() {
            self.remove_range(source, first, last);
        }
    }

    /// Whether one is among them.
    #[must_use]
    pub fn contains(&self, gtid: Gtid) -> bool {
        let ranges = self.0.get(&gtid.source);
        ranges.is_some_and(|ranges| ranges.find(gtid.number).is_ok())
    }

    /// Whether any of another set is among them.
    #[must_use]
    pub fn meets(&self, other: &GtidSet) -> bool {
        let mut others = other.clone();
        others.remove_all(self);
        others != *other
    }

    /// Whether all of another set are among them.
    #[must_use]
    pub fn contains_all(&self, other: &GtidSet) -> bool {
        other.ranges().all(|(source, first, last)| {
            let ranges = self.0.get(&source);
            ranges.is_some_and(|ranges| ranges.has(first, last))
        })
    }

    /// Those of one source.
    #[must_use]
    pub fn of(&self, source: &ServerUuid) -> GtidSet {
        let ranges = self.0.get(source).cloned();
        GtidSet(ranges.map(|ranges| (*source, ranges)).into_iter().collect())
    }

    /// The first number of a source that is not among them.
    #[must_use]
    pub fn first_missing(&self, source: &ServerUuid) -> u64 {
        self.0.get(source).map_or(1, Ranges::first_missing)
    }

    /// The ranges of all sources, both ends included.
    pub fn ranges(&self) -> impl Iterator<Item = (ServerUuid, u64, u64)> + '_ {
        self.0.iter().flat_map(|(source, ranges)| {
            let ranges = ranges.0.iter();
            ranges.map(|(first, last)| (*source, *first, *last))
        })
    }

    /// MySQL's binary form, of PREVIOUS_GTIDS events and COM_BINLOG_DUMP_GTID: how many sources,
    /// and of each its UUID, how many ranges, and of each its first number and the one behind its
    /// last. All numbers have 8 bytes, little endian.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let put = |number: u64, out: &mut Vec<u8>| out.extend_from_slice(&number.to_le_bytes());
        put(self.0.len() as u64, &mut out);
        for (source, ranges) in &self.0 {
            out.extend_from_slice(source);
            put(ranges.0.len() as u64, &mut out);
            for (first, last) in &ranges.0 {
                put(*first, &mut out);
                put(last.saturating_add(1), &mut out);
            }
        }
        out
    }

    /// Reads what `encode` writes; the bytes may be anything.
    ///
    /// # Errors
    /// They are no set.
    pub fn decode(bytes: &[u8]) -> Result<GtidSet, GtidSetFlaw> {
        let mut rest = bytes;
        let mut number = || {
            let (number, behind) = rest.split_first_chunk::<8>()?;
            rest = behind;
            Some(u64::from_le_bytes(*number))
        };
        let sources = number().ok_or(GtidSetFlaw::Malformed)?;
        // The form that has room for tags says so in the highest byte.
        if sources >> 56 != 0 {
            return Err(GtidSetFlaw::Tagged);
        }
        let mut set = GtidSet::default();
        for _ in 0..sources {
            let (high, low) = number().zip(number()).ok_or(GtidSetFlaw::Malformed)?;
            let [high, low] = [high, low].map(u64::to_le_bytes);
            let mut source = [0; 16];
            source[..8].copy_from_slice(&high);
            source[8..].copy_from_slice(&low);
            for _ in 0..number().ok_or(GtidSetFlaw::Malformed)? {
                match number().zip(number()) {
                    Some((first, behind))
                        if 0 < first && first < behind && behind - 1 <= NUMBER_MAX =>
                    {
                        set.add_range(source, first, behind - 1);
                    }
                    _ => return Err(GtidSetFlaw::Malformed),
                }
            }
        }
        match rest {
            [] => Ok(set),
            _ => Err(GtidSetFlaw::Malformed),
        }
    }
}

fn parse_range(text: &str) -> Result<(u64, u64), GtidSetFlaw> {
    let is_tag = |c: char| c.is_ascii_alphabetic() || c == '_';
    if text.starts_with(is_tag) {
        return Err(GtidSetFlaw::Tagged);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    parse_number(first)
        .zip(parse_number(last))
        .ok_or(GtidSetFlaw::Malformed)
}

impl From<GtidSet> for String {
    fn from(set: GtidSet) -> String {
        set.to_string()
    }
}

impl TryFrom<String> for GtidSet {
    type Error = &'static str;

    fn try_from(text: String) -> Result<GtidSet, &'static str> {
        GtidSet::parse(&text).map_err(|_| "no set of GTIDs")
    }
}

/// As MySQL writes it: `uuid:1-5:7`, each further source on a line of its own.
impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (source, ranges)) in self.0.iter().enumerate() {
            let separator = if place > 0 { ",\n" } else { "" };
            write!(f, "{separator}{}", format_uuid(source))?;
            for (first, last) in &ranges.0 {
                match first == last {
                    true => write!(f, ":{first}")?,
                    false => write!(f, ":{first}-{last}")?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::splitmix::SplitMix64;
    use std::collections::BTreeSet;

    const A: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    const B: &str = "ffffffff-0000-0000-0000-00000000000a";

    #[test]
    fn texts() {
        let same = |text: &str, canonical: &str| {
            let set = GtidSet::parse(text).unwrap();
            assert_eq!(set.to_string(), canonical, "{text}");
            assert_eq!(GtidSet::decode(&set.encode()), Ok(set), "{text}");
        };
        same("", "");
        same(" , ", "");
        same(&format!("{A}:1-5:7"), &format!("{A}:1-5:7"));
        same(&format!(" {A} : 7 : 1 - 5 :6 "), &format!("{A}:1-7"));
        same(
            &format!("{B}:1,\n{A}:3-2:9,{}:2", B.to_uppercase()),
            &format!("{A}:9,\n{B}:1-2"),
        );
        same(A, "");
        for text in [
            "x",
            &format!("{A}:0"),
            &format!("{A}:1-"),
            &format!("{A}:1;"),
        ] {
            assert_eq!(GtidSet::parse(text), Err(GtidSetFlaw::Malformed), "{text}");
        }
        let tagged = format!("{A}:tag:1");
        assert_eq!(GtidSet::parse(&tagged), Err(GtidSetFlaw::Tagged));
        assert_eq!(GtidSet::decode(&[1, 2]), Err(GtidSetFlaw::Malformed));
    }

    /// Random ranges are added and removed, and the set compared with one of numbers.
    #[test]
    fn like_a_set_of_numbers() {
        let mut random = SplitMix64(7);
        for _ in 0..300 {
            let (mut set, mut model) = (GtidSet::default(), BTreeSet::new());
            for _ in 0..20 {
                let first = random.next_u64() % 30 + 1;
                let last = first + random.next_u64() % 6;
                let mut other = GtidSet::default();
                other.add_range([1; 16], first, last);
                if random.next_u64().is_multiple_of(3) {
                    set.remove_all(&other);
                    model.retain(|number| !(first..=last).contains(number));
                } else {
                    set.add_all(&other);
                    model.extend(first..=last);
                }
                let numbers = |number| Gtid {
                    source: [1; 16],
                    number,
                };
                for number in 1..40 {
                    assert_eq!(set.contains(numbers(number)), model.contains(&number));
                }
                let all = (first..=last).all(|number| model.contains(&number));
                assert_eq!(set.contains_all(&other), all);
                let missing = (1..).find(|number| !model.contains(number));
                assert_eq!(Some(set.first_missing(&[1; 16])), missing);
                let ranges: Vec<_> = set.ranges().collect();
                let apart = |pair: &[(ServerUuid, u64, u64)]| pair[0].2 + 1 < pair[1].1;
                assert!(ranges.windows(2).all(apart), "{ranges:?}");
                assert_eq!(set.is_empty(), model.is_empty());
            }
        }
    }
}
