//! What passwords must be like: the variables `validate_password.…`, and VALIDATE_PASSWORD_STRENGTH().
//!
//! As in MySQL only passwords that are given as such are looked at: a hash does not tell.

use crate::{error::SqlError, variables::Values};
use std::collections::HashSet;

/// Shorter words of the dictionary, and shorter parts of a password, are not compared.
const WORD_CHARS_MIN: usize = 4;
/// Longer ones are not, either.
const WORD_CHARS_MAX: usize = 100;
/// The longest dictionary, in bytes.
pub const DICTIONARY_BYTES_MAX: u64 = 1 << 20;

/// Its name as a component of MySQL's.
pub const COMPONENT: &str = "file://component_validate_password";

/// validate_password.policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// LOW: the length.
    Low,
    /// MEDIUM: and which characters.
    Medium,
    /// STRONG: and no words of the dictionary.
    Strong,
}

/// What is asked of a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    level: Level,
    length: u64,
    mixed_case: u64,
    numbers: u64,
    special: u64,
    /// Whether it may not be the name of whoever sets it.
    check_user_name: bool,
}

/// The words that a strong password has none of, in lower case.
pub type Dictionary = HashSet<String>;

impl Policy {
    /// As the variables have it; none if validate_password.policy is OFF.
    #[must_use]
    pub fn of(values: &Values) -> Option<Policy> {
        let level = match values.text("validate_password.policy") {
            "LOW" => Level::Low,
            "MEDIUM" => Level::Medium,
            "STRONG" => Level::Strong,
            _ => return None,
        };
        Some(Policy {
            level,
            length: values.number("validate_password.length"),
            mixed_case: values.number("validate_password.mixed_case_count"),
            numbers: values.number("validate_password.number_count"),
            special: values.number("validate_password.special_char_count"),
            check_user_name: values.flag("validate_password.check_user_name"),
        })
    }

    /// 1819 for a password that is not as it must be; `names`: those of whoever sets it.
    ///
    /// # Errors
    /// That one.
    pub fn check(
        &self,
        password: &str,
        names: &[&str],
        words: &Dictionary,
    ) -> Result<(), SqlError> {
        let is_name = self.check_user_name && is_name(password, names);
        match !is_name && self.reached(password, words) >= Some(self.level) {
            true => Ok(()),
            false => Err(SqlError::password_policy()),
        }
    }

    /// VALIDATE_PASSWORD_STRENGTH(): 0, 25, 50, 75 or 100.
    #[must_use]
    pub fn strength(&self, password: &str, names: &[&str], words: &Dictionary) -> i64 {
        let is_name = self.check_user_name && is_name(password, names);
        if is_name || password.chars().count() < WORD_CHARS_MIN {
            return 0;
        }
        match self.reached(password, words) {
            None => 25,
            Some(Level::Low) => 50,
            Some(Level::Medium) => 75,
            Some(Level::Strong) => 100,
        }
    }

    /// The highest level that a password satisfies.
    fn reached(&self, password: &str, words: &Dictionary) -> Option<Level> {
        let count = |is: fn(char) -> bool| password.chars().filter(|&c| is(c)).count() as u64;
        if count(|_| true) < self.length {
            return None;
        }
        let special = |c: char| !c.is_uppercase() && !c.is_lowercase() && !c.is_ascii_digit();
        let is_mixed = count(char::is_uppercase) >= self.mixed_case
            && count(char::is_lowercase) >= self.mixed_case
            && count(|c| c.is_ascii_digit()) >= self.numbers
            && count(special) >= self.special;
        Some(match (is_mixed, has_word(password, words)) {
            (false, _) => Level::Low,
            (true, true) => Level::Medium,
            (true, false) => Level::Strong,
        })
    }
}

/// The shortest length that goes with the other variables: it cannot be less.
#[must_use]
pub fn least_length(values: &Values) -> u64 {
    let number = |name| values.number(name);
    number("validate_password.number_count")
        .saturating_add(number("validate_password.special_char_count"))
        .saturating_add(number("validate_password.mixed_case_count").saturating_mul(2))
}

/// The words of a dictionary, one a line.
#[must_use]
pub fn words(text: &str) -> Dictionary {
    let words = text.lines().map(str::trim);
    let fits = |word: &&str| (WORD_CHARS_MIN..=WORD_CHARS_MAX).contains(&word.chars().count());
    words.filter(fits).map(str::to_lowercase).collect()
}

/// Whether a password is one of these names, forwards or backwards.
fn is_name(password: &str, names: &[&str]) -> bool {
    let is = |name: &&str| {
        !name.is_empty() && (*name == password || name.chars().rev().eq(password.chars()))
    };
    names.iter().any(is)
}

/// Whether a part of a password is a word of the dictionary.
fn has_word(password: &str, words: &Dictionary) -> bool {
    if words.is_empty() {
        return false;
    }
    let lower: Vec<char> = password.to_lowercase().chars().collect();
    let most = WORD_CHARS_MAX.min(lower.len());
    (WORD_CHARS_MIN..=most).any(|length| {
        let mut parts = lower.windows(length);
        parts.any(|part| words.contains(&part.iter().collect::<String>()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Policy = Policy {
        level: Level::Medium,
        length: 8,
        mixed_case: 1,
        numbers: 1,
        special: 1,
        check_user_name: true,
    };

    #[test]
    fn strength_is_as_in_mysql() {
        let words = words("horse\nabc\nZebra stripes\n");
        for (password, strength) in [
            ("", 0),
            ("abc", 0),
            ("abcd", 25),
            ("abcd1234", 50),
            ("ABCDEFGH", 50),
            ("Abcd1234!", 100),
            ("Aé1!aaaa", 100),
            ("1!myHORSE", 75),
            ("1!Zebra stripes", 75),
            ("1!Abcabc", 100),
            ("root@Here1", 0),
            ("1ereH@toor", 0),
        ] {
            let strong = POLICY.strength(password, &["root@Here1", ""], &words);
            assert_eq!(strong, strength, "{password}");
        }
    }

    #[test]
    fn each_level_asks_for_what_it_says() {
        let words = words("horse");
        let may = |level, password: &str| {
            let policy = Policy { level, ..POLICY };
            policy.check(password, &["Chief-of-7"], &words).is_ok()
        };
        assert!(may(Level::Low, "aaaaaaaa") && !may(Level::Low, "aaaaaaa"));
        assert!(may(Level::Medium, "aaaaA-1a") && !may(Level::Medium, "aaaaaaaa"));
        assert!(may(Level::Medium, "A-1horse") && !may(Level::Strong, "A-1horse"));
        assert!(may(Level::Strong, "A-1house"));
        assert!(!may(Level::Low, "Chief-of-7") && !may(Level::Low, "7-fo-feihC"));
    }
}
