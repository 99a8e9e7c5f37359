//! Errors with MySQL's numbers and words, in one table; their SQLSTATEs are in `error_names`.
//!
//! Each line of the table makes a constructor: `SqlError::no_such_table(db, table)`. Texts are
//! those of MySQL 9.7 (`perror` prints them); where MySQL fills a text in differently from place
//! to place, the argument is the whole variable part.

use crate::error_names;
use cohort_engine::{invariant::Broken, txn::TxnError};
use std::fmt::Display;

/// An error as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// MySQL's error number (ER_…).
    pub code: u16,
    /// The five characters of SQLSTATE.
    pub state: [u8; 5],
    /// The text.
    pub message: String,
}

impl Display for SqlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = String::from_utf8_lossy(&self.state);
        write!(f, "ERROR {} ({state}): {}", self.code, self.message)
    }
}

impl std::error::Error for SqlError {}

macro_rules! errors {
    ($($code:literal $name:ident($($arg:ident),*) $text:literal;)*) => {
        impl SqlError {
            $(
                #[doc = concat!("Error ", $code, ": ", $text)]
                #[must_use]
                pub fn $name($($arg: impl Display),*) -> SqlError {
                    SqlError::of($code, format!($text $(, $arg = $arg)*))
                }
            )*
        }

        /// The numbers of the table.
        #[cfg(test)]
        const NUMBERS: &[u16] = &[$($code),*];
    };
}

errors! {
    1 cannot_create_file(path, errno, why) "Can't create/write to file '{path}' (OS errno {errno} - {why})";
    2 cannot_read_file(path, errno, why) "Error reading file '{path}' (OS errno {errno} - {why})";
    13 cannot_stat_file(path, errno, why) "Can't get stat of '{path}' (OS errno {errno} - {why})";
    29 log_file_not_found(path, errno, why) "File '{path}' not found (OS errno {errno} - {why})";
    138 snapshot_ignored() "InnoDB: WITH CONSISTENT SNAPSHOT was ignored because this phrase can only be used with REPEATABLE READ isolation level.";
    1007 database_exists(name) "Can't create database '{name}'; database exists";
    1008 cannot_drop_database(name) "Can't drop database '{name}'; database doesn't exist";
    1017 file_not_found(name, errno, why) "Can't find file: '{name}' (errno: {errno} - {why})";
    1022 duplicate_key_written(table) "Can't write; duplicate key in table '{table}'";
    1025 rename_failed(from, to, why) "Error on rename of '{from}' to '{to}' ({why})";
    1026 error_on_write(file, why) "Error writing file '{file}' ({why})";
    1021 disk_full(why) "Disk full; waiting for someone to free some space... ({why})";
    1030 storage_failed(why) "Got error '{why}' from storage engine";
    1031 illegal_alter_option(table) "Table storage engine for '{table}' doesn't have this option";
    1036 table_read_only(table) "Table '{table}' is read only";
    1038 out_of_sort_memory() "Out of sort memory, consider increasing server sort buffer size";
    1040 too_many_connections() "Too many connections";
    1043 bad_handshake() "Bad handshake";
    1044 database_access_denied(user, host, database) "Access denied for user '{user}'@'{host}' to database '{database}'";
    1045 access_denied(user, host, using_password) "Access denied for user '{user}'@'{host}' (using password: {using_password})";
    1046 no_database() "No database selected";
    1047 unknown_command() "Unknown command";
    1048 bad_null(column) "Column '{column}' cannot be null";
    1049 unknown_database(name) "Unknown database '{name}'";
    1256 too_big_for_uncompress(max) "Uncompressed data size too large; the maximum size is {max} (probably, length of uncompressed data was corrupted)";
    1258 zlib_buffer_error() "ZLIB: Not enough room in the output buffer (probably, length of uncompressed data was corrupted)";
    1259 zlib_data_error() "ZLIB: Input data corrupted";
    1751 temporary_stay() "The creation of some temporary tables could not be rolled back.";
    1752 temporary_are_gone() "Some temporary tables were dropped, but these operations could not be rolled back.";
    1032 key_not_found(table) "Can't find record in '{table}'";
    1184 aborted_connection(id, database, user, host, why) "Aborted connection {id} to db: '{database}' user: '{user}' host: '{host}' ({why})";
    1200 no_replica() "The server is not configured as replica; fix in config file or with CHANGE REPLICATION SOURCE TO";
    1254 replica_runs(what) "Replica(s) already {what}";
    1255 replica_stopped() "Replica already has been stopped";
    1277 bad_until() "Incorrect parameter or combination of parameters for START REPLICA UNTIL";
    3017 replica_sql_runs() "This operation cannot be performed with a running replica sql thread; run STOP REPLICA SQL_THREAD first";
    3021 replica_io_runs() "This operation cannot be performed with a running replica io thread; run STOP REPLICA IO_THREAD FOR CHANNEL '' first.";
    3081 replica_threads_run() "This operation cannot be performed with running replication threads; run STOP REPLICA FOR CHANNEL '' first";
    1575 base64_decode_failed() "Decoding of base64 string failed";
    1609 no_format_description(kind) "The BINLOG statement of type `{kind}` was not preceded by a format description BINLOG statement.";
    1677 column_not_converted(position, table, from, to) "Column {position} of table '{table}' cannot be converted from type '{from}' to type '{to}'";
    1694 log_bin_in_transaction() "Cannot modify @@session.sql_log_bin inside a transaction";
    1730 only_rows_in_binlog(kind) "Only Format_description_log_event and row events are allowed in BINLOG statements (but {kind} was provided)";
    1766 variable_in_transaction(name) "The system variable {name} cannot be set when there is an ongoing transaction.";
    1772 malformed_gtid_set(text) "Malformed GTID set specification '{text}'.";
    1774 malformed_gtid(text) "Malformed GTID specification '{text}'.";
    1776 position_with_auto_position() "Parameters SOURCE_LOG_FILE, SOURCE_LOG_POS, RELAY_LOG_FILE and RELAY_LOG_POS cannot be set when SOURCE_AUTO_POSITION is active.";
    1778 implicit_commit_with_gtid() "Cannot execute statements with implicit commit inside a transaction when @@SESSION.GTID_NEXT == 'UUID:NUMBER'.";
    1782 anonymous_with_gtid_mode() "@@SESSION.GTID_NEXT cannot be set to ANONYMOUS when @@GLOBAL.GTID_MODE = ON.";
    1790 gtid_owned(gtid) "@@SESSION.GTID_NEXT cannot be changed by a client that owns a GTID. The client owns {gtid}. Ownership is released on COMMIT or ROLLBACK.";
    1837 gtid_used(gtid) "When @@SESSION.GTID_NEXT is set to a GTID, you must explicitly set it to a different value after a COMMIT or ROLLBACK. Please check GTID_NEXT variable manual page for detailed explanation. Current @@SESSION.GTID_NEXT is '{gtid}'.";
    3125 execution_time_unsupported() "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only";
    3126 conflicting_hint(hint) "Hint {hint} is ignored as conflicting/duplicated";
    3127 unknown_block(block, hint) "Query block name {block} is not found for {hint} hint";
    3128 unresolved_hint(name, hint) "Unresolved name {name} for {hint} hint";
    3527 no_schema_of_component(urn) "Cannot find schema in specified URN: '{urn}'.";
    3529 component_not_loaded(urn) "Cannot load component from specified URN: '{urn}'.";
    3537 component_not_there(urn) "Component specified by URN '{urn}' to unload has not been loaded before.";
    3546 gtid_purged_unchanged(why) "@@GLOBAL.GTID_PURGED cannot be changed: {why}";
    3615 variable_not_persisted(name) "Variable {name} does not exist in persisted config file";
    3648 json_not_changed(table, column) "Could not apply JSON diff in table {table}, column {column}.";
    3707 restart_failed() "Restart server failed (mysqld is not managed by supervisor process).";
    3888 tls_not_reloaded(why) "Failed to set up SSL because of the following SSL library error: {why}";
    3922 wrong_compression(algorithm) "Invalid compression algorithm '{algorithm}'.";
    3923 wrong_compression_level(algorithm) "Invalid zstd compression level for algorithm '{algorithm}'.";
    3904 functional_json_out_of_range(index) "Out of range JSON value for CAST for functional index '{index}'.";
    3908 array_in_scalar_part(index) "Cannot store an array or an object in a scalar key part of the index '{index}'.";
    3903 functional_invalid_json(index) "Invalid JSON value for CAST for functional index '{index}'.";
    4007 regexp_number_too_big() "Decimal number in regular expression is too large.";
    4079 collation_of_deprecated(name, charset) "'{name}' is a collation of the deprecated character set {charset}. Please consider using utf8mb4 with an appropriate collation instead.";
    4091 temporary_in_xa() "XA: Temporary tables cannot be accessed inside XA transactions when xa_detach_on_prepare=ON";
    1746 locked_while_created(table, new) "Can't update table '{table}' while '{new}' is being created.";
    3978 foreign_key_of_selected() "Foreign key creation is not allowed with CREATE TABLE as SELECT and CREATE TABLE with START TRANSACTION statement.";
    3532 rename_role() "Renaming of a role identifier is forbidden";
    3982 invalid_user_attribute() "The user attribute must be a valid JSON object";
    1114 table_full(table) "The table '{table}' is full";
    1050 table_exists(table) "Table '{table}' already exists";
    1051 unknown_table(tables) "Unknown table '{tables}'";
    1052 ambiguous_column(column, clause) "Column '{column}' in {clause} is ambiguous";
    1053 shutdown_in_progress() "Server shutdown in progress";
    1054 unknown_column(column, clause) "Unknown column '{column}' in '{clause}'";
    1055 not_in_group_by(position, clause, column) "Expression #{position} of {clause} is not in GROUP BY clause and contains nonaggregated column '{column}' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by";
    1056 cannot_group_on(column) "Can't group on '{column}'";
    1058 wrong_value_count() "Column count doesn't match value count";
    1059 identifier_too_long(name) "Identifier name '{name}' is too long";
    1060 duplicate_column(name) "Duplicate column name '{name}'";
    1061 duplicate_key_name(name) "Duplicate key name '{name}'";
    1062 duplicate_entry(entry, key) "Duplicate entry '{entry}' for key '{key}'";
    1063 wrong_column_specifier(column) "Incorrect column specifier for column '{column}'";
    1064 syntax(near, line) "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near '{near}' at line {line}";
    1065 empty_query() "Query was empty";
    1066 not_unique_table(name) "Not unique table/alias: '{name}'";
    1067 invalid_default(column) "Invalid default value for '{column}'";
    1068 multiple_primary_keys() "Multiple primary key defined";
    1069 too_many_keys(max) "Too many keys specified; max {max} keys allowed";
    1070 too_many_key_parts(max) "Too many key parts specified; max {max} parts allowed";
    1071 key_too_long(max) "Specified key was too long; max key length is {max} bytes";
    1072 key_column_missing(column) "Key column '{column}' doesn't exist in table";
    1074 column_too_long(column, max) "Column length too big for column '{column}' (max = {max}); use BLOB or TEXT instead";
    1075 wrong_auto_key() "Incorrect table definition; there can be only one auto column and it must be defined as a key";
    1083 wrong_field_terminators() "Field separator argument is not what is expected; check the manual";
    1084 blobs_of_fixed_length() "You can't use fixed rowlength with BLOBs; please use 'fields terminated by'";
    1085 file_not_readable(path) "The file '{path}' must be in the database directory or be readable by all";
    1086 file_exists(path) "File '{path}' already exists";
    1089 wrong_prefix_key() "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the storage engine doesn't support unique prefix keys";
    1090 cannot_remove_all_columns() "You can't delete all columns with ALTER TABLE; use DROP TABLE instead";
    1091 cannot_drop(name) "Can't DROP '{name}'; check that column/key exists";
    1093 update_table_used(table) "You can't specify target table '{table}' for update in FROM clause";
    1094 unknown_thread(id) "Unknown thread id: {id}";
    1095 kill_denied(id) "You are not owner of thread {id}";
    1096 no_tables_used() "No tables used";
    1097 too_many_set_members(column) "Too many strings for column {column} and SET";
    1099 table_locked_for_reading(table) "Table '{table}' was locked with a READ lock and can't be updated";
    1100 table_not_locked(table) "Table '{table}' was not locked with LOCK TABLES";
    1101 blob_cannot_have_default(column) "BLOB, TEXT, GEOMETRY or JSON column '{column}' can't have a default value";
    1102 wrong_database_name(name) "Incorrect database name '{name}'";
    1103 wrong_table_name(name) "Incorrect table name '{name}'";
    1104 too_big_select() "The SELECT would examine more than MAX_JOIN_SIZE rows; check your WHERE and use SET SQL_BIG_SELECTS=1 or SET MAX_JOIN_SIZE=# if the SELECT is okay";
    1105 unknown_error(why) "{why}";
    1109 unknown_table_in(table, clause) "Unknown table '{table}' in {clause}";
    1110 column_specified_twice(column) "Column '{column}' specified twice";
    1111 invalid_group_function() "Invalid use of group function";
    4028 table_without_columns() "A table must have at least one visible column.";
    1115 unknown_character_set(name) "Unknown character set: '{name}'";
    1116 too_many_tables(max) "Too many tables; MySQL can only use {max} tables in a join";
    1117 too_many_columns() "Too many columns";
    1118 row_too_large(max) "Row size too large. The maximum row size for the used table type, not counting BLOBs, is {max}. This includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs";
    1133 no_matching_user() "Can't find any matching row in the user table";
    1135 cannot_create_thread(errno) "Can't create a new thread (errno {errno}); if you are not out of available memory, you can consult the manual for a possible OS-dependent bug";
    1136 wrong_value_count_on_row(row) "Column count doesn't match value count at row {row}";
    1138 invalid_use_of_null() "Invalid use of NULL value";
    1139 bad_regexp(why) "Got error '{why}' from regexp";
    1140 mix_of_group_functions(position, clause, column) "In aggregated query without GROUP BY, expression #{position} of {clause} contains nonaggregated column '{column}'; this is incompatible with sql_mode=only_full_group_by";
    1141 no_such_grant(user, host) "There is no such grant defined for user '{user}' on host '{host}'";
    1142 table_access_denied(command, user, host, table) "{command} command denied to user '{user}'@'{host}' for table '{table}'";
    1143 column_access_denied(command, user, host, column, table) "{command} command denied to user '{user}'@'{host}' for column '{column}' in table '{table}'";
    1144 illegal_grant() "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used";
    1146 no_such_table(database, table) "Table '{database}.{table}' doesn't exist";
    1147 no_such_table_grant(user, host, table) "There is no such grant defined for user '{user}' on host '{host}' on table '{table}'";
    1149 syntax_without_place() "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use";
    1153 packet_too_large() "Got a packet bigger than 'max_allowed_packet' bytes";
    1156 packets_out_of_order() "Got packets out of order";
    1157 packet_corrupt() "Couldn't uncompress communication packet";
    1158 network_read_error() "Got an error reading communication packets";
    1162 result_string_too_long() "Result string is longer than 'max_allowed_packet' bytes";
    1166 wrong_column_name(name) "Incorrect column name '{name}'";
    1167 cannot_index_column(column) "The used storage engine can't index column '{column}'";
    1170 blob_key_without_length(column) "BLOB/TEXT column '{column}' used in key specification without a key length";
    1171 primary_key_with_null() "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead";
    1172 too_many_rows() "Result consisted of more than one row";
    1173 requires_primary_key() "This table type requires a primary key";
    1175 update_without_key() "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column. ";
    1176 unknown_key(key, table) "Key '{key}' doesn't exist in table '{table}'";
    1179 not_allowed_in_transaction() "You are not allowed to execute this command in a transaction";
    1192 lock_or_active_transaction() "Can't execute the given command because you have active locked tables or an active transaction";
    1193 unknown_variable(name) "Unknown system variable '{name}'";
    1197 transaction_too_large() "Multi-statement transaction required more than 'max_binlog_cache_size' bytes of storage; increase this mysqld variable and try again";
    1203 too_many_user_connections(user) "User {user} already has more than 'max_user_connections' active connections";
    1204 set_constants_only() "You may only use constant expressions with SET";
    1205 lock_wait_timeout(detail) "Lock wait timeout exceeded; try restarting transaction{detail}";
    1206 lock_table_full() "The total number of locks exceeds the lock table size";
    1210 wrong_arguments(to) "Incorrect arguments to {to}";
    1213 deadlock() "Deadlock found when trying to get lock; try restarting transaction";
    1214 no_fulltext_support() "The used table type doesn't support FULLTEXT indexes";
    1215 cannot_add_foreign_key() "Cannot add foreign key constraint";
    1220 command_failed(command, why) "Error when executing command {command}: {why}";
    1221 wrong_usage(one, other) "Incorrect usage of {one} and {other}";
    1222 select_column_counts_differ() "The used SELECT statements have a different number of columns";
    1223 read_locked() "Can't execute the query because you have a conflicting read lock";
    1225 option_used_twice(option) "Option '{option}' used twice in statement";
    1227 privilege_needed(privilege) "Access denied; you need (at least one of) the {privilege} privilege(s) for this operation";
    1228 session_variable(name) "Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL";
    1226 user_limit_reached(user, resource, limit) "User '{user}' has exceeded the '{resource}' resource (current value: {limit})";
    1229 global_variable(name) "Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL";
    1230 no_default_of_variable(name) "Variable '{name}' doesn't have a default value";
    1231 wrong_value_for_variable(name, value) "Variable '{name}' can't be set to the value of '{value}'";
    1232 wrong_type_for_variable(name) "Incorrect argument type to variable '{name}'";
    1234 wrong_placement(what) "Incorrect usage/placement of '{what}'";
    1236 log_cannot_be_read(why) "{why}";
    1064 wrong_hint(near, line) "Optimizer hint syntax error near '{near}' at line {line}";
    1235 not_supported(what) "This version of MySQL doesn't yet support '{what}'";
    1238 variable_is(name, kind) "Variable '{name}' is a {kind} variable";
    1239 wrong_foreign_key(name) "Incorrect foreign key definition for '{name}': Key reference and table reference don't match";
    1241 operand_columns(columns) "Operand should contain {columns} column(s)";
    1242 subquery_rows() "Subquery returns more than 1 row";
    1243 unknown_statement(name, command) "Unknown prepared statement handler ({name}) given to {command}";
    1247 illegal_reference(name, why) "Reference '{name}' not supported ({why})";
    1248 derived_without_alias() "Every derived table must have its own alias";
    1250 table_not_allowed_here(table, clause) "Table '{table}' from one of the SELECTs cannot be used in {clause}";
    1251 unsupported_auth_mode() "Client does not support authentication protocol requested by server; consider upgrading MySQL client";
    1253 collation_mismatch(collation, charset) "COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'";
    1260 cut_by_group_concat(row) "Row {row} was cut by GROUP_CONCAT()";
    1261 too_few_fields(row) "Row {row} doesn't contain data for all columns";
    1262 too_many_fields(row) "Row {row} was truncated; it contained more data than there were input columns";
    1263 null_to_not_null(column, row) "Column set to default value; NULL supplied to NOT NULL column '{column}' at row {row}";
    1409 fixed_rows_to_variable() "Can't load value from file with fixed size rows to variable";
    1475 ambiguous_field_term() "First character of the FIELDS TERMINATED string is ambiguous; please use non-optional and non-empty FIELDS ENCLOSED BY";
    1638 separator_not_ascii() "Non-ASCII separator arguments are not fully supported";
    3948 local_files_disabled() "Loading local data is disabled; this must be enabled on both the client and server sides";
    3953 several_into() "Multiple INTO clauses in one query block.";
    1264 out_of_range(column, row) "Out of range value for column '{column}' at row {row}";
    1265 data_truncated(column, row) "Data truncated for column '{column}' at row {row}";
    1266 using_other_engine(table) "Using storage engine InnoDB for table '{table}'";
    1267 illegal_mix_of_collations(one, one_kind, other, other_kind, operation) "Illegal mix of collations ({one},{one_kind}) and ({other},{other_kind}) for operation '{operation}'";
    1269 revoke_all_failed() "Can't revoke all privileges for one or more of the requested users";
    1270 illegal_mix_of_three(one, one_kind, other, other_kind, third, third_kind, operation) "Illegal mix of collations ({one},{one_kind}), ({other},{other_kind}), ({third},{third_kind}) for operation '{operation}'";
    1271 illegal_mix_for_operation(operation) "Illegal mix of collations for operation '{operation}'";
    1273 unknown_collation(name) "Unknown collation: '{name}'";
    1280 wrong_index_name(name) "Incorrect index name '{name}'";
    1286 unknown_storage_engine(name) "Unknown storage engine '{name}'";
    1287 deprecated(what, instead) "'{what}' is deprecated and will be removed in a future release. Please use {instead} instead";
    1290 option_prevents(option) "The MySQL server is running with the {option} option so it cannot execute this statement";
    1287 deprecated_super() "The SUPER privilege identifier is deprecated";
    1287 deprecated_assignment() "Setting user variables within expressions is deprecated and will be removed in a future release. Consider alternatives: 'SET variable=expression, ...', or 'SELECT expression(s) INTO variables(s)'.";
    1287 deprecated_found_rows() "FOUND_ROWS() is deprecated and will be removed in a future release. Consider using COUNT(*) instead.";
    1287 deprecated_calc_found_rows() "SQL_CALC_FOUND_ROWS is deprecated and will be removed in a future release. Consider using two separate queries instead.";
    1288 not_updatable(table, statement) "The target table {table} of the {statement} is not updatable";
    1291 duplicated_member(column, text, kind) "Column '{column}' has duplicated value '{text}' in {kind}";
    1287 deprecated_on_empty_after_on_error() "Specifying an ON EMPTY clause after the ON ERROR clause in a JSON_TABLE column definition is deprecated syntax and will be removed in a future release. Specify ON EMPTY before ON ERROR instead.";
    1287 deprecated_json_merge() "'JSON_MERGE' is deprecated and will be removed in a future release. Please use JSON_MERGE_PRESERVE/JSON_MERGE_PATCH instead";
    1292 truncated_wrong_value(kind, value) "Truncated incorrect {kind} value: '{value}'";
    1294 invalid_on_update(column) "Invalid ON UPDATE clause for '{column}' column";
    1295 unsupported_prepared() "This command is not supported in the prepared statement protocol yet";
    1298 unknown_time_zone(name) "Unknown or incorrect time zone: '{name}'";
    1300 name_not_convertible(bytes) "Cannot convert string '{bytes}' from utf8mb4 to utf8mb3";
    1300 invalid_character_string(charset, bytes) "Invalid {charset} character string: '{bytes}'";
    1301 allowed_packet_overflowed(function, max) "Result of {function}() was larger than max_allowed_packet ({max}) - truncated";
    1302 conflicting_charsets(one, other) "Conflicting declarations: 'CHARACTER SET {one}' and 'CHARACTER SET {other}'";
    1305 does_not_exist(kind, name) "{kind} {name} does not exist";
    1317 query_interrupted() "Query execution was interrupted";
    1318 wrong_argument_count(kind, name, expected, got) "Incorrect number of arguments for {kind} {name}; expected {expected}, got {got}";
    1327 undeclared_variable(name) "Undeclared variable: {name}";
    1347 wrong_object(database, table, kind) "'{database}.{table}' is not {kind}";
    1360 trigger_does_not_exist() "Trigger does not exist";
    1348 column_not_updatable(column) "Column '{column}' is not updatable";
    1329 no_data() "No data - zero rows fetched, selected, or processed";
    1345 view_not_explained() "EXPLAIN/SHOW can not be issued; lacking privileges for underlying table";
    1350 view_with_into() "View's SELECT contains a 'INTO' clause";
    1351 view_with_variable() "View's SELECT contains a variable or parameter";
    1352 view_of_temporary(table) "View's SELECT refers to a temporary table '{table}'";
    1354 view_not_merged() "View merge algorithm can't be used here for now (assumed undefined algorithm)";
    1356 view_invalid(database, view) "View '{database}.{view}' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights to use them";
    1353 column_names_differ() "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts";
    1364 no_default_for_field(column) "Field '{column}' doesn't have a default value";
    1365 division_by_zero() "Division by 0";
    1367 illegal_set_member(text) "Illegal set '{text}' value found during parsing";
    1366 incorrect_value_for_column(kind, value, column, row) "Incorrect {kind} value: '{value}' for column '{column}' at row {row}";
    1367 illegal_value(kind, value) "Illegal {kind} '{value}' value found during parsing";
    1368 check_option_of_fixed_view(database, view) "CHECK OPTION on non-updatable view '{database}.{view}'";
    1369 check_option_failed(database, view) "CHECK OPTION failed '{database}.{view}'";
    1373 unknown_binary_log() "Target log not found in binlog index";
    1390 too_many_parameters() "Prepared statement contains too many placeholders";
    1391 key_part_zero(column) "Key part '{column}' length cannot be 0";
    1393 several_tables_of_view(database, view) "Can not modify more than one base table through a join view '{database}.{view}'";
    1394 join_view_without_columns(database, view) "Can not insert into join view '{database}.{view}' without fields list";
    1395 delete_from_join_view(database, view) "Can not delete from join view '{database}.{view}'";
    1423 no_default_for_view(database, view) "Field of view '{database}.{view}' underlying table doesn't have a default value";
    1443 view_prevents(view, operation, table) "The definition of table '{view}' prevents operation {operation} on table '{table}'.";
    1449 no_such_definer(user, host) "The user specified as a definer ('{user}'@'{host}') does not exist";
    1450 schema_change_refused(old, new) "Changing schema from '{old}' to '{new}' is not allowed.";
    1462 view_recursion(database, view) "`{database}`.`{view}` contains view recursion";
    1471 not_insertable(table, command) "The target table {table} of the {command} is not insertable-into";
    1396 user_operation_failed(operation, users) "Operation {operation} failed for {users}";
    1397 xa_unknown() "XAER_NOTA: Unknown XID";
    1398 xa_invalid() "XAER_INVAL: Invalid arguments (or unsupported command)";
    1399 xa_wrong_state(state) "XAER_RMFAIL: The command cannot be executed when global transaction is in the  {state} state";
    1400 xa_outside() "XAER_OUTSIDE: Some work is done outside global transaction";
    1401 xa_failed() "XAER_RMERR: Fatal error occurred in the transaction branch - check your data for consistency";
    1402 xa_rolled_back() "XA_RBROLLBACK: Transaction branch was rolled back";
    1406 data_too_long(column, row) "Data too long for column '{column}' at row {row}";
    1410 cannot_create_user_with_grant() "You are not allowed to create a user with GRANT";
    1411 incorrect_value_for_function(kind, value, function) "Incorrect {kind} value: '{value}' for function {function}";
    1412 table_definition_changed() "Table definition has changed, please retry transaction";
    1425 scale_too_big(scale, column, max) "Too big scale {scale} specified for column '{column}'. Maximum is {max}.";
    1426 precision_too_big(precision, column, max) "Too-big precision {precision} specified for '{column}'. Maximum is {max}.";
    1427 precision_below_scale(column) "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{column}').";
    1436 nesting_too_deep() "Thread stack overrun: the statement is nested too deeply";
    1439 display_width_too_big(column, max) "Display width out of range for column '{column}' (max = {max})";
    1440 xa_duplicate() "XAER_DUPID: The XID already exists";
    1441 datetime_overflow(function) "Datetime function: {function} field overflow";
    1451 row_is_referenced(database, table, clause) "Cannot delete or update a parent row: a foreign key constraint fails (`{database}`.`{table}`, {clause})";
    1452 no_referenced_row(database, table, clause) "Cannot add or update a child row: a foreign key constraint fails (`{database}`.`{table}`, {clause})";
    1461 too_many_prepared(current) "Can't create more than max_prepared_stmt_count statements (current value: {current})";
    1467 auto_increment_failed() "Failed to read auto-increment value from storage engine";
    1470 string_too_long(value, what, max) "String '{value}' is too long for {what} (should be no longer than {max})";
    1473 too_high_level_of_nesting() "Too high level of nesting for select";
    1478 innodb_option(why) "InnoDB: {why}";
    3500 compressed_temporary_table() "CREATE TEMPORARY TABLE is not allowed with ROW_FORMAT=COMPRESSED or KEY_BLOCK_SIZE.";
    1064 option_out_of_range(name, range, near, line) "The valid range for {name} is {range}. Error near '{near}' at line {line}";
    1478 illegal_create_option(engine, option) "Table storage engine '{engine}' does not support the create option '{option}'";
    1524 plugin_not_loaded(name) "Plugin '{name}' is not loaded";
    1525 incorrect_value(kind, value) "Incorrect {kind} value: '{value}'";
    1539 unknown_event(name) "Unknown event '{name}'";
    1553 index_needed_by_foreign_key(index) "Cannot drop index '{index}': needed in a foreign key constraint";
    1568 transaction_in_progress() "Transaction characteristics can't be changed while a transaction is in progress";
    1582 wrong_native_argument_count(function) "Incorrect parameter count in the call to native function '{function}'";
    1583 wrong_native_arguments(function) "Incorrect parameters in the call to native function '{function}'";
    1613 xa_timeout() "XA_RBTIMEOUT: Transaction branch was rolled back: took too long";
    1614 xa_deadlock() "XA_RBDEADLOCK: Transaction branch was rolled back: deadlock was detected";
    1618 option_ignored(option) "<{option}> option ignored";
    1649 unknown_locale(name) "Unknown locale: '{name}'";
    1674 unsafe_system_function() "Statement is unsafe because it uses a system function that may return a different value on the replica.";
    1681 updating_deprecated(name) "Updating '{name}' is deprecated. It will be made read-only in a future release.";
    1681 deprecated_without_replacement(what) "'{what}' is deprecated and will be removed in a future release.";
    1681 deprecated_display_width() "Integer display width is deprecated and will be removed in a future release.";
    1681 deprecated_real_digits() "Specifying number of digits for floating point data types is deprecated and will be removed in a future release.";
    1681 deprecated_unsigned() "UNSIGNED for decimal and floating point data types is deprecated and support for it will be removed in a future release.";
    1681 deprecated_zerofill() "The ZEROFILL attribute is deprecated and will be removed in a future release. Use the LPAD function to zero-pad numbers, or store the formatted numbers in a CHAR column.";
    1690 value_out_of_range(kind, expression) "{kind} value is out of range in '{expression}'";
    1701 truncate_referenced(child) "Cannot truncate a table referenced in a foreign key constraint ({child})";
    1706 key_update_twice(first, second) "Primary key/partition key update is not allowed since the table is updated both as '{first}' and '{second}'.";
    1708 packet_below_buffer() "The value of 'max_allowed_packet' should be no less than the value of 'net_buffer_length'";
    1761 duplicate_by_cascade(parent, entry, child, index) "Foreign key constraint for table '{parent}', record '{entry}' would lead to a duplicate entry in table '{child}', key '{index}'";
    1791 unknown_explain_format(name) "Unknown EXPLAIN format name: '{name}'";
    1792 read_only_transaction() "Cannot execute statement in a READ ONLY transaction.";
    1800 unknown_algorithm(name) "Unknown ALGORITHM '{name}'";
    1801 unknown_lock(name) "Unknown LOCK type '{name}'";
    1845 alter_not_supported(what, instead) "{what} is not supported for this operation. Try {instead}.";
    1846 alter_not_supported_because(what, why, instead) "{what} is not supported. Reason: {why}. Try {instead}.";
    1862 password_expired() "Your password has expired. To log in you must change it using a client that supports expired passwords.";
    1815 internal(why) "Internal error: {why}";
    1818 invalid_year_width() "Invalid display width. Use YEAR instead.";
    1819 password_policy() "Your password does not satisfy the current policy requirements";
    1820 must_change_password() "You must reset your password using ALTER USER statement before executing this statement.";
    1822 foreign_key_without_parent_index(name, parent) "Failed to add the foreign key constraint. Missing index for constraint '{name}' in the referenced table '{parent}'";
    1824 referenced_table_missing(table) "Failed to open the referenced table '{table}'";
    1826 duplicate_foreign_key(name) "Duplicate foreign key constraint name '{name}'";
    1827 wrong_password_hash() "The password hash doesn't have the expected format.";
    1828 column_needed_by_foreign_key(column, name) "Cannot drop column '{column}': needed in a foreign key constraint '{name}'";
    1829 column_needed_by_child(column, name, child) "Cannot drop column '{column}': needed in a foreign key constraint '{name}' of table '{child}'";
    1830 foreign_key_not_null(column, name) "Column '{column}' cannot be NOT NULL: needed in a foreign key constraint '{name}' SET NULL";
    1831 duplicate_index(index, database, table) "Duplicate index '{index}' defined on the table '{database}.{table}'. This is deprecated and will be disallowed in a future release.";
    1832 column_used_in_foreign_key(column, name) "Cannot change column '{column}': used in a foreign key constraint '{name}'";
    1833 column_used_by_child(column, name, child) "Cannot change column '{column}': used in a foreign key constraint '{name}' of table '{child}'";
    1869 auto_increment_conflict() "Auto-increment value in UPDATE conflicts with internally generated values";
    1877 table_corrupt(table, place) "Operation cannot be performed. {table} is missing, corrupt or contains bad data. ({place}; see CHECK TABLE)";
    3005 converted_to_insert(command) "{command} DELAYED is no longer supported. The statement was converted to {command}.";
    3008 foreign_key_depth(max) "Foreign key cascade delete/update exceeds max depth of {max}.";
    3012 explain_not_supported() "EXPLAIN FOR CONNECTION command is supported only for SELECT/UPDATE/INSERT/DELETE/REPLACE";
    3013 invalid_size(column) "Invalid size for column '{column}'.";
    3020 invalid_logarithm() "Invalid argument for logarithm";
    3024 query_timeout() "Query execution was interrupted, maximum statement execution time exceeded";
    3028 aggregate_order_of_union(position) "Expression #{position} of ORDER BY contains aggregate function and applies to a UNION, EXCEPT or INTERSECT";
    3029 aggregate_order(position) "Expression #{position} of ORDER BY contains aggregate function and applies to the result of a non-aggregated query";
    3057 wrong_user_lock_name(name) "Incorrect user-level lock name '{name}'. The name is empty, NULL, or can not be expressed in the current character-set.";
    3058 user_lock_deadlock() "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing locks and restarting lock acquisition.";
    3064 incorrect_type(argument, function) "Incorrect type for argument {argument} in function {function}.";
    3065 order_by_not_in_select(position, column, mode) "Expression #{position} of ORDER BY clause is not in SELECT list, references column '{column}' which is not in SELECT list; this is incompatible with {mode}";
    3102 generated_with_disallowed(column) "Expression of generated column '{column}' contains a disallowed function.";
    3104 foreign_key_of_generated(clause) "Cannot define foreign key with {clause} clause on a generated column.";
    3105 generated_value(column, table) "The value specified for generated column '{column}' in table '{table}' is not allowed.";
    3106 not_for_generated(what) "'{what}' is not supported for generated columns.";
    3107 generated_order() "Generated column can refer only to generated columns defined prior to it.";
    3108 generated_dependency(column) "Column '{column}' has a generated column dependency.";
    3109 generated_of_auto_increment(column) "Generated column '{column}' cannot refer to auto-increment column.";
    3118 account_locked(user, host) "Access denied for user '{user}'@'{host}'. Account is locked.";
    3135 modes_belong_together() "'NO_ZERO_DATE', 'NO_ZERO_IN_DATE' and 'ERROR_FOR_DIVISION_BY_ZERO' sql modes should be used with strict mode. They will be merged with strict mode in a future release.";
    3140 invalid_json_text(why, at, column) "Invalid JSON text: \"{why}\" at position {at} in value for column '{column}'.";
    3141 invalid_json_argument(argument, function, why, at) "Invalid JSON text in argument {argument} to function {function}: \"{why}\" at position {at}.";
    3143 invalid_json_path(at) "Invalid JSON path expression. The error is around character position {at}.";
    3144 invalid_json_charset(charset) "Cannot create a JSON value from a string with CHARACTER SET '{charset}'.";
    3146 invalid_type_for_json(argument, function) "Invalid data type for JSON data in argument {argument} to function {function}; a JSON string or JSON type is required.";
    3149 invalid_json_path_wildcard() "In this situation, path expressions may not contain the * and ** tokens or an array range.";
    3150 json_value_too_big() "The JSON value is too big to be stored in a JSON column.";
    3151 json_key_too_big() "The JSON object contains a key name that is too long.";
    3152 json_used_as_key(column) "JSON column '{column}' supports indexing only via generated columns on a specified JSON path.";
    3153 vacuous_json_path() "The path expression '$' is not allowed in this context.";
    3154 bad_one_or_all(function) "The oneOrAll argument to {function} may take these values: 'one' or 'all'.";
    3155 json_value_out_of_range(to, column, row) "Out of range JSON value for CAST to {to} from column {column} at row {row}";
    3156 invalid_json_value_for_cast(to, column, row) "Invalid JSON value for CAST to {to} from column {column} at row {row}";
    3157 json_too_deep() "The JSON document exceeds the maximum depth.";
    3158 json_null_key() "JSON documents may not contain NULL member names.";
    3159 secure_transport_required() "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
    3162 user_does_not_exist(user) "Authorization ID {user} does not exist.";
    3163 user_already_exists(user) "Authorization ID {user} already exists.";
    3165 no_json_array_cell() "A path expression is not a path to a cell in an array.";
    3502 hash_not_supported() "This storage engine does not support the HASH index algorithm, storage engine default was used instead.";
    3503 no_such_database(name) "Database '{name}' doesn't exist";
    3504 too_many_enum_members(column) "Too many enumeration values for column {column}.";
    3505 member_too_long(column) "Too long enumeration/set value for column {column}.";
    3513 bitwise_operand_sizes() "Binary operands of bitwise operators must be of equal length";
    3514 bitwise_aggregate_operand_size() "Aggregate bitwise functions cannot accept arguments longer than 511 bytes; consider using the SUBSTRING() function";
    3522 invisible_primary_key() "A primary key index cannot be invisible";
    3530 role_not_granted(role, user) "{role} is not granted to {user}";
    3523 unknown_authorization_id(id) "Unknown authorization ID {id}";
    3554 system_table_rejected(kind, database, table) "Access to {kind} '{database}.{table}' is rejected.";
    3568 unresolved_table_lock(table) "Unresolved table name `{table}` in locking clause.";
    3569 duplicate_table_lock(table) "Table {table} appears in multiple locking clauses.";
    3572 lock_nowait() "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.";
    3573 recursive_without_union(name) "Recursive Common Table Expression '{name}' should contain a UNION";
    3574 recursive_without_seed(name) "Recursive Common Table Expression '{name}' should have one or more non-recursive query blocks followed by one or more recursive ones";
    3575 recursive_aggregation(name) "Recursive Common Table Expression '{name}' can contain neither aggregation nor window functions in recursive query block";
    3576 recursive_left_join(name) "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must neither be in the right argument of a LEFT JOIN, nor be forced to be non-first with join order hints";
    3577 recursive_reference(name) "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must be referenced only once, and not in any subquery";
    3579 no_such_window(name) "Window name '{name}' is not defined.";
    3580 window_circularity() "There is a circularity in the window dependency graph.";
    3581 window_partitioned_twice() "A window which depends on another cannot define partitioning.";
    3582 window_with_frame_inherited(name) "Window '{name}' has a frame definition, so cannot be referenced by another window.";
    3583 window_ordered_twice(name, parent) "Window '{name}' cannot inherit '{parent}' since both contain an ORDER BY clause.";
    3584 window_frame_start(name) "Window '{name}': frame start cannot be UNBOUNDED FOLLOWING.";
    3585 window_frame_end(name) "Window '{name}': frame end cannot be UNBOUNDED PRECEDING.";
    3586 window_frame(name) "Window '{name}': frame start or end is negative, NULL or of non-integral type";
    3587 window_range_order(name) "Window '{name}' with RANGE N PRECEDING/FOLLOWING frame requires exactly one deterministic ORDER BY expression, of numeric or temporal type";
    3588 window_range_temporal(name) "Window '{name}' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value allowed.";
    3589 window_range_numeric(name) "Window '{name}' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not allowed.";
    3591 window_defined_twice(name) "Window '{name}' is defined twice.";
    3592 window_position(name) "Window '{name}': ORDER BY or PARTITION BY uses legacy position indication which is not supported, use expression.";
    3593 window_not_allowed(function) "You cannot use the window function '{function}' in this context.'";
    3594 window_alias(alias) "You cannot use the alias '{alias}' of an expression containing a window function in this context.'";
    3595 window_nested(name) "You cannot nest a window function in the specification of window '{name}'.";
    3596 window_rows_interval(name) "Window '{name}': INTERVAL can only be used with RANGE frames.";
    3602 grouping_of_no_key(number) "Argument #{number} of GROUPING function is not in GROUP BY";
    3702 empty_error_log_pipeline() "Setting an empty log_error_services pipeline disables error logging!";
    3061 illegal_user_variable(name) "User variable name '{name}' is illegal";
    1458 wrong_routine_name(name) "Incorrect routine name '{name}'";
    3515 hint_in_subquery() "Hints aren't supported in Subquery or Stored procedure or Trigger";
    3651 unknown_resource_group(name) "Resource Group '{name}' does not exist.";
    3661 system_resource_group(name, thread) "Unable to bind resource group {name} with thread id ({thread}).(System resource group can't be bound with a session thread).";
    3619 illegal_privilege_level(privilege) "Illegal privilege level specified for {privilege}";
    3637 not_hinted(name) "Variable '{name}' cannot be set using SET_VAR hint.";
    3628 mandatory_role(role) "The role {role} is a mandatory role and can't be revoked or dropped. The restriction can be lifted by excluding the role identifier from the global variable mandatory_roles.";
    3636 recursion_too_deep(iterations) "Recursive query aborted after {iterations} iterations. Try increasing @@cte_max_recursion_depth to a larger value.";
    3665 missing_json_table_value(column) "Missing value for JSON_TABLE column '{column}'";
    3666 no_scalar_for_json_table(column) "Can't store an array or an object in the scalar JSON_TABLE column '{column}'";
    3667 table_function_without_alias() "Every table function must have an alias";
    3669 json_table_out_of_range(column) "Value is out of range for JSON_TABLE's column '{column}'";
    3670 too_many_nested_paths(max, table) "More than supported {max} NESTED PATHs were found in JSON_TABLE '{table}'";
    3966 missing_json_value(function) "No value was found by '{function}' on the specified path.";
    3967 several_json_values(function) "More than one value was found by '{function}' on the specified path.";
    3685 regexp_illegal_argument() "Illegal argument to a regular expression.";
    3686 regexp_out_of_bounds() "Index out of bounds in regular expression search.";
    3687 regexp_internal() "Internal error in the regular expression library.";
    3690 regexp_unimplemented() "The regular expression contains a feature that is not implemented in this library version.";
    3694 regexp_back_reference() "Invalid back-reference in regular expression.";
    3688 regexp_syntax(line, character) "Syntax error in regular expression on line {line}, character {character}.";
    3689 regexp_bad_escape() "Unrecognized escape sequence in regular expression.";
    3691 regexp_parenthesis() "Mismatched parenthesis in regular expression.";
    3692 regexp_bad_interval() "Incorrect description of a {{min,max}} interval.";
    3693 regexp_max_below_min() "The maximum is less than the minumum in a {{min,max}} interval.";
    3696 regexp_missing_close_bracket() "The regular expression contains an unclosed bracket expression.";
    3697 regexp_invalid_range() "The regular expression contains an [x-y] character range where x comes after y.";
    3719 utf8_alias() "'utf8' is currently an alias for the character set UTF8MB3, but will be an alias for UTF8MB4 in a future release. Please consider using UTF8MB4 in order to be unambiguous.";
    3720 national_is_utf8mb3() "NATIONAL/NCHAR/NVARCHAR implies the character set UTF8MB3, which will be replaced by UTF8MB4 in a future release. Please consider using CHAR(x) CHARACTER SET UTF8MB4 in order to be unambiguous.";
    3730 table_referenced(table, name, child) "Cannot drop table '{table}' referenced by a foreign key constraint '{name}' on table '{child}'.";
    3733 foreign_key_of_virtual(name, column) "Foreign key '{name}' uses virtual column '{column}' which is not supported.";
    3734 referenced_column_missing(column, name, parent) "Failed to add the foreign key constraint. Missing column '{column}' for constraint '{name}' in the referenced table '{parent}'";
    3750 table_without_primary_key() "Unable to create or change a table without a primary key, when the system variable 'sql_require_primary_key' is set. Add a primary key to the table or unset this variable to avoid this message. Note that tables without a primary key can cause performance problems in row-based replication, so please consult your DBA before changing this setting.";
    3763 generated_with_function(column, function) "Expression of generated column '{column}' contains a disallowed function: {function}.";
    3751 functional_truncated(index, row) "Data truncated for functional index '{index}' at row {row}";
    3752 functional_out_of_range(index, row) "Value is out of range for functional index '{index}' at row {row}";
    3753 functional_on_json() "Cannot create a functional index on a function that returns a JSON or GEOMETRY value.";
    3754 functional_of_auto_increment(index) "Functional index '{index}' cannot refer to an auto-increment column.";
    3755 functional_column_drop(column) "Cannot drop column '{column}' because it is used by a functional index. In order to drop the column, you must remove the functional index.";
    3756 functional_primary_key() "The primary key cannot be a functional index";
    1128 function_not_defined(name) "Function '{name}' is not defined";
    1064 search_syntax(what) "syntax error, unexpected {what}";
    1191 no_fulltext_index() "Can't find FULLTEXT index matching the column list";
    1214 table_without_fulltext() "The used table type doesn't support FULLTEXT indexes";
    1283 not_for_fulltext(column) "Column '{column}' cannot be part of FULLTEXT index";
    1796 fulltext_on_temporary() "Cannot create FULLTEXT index on temporary InnoDB table";
    3759 functional_fulltext() "Fulltext functional index is not supported.";
    3757 functional_on_text() "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please consider using CAST.";
    3758 functional_with_function(index) "Expression of functional index '{index}' contains a disallowed function.";
    3761 functional_not_indexable(expression) "The used storage engine cannot index the expression '{expression}'.";
    3762 functional_on_column() "Functional index on a column is not supported. Consider using a regular index instead.";
    3800 functional_row_value(index) "Expression of functional index '{index}' cannot refer to a row value.";
    3837 functional_dependency(column) "Column '{column}' has a functional index dependency and cannot be dropped or renamed.";
    3907 functional_too_long(index) "Data too long for functional index '{index}'.";
    1815 name_of_hidden_column(column) "Internal error: The column name '{column}' is already in use by a hidden column";
    1882 aes_iv_too_short(function, length) "The initialization vector supplied to {function} is too short. Must be at least {length} bytes long";
    3235 aes_key_method() "KDF method name is not valid. Please use hkdf or pbkdf2_hmac method name";
    3236 aes_key_rounds() "For KDF method pbkdf2_hmac iterations value less than 1000 or more than 65535 is not allowed due to security reasons. Please provide iterations >= 1000 and iterations < 65535";
    3237 aes_key_size(bytes) "AES key size should be {bytes} bytes length or secure KDF methods hkdf or pbkdf2_hmac should be used, please provide exact AES key size or use KDF methods for better security.";
    3238 aes_key_option_size(limit) "KDF option size is invalid, please provide valid size < {limit} bytes and not NULL";
    3764 generated_row_value(column) "Expression of generated column '{column}' cannot refer to a row value.";
    3766 default_dependency(column, table) "Column '{column}' of table '{table}' has a default value expression dependency and cannot be dropped or renamed.";
    3767 default_order(column) "Default value expression of column '{column}' cannot refer to a column defined after it if that column is a generated column or has an expression as default value.";
    3768 default_of_auto_increment(column) "Default value expression of column '{column}' cannot refer to an auto-increment column.";
    3771 default_row_value(column) "Default value expression of column '{column}' cannot refer to a row value.";
    3769 default_with_disallowed(column) "Default value expression of column '{column}' contains a disallowed function.";
    3770 default_with_function(column, function) "Default value expression of column '{column}' contains a disallowed function: {function}.";
    3772 default_with_variable(column) "Default value expression of column '{column}' cannot refer user or system variables.";
    3773 default_of_expression() "DEFAULT function cannot be used with default value expressions";
    3778 utf8mb3_collation(name) "'{name}' is a collation of the deprecated character set UTF8MB3. Please consider using UTF8MB4 with an appropriate collation instead.";
    3780 foreign_key_incompatible(column, parent_column, name) "Referencing column '{column}' and referenced column '{parent_column}' in foreign key constraint '{name}' are incompatible.";
    3812 check_not_boolean(name) "An expression of non-boolean type specified to a check constraint '{name}'.";
    3813 check_of_other_column(name) "Column check constraint '{name}' references other column.";
    3814 check_with_function(name, function) "An expression of a check constraint '{name}' contains disallowed function: {function}.";
    3815 check_with_disallowed(name) "An expression of a check constraint '{name}' contains disallowed function.";
    3816 check_with_variable(name) "An expression of a check constraint '{name}' cannot refer to a user or system variable.";
    3818 check_of_auto_increment(name) "Check constraint '{name}' cannot refer to an auto-increment column.";
    3819 check_violated(constraint) "Check constraint '{constraint}' is violated.";
    3820 check_of_unknown_column(name, column) "Check constraint '{name}' refers to non-existing column '{column}'.";
    3821 check_constraint_not_found(name) "Check constraint '{name}' is not found in the table.";
    3822 duplicate_check(name) "Duplicate check constraint name '{name}'.";
    3823 check_of_foreign_key(column, name, key) "Column '{column}' cannot be used in a check constraint '{name}': needed in a foreign key constraint '{key}' referential action.";
    3853 json_object_required(argument, function) "Invalid JSON type in argument {argument} to function {function}; an object is required.";
    3854 cannot_convert_string(value, from, to) "Cannot convert string '{value}' from {from} to {to}";
    3164 audit_failed(event, code) "Aborted by Audit API ('{event}';{code}).";
    3638 password_used_before(user, host) "Cannot use these credentials for '{user}@{host}' because they contradict the password history policy";
    3835 grant_as_not_global() "GRANT ... AS is currently supported only for global privileges.";
    3836 invalid_as_clause() "Either some of the authorization IDs in the AS clause are invalid or the current user lacks privileges to execute the statement.";
    3878 empty_password_retained(user, host) "Empty password can not be retained as second password for user '{user}'@'{host}'.";
    3880 system_user_mandatory(role) "Cannot set mandatory_roles: AuthId {role} has 'SYSTEM_USER' privilege.";
    3887 regexp_invalid_group_name() "A capture group has an invalid name.";
    3900 regexp_invalid_flag() "Invalid match mode flag in regular expression.";
    3891 wrong_current_password() "Incorrect current password. Specify the correct password which has to be replaced.";
    3892 current_password_needed() "Current password needs to be specified in the REPLACE clause in order to change it.";
    3893 current_password_of_other() "Do not specify the current password while changing it for other users.";
    3894 password_retained_with_plugin(user, host) "Current password can not be retained for user '{user}'@'{host}' because authentication plugin is being changed.";
    3895 password_retained_with_empty(user, host) "Current password can not be retained for user '{user}'@'{host}' because new password is empty.";
    3896 partial_revoke_exists() "At least one partial revoke exists on a database. The system variable '@@partial_revokes' must be set to ON.";
    3934 json_schema_failed(document, keyword, schema) "The JSON document location '{document}' failed requirement '{keyword}' at JSON Schema location '{schema}'.";
    3939 several_constraints(name) "Table has multiple constraints with the name '{name}'. Please use constraint specific 'DROP' clause.";
    3940 constraint_not_found(name) "Constraint '{name}' does not exist.";
    3941 enforcement_not_supported(name) "Altering constraint enforcement is not supported for the constraint '{name}'. Enforcement state alter is not supported for the PRIMARY, UNIQUE and FOREIGN KEY type constraints.";
    3954 misplaced_into() "Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of UNION clauses.";
    3955 account_blocked(user, host, days, left, attempts) "Access denied for user '{user}'@'{host}'. Account is blocked for {days} day(s) ({left} day(s) remaining) due to {attempts} consecutive failed logins.";
    3942 empty_row_of_values() "Each row of a VALUES clause must have at least one column, unless when used as source in an INSERT statement.";
    3943 default_in_values() "A VALUES clause cannot use DEFAULT values, unless used as a source in an INSERT statement.";
    3959 column_used_by_check(name, column) "Check constraint '{name}' uses column '{column}', hence column cannot be dropped or renamed.";
    3988 impossible_conversion(from, to, what) "Conversion from collation {from} into {to} impossible for {what}";
    3995 mixed_character_sets(one, other, name) "Character set '{one}' cannot be used in conjunction with '{other}' in call to {name}.";
    4005 user_referenced_as_definer(user) "User {user} is referenced as a definer account in a view.";
    4006 user_is_definer(operation, user) "Operation {operation} failed for {user} as it is referenced as a definer account in a view.";
    4027 role_grant_loop(user, role) "User account {user} is directly or indirectly granted to the role {role}. The GRANT would create a loop";
    4031 inactive_client() "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for configuring this behavior.";
    4092 too_many_row_versions(database, table) "Maximum row versions reached for table {database}/{table}. No more columns can be added or dropped instantly. Please use COPY/INPLACE.";
    4114 recursive_in_set_operation() "Recursive table reference in EXCEPT or INTERSECT operand is not allowed.";
    4163 user_lock_name_too_long(name) "User-level lock name '{name}' should not exceed 64 characters.";
    4166 unsafe_parents() "'restrict_fk_on_non_standard_key' is deprecated and will be removed in a future release. Foreign key referring to non-unique or partial keys is unsafe and may break replication.";
    6124 foreign_key_to_non_unique(name) "Foreign key '{name}' refers to non-unique key or partial key. This is deprecated and will be removed in a future release.";
    6125 foreign_key_without_unique_key(name, parent) "Failed to add the foreign key constraint. Missing unique key for constraint '{name}' in the referenced table '{parent}'";
    6412 analyze_in_version_1() "EXPLAIN ANALYZE does not support FORMAT=JSON with explain_json_format_version=1.";
    6432 window_outer_reference(column) "Outer reference {column} in window's ORDER BY or PARTITION BY clause not allowed.";
    6437 cannot_persist_isolation() "Cannot persist transaction isolation.";
    6527 out_of_range_in(kind, expression) "{kind} value is out of range in '{expression}'";
}

impl SqlError {
    fn of(code: u16, message: String) -> SqlError {
        SqlError {
            code,
            state: error_names::state(code),
            message,
        }
    }

    /// The comment of a column (1629), index (1688) or table (1628) is too long.
    #[must_use]
    pub fn comment_too_long(kind: &str, name: &str, max: usize) -> SqlError {
        let long = format!("Comment for {kind} '{name}' is too long (max = {max})");
        let (code, message) = match kind {
            "table" => (1628, long),
            "index" => (1688, long),
            _ => (
                1629,
                format!(
                    "The maximum supported character limit for the field, '{name}', has been \
                     exceeded (max = {max})"
                ),
            ),
        };
        SqlError::of(code, message)
    }

    /// 1292 as MySQL words it when a value for a column is not of its type.
    #[must_use]
    pub fn incorrect_temporal(
        kind: impl Display,
        value: impl Display,
        column: impl Display,
        row: impl Display,
    ) -> SqlError {
        SqlError::of(
            1292,
            format!("Incorrect {kind} value: '{value}' for column '{column}' at row {row}"),
        )
    }

    /// 1292 as MySQL words it when a text is not of a type, without a column to name.
    #[must_use]
    pub fn incorrect_temporal_value(kind: impl Display, value: impl Display) -> SqlError {
        SqlError::of(1292, format!("Incorrect {kind} value: '{value}'"))
    }

    /// 1064 near the text from `offset` on.
    #[must_use]
    pub fn syntax_at(sql: &[u8], offset: usize) -> SqlError {
        let (near, line) = near(sql, offset);
        SqlError::syntax(near, line)
    }

    /// 1064 for a number from `offset` on that an option cannot have.
    #[must_use]
    pub fn option_at(sql: &[u8], offset: usize, option: &str, range: &str) -> SqlError {
        let (near, line) = near(sql, offset);
        SqlError::option_out_of_range(option, range, near, line)
    }
}

/// The text from an offset on, as errors show it, and its line.
fn near(sql: &[u8], offset: usize) -> (String, usize) {
    let (before, near) = sql.split_at(offset.min(sql.len()));
    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    // 80 characters have at most 320 bytes.
    let near = String::from_utf8_lossy(near.get(..320).unwrap_or(near));
    (near.chars().take(80).collect(), line)
}

impl SqlError {
    /// A statement waited too long for a lock.
    pub const LOCK_WAIT_TIMEOUT: u16 = 1205;
    /// A transaction has too many locks.
    pub const LOCK_TABLE_FULL: u16 = 1206;
    /// A deadlock.
    pub const DEADLOCK: u16 = 1213;
    /// The log or the store failed.
    pub const STORAGE_FAILED: u16 = 1030;
    /// A number is out of its type's range.
    pub const OUT_OF_RANGE: u16 = 1690;
    /// max_execution_time is over.
    pub const QUERY_TIMEOUT: u16 = 3024;
    /// A text that is no statement.
    pub const SYNTAX: u16 = 1064;
    /// 1292: a date or time, or another value, that is not all there.
    pub const INCORRECT_VALUE: u16 = 1292;

    /// Whether KILL or a time limit has stopped the statement.
    #[must_use]
    pub fn is_interruption(&self) -> bool {
        matches!(self.code, 1317 | 3024)
    }

    /// Whether its text shows an expression.
    #[must_use]
    pub fn shows_expression(&self) -> bool {
        matches!(self.code, SqlError::OUT_OF_RANGE | 1411 | 6527)
    }

    /// Whether the statement could not be carried out for a reason that is not in its values: it was
    /// stopped, there is no memory, or an invariant is broken.
    #[must_use]
    pub fn is_of_server(&self) -> bool {
        self.is_interruption() || matches!(self.code, 1038 | 1815)
    }

    /// Whether the engine has rolled the whole transaction back, not only the statement.
    #[must_use]
    pub fn ended_transaction(&self) -> bool {
        matches!(
            self.code,
            SqlError::DEADLOCK | SqlError::LOCK_TABLE_FULL | SqlError::STORAGE_FAILED
        )
    }
}

impl From<Broken> for SqlError {
    fn from(broken: Broken) -> SqlError {
        SqlError::internal(broken)
    }
}

/// What becomes of a transaction's error, except `DuplicateKey` and `ForeignKey`, which only the statement that
/// met it can word (it knows the row and the table).
impl SqlError {
    /// Of a text that is no JSON the error names the table, too, which an assignment does not know.
    #[must_use]
    pub fn in_table(mut self, table: &str) -> SqlError {
        const INVALID_JSON_TEXT: u16 = 3140;
        let column = "in value for column '";
        if self.code == INVALID_JSON_TEXT
            && let Some(at) = self.message.rfind(column)
        {
            self.message
                .insert_str(at + column.len(), &format!("{table}."));
        }
        self
    }
}

impl From<TxnError> for SqlError {
    fn from(error: TxnError) -> SqlError {
        match error {
            TxnError::Deadlock => SqlError::deadlock(),
            TxnError::LockWaitTimeout { holder } if holder.is_empty() => {
                SqlError::lock_wait_timeout("")
            }
            TxnError::LockWaitTimeout { holder } => {
                SqlError::lock_wait_timeout(format_args!(" (the lock is held by: {holder})"))
            }
            TxnError::LockTableFull => SqlError::lock_table_full(),
            TxnError::Nowait => SqlError::lock_nowait(),
            TxnError::DuplicateKey { index } => SqlError::duplicate_entry("", index),
            TxnError::ForeignKey { name } => SqlError::no_referenced_row("", "", name),
            TxnError::TooLarge => SqlError::transaction_too_large(),
            TxnError::TableFull { table } => SqlError::table_full(table),
            TxnError::ReadOnly => SqlError::read_only_transaction(),
            TxnError::TableChanged => SqlError::table_definition_changed(),
            TxnError::ReadLocked => SqlError::read_locked(),
            TxnError::Killed => SqlError::query_interrupted(),
            TxnError::Storage(why) => SqlError::storage_failed(why),
            TxnError::Temporary { file, why } => SqlError::error_on_write(file, why),
            TxnError::Full(why) => SqlError::disk_full(why),
            TxnError::Damaged { table, place } => {
                let table = table.unwrap_or_else(|| "the data dictionary".to_owned());
                SqlError::table_corrupt(table, place)
            }
            TxnError::Corrupt(why) => SqlError::internal(why),
            TxnError::Executed(gtid) => {
                SqlError::unknown_error(format!("transaction {gtid} was executed before"))
            }
            TxnError::Conversion(why) => SqlError::unknown_error(why),
            TxnError::Broken(broken) => broken.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructors_fill_in_mysqls_words() {
        let error = SqlError::no_such_table("test", "t");
        assert_eq!(
            error.to_string(),
            "ERROR 1146 (42S02): Table 'test.t' doesn't exist"
        );
    }

    /// MySQL's list leaves out these: errors of the system, of the engine, and such as it calls
    /// obsolete. Their state is the general one. Others would have it by mistake.
    #[test]
    fn every_error_but_these_has_a_name_and_a_state() {
        let is_unknown = |number: &u16| error_names::find(*number).is_none();
        let unknown = NUMBERS.iter().copied().filter(is_unknown);
        assert_eq!(
            unknown.collect::<Vec<_>>(),
            [1, 2, 13, 29, 138, 1021, 1254, 1255, 1677]
        );
    }

    #[test]
    fn syntax_errors_show_the_line_and_at_most_80_characters() {
        let sql = format!("SELECT 1\nFRO {}", "x".repeat(100));
        let error = SqlError::syntax_at(sql.as_bytes(), 9);
        assert!(
            error
                .message
                .contains(&format!("near 'FRO {}' at line 2", "x".repeat(76)))
        );
    }
}
