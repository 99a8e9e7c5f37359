//! The static type of an expression, and how it is told to a client.

use crate::{
    output::ColumnMeta,
    text::{TextForm, ZEROFILL},
};
use cohort_engine::types::{Charset, Collation, Column, ColumnType};

/// COERCIBILITY(): how strongly a string holds to its collation; the smaller number wins.
pub mod coercibility {
    /// A COLLATE clause.
    pub const EXPLICIT: u8 = 0;
    /// A column.
    pub const IMPLICIT: u8 = 2;
    /// USER(), VERSION() and the like.
    pub const SYSTEM: u8 = 3;
    /// A literal or parameter.
    pub const LITERAL: u8 = 4;
    /// A number or date.
    pub const NUMERIC: u8 = 5;
    /// NULL.
    pub const IGNORABLE: u8 = 6;
    /// Two columns of different collations put together: what is beside it decides.
    pub const NONE: u8 = 7;
}

/// What an expression yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExprType {
    /// Its type; `None` for NULL and for a parameter whose type is not known yet.
    pub ty: Option<ColumnType>,
    /// For integers.
    pub unsigned: bool,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// For strings; `Binary` for all others.
    pub collation: Collation,
    /// How strongly it holds to the collation: see `coercibility`.
    pub coercibility: u8,
    /// Characters it takes at most when printed (bytes for binary strings).
    pub length: u32,
    /// Digits after the point; 31 for floating point without fixed digits.
    pub decimals: u8,
    /// Whether clients see a TIMESTAMP in a DATETIME, which is one that has become local time.
    pub was_timestamp: bool,
    /// Whether it is true or false, which in JSON is no number.
    pub truth: bool,
    /// Of a ZEROFILL column the characters that its texts are filled up to; 0 of all else.
    pub zerofill: u8,
}

/// `decimals` of floating point numbers.
pub const NOT_FIXED: u8 = 31;

impl ExprType {
    /// The type of NULL.
    #[must_use]
    pub fn null() -> ExprType {
        ExprType {
            ty: None,
            unsigned: false,
            nullable: true,
            collation: Collation::Binary,
            coercibility: coercibility::IGNORABLE,
            length: 0,
            decimals: 0,
            was_timestamp: false,
            truth: false,
            zerofill: 0,
        }
    }

    fn numeric(ty: ColumnType, unsigned: bool, length: u32, decimals: u8) -> ExprType {
        ExprType {
            ty: Some(ty),
            unsigned,
            nullable: false,
            collation: Collation::Binary,
            coercibility: coercibility::NUMERIC,
            length,
            decimals,
            was_timestamp: false,
            truth: false,
            zerofill: 0,
        }
    }

    /// A BIGINT.
    #[must_use]
    pub fn bigint(unsigned: bool) -> ExprType {
        ExprType::numeric(ColumnType::BigInt, unsigned, 21, 0)
    }

    /// The integer of one digit that comparisons yield.
    #[must_use]
    pub fn boolean() -> ExprType {
        ExprType {
            truth: true,
            ..ExprType::numeric(ColumnType::BigInt, false, 1, 0)
        }
    }

    /// An integer of so many characters.
    #[must_use]
    pub fn int(length: u32) -> ExprType {
        ExprType::numeric(ColumnType::BigInt, false, length, 0)
    }

    /// A DOUBLE.
    #[must_use]
    pub fn double() -> ExprType {
        ExprType::numeric(ColumnType::Double, false, 23, NOT_FIXED)
    }

    /// The DOUBLE that floating point numbers become: with as many digits after the point as they
    /// have.
    #[must_use]
    pub fn double_of_real(from: &ExprType) -> ExprType {
        let decimals = if from.is_fixed_real() {
            from.decimals
        } else {
            NOT_FIXED
        };
        ExprType {
            decimals,
            ..ExprType::double()
        }
    }

    /// The DOUBLE that a date or time becomes.
    #[must_use]
    pub fn double_of_moment(from: &ExprType) -> ExprType {
        ExprType {
            decimals: from.decimals,
            length: if from.decimals > 0 { 23 } else { 17 },
            ..ExprType::double()
        }
    }

    /// A DECIMAL, cut to what DECIMAL can hold.
    #[must_use]
    pub fn decimal(precision: u32, scale: u32) -> ExprType {
        let scale = scale.min(30) as u8;
        let precision = precision.clamp(1, 65).max(u32::from(scale)) as u8;
        let whole = precision - scale;
        let length = u32::from(precision) + 1 + u32::from(scale > 0) + u32::from(whole == 0);
        ExprType::numeric(
            ColumnType::Decimal { precision, scale },
            false,
            length,
            scale,
        )
    }

    /// A string of at most so many characters.
    #[must_use]
    pub fn string(length: u32, collation: Collation, coercibility: u8) -> ExprType {
        let max_bytes = length.saturating_mul(collation.max_char_bytes());
        let ty = match max_bytes {
            0..=65_535 => ColumnType::VarChar(length),
            65_536..=16_777_215 => ColumnType::Text(3),
            _ => ColumnType::Text(4),
        };
        ExprType {
            ty: Some(ty),
            unsigned: false,
            nullable: false,
            collation,
            coercibility,
            length,
            decimals: NOT_FIXED,
            was_timestamp: false,
            truth: false,
            zerofill: 0,
        }
    }

    /// A computed binary string of at most so many bytes.
    #[must_use]
    pub fn bytes(length: u32) -> ExprType {
        ExprType::string(length, Collation::Binary, coercibility::LITERAL)
    }

    /// A computed JSON document.
    #[must_use]
    pub fn json() -> ExprType {
        ExprType {
            collation: Collation::Utf8mb4Bin,
            coercibility: coercibility::IMPLICIT,
            ..ExprType::numeric(ColumnType::Json, false, u32::MAX, NOT_FIXED)
        }
    }

    /// DATE, TIME, DATETIME, TIMESTAMP or YEAR.
    #[must_use]
    pub fn temporal(ty: ColumnType) -> ExprType {
        let (length, fsp) = match ty {
            ColumnType::Time(fsp) => (10, fsp),
            ColumnType::DateTime(fsp) | ColumnType::Timestamp(fsp) => (19, fsp),
            ColumnType::Year => (4, 0),
            _ => (10, 0),
        };
        let length = length + if fsp > 0 { u32::from(fsp) + 1 } else { 0 };
        ExprType::numeric(ty, ty == ColumnType::Year, length, fsp)
    }

    /// The type of a table's column.
    #[must_use]
    pub fn of_column(column: &Column) -> ExprType {
        let mut ty = match column.ty {
            ColumnType::Char(length) => {
                ExprType::string(length.into(), column.collation, coercibility::IMPLICIT)
            }
            ColumnType::VarChar(length) => {
                ExprType::string(length, column.collation, coercibility::IMPLICIT)
            }
            ColumnType::Text(_) => {
                // As MySQL counts, in whose eyes each byte may be a character.
                ExprType::string(column.max_bytes(), column.collation, coercibility::IMPLICIT)
            }
            ColumnType::Bit(bits) => ExprType::numeric(column.ty, true, bits.into(), 0),
            ColumnType::Json => ExprType {
                collation: Collation::Binary,
                ..ExprType::json()
            },
            ColumnType::Enum(_) => {
                let length = column.members.longest();
                ExprType::string(length, column.collation, coercibility::IMPLICIT)
            }
            ColumnType::Set(_) => {
                let length = column.members.together();
                ExprType::string(length, column.collation, coercibility::IMPLICIT)
            }
            ColumnType::Float | ColumnType::Double if column.real_digits.is_some() => {
                let (digits, scale) = column.real_digits.unwrap_or_default();
                // Beside the digits there may be a sign and a point.
                ExprType::numeric(column.ty, false, u32::from(digits) + 2, scale)
            }
            ColumnType::Float => ExprType::numeric(column.ty, false, 12, NOT_FIXED),
            ColumnType::Double => ExprType::numeric(column.ty, false, 22, NOT_FIXED),
            ColumnType::Decimal { precision, scale } => {
                let sign = u32::from(!column.unsigned);
                let length = u32::from(precision) + sign + u32::from(scale > 0);
                ExprType::numeric(column.ty, false, length, scale)
            }
            ColumnType::Date
            | ColumnType::Time(_)
            | ColumnType::DateTime(_)
            | ColumnType::Timestamp(_)
            | ColumnType::Year => ExprType::temporal(column.ty),
            ColumnType::TinyInt
            | ColumnType::SmallInt
            | ColumnType::MediumInt
            | ColumnType::Int
            | ColumnType::BigInt => {
                let width = column.default_width();
                // What is not filled up is shown whole.
                let width = match column.display_width {
                    Some(given) if column.zerofill => width.max(given),
                    Some(given) => given,
                    None => width,
                };
                ExprType::numeric(column.ty, column.unsigned, width.into(), 0)
            }
        };
        if column.zerofill {
            ty.zerofill = filled_width(column);
        }
        ty.ty = Some(column.ty);
        ty.unsigned |= column.unsigned;
        ty.nullable = column.nullable;
        if column.ty.has_collation() {
            ty.decimals = 0;
        }
        ty
    }

    /// The type of a slot that holds the computed value: a TIMESTAMP has become local time.
    #[must_use]
    pub fn computed(mut self) -> ExprType {
        self.truth = false;
        self.zerofill = 0;
        match self.ty {
            Some(ColumnType::Timestamp(fsp)) => {
                self.ty = Some(ColumnType::DateTime(fsp));
                self.was_timestamp = true;
            }
            Some(ColumnType::Float | ColumnType::Double) if self.decimals == NOT_FIXED => {
                self.length = 23;
            }
            Some(ty) if ty.is_string() => self.decimals = NOT_FIXED,
            Some(ColumnType::Json) => return ExprType::json().nullable_if(self.nullable),
            _ => {}
        }
        self
    }

    /// The type of a derived table's column whose values are computed so.
    #[must_use]
    pub fn of_derived(&self) -> ExprType {
        ExprType {
            zerofill: self.zerofill,
            ..self.computed()
        }
    }

    /// The type of what has been computed of members of an ENUM or SET: it is a text.
    #[must_use]
    pub fn without_members(mut self) -> ExprType {
        if self.ty.is_some_and(ColumnType::has_members) {
            let length = u16::try_from(self.length).unwrap_or(u16::MAX);
            self.ty = Some(ColumnType::Char(length));
            self.decimals = NOT_FIXED;
        }
        self
    }

    /// As a text: of a BIT that is its bytes, of a JSON document what is shown of it.
    #[must_use]
    pub fn with_bytes(self) -> ExprType {
        match self.ty {
            Some(ColumnType::Bit(_)) => {
                ExprType::string(self.length, Collation::Binary, coercibility::IMPLICIT)
                    .nullable_if(self.nullable)
            }
            Some(ColumnType::Json) => {
                ExprType::string(self.length, Collation::Utf8mb4Bin, coercibility::IMPLICIT)
                    .nullable_if(self.nullable)
            }
            _ => self,
        }
    }

    /// The same, possibly NULL.
    #[must_use]
    pub fn or_null(mut self) -> ExprType {
        self.nullable = true;
        self
    }

    /// The same, NULL if `nullable`.
    #[must_use]
    pub fn nullable_if(mut self, nullable: bool) -> ExprType {
        self.nullable |= nullable;
        self
    }

    /// The length that a text of it has in another character set: as bytes, a character may be
    /// several.
    #[must_use]
    pub fn length_in(&self, collation: Collation) -> u32 {
        if collation.is_binary() && self.is_string() && !self.collation.is_binary() {
            self.length.saturating_mul(self.collation.max_char_bytes())
        } else {
            self.length
        }
    }

    /// Whether it yields floating point numbers with fixed digits after the point.
    #[must_use]
    pub fn is_fixed_real(&self) -> bool {
        let is_real = matches!(self.ty, Some(ColumnType::Float | ColumnType::Double));
        is_real && self.decimals < NOT_FIXED
    }

    /// Whether it yields strings.
    #[must_use]
    pub fn is_string(&self) -> bool {
        self.ty.is_some_and(ColumnType::has_collation)
    }

    /// Whether it has a collation where texts are compared or searched: strings, and documents,
    /// whose texts are compared byte by byte.
    #[must_use]
    pub fn is_searched(&self) -> bool {
        self.searched().is_some()
    }

    /// What it is where texts are compared or searched, if it is a text there.
    #[must_use]
    pub fn searched(&self) -> Option<ExprType> {
        let text = || ExprType::string(self.length, self.collation, self.coercibility);
        match self.is_json() {
            true => Some(text()),
            false => self.is_string().then_some(*self),
        }
    }

    /// Whether it yields binary strings.
    #[must_use]
    pub fn is_bytes(&self) -> bool {
        self.is_string() && self.collation.is_binary()
    }

    /// Whether it yields JSON documents.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.ty == Some(ColumnType::Json)
    }

    /// Whether it yields DATE, TIME, DATETIME or TIMESTAMP.
    #[must_use]
    pub fn is_temporal(&self) -> bool {
        self.ty.is_some_and(ColumnType::is_temporal)
    }

    /// Whether it is a TIMESTAMP for clients.
    fn is_timestamp(&self) -> bool {
        self.was_timestamp || matches!(self.ty, Some(ColumnType::Timestamp(_)))
    }

    /// What it is for clients.
    #[must_use]
    pub fn shown(&self) -> Option<ColumnType> {
        match self.ty {
            Some(ColumnType::DateTime(fsp)) if self.was_timestamp => {
                Some(ColumnType::Timestamp(fsp))
            }
            ty => ty,
        }
    }

    /// Whether it yields whole numbers.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        self.ty.is_some_and(|ty| {
            ty.is_integer() || matches!(ty, ColumnType::Year | ColumnType::Bit(_))
        })
    }

    /// How a text is made of such a value. A parameter's digits are those of its value.
    #[must_use]
    pub fn text_form(&self) -> TextForm {
        match self.ty {
            Some(ColumnType::Year) => TextForm::Year,
            Some(ColumnType::Bit(bits)) => TextForm::Bytes(bits.div_ceil(8)),
            None => TextForm::Digits(NOT_FIXED),
            Some(ty) if ty.has_collation() => TextForm::Digits(NOT_FIXED),
            Some(ColumnType::Json) => TextForm::Digits(NOT_FIXED),
            Some(_) if self.zerofill > 0 => TextForm::Filled {
                digits: self.decimals,
                width: self.zerofill,
            },
            Some(_) => TextForm::Digits(self.decimals),
        }
    }

    /// The description of a result column of this type; the caller adds what it knows of tables
    /// and keys.
    #[must_use]
    pub fn meta(&self, name: &str) -> ColumnMeta {
        const BINARY: u16 = 128;
        const ENUM: u16 = 256;
        const SET: u16 = 2048;
        let mut flags = match self.ty {
            Some(ColumnType::Enum(_)) => ENUM,
            Some(ColumnType::Set(_)) => SET,
            _ => 0,
        };
        if self.zerofill > 0 {
            flags |= ZEROFILL;
        }
        let is_json = self.is_json();
        if is_json || self.collation.is_binary() && !matches!(self.ty, Some(ColumnType::Bit(_))) {
            flags |= BINARY;
        }
        ColumnMeta {
            database: String::new(),
            table: String::new(),
            original_table: String::new(),
            name: name.to_string(),
            original_name: String::new(),
            ty: self.shown(),
            unsigned: self.unsigned,
            not_null: !self.nullable,
            collation: self.collation,
            length: match (is_json, self.collation) {
                _ if self.zerofill > 0 => self.zerofill.into(),
                (false, _) | (true, Collation::Binary) => {
                    self.length.saturating_mul(self.collation.max_char_bytes())
                }
                // As many whole characters as there can be.
                (true, _) => self.length - self.length % self.collation.max_char_bytes(),
            },
            decimals: match (is_json, self.collation) {
                (true, Collation::Binary) => 0,
                _ => self.decimals,
            },
            flags,
        }
    }
}

/// The characters that zeros fill the texts of a ZEROFILL column up to.
fn filled_width(column: &Column) -> u8 {
    match (column.ty, column.real_digits) {
        (_, Some((digits, _))) => digits,
        (ColumnType::Float, None) => 12,
        (ColumnType::Double, None) => 22,
        (ColumnType::Decimal { precision, scale }, None) => precision + u8::from(scale > 0),
        _ => column
            .display_width
            .unwrap_or_else(|| column.default_width()),
    }
}

/// The collation of an operation on two strings; `None` if they cannot be mixed.
#[must_use]
pub fn mix_collations(a: &ExprType, b: &ExprType) -> Option<(Collation, u8)> {
    let (one, other) = (a.collation.charset(), b.collation.charset());
    if one == other || one == Charset::Binary || other == Charset::Binary {
        return mix_of_one_charset(a, b);
    }
    let winner = if takes_all(a, b) {
        a
    } else if takes_all(b, a) {
        b
    } else if a.coercibility < b.coercibility && b.coercibility >= coercibility::SYSTEM {
        // A constant is converted, if it can be.
        a
    } else if b.coercibility < a.coercibility && a.coercibility >= coercibility::SYSTEM {
        b
    } else {
        return None;
    };
    Some((winner.collation, winner.coercibility))
}

/// Whether the character set of `a` is the one to convert to, as it has all characters of `b`'s.
fn takes_all(a: &ExprType, b: &ExprType) -> bool {
    let (one, other) = (a.collation.charset(), b.collation.charset());
    if !one.is_unicode() && other != Charset::Ascii {
        return false;
    }
    // Of two of Unicode's character sets it is not said which is to be converted, but if one is
    // utf8mb4, or utf32 with another order than that of code points: that comes first.
    let is_utf32 =
        |ty: &ExprType| ty.collation.charset() == Charset::Utf32 && !ty.collation.is_by_code();
    let is_larger = is_utf32(a)
        || !is_utf32(b) && (one == Charset::Utf8mb4 || one.includes(other) && !other.is_unicode());
    let is_explicit = a.coercibility == coercibility::EXPLICIT;
    a.coercibility < b.coercibility || a.coercibility == b.coercibility && is_larger && !is_explicit
}

fn mix_of_one_charset(a: &ExprType, b: &ExprType) -> Option<(Collation, u8)> {
    match a.coercibility.cmp(&b.coercibility) {
        std::cmp::Ordering::Less => Some((a.collation, a.coercibility)),
        std::cmp::Ordering::Greater => Some((b.collation, b.coercibility)),
        std::cmp::Ordering::Equal if a.collation == b.collation => {
            Some((a.collation, a.coercibility))
        }
        std::cmp::Ordering::Equal if a.coercibility == coercibility::EXPLICIT => None,
        // Bytes win over characters, and order by code point over any other order.
        std::cmp::Ordering::Equal => [a.collation, b.collation]
            .into_iter()
            .filter(|collation| collation.is_by_code())
            .min_by_key(|collation| !collation.is_binary())
            .map(|bin| (bin, a.coercibility)),
    }
}

/// The same for the results of CASE and the like, which may be of no collation.
#[must_use]
pub fn mix_results(a: &ExprType, b: &ExprType) -> (Collation, u8) {
    let by_code = a.collation.charset().bin_collation();
    mix_collations(a, b).unwrap_or((by_code, coercibility::NONE))
}

/// The common type of the branches of CASE, IF, COALESCE, UNION and the like.
#[must_use]
pub fn common_type(types: &[ExprType]) -> ExprType {
    let nullable = types.iter().any(|ty| ty.nullable || ty.ty.is_none());
    let mut known = types.iter().filter(|ty| ty.ty.is_some());
    let Some(first) = known.next() else {
        return ExprType::null();
    };
    known
        .fold(first.of_several(), |a, b| {
            common_of_two(&a, &b.of_several())
        })
        .computed()
        .nullable_if(nullable)
}

impl ExprType {
    /// A type where others are beside it: what is chosen of members and other texts is a text.
    #[must_use]
    pub fn of_several(&self) -> ExprType {
        if self.ty.is_some_and(ColumnType::has_members) {
            ExprType {
                nullable: self.nullable,
                ..ExprType::string(self.length, self.collation, self.coercibility)
            }
        } else {
            *self
        }
    }
}

fn common_of_two(a: &ExprType, b: &ExprType) -> ExprType {
    if a.is_json() && b.is_json() {
        return ExprType::json();
    }
    if a.is_json() || b.is_json() {
        let (a, b) = (a.with_bytes(), b.with_bytes());
        return ExprType {
            length: u32::MAX,
            ..common_of_unlike(&a, &b)
        };
    }
    if a.is_string() != b.is_string() {
        let (a, b) = (a.with_bytes(), b.with_bytes());
        return common_of_unlike(&a, &b);
    }
    common_of_unlike(a, b)
}

fn common_of_unlike(a: &ExprType, b: &ExprType) -> ExprType {
    if a.is_string() || b.is_string() || a.is_temporal() != b.is_temporal() {
        let mixed = mix_results(a, b);
        let length = match (a.is_string(), b.is_string()) {
            (true, true) => a.length_in(mixed.0).max(b.length_in(mixed.0)),
            _ => a.length.max(b.length),
        };
        return match (a.is_string(), b.is_string()) {
            (true, false) => ExprType::string(length, a.collation, a.coercibility).kept_as(&[a]),
            (false, true) => ExprType::string(length, b.collation, b.coercibility).kept_as(&[b]),
            (true, true) => ExprType::string(length, mixed.0, mixed.1).kept_as(&[a, b]),
            // A number and a date, or a date and a YEAR: text.
            (false, false) => {
                ExprType::string(length, Collation::Utf8mb40900AiCi, coercibility::LITERAL)
            }
        };
    }
    if a.is_temporal() {
        return match (a.ty, b.ty) {
            (Some(ColumnType::Date), Some(ColumnType::Date)) => *a,
            (Some(ColumnType::Time(_)), Some(ColumnType::Time(_))) => {
                ExprType::temporal(ColumnType::Time(a.decimals.max(b.decimals)))
            }
            _ => ExprType {
                was_timestamp: a.is_timestamp() && b.is_timestamp(),
                ..ExprType::temporal(ColumnType::DateTime(a.decimals.max(b.decimals)))
            },
        };
    }
    let floating = |ty: &ExprType| matches!(ty.ty, Some(ColumnType::Double | ColumnType::Float));
    if floating(a) || floating(b) {
        // A BIGINT after a FLOAT does not make it a DOUBLE, though an INT does.
        let is = |ty: &ExprType, wanted| ty.ty == Some(wanted);
        if is(a, ColumnType::Float) && is(b, ColumnType::BigInt) {
            return *a;
        }
        return match (fits_float(a), fits_float(b)) {
            (true, true) if floating(a) && floating(b) => ExprType {
                decimals: a.decimals.max(b.decimals),
                length: a.length.max(b.length),
                ..*a
            },
            (true, true) if floating(a) => *a,
            (true, true) => *b,
            _ => ExprType {
                decimals: a.decimals.max(b.decimals),
                ..ExprType::double()
            },
        };
    }
    if let Some(ty) = common_integer(a, b) {
        return ty;
    }
    let (a_whole, a_scale) = a.digits();
    let (b_whole, b_scale) = b.digits();
    let scale = a_scale.max(b_scale);
    ExprType::decimal(a_whole.max(b_whole) + scale, scale)
}

/// The common type of whole numbers; `None` if there is none. One without a sign that is as wide
/// as any needs the next wider type to have a sign.
fn common_integer(a: &ExprType, b: &ExprType) -> Option<ExprType> {
    use ColumnType::{BigInt, Bit, Int, MediumInt, SmallInt, TinyInt, Year};
    if !a.is_integer() || !b.is_integer() {
        return None;
    }
    let ty = match (a.ty?, b.ty?) {
        (Bit(a), Bit(b)) => Bit(a.max(b)),
        // Together a decimal.
        (Bit(_), _) | (_, Bit(_)) => return None,
        (Year, Year) => Year,
        (Year, TinyInt) | (TinyInt, Year) => SmallInt,
        (Year, other) | (other, Year) => other,
        (a, b) if a.integer_bytes() >= b.integer_bytes() => a,
        (_, b) => b,
    };
    let without_sign = if a.unsigned { a } else { b };
    let is_mixed = a.unsigned != b.unsigned;
    let ty = match ty {
        _ if !is_mixed || without_sign.ty != Some(ty) => ty,
        TinyInt => SmallInt,
        SmallInt => MediumInt,
        MediumInt => Int,
        Int => BigInt,
        _ => return None,
    };
    Some(ExprType::numeric(
        ty,
        a.unsigned && b.unsigned,
        a.length.max(b.length),
        0,
    ))
}

/// Whether FLOAT holds all values of a type, as MySQL sees it.
fn fits_float(ty: &ExprType) -> bool {
    use ColumnType::{Float, MediumInt, SmallInt, TinyInt, Year};
    matches!(ty.ty, Some(Float | TinyInt | SmallInt | MediumInt | Year))
}

impl ExprType {
    /// A string as those are that it is one of: a TEXT if any is, a CHAR if all are.
    fn kept_as(self, strings: &[&ExprType]) -> ExprType {
        let is_text = |ty: &&&ExprType| matches!(ty.ty, Some(ColumnType::Text(_)));
        let is_char = |ty: &&ExprType| matches!(ty.ty, Some(ColumnType::Char(_)));
        let ty = match (self.ty, u16::try_from(self.length)) {
            (Some(ColumnType::VarChar(_)), _) if strings.iter().any(|ty| is_text(&ty)) => {
                Some(ColumnType::Text(2))
            }
            (Some(ColumnType::VarChar(_)), Ok(length @ ..256)) if strings.iter().all(is_char) => {
                Some(ColumnType::Char(length))
            }
            (ty, _) => ty,
        };
        ExprType { ty, ..self }
    }

    /// Digits before and after the point that a number of this type has, as arithmetic on
    /// decimals counts them.
    #[must_use]
    pub fn digits(&self) -> (u32, u32) {
        match self.ty {
            Some(ColumnType::Decimal { precision, scale }) => {
                (u32::from(precision.saturating_sub(scale)), scale.into())
            }
            Some(ColumnType::TinyInt) => (3, 0),
            Some(ColumnType::SmallInt) => (5, 0),
            Some(ColumnType::MediumInt) => (8, 0),
            Some(ColumnType::Int) => (10, 0),
            Some(ColumnType::Year) => (4, 0),
            Some(ColumnType::Bit(bits)) => (bits.into(), 0),
            Some(ColumnType::Date) => (8, 0),
            Some(ColumnType::Time(fsp)) => (7, fsp.into()),
            Some(ColumnType::DateTime(fsp) | ColumnType::Timestamp(fsp)) => (14, fsp.into()),
            // What is signed has room for the sign.
            Some(ColumnType::BigInt) if !self.unsigned && self.length <= 21 => {
                (self.length.saturating_sub(1).max(1), 0)
            }
            _ => (self.length.clamp(1, 20), 0),
        }
    }

    /// Whether arithmetic on it is floating point: strings are, and what is not known yet.
    #[must_use]
    pub fn is_floating(&self) -> bool {
        self.is_string()
            || matches!(
                self.ty,
                None | Some(ColumnType::Double | ColumnType::Float | ColumnType::Json)
            )
    }
}
