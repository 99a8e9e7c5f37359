//! The counters that sessions keep.

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

macro_rules! counters {
    ($($variant:ident $name:literal;)*) => {
        /// A status counter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Counter {
            $(
                #[doc = $name]
                $variant,
            )*
        }
        /// All counters with their names in SHOW STATUS, in order.
        pub const COUNTERS: &[(Counter, &str)] = &[$((Counter::$variant, $name)),*];
    };
}

counters! {
    BinlogCacheUse "Binlog_cache_use";
    BytesReceived "Bytes_received";
    BytesSent "Bytes_sent";
    PlanCacheHits "Cohort_plan_cache_hits";
    PlanCacheMisses "Cohort_plan_cache_misses";
    RowsExamined "Cohort_rows_examined";
    ScansUnindexed "Cohort_scans_unindexed";
    ComAdminCommands "Com_admin_commands";
    ComAlterDb "Com_alter_db";
    ComAlterInstance "Com_alter_instance";
    ComAlterTable "Com_alter_table";
    ComAlterUser "Com_alter_user";
    ComAnalyze "Com_analyze";
    ComBegin "Com_begin";
    ComChangeDb "Com_change_db";
    ComCheck "Com_check";
    ComChecksum "Com_checksum";
    ComCommit "Com_commit";
    ComCreateDb "Com_create_db";
    ComCreateIndex "Com_create_index";
    ComCreateTable "Com_create_table";
    ComCreateUser "Com_create_user";
    ComDeallocSql "Com_dealloc_sql";
    ComDelete "Com_delete";
    ComDeleteMulti "Com_delete_multi";
    ComDo "Com_do";
    ComDropDb "Com_drop_db";
    ComDropIndex "Com_drop_index";
    ComDropTable "Com_drop_table";
    ComDropUser "Com_drop_user";
    ComEmptyQuery "Com_empty_query";
    ComExecuteSql "Com_execute_sql";
    ComExplainOther "Com_explain_other";
    ComFlush "Com_flush";
    ComGrant "Com_grant";
    ComInsert "Com_insert";
    ComInsertSelect "Com_insert_select";
    ComKill "Com_kill";
    ComLoad "Com_load";
    ComLockInstance "Com_lock_instance";
    ComLockTables "Com_lock_tables";
    ComOptimize "Com_optimize";
    ComOtherStatements "Com_other_statements";
    ComPrepareSql "Com_prepare_sql";
    ComPurge "Com_purge";
    ComPurgeBeforeDate "Com_purge_before_date";
    ComReleaseSavepoint "Com_release_savepoint";
    ComRenameTable "Com_rename_table";
    ComRenameUser "Com_rename_user";
    ComRepair "Com_repair";
    ComReplace "Com_replace";
    ComReplaceSelect "Com_replace_select";
    ComRestart "Com_restart";
    ComRevoke "Com_revoke";
    ComRollback "Com_rollback";
    ComRollbackToSavepoint "Com_rollback_to_savepoint";
    ComSavepoint "Com_savepoint";
    ComSelect "Com_select";
    ComSetOption "Com_set_option";
    ComSetPassword "Com_set_password";
    ComShowBinaryLogStatus "Com_show_binary_log_status";
    ComShowBinlogEvents "Com_show_binlog_events";
    ComShowBinlogs "Com_show_binlogs";
    ComShowCharsets "Com_show_charsets";
    ComShowCollations "Com_show_collations";
    ComShowCreateDb "Com_show_create_db";
    ComShowCreateTable "Com_show_create_table";
    ComShowCreateUser "Com_show_create_user";
    ComShowDatabases "Com_show_databases";
    ComShowEngineStatus "Com_show_engine_status";
    ComShowErrors "Com_show_errors";
    ComShowFields "Com_show_fields";
    ComShowGrants "Com_show_grants";
    ComShowKeys "Com_show_keys";
    ComShowOpenTables "Com_show_open_tables";
    ComShowPlugins "Com_show_plugins";
    ComShowPrivileges "Com_show_privileges";
    ComShowProcesslist "Com_show_processlist";
    ComShowReplicaStatus "Com_show_replica_status";
    ComShowReplicas "Com_show_replicas";
    ComShowStatus "Com_show_status";
    ComShowStorageEngines "Com_show_storage_engines";
    ComShowTableStatus "Com_show_table_status";
    ComShowTables "Com_show_tables";
    ComShowVariables "Com_show_variables";
    ComShowWarnings "Com_show_warnings";
    ComShutdown "Com_shutdown";
    ComStmtClose "Com_stmt_close";
    ComStmtExecute "Com_stmt_execute";
    ComStmtPrepare "Com_stmt_prepare";
    ComStmtReprepare "Com_stmt_reprepare";
    ComStmtReset "Com_stmt_reset";
    ComStmtSendLongData "Com_stmt_send_long_data";
    ComTruncate "Com_truncate";
    ComUnlockInstance "Com_unlock_instance";
    ComUnlockTables "Com_unlock_tables";
    ComUpdate "Com_update";
    ComUpdateMulti "Com_update_multi";
    ComXaCommit "Com_xa_commit";
    ComXaEnd "Com_xa_end";
    ComXaPrepare "Com_xa_prepare";
    ComXaRecover "Com_xa_recover";
    ComXaRollback "Com_xa_rollback";
    ComXaStart "Com_xa_start";
    CreatedTmpDiskTables "Created_tmp_disk_tables";
    CreatedTmpFiles "Created_tmp_files";
    CreatedTmpTables "Created_tmp_tables";
    HandlerCommit "Handler_commit";
    HandlerDelete "Handler_delete";
    HandlerReadFirst "Handler_read_first";
    HandlerReadKey "Handler_read_key";
    HandlerReadLast "Handler_read_last";
    HandlerReadNext "Handler_read_next";
    HandlerReadPrev "Handler_read_prev";
    HandlerReadRnd "Handler_read_rnd";
    HandlerReadRndNext "Handler_read_rnd_next";
    HandlerRollback "Handler_rollback";
    HandlerSavepoint "Handler_savepoint";
    HandlerSavepointRollback "Handler_savepoint_rollback";
    HandlerUpdate "Handler_update";
    HandlerWrite "Handler_write";
    Questions "Questions";
    SelectFullJoin "Select_full_join";
    SelectRange "Select_range";
    SelectScan "Select_scan";
    SlowQueries "Slow_queries";
    SortMergePasses "Sort_merge_passes";
    SortRange "Sort_range";
    SortRows "Sort_rows";
    SortScan "Sort_scan";
    TableLocksWaited "Table_locks_waited";
}

static COMMANDS: LazyLock<FxHashMap<&'static str, Counter>> = LazyLock::new(|| {
    let commands = COUNTERS.iter();
    commands
        .filter_map(|(counter, name)| Some((name.strip_prefix("Com_")?, *counter)))
        .collect()
});

/// The counter of a command, by the name that follows `Com_`.
pub(super) fn command(name: &str) -> Option<Counter> {
    COMMANDS.get(name).copied()
}
