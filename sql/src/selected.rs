//! Columns that are made of those of a query: of a new table, and of a view.

use crate::{
    expr::{SqlMode, Statement},
    plan::{ColumnOrigin, SelectedColumn},
};
use cohort_engine::types::{Collation, Column, ColumnType, schema::DefaultValue};

/// Texts of more characters become TEXT.
const VARCHAR_MAX: u32 = 512;
/// A computed whole number of more characters than these becomes BIGINT.
const INT_COMPUTED: u32 = 11;
/// Any other whole number of so many.
const INT_OTHER: u32 = 9;

/// The column that CREATE TABLE … SELECT makes.
#[must_use]
pub fn column_of_table(selected: &SelectedColumn, session: &Statement<'_>) -> Column {
    let mut made = made_of(selected, INT_COMPUTED);
    match &selected.origin {
        ColumnOrigin::Stored(column) if !column.auto_increment => defaulted(&mut made),
        ColumnOrigin::Stored(_) => made.default = implicit(&made, session),
        // Of its default nothing counts but that it has one.
        ColumnOrigin::Derived(column)
            if made.default == DefaultValue::None && !made.nullable && !column.auto_increment => {}
        ColumnOrigin::Derived(_)
        | ColumnOrigin::Typed
        | ColumnOrigin::Computed
        | ColumnOrigin::Other => undefaulted(&mut made, session),
    }
    made.auto_increment = false;
    made
}

/// The column of a view, as MySQL shows it. A whole number that is computed is a BIGINT sooner.
#[must_use]
pub fn column_of_view(selected: &SelectedColumn, session: &Statement<'_>) -> Column {
    // What is shown for no value at all does not depend on the session.
    let session = Statement {
        sql_mode: SqlMode(0),
        ..*session
    };
    let mut made = made_of(selected, INT_OTHER);
    match &selected.origin {
        ColumnOrigin::Stored(column) | ColumnOrigin::Derived(column) => match column.auto_increment
        {
            true => made.default = implicit(&made, &session),
            false => defaulted(&mut made),
        },
        ColumnOrigin::Typed | ColumnOrigin::Computed | ColumnOrigin::Other => {
            undefaulted(&mut made, &session);
        }
    }
    made.auto_increment = false;
    made
}

/// A column of the name and type; a computed whole number of more characters becomes BIGINT.
fn made_of(selected: &SelectedColumn, int_computed: u32) -> Column {
    let mut made = match &selected.origin {
        ColumnOrigin::Stored(column) | ColumnOrigin::Derived(column) => like(column),
        ColumnOrigin::Typed | ColumnOrigin::Computed | ColumnOrigin::Other => {
            computed(selected, int_computed)
        }
    };
    made.name.clone_from(&selected.name);
    made.nullable = selected.ty.nullable;
    made
}

/// A column with the default of the one it is made of.
fn defaulted(made: &mut Column) {
    if made.nullable && made.default == DefaultValue::None {
        made.default = DefaultValue::Null;
    }
}

/// A column with the default of its type.
fn undefaulted(made: &mut Column, session: &Statement<'_>) {
    made.on_update_now = false;
    made.default = match made.nullable {
        true => DefaultValue::Null,
        false => implicit(made, session),
    };
}

/// A column of the same type, default and comment: what else is said of it, how its values are
/// computed for instance, is the other table's.
fn like(column: &Column) -> Column {
    Column {
        unsigned: column.unsigned,
        zerofill: column.zerofill,
        default: column.default.clone(),
        auto_increment: column.auto_increment,
        on_update_now: column.on_update_now,
        collation: column.collation,
        comment: column.comment.clone(),
        display_width: column.display_width,
        explicit_collation: column.explicit_collation,
        members: column.members.clone(),
        real_digits: column.real_digits,
        ..Column::new(&column.name, column.ty)
    }
}

/// The default of a column that has none of its own and is not NULL: what its type has for nothing.
fn implicit(column: &Column, session: &Statement<'_>) -> DefaultValue {
    let zeros = |scale: u8| match scale {
        0 => "0".to_string(),
        scale => format!("0.{}", "0".repeat(scale.into())),
    };
    let fraction = |fsp: u8| zeros(fsp).split_off(1);
    let strict = session.sql_mode.has(SqlMode::STRICT);
    let zero_dates = !(strict && session.sql_mode.has(SqlMode::NO_ZERO_DATE));
    DefaultValue::Literal(match column.ty {
        ColumnType::TinyInt
        | ColumnType::SmallInt
        | ColumnType::MediumInt
        | ColumnType::Int
        | ColumnType::BigInt => "0".into(),
        ColumnType::Float | ColumnType::Double => {
            zeros(column.real_digits.map_or(0, |(_, scale)| scale))
        }
        ColumnType::Decimal { scale, .. } => zeros(scale),
        ColumnType::Char(_) | ColumnType::VarChar(_) => String::new(),
        ColumnType::Set(_) => String::new(),
        ColumnType::Time(fsp) => format!("00:00:00{}", fraction(fsp)),
        ColumnType::Year => "0000".into(),
        ColumnType::Bit(_) => return DefaultValue::of_bits(0),
        ColumnType::Date if zero_dates => "0000-00-00".into(),
        ColumnType::DateTime(fsp) | ColumnType::Timestamp(fsp) if zero_dates => {
            format!("0000-00-00 00:00:00{}", fraction(fsp))
        }
        ColumnType::Date
        | ColumnType::DateTime(_)
        | ColumnType::Timestamp(_)
        | ColumnType::Text(_)
        | ColumnType::Enum(_)
        | ColumnType::Json => return DefaultValue::None,
    })
}

/// The column for what is computed.
#[must_use]
pub fn computed_column(selected: &SelectedColumn) -> Column {
    computed(selected, INT_COMPUTED)
}

fn computed(selected: &SelectedColumn, int_computed: u32) -> Column {
    let ty = &selected.ty;
    // NULL has no type: bytes, and none of them.
    let own = ty.ty.unwrap_or(ColumnType::VarChar(0));
    let collation = ty.collation;
    let mut column = Column::new(&selected.name, own);
    column.unsigned = ty.unsigned && own.is_integer();
    column.collation = match own.has_collation() {
        true => collation,
        false => Collation::Binary,
    };
    column.ty = match own {
        ColumnType::BigInt | ColumnType::Int => integer(own, selected, int_computed),
        ColumnType::VarChar(length) if length > VARCHAR_MAX => {
            text_of(u64::from(length) * u64::from(collation.max_char_bytes()))
        }
        ColumnType::Char(length) if selected.origin == ColumnOrigin::Computed => {
            ColumnType::VarChar(length.into())
        }
        // A member of a list that is not known any more is its text.
        ColumnType::Enum(_) | ColumnType::Set(_) => ColumnType::VarChar(ty.length),
        other => other,
    };
    let is_real = matches!(own, ColumnType::Float | ColumnType::Double);
    if is_real && (1..31).contains(&ty.decimals) {
        let digits = u8::try_from(ty.length).unwrap_or(u8::MAX);
        column.real_digits = Some((digits, ty.decimals));
    }
    column
}

/// INT for a few digits, whatever MySQL computes with.
fn integer(own: ColumnType, selected: &SelectedColumn, int_computed: u32) -> ColumnType {
    let most = match selected.origin {
        ColumnOrigin::Computed => int_computed,
        ColumnOrigin::Other => INT_OTHER,
        ColumnOrigin::Typed | ColumnOrigin::Stored(_) | ColumnOrigin::Derived(_) => return own,
    };
    match selected.ty.length > most {
        true => ColumnType::BigInt,
        false => ColumnType::Int,
    }
}

/// The TEXT that takes so many bytes.
fn text_of(bytes: u64) -> ColumnType {
    ColumnType::Text(match bytes {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xff_ffff => 3,
        _ => 4,
    })
}
