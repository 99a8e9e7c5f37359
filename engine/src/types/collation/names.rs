//! The character sets and collations there are: one row of facts each.

use super::{
    order::Order,
    uca::{UCA_400, UCA_520, UCA_900},
    weights::{GENERAL, Table},
};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, sync::LazyLock};

/// A character set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charset {
    /// UTF-8.
    Utf8mb4,
    /// UTF-8 of the characters up to U+FFFF.
    Utf8mb3,
    /// Bytes, which are no characters.
    Binary,
}

impl Charset {
    /// All character sets.
    pub const ALL: [Charset; 3] = [Charset::Utf8mb4, Charset::Utf8mb3, Charset::Binary];

    /// MySQL's name of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Charset::Utf8mb4 => "utf8mb4",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Binary => "binary",
        }
    }

    /// The character set with this name, in any case; `utf8` is utf8mb3.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Charset> {
        let name = if name.eq_ignore_ascii_case("utf8") {
            "utf8mb3"
        } else {
            name
        };
        Charset::ALL
            .into_iter()
            .find(|charset| charset.name().eq_ignore_ascii_case(name))
    }

    /// What SHOW CHARACTER SET says of it.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => "UTF-8 Unicode",
            Charset::Binary => "Binary pseudo charset",
        }
    }

    /// The most bytes a character takes.
    #[must_use]
    pub fn max_char_bytes(self) -> u32 {
        match self {
            Charset::Utf8mb4 => 4,
            Charset::Utf8mb3 => 3,
            Charset::Binary => 1,
        }
    }

    /// The collation of strings that name only the character set.
    #[must_use]
    pub fn default_collation(self) -> Collation {
        match self {
            Charset::Utf8mb4 => Collation::Utf8mb40900AiCi,
            Charset::Utf8mb3 => Collation::Utf8mb3GeneralCi,
            Charset::Binary => Collation::Binary,
        }
    }

    /// The collation that the attribute BINARY of a column stands for.
    #[must_use]
    pub fn bin_collation(self) -> Collation {
        match self {
            Charset::Utf8mb4 => Collation::Utf8mb4Bin,
            Charset::Utf8mb3 => Collation::Utf8mb3Bin,
            Charset::Binary => Collation::Binary,
        }
    }

    /// Whether its characters are Unicode's, so that text of other character sets can be
    /// converted to it.
    #[must_use]
    pub fn is_unicode(self) -> bool {
        match self {
            Charset::Utf8mb4 | Charset::Utf8mb3 => true,
            Charset::Binary => false,
        }
    }

    /// Whether it has every character of the other one.
    #[must_use]
    pub fn includes(self, other: Charset) -> bool {
        self == other || matches!(self, Charset::Utf8mb4 | Charset::Binary)
    }

    /// Whether it has this character.
    #[must_use]
    fn contains(self, code: u32) -> bool {
        match self {
            Charset::Utf8mb4 | Charset::Binary => true,
            Charset::Utf8mb3 => code <= 0xFFFF,
        }
    }

    /// Where in a text that should be UTF-8 the first character is that the character set does
    /// not have, or the first byte that begins none.
    #[must_use]
    pub fn foreign_at(self, text: &[u8]) -> Option<usize> {
        if self == Charset::Binary || text.is_ascii() {
            return None;
        }
        let (valid, broken) = match std::str::from_utf8(text) {
            Ok(valid) => (valid, None),
            Err(error) => {
                let at = error.valid_up_to();
                (std::str::from_utf8(&text[..at]).unwrap_or(""), Some(at))
            }
        };
        let mut characters = valid.char_indices();
        let foreign = characters.find(|(_, c)| !self.contains(u32::from(*c)));
        foreign.map(|(at, _)| at).or(broken)
    }

    /// A text in the bytes of the character set, with a question mark for each character that it
    /// does not have. What is not UTF-8 stays as it is.
    #[must_use]
    pub fn encode(self, text: &[u8]) -> Cow<'_, [u8]> {
        if self.foreign_at(text).is_none() {
            return Cow::Borrowed(text);
        }
        match std::str::from_utf8(text) {
            Ok(text) => Cow::Owned(self.without_foreign(text).into()),
            Err(_) => Cow::Borrowed(text),
        }
    }

    /// The text with a question mark for each character that the character set does not have.
    #[must_use]
    pub fn without_foreign(self, text: &str) -> String {
        let keep = |c: char| if self.contains(c.into()) { c } else { '?' };
        text.chars().map(keep).collect()
    }
}

/// Whether trailing spaces count when strings are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// The shorter string is compared as if it went on with spaces.
    Space,
    /// They count as other characters do.
    None,
}

/// What is known of a collation.
pub(super) struct Facts {
    pub id: u16,
    pub name: &'static str,
    pub charset: Charset,
    pub padding: Padding,
    /// SHOW COLLATION's Sortlen.
    pub sort_length: u64,
    pub order: Order,
}

/// Makes the enum and the rows of facts from one list.
macro_rules! collations {
    ($($variant:ident $id:literal $name:literal $charset:ident $padding:ident $sort_length:literal $order:expr;)*) => {
        /// A character set and its order. The names of the variants are in the data dictionary.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Collation {
            $(#[doc = $name] $variant,)*
        }

        impl Collation {
            /// All collations.
            pub const ALL: &'static [Collation] = &[$(Collation::$variant,)*];

            pub(super) fn facts(self) -> &'static Facts {
                match self {
                    $(Collation::$variant => {
                        static FACTS: Facts = Facts {
                            id: $id,
                            name: $name,
                            charset: Charset::$charset,
                            padding: Padding::$padding,
                            sort_length: $sort_length,
                            order: $order,
                        };
                        &FACTS
                    })*
                }
            }
        }
    };
}

collations! {
    Utf8mb40900AiCi      255 "utf8mb4_0900_ai_ci"     Utf8mb4 None  0 Order::Uca(&UCA_900, 1);
    Utf8mb40900AsCi      305 "utf8mb4_0900_as_ci"     Utf8mb4 None  0 Order::Uca(&UCA_900, 2);
    Utf8mb40900AsCs      278 "utf8mb4_0900_as_cs"     Utf8mb4 None  0 Order::Uca(&UCA_900, 3);
    Utf8mb40900Bin       309 "utf8mb4_0900_bin"       Utf8mb4 None  1 Order::CodePoints;
    Utf8mb4Bin            46 "utf8mb4_bin"            Utf8mb4 Space 1 Order::CodePoints;
    Utf8mb4GeneralCi      45 "utf8mb4_general_ci"     Utf8mb4 Space 1 Order::Table(&GENERAL);
    Utf8mb4UnicodeCi     224 "utf8mb4_unicode_ci"     Utf8mb4 Space 8 Order::Uca(&UCA_400, 1);
    Utf8mb4Unicode520Ci  246 "utf8mb4_unicode_520_ci" Utf8mb4 Space 8 Order::Uca(&UCA_520, 1);
    Utf8mb3Bin            83 "utf8mb3_bin"            Utf8mb3 Space 1 Order::CodePoints;
    Utf8mb3GeneralCi      33 "utf8mb3_general_ci"     Utf8mb3 Space 1 Order::Table(&GENERAL);
    Utf8mb3UnicodeCi     192 "utf8mb3_unicode_ci"     Utf8mb3 Space 8 Order::Uca(&UCA_400, 1);
    Utf8mb3Unicode520Ci  214 "utf8mb3_unicode_520_ci" Utf8mb3 Space 8 Order::Uca(&UCA_520, 1);
    Binary                63 "binary"                 Binary  None  1 Order::Bytes;
}

impl Collation {
    /// MySQL's name of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The number it has in the protocol.
    #[must_use]
    pub fn id(self) -> u16 {
        self.facts().id
    }

    /// The collation with this name, in any case; `utf8_…` is `utf8mb3_…`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Collation> {
        let is = |collation: &Collation| {
            let known = collation.name();
            known.eq_ignore_ascii_case(name)
                || known.strip_prefix("utf8mb3_").is_some_and(|order| {
                    let utf8 = name.split_at_checked(5);
                    utf8.is_some_and(|(charset, rest)| {
                        charset.eq_ignore_ascii_case("utf8_") && rest.eq_ignore_ascii_case(order)
                    })
                })
        };
        Collation::ALL.iter().copied().find(is)
    }

    /// The collation with this number.
    #[must_use]
    pub fn from_id(id: u16) -> Option<Collation> {
        Collation::ALL
            .iter()
            .copied()
            .find(|collation| collation.id() == id)
    }

    /// Its character set.
    #[must_use]
    pub fn charset(self) -> Charset {
        self.facts().charset
    }

    /// Whether its strings are bytes, not characters.
    #[must_use]
    pub fn is_binary(self) -> bool {
        self == Collation::Binary
    }

    /// Whether it is the default of its character set.
    #[must_use]
    pub fn is_default(self) -> bool {
        self == self.charset().default_collation()
    }

    /// Whether it orders by code points or bytes: MySQL calls them binary.
    #[must_use]
    pub fn is_by_code(self) -> bool {
        matches!(self.facts().order, Order::CodePoints | Order::Bytes)
    }

    /// Whether it tells small letters from capital ones.
    #[must_use]
    pub fn is_case_sensitive(self) -> bool {
        self.is_by_code() || self.name().ends_with("_cs")
    }

    /// Whether it compares as if the shorter string went on with spaces (PAD SPACE).
    #[must_use]
    pub fn pads(self) -> bool {
        self.facts().padding == Padding::Space
    }

    /// What SHOW COLLATION says as Sortlen.
    #[must_use]
    pub fn sort_length(self) -> u64 {
        self.facts().sort_length
    }

    /// The most bytes a character takes.
    #[must_use]
    pub fn max_char_bytes(self) -> u32 {
        self.charset().max_char_bytes()
    }
}

/// A weight table that is unpacked when it is first needed.
pub(super) type LazyTable = LazyLock<Table>;
