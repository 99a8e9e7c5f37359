//! What a replica is told: how far it goes, and which of its source's changes it makes: CHANGE
//! REPLICATION FILTER, by MySQL's rules
//! (<https://dev.mysql.com/doc/refman/9.7/en/replication-rules.html>).
//!
//! Rows are of their table's database. A definition counts as one of its session's default
//! database, as in MySQL, and then of the tables that it changes.

use cohort_engine::types::{Collation, GtidSet, collation};
use std::{borrow::Cow, collections::BTreeMap, fmt::Write};

/// How far START REPLICA goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// Before the first transaction of these.
    BeforeGtids(GtidSet),
    /// Until all of these are there.
    AfterGtids(GtidSet),
    /// Up to a position of a file of the source.
    Position(String, u64),
}

/// The number of a file of some source's log, whatever it calls them: 17 of `mysql-bin.000017`. Their
/// order is that of their numbers: after `binlog.999999` comes `binlog.1000000`.
#[must_use]
pub fn source_file_number(name: &str) -> Option<u64> {
    let (_, digits) = name.rsplit_once('.')?;
    digits.parse().ok()
}

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilterRule {
    /// These databases only.
    DoDb,
    /// Not these.
    IgnoreDb,
    /// These tables only.
    DoTable,
    /// Not these.
    IgnoreTable,
    /// Tables of such names only: patterns of LIKE for `database.table`.
    WildDoTable,
    /// Not those.
    WildIgnoreTable,
    /// What is of one database there is of another one here. It is the first that happens.
    RewriteDb,
}

impl FilterRule {
    /// All of them.
    pub const ALL: [FilterRule; 7] = [
        FilterRule::DoDb,
        FilterRule::IgnoreDb,
        FilterRule::DoTable,
        FilterRule::IgnoreTable,
        FilterRule::WildDoTable,
        FilterRule::WildIgnoreTable,
        FilterRule::RewriteDb,
    ];

    /// Its name in statements, in upper case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FilterRule::DoDb => "REPLICATE_DO_DB",
            FilterRule::IgnoreDb => "REPLICATE_IGNORE_DB",
            FilterRule::DoTable => "REPLICATE_DO_TABLE",
            FilterRule::IgnoreTable => "REPLICATE_IGNORE_TABLE",
            FilterRule::WildDoTable => "REPLICATE_WILD_DO_TABLE",
            FilterRule::WildIgnoreTable => "REPLICATE_WILD_IGNORE_TABLE",
            FilterRule::RewriteDb => "REPLICATE_REWRITE_DB",
        }
    }
}

/// What a rule is about: a database; a database and a table; a pattern; or one database and another.
pub type FilterEntry = (String, Option<String>);

/// The rules that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicationFilter(BTreeMap<FilterRule, Vec<FilterEntry>>);

impl ReplicationFilter {
    /// Sets a rule; without entries there is none.
    pub fn set(&mut self, rule: FilterRule, entries: Vec<FilterEntry>) {
        match entries.is_empty() {
            true => self.0.remove(&rule),
            false => self.0.insert(rule, entries),
        };
    }

    /// The entries of a rule.
    #[must_use]
    pub fn entries(&self, rule: FilterRule) -> &[FilterEntry] {
        self.0.get(&rule).map_or(&[], Vec::as_slice)
    }

    /// Whether everything is made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A rule's entries, as SHOW REPLICA STATUS shows them.
    #[must_use]
    pub fn shown(&self, rule: FilterRule) -> String {
        let mut text = String::new();
        for (first, second) in self.entries(rule) {
            let comma = if text.is_empty() { "" } else { "," };
            // Writing to a String does not fail.
            let _ = match (rule, second) {
                (FilterRule::RewriteDb, Some(to)) => write!(text, "{comma}({first},{to})"),
                (_, Some(table)) => write!(text, "{comma}{first}.{table}"),
                (_, None) => write!(text, "{comma}{first}"),
            };
        }
        text
    }

    /// The database here of one there.
    #[must_use]
    pub fn rewritten<'d>(&'d self, database: &'d str) -> Cow<'d, str> {
        let mut entries = self.entries(FilterRule::RewriteDb).iter();
        let entry = entries.find(|(from, _)| from == database);
        Cow::Borrowed(entry.and_then(|(_, to)| to.as_deref()).unwrap_or(database))
    }

    /// Whether what is of this database is made. A definition in a session without a default database
    /// (an empty name) is of none of those that were chosen, whatever it names.
    #[must_use]
    pub fn takes_database(&self, database: &str) -> bool {
        let named = |rule| {
            let mut entries = self.entries(rule).iter();
            entries.any(|(name, _)| name == database)
        };
        match self.entries(FilterRule::DoDb) {
            [] => !named(FilterRule::IgnoreDb),
            _ => named(FilterRule::DoDb),
        }
    }

    /// Whether a statement is made that makes, changes or drops a whole database, and whose default
    /// database is taken: patterns count that take any table of it, unless databases are chosen.
    #[must_use]
    pub fn takes_whole(&self, database: &str) -> bool {
        let name = format!("{database}.");
        let is_unset = |rule| self.entries(rule).is_empty();
        match () {
            () if !(is_unset(FilterRule::DoDb) && is_unset(FilterRule::IgnoreDb)) => true,
            () if self.fits(FilterRule::WildDoTable, &name) => true,
            () if self.fits(FilterRule::WildIgnoreTable, &name) => false,
            () => is_unset(FilterRule::WildDoTable),
        }
    }

    /// Whether a change of these tables is made: the first of them that a rule is about decides.
    #[must_use]
    pub fn takes_tables<'t>(&self, tables: impl IntoIterator<Item = (&'t str, &'t str)>) -> bool {
        let named = |rule, table: (&str, &str)| {
            let mut entries = self.entries(rule).iter();
            entries
                .any(|(database, name)| (&**database, name.as_deref()) == (table.0, Some(table.1)))
        };
        for table in tables {
            let name = format!("{}.{}", table.0, table.1);
            if named(FilterRule::DoTable, table) {
                return true;
            }
            if named(FilterRule::IgnoreTable, table) {
                return false;
            }
            if self.fits(FilterRule::WildDoTable, &name) {
                return true;
            }
            if self.fits(FilterRule::WildIgnoreTable, &name) {
                return false;
            }
        }
        self.entries(FilterRule::DoTable).is_empty()
            && self.entries(FilterRule::WildDoTable).is_empty()
    }

    /// Whether one of a rule's patterns fits a name. `_` is a byte of it.
    fn fits(&self, rule: FilterRule, name: &str) -> bool {
        let order = Collation::Binary;
        let mut entries = self.entries(rule).iter();
        entries.any(|(pattern, _)| {
            collation::like(order, name.as_bytes(), pattern.as_bytes(), Some('\\'))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FilterRule::*;

    type Entries<'a> = &'a [(&'a str, Option<&'a str>)];

    fn filter(rules: &[(FilterRule, Entries<'_>)]) -> ReplicationFilter {
        let mut filter = ReplicationFilter::default();
        for (rule, entries) in rules {
            let owned = entries
                .iter()
                .map(|(a, b)| ((*a).into(), b.map(Into::into)));
            filter.set(*rule, owned.collect());
        }
        filter
    }

    #[test]
    fn files_are_ordered_by_number() {
        let number = source_file_number;
        assert_eq!(number("mysql-bin.000017"), Some(17));
        assert!(number("binlog.1000000") > number("binlog.999999"));
        assert_eq!(
            (number(""), number("binlog"), number("binlog.x")),
            (None, None, None)
        );
    }

    #[test]
    fn databases_are_chosen() {
        let only = filter(&[(DoDb, &[("a", None)]), (IgnoreDb, &[("a", None)])]);
        assert!(only.takes_database("a") && !only.takes_database("b") && !only.takes_database(""));
        let not = filter(&[(IgnoreDb, &[("a", None)])]);
        assert!(not.takes_database("") && !not.takes_database("a") && not.takes_database("A"));
        let patterns = filter(&[(WildDoTable, &[("a%.%", None), ("b.t", None)])]);
        assert!(patterns.takes_whole("ab") && !patterns.takes_whole("b"));
        let patterns = filter(&[(WildIgnoreTable, &[("a.%", None)])]);
        assert!(!patterns.takes_whole("a") && patterns.takes_whole("b"));
    }

    #[test]
    fn tables_are_chosen() {
        let takes =
            |filter: &ReplicationFilter, database, table| filter.takes_tables([(database, table)]);
        let only = filter(&[(DoTable, &[("a", Some("t"))])]);
        assert!(takes(&only, "a", "t") && !takes(&only, "a", "u") && !takes(&only, "a", "T"));
        let not = filter(&[(IgnoreTable, &[("a", Some("t"))])]);
        assert!(!takes(&not, "a", "t") && takes(&not, "a", "u"));
        let both = filter(&[
            (IgnoreTable, &[("a", Some("t"))]),
            (WildDoTable, &[("a.%", None)]),
        ]);
        assert!(!takes(&both, "a", "t") && !takes(&both, "A", "u") && !takes(&both, "b", "u"));
        let escaped = filter(&[(WildIgnoreTable, &[(r"a\_b.t%", None)])]);
        assert!(!takes(&escaped, "a_b", "t1") && takes(&escaped, "axb", "t1"));
        // The first that a rule is about decides; without tables nothing does.
        assert!(not.takes_tables([("b", "u"), ("a", "u")]));
        assert!(!not.takes_tables([("b", "u"), ("a", "t")]));
    }

    #[test]
    fn databases_have_other_names_here() {
        let filter = filter(&[(RewriteDb, &[("a", Some("b")), ("b", Some("c"))])]);
        assert_eq!(filter.rewritten("a"), "b");
        assert_eq!(filter.rewritten("b"), "c");
        assert_eq!(filter.rewritten("c"), "c");
        assert_eq!(filter.shown(RewriteDb), "(a,b),(b,c)");
    }
}
