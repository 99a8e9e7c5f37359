//! The columns of the tables about statements and logs: MySQL 9.7's. See `definitions` for how they are
//! written.

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
