//! The collations there are: one row of facts each.

use super::{
    Charset,
    order::Order,
    uca::{UCA_400, UCA_520, UCA_900},
    weights::{
        ASCII_GENERAL, GENERAL, LATIN1_BIN, LATIN1_DANISH, LATIN1_GENERAL, LATIN1_GENERAL_CS,
        LATIN1_GERMAN1, LATIN1_SPANISH, LATIN1_SWEDISH, Table,
    },
};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

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
    Latin1Bin             47 "latin1_bin"             Latin1  Space 1 Order::Table(&LATIN1_BIN);
    Latin1DanishCi        15 "latin1_danish_ci"       Latin1  Space 1 Order::Table(&LATIN1_DANISH);
    Latin1GeneralCi       48 "latin1_general_ci"      Latin1  Space 1 Order::Table(&LATIN1_GENERAL);
    Latin1GeneralCs       49 "latin1_general_cs"      Latin1  Space 1 Order::Table(&LATIN1_GENERAL_CS);
    Latin1German1Ci        5 "latin1_german1_ci"      Latin1  Space 1 Order::Table(&LATIN1_GERMAN1);
    Latin1SpanishCi       94 "latin1_spanish_ci"      Latin1  Space 1 Order::Table(&LATIN1_SPANISH);
    Latin1SwedishCi        8 "latin1_swedish_ci"      Latin1  Space 1 Order::Table(&LATIN1_SWEDISH);
    AsciiBin              65 "ascii_bin"              Ascii   Space 1 Order::CodePoints;
    AsciiGeneralCi        11 "ascii_general_ci"       Ascii   Space 1 Order::Table(&ASCII_GENERAL);
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
        self == self.charset().bin_collation()
            || matches!(self.facts().order, Order::CodePoints | Order::Bytes)
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
