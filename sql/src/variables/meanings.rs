//! What each variable is for, in a line: for docs/variables.md.
//!
//! Those that change nothing are not here: the page says why they do not. "MySQL: " begins the line of
//! one that means something there and cannot be anything else here.

/// The names of variables, ascending, and what they are for.
pub(super) const MEANINGS: &[(&str, &str)] = &[
    (
        "activate_all_roles_on_login",
        "all granted roles are active after a login, not the default ones alone",
    ),
    (
        "admin_address",
        "address of the administrators' port; empty for none",
    ),
    ("admin_port", "TCP port for administrators, who never queue"),
    (
        "auto_generate_certs",
        "a certificate is made at the first start if there is none",
    ),
    (
        "auto_increment_increment",
        "how far AUTO_INCREMENT values are apart",
    ),
    ("auto_increment_offset", "where AUTO_INCREMENT values begin"),
    (
        "autocommit",
        "each statement is a transaction of its own, unless one is begun",
    ),
    (
        "automatic_sp_privileges",
        "MySQL: who creates a routine may execute it",
    ),
    ("back_log", "clients that may knock at once"),
    ("basedir", "where MySQL would be installed"),
    ("bind_address", "address that clients connect to"),
    (
        "binlog_cache_size",
        "MySQL: memory of a transaction's changes before they go to a file",
    ),
    ("binlog_checksum", "checksums of the binary log's events"),
    (
        "binlog_error_action",
        "what happens when the binary log cannot be written",
    ),
    (
        "binlog_expire_logs_auto_purge",
        "old files of the binary log are removed by themselves",
    ),
    (
        "binlog_expire_logs_seconds",
        "seconds after which files of the binary log are removed; 0 for never",
    ),
    (
        "binlog_format",
        "what the binary log has of a change: its rows",
    ),
    (
        "binlog_group_commit_sync_delay",
        "microseconds that a group of commits waits for more of them",
    ),
    (
        "binlog_group_commit_sync_no_delay_count",
        "commits with which a group waits no longer",
    ),
    (
        "binlog_order_commits",
        "commits become visible in the order of the binary log",
    ),
    (
        "binlog_row_event_max_size",
        "bytes of rows with which a new event begins",
    ),
    (
        "binlog_row_image",
        "which columns the binary log has of a changed row: all",
    ),
    (
        "binlog_row_metadata",
        "what it has of a table's definition: all",
    ),
    (
        "binlog_row_value_options",
        "MySQL: parts of JSON documents instead of whole ones",
    ),
    (
        "binlog_rows_query_log_events",
        "MySQL: statements beside their rows",
    ),
    (
        "binlog_transaction_compression",
        "MySQL: transactions are compressed in the binary log",
    ),
    (
        "block_encryption_mode",
        "key length and mode of AES_ENCRYPT and AES_DECRYPT",
    ),
    (
        "character_set_client",
        "character set of statements as they arrive",
    ),
    ("character_set_connection", "character set of literals"),
    (
        "character_set_database",
        "character set of the default database",
    ),
    (
        "character_set_results",
        "character set of results; NULL for each column's own",
    ),
    (
        "character_set_server",
        "character set of databases that are created without one",
    ),
    ("character_set_system", "character set of names"),
    (
        "character_sets_dir",
        "where MySQL would keep character sets",
    ),
    (
        "cohort_admission_timeout",
        "milliseconds that a new connection waits for a place when there is none",
    ),
    ("cohort_audit_log", "the audit log is written"),
    (
        "cohort_audit_log_events",
        "what it records: CONNECTIONS, REFUSALS, DEFINITIONS, ACCOUNTS, WRITES, READS, OTHERS, or ALL",
    ),
    ("cohort_audit_log_file", "its file; its name ends in .log"),
    (
        "cohort_audit_log_strict",
        "what cannot be recorded on the disk is not done",
    ),
    (
        "cohort_log_file_size_max",
        "bytes after which the slow log and the general log begin a new file, and keep one; 0 for never",
    ),
    (
        "cohort_max_lock_bytes",
        "memory that one transaction's locks may take; then error 1206",
    ),
    (
        "cohort_max_temporary_bytes",
        "memory that one session's temporary tables may take; then error 1114",
    ),
    (
        "cohort_scrub_interval",
        "seconds between two readings of all data in search of damage; 0 for never",
    ),
    ("collation_connection", "collation of literals"),
    ("collation_database", "collation of the default database"),
    (
        "collation_server",
        "collation of databases that are created without one",
    ),
    (
        "completion_type",
        "what COMMIT and ROLLBACK do besides: CHAIN begins the next transaction, RELEASE disconnects",
    ),
    ("connect_timeout", "seconds that a login may take"),
    (
        "connection_control_exempt_unknown_users",
        "MySQL: names that are no accounts do not wait",
    ),
    (
        "connection_control_failed_connections_threshold",
        "wrong logins in a row from which on the next one waits; 0 for never",
    ),
    (
        "connection_control_max_connection_delay",
        "milliseconds that one of them waits at most",
    ),
    (
        "connection_control_min_connection_delay",
        "milliseconds that the first of them waits",
    ),
    (
        "cte_max_recursion_depth",
        "rounds of a recursive common table expression; then error 3636",
    ),
    ("datadir", "data directory"),
    (
        "default_collation_for_utf8mb4",
        "collation of utf8mb4 where none is named",
    ),
    (
        "default_password_lifetime",
        "days after which passwords expire, for accounts that do not say; 0 for never",
    ),
    (
        "default_table_encryption",
        "MySQL: new databases are encrypted",
    ),
    ("default_week_format", "mode of WEEK() without one"),
    (
        "disabled_storage_engines",
        "MySQL: engines that may not be used",
    ),
    (
        "div_precision_increment",
        "digits that a division adds behind the point",
    ),
    (
        "end_markers_in_json",
        "MySQL: comments in what FORMAT=JSON gives",
    ),
    (
        "enforce_gtid_consistency",
        "statements that GTIDs cannot tell are refused",
    ),
    ("error_count", "errors of the last statement"),
    ("event_scheduler", "MySQL: what executes events"),
    ("explain_format", "form of EXPLAIN without FORMAT"),
    (
        "explain_json_format_version",
        "version of FORMAT=JSON: 1 has blocks and their tables, 2 has steps",
    ),
    (
        "explicit_defaults_for_timestamp",
        "TIMESTAMP columns have no defaults of their own",
    ),
    (
        "external_user",
        "MySQL: the name that a plugin knew the client by",
    ),
    ("foreign_key_checks", "foreign keys are checked"),
    (
        "ft_boolean_syntax",
        "MySQL: operators of MATCH ... IN BOOLEAN MODE in MyISAM",
    ),
    ("ft_max_word_len", "MySQL: of MyISAM"),
    ("ft_min_word_len", "MySQL: of MyISAM"),
    ("ft_query_expansion_limit", "MySQL: of MyISAM"),
    ("ft_stopword_file", "MySQL: of MyISAM"),
    ("general_log", "the log of all that clients say"),
    (
        "general_log_file",
        "file of the general log; its name ends in .log",
    ),
    (
        "generated_random_password_length",
        "characters of passwords that the server makes",
    ),
    (
        "group_concat_max_len",
        "bytes of GROUP_CONCAT's result; it is cut with a warning",
    ),
    ("gtid_executed", "GTIDs of all transactions that are here"),
    (
        "gtid_executed_compression_period",
        "MySQL: how often its table of GTIDs is made smaller",
    ),
    ("gtid_mode", "transactions have GTIDs"),
    (
        "gtid_next",
        "GTID of the next transaction; AUTOMATIC gives it the server's next",
    ),
    ("gtid_owned", "GTIDs of transactions that are open"),
    (
        "gtid_purged",
        "GTIDs of transactions that are here, but not in the binary log's files any more",
    ),
    ("have_compress", "COMPRESS() is there"),
    ("have_dynamic_loading", "plugins can be loaded"),
    ("have_geometry", "GEOMETRY is there"),
    ("have_profiling", "SHOW PROFILE is there"),
    ("have_query_cache", "results are kept for the same query"),
    ("have_rtree_keys", "spatial indexes are there"),
    ("have_statement_timeout", "max_execution_time is there"),
    ("have_symlink", "tables may be links to other directories"),
    (
        "host_cache_size",
        "hosts of which it is known how often their clients failed to come in",
    ),
    ("hostname", "name of the machine"),
    ("identity", "as last_insert_id"),
    (
        "idle_transaction_timeout",
        "seconds after which a client that idles in a transaction is disconnected; 0 for never",
    ),
    (
        "init_connect",
        "statements that are run when a client without CONNECTION_ADMIN comes in",
    ),
    ("init_file", "MySQL: statements that a start executes"),
    (
        "innodb_autoinc_lock_mode",
        "AUTO_INCREMENT values are taken without a lock",
    ),
    (
        "innodb_buffer_pool_size",
        "memory for pages of tables and indexes",
    ),
    (
        "innodb_ddl_threads",
        "threads that build an index at most, if processors are idle",
    ),
    ("innodb_deadlock_detect", "deadlocks are found at once"),
    ("innodb_default_row_format", "how MySQL would store rows"),
    ("innodb_file_per_table", "MySQL: each table has a file"),
    (
        "innodb_flush_log_at_trx_commit",
        "MySQL: when its own log goes to the disk; here: sync_binlog",
    ),
    (
        "innodb_ft_aux_table",
        "MySQL: the table whose words information_schema shows",
    ),
    (
        "innodb_ft_cache_size",
        "MySQL: memory of words that are not in an index yet",
    ),
    (
        "innodb_ft_enable_stopword",
        "new FULLTEXT indexes leave out stop words",
    ),
    (
        "innodb_ft_max_token_size",
        "characters of a word at most in new FULLTEXT indexes (MySQL: set at the start)",
    ),
    (
        "innodb_ft_min_token_size",
        "characters of a word at least in new FULLTEXT indexes (MySQL: set at the start)",
    ),
    (
        "innodb_ft_server_stopword_table",
        "table, as database/table, of the stop words of new FULLTEXT indexes",
    ),
    (
        "innodb_ft_sort_pll_degree",
        "MySQL: threads that build a FULLTEXT index",
    ),
    (
        "innodb_ft_total_cache_size",
        "MySQL: the same of all tables",
    ),
    (
        "innodb_ft_user_stopword_table",
        "the same for this session, before the server's",
    ),
    (
        "innodb_lock_wait_timeout",
        "seconds that a statement waits for a row lock; then error 1205",
    ),
    (
        "innodb_optimize_fulltext_only",
        "MySQL: OPTIMIZE TABLE is about words only",
    ),
    ("innodb_page_size", "bytes of a page of MySQL's"),
    (
        "innodb_parallel_read_threads",
        "threads that read for one statement at most, if processors are idle",
    ),
    (
        "innodb_read_only",
        "MySQL: a data directory on a medium that cannot be written to",
    ),
    (
        "innodb_rollback_on_timeout",
        "error 1205 ends the transaction, not the statement alone",
    ),
    (
        "innodb_stats_persistent",
        "MySQL: statistics are kept over restarts",
    ),
    (
        "innodb_strict_mode",
        "options of tables that do not fit are errors",
    ),
    (
        "innodb_version",
        "version of MySQL whose engine this one stands for",
    ),
    ("insert_id", "AUTO_INCREMENT value of the next INSERT"),
    (
        "interactive_timeout",
        "wait_timeout of clients that say that people use them",
    ),
    ("key_buffer_size", "MySQL: memory for MyISAM's indexes"),
    ("large_files_support", "files may be larger than 2 GiB"),
    ("last_insert_id", "what LAST_INSERT_ID() returns"),
    ("lc_messages", "language of errors"),
    ("lc_time_names", "language of the names of days and months"),
    ("license", "the server's licence"),
    ("local_infile", "LOAD DATA LOCAL is allowed"),
    (
        "lock_wait_timeout",
        "seconds that a statement waits for a lock of a table or of the server; then error 1205",
    ),
    ("log_bin", "there is a binary log"),
    (
        "log_bin_basename",
        "path of the binary log's files, without their numbers",
    ),
    (
        "log_bin_index",
        "file with the list of the binary log's files",
    ),
    (
        "log_bin_trust_function_creators",
        "MySQL: who may create functions",
    ),
    (
        "log_error",
        "the file of the error log; stderr: standard error",
    ),
    (
        "log_error_services",
        "forms of the error log's lines: log_sink_internal (text), log_sink_json, or both; \
         log_filter_internal leaves lines out",
    ),
    (
        "log_error_suppression_list",
        "warnings and notes that the error log leaves out: MY-010926, or their names",
    ),
    (
        "log_error_verbosity",
        "what the server's log tells: 1 errors, 2 warnings too, 3 notes too",
    ),
    ("log_output", "where the logs of statements go"),
    (
        "log_queries_not_using_indexes",
        "the slow log gets statements that read a whole table, too",
    ),
    ("log_raw", "MySQL: passwords in the general log"),
    (
        "log_replica_updates",
        "what comes from a source stands in the binary log, too",
    ),
    ("log_slave_updates", "as log_replica_updates"),
    (
        "log_slow_admin_statements",
        "the slow log gets ALTER TABLE, CREATE INDEX and their like, too",
    ),
    (
        "log_slow_extra",
        "entries of the slow log tell of reads, sorts and errors",
    ),
    (
        "log_slow_replica_statements",
        "MySQL: the slow log gets what a replica applies, too",
    ),
    (
        "log_throttle_queries_not_using_indexes",
        "entries a minute of statements that are in the slow log for their lack of an index only; 0 for all",
    ),
    ("log_timestamps", "time zone of the logs' times"),
    (
        "long_query_time",
        "seconds from which on a statement is slow",
    ),
    (
        "lower_case_file_system",
        "whether the file system takes capitals for small letters",
    ),
    (
        "lower_case_table_names",
        "0: names of tables differ by their case",
    ),
    ("mandatory_roles", "roles that everybody has"),
    (
        "max_allowed_packet",
        "bytes of the longest packet, so of the longest statement and value",
    ),
    (
        "max_binlog_cache_size",
        "bytes that one transaction may change; then error 1197",
    ),
    (
        "max_binlog_size",
        "bytes after which a new file of the binary log begins",
    ),
    ("max_connections", "clients that may be connected at once"),
    (
        "max_digest_length",
        "MySQL: bytes of a statement's normal form",
    ),
    (
        "max_error_count",
        "errors and warnings that a session keeps of a statement",
    ),
    (
        "max_execution_time",
        "milliseconds that a SELECT may take; 0 for as long as it likes",
    ),
    (
        "max_join_size",
        "rows that a SELECT may read, as the planner sees it; then error 1104",
    ),
    (
        "max_prepared_stmt_count",
        "prepared statements at once in the whole server; then error 1461",
    ),
    (
        "max_user_connections",
        "connections of one account at once, unless it has a limit of its own; 0 for no limit",
    ),
    (
        "min_examined_row_limit",
        "rows that a statement must have looked at to be in the slow log",
    ),
    (
        "net_read_timeout",
        "seconds that the rest of a packet may take to arrive",
    ),
    (
        "net_write_timeout",
        "seconds that a client may take to read what it is sent",
    ),
    (
        "ngram_token_size",
        "characters of a word in new FULLTEXT indexes WITH PARSER ngram (MySQL: set at the start)",
    ),
    ("offline_mode", "MySQL: only administrators are let in"),
    ("open_files_limit", "files that the server may have open"),
    ("optimizer_trace", "MySQL: the planner tells what it thinks"),
    (
        "original_commit_timestamp",
        "when a transaction that a replica applies was committed first",
    ),
    (
        "original_server_version",
        "version of the server that has committed it first",
    ),
    (
        "partial_revokes",
        "a global privilege may be revoked for one database; GRANT and REVOKE name databases, not patterns",
    ),
    (
        "password_history",
        "passwords that must be others before one may come again, for accounts that do not say",
    ),
    (
        "password_require_current",
        "who changes their own password must say the one before, for accounts that do not say",
    ),
    (
        "password_reuse_interval",
        "days before a password may come again, for accounts that do not say",
    ),
    (
        "performance_schema",
        "what statements and commits take is measured, for the tables of performance_schema",
    ),
    ("pid_file", "MySQL: file with the process's number"),
    ("port", "TCP port"),
    ("profiling", "MySQL: SHOW PROFILE collects"),
    (
        "protocol_compression_algorithms",
        "how connections may be compressed",
    ),
    ("protocol_version", "version of the protocol"),
    (
        "proxy_protocol_networks",
        "where proxies are that say with a PROXY header who their client is",
    ),
    (
        "proxy_user",
        "MySQL: the account that stands in for the client's",
    ),
    ("rand_seed1", "seeds RAND()"),
    ("rand_seed2", "seeds RAND()"),
    (
        "rbr_exec_mode",
        "IDEMPOTENT: rows of a replica's source that are there already, or missing, are no errors",
    ),
    ("read_only", "only administrators may change anything"),
    ("require_secure_transport", "logins over TCP need TLS"),
    (
        "restrict_fk_on_non_standard_key",
        "a foreign key needs a unique index at its other end",
    ),
    (
        "resultset_metadata",
        "results come with the description of their columns",
    ),
    (
        "rpl_semi_sync_replica_enabled",
        "this server, as a replica, acknowledges what it has received",
    ),
    ("rpl_semi_sync_source_enabled", "commits wait for a replica"),
    (
        "rpl_semi_sync_source_timeout",
        "milliseconds that a commit waits for replicas at most",
    ),
    (
        "rpl_semi_sync_source_wait_for_replica_count",
        "replicas that a commit waits for",
    ),
    (
        "rpl_semi_sync_source_wait_no_replica",
        "commits wait also when there are fewer replicas than they wait for",
    ),
    (
        "rpl_semi_sync_source_wait_point",
        "commits wait for replicas before they are visible",
    ),
    (
        "secure_file_priv",
        "directory that LOAD DATA reads files from and SELECT … INTO OUTFILE writes files to: NULL for none, empty for any",
    ),
    (
        "server_id",
        "number of this server among those that replicate",
    ),
    ("server_id_bits", "bits of it that count"),
    ("server_uuid", "what the server's GTIDs begin with"),
    (
        "session_track_gtids",
        "MySQL: clients are told the GTIDs of their transactions",
    ),
    (
        "session_track_transaction_info",
        "MySQL: clients are told the state of their transaction",
    ),
    (
        "show_create_table_verbosity",
        "SHOW CREATE TABLE names the row format, too",
    ),
    (
        "skip_external_locking",
        "MySQL: files are not locked against other programs",
    ),
    (
        "skip_name_resolve",
        "clients are known by their address, not by a name",
    ),
    ("skip_networking", "MySQL: nobody connects over TCP"),
    (
        "skip_show_database",
        "MySQL: SHOW DATABASES needs a privilege",
    ),
    ("slow_query_log", "the log of statements that took long"),
    (
        "slow_query_log_file",
        "file of the slow log; its name ends in .log",
    ),
    ("socket", "path of the Unix socket"),
    (
        "sort_buffer_size",
        "memory of a sort before it goes on in files",
    ),
    (
        "sql_auto_is_null",
        "IS NULL finds the last AUTO_INCREMENT value",
    ),
    (
        "sql_big_selects",
        "SELECTs may read more than max_join_size",
    ),
    (
        "sql_generate_invisible_primary_key",
        "MySQL: tables without a primary key get an invisible one",
    ),
    (
        "sql_log_bin",
        "what the session changes goes to the replicas",
    ),
    (
        "sql_log_off",
        "the general log gets nothing of this session",
    ),
    ("sql_mode", "how strict SQL is, and which SQL: see below"),
    ("sql_notes", "notes are kept among the warnings"),
    ("sql_quote_show_create", "SHOW CREATE quotes names"),
    ("sql_require_primary_key", "tables need a primary key"),
    (
        "sql_safe_updates",
        "UPDATE and DELETE need a key in WHERE, or a LIMIT",
    ),
    (
        "sql_select_limit",
        "rows that a SELECT without LIMIT, or a SHOW that is a query, returns at most",
    ),
    (
        "sql_warnings",
        "an INSERT of one row tells how many warnings it has",
    ),
    (
        "ssl_ca",
        "file of the authorities that sign clients' certificates",
    ),
    ("ssl_capath", "MySQL: directory of authorities"),
    ("ssl_cert", "file of the server's certificate"),
    ("ssl_cipher", "MySQL: ciphers up to TLS 1.2"),
    ("ssl_crl", "MySQL: file of revoked certificates"),
    ("ssl_crlpath", "MySQL: directory of revoked certificates"),
    ("ssl_fips_mode", "MySQL: only what FIPS allows"),
    ("ssl_key", "file of the certificate's key"),
    (
        "ssl_session_cache_mode",
        "TLS sessions may be taken up again",
    ),
    ("statement_id", "number of the statement"),
    ("super_read_only", "read_only for administrators, too"),
    (
        "sync_binlog",
        "when the log goes to the disk: 1 after every group of commits, N after every Nth, 0 when the system likes",
    ),
    ("system_time_zone", "the machine's time zone"),
    (
        "table_definition_cache",
        "MySQL: definitions that are kept in memory",
    ),
    ("table_open_cache", "MySQL: tables that are kept open"),
    (
        "table_open_cache_instances",
        "MySQL: parts of the cache of open tables",
    ),
    (
        "thread_cache_size",
        "MySQL: threads that are kept for the next connection",
    ),
    ("thread_handling", "connections share threads"),
    (
        "thread_pool_high_prio_mode",
        "who goes before the others in the queue: open transactions, all statements, or nobody",
    ),
    (
        "thread_pool_high_prio_tickets",
        "how often a session may go first, before it queues once like the others",
    ),
    (
        "thread_pool_idle_timeout",
        "seconds after which a thread without work ends",
    ),
    ("thread_pool_max_threads", "threads at once"),
    (
        "thread_pool_max_transactions_limit",
        "transactions that may be open at once, while others wait; 0 for no limit",
    ),
    (
        "thread_pool_oversubscribe",
        "statements that may go on beyond thread_pool_size when they come back from a wait",
    ),
    (
        "thread_pool_prio_kickup_timer",
        "milliseconds after which a statement that waits goes before the others",
    ),
    (
        "thread_pool_size",
        "statements that execute at once, while the others queue; 0 for no limit",
    ),
    ("thread_stack", "bytes of a thread's stack"),
    ("time_zone", "time zone of the session"),
    (
        "timestamp",
        "what NOW() returns, in seconds since 1970; 0 for the clock",
    ),
    (
        "tls_certificates_enforced_validation",
        "MySQL: a start fails with certificates that do not hold",
    ),
    ("tls_ciphersuites", "MySQL: ciphers of TLS 1.3"),
    ("tls_version", "versions of TLS that clients may use"),
    (
        "tmp_table_size",
        "memory of grouping (of each thread) and DISTINCT, and a sixteenth of that of a computed table, before they go on in files",
    ),
    (
        "tmpdir",
        "MySQL: directory of temporary files; here: tmp in the data directory",
    ),
    ("transaction_isolation", "isolation level"),
    (
        "transaction_read_only",
        "transactions may not change anything",
    ),
    (
        "updatable_views_with_limit",
        "MySQL: a view without a key may be updated with LIMIT",
    ),
    (
        "validate_password.changed_characters_percentage",
        "MySQL: characters of a password that must not be of the one before",
    ),
    (
        "validate_password.check_user_name",
        "a password may not be the user's name, in either direction",
    ),
    (
        "validate_password.dictionary_file",
        "file of words that a strong password has none of",
    ),
    (
        "validate_password.length",
        "characters that a password has at least",
    ),
    (
        "validate_password.mixed_case_count",
        "lower and upper case letters that a password has at least, each",
    ),
    (
        "validate_password.number_count",
        "digits that a password has at least",
    ),
    (
        "validate_password.policy",
        "which passwords are good enough: OFF, LOW, MEDIUM or STRONG",
    ),
    (
        "validate_password.special_char_count",
        "other characters that a password has at least",
    ),
    (
        "version",
        "version of MySQL that this server answers like, and its own",
    ),
    ("version_comment", "the server's name"),
    ("version_compile_machine", "the processor it is made for"),
    ("version_compile_os", "the system it is made for"),
    (
        "wait_timeout",
        "seconds after which a silent client is disconnected",
    ),
    ("warning_count", "warnings of the last statement"),
];
