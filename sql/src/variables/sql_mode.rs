//! sql_mode: switches of MySQL's behaviour.

#[cfg(test)]
use super::Effect;
use crate::{error::SqlError, expr::SqlMode};

/// The set of modes that are on, one bit each, in the order of `NAMES`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Modes(u64);

/// The names, by bit (MySQL's own bit numbers; holes are modes that are no more).
const NAMES: [&str; 33] = [
    "REAL_AS_FLOAT",
    "PIPES_AS_CONCAT",
    "ANSI_QUOTES",
    "IGNORE_SPACE",
    "",
    "ONLY_FULL_GROUP_BY",
    "NO_UNSIGNED_SUBTRACTION",
    "NO_DIR_IN_CREATE",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "ANSI",
    "NO_AUTO_VALUE_ON_ZERO",
    "NO_BACKSLASH_ESCAPES",
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE",
    "ALLOW_INVALID_DATES",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "TRADITIONAL",
    "",
    "HIGH_NOT_PRECEDENCE",
    "NO_ENGINE_SUBSTITUTION",
    "PAD_CHAR_TO_FULL_LENGTH",
    "TIME_TRUNCATE_FRACTIONAL",
];

/// What each mode changes; those that stand for others are these.
#[cfg(test)]
pub(super) const EFFECTS: [(&str, Effect); 20] = {
    use Effect::{Nothing, Shown};
    const MODES: &str = "sql/tests/golden/modes.sql";
    const OBEYED: &str = "sql/tests/golden/obeyed.sql";
    [
        ("REAL_AS_FLOAT", Shown(OBEYED)),
        ("PIPES_AS_CONCAT", Shown(MODES)),
        ("ANSI_QUOTES", Shown(MODES)),
        (
            "IGNORE_SPACE",
            Nothing("a space may always stand between a function and its arguments"),
        ),
        ("ONLY_FULL_GROUP_BY", Shown(MODES)),
        ("NO_UNSIGNED_SUBTRACTION", Shown(OBEYED)),
        (
            "NO_DIR_IN_CREATE",
            Nothing("directories of tables are refused"),
        ),
        ("ANSI", Shown("sql/tests/golden/guarded.sql")),
        ("NO_AUTO_VALUE_ON_ZERO", Shown(MODES)),
        ("NO_BACKSLASH_ESCAPES", Shown(MODES)),
        (
            "STRICT_TRANS_TABLES",
            Shown("sql/tests/golden/variables.sql"),
        ),
        ("STRICT_ALL_TABLES", Shown(MODES)),
        ("NO_ZERO_IN_DATE", Shown(MODES)),
        ("NO_ZERO_DATE", Shown(MODES)),
        ("ALLOW_INVALID_DATES", Shown(MODES)),
        ("ERROR_FOR_DIVISION_BY_ZERO", Shown(MODES)),
        ("TRADITIONAL", Shown(MODES)),
        ("HIGH_NOT_PRECEDENCE", Shown(OBEYED)),
        (
            "NO_ENGINE_SUBSTITUTION",
            Shown("sql/tests/golden/storage_engines.sql"),
        ),
        (
            "TIME_TRUNCATE_FRACTIONAL",
            Shown("sql/tests/golden/fractions_cut.sql"),
        ),
    ]
};

/// Modes that are refused, because what they change is not done here.
pub(super) const REFUSED: [&str; 1] = ["PAD_CHAR_TO_FULL_LENGTH"];

impl Modes {
    /// Its bits.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }
    /// 1235 if a mode that is refused is on.
    pub fn check(self) -> Result<Modes, SqlError> {
        let on = |name: &&&str| {
            let bit = NAMES.iter().position(|known| known == *name);
            bit.is_some_and(|bit| self.0 & (1 << bit) != 0)
        };
        match REFUSED.iter().find(on) {
            Some(name) => Err(SqlError::not_supported(format_args!("sql_mode = {name}"))),
            None => Ok(self),
        }
    }
    /// Whether strict mode is on without the three that belong to it, or they without it.
    pub fn is_half_strict(self) -> bool {
        let mode = self.evaluation();
        let three = [
            SqlMode::NO_ZERO_DATE,
            SqlMode::NO_ZERO_IN_DATE,
            SqlMode::ERROR_FOR_DIVISION_BY_ZERO,
        ];
        if mode.has(SqlMode::STRICT) {
            !three.iter().all(|one| mode.has(*one))
        } else {
            three.iter().any(|one| mode.has(*one))
        }
    }
    /// What expressions and statements look at.
    pub fn evaluation(self) -> SqlMode {
        let on = |bit: u32| self.0 & (1 << bit) != 0;
        let pairs = [
            (0, SqlMode::REAL_AS_FLOAT),
            (1, SqlMode::PIPES_AS_CONCAT),
            (2, SqlMode::ANSI_QUOTES),
            (3, SqlMode::IGNORE_SPACE),
            (5, SqlMode::ONLY_FULL_GROUP_BY),
            (6, SqlMode::NO_UNSIGNED_SUBTRACTION),
            (7, SqlMode::NO_DIR_IN_CREATE),
            (18, SqlMode::ANSI),
            (19, SqlMode::NO_AUTO_VALUE_ON_ZERO),
            (20, SqlMode::NO_BACKSLASH_ESCAPES),
            (21, SqlMode::STRICT),
            (22, SqlMode::STRICT.with(SqlMode::STRICT_ALL)),
            (23, SqlMode::NO_ZERO_IN_DATE),
            (24, SqlMode::NO_ZERO_DATE),
            (25, SqlMode::ALLOW_INVALID_DATES),
            (26, SqlMode::ERROR_FOR_DIVISION_BY_ZERO),
            (29, SqlMode::HIGH_NOT_PRECEDENCE),
            (30, SqlMode::NO_ENGINE_SUBSTITUTION),
            (32, SqlMode::TIME_TRUNCATE_FRACTIONAL),
        ];
        let set = pairs.into_iter().filter(|(bit, _)| on(*bit));
        set.fold(SqlMode::default(), |modes, (_, mode)| modes.with(mode))
    }
    /// From the number of a set: 1231 if it has unknown bits.
    pub fn from_bits(bits: u64) -> Result<Modes, SqlError> {
        for bit in 0..64 {
            let known = NAMES.get(bit).is_some_and(|name| !name.is_empty());
            if bits & (1 << bit) != 0 && !known {
                return Err(SqlError::wrong_value_for_variable("sql_mode", bits));
            }
        }
        Ok(Modes(bits).expanded())
    }
    /// From names with commas between them.
    pub fn parse(text: &str) -> Result<Modes, SqlError> {
        let mut bits = 0;
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let known = NAMES
                .iter()
                .position(|name| !name.is_empty() && name.eq_ignore_ascii_case(word.trim_end()));
            let Some(bit) = known else {
                return Err(SqlError::wrong_value_for_variable("sql_mode", word));
            };
            bits |= 1 << bit;
        }
        Ok(Modes(bits).expanded())
    }
    /// ANSI and TRADITIONAL stand for several modes, which they add to themselves.
    fn expanded(self) -> Modes {
        let mut bits = self.0;
        if bits & (1 << 18) != 0 {
            bits |= 0b10_1111; // REAL_AS_FLOAT … IGNORE_SPACE, ONLY_FULL_GROUP_BY
        }
        if bits & (1 << 27) != 0 {
            bits |= 0b0100_0101_1110 << 20; // strict modes, dates, division, engines
        }
        Modes(bits)
    }
}

impl std::fmt::Display for Modes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = NAMES.iter().enumerate();
        let on: Vec<&str> = names
            .filter(|(bit, _)| self.0 & (1 << bit) != 0)
            .map(|(_, name)| *name)
            .collect();
        f.write_str(&on.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_in_mysqls_order() {
        let mode = Modes::parse("STRICT_TRANS_TABLES,only_full_group_by").unwrap();
        assert_eq!(mode.to_string(), "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES");
        assert!(mode.evaluation().has(SqlMode::STRICT));
        assert_eq!(Modes::from_bits(mode.0), Ok(mode));
    }

    #[test]
    fn combinations_expand() {
        let ansi = Modes::parse("ANSI").unwrap().to_string();
        assert_eq!(
            ansi,
            "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI"
        );
    }

    #[test]
    fn traditional_is_mysqls() {
        let traditional = Modes::parse("TRADITIONAL").unwrap().to_string();
        assert_eq!(
            traditional,
            "STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
             ERROR_FOR_DIVISION_BY_ZERO,TRADITIONAL,NO_ENGINE_SUBSTITUTION"
        );
    }

    #[test]
    fn every_mode_is_obeyed_or_refused() {
        for name in NAMES.iter().filter(|name| !name.is_empty()) {
            let obeyed = EFFECTS.iter().any(|(known, _)| known == name);
            assert_ne!(obeyed, REFUSED.contains(name), "{name}");
        }
    }

    #[test]
    fn what_is_not_done_is_refused() {
        for name in REFUSED {
            assert_eq!(Modes::parse(name).unwrap().check().unwrap_err().code, 1235);
        }
        assert!(Modes::parse("ANSI,TRADITIONAL").unwrap().check().is_ok());
    }

    #[test]
    fn unknown_names_are_refused() {
        assert_eq!(
            Modes::parse("STRICT_TRANS_TABLES,nope").unwrap_err().code,
            1231
        );
        assert_eq!(Modes::from_bits(1 << 10).unwrap_err().code, 1231);
    }
}
