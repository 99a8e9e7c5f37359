//! The names of months and days in the languages of the world: lc_time_names.

use std::sync::LazyLock;

/// MySQL's locales with the same names, by number and name; then months from January on, the same
/// abbreviated, days from Monday on, the same abbreviated.
const TABLE: &str = include_str!("languages.txt");

static LOCALES: LazyLock<Vec<Locale>> = LazyLock::new(read);

/// A locale, by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Language(u8);

struct Locale {
    name: &'static str,
    names: Names,
}

/// What months and days are called.
#[derive(Clone)]
struct Names {
    months: Vec<&'static str>,
    months_short: Vec<&'static str>,
    days: Vec<&'static str>,
    days_short: Vec<&'static str>,
}

/// The locales by their numbers.
fn read() -> Vec<Locale> {
    let mut numbered = Vec::new();
    for line in TABLE.lines() {
        let mut parts = line.split('|');
        let locales = parts.next().unwrap_or_default();
        let mut list = || parts.next().unwrap_or_default().split(',').collect();
        let names = Names {
            months: list(),
            months_short: list(),
            days: list(),
            days_short: list(),
        };
        for locale in locales.split(' ') {
            if let Some((number, name)) = locale.split_once(':') {
                let names = names.clone();
                numbered.push((number.parse().unwrap_or(u8::MAX), Locale { name, names }));
            }
        }
    }
    numbered.sort_unstable_by_key(|(number, _)| *number);
    numbered.into_iter().map(|(_, locale)| locale).collect()
}

impl Language {
    /// The locale of this name, in upper or lower case.
    #[must_use]
    pub fn find(name: &str) -> Option<Language> {
        let at = LOCALES
            .iter()
            .position(|locale| locale.name.eq_ignore_ascii_case(name))?;
        u8::try_from(at).ok().map(Language)
    }
    /// The locale of this number.
    #[must_use]
    pub fn numbered(number: i64) -> Option<Language> {
        let number = u8::try_from(number).ok()?;
        (usize::from(number) < LOCALES.len()).then_some(Language(number))
    }
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        LOCALES[usize::from(self.0)].name
    }
    /// What a month is called, of which January is 1.
    #[must_use]
    pub fn month(self, month: u8) -> Option<&'static str> {
        let at = usize::from(month).checked_sub(1)?;
        self.names().months.get(at).copied()
    }
    /// The same, abbreviated.
    #[must_use]
    pub fn month_short(self, month: u8) -> Option<&'static str> {
        let at = usize::from(month).checked_sub(1)?;
        self.names().months_short.get(at).copied()
    }
    /// What a day is called, of which Monday is 0.
    #[must_use]
    pub fn day(self, weekday: u8) -> Option<&'static str> {
        self.names().days.get(usize::from(weekday)).copied()
    }
    /// The same, abbreviated.
    #[must_use]
    pub fn day_short(self, weekday: u8) -> Option<&'static str> {
        self.names().days_short.get(usize::from(weekday)).copied()
    }

    fn names(self) -> &'static Names {
        &LOCALES[usize::from(self.0)].names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_locale_has_all_names_under_its_number() {
        assert_eq!(LOCALES.len(), 111);
        for (number, locale) in LOCALES.iter().enumerate() {
            let language = Language::find(locale.name).unwrap();
            assert_eq!(usize::from(language.0), number);
            let names = &locale.names;
            assert_eq!((names.months.len(), names.months_short.len()), (12, 12));
            assert_eq!((names.days.len(), names.days_short.len()), (7, 7));
        }
        assert_eq!(Language::default().name(), "en_US");
        assert_eq!(Language::numbered(111), None);
    }
}
