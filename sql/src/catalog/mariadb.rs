//! Tables of information_schema that MariaDB has and MySQL has not: what programs written for it
//! ask for variables and counters. Names are in capitals there.

use super::{Rows, server::variable_pairs, status};
use crate::{
    command::SetScope,
    state::State,
    variables::{self, Access, Effect, Kind, Scope, Variable},
};
use cohort_engine::types::Value;

fn text(text: impl Into<String>) -> Value {
    Value::Bytes(text.into().into_bytes())
}

fn pairs(pairs: Vec<(String, String)>) -> Rows {
    let row = |(name, value): (String, String)| vec![text(name.to_uppercase()), text(value)];
    pairs.into_iter().map(row).collect()
}

pub(super) fn global_status(session: &State) -> Rows {
    pairs(status::global(session))
}

pub(super) fn session_status(session: &State) -> Rows {
    pairs(status::session(session))
}

pub(super) fn global_variables(session: &State) -> Rows {
    pairs(variable_pairs(session, true))
}

pub(super) fn session_variables(session: &State) -> Rows {
    pairs(variable_pairs(session, false))
}

/// SYSTEM_VARIABLES: each variable with all that is known of it.
pub(super) fn system_variables(session: &State) -> Rows {
    variables::all()
        .map(|one| variable(session, &one))
        .collect()
}

fn variable(session: &State, variable: &Variable) -> Vec<Value> {
    let value = |scope| text(variable.show(&session.variable(variable, scope)));
    let (mine, global) = match variable.scope {
        Scope::Global => (Value::Null, value(SetScope::Global)),
        Scope::Session => (value(SetScope::Session), Value::Null),
        Scope::Both | Scope::SessionReadOnly => (value(SetScope::Session), value(SetScope::Global)),
    };
    let is_default = variable.default() == session.variable(variable, SetScope::Global);
    let (least, greatest) = match variable.kind {
        Kind::UInt { min, max } => (text(min.to_string()), text(max.to_string())),
        Kind::Double { min, max } => (text(min.to_string()), text(max.to_string())),
        _ => (Value::Null, Value::Null),
    };
    let is_fixed = matches!(variable.access, Access::Fixed | Access::Computed);
    vec![
        text(variable.name.to_uppercase()),
        mine,
        global,
        text(if is_default { "COMPILE-TIME" } else { "SQL" }),
        text(variable.show(&variable.default())),
        text(match variable.scope {
            Scope::Global => "GLOBAL",
            Scope::Session => "SESSION ONLY",
            Scope::Both | Scope::SessionReadOnly => "SESSION",
        }),
        text(kind(variable.kind)),
        text(about(variable.access)),
        least,
        greatest,
        Value::Null,
        match variable.kind {
            Kind::Bool => text("OFF,ON"),
            Kind::Enum(words) => text(words.join(",")),
            _ => Value::Null,
        },
        text(if is_fixed { "YES" } else { "NO" }),
        Value::Null,
        Value::Null,
    ]
}

/// A type as MariaDB calls it.
fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "BOOLEAN",
        Kind::UInt { .. } => "BIGINT UNSIGNED",
        Kind::Double { .. } => "DOUBLE",
        Kind::Enum(_) | Kind::CharacterSet | Kind::NullCharacterSet | Kind::Collation => "ENUM",
        Kind::SqlMode => "SET",
        Kind::Text
        | Kind::NullText
        | Kind::TimeZone
        | Kind::Language
        | Kind::TlsVersion
        | Kind::Compressions
        | Kind::Proxies
        | Kind::LogOutput
        | Kind::AuditEvents => "VARCHAR",
    }
}

/// What setting a variable does.
fn about(access: Access) -> String {
    match access {
        Access::Dynamic(Effect::Nothing(why)) | Access::ComputedDynamic(Effect::Nothing(why)) => {
            format!("Changes nothing: {why}")
        }
        Access::Dynamic(_) | Access::ComputedDynamic(_) => "Obeyed".into(),
        Access::Pinned => "Can be set to the value that it has".into(),
        Access::Fixed | Access::Computed => "Can be read".into(),
    }
}
