//! What the account of an import may do at the source.

use super::servers::Session;

/// The lines of SHOW GRANTS.
pub struct Grants(Vec<String>);

impl Grants {
    /// Reads those of a session's account.
    pub fn read(session: &mut Session) -> Result<Grants, String> {
        let rows = session.query("SHOW GRANTS")?;
        Ok(Grants(rows.into_iter().flatten().flatten().collect()))
    }

    /// Whether it has a privilege for all databases.
    pub fn has_everywhere(&self, privilege: &str) -> bool {
        let lines = || self.0.iter().filter(|line| line.contains(" ON *.* "));
        lines().any(|line| gives(line, privilege))
    }

    /// Those of these privileges that it has nowhere.
    pub fn lacking(&self, privileges: &[&'static str]) -> Vec<&'static str> {
        let has = |privilege: &str| self.0.iter().any(|line| gives(line, privilege));
        let lacking = privileges.iter().filter(|privilege| !has(privilege));
        lacking.copied().collect()
    }
}

/// Whether a line names a privilege, or all.
fn gives(line: &str, privilege: &str) -> bool {
    let list = line.strip_prefix("GRANT ").unwrap_or_default();
    let list = list.split(" ON ").next().unwrap_or_default();
    let mut names = list.split(',').map(str::trim);
    names.any(|name| name == privilege || name == "ALL PRIVILEGES")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn privileges_of_lines() {
        let grants = Grants(vec![
            "GRANT RELOAD, REPLICATION SLAVE ON *.* TO `a`@`%`".into(),
            "GRANT SELECT, TRIGGER ON `d`.* TO `a`@`%`".into(),
        ]);
        assert!(grants.has_everywhere("REPLICATION SLAVE"));
        assert!(!grants.has_everywhere("SELECT"));
        assert_eq!(grants.lacking(&["TRIGGER", "EVENT"]), ["EVENT"]);
        let all = Grants(vec!["GRANT ALL PRIVILEGES ON *.* TO `a`@`%`".into()]);
        assert!(all.has_everywhere("SELECT") && all.lacking(&["EVENT"]).is_empty());
    }
}
