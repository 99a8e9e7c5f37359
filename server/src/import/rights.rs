//! The rights of an account, as the target may take them.

use super::{
    look::Refused,
    servers::Session,
    text::{name, string, without_quoted},
};
use cohort_mysql::client::wire::ServerError;

const NOTHING: &str = "GRANT USAGE ON *.*";
/// The errors for privileges that there are not: for one word, and for several.
const NO_PRIVILEGE: [u16; 2] = [1149, 1064];
/// The errors for databases, tables and columns that there are not.
const NOT_THERE: [u16; 3] = [1049, 1054, 1146];

/// A line of SHOW GRANTS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Right {
    /// GRANT … ON …, or GRANT and roles.
    what: String,
    /// WITH GRANT OPTION or WITH ADMIN OPTION.
    option: &'static str,
}

impl Right {
    /// The line of an account, `(user, host)`; `None`: it is none that gives a right to that account.
    fn of(line: &str, account: (&str, &str)) -> Option<Right> {
        let quoted = format!(" TO {}@{}", string(account.0), string(account.1));
        // MariaDB's roles have no host.
        let role = format!(" TO {}", name(account.0));
        let (what, tail) = line
            .rsplit_once(&as_names(account))
            .or_else(|| line.rsplit_once(&quoted))
            .or_else(|| line.rsplit_once(&role))?;
        // MariaDB says the password again, and what the account must be like.
        let tail = without_quoted(tail);
        let has = |option: &str| {
            tail.find(" WITH ")
                .is_some_and(|at| tail[at..].contains(option))
        };
        what.starts_with("GRANT ").then(|| Right {
            what: what.to_owned(),
            option: match (has(" GRANT OPTION"), has(" ADMIN OPTION")) {
                (true, _) => " WITH GRANT OPTION",
                (false, true) => " WITH ADMIN OPTION",
                (false, false) => "",
            },
        })
    }

    /// The statement that gives it to an account.
    pub fn grant(&self, account: (&str, &str)) -> String {
        format!("{}{}{}", self.what, as_names(account), self.option)
    }

    /// The privileges that it gives for all databases, each alone; `None`: it is of another kind.
    fn each(&self) -> Option<Vec<Right>> {
        let list = self.what.strip_prefix("GRANT ")?.strip_suffix(" ON *.*")?;
        let each = list.split(',').map(|name| Right {
            what: format!("GRANT {} ON *.*", name.trim()),
            option: self.option,
        });
        Some(each.collect())
    }

    /// Whether it gives roles.
    pub fn is_of_roles(&self) -> bool {
        let bare = without_quoted(&self.what);
        !bare.contains(" ON ")
    }

    /// The roles that it gives: their names and hosts.
    pub fn roles(&self) -> Vec<(String, String)> {
        let list = match self.is_of_roles() {
            true => self.what.strip_prefix("GRANT ").unwrap_or_default(),
            false => return Vec::new(),
        };
        let bare = without_quoted(list);
        let mut roles = Vec::new();
        let mut begin = 0;
        for end in bare
            .match_indices(',')
            .map(|(at, _)| at)
            .chain([bare.len()])
        {
            let (role, bare) = (list[begin..end].trim(), bare[begin..end].trim());
            let (user, host) = match bare.find('@') {
                Some(at) => (&role[..at], unquoted(&role[at + 1..])),
                None => (role, "%".to_owned()),
            };
            roles.push((unquoted(user), host));
            begin = end + 1;
        }
        roles
    }

    /// Whether it is what servers give to each root besides all privileges.
    fn is_of_root(&self) -> bool {
        ["``@``", "``@`%`", "''@''", "''@'%'"]
            .iter()
            .any(|all| self.what == format!("GRANT PROXY ON {all}"))
    }

    /// Gives it to an account. Of privileges that the target does not know the others are given.
    ///
    /// # Errors
    /// The connection's.
    pub fn give(
        &self,
        target: &mut Session,
        account: (&str, &str),
    ) -> Result<Vec<(Right, ServerError)>, String> {
        let Err(error) = target.attempt(&self.grant(account))? else {
            return Ok(Vec::new());
        };
        let each = self.each().filter(|each| each.len() > 1);
        let Some(each) = each.filter(|_| NO_PRIVILEGE.contains(&error.code)) else {
            return Ok(vec![(self.clone(), error)]);
        };
        let mut refused = Vec::new();
        for one in each {
            refused.extend(one.give(target, account)?);
        }
        Ok(refused)
    }
}

/// Whether a right was refused because what it is on is not there.
pub fn is_on_nothing(error: &ServerError) -> bool {
    NOT_THERE.contains(&error.code)
}

/// A name without the backticks around it.
fn unquoted(name: &str) -> String {
    let inner = name
        .strip_prefix('`')
        .and_then(|rest| rest.strip_suffix('`'));
    inner.map_or_else(|| name.to_owned(), |inner| inner.replace("``", "`"))
}

fn as_names((user, host): (&str, &str)) -> String {
    format!(" TO {}@{}", name(user), name(host))
}

/// The rights by the lines of SHOW GRANTS, and those that are not given.
///
/// # Errors
/// Why the account may not be made at all: it would have more rights than it has.
pub fn of_lines(
    lines: Vec<String>,
    account: (&str, &str),
) -> Result<(Vec<Right>, Vec<Refused>), String> {
    let (mut rights, mut refused) = (Vec::new(), Vec::new());
    for line in lines {
        if line.starts_with("REVOKE ") {
            return Err(format!("a right is taken from it in part: {line}"));
        }
        match Right::of(&line, account) {
            Some(right) => rights.push(right),
            None => refused.push(Refused {
                what: line,
                why: "this is no right of an account".into(),
            }),
        }
    }
    rights.retain(|right| {
        let is_empty = right.what == NOTHING && right.option.is_empty();
        !is_empty && !right.is_of_root()
    });
    Ok((rights, refused))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: (&str, &str) = ("a", "%");

    fn grants(lines: &[&str]) -> Vec<String> {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        let (rights, refused) = of_lines(lines, A).unwrap();
        let refused = refused
            .into_iter()
            .map(|refused| format!("! {}", refused.what));
        rights
            .iter()
            .map(|right| right.grant(A))
            .chain(refused)
            .collect()
    }

    #[test]
    fn lines_of_mysql() {
        let all = "GRANT SELECT, INSERT, CREATE ROLE ON *.* TO `a`@`%` WITH GRANT OPTION";
        let dynamic = "GRANT CLONE_ADMIN,XA_RECOVER_ADMIN ON *.* TO `a`@`%`";
        let columns = "GRANT SELECT (`x`, `y`), INSERT ON `d`.`t` TO `a`@`%`";
        let role = "GRANT `r`@`%`,`s`@`%` TO `a`@`%` WITH ADMIN OPTION";
        let proxy = "GRANT PROXY ON ``@`` TO `a`@`%` WITH GRANT OPTION";
        let usage = "GRANT USAGE ON *.* TO `a`@`%`";
        let lines = [all, dynamic, columns, role, proxy, usage];
        assert_eq!(grants(&lines), [all, dynamic, columns, role]);
        let right = |line| Right::of(line, A).unwrap();
        assert!(right(role).is_of_roles() && !right(columns).is_of_roles());
        let pair = |user: &str, host: &str| (user.to_owned(), host.to_owned());
        let odd = "GRANT `r`@`%`,`s,@``t`@`h` TO `a`@`%`";
        assert_eq!(right(odd).roles(), [pair("r", "%"), pair("s,@`t", "h")]);
        assert_eq!(right("GRANT `r` TO `a`@`%`").roles(), [pair("r", "%")]);
        let each = right(all).each().unwrap();
        assert_eq!(
            each[2].grant(A),
            "GRANT CREATE ROLE ON *.* TO `a`@`%` WITH GRANT OPTION"
        );
        assert_eq!(right(columns).each(), None);
    }

    #[test]
    fn what_is_taken_in_part() {
        let lines = [
            "GRANT ALL PRIVILEGES ON *.* TO `a`@`%`",
            "REVOKE SELECT ON `d`.* FROM `a`@`%`",
        ];
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        assert!(of_lines(lines, A).unwrap_err().contains("REVOKE SELECT"));
    }

    #[test]
    fn lines_of_mariadb() {
        let own = "GRANT USAGE ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*1'";
        let some = grants(&[own, "GRANT SELECT ON `d`.* TO `a`@`%`"]);
        assert_eq!(some, ["GRANT SELECT ON `d`.* TO `a`@`%`"]);
        let all = "GRANT ALL PRIVILEGES ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*1' REQUIRE SSL \
                   WITH GRANT OPTION MAX_USER_CONNECTIONS 3";
        let of_role = "GRANT INSERT ON `d`.`t` TO `a`";
        assert_eq!(
            grants(&[all, of_role]),
            [
                "GRANT ALL PRIVILEGES ON *.* TO `a`@`%` WITH GRANT OPTION",
                "GRANT INSERT ON `d`.`t` TO `a`@`%`",
            ]
        );
    }
}
