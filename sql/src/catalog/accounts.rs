//! Accounts and what they were granted: tables of mysql, and views of information_schema.
//!
//! The tables of mysql have MySQL's columns, and account statements are the only way to change
//! them.

use super::{Rows, number, server, text, yes_no};
use crate::{
    privileges::{Privilege, Privileges, TableGrants},
    rights::Object,
    state::State,
    users::{Account, Lifetime, LockTime, Lockout, Requirement, Specified},
};
use cohort_engine::types::{DateTime, Table, Value};
use std::sync::Arc;

/// Y or N.
fn flag(on: bool) -> Value {
    text(if on { "Y" } else { "N" })
}

/// A time in seconds since 1970, as the session sees it.
pub(super) fn moment(session: &State, seconds: u64) -> Value {
    let micros = i64::try_from(seconds.saturating_mul(1_000_000)).ok();
    let utc = micros.filter(|micros| *micros > 0);
    let utc = utc.and_then(DateTime::from_unix_micros);
    utc.map_or(Value::Null, |utc| {
        Value::DateTime(session.settings().time_zone.to_local(utc))
    })
}

/// Rows of each account, by host and user: the primary keys of most of mysql's tables begin so.
fn of_each(session: &State, rows: impl Fn(&Account, &mut Rows)) -> Rows {
    let mut all = Rows::new();
    for account in by_host(session.instance.users().list().to_vec()) {
        rows(&account, &mut all);
    }
    all
}

fn by_host(mut accounts: Vec<Arc<Account>>) -> Vec<Arc<Account>> {
    accounts.sort_by(|a, b| (&a.host, &a.user).cmp(&(&b.host, &b.user)));
    accounts
}

/// mysql.user.
pub(super) fn users(session: &State) -> Rows {
    of_each(session, |account, rows| {
        let global = account.grants.global;
        let mut row = vec![text(&account.host), text(&account.user)];
        // In the order in which the table came to have them.
        let last = [Privilege::CreateRole, Privilege::DropRole];
        row.extend(in_columns().map(|privilege| flag(global.has(privilege))));
        row.extend(required(&account.requirement));
        row.extend(
            account
                .limits
                .parts()
                .map(|(_, limit)| number(limit.into())),
        );
        row.extend([
            text(&account.plugin),
            text(&account.authentication),
            flag(account.password_expired),
            moment(session, account.password_changed),
            match account.lifetime {
                Lifetime::Default => Value::Null,
                Lifetime::Never => number(0),
                Lifetime::Days(days) => number(days.into()),
            },
            flag(account.locked),
        ]);
        row.extend(last.map(|privilege| flag(global.has(privilege))));
        let policy = account.policy;
        let or_null = |value: Option<u16>| value.map_or(Value::Null, |value| number(value.into()));
        row.extend([
            or_null(policy.history),
            or_null(policy.reuse_days),
            policy.require_current.map_or(Value::Null, flag),
            user_attributes_of(account),
        ]);
        rows.push(row);
    })
}

/// What mysql.user has in User_attributes: JSON of what has no column.
fn user_attributes_of(account: &Account) -> Value {
    let mut members = Vec::new();
    if let Some(object) = account.attributes_text() {
        members.push(format!("\"metadata\": {object}"));
    }
    let restrictions = &account.grants.restrictions;
    if !restrictions.is_empty() {
        let each = restrictions.iter().map(restriction).collect::<Vec<_>>();
        members.push(format!("\"Restrictions\": [{}]", each.join(", ")));
    }
    let Lockout { attempts, days } = account.lockout;
    if attempts > 0 || days != LockTime::Days(0) {
        let days = match days {
            LockTime::Days(days) => i32::from(days),
            LockTime::Unbounded => -1,
        };
        members.push(format!(
            "\"Password_locking\": {{\"failed_login_attempts\": {attempts}, \
             \"password_lock_time_days\": {days}}}"
        ));
    }
    if !account.second.is_empty() {
        let second = serde_json::Value::from(account.second.as_str());
        members.push(format!("\"additional_password\": {second}"));
    }
    match members.is_empty() {
        true => Value::Null,
        false => text(format!("{{{}}}", members.join(", "))),
    }
}

/// A database in which privileges on everything do not hold, as mysql.user has it.
fn restriction((database, privileges): (&String, &Privileges)) -> String {
    let names = privileges.iter().map(|privilege| match privilege {
        Privilege::GrantOption => "GRANT",
        other => other.name(),
    });
    let names: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
    format!(
        "{{\"Database\": {}, \"Privileges\": [{}]}}",
        serde_json::Value::from(database.as_str()),
        names.join(", ")
    )
}

/// The privileges of mysql.user's first columns, in their order.
fn in_columns() -> impl Iterator<Item = Privilege> {
    let before = [
        Privilege::Select,
        Privilege::Insert,
        Privilege::Update,
        Privilege::Delete,
        Privilege::Create,
        Privilege::Drop,
        Privilege::Reload,
        Privilege::Shutdown,
        Privilege::Process,
        Privilege::File,
        Privilege::GrantOption,
    ];
    let rest = Privilege::all().filter(move |privilege| {
        !before.contains(privilege)
            && !matches!(privilege, Privilege::CreateRole | Privilege::DropRole)
    });
    before.into_iter().chain(rest)
}

/// What mysql.user says of REQUIRE: the type, cipher, issuer and subject.
fn required(requirement: &Requirement) -> [Value; 4] {
    let (kind, specified) = match requirement {
        Requirement::None => ("", None),
        Requirement::Ssl => ("ANY", None),
        Requirement::X509 => ("X509", None),
        Requirement::Specified(specified) => ("SPECIFIED", Some(specified)),
    };
    let of = |tell: fn(&Specified) -> &Option<String>| {
        let told = specified.and_then(|specified| tell(specified).as_deref());
        text(told.unwrap_or_default())
    };
    [
        text(kind),
        of(|specified| &specified.cipher),
        of(|specified| &specified.issuer),
        of(|specified| &specified.subject),
    ]
}

/// mysql.password_history.
pub(super) fn password_history(session: &State) -> Rows {
    of_each(session, |account, rows| {
        for past in account.past.iter() {
            rows.push(vec![
                text(&account.host),
                text(&account.user),
                server::moment(session, past.set),
                text(&past.stored),
            ]);
        }
    })
}

/// mysql.db.
pub(super) fn databases(session: &State) -> Rows {
    of_each(session, |account, rows| {
        for (pattern, privileges) in &account.grants.databases {
            let mut row = vec![text(&account.host), text(pattern), text(&account.user)];
            let columns = [
                Privilege::Select,
                Privilege::Insert,
                Privilege::Update,
                Privilege::Delete,
                Privilege::Create,
                Privilege::Drop,
                Privilege::GrantOption,
                Privilege::References,
                Privilege::Index,
                Privilege::Alter,
                Privilege::CreateTemporaryTables,
                Privilege::LockTables,
                Privilege::CreateView,
                Privilege::ShowView,
                Privilege::CreateRoutine,
                Privilege::AlterRoutine,
                Privilege::Execute,
                Privilege::Event,
                Privilege::Trigger,
            ];
            row.extend(columns.map(|privilege| flag(privileges.has(privilege))));
            rows.push(row);
        }
    })
}

/// Privileges as members of a SET: `Select,Create View`.
fn members(privileges: Privileges) -> Value {
    // In the order of the SET's members, GRANT OPTION where MySQL has it.
    let order = [
        (Privilege::Select, "Select"),
        (Privilege::Insert, "Insert"),
        (Privilege::Update, "Update"),
        (Privilege::Delete, "Delete"),
        (Privilege::Create, "Create"),
        (Privilege::Drop, "Drop"),
        (Privilege::GrantOption, "Grant"),
        (Privilege::References, "References"),
        (Privilege::Index, "Index"),
        (Privilege::Alter, "Alter"),
        (Privilege::CreateView, "Create View"),
        (Privilege::ShowView, "Show view"),
        (Privilege::Trigger, "Trigger"),
    ];
    let has = order
        .iter()
        .filter(|(privilege, _)| privileges.has(*privilege));
    let names: Vec<&str> = has.map(|(_, name)| *name).collect();
    text(names.join(","))
}

/// The grants on each table: the account, the database, the table, and what was granted.
fn of_tables(account: &Account) -> impl Iterator<Item = (&String, &String, &TableGrants)> {
    let databases = account.grants.tables.iter();
    databases.flat_map(|(database, tables)| {
        tables
            .iter()
            .map(move |(name, table)| (database, name, table))
    })
}

/// mysql.tables_priv.
pub(super) fn table_grants(session: &State) -> Rows {
    of_each(session, |account, rows| {
        for (database, name, table) in of_tables(account) {
            rows.push(vec![
                text(&account.host),
                text(database),
                text(&account.user),
                text(name),
                text(&table.grantor),
                moment(session, table.changed),
                members(table.privileges),
                members(table.of_columns()),
            ]);
        }
    })
}

/// mysql.columns_priv.
pub(super) fn column_grants(session: &State) -> Rows {
    of_each(session, |account, rows| {
        for (database, name, table) in of_tables(account) {
            for (column, privileges) in &table.columns {
                rows.push(vec![
                    text(&account.host),
                    text(database),
                    text(&account.user),
                    text(name),
                    text(column),
                    moment(session, table.changed),
                    members(*privileges),
                ]);
            }
        }
    })
}

/// mysql.role_edges.
pub(super) fn role_edges(session: &State) -> Rows {
    let users = session.instance.users();
    let accounts = users.list().iter();
    let edges = accounts.flat_map(|account| {
        let roles = account.grants.roles.iter();
        roles.map(|role| {
            (
                (&role.host, &role.user, &account.host, &account.user),
                role.admin,
            )
        })
    });
    let mut edges: Vec<_> = edges.collect();
    edges.sort();
    let row = |((from_host, from, to_host, to), admin)| {
        let names = [from_host, from, to_host, to].map(text);
        names.into_iter().chain([flag(admin)]).collect()
    };
    edges.into_iter().map(row).collect()
}

/// mysql.default_roles.
pub(super) fn default_roles(session: &State) -> Rows {
    of_each(session, |account, rows| {
        for (user, host) in &account.default_roles {
            let names = [&account.host, &account.user, host, user];
            rows.push(names.map(text).to_vec());
        }
    })
}

/// mysql.global_grants.
pub(super) fn global_grants(session: &State) -> Rows {
    // By user and host, as its primary key begins, and as accounts are kept.
    let users = session.instance.users();
    let accounts = users.list().iter();
    let rows = accounts.flat_map(|account| {
        account.grants.dynamic.iter().map(|(name, option)| {
            let names = [&account.user, &account.host, name].map(text);
            names.into_iter().chain([flag(*option)]).collect()
        })
    });
    rows.collect()
}

/// Accounts that a session may see in information_schema: all for whoever may read mysql, else
/// its own.
fn visible(session: &State) -> Vec<Arc<Account>> {
    let users = session.instance.users();
    let all = session.rights.on(Object::Database("mysql"));
    if all.has(Privilege::Select) {
        return users.list().to_vec();
    }
    let (user, host) = &session.account;
    users.get(user, host).cloned().into_iter().collect()
}

fn grantee(account: &Account) -> Value {
    text(account.quoted())
}

/// information_schema.USER_PRIVILEGES.
pub(super) fn user_privileges(session: &State) -> Rows {
    let mut rows = Rows::new();
    for account in visible(session) {
        let mut row = |name: &str, option: bool| {
            rows.push(vec![
                grantee(&account),
                text("def"),
                text(name),
                yes_no(option),
            ]);
        };
        let option = account.grants.global.has(Privilege::GrantOption);
        let global = account.grants.global.without(Privilege::GrantOption.into());
        if global.is_empty() {
            row("USAGE", option);
        }
        for privilege in global.iter() {
            row(privilege.name(), option);
        }
        for (name, option) in &account.grants.dynamic {
            row(name, *option);
        }
    }
    rows
}

/// Rows of privileges on something, with whether they can be granted on.
fn each_privilege(
    privileges: Privileges,
    option: bool,
    before: impl Fn() -> Vec<Value>,
    rows: &mut Rows,
) {
    let names = privileges.without(Privilege::GrantOption.into());
    for privilege in names.iter() {
        let mut row = before();
        row.extend([text(privilege.name()), yes_no(option)]);
        rows.push(row);
    }
}

/// information_schema.SCHEMA_PRIVILEGES.
pub(super) fn schema_privileges(session: &State) -> Rows {
    let mut rows = Rows::new();
    for account in visible(session) {
        for (pattern, privileges) in &account.grants.databases {
            let option = privileges.has(Privilege::GrantOption);
            let before = || vec![grantee(&account), text("def"), text(pattern)];
            each_privilege(*privileges, option, before, &mut rows);
        }
    }
    rows
}

/// information_schema.TABLE_PRIVILEGES.
pub(super) fn table_privileges(session: &State) -> Rows {
    let mut rows = Rows::new();
    for account in visible(session) {
        for (database, name, table) in of_tables(&account) {
            let option = table.privileges.has(Privilege::GrantOption);
            let before = || vec![grantee(&account), text("def"), text(database), text(name)];
            each_privilege(table.privileges, option, before, &mut rows);
        }
    }
    rows
}

/// information_schema.COLUMN_PRIVILEGES.
pub(super) fn column_privileges(session: &State) -> Rows {
    let mut rows = Rows::new();
    for account in visible(session) {
        for (database, name, table) in of_tables(&account) {
            let option = table.privileges.has(Privilege::GrantOption);
            for (column, privileges) in &table.columns {
                let before = || {
                    let names = [database, name, column].map(text);
                    [grantee(&account), text("def")]
                        .into_iter()
                        .chain(names)
                        .collect()
                };
                each_privilege(*privileges, option, before, &mut rows);
            }
        }
    }
    rows
}

/// information_schema.USER_ATTRIBUTES.
pub(super) fn user_attributes(session: &State) -> Rows {
    let row = |account: Arc<Account>| {
        let attributes = account.attributes_text().map(text);
        vec![
            text(&account.user),
            text(&account.host),
            attributes.unwrap_or(Value::Null),
        ]
    };
    by_host(visible(session)).into_iter().map(row).collect()
}

/// The roles that the session's account has, directly or by others: who has each, the role, whether
/// it can be granted on.
fn applicable(session: &State) -> Vec<(Arc<Account>, (String, String), bool)> {
    let users = session.instance.users();
    let (user, host) = &session.account;
    let Some(own) = users.get(user, host) else {
        return Vec::new();
    };
    let members = users.with_roles(own, &session.instance.roles_of(own));
    let mut all = Vec::new();
    for member in members {
        for role in &member.grants.roles {
            let name = (role.user.clone(), role.host.clone());
            all.push((Arc::clone(&member), name, role.admin));
        }
    }
    all
}

fn is_mandatory(session: &State, role: &(String, String)) -> Value {
    yes_no(session.instance.mandatory_roles().contains(role))
}

fn is_default(session: &State, role: &(String, String)) -> Value {
    let users = session.instance.users();
    let (user, host) = &session.account;
    let own = users.get(user, host);
    yes_no(own.is_some_and(|own| own.default_roles.contains(role)))
}

/// information_schema.APPLICABLE_ROLES.
pub(super) fn applicable_roles(session: &State) -> Rows {
    roles_with(session, false)
}

/// information_schema.ADMINISTRABLE_ROLE_AUTHORIZATIONS.
pub(super) fn administrable_roles(session: &State) -> Rows {
    roles_with(session, true)
}

fn roles_with(session: &State, only_admin: bool) -> Rows {
    let (user, host) = &session.account;
    let all = applicable(session).into_iter();
    let wanted = all.filter(|(_, _, admin)| *admin || !only_admin);
    wanted
        .map(|(member, role, admin)| {
            vec![
                text(user),
                text(host),
                text(&member.user),
                text(&member.host),
                text(&role.0),
                text(&role.1),
                yes_no(admin),
                is_default(session, &role),
                is_mandatory(session, &role),
            ]
        })
        .collect()
}

/// information_schema.ENABLED_ROLES.
pub(super) fn enabled_roles(session: &State) -> Rows {
    let row = |role: &(String, String)| {
        vec![
            text(&role.0),
            text(&role.1),
            is_default(session, role),
            is_mandatory(session, role),
        ]
    };
    session.roles.iter().map(row).collect()
}

/// The active roles, and the roles that these have.
fn active(session: &State) -> Vec<Arc<Account>> {
    let users = session.instance.users();
    let (user, host) = &session.account;
    let own = users.get(user, host);
    let members = own.map_or_else(Vec::new, |own| users.with_roles(own, &session.roles));
    members.into_iter().skip(1).collect()
}

fn grantor(table: &TableGrants) -> [Value; 2] {
    let (user, host) = table.grantor.rsplit_once('@').unwrap_or(("", ""));
    [text(user), text(host)]
}

/// information_schema.ROLE_TABLE_GRANTS.
pub(super) fn role_table_grants(session: &State) -> Rows {
    let mut rows = Rows::new();
    for role in active(session) {
        for (database, name, table) in of_tables(&role) {
            let mut row = grantor(table).to_vec();
            row.extend([&role.user, &role.host].map(text));
            row.extend([text("def"), text(database), text(name)]);
            row.push(members(table.privileges));
            row.push(yes_no(table.privileges.has(Privilege::GrantOption)));
            rows.push(row);
        }
    }
    rows
}

/// information_schema.ROLE_COLUMN_GRANTS.
pub(super) fn role_column_grants(session: &State) -> Rows {
    let mut rows = Rows::new();
    for role in active(session) {
        for (database, name, table) in of_tables(&role) {
            for (column, privileges) in &table.columns {
                let mut row = grantor(table).to_vec();
                row.extend([&role.user, &role.host].map(text));
                row.extend([text("def"), text(database), text(name), text(column)]);
                row.push(members(*privileges));
                row.push(yes_no(table.privileges.has(Privilege::GrantOption)));
                rows.push(row);
            }
        }
    }
    rows
}

/// What COLUMNS says that the session may do with a column; `None`: nothing.
pub(super) fn on_column(session: &State, table: &Table, column: &str) -> Option<Value> {
    let has = match session.is_own_temporary(table) {
        true => Privileges::COLUMN,
        false => {
            let object = Object::Column(&table.database, &table.name, column);
            session.rights.on(object).both(Privileges::COLUMN)
        }
    };
    let names: Vec<String> = has.iter().map(|one| one.name().to_lowercase()).collect();
    (!names.is_empty()).then(|| text(names.join(",")))
}
