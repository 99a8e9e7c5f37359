//! The values of ENUM and SET columns, and the lists of members that they are chosen from.
//!
//! Such a value is a number (of an ENUM the member's, from 1; of a SET a bit for each member) and a
//! text at once: which of the two counts depends on what is asked of it. So a value carries both.

use super::{
    Collation,
    value::{Member, Value},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The members that an ENUM or SET column was declared with, in their order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub struct Members {
    texts: Arc<[String]>,
    /// The values of an ENUM by their numbers; the first one is that of a text that is no member.
    values: Arc<[Arc<Member>]>,
}

impl Members {
    /// A list of these members.
    #[must_use]
    pub fn new(texts: Vec<String>) -> Members {
        let empty = shared(0, Vec::new());
        let named = (1..).zip(&texts);
        let named = named.map(|(number, text)| shared(number, text.clone().into_bytes()));
        Members {
            values: std::iter::once(empty).chain(named).collect(),
            texts: texts.into(),
        }
    }
    /// The members' texts.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }
    /// Whether it has none: the column is no ENUM or SET.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
    /// The position of the member with this text.
    #[must_use]
    pub fn position(&self, text: &[u8], collation: Collation) -> Option<usize> {
        let is_it = |member: &String| collation.compare(member.as_bytes(), text).is_eq();
        self.texts.iter().position(is_it)
    }
    /// The bits of the members that a text names, with commas between them; and whether all that it
    /// names are members.
    #[must_use]
    pub fn bits(&self, text: &[u8], collation: Collation) -> (u64, bool) {
        if text.is_empty() {
            return (0, true);
        }
        let (mut bits, mut all) = (0, true);
        for part in text.split(|&byte| byte == b',') {
            match self.position(part, collation) {
                Some(position) => bits |= 1 << position,
                None => all = false,
            }
        }
        (bits, all)
    }
    /// The value of an ENUM with this number; 0 is what is no member.
    #[must_use]
    pub fn one(&self, number: u64) -> Option<Value> {
        let value = self.values.get(usize::try_from(number).ok()?)?;
        Some(Value::Member(Arc::clone(value)))
    }
    /// The value of a SET with these bits.
    #[must_use]
    pub fn several(&self, number: u64) -> Option<Value> {
        if number & !self.all() != 0 {
            return None;
        }
        let mut text = Vec::new();
        for (bit, member) in self.texts.iter().enumerate() {
            if number >> bit & 1 == 1 {
                if !text.is_empty() {
                    text.push(b',');
                }
                text.extend_from_slice(member.as_bytes());
            }
        }
        Some(Value::Member(shared(number, text)))
    }
    /// The bits of all members of a SET.
    #[must_use]
    pub fn all(&self) -> u64 {
        match self.texts.len() {
            0 => 0,
            count => u64::MAX >> (64 - count.min(64)),
        }
    }
    /// Whether `longer` has these members first, in the same order.
    #[must_use]
    pub fn begin(&self, longer: &Members) -> bool {
        longer.texts.starts_with(&self.texts)
    }
    /// The characters of the longest member.
    #[must_use]
    pub fn longest(&self) -> u32 {
        let lengths = self.texts.iter().map(|text| text.chars().count());
        u32::try_from(lengths.max().unwrap_or(0)).unwrap_or(u32::MAX)
    }
    /// The characters of all members, with commas between them.
    #[must_use]
    pub fn together(&self) -> u32 {
        let characters = self.texts.iter().map(|text| text.chars().count() + 1);
        let all = characters.sum::<usize>().saturating_sub(1);
        u32::try_from(all).unwrap_or(u32::MAX)
    }
}

/// A value, to be shared by all rows that have it.
fn shared(number: u64, text: Vec<u8>) -> Arc<Member> {
    let text = Value::Bytes(text);
    Arc::new(Member { number, text })
}

/// A text without the spaces at its end.
#[must_use]
pub fn without_end_spaces(text: &[u8]) -> &[u8] {
    let last = text.iter().rposition(|&byte| byte != b' ');
    &text[..last.map_or(0, |last| last + 1)]
}

impl Default for Members {
    fn default() -> Members {
        Members::new(Vec::new())
    }
}

impl PartialEq for Members {
    fn eq(&self, other: &Members) -> bool {
        self.texts == other.texts
    }
}

impl Eq for Members {}

impl From<Vec<String>> for Members {
    fn from(texts: Vec<String>) -> Members {
        Members::new(texts)
    }
}

impl From<Members> for Vec<String> {
    fn from(members: Members) -> Vec<String> {
        members.texts.to_vec()
    }
}
