//! The parser of statements about users and their privileges.

use super::{AccountOptions, Authentication, Command, Cursor, Parsed, UserName, UserSpec};
use crate::{
    error::SqlError,
    lexer::{self, Kind},
    users::{Requirement, Specified},
};

/// How long what REQUIRE names may be, in bytes.
const SPECIFIED_MAX: usize = 4096;

/// A statement about users, if it is one.
pub(super) fn account(c: &mut Cursor) -> Parsed<Option<Command>> {
    let command = if c.eat_all(&["CREATE", "USER"]) {
        let if_not_exists = c.eat_all(&["IF", "NOT", "EXISTS"]);
        Command::CreateUser {
            if_not_exists,
            users: c.list(spec)?,
            options: options(c)?,
        }
    } else if c.eat_all(&["ALTER", "USER"]) {
        let if_exists = c.eat_all(&["IF", "EXISTS"]);
        Command::AlterUser {
            if_exists,
            users: c.list(spec)?,
            options: options(c)?,
        }
    } else if c.eat_all(&["DROP", "USER"]) {
        let if_exists = c.eat_all(&["IF", "EXISTS"]);
        Command::DropUser {
            if_exists,
            users: c.list(user)?,
        }
    } else if c.eat_all(&["RENAME", "USER"]) {
        Command::RenameUser(c.list(|c| {
            let from = user(c)?;
            c.expect("TO")?;
            Ok((from, user(c)?))
        })?)
    } else if c.eat("GRANT") {
        grant(c)?
    } else if c.eat("REVOKE") {
        revoke(c)?
    } else {
        return Ok(None);
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
    let user = c.name_or_string()?;
    let token = c.peek();
    let host = if token.kind == Kind::UserVariable {
        c.next();
        let text = c.text(token);
        if text == b"@" {
            c.name_or_string()?
        } else {
            lexer::name(text).into_owned()
        }
    } else {
        "%".into()
    };
    if user.chars().count() > 32 {
        return Err(SqlError::string_too_long(user, "user name", 32));
    }
    if host.len() > 255 {
        return Err(SqlError::string_too_long(host, "host name", 255));
    }
    Ok(UserName {
        user,
        host: host.to_ascii_lowercase(),
        current: false,
    })
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
    })
}

fn identified(c: &mut Cursor) -> Parsed<Authentication> {
    let mut authentication = Authentication::default();
    if c.eat("WITH") {
        authentication.plugin = Some(c.name_or_string()?);
    }
    if c.eat("BY") {
        if c.is("RANDOM") {
            return Err(SqlError::not_supported("IDENTIFIED BY RANDOM PASSWORD"));
        }
        authentication.password = Some(c.string()?);
        if c.is("REPLACE") || c.is("RETAIN") {
            return Err(SqlError::not_supported(
                "REPLACE or RETAIN CURRENT PASSWORD",
            ));
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

/// Options of an account. Of most only those that ask for nothing are accepted.
fn options(c: &mut Cursor) -> Parsed<AccountOptions> {
    let options = AccountOptions {
        requirement: requirement(c)?,
    };
    let harmless: [&[&str]; 5] = [
        &["PASSWORD", "EXPIRE", "NEVER"],
        &["PASSWORD", "EXPIRE", "DEFAULT"],
        &["PASSWORD", "HISTORY", "DEFAULT"],
        &["PASSWORD", "REUSE", "INTERVAL", "DEFAULT"],
        &["ACCOUNT", "UNLOCK"],
    ];
    while !c.at_end() {
        if c.eat_all(&["PASSWORD", "REQUIRE", "CURRENT", "DEFAULT"]) {
            continue;
        }
        if harmless.iter().any(|words| c.eat_all(words)) {
            continue;
        }
        let known = [
            "WITH",
            "PASSWORD",
            "ACCOUNT",
            "FAILED_LOGIN_ATTEMPTS",
            "PASSWORD_LOCK_TIME",
            "COMMENT",
            "ATTRIBUTE",
            "DEFAULT",
        ];
        if known.iter().any(|word| c.is(word)) {
            return Err(SqlError::not_supported("account options"));
        }
        return Err(c.error());
    }
    Ok(options)
}

/// SET PASSWORD [FOR user] = 'password'
pub(super) fn set_password(c: &mut Cursor) -> Parsed<Command> {
    let user = if c.eat("FOR") { Some(user(c)?) } else { None };
    c.expect_symbol("=")?;
    let password = c.string()?;
    if c.is("REPLACE") || c.is("RETAIN") {
        return Err(SqlError::not_supported(
            "REPLACE or RETAIN CURRENT PASSWORD",
        ));
    }
    Ok(Command::SetPassword { user, password })
}

fn only_everything() -> SqlError {
    SqlError::not_supported("privileges other than ALL ON *.*")
}

fn grant(c: &mut Cursor) -> Parsed<Command> {
    let usage = c.eat("USAGE");
    if !usage && !c.eat("ALL") {
        return Err(only_everything());
    }
    c.eat("PRIVILEGES");
    if !c.eat("ON") {
        return Err(only_everything());
    }
    everywhere(c)?;
    c.expect("TO")?;
    let users = c.list(user)?;
    if c.is("IDENTIFIED") {
        return Err(c.error());
    }
    let grant_option = c.eat_all(&["WITH", "GRANT", "OPTION"]);
    Ok(Command::Grant {
        users,
        grant_option,
        usage,
    })
}

fn revoke(c: &mut Cursor) -> Parsed<Command> {
    c.eat_all(&["IF", "EXISTS"]);
    if !c.eat("ALL") {
        return Err(only_everything());
    }
    c.eat("PRIVILEGES");
    if c.eat_symbol(",") {
        c.expect("GRANT")?;
        c.expect("OPTION")?;
    } else {
        c.expect("ON")?;
        everywhere(c)?;
    }
    c.expect("FROM")?;
    Ok(Command::Revoke(c.list(user)?))
}

/// `*.*`
fn everywhere(c: &mut Cursor) -> Parsed<()> {
    if c.eat_symbol("*") && c.eat_symbol(".") && c.eat_symbol("*") {
        Ok(())
    } else {
        Err(only_everything())
    }
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
                Ok(Some(Command::CreateUser { users, .. })) => {
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
