//! The columns of the experiment's tables.

use super::service::Manner;

/// What is done in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Transfers between accounts.
    Transfer(Manner),
    /// Sagas of two steps: without URLs, or calling what answers at once.
    Alone { http: bool },
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
    name: &'static str,
    title: &'static str,
    times: u32,
    barrier: bool,
    without: Option<&'static str>,
) -> Column {
    let manner = Manner {
        coordinated: without.is_some() || times == 0,
        times,
        barrier,
    };
    Column {
        name,
        title,
        work: Work::Transfer(manner),
        without,
    }
}

const fn alone(name: &'static str, title: &'static str, http: bool) -> Column {
    Column {
        name,
        title,
        work: Work::Alone { http },
        without: None,
    }
}

/// All of them, in the article's order.
pub static COLUMNS: [Column; 9] = [
    transfer("none", "none, 2 SQL", 1, false, None),
    transfer("0-sql", "0 SQL", 0, false, None),
    transfer("2-sql", "2 SQL", 1, false, Some("none")),
    transfer("2-sql-barrier", "2 SQL + barrier", 1, true, Some("none")),
    transfer("none-10", "none, 10 SQL", 5, false, None),
    transfer("10-sql", "10 SQL", 5, false, Some("none-10")),
    transfer(
        "10-sql-barrier",
        "10 SQL + barrier",
        5,
        true,
        Some("none-10"),
    ),
    alone("empty", "empty branches", false),
    alone("http", "HTTP branches", true),
];

impl Column {
    /// The one of this name.
    pub fn named(name: &str) -> Result<&'static Column, String> {
        let found = COLUMNS.iter().find(|column| column.name == name);
        found.ok_or_else(|| format!("{name}: no such column"))
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
            assert!(with.coordinated && !without.coordinated);
            assert_eq!(with.times, without.times);
        }
    }
}
