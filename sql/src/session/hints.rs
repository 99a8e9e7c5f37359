//! SET_VAR: variables of the session that a statement's optimizer hints set as long as it runs. And
//! RESOURCE_GROUP: there are the two groups that MySQL always has, of which a session is in the one.

use super::Session;
use crate::{
    command::SetScope,
    error::SqlError,
    hint::{self, Hint, Hints},
    lexer::{self, Kind, Lexer},
    variables::{self, Variables},
};
use cohort_engine::types::Value;

/// The variables that MySQL 9.7 takes in SET_VAR.
const HINTED: [&str; 54] = [
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "bulk_insert_buffer_size",
    "cte_max_recursion_depth",
    "default_table_encryption",
    "default_tmp_storage_engine",
    "div_precision_increment",
    "enable_secondary_engine_statistics",
    "end_markers_in_json",
    "eq_range_index_dive_limit",
    "foreign_key_checks",
    "group_concat_max_len",
    "insert_id",
    "internal_tmp_mem_storage_engine",
    "join_buffer_size",
    "lock_wait_timeout",
    "max_error_count",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_length_for_sort_data",
    "max_points_in_geometry",
    "max_seeks_for_key",
    "max_sort_length",
    "optimizer_max_subgraph_pairs",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "secondary_engine_cost_threshold",
    "select_into_buffer_size",
    "select_into_disk_sync",
    "select_into_disk_sync_delay",
    "set_operations_buffer_size",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_require_primary_key",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "unique_checks",
    "updatable_views_with_limit",
    "use_secondary_engine",
    "windowing_use_high_precision",
    "xa_detach_on_prepare",
];

/// The modes of sql_mode that say how a text is read: REAL_AS_FLOAT, PIPES_AS_CONCAT, ANSI_QUOTES, IGNORE_SPACE,
/// ANSI, which stands for some of them, NO_BACKSLASH_ESCAPES and HIGH_NOT_PRECEDENCE.
const OF_TEXTS: u64 = 0b1111 | 1 << 18 | 1 << 20 | 1 << 29;

/// What a session's variables were before a statement.
pub(super) struct Before {
    variables: Variables,
    timestamp: Option<i64>,
    /// If it is among them; else the statement may have used it.
    insert_id: Option<u64>,
}

impl Session {
    /// Runs a statement with what its hints set, and sets it back.
    pub(super) fn with_hints<R>(&mut self, sql: &[u8], run: impl FnOnce(&mut Session) -> R) -> R {
        let before = self.set_hinted(sql);
        let result = run(self);
        if let Some(before) = before {
            self.state.variables = before.variables;
            self.state.timestamp = before.timestamp;
            if let Some(id) = before.insert_id {
                self.state.insert_id = id;
            }
        }
        result
    }

    /// Sets what the hints of a statement set; `None`: there are none. What cannot be set is a warning of the
    /// statement.
    fn set_hinted(&mut self, sql: &[u8]) -> Option<Before> {
        memchr::memmem::find(sql, b"/*+")?;
        let mode = self.state.settings().lexer;
        let set = variables_set(hints_of_blocks(sql, mode));
        if set.is_empty() {
            return None;
        }
        let insert_id = self.state.insert_id;
        let mut before = Before {
            variables: self.state.variables.clone(),
            timestamp: self.state.timestamp,
            insert_id: None,
        };
        let parsed = self.state.settings().mode_bits & OF_TEXTS;
        let mut names = Vec::new();
        for (name, value) in set {
            let name = name.to_ascii_lowercase();
            let done = match () {
                // A variable of what is not here.
                () if variables::find(&name).is_err() && HINTED.contains(&name.as_str()) => Ok(()),
                () if variables::find(&name).is_err() => {
                    let name = format_args!("'{name}'");
                    Err(SqlError::unresolved_hint(name, "SET_VAR"))
                }
                () if !HINTED.contains(&name.as_str()) => Err(SqlError::not_hinted(&name)),
                () if names.contains(&name) => {
                    let hint = format_args!("SET_VAR({name}={}) ", String::from_utf8_lossy(&value));
                    Err(SqlError::conflicting_hint(hint))
                }
                () => self.set_variable(SetScope::Session, &name, &value_of(&value, mode)),
            };
            if name == "insert_id" {
                before.insert_id = Some(insert_id);
            }
            if name == "sql_mode" {
                // How the text is to be read was settled before its hints were.
                let bits = self.state.settings().mode_bits & !OF_TEXTS | parsed;
                let kept = self.set_variable(SetScope::Session, &name, &Value::UInt(bits));
                self.names.extend(kept.err());
            }
            names.push(name);
            self.names.extend(done.err());
        }
        if let Some(timestamp) = self.state.timestamp {
            self.state.now_micros = timestamp;
        }
        Some(before)
    }

    /// What there is to say about the resource groups that the hints of a statement name.
    pub(super) fn told_of_groups(&self, sql: &[u8]) -> Vec<SqlError> {
        if memchr::memmem::find(sql, b"/*+").is_none() {
            return Vec::new();
        }
        let blocks = hints_of_blocks(sql, self.state.settings().lexer);
        let told = blocks.iter().enumerate();
        let told = told.filter_map(|(at, hints)| self.told_of_group(at == 0, hints));
        told.collect()
    }

    /// What there is to say about the resource group that the hints of a block name, the last one if there
    /// are several. A session cannot leave its own group: nobody can make another.
    fn told_of_group(&self, is_first: bool, hints: &[Hint]) -> Option<SqlError> {
        let named = hints.iter().rev().find_map(|hint| match hint {
            Hint::ResourceGroup(name) => Some(name),
            _ => None,
        })?;
        match named.to_ascii_lowercase().as_str() {
            _ if !is_first => Some(SqlError::hint_in_subquery()),
            "usr_default" => None,
            "sys_default" => Some(SqlError::system_resource_group(named, self.state.entry.id)),
            _ => Some(SqlError::unknown_resource_group(named)),
        }
    }
}

/// What the hints of all query blocks set: names and values.
fn variables_set(blocks: Vec<Vec<Hint>>) -> Vec<(String, Vec<u8>)> {
    let hints = blocks.into_iter().flatten();
    let set = hints.filter_map(|hint| match hint {
        Hint::SetVariable(name, value) => Some((name, value)),
        _ => None,
    });
    set.collect()
}

/// The hints of each query block of a text.
fn hints_of_blocks(sql: &[u8], mode: lexer::Mode) -> Vec<Vec<Hint>> {
    let mut blocks = Vec::new();
    let mut lexer = Lexer::new(sql, mode);
    loop {
        let token = lexer.next_token();
        if token.kind == Kind::End {
            return blocks;
        }
        if hint::may_begin_block(&token, sql) {
            let behind = sql.get(token.end..).unwrap_or_default();
            blocks.push(Hints::read(lexer::hints(behind), mode).hints);
        }
    }
}

/// A number of K, M or G.
fn sized(text: &[u8]) -> Option<u64> {
    let (suffix, digits) = text.split_last()?;
    let shift = match suffix.to_ascii_uppercase() {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        _ => return None,
    };
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    number.checked_mul(1 << shift)
}

/// A value as it stands in a hint: a number, a string, or a word.
fn value_of(text: &[u8], mode: lexer::Mode) -> Value {
    let token = Lexer::new(text, mode).next_token();
    let bytes = token.text(text);
    let as_text = || Value::Bytes(text.to_vec());
    if let Some(number) = sized(text) {
        return Value::UInt(number);
    }
    match token.kind {
        _ if token.end != text.len() => as_text(),
        Kind::String => Value::Bytes(lexer::string(bytes, mode).into()),
        Kind::Integer => {
            let number = std::str::from_utf8(bytes).ok();
            let number = number.and_then(|digits| digits.parse::<u64>().ok());
            number.map_or_else(as_text, Value::UInt)
        }
        Kind::Decimal | Kind::Float => {
            let number = std::str::from_utf8(bytes).ok();
            let number = number.and_then(|digits| digits.parse::<f64>().ok());
            number.map_or_else(as_text, Value::Double)
        }
        _ => as_text(),
    }
}
