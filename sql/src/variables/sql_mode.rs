//! sql_mode: switches of MySQL's behaviour.

use crate::{error::SqlError, expr, lexer};

/// The set of modes that are on, one bit each, in the order of `NAMES`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SqlMode(u64);

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

impl SqlMode {
    /// `||` concatenates.
    pub const PIPES_AS_CONCAT: SqlMode = SqlMode(1 << 1);
    /// `"` quotes names.
    pub const ANSI_QUOTES: SqlMode = SqlMode(1 << 2);
    /// 1055 for columns outside GROUP BY.
    pub const ONLY_FULL_GROUP_BY: SqlMode = SqlMode(1 << 5);
    /// Unsigned subtraction may be negative.
    pub const NO_UNSIGNED_SUBTRACTION: SqlMode = SqlMode(1 << 6);
    /// 0 is a value like others for AUTO_INCREMENT columns.
    pub const NO_AUTO_VALUE_ON_ZERO: SqlMode = SqlMode(1 << 19);
    /// `\` is an ordinary character.
    pub const NO_BACKSLASH_ESCAPES: SqlMode = SqlMode(1 << 20);
    /// Bad values are errors.
    pub const STRICT_TRANS_TABLES: SqlMode = SqlMode(1 << 21);
    /// Bad values are errors.
    pub const STRICT_ALL_TABLES: SqlMode = SqlMode(1 << 22);
    /// Months and days of 0 are refused.
    pub const NO_ZERO_IN_DATE: SqlMode = SqlMode(1 << 23);
    /// 0000-00-00 is refused.
    pub const NO_ZERO_DATE: SqlMode = SqlMode(1 << 24);
    /// Days are only checked to be at most 31.
    pub const ALLOW_INVALID_DATES: SqlMode = SqlMode(1 << 25);
    /// Division by zero is an error (strict) or a warning.
    pub const ERROR_FOR_DIVISION_BY_ZERO: SqlMode = SqlMode(1 << 26);
    /// NOT binds tighter than comparisons.
    pub const HIGH_NOT_PRECEDENCE: SqlMode = SqlMode(1 << 29);
    /// An unknown ENGINE is an error.
    pub const NO_ENGINE_SUBSTITUTION: SqlMode = SqlMode(1 << 30);
    /// CHAR values come back with their padding.
    pub const PAD_CHAR_TO_FULL_LENGTH: SqlMode = SqlMode(1 << 31);
    /// Fractions of seconds are cut, not rounded.
    pub const TIME_TRUNCATE_FRACTIONAL: SqlMode = SqlMode(1 << 32);

    /// Whether any of these modes is on.
    #[must_use]
    pub fn has(self, modes: SqlMode) -> bool {
        self.0 & modes.0 != 0
    }
    /// Whether bad values are errors.
    #[must_use]
    pub fn strict(self) -> bool {
        self.has(SqlMode(
            Self::STRICT_TRANS_TABLES.0 | Self::STRICT_ALL_TABLES.0,
        ))
    }
    /// The modes that change how text is split into tokens.
    #[must_use]
    pub fn lexer(self) -> lexer::Mode {
        lexer::Mode {
            ansi_quotes: self.has(Self::ANSI_QUOTES),
            no_backslash_escapes: self.has(Self::NO_BACKSLASH_ESCAPES),
            pipes_as_concat: self.has(Self::PIPES_AS_CONCAT),
            high_not_precedence: self.has(Self::HIGH_NOT_PRECEDENCE),
        }
    }
    /// The modes that change how expressions are evaluated and values are stored.
    #[must_use]
    pub fn for_expressions(self) -> expr::SqlMode {
        use expr::SqlMode as Mode;
        const MODES: [(u64, Mode); 18] = [
            (SqlMode::STRICT_TRANS_TABLES.0, Mode::STRICT),
            (SqlMode::STRICT_ALL_TABLES.0, Mode::STRICT),
            (SqlMode::STRICT_ALL_TABLES.0, Mode::STRICT_ALL),
            (SqlMode::NO_ZERO_DATE.0, Mode::NO_ZERO_DATE),
            (SqlMode::NO_ZERO_IN_DATE.0, Mode::NO_ZERO_IN_DATE),
            (
                SqlMode::ERROR_FOR_DIVISION_BY_ZERO.0,
                Mode::ERROR_FOR_DIVISION_BY_ZERO,
            ),
            (SqlMode::ANSI_QUOTES.0, Mode::ANSI_QUOTES),
            (SqlMode::PIPES_AS_CONCAT.0, Mode::PIPES_AS_CONCAT),
            (SqlMode::NO_BACKSLASH_ESCAPES.0, Mode::NO_BACKSLASH_ESCAPES),
            (
                SqlMode::NO_UNSIGNED_SUBTRACTION.0,
                Mode::NO_UNSIGNED_SUBTRACTION,
            ),
            (SqlMode::ALLOW_INVALID_DATES.0, Mode::ALLOW_INVALID_DATES),
            (
                SqlMode::PAD_CHAR_TO_FULL_LENGTH.0,
                Mode::PAD_CHAR_TO_FULL_LENGTH,
            ),
            (SqlMode::ONLY_FULL_GROUP_BY.0, Mode::ONLY_FULL_GROUP_BY),
            (
                SqlMode::NO_AUTO_VALUE_ON_ZERO.0,
                Mode::NO_AUTO_VALUE_ON_ZERO,
            ),
            (
                SqlMode::TIME_TRUNCATE_FRACTIONAL.0,
                Mode::TIME_TRUNCATE_FRACTIONAL,
            ),
            (SqlMode::HIGH_NOT_PRECEDENCE.0, Mode::HIGH_NOT_PRECEDENCE),
            (
                SqlMode::NO_ENGINE_SUBSTITUTION.0,
                Mode::NO_ENGINE_SUBSTITUTION,
            ),
            (1, Mode::REAL_AS_FLOAT),
        ];
        let on = MODES.iter().filter(|(bit, _)| self.0 & bit != 0);
        on.fold(Mode::default(), |modes, (_, mode)| modes.with(*mode))
    }
    /// The number of the set, by which a cache can tell modes apart.
    #[must_use]
    pub fn bits(self) -> u64 {
        self.0
    }
    /// From the number of a set: 1231 if it has unknown bits.
    pub fn from_bits(bits: u64) -> Result<SqlMode, SqlError> {
        for bit in 0..64 {
            let known = NAMES.get(bit).is_some_and(|name| !name.is_empty());
            if bits & (1 << bit) != 0 && !known {
                return Err(SqlError::wrong_value_for_variable("sql_mode", bits));
            }
        }
        Ok(SqlMode(bits).expanded())
    }
    /// From names with commas between them.
    pub fn parse(text: &str) -> Result<SqlMode, SqlError> {
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
        Ok(SqlMode(bits).expanded())
    }
    /// ANSI and TRADITIONAL stand for several modes, which they add to themselves.
    fn expanded(self) -> SqlMode {
        let mut bits = self.0;
        if bits & (1 << 18) != 0 {
            bits |= 0b10_1111; // REAL_AS_FLOAT … IGNORE_SPACE, ONLY_FULL_GROUP_BY
        }
        if bits & (1 << 27) != 0 {
            bits |= Self::STRICT_TRANS_TABLES.0
                | Self::STRICT_ALL_TABLES.0
                | Self::NO_ZERO_IN_DATE.0
                | Self::NO_ZERO_DATE.0
                | Self::ERROR_FOR_DIVISION_BY_ZERO.0
                | Self::NO_ENGINE_SUBSTITUTION.0;
        }
        SqlMode(bits)
    }
}

impl std::fmt::Display for SqlMode {
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
        let mode = SqlMode::parse("STRICT_TRANS_TABLES,only_full_group_by").unwrap();
        assert_eq!(mode.to_string(), "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES");
        assert!(mode.strict());
        assert_eq!(SqlMode::from_bits(mode.bits()), Ok(mode));
    }

    #[test]
    fn combinations_expand() {
        let ansi = SqlMode::parse("ANSI").unwrap().to_string();
        assert_eq!(
            ansi,
            "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI"
        );
    }

    #[test]
    fn unknown_names_are_refused() {
        assert_eq!(
            SqlMode::parse("STRICT_TRANS_TABLES,nope").unwrap_err().code,
            1231
        );
        assert_eq!(SqlMode::from_bits(1 << 10).unwrap_err().code, 1231);
    }
}
