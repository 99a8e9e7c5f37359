//! The columns of the tables about statements, logs and what tables and files are used for: MySQL
//! 9.7's. See `definitions` for how they are written.

pub(super) const MYSQL_SLOW_LOG: &str = "\
    start_time timestamp(6)!, user_host text!, query_time time(6)!, lock_time time(6)!, rows_sent \
    int!, rows_examined int!, db varchar(512)!, last_insert_id int!, insert_id int!, server_id \
    int+!, sql_text blob!, thread_id bigint+!";

pub(super) const MYSQL_GENERAL_LOG: &str = "\
    event_time timestamp(6)!, user_host text!, thread_id bigint+!, server_id int+!, command_type \
    varchar(64)!, argument blob!";

pub(super) const EVENTS_STATEMENTS_SUMMARY_BY_DIGEST: &str = "\
    SCHEMA_NAME varchar(64), DIGEST varchar(64), DIGEST_TEXT text, COUNT_STAR bigint+!, \
    SUM_TIMER_WAIT bigint+!, MIN_TIMER_WAIT bigint+!, AVG_TIMER_WAIT bigint+!, MAX_TIMER_WAIT \
    bigint+!, SUM_LOCK_TIME bigint+!, SUM_ERRORS bigint+!, SUM_WARNINGS bigint+!, SUM_ROWS_AFFECTED \
    bigint+!, SUM_ROWS_SENT bigint+!, SUM_ROWS_EXAMINED bigint+!, SUM_CREATED_TMP_DISK_TABLES \
    bigint+!, SUM_CREATED_TMP_TABLES bigint+!, SUM_SELECT_FULL_JOIN bigint+!, \
    SUM_SELECT_FULL_RANGE_JOIN bigint+!, SUM_SELECT_RANGE bigint+!, SUM_SELECT_RANGE_CHECK bigint+!, \
    SUM_SELECT_SCAN bigint+!, SUM_SORT_MERGE_PASSES bigint+!, SUM_SORT_RANGE bigint+!, SUM_SORT_ROWS \
    bigint+!, SUM_SORT_SCAN bigint+!, SUM_NO_INDEX_USED bigint+!, SUM_NO_GOOD_INDEX_USED bigint+!, \
    SUM_CPU_TIME bigint+!, MAX_CONTROLLED_MEMORY bigint+!, MAX_TOTAL_MEMORY bigint+!, \
    COUNT_SECONDARY bigint+!, FIRST_SEEN timestamp(6)!, LAST_SEEN timestamp(6)!, QUANTILE_95 \
    bigint+!, QUANTILE_99 bigint+!, QUANTILE_999 bigint+!, QUERY_SAMPLE_TEXT text, QUERY_SAMPLE_SEEN \
    timestamp(6)!, QUERY_SAMPLE_TIMER_WAIT bigint+!";

pub(super) const EVENTS_STATEMENTS_HISTOGRAM_BY_DIGEST: &str = "\
    SCHEMA_NAME varchar(64), DIGEST varchar(64), BUCKET_NUMBER int+!, BUCKET_TIMER_LOW bigint+!, \
    BUCKET_TIMER_HIGH bigint+!, COUNT_BUCKET bigint+!, COUNT_BUCKET_AND_LOWER bigint+!, \
    BUCKET_QUANTILE double!";

pub(super) const EVENTS_STATEMENTS_HISTOGRAM_GLOBAL: &str = "\
    BUCKET_NUMBER int+!, BUCKET_TIMER_LOW bigint+!, BUCKET_TIMER_HIGH bigint+!, COUNT_BUCKET \
    bigint+!, COUNT_BUCKET_AND_LOWER bigint+!, BUCKET_QUANTILE double!";

pub(super) const EVENTS_STAGES_CURRENT: &str = "\
    THREAD_ID bigint+!, EVENT_ID bigint+!, END_EVENT_ID bigint+, EVENT_NAME varchar(128)!, SOURCE \
    varchar(64), TIMER_START bigint+, TIMER_END bigint+, TIMER_WAIT bigint+, WORK_COMPLETED bigint+, \
    WORK_ESTIMATED bigint+, NESTING_EVENT_ID bigint+, NESTING_EVENT_TYPE varchar(64)";

pub(super) const EVENTS_STATEMENTS_HISTORY: &str = "\
    THREAD_ID bigint+!, EVENT_ID bigint+!, END_EVENT_ID bigint+, EVENT_NAME varchar(128)!, SOURCE \
    varchar(64), TIMER_START bigint+, TIMER_END bigint+, TIMER_WAIT bigint+, LOCK_TIME bigint+!, \
    SQL_TEXT text, DIGEST varchar(64), DIGEST_TEXT text, CURRENT_SCHEMA varchar(64), OBJECT_TYPE \
    varchar(64), OBJECT_SCHEMA varchar(64), OBJECT_NAME varchar(64), OBJECT_INSTANCE_BEGIN bigint+, \
    MYSQL_ERRNO int, RETURNED_SQLSTATE varchar(5), MESSAGE_TEXT varchar(128), ERRORS bigint+!, \
    WARNINGS bigint+!, ROWS_AFFECTED bigint+!, ROWS_SENT bigint+!, ROWS_EXAMINED bigint+!, \
    CREATED_TMP_DISK_TABLES bigint+!, CREATED_TMP_TABLES bigint+!, SELECT_FULL_JOIN bigint+!, \
    SELECT_FULL_RANGE_JOIN bigint+!, SELECT_RANGE bigint+!, SELECT_RANGE_CHECK bigint+!, SELECT_SCAN \
    bigint+!, SORT_MERGE_PASSES bigint+!, SORT_RANGE bigint+!, SORT_ROWS bigint+!, SORT_SCAN \
    bigint+!, NO_INDEX_USED bigint+!, NO_GOOD_INDEX_USED bigint+!, NESTING_EVENT_ID bigint+, \
    NESTING_EVENT_TYPE varchar(64), NESTING_EVENT_LEVEL int, STATEMENT_ID bigint+, CPU_TIME \
    bigint+!, MAX_CONTROLLED_MEMORY bigint+!, MAX_TOTAL_MEMORY bigint+!, EXECUTION_ENGINE \
    varchar(64)";

pub(super) const EVENTS_STATEMENTS_SUMMARY_GLOBAL_BY_EVENT_NAME: &str = "\
    EVENT_NAME varchar(128)!, COUNT_STAR bigint+!, SUM_TIMER_WAIT bigint+!, MIN_TIMER_WAIT bigint+!, \
    AVG_TIMER_WAIT bigint+!, MAX_TIMER_WAIT bigint+!, SUM_LOCK_TIME bigint+!, SUM_ERRORS bigint+!, \
    SUM_WARNINGS bigint+!, SUM_ROWS_AFFECTED bigint+!, SUM_ROWS_SENT bigint+!, SUM_ROWS_EXAMINED \
    bigint+!, SUM_CREATED_TMP_DISK_TABLES bigint+!, SUM_CREATED_TMP_TABLES bigint+!, \
    SUM_SELECT_FULL_JOIN bigint+!, SUM_SELECT_FULL_RANGE_JOIN bigint+!, SUM_SELECT_RANGE bigint+!, \
    SUM_SELECT_RANGE_CHECK bigint+!, SUM_SELECT_SCAN bigint+!, SUM_SORT_MERGE_PASSES bigint+!, \
    SUM_SORT_RANGE bigint+!, SUM_SORT_ROWS bigint+!, SUM_SORT_SCAN bigint+!, SUM_NO_INDEX_USED \
    bigint+!, SUM_NO_GOOD_INDEX_USED bigint+!, SUM_CPU_TIME bigint+!, MAX_CONTROLLED_MEMORY \
    bigint+!, MAX_TOTAL_MEMORY bigint+!, COUNT_SECONDARY bigint+!";

pub(super) const EVENTS_STATEMENTS_SUMMARY_BY_THREAD_BY_EVENT_NAME: &str = "\
    THREAD_ID bigint+!, EVENT_NAME varchar(128)!, COUNT_STAR bigint+!, SUM_TIMER_WAIT bigint+!, \
    MIN_TIMER_WAIT bigint+!, AVG_TIMER_WAIT bigint+!, MAX_TIMER_WAIT bigint+!, SUM_LOCK_TIME \
    bigint+!, SUM_ERRORS bigint+!, SUM_WARNINGS bigint+!, SUM_ROWS_AFFECTED bigint+!, SUM_ROWS_SENT \
    bigint+!, SUM_ROWS_EXAMINED bigint+!, SUM_CREATED_TMP_DISK_TABLES bigint+!, \
    SUM_CREATED_TMP_TABLES bigint+!, SUM_SELECT_FULL_JOIN bigint+!, SUM_SELECT_FULL_RANGE_JOIN \
    bigint+!, SUM_SELECT_RANGE bigint+!, SUM_SELECT_RANGE_CHECK bigint+!, SUM_SELECT_SCAN bigint+!, \
    SUM_SORT_MERGE_PASSES bigint+!, SUM_SORT_RANGE bigint+!, SUM_SORT_ROWS bigint+!, SUM_SORT_SCAN \
    bigint+!, SUM_NO_INDEX_USED bigint+!, SUM_NO_GOOD_INDEX_USED bigint+!, SUM_CPU_TIME bigint+!, \
    MAX_CONTROLLED_MEMORY bigint+!, MAX_TOTAL_MEMORY bigint+!, COUNT_SECONDARY bigint+!";

pub(super) const EVENTS_STATEMENTS_SUMMARY_BY_ACCOUNT_BY_EVENT_NAME: &str = "\
    USER char(32)=, HOST char(255), EVENT_NAME varchar(128)!, COUNT_STAR bigint+!, SUM_TIMER_WAIT \
    bigint+!, MIN_TIMER_WAIT bigint+!, AVG_TIMER_WAIT bigint+!, MAX_TIMER_WAIT bigint+!, \
    SUM_LOCK_TIME bigint+!, SUM_ERRORS bigint+!, SUM_WARNINGS bigint+!, SUM_ROWS_AFFECTED bigint+!, \
    SUM_ROWS_SENT bigint+!, SUM_ROWS_EXAMINED bigint+!, SUM_CREATED_TMP_DISK_TABLES bigint+!, \
    SUM_CREATED_TMP_TABLES bigint+!, SUM_SELECT_FULL_JOIN bigint+!, SUM_SELECT_FULL_RANGE_JOIN \
    bigint+!, SUM_SELECT_RANGE bigint+!, SUM_SELECT_RANGE_CHECK bigint+!, SUM_SELECT_SCAN bigint+!, \
    SUM_SORT_MERGE_PASSES bigint+!, SUM_SORT_RANGE bigint+!, SUM_SORT_ROWS bigint+!, SUM_SORT_SCAN \
    bigint+!, SUM_NO_INDEX_USED bigint+!, SUM_NO_GOOD_INDEX_USED bigint+!, SUM_CPU_TIME bigint+!, \
    MAX_CONTROLLED_MEMORY bigint+!, MAX_TOTAL_MEMORY bigint+!, COUNT_SECONDARY bigint+!";

pub(super) const EVENTS_STATEMENTS_SUMMARY_BY_USER_BY_EVENT_NAME: &str = "\
    USER char(32)=, EVENT_NAME varchar(128)!, COUNT_STAR bigint+!, SUM_TIMER_WAIT bigint+!, \
    MIN_TIMER_WAIT bigint+!, AVG_TIMER_WAIT bigint+!, MAX_TIMER_WAIT bigint+!, SUM_LOCK_TIME \
    bigint+!, SUM_ERRORS bigint+!, SUM_WARNINGS bigint+!, SUM_ROWS_AFFECTED bigint+!, SUM_ROWS_SENT \
    bigint+!, SUM_ROWS_EXAMINED bigint+!, SUM_CREATED_TMP_DISK_TABLES bigint+!, \
    SUM_CREATED_TMP_TABLES bigint+!, SUM_SELECT_FULL_JOIN bigint+!, SUM_SELECT_FULL_RANGE_JOIN \
    bigint+!, SUM_SELECT_RANGE bigint+!, SUM_SELECT_RANGE_CHECK bigint+!, SUM_SELECT_SCAN bigint+!, \
    SUM_SORT_MERGE_PASSES bigint+!, SUM_SORT_RANGE bigint+!, SUM_SORT_ROWS bigint+!, SUM_SORT_SCAN \
    bigint+!, SUM_NO_INDEX_USED bigint+!, SUM_NO_GOOD_INDEX_USED bigint+!, SUM_CPU_TIME bigint+!, \
    MAX_CONTROLLED_MEMORY bigint+!, MAX_TOTAL_MEMORY bigint+!, COUNT_SECONDARY bigint+!";

pub(super) const EVENTS_STATEMENTS_SUMMARY_BY_HOST_BY_EVENT_NAME: &str = "\
    HOST char(255), EVENT_NAME varchar(128)!, COUNT_STAR bigint+!, SUM_TIMER_WAIT bigint+!, \
    MIN_TIMER_WAIT bigint+!, AVG_TIMER_WAIT bigint+!, MAX_TIMER_WAIT bigint+!, SUM_LOCK_TIME \
    bigint+!, SUM_ERRORS bigint+!, SUM_WARNINGS bigint+!, SUM_ROWS_AFFECTED bigint+!, SUM_ROWS_SENT \
    bigint+!, SUM_ROWS_EXAMINED bigint+!, SUM_CREATED_TMP_DISK_TABLES bigint+!, \
    SUM_CREATED_TMP_TABLES bigint+!, SUM_SELECT_FULL_JOIN bigint+!, SUM_SELECT_FULL_RANGE_JOIN \
    bigint+!, SUM_SELECT_RANGE bigint+!, SUM_SELECT_RANGE_CHECK bigint+!, SUM_SELECT_SCAN bigint+!, \
    SUM_SORT_MERGE_PASSES bigint+!, SUM_SORT_RANGE bigint+!, SUM_SORT_ROWS bigint+!, SUM_SORT_SCAN \
    bigint+!, SUM_NO_INDEX_USED bigint+!, SUM_NO_GOOD_INDEX_USED bigint+!, SUM_CPU_TIME bigint+!, \
    MAX_CONTROLLED_MEMORY bigint+!, MAX_TOTAL_MEMORY bigint+!, COUNT_SECONDARY bigint+!";

pub(super) const THREADS: &str = "\
    THREAD_ID bigint+!, NAME varchar(128)!, TYPE varchar(10)!, PROCESSLIST_ID bigint+, \
    PROCESSLIST_USER varchar(32), PROCESSLIST_HOST varchar(255), PROCESSLIST_DB varchar(64), \
    PROCESSLIST_COMMAND varchar(16), PROCESSLIST_TIME bigint, PROCESSLIST_STATE varchar(64), \
    PROCESSLIST_INFO text, PARENT_THREAD_ID bigint+, ROLE varchar(64), INSTRUMENTED varchar(64)!, \
    HISTORY varchar(64)!, CONNECTION_TYPE varchar(16), THREAD_OS_ID bigint+, RESOURCE_GROUP \
    varchar(64), EXECUTION_ENGINE varchar(64), CONTROLLED_MEMORY bigint+!, MAX_CONTROLLED_MEMORY \
    bigint+!, TOTAL_MEMORY bigint+!, MAX_TOTAL_MEMORY bigint+!, TELEMETRY_ACTIVE varchar(64)!";

pub(super) const ACCOUNTS: &str = "\
    USER char(32)=, HOST char(255), CURRENT_CONNECTIONS bigint!, TOTAL_CONNECTIONS bigint!, \
    MAX_SESSION_CONTROLLED_MEMORY bigint+!, MAX_SESSION_TOTAL_MEMORY bigint+!";

pub(super) const USERS: &str = "\
    USER char(32)=, CURRENT_CONNECTIONS bigint!, TOTAL_CONNECTIONS bigint!, \
    MAX_SESSION_CONTROLLED_MEMORY bigint+!, MAX_SESSION_TOTAL_MEMORY bigint+!";

pub(super) const HOSTS: &str = "\
    HOST char(255), CURRENT_CONNECTIONS bigint!, TOTAL_CONNECTIONS bigint!, \
    MAX_SESSION_CONTROLLED_MEMORY bigint+!, MAX_SESSION_TOTAL_MEMORY bigint+!";
pub(super) const TABLE_IO_WAITS_SUMMARY_BY_INDEX_USAGE: &str = "\
    OBJECT_TYPE varchar(64), OBJECT_SCHEMA varchar(64), OBJECT_NAME varchar(64), INDEX_NAME \
    varchar(64), COUNT_STAR bigint+!, SUM_TIMER_WAIT bigint+!, MIN_TIMER_WAIT bigint+!, \
    AVG_TIMER_WAIT bigint+!, MAX_TIMER_WAIT bigint+!, COUNT_READ bigint+!, SUM_TIMER_READ bigint+!, \
    MIN_TIMER_READ bigint+!, AVG_TIMER_READ bigint+!, MAX_TIMER_READ bigint+!, COUNT_WRITE bigint+!, \
    SUM_TIMER_WRITE bigint+!, MIN_TIMER_WRITE bigint+!, AVG_TIMER_WRITE bigint+!, MAX_TIMER_WRITE \
    bigint+!, COUNT_FETCH bigint+!, SUM_TIMER_FETCH bigint+!, MIN_TIMER_FETCH bigint+!, \
    AVG_TIMER_FETCH bigint+!, MAX_TIMER_FETCH bigint+!, COUNT_INSERT bigint+!, SUM_TIMER_INSERT \
    bigint+!, MIN_TIMER_INSERT bigint+!, AVG_TIMER_INSERT bigint+!, MAX_TIMER_INSERT bigint+!, \
    COUNT_UPDATE bigint+!, SUM_TIMER_UPDATE bigint+!, MIN_TIMER_UPDATE bigint+!, AVG_TIMER_UPDATE \
    bigint+!, MAX_TIMER_UPDATE bigint+!, COUNT_DELETE bigint+!, SUM_TIMER_DELETE bigint+!, \
    MIN_TIMER_DELETE bigint+!, AVG_TIMER_DELETE bigint+!, MAX_TIMER_DELETE bigint+!";

pub(super) const TABLE_IO_WAITS_SUMMARY_BY_TABLE: &str = "\
    OBJECT_TYPE varchar(64), OBJECT_SCHEMA varchar(64), OBJECT_NAME varchar(64), COUNT_STAR \
    bigint+!, SUM_TIMER_WAIT bigint+!, MIN_TIMER_WAIT bigint+!, AVG_TIMER_WAIT bigint+!, \
    MAX_TIMER_WAIT bigint+!, COUNT_READ bigint+!, SUM_TIMER_READ bigint+!, MIN_TIMER_READ bigint+!, \
    AVG_TIMER_READ bigint+!, MAX_TIMER_READ bigint+!, COUNT_WRITE bigint+!, SUM_TIMER_WRITE \
    bigint+!, MIN_TIMER_WRITE bigint+!, AVG_TIMER_WRITE bigint+!, MAX_TIMER_WRITE bigint+!, \
    COUNT_FETCH bigint+!, SUM_TIMER_FETCH bigint+!, MIN_TIMER_FETCH bigint+!, AVG_TIMER_FETCH \
    bigint+!, MAX_TIMER_FETCH bigint+!, COUNT_INSERT bigint+!, SUM_TIMER_INSERT bigint+!, \
    MIN_TIMER_INSERT bigint+!, AVG_TIMER_INSERT bigint+!, MAX_TIMER_INSERT bigint+!, COUNT_UPDATE \
    bigint+!, SUM_TIMER_UPDATE bigint+!, MIN_TIMER_UPDATE bigint+!, AVG_TIMER_UPDATE bigint+!, \
    MAX_TIMER_UPDATE bigint+!, COUNT_DELETE bigint+!, SUM_TIMER_DELETE bigint+!, MIN_TIMER_DELETE \
    bigint+!, AVG_TIMER_DELETE bigint+!, MAX_TIMER_DELETE bigint+!";

pub(super) const TABLE_LOCK_WAITS_SUMMARY_BY_TABLE: &str = "\
    OBJECT_TYPE varchar(64), OBJECT_SCHEMA varchar(64), OBJECT_NAME varchar(64), COUNT_STAR \
    bigint+!, SUM_TIMER_WAIT bigint+!, MIN_TIMER_WAIT bigint+!, AVG_TIMER_WAIT bigint+!, \
    MAX_TIMER_WAIT bigint+!, COUNT_READ bigint+!, SUM_TIMER_READ bigint+!, MIN_TIMER_READ bigint+!, \
    AVG_TIMER_READ bigint+!, MAX_TIMER_READ bigint+!, COUNT_WRITE bigint+!, SUM_TIMER_WRITE \
    bigint+!, MIN_TIMER_WRITE bigint+!, AVG_TIMER_WRITE bigint+!, MAX_TIMER_WRITE bigint+!, \
    COUNT_READ_NORMAL bigint+!, SUM_TIMER_READ_NORMAL bigint+!, MIN_TIMER_READ_NORMAL bigint+!, \
    AVG_TIMER_READ_NORMAL bigint+!, MAX_TIMER_READ_NORMAL bigint+!, COUNT_READ_WITH_SHARED_LOCKS \
    bigint+!, SUM_TIMER_READ_WITH_SHARED_LOCKS bigint+!, MIN_TIMER_READ_WITH_SHARED_LOCKS bigint+!, \
    AVG_TIMER_READ_WITH_SHARED_LOCKS bigint+!, MAX_TIMER_READ_WITH_SHARED_LOCKS bigint+!, \
    COUNT_READ_HIGH_PRIORITY bigint+!, SUM_TIMER_READ_HIGH_PRIORITY bigint+!, \
    MIN_TIMER_READ_HIGH_PRIORITY bigint+!, AVG_TIMER_READ_HIGH_PRIORITY bigint+!, \
    MAX_TIMER_READ_HIGH_PRIORITY bigint+!, COUNT_READ_NO_INSERT bigint+!, SUM_TIMER_READ_NO_INSERT \
    bigint+!, MIN_TIMER_READ_NO_INSERT bigint+!, AVG_TIMER_READ_NO_INSERT bigint+!, \
    MAX_TIMER_READ_NO_INSERT bigint+!, COUNT_READ_EXTERNAL bigint+!, SUM_TIMER_READ_EXTERNAL \
    bigint+!, MIN_TIMER_READ_EXTERNAL bigint+!, AVG_TIMER_READ_EXTERNAL bigint+!, \
    MAX_TIMER_READ_EXTERNAL bigint+!, COUNT_WRITE_ALLOW_WRITE bigint+!, SUM_TIMER_WRITE_ALLOW_WRITE \
    bigint+!, MIN_TIMER_WRITE_ALLOW_WRITE bigint+!, AVG_TIMER_WRITE_ALLOW_WRITE bigint+!, \
    MAX_TIMER_WRITE_ALLOW_WRITE bigint+!, COUNT_WRITE_CONCURRENT_INSERT bigint+!, \
    SUM_TIMER_WRITE_CONCURRENT_INSERT bigint+!, MIN_TIMER_WRITE_CONCURRENT_INSERT bigint+!, \
    AVG_TIMER_WRITE_CONCURRENT_INSERT bigint+!, MAX_TIMER_WRITE_CONCURRENT_INSERT bigint+!, \
    COUNT_WRITE_LOW_PRIORITY bigint+!, SUM_TIMER_WRITE_LOW_PRIORITY bigint+!, \
    MIN_TIMER_WRITE_LOW_PRIORITY bigint+!, AVG_TIMER_WRITE_LOW_PRIORITY bigint+!, \
    MAX_TIMER_WRITE_LOW_PRIORITY bigint+!, COUNT_WRITE_NORMAL bigint+!, SUM_TIMER_WRITE_NORMAL \
    bigint+!, MIN_TIMER_WRITE_NORMAL bigint+!, AVG_TIMER_WRITE_NORMAL bigint+!, \
    MAX_TIMER_WRITE_NORMAL bigint+!, COUNT_WRITE_EXTERNAL bigint+!, SUM_TIMER_WRITE_EXTERNAL \
    bigint+!, MIN_TIMER_WRITE_EXTERNAL bigint+!, AVG_TIMER_WRITE_EXTERNAL bigint+!, \
    MAX_TIMER_WRITE_EXTERNAL bigint+!";

pub(super) const MEMORY_SUMMARY_GLOBAL_BY_EVENT_NAME: &str = "\
    EVENT_NAME varchar(128)!, COUNT_ALLOC bigint+!, COUNT_FREE bigint+!, SUM_NUMBER_OF_BYTES_ALLOC \
    bigint+!, SUM_NUMBER_OF_BYTES_FREE bigint+!, LOW_COUNT_USED bigint!, CURRENT_COUNT_USED bigint!, \
    HIGH_COUNT_USED bigint!, LOW_NUMBER_OF_BYTES_USED bigint!, CURRENT_NUMBER_OF_BYTES_USED bigint!, \
    HIGH_NUMBER_OF_BYTES_USED bigint!";

pub(super) const EVENTS_WAITS_SUMMARY_GLOBAL_BY_EVENT_NAME: &str = "\
    EVENT_NAME varchar(128)!, COUNT_STAR bigint+!, SUM_TIMER_WAIT bigint+!, MIN_TIMER_WAIT bigint+!, \
    AVG_TIMER_WAIT bigint+!, MAX_TIMER_WAIT bigint+!";

pub(super) const FILE_SUMMARY_BY_EVENT_NAME: &str = "\
    EVENT_NAME varchar(128)!, COUNT_STAR bigint+!, SUM_TIMER_WAIT bigint+!, MIN_TIMER_WAIT bigint+!, \
    AVG_TIMER_WAIT bigint+!, MAX_TIMER_WAIT bigint+!, COUNT_READ bigint+!, SUM_TIMER_READ bigint+!, \
    MIN_TIMER_READ bigint+!, AVG_TIMER_READ bigint+!, MAX_TIMER_READ bigint+!, \
    SUM_NUMBER_OF_BYTES_READ bigint!, COUNT_WRITE bigint+!, SUM_TIMER_WRITE bigint+!, \
    MIN_TIMER_WRITE bigint+!, AVG_TIMER_WRITE bigint+!, MAX_TIMER_WRITE bigint+!, \
    SUM_NUMBER_OF_BYTES_WRITE bigint!, COUNT_MISC bigint+!, SUM_TIMER_MISC bigint+!, MIN_TIMER_MISC \
    bigint+!, AVG_TIMER_MISC bigint+!, MAX_TIMER_MISC bigint+!";

pub(super) const FILE_INSTANCES: &str = "\
    FILE_NAME varchar(512)!, EVENT_NAME varchar(128)!, OPEN_COUNT int+!";

pub(super) const SETUP_ACTORS: &str = "\
    HOST char(255)!, USER char(32)=!, ROLE char(32)=!, ENABLED varchar(64)!, HISTORY varchar(64)!";

pub(super) const SETUP_CONSUMERS: &str = "\
    NAME varchar(64)!, ENABLED varchar(64)!";

pub(super) const SETUP_OBJECTS: &str = "\
    OBJECT_TYPE varchar(64)!, OBJECT_SCHEMA varchar(64), OBJECT_NAME varchar(64)!, ENABLED \
    varchar(64)!, TIMED varchar(64)!";

pub(super) const EVENTS_ERRORS_SUMMARY_GLOBAL_BY_ERROR: &str = "\
    ERROR_NUMBER int, ERROR_NAME varchar(64), SQL_STATE varchar(5), SUM_ERROR_RAISED bigint+!, \
    SUM_ERROR_HANDLED bigint+!, FIRST_SEEN timestamp, LAST_SEEN timestamp";

pub(super) const INNODB_CMP: &str = "\
    page_size int!, compress_ops int!, compress_ops_ok int!, compress_time int!, uncompress_ops \
    int!, uncompress_time int!";

pub(super) const INNODB_CMPMEM: &str = "\
    page_size int!, buffer_pool_instance int!, pages_used int!, pages_free int!, relocation_ops \
    bigint!, relocation_time int!";

pub(super) const INNODB_CMP_PER_INDEX: &str = "\
    database_name varchar(192)!, table_name varchar(192)!, index_name varchar(192)!, compress_ops \
    int!, compress_ops_ok int!, compress_time int!, uncompress_ops int!, uncompress_time int!";

pub(super) const INNODB_CMP_RESET: &str = "\
    page_size int!, compress_ops int!, compress_ops_ok int!, compress_time int!, uncompress_ops \
    int!, uncompress_time int!";

pub(super) const INNODB_CMPMEM_RESET: &str = "\
    page_size int!, buffer_pool_instance int!, pages_used int!, pages_free int!, relocation_ops \
    bigint!, relocation_time int!";

pub(super) const METADATA_LOCKS: &str = "\
    OBJECT_TYPE varchar(64)!, OBJECT_SCHEMA varchar(64), OBJECT_NAME varchar(64), COLUMN_NAME \
    varchar(64), OBJECT_INSTANCE_BEGIN bigint+!, LOCK_TYPE varchar(32)!, LOCK_DURATION varchar(32)!, \
    LOCK_STATUS varchar(32)!, SOURCE varchar(64), OWNER_THREAD_ID bigint+, OWNER_EVENT_ID bigint+";
