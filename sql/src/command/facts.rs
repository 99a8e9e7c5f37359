//! What holds of each statement before it runs: one row for each, in one place, so that a new
//! statement cannot be forgotten in one of five lists.

use super::{AccountStatement, Command, Purge, Replication, Show, TableAdmin};
use crate::privileges::{AnyOf, Privilege, needed};

/// What a session has to know of a command before it runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The name of its counter, after `Com_`.
    pub counter: &'static str,
    /// It commits the open transaction before it runs.
    pub commits_implicitly: bool,
    /// It changes what a read-only server or transaction must not.
    pub changes: bool,
    /// PREPARE takes it; 1295 otherwise.
    pub preparable: bool,
    /// The privilege that it needs, whatever it is asked to do; 1227 without it.
    pub privilege: Option<AnyOf>,
    /// This one on the database mysql is as good: that to write its tables.
    pub on_mysql: Option<Privilege>,
}

impl Facts {
    /// Of a statement about which nothing is special.
    const fn of(counter: &'static str) -> Facts {
        Facts {
            counter,
            commits_implicitly: false,
            changes: false,
            preparable: true,
            privilege: None,
            on_mysql: None,
        }
    }
    const fn commits(self) -> Facts {
        Facts {
            commits_implicitly: true,
            ..self
        }
    }
    const fn changes_if(self, changes: bool) -> Facts {
        Facts { changes, ..self }
    }
    const fn not_preparable(self) -> Facts {
        Facts {
            preparable: false,
            ..self
        }
    }
    const fn needs(self, privilege: AnyOf) -> Facts {
        Facts {
            privilege: Some(privilege),
            ..self
        }
    }
    const fn or_on_mysql(self, privilege: Privilege) -> Facts {
        Facts {
            on_mysql: Some(privilege),
            ..self
        }
    }
    /// Of a statement about accounts.
    const fn of_accounts(counter: &'static str) -> Facts {
        Facts::of(counter).commits().changes_if(true)
    }
}

impl Command {
    /// What holds of it before it runs.
    #[must_use]
    pub fn facts(&self) -> Facts {
        match self {
            Command::Begin { .. } => Facts::of("begin"),
            Command::Commit(_) => Facts::of("commit"),
            Command::Rollback(_) => Facts::of("rollback"),
            Command::Savepoint(_) => Facts::of("savepoint"),
            Command::RollbackTo(_) => Facts::of("rollback_to_savepoint"),
            Command::ReleaseSavepoint(_) => Facts::of("release_savepoint"),
            Command::SetTransaction { .. } | Command::Set(_) => Facts::of("set_option"),
            Command::ResetPersist { .. } => Facts::of("reset").needs(needed::PERSISTED),
            Command::Use(_) => Facts::of("change_db"),
            Command::Show(show, _) => Facts::of(show.counter()),
            Command::ExplainConnection { .. } => Facts::of("explain_other").not_preparable(),
            Command::Kill { .. } => Facts::of("kill"),
            Command::Shutdown => Facts::of("shutdown")
                .not_preparable()
                .needs(needed::SHUTDOWN),
            Command::Restart => Facts::of("restart")
                .not_preparable()
                .needs(needed::SHUTDOWN),
            Command::Flush { .. } => Facts::of("flush").commits().needs(self.flushing()),
            Command::FlushTables { .. } => Facts::of("flush").commits().needs(needed::FLUSH_TABLES),
            Command::Install(_) => Facts::of("install_component").commits(),
            Command::Uninstall(_) => Facts::of("uninstall_component").commits(),
            Command::Purge(Purge::To(_)) => Facts::of("purge").needs(needed::BINLOG_ADMIN),
            Command::Purge(Purge::Before(_)) => {
                Facts::of("purge_before_date").needs(needed::BINLOG_ADMIN)
            }
            Command::Prepare { .. } => Facts::of("prepare_sql").not_preparable(),
            Command::Execute { .. } => Facts::of("execute_sql").not_preparable(),
            Command::Deallocate(_) => Facts::of("dealloc_sql").not_preparable(),
            Command::LockTables(tables) => Facts::of("lock_tables")
                .commits()
                .changes_if(tables.iter().any(|table| table.writes))
                .not_preparable(),
            Command::UnlockTables => Facts::of("unlock_tables").not_preparable(),
            Command::LockInstance => Facts::of("lock_instance")
                .not_preparable()
                .needs(needed::BACKUP_ADMIN),
            Command::UnlockInstance => Facts::of("unlock_instance")
                .not_preparable()
                .needs(needed::BACKUP_ADMIN),
            Command::ReloadTls { .. } => Facts::of("alter_instance")
                .commits()
                .needs(needed::CONNECTION_ADMIN),
            Command::Replication(what) => {
                let counter = match what {
                    Replication::Change(_) => "change_replication_source",
                    Replication::Filter(_) => "change_repl_filter",
                    Replication::Start(_) => "replica_start",
                    Replication::Stop => "replica_stop",
                    Replication::Reset { .. } => "reset",
                };
                Facts::of(counter)
                    .commits()
                    .not_preparable()
                    .needs(needed::REPLICATION_SLAVE_ADMIN)
            }
            // The rows that it changes say by themselves whether they may.
            Command::Binlog(_) => Facts::of("binlog")
                .changes_if(true)
                .not_preparable()
                .needs(needed::APPLIER),
            Command::Empty => Facts::of("empty_query"),
            Command::TableAdmin(TableAdmin::Analyze, _) => Facts::of("analyze").commits(),
            Command::Histograms(..) => Facts::of("analyze").commits().changes_if(true),
            Command::TableAdmin(TableAdmin::Check, _) => Facts::of("check").commits(),
            Command::TableAdmin(TableAdmin::Optimize, _) => {
                Facts::of("optimize").commits().changes_if(true)
            }
            Command::TableAdmin(TableAdmin::Repair, _) => Facts::of("repair").commits(),
            Command::ChecksumTables { .. } => Facts::of("checksum"),
            Command::Do(_) => Facts::of("do"),
            Command::Account(statement) => statement.facts(),
            // XA RECOVER has rows, which its preparation could not describe.
            Command::Xa(xa) => Facts::of(xa.counter()).not_preparable(),
        }
    }
}

impl Command {
    /// What FLUSH needs: for some things there is a privilege of their own.
    fn flushing(&self) -> AnyOf {
        match self {
            Command::Flush {
                logs: false,
                engine: false,
                hosts: false,
                status,
                privileges,
                resources,
                ..
            } => match (status, privileges, resources) {
                (true, false, false) => needed::FLUSH_STATUS,
                (false, true, false) => needed::FLUSH_PRIVILEGES,
                (false, false, true) => needed::FLUSH_USER_RESOURCES,
                _ => needed::RELOAD,
            },
            _ => needed::RELOAD,
        }
    }
}

impl AccountStatement {
    fn facts(&self) -> Facts {
        match self {
            AccountStatement::CreateUser { .. } => Facts::of_accounts("create_user")
                .needs(needed::CREATE_USER)
                .or_on_mysql(Privilege::Insert),
            // Who changes their own account needs no privilege: these two look at whose it is.
            AccountStatement::AlterUser { .. } => Facts::of_accounts("alter_user"),
            AccountStatement::SetPassword { .. } => Facts::of_accounts("set_password"),
            AccountStatement::DropUser { .. } => Facts::of_accounts("drop_user")
                .needs(needed::CREATE_USER)
                .or_on_mysql(Privilege::Delete),
            AccountStatement::RenameUser(_) => Facts::of_accounts("rename_user")
                .needs(needed::CREATE_USER)
                .or_on_mysql(Privilege::Update),
            // What they need depends on what they give and take.
            AccountStatement::Grant { .. } => Facts::of_accounts("grant"),
            AccountStatement::Revoke { .. } => Facts::of_accounts("revoke"),
            AccountStatement::GrantRoles { .. } => Facts::of_accounts("grant_roles"),
            AccountStatement::RevokeRoles { .. } => Facts::of_accounts("revoke_roles"),
            AccountStatement::RevokeAll { .. } => Facts::of_accounts("revoke_all")
                .needs(needed::CREATE_USER)
                .or_on_mysql(Privilege::Update),
            AccountStatement::CreateRole { .. } => {
                Facts::of_accounts("create_role").needs(needed::CREATE_ROLE)
            }
            AccountStatement::DropRole { .. } => {
                Facts::of_accounts("drop_role").needs(needed::DROP_ROLE)
            }
            AccountStatement::SetRole(_) => Facts::of("set_role"),
            AccountStatement::SetDefaultRole { .. } => {
                Facts::of_accounts("alter_user_default_role")
            }
        }
    }
}

impl Show {
    fn counter(&self) -> &'static str {
        match self {
            Show::Databases => "show_databases",
            Show::Tables { .. } => "show_tables",
            Show::TableStatus { .. } => "show_table_status",
            Show::Columns { .. } => "show_fields",
            Show::Index(_) => "show_keys",
            Show::CreateTable(_) | Show::CreateView(_) => "show_create_table",
            Show::CreateDatabase { .. } => "show_create_db",
            Show::CreateUser(_) => "show_create_user",
            Show::Variables { .. } => "show_variables",
            Show::Status { .. } => "show_status",
            Show::ProcessList { .. } => "show_processlist",
            Show::Warnings { errors: true, .. } | Show::CountWarnings { errors: true } => {
                "show_errors"
            }
            Show::Warnings { .. } | Show::CountWarnings { .. } => "show_warnings",
            Show::EngineStatus => "show_engine_status",
            Show::Engines => "show_storage_engines",
            Show::Plugins => "show_plugins",
            Show::Privileges => "show_privileges",
            Show::Collations => "show_collations",
            Show::CharacterSets => "show_charsets",
            Show::Nothing(_) => "show_open_tables",
            Show::Grants { .. } => "show_grants",
            Show::BinaryLogs => "show_binlogs",
            Show::BinaryLogStatus => "show_binary_log_status",
            Show::BinlogEvents { .. } => "show_binlog_events",
            Show::Replicas => "show_replicas",
            Show::ReplicaStatus => "show_replica_status",
        }
    }
}
