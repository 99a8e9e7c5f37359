//! Partial revokes: databases on which an account has not what it was granted on everything.
//!
//! ```text
//! GRANT SELECT, INSERT ON *.* TO clerk
//! REVOKE INSERT ON hr.* FROM clerk       INSERT everywhere but in hr
//! GRANT INSERT ON hr.* TO clerk          and there, too
//! ```
//!
//! They are names of databases, not patterns. Of several accounts and roles together each gives
//! what it gives alone: what one of them may not do in a database another may.

use super::{Grants, Privileges};
use std::collections::BTreeMap;

/// Databases that are computed, whose names may be written in any case.
const IN_ANY_CASE: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// What is not granted on which databases.
pub type Restrictions = BTreeMap<String, Privileges>;

/// Those on one database.
fn on(restrictions: &Restrictions, database: &str) -> Privileges {
    let is = |name: &str| name.eq_ignore_ascii_case(database);
    if restrictions.is_empty() || !IN_ANY_CASE.into_iter().any(is) {
        return restrictions.get(database).copied().unwrap_or_default();
    }
    let same = restrictions.iter().filter(|(name, _)| is(name));
    same.fold(Privileges::NONE, |all, (_, known)| all.with(*known))
}

impl Grants {
    /// What was granted on everything, as far as it holds in a database.
    #[must_use]
    pub fn global_in(&self, database: &str) -> Privileges {
        self.global.without(on(&self.restrictions, database))
    }

    /// After a GRANT of privileges on everything: `before` is what there was, and `by` what the
    /// grantor may not do itself, and so does not give.
    pub(super) fn restrict_granted(
        &mut self,
        before: &Grants,
        granted: Privileges,
        by: &Restrictions,
    ) {
        for (database, restricted) in by {
            let had = before.global_in(database);
            let new = granted.both(*restricted).without(had);
            let known = self.restrictions.entry(database.clone()).or_default();
            *known = known.with(new);
        }
        for (database, known) in &mut self.restrictions {
            let given = granted.without(on(by, database));
            *known = known.without(given);
        }
        self.forget_unrestricted();
    }

    /// After a REVOKE of privileges on everything.
    pub(super) fn revoke_restrictions(&mut self, revoked: Privileges) {
        for known in self.restrictions.values_mut() {
            *known = known.without(revoked);
        }
        self.forget_unrestricted();
    }

    /// Takes back what does not hold in a database; what is left of a GRANT there.
    pub(super) fn lift(&mut self, database: &str, granted: Privileges) -> Privileges {
        let Some(known) = self.restrictions.get_mut(database) else {
            return granted;
        };
        let left = granted.without(*known);
        *known = known.without(granted);
        self.forget_unrestricted();
        left
    }

    /// Privileges on everything do not hold in a database any more.
    pub(super) fn restrict(&mut self, database: &str, privileges: Privileges) {
        let new = privileges.both(self.global);
        let known = self.restrictions.entry(database.to_owned()).or_default();
        *known = known.with(new);
        self.forget_unrestricted();
    }

    /// With the grants on everything of another account or role.
    pub(super) fn add_global(&mut self, other: &Grants) {
        let both = self.global.with(other.global);
        let names = self.restrictions.keys().chain(other.restrictions.keys());
        let together = names.map(|name| {
            let has = self.global_in(name).with(other.global_in(name));
            (name.clone(), both.without(has))
        });
        self.restrictions = together.collect();
        self.global = both;
        self.forget_unrestricted();
    }

    fn forget_unrestricted(&mut self) {
        self.restrictions.retain(|_, known| !known.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Granted, Level, NamedPrivilege, Privilege as P, Right, grants::revoked},
        *,
    };

    fn these(privileges: &[P]) -> Granted {
        let named = privileges.iter().map(|privilege| NamedPrivilege {
            right: Right::Static(*privilege),
            columns: Vec::new(),
        });
        Granted::These(named.collect())
    }

    fn everywhere(privileges: &[P]) -> Grants {
        let mut grants = Grants::default();
        grants.grant(&these(privileges), &Level::Everything, false, ("", 0));
        grants
    }

    fn hr() -> Level {
        Level::Database("hr".into())
    }

    #[test]
    fn what_is_revoked_in_a_database_is_granted_there_again() {
        let mut grants = everywhere(&[P::Select, P::Insert]);
        assert!(!revoked(&mut grants, &these(&[P::Insert]), &hr(), false));
        assert!(!revoked(
            &mut grants,
            &these(&[P::Insert, P::Delete]),
            &hr(),
            true
        ));
        assert!(!revoked(&mut grants, &Granted::All, &hr(), true));
        assert!(revoked(&mut grants, &these(&[P::Insert]), &hr(), true));
        assert_eq!(grants.global_in("hr"), P::Select.into());
        assert!(grants.global_in("HR").has(P::Insert));
        grants.grant(&these(&[P::Insert, P::Delete]), &hr(), false, ("", 0));
        assert_eq!(grants.restrictions, Restrictions::new());
        assert_eq!(grants.databases["hr"], P::Delete.into());
        // With a grant on it everything there is to be taken is taken.
        assert!(revoked(&mut grants, &Granted::All, &hr(), true));
        assert_eq!(grants.global_in("hr"), Privileges::NONE);
        assert!(revoked(
            &mut grants,
            &these(&[P::Select]),
            &Level::Everything,
            true
        ));
        assert_eq!(grants.restrictions["hr"], P::Insert.into());
    }

    #[test]
    fn nobody_gives_what_they_have_not() {
        let by = Restrictions::from([("hr".to_owned(), P::Select.into())]);
        let mut grants = Grants::default();
        let select = these(&[P::Select]);
        let give = |grants: &mut Grants, by: &Restrictions| {
            grants.grant_by(&select, &Level::Everything, false, ("", 0), by);
        };
        give(&mut grants, &by);
        assert_eq!(grants.restrictions, by);
        give(&mut grants, &Restrictions::new());
        assert_eq!(grants.restrictions, Restrictions::new());
        give(&mut grants, &by);
        assert_eq!(grants.restrictions, Restrictions::new(), "it had it before");
        assert!(revoked(
            &mut grants,
            &select,
            &Level::Database("mysql".into()),
            true
        ));
        assert_eq!(grants.global_in("MySQL"), Privileges::NONE);
        assert!(revoked(
            &mut grants,
            &select,
            &Level::Database("SYS".into()),
            true
        ));
        assert_eq!(grants.global_in("sys"), Privileges::NONE);
        give(&mut grants, &by);
        assert_eq!(grants.restrictions, Restrictions::new());
    }

    #[test]
    fn roles_give_what_each_gives_alone() {
        let mut grants = everywhere(&[P::Select]);
        grants.restrict("hr", P::Select.into());
        grants.restrict("it", P::Select.into());
        let mut role = everywhere(&[P::Select, P::Insert]);
        role.restrict("hr", P::Insert.into());
        role.restrict("it", P::Select.into());
        grants.add(&role);
        let expected = [("hr", P::Insert), ("it", P::Select)];
        let expected = expected.map(|(name, privilege)| (name.to_owned(), privilege.into()));
        assert_eq!(grants.restrictions, Restrictions::from(expected));
    }
}
