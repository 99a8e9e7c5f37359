//! SET: system variables, user variables, character sets.

use super::Session;
use crate::{
    collations::{self, NamedCharset},
    command::{Assignment, SetScope},
    error::SqlError,
    lexer::{self, Kind, Lexer},
    privileges::needed,
    state::delays,
    variables::{self, Access, Scope, Variable, persisted::Persisted},
};
use cohort_engine::types::{Charset, Collation, Value};
use std::sync::Arc;

/// An assignment whose value is known.
enum Ready {
    System(SetScope, Variable, Option<Value>),
    /// What a variable is to be when the server starts again, and whether from now on.
    Persisted(Variable, Option<Value>, bool),
    User(String, Value, Collation),
    Connection {
        charset: Option<String>,
        collation: Option<String>,
        by_database: bool,
    },
}

impl Session {
    /// SET. All values are computed before the first is assigned; `params` are those of `?`s.
    pub(super) fn set(
        &mut self,
        assignments: &[Assignment],
        mut params: &[Value],
    ) -> Result<(), SqlError> {
        let mut ready = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            ready.push(match assignment {
                Assignment::System { scope, name, value } => {
                    let variable = variables::find(name)?;
                    check_scope(&variable, *scope)?;
                    let value = match value {
                        Some(text) => Some(self.value(text, true, &mut params)?.0),
                        None => None,
                    };
                    match scope {
                        SetScope::Persist => Ready::Persisted(variable, value, true),
                        SetScope::PersistOnly => Ready::Persisted(variable, value, false),
                        scope => Ready::System(*scope, variable, value),
                    }
                }
                Assignment::User { name, value } => {
                    let (value, collation) = self.value(value, false, &mut params)?;
                    Ready::User(name.clone(), value, collation)
                }
                Assignment::Names { charset, collation } => Ready::Connection {
                    charset: charset.clone(),
                    collation: collation.clone(),
                    by_database: false,
                },
                Assignment::CharacterSet(charset) => Ready::Connection {
                    charset: charset.clone(),
                    collation: None,
                    by_database: true,
                },
            });
        }
        let mut persisted = Vec::new();
        for assignment in ready {
            match assignment {
                Ready::Persisted(variable, value, at_once) => {
                    if at_once {
                        self.assign(SetScope::Global, &variable, value.as_ref())?;
                    }
                    let (value, _) = self.wanted(SetScope::Global, &variable, value.as_ref())?;
                    persisted.push((variable, value));
                }
                Ready::User(name, value, collation) => {
                    self.state.set_user_variable(&name, value, collation);
                }
                Ready::System(scope, variable, value) => {
                    if variable.name == "character_set_results" {
                        self.results = None;
                    }
                    self.assign(scope, &variable, value.as_ref())?;
                }
                Ready::Connection {
                    charset,
                    collation,
                    by_database,
                } => {
                    self.results = None;
                    self.set_connection(charset.as_deref(), collation.as_deref(), by_database)?;
                }
            }
        }
        match persisted.is_empty() {
            true => Ok(()),
            false => self.persist(&persisted),
        }
    }

    /// Notes values for when the server starts again.
    fn persist(&self, values: &[(Variable, Value)]) -> Result<(), SqlError> {
        let (user, host) = &self.state.account;
        self.state.instance.persisted().change(|known| {
            for (variable, value) in values {
                let one = Persisted {
                    value: variable.show(value),
                    micros: self.state.instance.engine.env().wall_micros(),
                    user: user.clone(),
                    host: host.clone(),
                };
                known.insert(variable.name.to_owned(), one);
            }
            Ok(())
        })
    }

    /// RESET PERSIST: of one variable, or of all.
    pub(super) fn reset_persist(
        &mut self,
        name: Option<&str>,
        if_exists: bool,
    ) -> Result<(), SqlError> {
        let instance = Arc::clone(&self.state.instance);
        let is_audits = |name: &str| name.to_ascii_lowercase().starts_with("cohort_audit_log");
        let touches_audit = match name {
            Some(name) => is_audits(name),
            None => instance
                .persisted()
                .variables()
                .keys()
                .any(|name| is_audits(name)),
        };
        if touches_audit {
            self.state.need(needed::AUDIT_ADMIN)?;
            self.audit_setting();
        }
        instance.persisted().change(|known| {
            let Some(name) = name else {
                known.clear();
                return Ok(());
            };
            if known.remove(&name.to_ascii_lowercase()).is_some() {
                return Ok(());
            }
            let missing = SqlError::variable_not_persisted(name);
            match if_exists {
                true => self.state.warnings.warn(missing),
                false => return Err(missing),
            }
            Ok(())
        })
    }

    /// The value of an expression on the right side of `=`. For system variables a word that is
    /// no literal is a string.
    fn value(
        &mut self,
        text: &str,
        words: bool,
        params: &mut &[Value],
    ) -> Result<(Value, Collation), SqlError> {
        let collation = self.state.settings().collation;
        let mode = self.state.settings().lexer;
        let tokens = Lexer::tokens(text.as_bytes(), mode);
        if let [token] = tokens.as_slice() {
            let text = token.text(text.as_bytes());
            match token.kind {
                Kind::String => return Ok((lexer::string_value(text, mode), collation)),
                Kind::Integer | Kind::Decimal | Kind::Float => {
                    if let Some(value) = lexer::number(token.kind, text) {
                        return Ok((value, collation));
                    }
                }
                Kind::Word if words => return Ok((word(text), collation)),
                Kind::QuotedName if words => {
                    let name = lexer::name(text).into_owned().into_bytes();
                    return Ok((Value::Bytes(name), collation));
                }
                _ => {}
            }
        }
        let wanted = tokens
            .iter()
            .filter(|token| token.kind == Kind::Placeholder)
            .count();
        let (mine, rest) = params.split_at_checked(wanted).unwrap_or((*params, &[]));
        *params = rest;
        let mut values = self.evaluate_texts(text, mine)?;
        match (values.pop(), values.is_empty()) {
            (Some(value), true) => Ok(value),
            _ => Err(SqlError::operand_columns(1)),
        }
    }

    /// Sets a system variable by its name.
    pub(super) fn set_variable(
        &mut self,
        scope: SetScope,
        name: &str,
        value: &Value,
    ) -> Result<(), SqlError> {
        let variable = variables::find(name)?;
        check_scope(&variable, scope)?;
        self.assign(scope, &variable, Some(value))
    }

    /// Sets a variable; `None` is DEFAULT: the built-in value or, for a session, the global one.
    fn assign(
        &mut self,
        scope: SetScope,
        variable: &Variable,
        value: Option<&Value>,
    ) -> Result<(), SqlError> {
        let global = scope == SetScope::Global || variable.scope == Scope::Global;
        let (value, warning) = self.wanted(scope, variable, value)?;
        if variable.access == Access::Pinned {
            if variable.name == "default_collation_for_utf8mb4" {
                let warning = SqlError::updating_deprecated(variable.name);
                self.state.warnings.warn(warning);
            }
            return Ok(());
        }
        if let Some(warning) = warning {
            self.state.warnings.warn(warning);
        }
        if let Some(warning) = self.remark(variable, &value) {
            self.state.warnings.warn(warning);
        }
        if variable.name == "gtid_purged" {
            self.set_gtid_purged(&text_of(&value))
        } else if global {
            self.set_global(variable, value)
        } else {
            self.assign_session(scope, variable, value)
        }
    }

    /// What there is to say about a value, though a variable can have it.
    fn remark(&self, variable: &Variable, value: &Value) -> Option<SqlError> {
        let global = |name| self.state.instance.globals.values().number(name);
        let number = match value {
            Value::UInt(number) => *number,
            _ => 0,
        };
        match variable.name {
            name @ ("character_set_database" | "collation_database") => {
                Some(SqlError::updating_deprecated(name))
            }
            "log_error_services" if text_of(value).is_empty() => {
                Some(SqlError::empty_error_log_pipeline())
            }
            "restrict_fk_on_non_standard_key" if *value == Value::Int(0) => {
                Some(SqlError::unsafe_parents())
            }
            name @ "restrict_fk_on_non_standard_key" => {
                Some(SqlError::deprecated_without_replacement(name))
            }
            "max_allowed_packet" if number < global("net_buffer_length") => {
                Some(SqlError::packet_below_buffer())
            }
            "net_buffer_length" if number > global("max_allowed_packet") => {
                Some(SqlError::packet_below_buffer())
            }
            _ => None,
        }
    }

    /// The value that a variable is to have, which it can have, and what there is to say about it.
    fn wanted(
        &self,
        scope: SetScope,
        variable: &Variable,
        value: Option<&Value>,
    ) -> Result<(Value, Option<SqlError>), SqlError> {
        let global = scope == SetScope::Global || variable.scope == Scope::Global;
        if global {
            self.state.need(needed::GLOBAL_VARIABLES)?;
        }
        if variable.name.starts_with("cohort_audit_log") {
            self.state.need(needed::AUDIT_ADMIN)?;
            self.audit_setting();
        }
        if variable.name == "mandatory_roles" && !self.state.rights.has_any(needed::ROLE_ADMIN) {
            let what = "SYSTEM_VARIABLES_ADMIN or SUPER privileges, as well as the ROLE_ADMIN";
            return Err(SqlError::privilege_needed(what));
        }
        let instance = &self.state.instance;
        value.map_or(Ok(()), |value| instance.check_value(variable.name, value))?;
        let rule = || self.state.instance.delay_rule();
        if let Some(value) = value
            && variable.name.starts_with("connection_control_")
            && !delays::may_be(variable.name, value, rule())
        {
            let value = variable.show(value);
            return Err(SqlError::wrong_value_for_variable(variable.name, value));
        }
        let (value, warning) = match value {
            Some(value) => variable.convert(value)?,
            None if variable.name.starts_with("rand_seed") => {
                return Err(SqlError::no_default_of_variable(variable.name));
            }
            None if global || variable.scope == Scope::Session => (variable.default(), None),
            None => (self.state.instance.global(variable), None),
        };
        if variable.access == Access::Pinned && self.state.variable(variable, scope) != value {
            return Err(SqlError::not_supported(format_args!(
                "{} = {}",
                variable.name,
                variable.show(&value)
            )));
        }
        Ok((value, warning))
    }

    fn assign_session(
        &mut self,
        scope: SetScope,
        variable: &Variable,
        value: Value,
    ) -> Result<(), SqlError> {
        let number = match &value {
            Value::UInt(n) => *n,
            _ => 0,
        };
        match variable.name {
            "transaction_isolation" | "transaction_read_only" if scope == SetScope::Next => {
                return self.set_next(variable, &value);
            }
            // What was asked of the next transaction only is overtaken.
            "transaction_isolation" => self.transaction.next.0 = None,
            "transaction_read_only" => self.transaction.next.1 = None,
            "max_join_size" => {
                let unlimited = value == variable.default();
                let big = Value::Int(i64::from(unlimited));
                self.state.variables.set_named("sql_big_selects", big);
            }
            "autocommit" => {
                let on = value == Value::Int(1);
                if on && !self.state.settings().autocommit {
                    self.commit()?;
                }
            }
            "timestamp" => {
                let micros = match value {
                    // Exact to the microsecond up to the year 2255.
                    Value::Double(seconds) if seconds > 0.0 => Some((seconds * 1e6).round() as i64),
                    _ => None,
                };
                self.state.timestamp = micros;
                return Ok(());
            }
            "last_insert_id" | "identity" => {
                self.state.last_insert_id = number;
                return Ok(());
            }
            "insert_id" => {
                self.state.insert_id = number;
                return Ok(());
            }
            "rand_seed1" | "rand_seed2" => {
                let seeds = self.state.rand.get_or_insert_default();
                match variable.name {
                    "rand_seed1" => seeds.0 = number,
                    _ => seeds.1 = number,
                }
                return Ok(());
            }
            "gtid_next" => return self.set_gtid_next(&text_of(&value)),
            "sql_log_bin" => self.check_sql_log_bin(value == Value::Int(1))?,
            "original_commit_timestamp"
            | "original_server_version"
            | "immediate_server_version" => {
                self.state.need(needed::SESSION_VARIABLES)?;
            }
            "binlog_format"
            | "bulk_insert_buffer_size"
            | "character_set_database"
            | "collation_database"
            | "histogram_generation_max_mem_size"
            | "sql_log_off"
            | "sql_require_primary_key" => self.state.need(needed::SESSION_VARIABLES)?,
            "pseudo_thread_id" => return self.state.need(needed::SESSION_VARIABLES),
            _ => {}
        }
        if let Some((name, value)) = paired(variable.name, &value) {
            self.state.variables.set_named(name, value);
        }
        self.state.variables.set(variable.id, value);
        self.tell_origin();
        Ok(())
    }

    /// `SET @@transaction_isolation = …`: for the next transaction only.
    fn set_next(&mut self, variable: &Variable, value: &Value) -> Result<(), SqlError> {
        let (isolation, read_only) = match (variable.name, value) {
            ("transaction_isolation", Value::Bytes(name)) => {
                let name = std::str::from_utf8(name).unwrap_or("");
                (Some(variables::isolation(name)), None)
            }
            (_, value) => (None, Some(*value == Value::Int(1))),
        };
        self.set_transaction(SetScope::Next, isolation, read_only)
    }

    /// SET NAMES and SET CHARACTER SET.
    fn set_connection(
        &mut self,
        charset: Option<&str>,
        collation: Option<&str>,
        by_database: bool,
    ) -> Result<(), SqlError> {
        let name = charset.unwrap_or("utf8mb4");
        let named = NamedCharset::find(name)?;
        if !named.charset.is_for_clients() {
            let variable = "character_set_client";
            return Err(SqlError::wrong_value_for_variable(variable, name));
        }
        if let Some(warning) = named.warning() {
            self.state.warnings.warn(warning);
        }
        let charset = named.charset.name();
        let collation = match collation {
            Some(name) => {
                let collation = collations::find(name)?;
                if collation.charset().name() != charset {
                    return Err(SqlError::collation_mismatch(collation.name(), charset));
                }
                if let Some(warning) = collations::warning(collation) {
                    self.state.warnings.warn(warning);
                }
                collation
            }
            None => default_collation(&Value::Bytes(charset.into())),
        };
        let client = Value::Bytes(charset.into());
        for name in ["character_set_client", "character_set_results"] {
            self.state.variables.set_named(name, client.clone());
        }
        let (connection, collation) = if by_database {
            let database = self.state.variables.values().text("collation_database");
            let collation = Collation::from_name(database).unwrap_or(Collation::Utf8mb40900AiCi);
            (collation.charset().name(), collation)
        } else {
            (charset, collation)
        };
        let connection = Value::Bytes(connection.into());
        self.state
            .variables
            .set_named("character_set_connection", connection);
        self.state.variables.set_named(
            "collation_connection",
            Value::Bytes(collation.name().into()),
        );
        Ok(())
    }
}

/// The variable that goes with a character set or a collation, and what it becomes.
pub(super) fn paired(name: &str, value: &Value) -> Option<(&'static str, Value)> {
    const PAIRS: [(&str, &str); 3] = [
        ("character_set_connection", "collation_connection"),
        ("character_set_database", "collation_database"),
        ("character_set_server", "collation_server"),
    ];
    PAIRS.iter().find_map(|&(charset, collation)| {
        let (other, text) = match name {
            name if name == charset => (collation, default_collation(value).name()),
            name if name == collation => (charset, charset_of(value)),
            _ => return None,
        };
        Some((other, Value::Bytes(text.into())))
    })
}

/// The value of a word: literals, else the word itself.
fn word(text: &[u8]) -> Value {
    match text.to_ascii_uppercase().as_slice() {
        b"TRUE" => Value::Int(1),
        b"FALSE" => Value::Int(0),
        b"NULL" => Value::Null,
        _ => Value::Bytes(text.to_vec()),
    }
}

fn charset_of(collation: &Value) -> &'static str {
    let Value::Bytes(name) = collation else {
        return "utf8mb4";
    };
    let name = std::str::from_utf8(name).unwrap_or("");
    Collation::from_name(name).map_or("utf8mb4", |collation| collation.charset().name())
}

fn default_collation(charset: &Value) -> Collation {
    let name = match charset {
        Value::Bytes(name) => std::str::from_utf8(name).unwrap_or(""),
        _ => "",
    };
    Charset::from_name(name).map_or(Collation::Utf8mb40900AiCi, Charset::default_collation)
}

/// Whether a variable can be set there.
fn check_scope(variable: &Variable, scope: SetScope) -> Result<(), SqlError> {
    if matches!(variable.access, Access::Fixed | Access::Computed) {
        let kind = match scope {
            SetScope::PersistOnly => "non persistent read only",
            _ => "read only",
        };
        return Err(SqlError::variable_is(variable.name, kind));
    }
    match (variable.scope, scope) {
        (Scope::Global, SetScope::Session | SetScope::Next) => {
            Err(SqlError::global_variable(variable.name))
        }
        (Scope::Session, SetScope::Global | SetScope::Persist | SetScope::PersistOnly) => {
            Err(SqlError::session_variable(variable.name))
        }
        (Scope::SessionReadOnly, SetScope::Session | SetScope::Next) => {
            let why = format!(
                "SESSION variable '{0}' is read-only. Use SET GLOBAL to assign the value",
                variable.name
            );
            Err(SqlError {
                code: 1621,
                state: *b"HY000",
                message: why,
            })
        }
        _ => Ok(()),
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    }
}
