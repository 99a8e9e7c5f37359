//! Which values a variable takes, and how they are shown.

use super::{Kind, Variable, sql_mode::Modes, time_zone};
use crate::{
    collations::{self, NamedCharset},
    compression::Allowed,
    error::SqlError,
    expr::language::Language,
    networks::Proxies,
    statements::CLASSES,
};
use cohort_engine::types::{Collation, Value};

/// Where the logs of statements can go, in MySQL's order.
const LOG_OUTPUTS: [&str; 3] = ["NONE", "FILE", "TABLE"];
const TLS_VERSIONS: [&str; 2] = ["TLSv1.2", "TLSv1.3"];

/// The value of a text in the table of variables.
pub(super) fn parse(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Bool => Value::Int(i64::from(text == "ON")),
        Kind::UInt { .. } => Value::UInt(text.parse().unwrap_or(0)),
        Kind::Double { .. } => Value::Double(text.parse().unwrap_or(0.0)),
        Kind::NullText if text == "NULL" => Value::Null,
        _ => Value::Bytes(text.into()),
    }
}

/// See `Variable::convert`.
pub(super) fn convert(
    variable: &Variable,
    value: &Value,
) -> Result<(Value, Option<SqlError>), SqlError> {
    let refused = || SqlError::wrong_value_for_variable(variable.name, text_of(value));
    let plain = match variable.kind {
        Kind::Bool => boolean(value)
            .map(|on| Value::Int(i64::from(on)))
            .ok_or_else(refused)?,
        Kind::UInt { min, max } => return unsigned(variable, value, min, max),
        Kind::Double { min, max } => return double(variable, value, min, max),
        Kind::Enum(words) => {
            let word = choose(words, value).ok_or_else(refused)?;
            Value::Bytes(word.into())
        }
        Kind::NullText | Kind::NullCharacterSet if value.is_null() => Value::Null,
        Kind::Text | Kind::NullText => Value::Bytes(string(variable, value)?.into()),
        Kind::CharacterSet | Kind::NullCharacterSet => {
            let named = match integer(value) {
                // The number of one of its collations, as logs have it.
                Some(id) => NamedCharset::find(charset_name(id)?)?,
                None => NamedCharset::find(&string(variable, value)?)?,
            };
            if variable.name == "character_set_client" && !named.charset.is_for_clients() {
                return Err(refused());
            }
            let plain = Value::Bytes(named.charset.name().into());
            return Ok((plain, named.warning()));
        }
        Kind::Collation => {
            let collation = collation(variable, value)?;
            let plain = Value::Bytes(collation.name().into());
            return Ok((plain, collations::warning(collation)));
        }
        Kind::Language => {
            // Logs have its number.
            let language = match integer(value) {
                Some(number) => i64::try_from(number).ok().and_then(Language::numbered),
                None => Language::find(&string(variable, value)?),
            };
            let language = language.ok_or_else(|| SqlError::unknown_locale(text_of(value)))?;
            Value::Bytes(language.name().into())
        }
        Kind::SqlMode => {
            let mode = match integer(value) {
                Some(bits) => Modes::from_bits(u64::try_from(bits).map_err(|_| refused())?)?,
                None => Modes::parse(&string(variable, value)?)?,
            };
            let warning = mode.is_half_strict().then(SqlError::modes_belong_together);
            return Ok((Value::Bytes(mode.check()?.to_string().into()), warning));
        }
        Kind::TlsVersion => {
            let list = string(variable, value)?;
            let known = |version: &str| TLS_VERSIONS.iter().any(|known| *known == version.trim());
            if !list.is_empty() && !list.split(',').all(known) {
                return Err(refused());
            }
            Value::Bytes(list.into())
        }
        Kind::Compressions => {
            let list = match value {
                Value::Null => return Err(refused()),
                _ => string(variable, value)?,
            };
            Allowed::parse(&list).ok_or_else(refused)?;
            Value::Bytes(list.into())
        }
        Kind::Proxies => {
            let list = string(variable, value)?;
            Proxies::parse(&list).ok_or_else(refused)?;
            Value::Bytes(list.into())
        }
        Kind::LogOutput => {
            let list = string(variable, value)?.to_ascii_uppercase();
            let words: Vec<&str> = list.split(',').map(str::trim).collect();
            if !words.iter().all(|word| LOG_OUTPUTS.contains(word)) {
                return Err(refused());
            }
            let known = LOG_OUTPUTS.iter().filter(|word| words.contains(word));
            Value::Bytes(known.copied().collect::<Vec<_>>().join(",").into())
        }
        Kind::AuditEvents => {
            let list = string(variable, value)?.to_ascii_uppercase();
            let words: Vec<&str> = list.split(',').map(str::trim).collect();
            let is_known =
                |word: &&str| *word == "ALL" || CLASSES.iter().any(|(_, name)| name == word);
            if !list.is_empty() && !words.iter().all(is_known) {
                return Err(refused());
            }
            let wanted = CLASSES.iter().map(|(_, name)| *name);
            let wanted = wanted.filter(|name| words.contains(name) || words.contains(&"ALL"));
            Value::Bytes(wanted.collect::<Vec<_>>().join(",").into())
        }
        Kind::TimeZone => Value::Bytes(time_zone::parse(&string(variable, value)?)?.0.into()),
    };
    Ok((plain, None))
}

fn charset_name(id: i128) -> Result<&'static str, SqlError> {
    let collation = u16::try_from(id).ok().and_then(Collation::from_id);
    let collation = collation.ok_or_else(|| SqlError::unknown_character_set(id))?;
    Ok(collation.charset().name())
}

fn collation(variable: &Variable, value: &Value) -> Result<Collation, SqlError> {
    let found = match integer(value) {
        Some(id) => u16::try_from(id).ok().and_then(Collation::from_id),
        None => return collations::find(&string(variable, value)?),
    };
    found.ok_or_else(|| SqlError::unknown_collation(text_of(value)))
}

fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Int(n) => Some(i128::from(*n)),
        Value::UInt(n) => Some(i128::from(*n)),
        _ => None,
    }
}

fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Int(0) | Value::UInt(0) => Some(false),
        Value::Int(1) | Value::UInt(1) => Some(true),
        Value::Bytes(text) => match text.to_ascii_uppercase().as_slice() {
            b"ON" | b"TRUE" => Some(true),
            b"OFF" | b"FALSE" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn unsigned(
    variable: &Variable,
    value: &Value,
    min: u64,
    max: u64,
) -> Result<(Value, Option<SqlError>), SqlError> {
    let wanted = match value {
        Value::Bytes(_) | Value::Float(_) | Value::Double(_) | Value::Decimal(_) => {
            return Err(SqlError::wrong_type_for_variable(variable.name));
        }
        _ => integer(value)
            .ok_or_else(|| SqlError::wrong_value_for_variable(variable.name, text_of(value)))?,
    };
    let cut = wanted.clamp(i128::from(min), i128::from(max));
    let warning = (cut != wanted).then(|| SqlError::truncated_wrong_value(variable.name, wanted));
    Ok((Value::UInt(u64::try_from(cut).unwrap_or(max)), warning))
}

fn double(
    variable: &Variable,
    value: &Value,
    min: f64,
    max: f64,
) -> Result<(Value, Option<SqlError>), SqlError> {
    let wanted: f64 = match value {
        Value::Double(n) => *n,
        Value::Float(n) => f64::from(*n),
        Value::Decimal(n) => n.to_string().parse().unwrap_or(min),
        Value::Int(n) => n.to_string().parse().unwrap_or(min),
        Value::UInt(n) => n.to_string().parse().unwrap_or(max),
        Value::Null => {
            return Err(SqlError::wrong_value_for_variable(variable.name, "NULL"));
        }
        _ => return Err(SqlError::wrong_type_for_variable(variable.name)),
    };
    let cut = wanted.clamp(min, max);
    let warning = (cut.total_cmp(&wanted).is_ne())
        .then(|| SqlError::truncated_wrong_value(variable.name, wanted));
    Ok((Value::Double(cut), warning))
}

fn choose(words: &[&'static str], value: &Value) -> Option<&'static str> {
    if let Some(position) = integer(value) {
        return words.get(usize::try_from(position).ok()?).copied();
    }
    let Value::Bytes(text) = value else {
        return None;
    };
    words
        .iter()
        .find(|word| word.as_bytes().eq_ignore_ascii_case(text))
        .copied()
}

fn string(variable: &Variable, value: &Value) -> Result<String, SqlError> {
    match value {
        Value::Bytes(text) => Ok(String::from_utf8_lossy(text).into_owned()),
        Value::Null => Err(SqlError::wrong_value_for_variable(variable.name, "NULL")),
        _ => Err(SqlError::wrong_type_for_variable(variable.name)),
    }
}

/// A value as error texts show it.
fn text_of(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Int(n) => n.to_string(),
        Value::UInt(n) => n.to_string(),
        Value::Float(n) => n.to_string(),
        Value::Double(n) => n.to_string(),
        Value::Decimal(n) => n.to_string(),
        Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
        Value::Member(member) => text_of(&member.text),
        Value::Json(_) => {
            let mut text = Vec::new();
            crate::text::put(value, crate::text::DECIMALS_NOT_FIXED, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
        Value::Date(_) | Value::Time(_) | Value::DateTime(_) => "a date".into(),
    }
}

/// See `Variable::show`.
pub(super) fn show(variable: &Variable, value: &Value) -> String {
    match (variable.kind, value) {
        (Kind::Bool, Value::Int(on)) => if *on == 0 { "OFF" } else { "ON" }.into(),
        (Kind::Double { .. }, Value::Double(n)) => format!("{n:.6}"),
        (_, Value::Null) => String::new(),
        _ => text_of(value),
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use cohort_engine::types::Value;

    fn set(name: &str, value: Value) -> Result<String, u16> {
        let variable = find(name).unwrap();
        variable
            .convert(&value)
            .map(|(value, _)| variable.show(&value))
            .map_err(|e| e.code)
    }

    #[test]
    fn values_and_refusals() {
        assert_eq!(
            set("autocommit", Value::Bytes(b"off".into())),
            Ok("OFF".into())
        );
        assert_eq!(set("autocommit", Value::Int(2)), Err(1231));
        assert_eq!(
            set("transaction_isolation", Value::Int(1)),
            Ok("READ-COMMITTED".into())
        );
        assert_eq!(
            set("transaction_isolation", Value::Bytes(b"x".into())),
            Err(1231)
        );
        assert_eq!(set("wait_timeout", Value::Int(0)), Ok("1".into()));
        assert_eq!(set("wait_timeout", Value::Bytes(b"1".into())), Err(1232));
        assert_eq!(
            set("character_set_client", Value::Bytes(b"gb18030".into())),
            Ok("gb18030".into())
        );
        assert_eq!(
            set("character_set_client", Value::Bytes(b"swe7".into())),
            Err(1231)
        );
        assert_eq!(
            set(
                "collation_connection",
                Value::Bytes(b"latin2_czech_cs".into())
            ),
            Err(1235)
        );
        assert_eq!(set("character_set_results", Value::Null), Ok(String::new()));
        assert_eq!(
            set("collation_connection", Value::Int(46)),
            Ok("utf8mb4_bin".into())
        );
        for versions in ["", "TLSv1.3", "TLSv1.2, TLSv1.3"] {
            let set = set("tls_version", Value::Bytes(versions.into()));
            assert_eq!(set, Ok(versions.into()));
        }
        for versions in ["TLSv1.1", "TLSv1.2,", "ssl"] {
            assert_eq!(set("tls_version", Value::Bytes(versions.into())), Err(1231));
        }
        assert_eq!(set("sql_mode", Value::Bytes(b"".into())), Ok(String::new()));
        assert_eq!(set("long_query_time", Value::Int(1)), Ok("1.000000".into()));
    }
}
