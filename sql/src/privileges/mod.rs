//! Privileges: what accounts may do.
//!
//! | file | what is inside |
//! |---|---|
//! | `mod` | the privileges that there are, and sets of them |
//! | `grants` | what an account or a role was granted, on which level |
//! | `restrictions` | databases in which grants on everything do not hold |
//! | `text` | grants as statements, for SHOW GRANTS and the log |
//!
//! What a session may do is in `rights`: the grants of its account and of its active roles.
//!
//! A static privilege is granted on one of four levels, each of which includes those below it:
//! everything, a database, a table, a column. A dynamic one is granted on everything only. Example:
//!
//! ```text
//! GRANT SELECT ON shop.* TO clerk           SELECT on every table of shop
//! GRANT UPDATE (price) ON shop.item TO clerk    and UPDATE of that column
//!
//! SELECT * FROM shop.item                    allowed by the first
//! UPDATE shop.item SET price = 1             allowed by the second
//! UPDATE shop.item SET name = ''             1143: UPDATE command denied for column 'name'
//! ```

mod grants;
mod restrictions;
mod text;

pub use grants::{Granted, Grants, Level, NamedPrivilege, RoleGrant, TableGrants};
pub use restrictions::Restrictions;
pub use text::account as quoted_account;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A static privilege, in the order in which SHOW GRANTS lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[expect(
    missing_docs,
    reason = "their names say it, and MySQL's manual what each allows"
)]
pub enum Privilege {
    Select,
    Insert,
    Update,
    Delete,
    Create,
    Drop,
    Reload,
    Shutdown,
    Process,
    File,
    References,
    Index,
    Alter,
    ShowDatabases,
    Super,
    CreateTemporaryTables,
    LockTables,
    Execute,
    ReplicationSlave,
    ReplicationClient,
    CreateView,
    ShowView,
    CreateRoutine,
    AlterRoutine,
    CreateUser,
    Event,
    Trigger,
    CreateTablespace,
    CreateRole,
    DropRole,
    GrantOption,
}

use Privilege as P;

/// What is known of a privilege.
struct Described {
    privilege: Privilege,
    /// As GRANT has it.
    name: &'static str,
    /// Its column in mysql.user and, if it can be granted on databases, mysql.db, without `_priv`.
    column: &'static str,
    /// What SHOW PRIVILEGES says it is about.
    context: &'static str,
    /// And what it is for.
    comment: &'static str,
}

macro_rules! described {
    ($($privilege:ident $name:literal $column:literal $context:literal $comment:literal;)*) => {
        /// All of them, in their order.
        const DESCRIBED: [Described; 31] = [$(Described {
            privilege: P::$privilege,
            name: $name,
            column: $column,
            context: $context,
            comment: $comment,
        }),*];
    };
}

described! {
    Select "SELECT" "Select" "Tables" "To retrieve rows from table";
    Insert "INSERT" "Insert" "Tables" "To insert data into tables";
    Update "UPDATE" "Update" "Tables" "To update existing rows";
    Delete "DELETE" "Delete" "Tables" "To delete existing rows";
    Create "CREATE" "Create" "Databases,Tables,Indexes" "To create new databases and tables";
    Drop "DROP" "Drop" "Databases,Tables" "To drop databases, tables, and views";
    Reload "RELOAD" "Reload" "Server Admin" "To reload or refresh tables, logs and privileges";
    Shutdown "SHUTDOWN" "Shutdown" "Server Admin" "To shut down the server";
    Process "PROCESS" "Process" "Server Admin" "To view the plain text of currently executing queries";
    File "FILE" "File" "File access on server" "To read and write files on the server";
    References "REFERENCES" "References" "Databases,Tables" "To have references on tables";
    Index "INDEX" "Index" "Tables" "To create or drop indexes";
    Alter "ALTER" "Alter" "Tables" "To alter the table";
    ShowDatabases "SHOW DATABASES" "Show_db" "Server Admin" "To see all databases with SHOW DATABASES";
    Super "SUPER" "Super" "Server Admin" "To use KILL thread, SET GLOBAL, CHANGE REPLICATION SOURCE, etc.";
    CreateTemporaryTables "CREATE TEMPORARY TABLES" "Create_tmp_table" "Databases" "To use CREATE TEMPORARY TABLE";
    LockTables "LOCK TABLES" "Lock_tables" "Databases" "To use LOCK TABLES (together with SELECT privilege)";
    Execute "EXECUTE" "Execute" "Functions,Procedures" "To execute stored routines";
    ReplicationSlave "REPLICATION SLAVE" "Repl_slave" "Server Admin" "To read binary log events from the master";
    ReplicationClient "REPLICATION CLIENT" "Repl_client" "Server Admin" "To ask where the slave or master servers are";
    CreateView "CREATE VIEW" "Create_view" "Tables" "To create new views";
    ShowView "SHOW VIEW" "Show_view" "Tables" "To see views with SHOW CREATE VIEW";
    CreateRoutine "CREATE ROUTINE" "Create_routine" "Databases" "To use CREATE FUNCTION/PROCEDURE";
    AlterRoutine "ALTER ROUTINE" "Alter_routine" "Functions,Procedures" "To alter or drop stored functions/procedures";
    CreateUser "CREATE USER" "Create_user" "Server Admin" "To create new users";
    Event "EVENT" "Event" "Server Admin" "To create, alter, drop and execute events";
    Trigger "TRIGGER" "Trigger" "Tables" "To use triggers";
    CreateTablespace "CREATE TABLESPACE" "Create_tablespace" "Server Admin" "To create/alter/drop tablespaces";
    CreateRole "CREATE ROLE" "Create_role" "Server Admin" "To create new roles";
    DropRole "DROP ROLE" "Drop_role" "Server Admin" "To drop roles";
    GrantOption "GRANT OPTION" "Grant" "Databases,Tables,Functions,Procedures" "To give to other users those privileges you possess";
}

/// The dynamic privileges, in the order in which SHOW GRANTS lists them.
pub const DYNAMIC: [&str; 42] = [
    "ALLOW_NONEXISTENT_DEFINER",
    "APPLICATION_PASSWORD_ADMIN",
    "AUDIT_ABORT_EXEMPT",
    "AUDIT_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "CREATE_SPATIAL_REFERENCE_SYSTEM",
    "ENCRYPTION_KEY_ADMIN",
    "FIREWALL_EXEMPT",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_PRIVILEGES",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "GROUP_REPLICATION_ADMIN",
    "GROUP_REPLICATION_STREAM",
    "INNODB_REDO_LOG_ARCHIVE",
    "INNODB_REDO_LOG_ENABLE",
    "MANAGE_DATA_MASKING_POLICY",
    "OPTIMIZE_LOCAL_TABLE",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "ROLE_ADMIN",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_ANY_DEFINER",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "TABLE_ENCRYPTION_ADMIN",
    "TELEMETRY_LOG_ADMIN",
    "TRANSACTION_GTID_TAG",
    "XA_RECOVER_ADMIN",
];

/// The dynamic privilege of this name, which may be written in any case.
#[must_use]
pub fn dynamic(name: &str) -> Option<&'static str> {
    let mut known = DYNAMIC.into_iter();
    known.find(|known| known.eq_ignore_ascii_case(name))
}

impl Privilege {
    /// All of them, GRANT OPTION last.
    pub fn all() -> impl Iterator<Item = Privilege> {
        DESCRIBED.iter().map(|described| described.privilege)
    }
    fn described(self) -> &'static Described {
        // They stand in the table in the order of the enumeration: see the test.
        &DESCRIBED[self as usize]
    }
    /// As GRANT has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.described().name
    }
    /// Its column in mysql.user, and in mysql.db if it can be granted there, without `_priv`.
    #[must_use]
    pub fn column(self) -> &'static str {
        self.described().column
    }
    /// What SHOW PRIVILEGES says of it: what it is about, and what it is for.
    #[must_use]
    pub fn explained(self) -> (&'static str, &'static str) {
        let described = self.described();
        (described.context, described.comment)
    }
    /// The privilege of this name in upper case.
    #[must_use]
    pub fn named(name: &str) -> Option<Privilege> {
        Privilege::all().find(|privilege| privilege.name() == name)
    }
}

/// A set of static privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Privileges(u32);

impl Privileges {
    /// None.
    pub const NONE: Privileges = Privileges(0);
    /// What ALL stands for on everything.
    pub const GLOBAL: Privileges = Privileges((1 << P::GrantOption as u32) - 1);
    /// What ALL stands for on a database.
    pub const DATABASE: Privileges = Privileges::of(&[
        P::Select,
        P::Insert,
        P::Update,
        P::Delete,
        P::Create,
        P::Drop,
        P::References,
        P::Index,
        P::Alter,
        P::CreateTemporaryTables,
        P::LockTables,
        P::Execute,
        P::CreateView,
        P::ShowView,
        P::CreateRoutine,
        P::AlterRoutine,
        P::Event,
        P::Trigger,
    ]);
    /// What ALL stands for on a table.
    pub const TABLE: Privileges = Privileges::of(&[
        P::Select,
        P::Insert,
        P::Update,
        P::Delete,
        P::Create,
        P::Drop,
        P::References,
        P::Index,
        P::Alter,
        P::CreateView,
        P::ShowView,
        P::Trigger,
    ]);
    /// Those that can be granted on columns.
    pub const COLUMN: Privileges =
        Privileges::of(&[P::Select, P::Insert, P::Update, P::References]);

    /// The set of these.
    #[must_use]
    pub const fn of(these: &[Privilege]) -> Privileges {
        let (mut bits, mut at) = (0, 0);
        while at < these.len() {
            bits |= 1 << these[at] as u32;
            at += 1;
        }
        Privileges(bits)
    }
    /// Whether it has this one.
    #[must_use]
    pub fn has(self, privilege: Privilege) -> bool {
        self.0 & Privileges::of(&[privilege]).0 != 0
    }
    /// Whether it has all of the other's.
    #[must_use]
    pub fn has_all(self, others: Privileges) -> bool {
        others.without(self).is_empty()
    }
    /// With those of another.
    #[must_use]
    pub fn with(self, others: Privileges) -> Privileges {
        Privileges(self.0 | others.0)
    }
    /// Without those of another.
    #[must_use]
    pub fn without(self, others: Privileges) -> Privileges {
        Privileges(self.0 & !others.0)
    }
    /// Those that another has, too.
    #[must_use]
    pub fn both(self, others: Privileges) -> Privileges {
        Privileges(self.0 & others.0)
    }
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Each, in order.
    pub fn iter(self) -> impl Iterator<Item = Privilege> {
        Privilege::all().filter(move |privilege| self.has(*privilege))
    }
}

impl From<Privilege> for Privileges {
    fn from(privilege: Privilege) -> Privileges {
        Privileges::of(&[privilege])
    }
}

impl Serialize for Privileges {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Privilege::name))
    }
}

impl<'de> Deserialize<'de> for Privileges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Privileges, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        // Of a later version: what is not known allows nothing here.
        let known = names.iter().filter_map(|name| Privilege::named(name));
        Ok(known.fold(Privileges::NONE, |all, one| all.with(one.into())))
    }
}

/// A privilege on everything, static or dynamic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// A static one.
    Static(Privilege),
    /// A dynamic one, by its name in [`DYNAMIC`].
    Dynamic(&'static str),
}

impl Right {
    /// As GRANT has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Right::Static(privilege) => privilege.name(),
            Right::Dynamic(name) => name,
        }
    }
}

/// Of these one must be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnyOf(pub &'static [Right]);

impl fmt::Display for AnyOf {
    /// `SUPER, BINLOG_ADMIN or RELOAD`, as error 1227 lists them; static ones alone with commas.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_static = |right: &Right| matches!(right, Right::Static(_));
        let last = match self.0.iter().all(is_static) {
            true => usize::MAX,
            false => self.0.len() - 1,
        };
        for (at, right) in self.0.iter().enumerate() {
            f.write_str(match at {
                0 => "",
                _ if at == last => " or ",
                _ => ", ",
            })?;
            f.write_str(right.name())?;
        }
        Ok(())
    }
}

/// What some statements need.
pub mod needed {
    use super::{
        AnyOf, Privilege as P,
        Right::{Dynamic, Static},
    };

    macro_rules! needed {
        ($($name:ident [$($right:expr),*];)*) => {
            $(
                #[doc = concat!("What 1227 calls ", stringify!($name), ".")]
                pub const $name: AnyOf = AnyOf(&[$($right),*]);
            )*
        };
    }

    needed! {
        RELOAD [Static(P::Reload)];
        FLUSH_PRIVILEGES [Static(P::Reload), Dynamic("FLUSH_PRIVILEGES")];
        FLUSH_STATUS [Static(P::Reload), Dynamic("FLUSH_STATUS")];
        FLUSH_USER_RESOURCES [Static(P::Reload), Dynamic("FLUSH_USER_RESOURCES")];
        APPLICATION_PASSWORD_ADMIN [Static(P::CreateUser), Dynamic("APPLICATION_PASSWORD_ADMIN")];
        FLUSH_TABLES [Static(P::Reload), Dynamic("FLUSH_TABLES")];
        PROCESS [Static(P::Process)];
        SUPER [Static(P::Super)];
        CREATE_USER [Static(P::CreateUser)];
        CREATE_ROLE [Static(P::CreateUser), Static(P::CreateRole)];
        DROP_ROLE [Static(P::CreateUser), Static(P::DropRole)];
        ROLE_ADMIN [Static(P::Super), Dynamic("ROLE_ADMIN")];
        AUDIT_ADMIN [Dynamic("AUDIT_ADMIN")];
        SHUTDOWN [Static(P::Shutdown)];
        REPLICATION_SLAVE [Static(P::ReplicationSlave)];
        LOG_READERS [Static(P::Super), Static(P::ReplicationClient)];
        BINLOG_ADMIN [Static(P::Super), Dynamic("BINLOG_ADMIN")];
        APPLIER [Static(P::Super), Dynamic("BINLOG_ADMIN"), Dynamic("REPLICATION_APPLIER")];
        REPLICATION_SLAVE_ADMIN [Static(P::Super), Dynamic("REPLICATION_SLAVE_ADMIN")];
        BACKUP_ADMIN [Dynamic("BACKUP_ADMIN")];
        CONNECTION_ADMIN [Static(P::Super), Dynamic("CONNECTION_ADMIN")];
        GLOBAL_VARIABLES [Static(P::Super), Dynamic("SYSTEM_VARIABLES_ADMIN")];
        PERSISTED [Static(P::Super), Dynamic("SYSTEM_VARIABLES_ADMIN")];
        SESSION_VARIABLES [
            Static(P::Super),
            Dynamic("SYSTEM_VARIABLES_ADMIN"),
            Dynamic("SESSION_VARIABLES_ADMIN")
        ];
        SET_ANY_DEFINER [Static(P::Super), Dynamic("SET_ANY_DEFINER")];
        ALLOW_NONEXISTENT_DEFINER [Static(P::Super), Dynamic("ALLOW_NONEXISTENT_DEFINER")];
        SYSTEM_USER [Dynamic("SYSTEM_USER")];
        SET_GTID [
            Static(P::Super),
            Dynamic("SYSTEM_VARIABLES_ADMIN"),
            Dynamic("SESSION_VARIABLES_ADMIN"),
            Dynamic("REPLICATION_APPLIER")
        ];
        SERVICE_CONNECTIONS [Static(P::Super), Dynamic("SERVICE_CONNECTION_ADMIN")];
        XA_RECOVER_ADMIN [Dynamic("XA_RECOVER_ADMIN")];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn privileges_stand_in_the_order_of_their_numbers() {
        for (position, described) in DESCRIBED.iter().enumerate() {
            assert_eq!(described.privilege as usize, position, "{}", described.name);
        }
        assert!(DYNAMIC.is_sorted());
    }

    #[test]
    fn sets_are_lists_of_names_in_json() {
        let set = Privileges::of(&[P::Select, P::GrantOption]);
        let text = serde_json::to_string(&set).unwrap();
        assert_eq!(text, r#"["SELECT","GRANT OPTION"]"#);
        assert_eq!(serde_json::from_str::<Privileges>(&text).unwrap(), set);
        let later: Privileges = serde_json::from_str(r#"["SELECT","FLY"]"#).unwrap();
        assert_eq!(later, P::Select.into());
    }

    #[test]
    fn what_is_needed_is_listed_as_errors_have_it() {
        assert_eq!(needed::RELOAD.to_string(), "RELOAD");
        let three = "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN";
        assert_eq!(needed::SESSION_VARIABLES.to_string(), three);
    }
}
