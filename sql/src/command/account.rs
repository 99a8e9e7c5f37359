//! The parser of statements about users and their privileges.

use super::{
    AccountOptions, AccountStatement, Attributes, Authentication, Before, Cursor, Parsed, UserName,
    UserSpec, grant,
};
use crate::{
    account_limits::Limits,
    error::SqlError,
    lexer::{self, Kind},
    users::{Lifetime, LockTime, Requirement, Specified},
};

/// How long what REQUIRE names may be, in bytes.
const SPECIFIED_MAX: usize = 4096;

/// A statement about users, if it is one.
pub(super) fn account(c: &mut Cursor) -> Parsed<Option<AccountStatement>> {
    let command = if c.eat_all(&["CREATE", "USER"]) {
        let if_not_exists = c.eat_all(&["IF", "NOT", "EXISTS"]);
        AccountStatement::CreateUser {
            if_not_exists,
            users: c.list(spec)?,
            options: options(c)?,
        }
    } else if c.eat_all(&["ALTER", "USER"]) {
        let if_exists = c.eat_all(&["IF", "EXISTS"]);
        AccountStatement::AlterUser {
            if_exists,
            users: match is_call_of_user(c) {
                true => vec![own(c)?],
                false => c.list(changed)?,
            },
            options: options(c)?,
        }
    } else if c.eat_all(&["DROP", "USER"]) {
        let if_exists = c.eat_all(&["IF", "EXISTS"]);
        AccountStatement::DropUser {
            if_exists,
            users: c.list(user)?,
        }
    } else if c.eat_all(&["RENAME", "USER"]) {
        AccountStatement::RenameUser(c.list(|c| {
            let from = user(c)?;
            c.expect("TO")?;
            Ok((from, user(c)?))
        })?)
    } else if c.eat("GRANT") {
        grant::grant(c)?
    } else if c.eat("REVOKE") {
        grant::revoke(c)?
    } else {
        return grant::role(c);
    };
    Ok(Some(command))
}

/// `name[@host]` or CURRENT_USER[()].
pub fn user(c: &mut Cursor) -> Parsed<UserName> {
    if c.eat("CURRENT_USER") {
        if c.eat_symbol("(") {
            c.expect_symbol(")")?;
        }
        return Ok(UserName {
            user: String::new(),
            host: String::new(),
            current: true,
        });
    }
    let user = match c.is_string() {
        true => c.string()?,
        false => c.name()?,
    };
    let token = c.peek();
    let host = if token.kind == Kind::UserVariable {
        c.next();
        let text = c.text(token);
        match text {
            b"@" => c.name_or_string()?,
            [b'@', string @ ..] if matches!(string.first(), Some(b'\'' | b'"')) => {
                let bytes = lexer::string(string, c.mode());
                String::from_utf8_lossy(&bytes).into_owned()
            }
            _ => lexer::name(text).into_owned(),
        }
    } else {
        "%".into()
    };
    let (user, host) = (user.trim_ascii(), host.trim_ascii());
    // No client can say such a name.
    if user.contains('\0') || host.contains('\0') {
        return Err(c.error());
    }
    if user.chars().count() > 32 {
        return Err(SqlError::string_too_long(user, "user name", 32));
    }
    if host.len() > 255 {
        return Err(SqlError::string_too_long(host, "host name", 255));
    }
    Ok(UserName {
        user: user.to_owned(),
        host: host.to_ascii_lowercase(),
        current: false,
    })
}

/// Steps over `USER(`, if it is here.
fn is_call_of_user(c: &mut Cursor) -> bool {
    let place = c.place();
    let found = c.eat("USER") && c.eat_symbol("(");
    if !found {
        c.go_back(place);
    }
    found
}

/// Behind ALTER USER USER(: how the session's own account proves who it is.
fn own(c: &mut Cursor) -> Parsed<UserSpec> {
    c.expect_symbol(")")?;
    let name = UserName {
        user: String::new(),
        host: String::new(),
        current: true,
    };
    let discards_old = c.eat_all(&["DISCARD", "OLD", "PASSWORD"]);
    let mut authentication = None;
    if !discards_old {
        c.expect("IDENTIFIED")?;
        if !c.is("BY") {
            return Err(c.error());
        }
        authentication = Some(identified_anew(c)?);
    }
    Ok(UserSpec {
        name,
        authentication,
        discards_old,
    })
}

/// One user of ALTER USER.
fn changed(c: &mut Cursor) -> Parsed<UserSpec> {
    let name = user(c)?;
    let discards_old = c.eat_all(&["DISCARD", "OLD", "PASSWORD"]);
    let is_identified = !discards_old && c.eat("IDENTIFIED");
    Ok(UserSpec {
        name,
        authentication: is_identified.then(|| identified_anew(c)).transpose()?,
        discards_old,
    })
}

/// How a user that is there proves who it is from now on.
fn identified_anew(c: &mut Cursor) -> Parsed<Authentication> {
    let mut authentication = identified(c)?;
    if authentication.password.is_some() || authentication.is_random {
        authentication.before = before(c)?;
    } else if authentication.stored.is_some() {
        authentication.before.retained = retained(c)?;
    }
    Ok(authentication)
}

/// What is said of the password before: REPLACE, and RETAIN CURRENT PASSWORD.
fn before(c: &mut Cursor) -> Parsed<Before> {
    let replaced = c.eat("REPLACE").then(|| c.string()).transpose()?;
    Ok(Before {
        replaced,
        retained: retained(c)?,
    })
}

fn retained(c: &mut Cursor) -> Parsed<bool> {
    Ok(c.eat_all(&["RETAIN", "CURRENT", "PASSWORD"]))
}

fn spec(c: &mut Cursor) -> Parsed<UserSpec> {
    let name = user(c)?;
    let authentication = if c.eat("IDENTIFIED") {
        Some(identified(c)?)
    } else {
        None
    };
    Ok(UserSpec {
        name,
        authentication,
        discards_old: false,
    })
}

fn identified(c: &mut Cursor) -> Parsed<Authentication> {
    let mut authentication = Authentication::default();
    if c.eat("WITH") {
        authentication.plugin = Some(c.name_or_string()?);
    }
    if c.eat("BY") {
        if c.eat("RANDOM") {
            c.expect("PASSWORD")?;
            authentication.is_random = true;
        } else {
            authentication.password = Some(c.string()?);
        }
    } else if c.eat("AS") {
        authentication.stored = Some(stored(c)?);
    } else if authentication.plugin.is_none() {
        return Err(c.error());
    }
    Ok(authentication)
}

/// What a plugin stores: a string, also in hexadecimal digits, as SHOW CREATE USER has it with
/// print_identified_with_as_hex.
fn stored(c: &mut Cursor) -> Parsed<String> {
    let token = c.peek();
    if token.kind != Kind::Hex {
        return c.string();
    }
    let bytes = lexer::bits(token.kind, c.text(token)).ok_or_else(|| c.error())?;
    c.next();
    String::from_utf8(bytes).map_err(|_| SqlError::wrong_password_hash())
}

/// REQUIRE, if it is here.
fn requirement(c: &mut Cursor) -> Parsed<Option<Requirement>> {
    if !c.eat("REQUIRE") {
        return Ok(None);
    }
    let whole = [Requirement::None, Requirement::Ssl, Requirement::X509];
    for requirement in whole {
        if c.eat(&requirement.to_string()) {
            return Ok(Some(requirement));
        }
    }
    let mut specified = Specified::default();
    loop {
        let keyword = *["SUBJECT", "ISSUER", "CIPHER"]
            .iter()
            .find(|keyword| c.eat(keyword))
            .ok_or_else(|| c.error())?;
        let text = c.string()?;
        if text.len() > SPECIFIED_MAX {
            return Err(SqlError::string_too_long(text, keyword, SPECIFIED_MAX));
        }
        let place = match keyword {
            "SUBJECT" => &mut specified.subject,
            "ISSUER" => &mut specified.issuer,
            _ => &mut specified.cipher,
        };
        if place.replace(text).is_some() {
            return Err(SqlError::option_used_twice(keyword));
        }
        let more = c.eat("AND") || c.is("SUBJECT") || c.is("ISSUER") || c.is("CIPHER");
        if !more {
            return Ok(Some(Requirement::Specified(Box::new(specified))));
        }
    }
}

/// Options of an account, in MySQL's order: REQUIRE, WITH, what is about the password and ACCOUNT,
/// and COMMENT or ATTRIBUTE.
fn options(c: &mut Cursor) -> Parsed<AccountOptions> {
    let mut options = AccountOptions::default();
    if c.eat_all(&["DEFAULT", "ROLE"]) {
        options.default_roles = Some(grant::default_roles(c)?);
    }
    options.requirement = requirement(c)?;
    if c.eat("WITH") {
        options.limits = limits(c)?;
    }
    loop {
        if c.eat_all(&["ACCOUNT", "LOCK"]) {
            options.locked = Some(true);
        } else if c.eat_all(&["ACCOUNT", "UNLOCK"]) {
            options.locked = Some(false);
        } else if c.eat_all(&["PASSWORD", "EXPIRE"]) {
            expire(c, &mut options)?;
        } else if c.eat_all(&["PASSWORD", "HISTORY"]) {
            options.history = Some(default_or_small(c)?);
        } else if c.eat_all(&["PASSWORD", "REUSE", "INTERVAL"]) {
            let days = default_or_small(c)?;
            if days.is_some() {
                c.expect("DAY")?;
            }
            options.reuse_days = Some(days);
        } else if c.eat_all(&["PASSWORD", "REQUIRE", "CURRENT"]) {
            options.require_current = Some(if c.eat("DEFAULT") {
                None
            } else {
                Some(!c.eat("OPTIONAL"))
            });
        } else if c.eat("FAILED_LOGIN_ATTEMPTS") {
            options.failed_logins = Some(small(c, "FAILED_LOGIN_ATTEMPTS")?);
        } else if c.eat("PASSWORD_LOCK_TIME") {
            options.lock_time = Some(match c.eat("UNBOUNDED") {
                true => LockTime::Unbounded,
                false => LockTime::Days(small(c, "PASSWORD_LOCK_TIME")?),
            });
        } else {
            break;
        }
    }
    if c.eat("COMMENT") {
        options.attributes = Some(Attributes::Comment(c.string()?));
    } else if c.eat("ATTRIBUTE") {
        options.attributes = Some(Attributes::Object(c.string()?));
    }
    Ok(options)
}

/// Behind WITH: how much an account may do.
fn limits(c: &mut Cursor) -> Parsed<Vec<(&'static str, u32)>> {
    let keywords = Limits::default().parts().map(|(keyword, _)| keyword);
    let mut limits = Vec::new();
    while let Some(keyword) = keywords.iter().find(|keyword| c.eat(keyword)) {
        // As in MySQL a larger number is the largest.
        limits.push((*keyword, u32::try_from(c.unsigned()?).unwrap_or(u32::MAX)));
    }
    match limits.is_empty() {
        true => Err(c.error()),
        false => Ok(limits),
    }
}

/// DEFAULT, or a number, of which a larger one than there can be is the largest.
fn default_or_small(c: &mut Cursor) -> Parsed<Option<u16>> {
    if c.eat("DEFAULT") {
        return Ok(None);
    }
    Ok(Some(u16::try_from(c.unsigned()?).unwrap_or(u16::MAX)))
}

/// Behind PASSWORD EXPIRE.
fn expire(c: &mut Cursor, options: &mut AccountOptions) -> Parsed<()> {
    if c.eat("DEFAULT") {
        options.lifetime = Some(Lifetime::Default);
    } else if c.eat("NEVER") {
        options.lifetime = Some(Lifetime::Never);
    } else if c.eat("INTERVAL") {
        let token = c.peek();
        let days = c.unsigned()?;
        let days = u16::try_from(days).ok().filter(|days| *days > 0);
        let text = String::from_utf8_lossy(c.text(token)).into_owned();
        let days = days.ok_or_else(|| SqlError::incorrect_value("DAY", text))?;
        c.expect("DAY")?;
        options.lifetime = Some(Lifetime::Days(days));
    } else {
        options.expired = true;
    }
    Ok(())
}

/// A number that FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME may have.
fn small(c: &mut Cursor, option: &str) -> Parsed<u16> {
    const MAX: u16 = 32_767;
    let number = c.unsigned()?;
    let small = u16::try_from(number).ok().filter(|small| *small <= MAX);
    small.ok_or_else(|| SqlError::incorrect_value(option, number))
}

/// SET PASSWORD [FOR user] {= 'password' | TO RANDOM} [REPLACE 'password'] [RETAIN CURRENT PASSWORD]
pub(super) fn set_password(c: &mut Cursor) -> Parsed<AccountStatement> {
    let user = if c.eat("FOR") { Some(user(c)?) } else { None };
    let password = match c.eat_all(&["TO", "RANDOM"]) {
        true => None,
        false => {
            c.expect_symbol("=")?;
            Some(c.string()?)
        }
    };
    Ok(AccountStatement::SetPassword {
        user,
        password,
        before: before(c)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::Mode;

    #[test]
    fn what_is_stored_may_stand_in_hexadecimal_digits() {
        let stored = |text: &str| {
            let sql = format!("CREATE USER u IDENTIFIED WITH p AS {text}");
            let mut cursor = Cursor::new(sql.as_bytes(), Mode::default());
            match account(&mut cursor) {
                Ok(Some(AccountStatement::CreateUser { users, .. })) => {
                    let first = users.into_iter().next();
                    let stored = first.and_then(|user| user.authentication?.stored);
                    Ok(stored.expect("what is stored"))
                }
                Ok(_) => panic!("CREATE USER"),
                Err(error) => Err(error.code),
            }
        };
        assert_eq!(stored("'$A$x'"), Ok("$A$x".into()));
        assert_eq!(stored("0x24412478"), Ok("$A$x".into()));
        assert_eq!(stored("X'24412478'"), Ok("$A$x".into()));
        assert_eq!(stored("0xFF"), Err(1827));
        assert_eq!(stored("7"), Err(1064));
    }
}
