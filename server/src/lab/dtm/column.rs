//! The columns of the experiment's tables.

use super::service::{By, Manner};

/// What is done in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Transfers between accounts.
    Transfer(Manner),
    /// Sagas of two steps: without URLs, or calling what answers at once.
    Alone { by: By, http: bool },
}

/// A column of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    /// For the command line.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// What is done.
    pub work: Work,
    /// The column without coordinator that it is compared with.
    pub without: Option<&'static str>,
}

const fn transfer(
    (name, title): (&'static str, &'static str),
    by: By,
    (times, barrier): (u32, bool),
    without: Option<&'static str>,
) -> Column {
    let manner = Manner { by, times, barrier };
    Column {
        name,
        title,
        work: Work::Transfer(manner),
        without,
    }
}

const fn alone(name: &'static str, title: &'static str, by: By, http: bool) -> Column {
    Column {
        name,
        title,
        work: Work::Alone { by, http },
        without: None,
    }
}

/// All of them, in the article's order; then those of the null coordinator.
pub static COLUMNS: [Column; 16] = [
    transfer(("none", "none, 2 SQL"), NOBODY, (1, false), None),
    transfer(("0-sql", "0 SQL"), COORDINATOR, (0, false), None),
    transfer(("2-sql", "2 SQL"), COORDINATOR, (1, false), Some("none")),
    transfer(
        ("2-sql-barrier", "2 SQL + barrier"),
        COORDINATOR,
        (1, true),
        Some("none"),
    ),
    transfer(("none-10", "none, 10 SQL"), NOBODY, (5, false), None),
    transfer(
        ("10-sql", "10 SQL"),
        COORDINATOR,
        (5, false),
        Some("none-10"),
    ),
    transfer(
        ("10-sql-barrier", "10 SQL + barrier"),
        COORDINATOR,
        (5, true),
        Some("none-10"),
    ),
    alone("empty", "empty branches", COORDINATOR, false),
    alone("http", "HTTP branches", COORDINATOR, true),
    transfer(("0-sql-limit", "0 SQL, limit"), LIMIT, (0, false), None),
    transfer(
        ("2-sql-limit", "2 SQL, limit"),
        LIMIT,
        (1, false),
        Some("none"),
    ),
    transfer(
        ("2-sql-barrier-limit", "2 SQL + barrier, limit"),
        LIMIT,
        (1, true),
        Some("none"),
    ),
    transfer(
        ("10-sql-limit", "10 SQL, limit"),
        LIMIT,
        (5, false),
        Some("none-10"),
    ),
    transfer(
        ("10-sql-barrier-limit", "10 SQL + barrier, limit"),
        LIMIT,
        (5, true),
        Some("none-10"),
    ),
    alone("empty-limit", "empty branches, limit", LIMIT, false),
    alone("http-limit", "HTTP branches, limit", LIMIT, true),
];

const NOBODY: By = By::Nobody;
const COORDINATOR: By = By::Coordinator;
const LIMIT: By = By::Limit;

impl Column {
    /// The one of this name.
    pub fn named(name: &str) -> Result<&'static Column, String> {
        let found = COLUMNS.iter().find(|column| column.name == name);
        found.ok_or_else(|| format!("{name}: no such column"))
    }

    /// Who coordinates in it.
    pub fn by(&self) -> By {
        match self.work {
            Work::Transfer(Manner { by, .. }) | Work::Alone { by, .. } => by,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_compared_with_one_of_the_same_statements() {
        for column in &COLUMNS {
            let Some(other) = column.without else {
                continue;
            };
            let other = Column::named(other).unwrap();
            let (Work::Transfer(with), Work::Transfer(without)) = (column.work, other.work) else {
                panic!("{column:?}");
            };
            assert!(with.by != By::Nobody && without.by == By::Nobody);
            assert_eq!(with.times, without.times);
        }
    }
}
