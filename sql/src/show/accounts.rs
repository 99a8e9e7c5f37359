//! SHOW of accounts and privileges.

use super::{LONG, Shown, TEXT};
use crate::{
    account_limits::Limits,
    catalog::text,
    command::UserName,
    error::SqlError,
    lexer::Mode,
    password_history::{or_default, required_text},
    privileges::{DYNAMIC, Privilege, quoted_account},
    state::State,
    users::{Account, LockTime, Lockout},
};
use cohort_engine::types::ColumnType;
use std::sync::Arc;

/// SHOW PRIVILEGES: static ones in the order in which SHOW GRANTS has them, then dynamic ones.
pub(super) fn privileges() -> Shown {
    let columns = [
        ("Privilege", TEXT),
        ("Context", TEXT),
        ("Comment", ColumnType::VarChar(256)),
    ];
    let fixed = Privilege::all().map(|privilege| {
        let (context, comment) = privilege.explained();
        let name = privilege.name();
        let (first, rest) = name.split_at(1);
        let name = format!("{first}{}", rest.to_lowercase());
        [text(name), text(context), text(comment)].to_vec()
    });
    let usage = [
        "Usage",
        "Server Admin",
        "No privileges - allow connect only",
    ];
    let usage = usage.map(text).to_vec();
    let dynamic = DYNAMIC.iter();
    let dynamic = dynamic.map(|name| [name, "Server Admin", ""].map(text).to_vec());
    Shown::new(&columns, fixed.chain([usage]).chain(dynamic).collect())
}

/// The account that a statement names: 1142 if it is another's and one may not read mysql.user.
fn account(session: &State, name: Option<&UserName>) -> Result<Arc<Account>, SqlError> {
    let (own_user, own_host) = &session.account;
    let (user, host) = match name {
        Some(name) if !name.current => (&name.user, &name.host),
        _ => (own_user, own_host),
    };
    if (user, host) != (own_user, own_host) {
        session.need_on_table(&[Privilege::Select], ("mysql", "user"))?;
    }
    let users = session.instance.users();
    let found = users.get(user, host).cloned();
    found.ok_or_else(|| SqlError::no_such_grant(user, host))
}

/// SHOW GRANTS. Of the session's own account, without USING, with what its active roles have.
pub(super) fn grants(
    session: &State,
    name: Option<&UserName>,
    using: &[UserName],
) -> Result<Shown, SqlError> {
    let account = account(session, name)?;
    let granted = session.instance.roles_of(&account);
    let mut active = Vec::new();
    for role in using {
        let role = (role.user.clone(), role.host.clone());
        if !granted.contains(&role) {
            let role = quoted_account(&role.0, &role.1);
            return Err(SqlError::role_not_granted(role, account.backticked()));
        }
        active.push(role);
    }
    if name.is_none_or(|name| name.current) && using.is_empty() {
        active.clone_from(&session.roles);
    }
    let mut grants = account.grants.clone();
    if name.is_none() {
        for (user, host) in session.instance.mandatory_roles() {
            grants.grant_role(&user, &host, false);
        }
    }
    let users = session.instance.users();
    for member in users.with_roles(&account, &active).iter().skip(1) {
        grants.add(&member.grants);
    }
    let rows = grants.statements(&account.backticked());
    let rows = rows.into_iter().map(|statement| vec![text(statement)]);
    let heading = format!("Grants for {}@{}", account.user, account.host);
    Ok(Shown::new(&[(&heading, LONG)], rows.collect()))
}

/// SHOW CREATE USER.
pub(super) fn create_user(session: &State, name: &UserName) -> Result<Shown, SqlError> {
    let account = account(session, Some(name)).map_err(|error| match error.code {
        1141 => SqlError::user_operation_failed(
            "SHOW CREATE USER",
            format_args!(
                "'{}'@'{}' (User account does not exist)",
                name.user, name.host
            ),
        ),
        1142 => session.refused_database("mysql"),
        _ => error,
    })?;
    let mode = session.settings().lexer;
    let stored = if account.authentication.is_empty() {
        String::new()
    } else {
        format!(" AS '{}'", escaped(&account.authentication, mode))
    };
    let roles = account.default_roles.iter();
    let roles = roles.map(|(user, host)| quoted_account(user, host));
    let roles = match roles.collect::<Vec<_>>().join(",") {
        none if none.is_empty() => none,
        roles => format!(" DEFAULT ROLE {roles}"),
    };
    let attribute = account.attributes_text().map_or_else(String::new, |text| {
        format!(" ATTRIBUTE '{}'", escaped(&text, mode))
    });
    let expiry = match account.password_expired {
        true => String::new(),
        false => format!(" {}", account.lifetime),
    };
    let mut lockout = String::new();
    let Lockout { attempts, days } = account.lockout;
    if attempts > 0 || days != LockTime::Days(0) {
        lockout = format!(" FAILED_LOGIN_ATTEMPTS {attempts} PASSWORD_LOCK_TIME {days}");
    }
    let limits = shown_limits(account.limits);
    let policy = account.policy;
    let days = policy.reuse_days.map(|days| format!("{days} DAY"));
    let statement = format!(
        "CREATE USER {} IDENTIFIED WITH '{}'{stored}{roles} REQUIRE {}{limits} PASSWORD \
         EXPIRE{expiry} ACCOUNT {} PASSWORD HISTORY {} PASSWORD REUSE INTERVAL {} PASSWORD REQUIRE \
         CURRENT{}{lockout}{attribute}",
        account.backticked(),
        account.plugin,
        account.requirement,
        if account.locked { "LOCK" } else { "UNLOCK" },
        or_default(policy.history),
        or_default(days),
        required_text(policy.require_current),
    );
    let heading = format!("CREATE USER for {}@{}", account.user, account.host);
    Ok(Shown::new(&[(&heading, LONG)], vec![vec![text(statement)]]))
}

/// WITH, if there are limits.
fn shown_limits(limits: Limits) -> String {
    let parts = limits.parts().into_iter();
    let parts = parts.filter(|(_, limit)| *limit > 0);
    let parts = parts.map(|(keyword, limit)| format!(" {keyword} {limit}"));
    match parts.collect::<String>() {
        none if none.is_empty() => none,
        parts => format!(" WITH{parts}"),
    }
}

/// A string's contents, with backslashes before what may not stand in one, or, where they mean nothing,
/// with quotes doubled.
fn escaped(text: &str, mode: Mode) -> String {
    if mode.no_backslash_escapes {
        return text.replace('\'', "''");
    }
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\x1a' => out.push_str("\\Z"),
            '\\' | '\'' => out.extend(['\\', character]),
            _ => out.push(character),
        }
    }
    out
}
