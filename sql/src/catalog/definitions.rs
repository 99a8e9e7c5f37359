//! The columns of virtual tables: MySQL 9.7's, made from its information_schema.COLUMNS.
//!
//! A column is a name and a type: `+` is UNSIGNED, `=` a binary collation, `^` one that
//! tells all letters apart but for their case, `~` one of utf8mb3 (as all
//! are outside of performance_schema), `!` NOT NULL; ENUM and SET are VARCHAR here.

pub(super) const CHARACTER_SETS: &str = "\
    CHARACTER_SET_NAME varchar(64)!, DEFAULT_COLLATE_NAME varchar(64)!, DESCRIPTION varchar(2048)!, \
    MAXLEN int+!";

pub(super) const CHECK_CONSTRAINTS: &str = "\
    CONSTRAINT_CATALOG varchar(64)=!, CONSTRAINT_SCHEMA varchar(64)=!, CONSTRAINT_NAME varchar(64)^!, \
    CHECK_CLAUSE text=!";

pub(super) const COLLATIONS: &str = "\
    COLLATION_NAME varchar(64)!, CHARACTER_SET_NAME varchar(64)!, ID bigint+!, IS_DEFAULT \
    varchar(3)!, IS_COMPILED varchar(3)!, SORTLEN int+!, PAD_ATTRIBUTE varchar(9)=!";

pub(super) const COLLATION_CHARACTER_SET_APPLICABILITY: &str = "\
    COLLATION_NAME varchar(64)!, CHARACTER_SET_NAME varchar(64)!";

// The numeric ones are INT on the wire, though MySQL describes them as BIGINT: clients that read
// BIGINT as text compare them.
pub(super) const COLUMNS: &str = "\
    TABLE_CATALOG varchar(64)=!, TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!, COLUMN_NAME \
    varchar(64)^, ORDINAL_POSITION int+!, COLUMN_DEFAULT text=, IS_NULLABLE varchar(3)!, DATA_TYPE \
    text=, CHARACTER_MAXIMUM_LENGTH bigint, CHARACTER_OCTET_LENGTH bigint, NUMERIC_PRECISION int+, \
    NUMERIC_SCALE int+, DATETIME_PRECISION int+, CHARACTER_SET_NAME varchar(64), COLLATION_NAME \
    varchar(64), COLUMN_TYPE text=!, COLUMN_KEY varchar(3)=!, EXTRA varchar(256), PRIVILEGES \
    varchar(154), COLUMN_COMMENT text=!, GENERATION_EXPRESSION text=!, SRS_ID int+";

pub(super) const COLUMN_PRIVILEGES: &str = "\
    GRANTEE varchar(292)!, TABLE_CATALOG varchar(512)!, TABLE_SCHEMA varchar(64)!, TABLE_NAME \
    varchar(64)!, COLUMN_NAME varchar(64)!, PRIVILEGE_TYPE varchar(64)!, IS_GRANTABLE varchar(3)!";

pub(super) const ENGINES: &str = "\
    ENGINE varchar(64)!, SUPPORT varchar(8)!, COMMENT varchar(80)!, TRANSACTIONS varchar(3), XA \
    varchar(3), SAVEPOINTS varchar(3)";

pub(super) const EVENTS: &str = "\
    EVENT_CATALOG varchar(64)=!, EVENT_SCHEMA varchar(64)=!, EVENT_NAME varchar(64)!, DEFINER \
    varchar(288)=!, TIME_ZONE varchar(64)=!, EVENT_BODY varchar(3)!, EVENT_DEFINITION text=!, \
    EVENT_TYPE varchar(9)!, EXECUTE_AT datetime, INTERVAL_VALUE varchar(256), INTERVAL_FIELD \
    varchar(18)=, SQL_MODE varchar(547)=!, STARTS datetime, ENDS datetime, STATUS varchar(21)=!, \
    ON_COMPLETION varchar(12)!, CREATED datetime, LAST_ALTERED datetime, LAST_EXECUTED datetime, \
    EVENT_COMMENT varchar(2048)=!, ORIGINATOR int+!, CHARACTER_SET_CLIENT varchar(64)!, \
    COLLATION_CONNECTION varchar(64)!, DATABASE_COLLATION varchar(64)!";

pub(super) const FILES: &str = "\
    FILE_ID bigint, FILE_NAME text=, FILE_TYPE varchar(256), TABLESPACE_NAME varchar(268)=!, \
    TABLE_CATALOG varchar(0)!, TABLE_SCHEMA varchar(0), TABLE_NAME varchar(0), \
    LOGFILE_GROUP_NAME varchar(256), LOGFILE_GROUP_NUMBER bigint, ENGINE varchar(64)!, \
    FULLTEXT_KEYS varchar(0), DELETED_ROWS varchar(0), UPDATE_COUNT varchar(0), FREE_EXTENTS \
    bigint, TOTAL_EXTENTS bigint, EXTENT_SIZE bigint, INITIAL_SIZE bigint, MAXIMUM_SIZE bigint, \
    AUTOEXTEND_SIZE bigint, CREATION_TIME varchar(0), LAST_UPDATE_TIME varchar(0), \
    LAST_ACCESS_TIME varchar(0), RECOVER_TIME varchar(0), TRANSACTION_COUNTER varchar(0), \
    VERSION bigint, ROW_FORMAT varchar(256), TABLE_ROWS varchar(0), AVG_ROW_LENGTH varchar(0), \
    DATA_LENGTH varchar(0), MAX_DATA_LENGTH varchar(0), INDEX_LENGTH varchar(0), DATA_FREE \
    bigint, CREATE_TIME varchar(0), UPDATE_TIME varchar(0), CHECK_TIME varchar(0), CHECKSUM \
    varchar(0), STATUS varchar(256), EXTRA varchar(256)";

pub(super) const INNODB_FT_DEFAULT_STOPWORD: &str = "value varchar(18)!";

pub(super) const INNODB_TRX: &str = "\
    trx_id bigint+!, trx_state varchar(13)!, trx_started datetime!, trx_requested_lock_id \
    varchar(126), trx_wait_started datetime, trx_weight bigint+!, trx_mysql_thread_id bigint+!, \
    trx_query varchar(1024), trx_operation_state varchar(64), trx_tables_in_use bigint+!, \
    trx_tables_locked bigint+!, trx_lock_structs bigint+!, trx_lock_memory_bytes bigint+!, \
    trx_rows_locked bigint+!, trx_rows_modified bigint+!, trx_concurrency_tickets bigint+!, \
    trx_isolation_level varchar(16)!, trx_unique_checks int!, trx_foreign_key_checks int!, \
    trx_last_foreign_key_error varchar(256), trx_adaptive_hash_latched int!, \
    trx_adaptive_hash_timeout bigint+!, trx_is_read_only int!, trx_autocommit_non_locking int!, \
    trx_schedule_weight bigint+";

pub(super) const KEYWORDS: &str = "WORD varchar(128), RESERVED int";

pub(super) const KEY_COLUMN_USAGE: &str = "\
    CONSTRAINT_CATALOG varchar(64)=!, CONSTRAINT_SCHEMA varchar(64)=!, CONSTRAINT_NAME varchar(64)^, \
    TABLE_CATALOG varchar(64)=!, TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!, COLUMN_NAME \
    varchar(64)^, ORDINAL_POSITION int+!, POSITION_IN_UNIQUE_CONSTRAINT int+, REFERENCED_TABLE_SCHEMA \
    varchar(64)=, REFERENCED_TABLE_NAME varchar(64)=, REFERENCED_COLUMN_NAME varchar(64)^";

pub(super) const PARAMETERS: &str = "\
    SPECIFIC_CATALOG varchar(64)=!, SPECIFIC_SCHEMA varchar(64)=!, SPECIFIC_NAME varchar(64)!, \
    ORDINAL_POSITION bigint+!, PARAMETER_MODE varchar(5)=, PARAMETER_NAME varchar(64), DATA_TYPE \
    text=, CHARACTER_MAXIMUM_LENGTH bigint, CHARACTER_OCTET_LENGTH bigint, NUMERIC_PRECISION int+, \
    NUMERIC_SCALE bigint, DATETIME_PRECISION int+, CHARACTER_SET_NAME varchar(64), COLLATION_NAME \
    varchar(64), DTD_IDENTIFIER text=!, ROUTINE_TYPE varchar(9)=!";

pub(super) const PARTITIONS: &str = "\
    TABLE_CATALOG varchar(64)=!, TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!, \
    PARTITION_NAME varchar(64)^, SUBPARTITION_NAME varchar(64)^, PARTITION_ORDINAL_POSITION int+, \
    SUBPARTITION_ORDINAL_POSITION int+, SECONDARY_LOAD varchar(1)=, PARTITION_METHOD varchar(13), \
    SUBPARTITION_METHOD varchar(13), PARTITION_EXPRESSION varchar(2048)=, SUBPARTITION_EXPRESSION \
    varchar(2048)=, PARTITION_DESCRIPTION text=, TABLE_ROWS bigint+, AVG_ROW_LENGTH bigint+, \
    DATA_LENGTH bigint+, MAX_DATA_LENGTH bigint+, INDEX_LENGTH bigint+, DATA_FREE bigint+, \
    CREATE_TIME datetime, UPDATE_TIME datetime, CHECK_TIME datetime, CHECKSUM bigint, \
    PARTITION_COMMENT text=!, NODEGROUP varchar(256), TABLESPACE_NAME varchar(268)=";

pub(super) const PLUGINS: &str = "\
    PLUGIN_NAME varchar(64)!, PLUGIN_VERSION varchar(20)!, PLUGIN_STATUS varchar(10)!, PLUGIN_TYPE \
    varchar(80)!, PLUGIN_TYPE_VERSION varchar(20)!, PLUGIN_LIBRARY varchar(64), \
    PLUGIN_LIBRARY_VERSION varchar(20), PLUGIN_AUTHOR varchar(64), PLUGIN_DESCRIPTION text, \
    PLUGIN_LICENSE varchar(80), LOAD_OPTION varchar(64)!";

pub(super) const PROCESSLIST: &str = "\
    ID bigint+!, USER varchar(32)!, HOST varchar(261)!, DB varchar(64), COMMAND varchar(16)!, TIME \
    int!, STATE varchar(64), INFO text";

pub(super) const REFERENTIAL_CONSTRAINTS: &str = "\
    CONSTRAINT_CATALOG varchar(64)=!, CONSTRAINT_SCHEMA varchar(64)=!, CONSTRAINT_NAME varchar(64)^, \
    UNIQUE_CONSTRAINT_CATALOG varchar(64)=!, UNIQUE_CONSTRAINT_SCHEMA varchar(64)=!, \
    UNIQUE_CONSTRAINT_NAME varchar(64)^, MATCH_OPTION varchar(7)=!, UPDATE_RULE varchar(11)=!, \
    DELETE_RULE varchar(11)=!, TABLE_NAME varchar(64)=!, REFERENCED_TABLE_NAME varchar(64)=!";

pub(super) const ROUTINES: &str = "\
    SPECIFIC_NAME varchar(64)!, ROUTINE_CATALOG varchar(64)=!, ROUTINE_SCHEMA varchar(64)=!, \
    ROUTINE_NAME varchar(64)!, ROUTINE_TYPE varchar(9)=!, DATA_TYPE text=, CHARACTER_MAXIMUM_LENGTH \
    bigint, CHARACTER_OCTET_LENGTH bigint, NUMERIC_PRECISION int+, NUMERIC_SCALE int+, \
    DATETIME_PRECISION int+, CHARACTER_SET_NAME varchar(64), COLLATION_NAME varchar(64), \
    DTD_IDENTIFIER text=, ROUTINE_BODY varchar(8)!, ROUTINE_DEFINITION text=, EXTERNAL_NAME text, \
    EXTERNAL_LANGUAGE varchar(64)=!, PARAMETER_STYLE varchar(3)!, IS_DETERMINISTIC varchar(3)!, \
    SQL_DATA_ACCESS varchar(17)=!, SQL_PATH text, SECURITY_TYPE varchar(7)=!, CREATED datetime, \
    LAST_ALTERED datetime, SQL_MODE varchar(547)=!, ROUTINE_COMMENT text=!, DEFINER varchar(288)=!, \
    CHARACTER_SET_CLIENT varchar(64)!, COLLATION_CONNECTION varchar(64)!, DATABASE_COLLATION \
    varchar(64)!";

pub(super) const SCHEMATA: &str = "\
    CATALOG_NAME varchar(64)=!, SCHEMA_NAME varchar(64)=!, DEFAULT_CHARACTER_SET_NAME varchar(64)!, \
    DEFAULT_COLLATION_NAME varchar(64)!, SQL_PATH text, DEFAULT_ENCRYPTION varchar(3)=!";

pub(super) const SCHEMA_PRIVILEGES: &str = "\
    GRANTEE varchar(292)!, TABLE_CATALOG varchar(512)!, TABLE_SCHEMA varchar(64)!, PRIVILEGE_TYPE \
    varchar(64)!, IS_GRANTABLE varchar(3)!";

pub(super) const STATISTICS: &str = "\
    TABLE_CATALOG varchar(64)=!, TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!, NON_UNIQUE \
    int!, INDEX_SCHEMA varchar(64)=!, INDEX_NAME varchar(64)^, SEQ_IN_INDEX int+!, COLUMN_NAME \
    varchar(64)^, COLLATION varchar(1), CARDINALITY bigint, SUB_PART bigint, PACKED text, NULLABLE \
    varchar(3)!, INDEX_TYPE varchar(11)=!, COMMENT varchar(8)!, INDEX_COMMENT varchar(2048)=!, \
    IS_VISIBLE varchar(3)!, EXPRESSION text=";

pub(super) const TABLES: &str = "\
    TABLE_CATALOG varchar(64)=!, TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!, TABLE_TYPE \
    varchar(11)=!, ENGINE varchar(64), VERSION int, ROW_FORMAT varchar(10)=, TABLE_ROWS bigint+, \
    AVG_ROW_LENGTH bigint+, DATA_LENGTH bigint+, MAX_DATA_LENGTH bigint+, INDEX_LENGTH bigint+, \
    DATA_FREE bigint+, AUTO_INCREMENT bigint+, CREATE_TIME datetime, UPDATE_TIME datetime, \
    CHECK_TIME datetime, TABLE_COLLATION varchar(64), CHECKSUM bigint, CREATE_OPTIONS varchar(256), \
    TABLE_COMMENT text";

pub(super) const TABLE_CONSTRAINTS: &str = "\
    CONSTRAINT_CATALOG varchar(64)=!, CONSTRAINT_SCHEMA varchar(64)=!, CONSTRAINT_NAME varchar(64)^, \
    TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!, CONSTRAINT_TYPE varchar(11)=!, ENFORCED \
    varchar(3)=!";

pub(super) const TABLE_PRIVILEGES: &str = "\
    GRANTEE varchar(292)!, TABLE_CATALOG varchar(512)!, TABLE_SCHEMA varchar(64)!, TABLE_NAME \
    varchar(64)!, PRIVILEGE_TYPE varchar(64)!, IS_GRANTABLE varchar(3)!";

pub(super) const TRIGGERS: &str = "\
    TRIGGER_CATALOG varchar(64)=!, TRIGGER_SCHEMA varchar(64)=!, TRIGGER_NAME varchar(64)!, \
    EVENT_MANIPULATION varchar(6)=!, EVENT_OBJECT_CATALOG varchar(64)=!, EVENT_OBJECT_SCHEMA \
    varchar(64)=!, EVENT_OBJECT_TABLE varchar(64)=!, ACTION_ORDER int+!, ACTION_CONDITION text, \
    ACTION_STATEMENT text=!, ACTION_ORIENTATION varchar(3)!, ACTION_TIMING varchar(6)=!, \
    ACTION_REFERENCE_OLD_TABLE text, ACTION_REFERENCE_NEW_TABLE text, ACTION_REFERENCE_OLD_ROW \
    varchar(3)!, ACTION_REFERENCE_NEW_ROW varchar(3)!, CREATED timestamp(2)!, SQL_MODE \
    varchar(547)=!, DEFINER varchar(288)=!, CHARACTER_SET_CLIENT varchar(64)!, COLLATION_CONNECTION \
    varchar(64)!, DATABASE_COLLATION varchar(64)!";

pub(super) const USER_PRIVILEGES: &str = "\
    GRANTEE varchar(292)!, TABLE_CATALOG varchar(512)!, PRIVILEGE_TYPE varchar(64)!, IS_GRANTABLE \
    varchar(3)!";

pub(super) const VIEW_ROUTINE_USAGE: &str = "\
    TABLE_CATALOG varchar(64)=!, TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!, SPECIFIC_CATALOG \
    varchar(64)=!, SPECIFIC_SCHEMA varchar(64)=!, SPECIFIC_NAME varchar(64)!";

pub(super) const VIEW_TABLE_USAGE: &str = "\
    VIEW_CATALOG varchar(64)=!, VIEW_SCHEMA varchar(64)=!, VIEW_NAME varchar(64)=!, TABLE_CATALOG \
    varchar(64)=!, TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!";

pub(super) const VIEWS: &str = "\
    TABLE_CATALOG varchar(64)=!, TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!, \
    VIEW_DEFINITION text=, CHECK_OPTION varchar(8)=, IS_UPDATABLE varchar(3)=, DEFINER varchar(288)=, \
    SECURITY_TYPE varchar(7)=, CHARACTER_SET_CLIENT varchar(64)!, COLLATION_CONNECTION varchar(64)!";

pub(super) const APPLICABLE_ROLES: &str = "\
    USER varchar(97), HOST varchar(256), GRANTEE varchar(97), GRANTEE_HOST varchar(256), \
    ROLE_NAME varchar(255), ROLE_HOST varchar(256), IS_GRANTABLE varchar(3)!, IS_DEFAULT \
    varchar(3), IS_MANDATORY varchar(3)!";

pub(super) const ENABLED_ROLES: &str = "\
    ROLE_NAME varchar(255), ROLE_HOST varchar(255), IS_DEFAULT varchar(3), IS_MANDATORY \
    varchar(3)!";

pub(super) const ROLE_COLUMN_GRANTS: &str = "\
    GRANTOR varchar(97), GRANTOR_HOST varchar(256), GRANTEE char(32)=!, GRANTEE_HOST char(255)!, \
    TABLE_CATALOG varchar(3)!, TABLE_SCHEMA char(64)=!, TABLE_NAME char(64)=!, COLUMN_NAME \
    char(64)=!, PRIVILEGE_TYPE varchar(32)!, IS_GRANTABLE varchar(3)!";

pub(super) const ROLE_TABLE_GRANTS: &str = "\
    GRANTOR varchar(97), GRANTOR_HOST varchar(256), GRANTEE char(32)=!, GRANTEE_HOST char(255)!, \
    TABLE_CATALOG varchar(3)!, TABLE_SCHEMA char(64)=!, TABLE_NAME char(64)=!, PRIVILEGE_TYPE \
    varchar(128)!, IS_GRANTABLE varchar(3)!";

pub(super) const USER_ATTRIBUTES: &str = "\
    USER char(32)=!, HOST char(255)!, ATTRIBUTE text";

pub(super) const MYSQL_COLUMNS_PRIV: &str = "\
    Host char(255)!, Db char(64)=!, User char(32)=!, Table_name char(64)=!, Column_name \
    char(64)=!, Timestamp timestamp, Column_priv varchar(32)!";

pub(super) const MYSQL_DB: &str = "\
    Host char(255)!, Db char(64)=!, User char(32)=!, Select_priv varchar(1)!, Insert_priv \
    varchar(1)!, Update_priv varchar(1)!, Delete_priv varchar(1)!, Create_priv varchar(1)!, \
    Drop_priv varchar(1)!, Grant_priv varchar(1)!, References_priv varchar(1)!, Index_priv \
    varchar(1)!, Alter_priv varchar(1)!, Create_tmp_table_priv varchar(1)!, Lock_tables_priv \
    varchar(1)!, Create_view_priv varchar(1)!, Show_view_priv varchar(1)!, Create_routine_priv \
    varchar(1)!, Alter_routine_priv varchar(1)!, Execute_priv varchar(1)!, Event_priv \
    varchar(1)!, Trigger_priv varchar(1)!";

pub(super) const MYSQL_DEFAULT_ROLES: &str = "\
    HOST char(255)!, USER char(32)=!, DEFAULT_ROLE_HOST char(255)!, DEFAULT_ROLE_USER char(32)=!";

pub(super) const MYSQL_GLOBAL_GRANTS: &str = "\
    USER char(32)=!, HOST char(255)!, PRIV char(32)!, WITH_GRANT_OPTION varchar(1)!";

pub(super) const MYSQL_PASSWORD_HISTORY: &str = "\
    Host char(255)!, User char(32)=!, Password_timestamp timestamp(6)!, Password text=";

pub(super) const MYSQL_PROCS_PRIV: &str = "\
    Host char(255)!, Db char(64)=!, User char(32)=!, Routine_name char(64)!, Routine_type \
    varchar(9)=!, Grantor varchar(288)=!, Proc_priv varchar(32)!, Timestamp timestamp";

pub(super) const MYSQL_PROXIES_PRIV: &str = "\
    Host char(255)!, User char(32)=!, Proxied_host char(255)!, Proxied_user char(32)=!, \
    With_grant smallint!, Grantor varchar(288)=!, Timestamp timestamp";

pub(super) const MYSQL_ROLE_EDGES: &str = "\
    FROM_HOST char(255)!, FROM_USER char(32)=!, TO_HOST char(255)!, TO_USER char(32)=!, \
    WITH_ADMIN_OPTION varchar(1)!";

pub(super) const MYSQL_TABLES_PRIV: &str = "\
    Host char(255)!, Db char(64)=!, User char(32)=!, Table_name char(64)=!, Grantor \
    varchar(288)=!, Timestamp timestamp, Table_priv varchar(128)!, Column_priv varchar(32)!";

pub(super) const MYSQL_USER: &str = "\
    Host char(255)!, User char(32)=!, Select_priv varchar(1)!, Insert_priv varchar(1)!, \
    Update_priv varchar(1)!, Delete_priv varchar(1)!, Create_priv varchar(1)!, Drop_priv \
    varchar(1)!, Reload_priv varchar(1)!, Shutdown_priv varchar(1)!, Process_priv varchar(1)!, \
    File_priv varchar(1)!, Grant_priv varchar(1)!, References_priv varchar(1)!, Index_priv \
    varchar(1)!, Alter_priv varchar(1)!, Show_db_priv varchar(1)!, Super_priv varchar(1)!, \
    Create_tmp_table_priv varchar(1)!, Lock_tables_priv varchar(1)!, Execute_priv varchar(1)!, \
    Repl_slave_priv varchar(1)!, Repl_client_priv varchar(1)!, Create_view_priv varchar(1)!, \
    Show_view_priv varchar(1)!, Create_routine_priv varchar(1)!, Alter_routine_priv varchar(1)!, \
    Create_user_priv varchar(1)!, Event_priv varchar(1)!, Trigger_priv varchar(1)!, \
    Create_tablespace_priv varchar(1)!, ssl_type varchar(9)!, ssl_cipher text!, x509_issuer \
    text!, x509_subject text!, max_questions int+!, max_updates int+!, max_connections int+!, \
    max_user_connections int+!, plugin char(64)=!, authentication_string text=, password_expired \
    varchar(1)!, password_last_changed timestamp, password_lifetime smallint+, account_locked \
    varchar(1)!, Create_role_priv varchar(1)!, Drop_role_priv varchar(1)!, Password_reuse_history \
    smallint+, Password_reuse_time smallint+, Password_require_current varchar(1), \
    User_attributes text";

pub(super) const PS_DATA_LOCK_WAITS: &str = "\
    ENGINE varchar(32)!, REQUESTING_ENGINE_LOCK_ID varchar(128)!, REQUESTING_ENGINE_TRANSACTION_ID \
    bigint+, REQUESTING_THREAD_ID bigint+, REQUESTING_EVENT_ID bigint+, \
    REQUESTING_OBJECT_INSTANCE_BEGIN bigint+!, BLOCKING_ENGINE_LOCK_ID varchar(128)!, \
    BLOCKING_ENGINE_TRANSACTION_ID bigint+, BLOCKING_THREAD_ID bigint+, BLOCKING_EVENT_ID bigint+, \
    BLOCKING_OBJECT_INSTANCE_BEGIN bigint+!";

pub(super) const PS_DATA_LOCKS: &str = "\
    ENGINE varchar(32)!, ENGINE_LOCK_ID varchar(128)!, ENGINE_TRANSACTION_ID bigint+, THREAD_ID \
    bigint+, EVENT_ID bigint+, OBJECT_SCHEMA varchar(64), OBJECT_NAME varchar(64), PARTITION_NAME \
    varchar(64), SUBPARTITION_NAME varchar(64), INDEX_NAME varchar(64), OBJECT_INSTANCE_BEGIN \
    bigint+!, LOCK_TYPE varchar(32)!, LOCK_MODE varchar(32)!, LOCK_STATUS varchar(32)!, LOCK_DATA \
    varchar(8192)";

pub(super) const PS_FILE_SUMMARY_BY_INSTANCE: &str = "\
    FILE_NAME varchar(512)!, EVENT_NAME varchar(128)!, OBJECT_INSTANCE_BEGIN bigint+!, COUNT_STAR \
    bigint+!, SUM_TIMER_WAIT bigint+!, MIN_TIMER_WAIT bigint+!, AVG_TIMER_WAIT bigint+!, \
    MAX_TIMER_WAIT bigint+!, COUNT_READ bigint+!, SUM_TIMER_READ bigint+!, MIN_TIMER_READ bigint+!, \
    AVG_TIMER_READ bigint+!, MAX_TIMER_READ bigint+!, SUM_NUMBER_OF_BYTES_READ bigint!, COUNT_WRITE \
    bigint+!, SUM_TIMER_WRITE bigint+!, MIN_TIMER_WRITE bigint+!, AVG_TIMER_WRITE bigint+!, \
    MAX_TIMER_WRITE bigint+!, SUM_NUMBER_OF_BYTES_WRITE bigint!, COUNT_MISC bigint+!, SUM_TIMER_MISC \
    bigint+!, MIN_TIMER_MISC bigint+!, AVG_TIMER_MISC bigint+!, MAX_TIMER_MISC bigint+!";

pub(super) const PS_GLOBAL_STATUS: &str = "\
    VARIABLE_NAME varchar(64)!, VARIABLE_VALUE varchar(1024)";

pub(super) const PS_GLOBAL_VARIABLES: &str = "\
    VARIABLE_NAME varchar(64)!, VARIABLE_VALUE varchar(1024)";

pub(super) const PS_PERSISTED_VARIABLES: &str = "\
    VARIABLE_NAME varchar(64)!, VARIABLE_VALUE varchar(1024)";

pub(super) const PS_PROCESSLIST: &str = "\
    ID bigint+!, USER varchar(32), HOST varchar(261), DB varchar(64), COMMAND varchar(16), TIME \
    bigint, STATE varchar(64), INFO text, EXECUTION_ENGINE varchar(9)";

pub(super) const PS_REPLICATION_APPLIER_CONFIGURATION: &str = "\
    CHANNEL_NAME char(64)!, DESIRED_DELAY int!, PRIVILEGE_CHECKS_USER text=~, REQUIRE_ROW_FORMAT \
    varchar(3)!, REQUIRE_TABLE_PRIMARY_KEY_CHECK varchar(8)!, \
    ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_TYPE varchar(5)!, \
    ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_VALUE text=~";

pub(super) const PS_REPLICATION_APPLIER_FILTERS: &str = "\
    CHANNEL_NAME char(64)!, FILTER_NAME char(64)!, FILTER_RULE text!, CONFIGURED_BY \
    varchar(37)!, ACTIVE_SINCE timestamp(6)!, COUNTER bigint+!";

pub(super) const PS_REPLICATION_APPLIER_GLOBAL_FILTERS: &str = "\
    FILTER_NAME char(64)!, FILTER_RULE text!, CONFIGURED_BY varchar(25)!, ACTIVE_SINCE \
    timestamp(6)!";

pub(super) const PS_REPLICATION_APPLIER_STATUS: &str = "\
    CHANNEL_NAME char(64)!, SERVICE_STATE varchar(3)!, REMAINING_DELAY int+, \
    COUNT_TRANSACTIONS_RETRIES bigint+!";

pub(super) const PS_REPLICATION_APPLIER_STATUS_BY_COORDINATOR: &str = "\
    CHANNEL_NAME char(64)!, THREAD_ID bigint+, SERVICE_STATE varchar(3)!, LAST_ERROR_NUMBER \
    int!, LAST_ERROR_MESSAGE varchar(1024)!, LAST_ERROR_TIMESTAMP timestamp(6)!, \
    LAST_PROCESSED_TRANSACTION char(90), LAST_PROCESSED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP \
    timestamp(6)!, LAST_PROCESSED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP timestamp(6)!, \
    LAST_PROCESSED_TRANSACTION_START_BUFFER_TIMESTAMP timestamp(6)!, \
    LAST_PROCESSED_TRANSACTION_END_BUFFER_TIMESTAMP timestamp(6)!, PROCESSING_TRANSACTION \
    char(90), PROCESSING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP timestamp(6)!, \
    PROCESSING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP timestamp(6)!, \
    PROCESSING_TRANSACTION_START_BUFFER_TIMESTAMP timestamp(6)!";

pub(super) const PS_REPLICATION_APPLIER_STATUS_BY_WORKER: &str = "\
    CHANNEL_NAME char(64)!, WORKER_ID bigint+!, THREAD_ID bigint+, SERVICE_STATE varchar(3)!, \
    LAST_ERROR_NUMBER int!, LAST_ERROR_MESSAGE varchar(1024)!, LAST_ERROR_TIMESTAMP \
    timestamp(6)!, LAST_APPLIED_TRANSACTION char(90), \
    LAST_APPLIED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP timestamp(6)!, \
    LAST_APPLIED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP timestamp(6)!, \
    LAST_APPLIED_TRANSACTION_START_APPLY_TIMESTAMP timestamp(6)!, \
    LAST_APPLIED_TRANSACTION_END_APPLY_TIMESTAMP timestamp(6)!, APPLYING_TRANSACTION char(90), \
    APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP timestamp(6)!, \
    APPLYING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP timestamp(6)!, \
    APPLYING_TRANSACTION_START_APPLY_TIMESTAMP timestamp(6)!, \
    LAST_APPLIED_TRANSACTION_RETRIES_COUNT bigint+!, \
    LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_NUMBER int!, \
    LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_MESSAGE varchar(1024), \
    LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_TIMESTAMP timestamp(6)!, \
    APPLYING_TRANSACTION_RETRIES_COUNT bigint+!, \
    APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_NUMBER int!, \
    APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_MESSAGE varchar(1024), \
    APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_TIMESTAMP timestamp(6)!";

pub(super) const PS_REPLICATION_ASYNCHRONOUS_CONNECTION_FAILOVER: &str = "\
    CHANNEL_NAME char(64)~!, HOST char(255)!, PORT int!, NETWORK_NAMESPACE char(64), WEIGHT \
    int+!, MANAGED_NAME char(64)~!";

pub(super) const PS_REPLICATION_ASYNCHRONOUS_CONNECTION_FAILOVER_MANAGED: &str = "\
    CHANNEL_NAME char(64)~!, MANAGED_NAME char(64)~!, MANAGED_TYPE char(64)~!, CONFIGURATION text";

pub(super) const PS_REPLICATION_CONNECTION_CONFIGURATION: &str = "\
    CHANNEL_NAME char(64)!, HOST char(255)!, PORT int!, USER char(32)=!, NETWORK_INTERFACE \
    char(60)=!, AUTO_POSITION varchar(1)!, SSL_ALLOWED varchar(7)!, SSL_CA_FILE varchar(512)!, \
    SSL_CA_PATH varchar(512)!, SSL_CERTIFICATE varchar(512)!, SSL_CIPHER varchar(512)!, SSL_KEY \
    varchar(512)!, SSL_VERIFY_SERVER_CERTIFICATE varchar(3)!, SSL_CRL_FILE varchar(255)!, \
    SSL_CRL_PATH varchar(255)!, CONNECTION_RETRY_INTERVAL int!, CONNECTION_RETRY_COUNT bigint+!, \
    HEARTBEAT_INTERVAL double!, TLS_VERSION varchar(255)!, PUBLIC_KEY_PATH varchar(512)!, \
    GET_PUBLIC_KEY varchar(3)!, NETWORK_NAMESPACE varchar(64)!, COMPRESSION_ALGORITHM \
    char(64)=!, ZSTD_COMPRESSION_LEVEL int!, TLS_CIPHERSUITES text=~, \
    SOURCE_CONNECTION_AUTO_FAILOVER varchar(1)!, GTID_ONLY varchar(1)!";

pub(super) const PS_REPLICATION_CONNECTION_STATUS: &str = "\
    CHANNEL_NAME char(64)!, GROUP_NAME char(36)=!, SOURCE_UUID char(36)=!, THREAD_ID bigint+, \
    SERVICE_STATE varchar(10)!, COUNT_RECEIVED_HEARTBEATS bigint+!, LAST_HEARTBEAT_TIMESTAMP \
    timestamp(6)!, RECEIVED_TRANSACTION_SET text!, LAST_ERROR_NUMBER int!, LAST_ERROR_MESSAGE \
    varchar(1024)!, LAST_ERROR_TIMESTAMP timestamp(6)!, LAST_QUEUED_TRANSACTION char(90), \
    LAST_QUEUED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP timestamp(6)!, \
    LAST_QUEUED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP timestamp(6)!, \
    LAST_QUEUED_TRANSACTION_START_QUEUE_TIMESTAMP timestamp(6)!, \
    LAST_QUEUED_TRANSACTION_END_QUEUE_TIMESTAMP timestamp(6)!, QUEUEING_TRANSACTION char(90), \
    QUEUEING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP timestamp(6)!, \
    QUEUEING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP timestamp(6)!, \
    QUEUEING_TRANSACTION_START_QUEUE_TIMESTAMP timestamp(6)!";

pub(super) const PS_REPLICATION_GROUP_MEMBER_STATS: &str = "\
    CHANNEL_NAME char(64)!, VIEW_ID char(60)=!, MEMBER_ID char(36)=!, \
    COUNT_TRANSACTIONS_IN_QUEUE bigint+!, COUNT_TRANSACTIONS_CHECKED bigint+!, \
    COUNT_CONFLICTS_DETECTED bigint+!, COUNT_TRANSACTIONS_ROWS_VALIDATING bigint+!, \
    TRANSACTIONS_COMMITTED_ALL_MEMBERS text!, LAST_CONFLICT_FREE_TRANSACTION text!, \
    COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE bigint+!, COUNT_TRANSACTIONS_REMOTE_APPLIED \
    bigint+!, COUNT_TRANSACTIONS_LOCAL_PROPOSED bigint+!, COUNT_TRANSACTIONS_LOCAL_ROLLBACK \
    bigint+!";

pub(super) const PS_REPLICATION_GROUP_MEMBERS: &str = "\
    CHANNEL_NAME char(64)!, MEMBER_ID char(36)=!, MEMBER_HOST char(255)!, MEMBER_PORT int, \
    MEMBER_STATE char(64)=!, MEMBER_ROLE char(64)=!, MEMBER_VERSION char(64)=!, \
    MEMBER_COMMUNICATION_STACK char(64)=!";

pub(super) const PS_CONNECT_ATTRIBUTES: &str = "\
    PROCESSLIST_ID bigint+!, ATTR_NAME varchar(32)=!, ATTR_VALUE varchar(1024)=, \
    ORDINAL_POSITION int";

pub(super) const PS_SESSION_STATUS: &str = "\
    VARIABLE_NAME varchar(64)!, VARIABLE_VALUE varchar(1024)";

pub(super) const PS_SESSION_VARIABLES: &str = "\
    VARIABLE_NAME varchar(64)!, VARIABLE_VALUE varchar(1024)";

/// Cohort's own: the transactions that are prepared (XA), where they come from and since when.
pub(super) const COHORT_XA_PREPARED: &str = "\
    FORMAT_ID bigint+!, GTRID varchar(128)!, BQUAL varchar(128)!, XID varchar(300)!, PREPARED \
    datetime(6)!, AGE_SECONDS bigint+!, USER varchar(288)!, CONNECTION_ID bigint+!, \
    ROW_EVENTS bigint+!";

/// Cohort's own: what clients do with transactions that they had better not.
pub(super) const SYS_TRANSACTION_ADVICE: &str = "\
    user_host varchar(288)!, kind varchar(32)!, query text!, digest varchar(64)!, occurrences \
    bigint+!, round_trips_wasted bigint+!, total_ms bigint+!, max_ms bigint+!, advice text!";

/// Cohort's own: how long the log's fsyncs took.
pub(super) const COHORT_LOG_FSYNC_HISTOGRAM: &str = "\
    BUCKET int+!, LATENCY_US_FROM bigint+!, LATENCY_US_TO bigint+, FSYNCS bigint+!";

/// Cohort's own: how long sessions waited, by what for; times in microseconds.
pub(super) const COHORT_WAITS: &str = "\
    CLASS varchar(20)!, WAIT_US_FROM bigint+!, WAIT_US_TO bigint+, WAITS bigint+!";

pub(super) const THREAD_POOL_GROUPS: &str = "\
    GROUP_ID int!, CONNECTIONS int!, THREADS int!, ACTIVE_THREADS int!, STANDBY_THREADS int!, \
    QUEUE_LENGTH int!, HAS_LISTENER int!, IS_STALLED int!, SLOTS int!";

pub(super) const THREAD_POOL_QUEUES: &str = "\
    GROUP_ID int!, POSITION int!, PRIORITY int!, CONNECTION_ID bigint+, \
    QUEUEING_TIME_MICROSECONDS bigint!";

pub(super) const THREAD_POOL_STATS: &str = "\
    GROUP_ID int!, THREAD_CREATIONS bigint+!, DEQUEUES bigint+!, DEQUEUES_RETURNING bigint+!, \
    DEQUEUES_HIGH bigint+!, DEQUEUES_KICKED_UP bigint+!, DEQUEUES_LOW bigint+!, YIELDS bigint+!";

pub(super) const THREAD_POOL_WAITS: &str = "\
    REASON varchar(20)!, COUNT bigint+!, SUM_US bigint+!, MAX_US bigint+!";

/// As MariaDB has them.
pub(super) const VARIABLE_PAIRS: &str = "\
    VARIABLE_NAME varchar(64)!, VARIABLE_VALUE varchar(2048)!";

/// As MariaDB has it.
pub(super) const SYSTEM_VARIABLES: &str = "\
    VARIABLE_NAME varchar(64)!, SESSION_VALUE varchar(2048), GLOBAL_VALUE varchar(2048), \
    GLOBAL_VALUE_ORIGIN varchar(64)!, DEFAULT_VALUE varchar(2048), VARIABLE_SCOPE varchar(64)!, \
    VARIABLE_TYPE varchar(64)!, VARIABLE_COMMENT varchar(2048)!, NUMERIC_MIN_VALUE varchar(21), \
    NUMERIC_MAX_VALUE varchar(21), NUMERIC_BLOCK_SIZE varchar(21), ENUM_VALUE_LIST text, \
    READ_ONLY varchar(3)!, COMMAND_LINE_ARGUMENT varchar(64), GLOBAL_VALUE_PATH varchar(2048)";

pub(super) const COLUMNS_EXTENSIONS: &str = "\
    TABLE_CATALOG varchar(64)=!, TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!, COLUMN_NAME \
    varchar(64)^, ENGINE_ATTRIBUTE text, SECONDARY_ENGINE_ATTRIBUTE text";

pub(super) const COLUMN_STATISTICS: &str = "\
    SCHEMA_NAME varchar(64)=!, TABLE_NAME varchar(64)=!, COLUMN_NAME varchar(64)^!, HISTOGRAM text!";

pub(super) const INNODB_FOREIGN: &str = "\
    ID varchar(129)=, FOR_NAME varchar(129)=, REF_NAME varchar(129)=, N_COLS bigint!, TYPE bigint+!";

pub(super) const INNODB_FOREIGN_COLS: &str = "\
    ID varchar(129)=, FOR_COL_NAME varchar(64)!, REF_COL_NAME varchar(64)!, POS int+!";

pub(super) const JSON_DUALITY_VIEWS: &str = "\
    TABLE_CATALOG varchar(64)=!, TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!, DEFINER \
    varchar(288)=, SECURITY_TYPE varchar(7)=, JSON_COLUMN_NAME varchar(64)^!, ROOT_TABLE_CATALOG \
    varchar(64)=, ROOT_TABLE_SCHEMA varchar(64)=, ROOT_TABLE_NAME varchar(64)=, ALLOW_INSERT varchar(4), \
    ALLOW_UPDATE varchar(4), ALLOW_DELETE varchar(4), READ_ONLY varchar(4), STATUS varchar(7)!";

pub(super) const JSON_DUALITY_VIEW_COLUMNS: &str = "\
    TABLE_CATALOG varchar(64)=!, TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!, \
    REFERENCED_TABLE_CATALOG varchar(64)=, REFERENCED_TABLE_SCHEMA varchar(64)=, REFERENCED_TABLE_NAME \
    varchar(64)=, IS_ROOT_TABLE int, REFERENCED_TABLE_ID int, REFERENCED_COLUMN_NAME varchar(64), \
    JSON_KEY_NAME varchar(64), ALLOW_INSERT int, ALLOW_UPDATE int, ALLOW_DELETE int, READ_ONLY int";

pub(super) const JSON_DUALITY_VIEW_LINKS: &str = "\
    TABLE_CATALOG varchar(64)=!, TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!, \
    PARENT_TABLE_CATALOG varchar(64)=, PARENT_TABLE_SCHEMA varchar(64)=, PARENT_TABLE_NAME varchar(64)=, \
    CHILD_TABLE_CATALOG varchar(64)=, CHILD_TABLE_SCHEMA varchar(64)=, CHILD_TABLE_NAME varchar(64)=, \
    PARENT_COLUMN_NAME varchar(64), CHILD_COLUMN_NAME varchar(64), JOIN_TYPE varchar(64), JSON_KEY_NAME \
    varchar(64)";

pub(super) const JSON_DUALITY_VIEW_TABLES: &str = "\
    TABLE_CATALOG varchar(64)=!, TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!, \
    REFERENCED_TABLE_CATALOG varchar(64)=, REFERENCED_TABLE_SCHEMA varchar(64)=, REFERENCED_TABLE_NAME \
    varchar(64)=, WHERE_CLAUSE varchar(64), ALLOW_INSERT int, ALLOW_UPDATE int, ALLOW_DELETE int, \
    READ_ONLY int, IS_ROOT_TABLE int, REFERENCED_TABLE_ID int, REFERENCED_TABLE_PARENT_ID int, \
    REFERENCED_TABLE_PARENT_RELATIONSHIP varchar(64)";

pub(super) const LIBRARIES: &str = "\
    LIBRARY_CATALOG varchar(64)=!, LIBRARY_SCHEMA varchar(64)=!, LIBRARY_NAME varchar(64)!, \
    LIBRARY_DEFINITION text=, LANGUAGE varchar(64)=!, CREATED timestamp!, LAST_ALTERED timestamp!, \
    SQL_MODE varchar(546)=!, LIBRARY_COMMENT text=!, CREATOR varchar(288)=!";

pub(super) const OPTIMIZER_TRACE: &str = "\
    QUERY varchar(21845)!, TRACE varchar(21845)!, MISSING_BYTES_BEYOND_MAX_MEM_SIZE int!, \
    INSUFFICIENT_PRIVILEGES int!";

pub(super) const PROFILING: &str = "\
    QUERY_ID int!, SEQ int!, STATE varchar(10)!, DURATION double!, CPU_USER double, CPU_SYSTEM double, \
    CONTEXT_VOLUNTARY int, CONTEXT_INVOLUNTARY int, BLOCK_OPS_IN int, BLOCK_OPS_OUT int, MESSAGES_SENT \
    int, MESSAGES_RECEIVED int, PAGE_FAULTS_MAJOR int, PAGE_FAULTS_MINOR int, SWAPS int, SOURCE_FUNCTION \
    varchar(10), SOURCE_FILE varchar(6), SOURCE_LINE int";

pub(super) const ROLE_ROUTINE_GRANTS: &str = "\
    GRANTOR varchar(97), GRANTOR_HOST varchar(256), GRANTEE char(32)=!, GRANTEE_HOST char(255)!, \
    SPECIFIC_CATALOG varchar(3)!, SPECIFIC_SCHEMA char(64)=!, SPECIFIC_NAME char(64)!, ROUTINE_CATALOG \
    varchar(3)!, ROUTINE_SCHEMA char(64)=!, ROUTINE_NAME char(64)!, PRIVILEGE_TYPE varchar(27)!, \
    IS_GRANTABLE varchar(3)!";

pub(super) const ROUTINE_LIBRARIES: &str = "\
    ROUTINE_CATALOG varchar(64)=!, ROUTINE_SCHEMA varchar(64)=!, ROUTINE_NAME varchar(64)!, ROUTINE_TYPE \
    varchar(9)=!, LIBRARY_CATALOG varchar(64), LIBRARY_SCHEMA varchar(100), LIBRARY_NAME varchar(100), \
    LIBRARY_VERSION varchar(100)";

pub(super) const SCHEMATA_EXTENSIONS: &str = "\
    CATALOG_NAME varchar(64)=!, SCHEMA_NAME varchar(64)=!, OPTIONS varchar(256)";

pub(super) const ST_GEOMETRY_COLUMNS: &str = "\
    TABLE_CATALOG varchar(64)=!, TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!, COLUMN_NAME \
    varchar(64), SRS_NAME varchar(80), SRS_ID int+, GEOMETRY_TYPE_NAME text=";

pub(super) const TABLES_EXTENSIONS: &str = "\
    TABLE_CATALOG varchar(64)=!, TABLE_SCHEMA varchar(64)=!, TABLE_NAME varchar(64)=!, ENGINE_ATTRIBUTE \
    text, SECONDARY_ENGINE_ATTRIBUTE text";

pub(super) const TABLE_CONSTRAINTS_EXTENSIONS: &str = "\
    CONSTRAINT_CATALOG varchar(64)=!, CONSTRAINT_SCHEMA varchar(64)=!, CONSTRAINT_NAME varchar(64)^!, \
    TABLE_NAME varchar(64)=!, ENGINE_ATTRIBUTE text, SECONDARY_ENGINE_ATTRIBUTE text";
