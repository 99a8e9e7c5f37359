//! The parser of statements about privileges and roles.

use super::{AccountStatement, Cursor, Parsed, UserName, account::user};
use crate::{
    error::SqlError,
    lexer::{Kind, Mode},
    privileges::{self, Granted, NamedPrivilege, Privilege, Privileges, Right},
};

/// On what privileges are granted, as the statement says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantLevel {
    /// `*.*`
    Everything,
    /// `*`: the default database.
    Current,
    /// `database.*`: a pattern.
    Database(String),
    /// `[database.]table`
    Table(super::TableName),
}

/// What SET ROLE makes active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActiveRoles {
    /// NONE.
    None,
    /// DEFAULT: the account's default roles.
    Default,
    /// ALL, except these.
    AllBut(Vec<UserName>),
    /// These.
    These(Vec<UserName>),
}

/// Which roles SET DEFAULT ROLE and DEFAULT ROLE name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultRoles {
    /// NONE.
    None,
    /// ALL.
    All,
    /// These.
    These(Vec<UserName>),
}

/// What REVOKE lets pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lenience {
    /// IF EXISTS: what was not granted is a warning.
    pub if_exists: bool,
    /// IGNORE UNKNOWN USER: an account that is not there is a warning.
    pub ignore_unknown: bool,
}

/// The privilege whose name begins here, and how many words it has.
fn static_privilege(c: &Cursor) -> Option<(Privilege, usize)> {
    // The longest name counts: CREATE is the beginning of CREATE VIEW.
    let known = Privilege::all().filter_map(|privilege| {
        let words: Vec<&str> = privilege.name().split(' ').collect();
        c.are(&words).then_some((privilege, words.len()))
    });
    known.max_by_key(|(_, words)| *words)
}

/// One privilege of a list.
fn named_privilege(c: &mut Cursor) -> Parsed<Option<NamedPrivilege>> {
    if c.eat("USAGE") {
        return Ok(None);
    }
    if let Some((privilege, words)) = static_privilege(c) {
        for _ in 0..words {
            c.next();
        }
        let mut columns = Vec::new();
        if c.is_symbol("(") {
            if !Privileges::COLUMN.has(privilege) {
                return Err(c.error());
            }
            c.next();
            columns = c.list(Cursor::name)?;
            c.expect_symbol(")")?;
        }
        let right = Right::Static(privilege);
        return Ok(Some(NamedPrivilege { right, columns }));
    }
    let name = c.name_or_string()?;
    match privileges::dynamic(&name) {
        Some(name) => Ok(Some(NamedPrivilege {
            right: Right::Dynamic(name),
            columns: Vec::new(),
        })),
        None if name.eq_ignore_ascii_case("PROXY") => Err(SqlError::not_supported("GRANT PROXY")),
        None => Err(SqlError::syntax_without_place()),
    }
}

fn granted(c: &mut Cursor) -> Parsed<Granted> {
    if c.eat("ALL") {
        c.eat("PRIVILEGES");
        return Ok(Granted::All);
    }
    let named = c.list(named_privilege)?;
    Ok(Granted::These(named.into_iter().flatten().collect()))
}

fn level(c: &mut Cursor) -> Parsed<GrantLevel> {
    for kind in ["FUNCTION", "PROCEDURE"] {
        if c.eat(kind) {
            let routine = c.table()?;
            return Err(SqlError::does_not_exist(kind, routine.name));
        }
    }
    c.eat("TABLE");
    if c.eat_symbol("*") {
        if !c.eat_symbol(".") {
            return Ok(GrantLevel::Current);
        }
        c.expect_symbol("*")?;
        return Ok(GrantLevel::Everything);
    }
    let name = c.name()?;
    if !c.eat_symbol(".") {
        let database = None;
        return Ok(GrantLevel::Table(super::TableName { database, name }));
    }
    if c.eat_symbol("*") {
        return Ok(GrantLevel::Database(name));
    }
    Ok(GrantLevel::Table(super::TableName {
        database: Some(name),
        name: c.any_name()?,
    }))
}

/// Whether privileges are named, behind which stands ON, and not roles.
fn names_privileges(c: &Cursor, end: &str) -> bool {
    let mut ahead = 0;
    loop {
        let token = c.peek_at(ahead);
        match token.kind {
            Kind::End => return false,
            Kind::Word if c.text(token).eq_ignore_ascii_case(b"ON") => return true,
            Kind::Word if c.text(token).eq_ignore_ascii_case(end.as_bytes()) => return false,
            _ => ahead += 1,
        }
    }
}

/// Behind GRANT.
pub(super) fn grant(c: &mut Cursor) -> Parsed<AccountStatement> {
    if !names_privileges(c, "TO") {
        let roles = c.list(user)?;
        c.expect("TO")?;
        let users = c.list(user)?;
        let admin = c.eat_all(&["WITH", "ADMIN", "OPTION"]);
        return Ok(AccountStatement::GrantRoles {
            roles,
            users,
            admin,
        });
    }
    let what = granted(c)?;
    c.expect("ON")?;
    let level = level(c)?;
    c.expect("TO")?;
    let users = c.list(user)?;
    let grant_option = c.eat("WITH");
    if grant_option {
        c.expect("GRANT")?;
        c.expect("OPTION")?;
    }
    let by = c.eat("AS").then(|| grantor(c)).transpose()?;
    Ok(AccountStatement::Grant {
        what,
        level,
        users,
        grant_option,
        by,
    })
}

/// Behind GRANT … AS: an account, and its active roles.
fn grantor(c: &mut Cursor) -> Parsed<(UserName, ActiveRoles)> {
    let name = user(c)?;
    let roles = match c.eat_all(&["WITH", "ROLE"]) {
        true => active_roles(c)?,
        false => ActiveRoles::Default,
    };
    Ok((name, roles))
}

/// Behind REVOKE.
pub(super) fn revoke(c: &mut Cursor) -> Parsed<AccountStatement> {
    let if_exists = c.eat_all(&["IF", "EXISTS"]);
    let place = c.place();
    if c.eat("ALL") {
        c.eat("PRIVILEGES");
        if c.eat_symbol(",") {
            c.expect("GRANT")?;
            c.expect("OPTION")?;
            c.expect("FROM")?;
            let users = c.list(user)?;
            let lenience = lenience(c, if_exists)?;
            return Ok(AccountStatement::RevokeAll { users, lenience });
        }
        c.go_back(place);
    }
    if !names_privileges(c, "FROM") {
        let roles = c.list(user)?;
        c.expect("FROM")?;
        let users = c.list(user)?;
        let lenience = lenience(c, if_exists)?;
        return Ok(AccountStatement::RevokeRoles {
            roles,
            users,
            lenience,
        });
    }
    let what = granted(c)?;
    c.expect("ON")?;
    let level = level(c)?;
    c.expect("FROM")?;
    let users = c.list(user)?;
    let lenience = lenience(c, if_exists)?;
    // MySQL takes everything then, on whatever it is.
    if what == Granted::All && level == GrantLevel::Everything {
        return Ok(AccountStatement::RevokeAll { users, lenience });
    }
    Ok(AccountStatement::Revoke {
        what,
        level,
        users,
        lenience,
    })
}

fn lenience(c: &mut Cursor, if_exists: bool) -> Parsed<Lenience> {
    Ok(Lenience {
        if_exists,
        ignore_unknown: c.eat_all(&["IGNORE", "UNKNOWN", "USER"]),
    })
}

/// CREATE ROLE, DROP ROLE, if it is one.
pub(super) fn role(c: &mut Cursor) -> Parsed<Option<AccountStatement>> {
    if c.eat_all(&["CREATE", "ROLE"]) {
        let if_not_exists = c.eat_all(&["IF", "NOT", "EXISTS"]);
        let roles = c.list(user)?;
        return Ok(Some(AccountStatement::CreateRole {
            if_not_exists,
            roles,
        }));
    }
    if c.eat_all(&["DROP", "ROLE"]) {
        let if_exists = c.eat_all(&["IF", "EXISTS"]);
        let roles = c.list(user)?;
        return Ok(Some(AccountStatement::DropRole { if_exists, roles }));
    }
    Ok(None)
}

/// Behind SET ROLE.
pub(super) fn set_role(c: &mut Cursor) -> Parsed<AccountStatement> {
    Ok(AccountStatement::SetRole(active_roles(c)?))
}

fn active_roles(c: &mut Cursor) -> Parsed<ActiveRoles> {
    Ok(if c.eat("NONE") {
        ActiveRoles::None
    } else if c.eat("DEFAULT") {
        ActiveRoles::Default
    } else if c.eat("ALL") {
        match c.eat("EXCEPT") {
            true => ActiveRoles::AllBut(c.list(user)?),
            false => ActiveRoles::AllBut(Vec::new()),
        }
    } else {
        ActiveRoles::These(c.list(user)?)
    })
}

/// Which roles are default ones, behind DEFAULT ROLE.
pub(super) fn default_roles(c: &mut Cursor) -> Parsed<DefaultRoles> {
    Ok(if c.eat("NONE") {
        DefaultRoles::None
    } else if c.eat("ALL") {
        DefaultRoles::All
    } else {
        DefaultRoles::These(c.list(user)?)
    })
}

/// Behind SET DEFAULT ROLE.
pub(super) fn set_default_role(c: &mut Cursor) -> Parsed<AccountStatement> {
    let roles = default_roles(c)?;
    c.expect("TO")?;
    let users = c.list(user)?;
    Ok(AccountStatement::SetDefaultRole { roles, users })
}

/// The names and hosts in a list of roles, as mandatory_roles has it; `None`: it is none.
#[must_use]
pub fn role_list(text: &str) -> Option<Vec<(String, String)>> {
    let mut cursor = Cursor::new(text.as_bytes(), Mode::default());
    let roles = cursor.list(user).ok()?;
    let whole = cursor.at_end() && roles.iter().all(|role| !role.current);
    let names = roles.into_iter().map(|role| (role.user, role.host));
    whole.then(|| names.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(sql: &str) -> Parsed<AccountStatement> {
        let mut cursor = Cursor::new(sql.as_bytes(), Mode::default());
        let command = match cursor.eat("GRANT") {
            true => grant(&mut cursor)?,
            false => {
                cursor.expect("REVOKE")?;
                revoke(&mut cursor)?
            }
        };
        cursor.expect_end()?;
        Ok(command)
    }

    #[test]
    fn privileges_and_roles_are_told_apart_by_on() {
        let of = |sql| match parsed(sql).unwrap() {
            AccountStatement::Grant { what, .. } | AccountStatement::Revoke { what, .. } => {
                what.text(&privileges::Level::Everything)
            }
            AccountStatement::GrantRoles { roles, .. } => format!("{} roles", roles.len()),
            other => panic!("{other:?}"),
        };
        let long = "GRANT create temporary tables, CREATE view, select (a, `b`) ON d.* TO u";
        let text = "CREATE TEMPORARY TABLES, CREATE VIEW, SELECT (`a`, `b`) ON *.*";
        assert_eq!(of(long), text);
        assert_eq!(of("GRANT usage ON *.* TO u@h, v"), "USAGE ON *.*");
        let dynamic = "REVOKE backup_admin, GRANT OPTION ON *.* FROM u";
        assert_eq!(of(dynamic), "BACKUP_ADMIN, GRANT OPTION ON *.*");
        assert_eq!(of("GRANT a, b@c TO u WITH ADMIN OPTION"), "2 roles");
        assert_eq!(of("GRANT ALL ON TABLE t TO u"), "ALL PRIVILEGES ON *.*");
    }

    #[test]
    fn what_cannot_be_granted_is_refused() {
        let code = |sql| parsed(sql).unwrap_err().code;
        assert_eq!(code("GRANT nothing ON *.* TO u"), 1149);
        assert_eq!(code("GRANT DELETE (a) ON d.t TO u"), 1064);
        assert_eq!(code("GRANT ALL, SELECT ON d.t TO u"), 1064);
        assert_eq!(code("GRANT EXECUTE ON FUNCTION d.f TO u"), 1305);
        assert_eq!(code("GRANT SELECT ON d.t TO u IDENTIFIED BY 'x'"), 1064);
    }

    #[test]
    fn lists_of_roles() {
        let names = role_list("a, `b`@'h'").unwrap();
        assert_eq!(names, [("a".into(), "%".into()), ("b".into(), "h".into())]);
        assert_eq!(role_list("a b"), None);
    }
}
