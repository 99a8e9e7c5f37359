//! The definition of a view, as the data dictionary keeps it.
//!
//! The query is kept as text. It says everything that its author's session did: which columns `*`
//! was, whose column a name means, which database a table is in. So it means the same for everyone
//! who reads it, whatever their default database and settings are.

use super::Collation;
use serde::{Deserialize, Serialize};

/// A view: a query with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// The database it is in.
    pub database: String,
    /// Its name, as written.
    pub name: String,
    /// Its query.
    pub query: ViewQuery,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Whether the names of its columns were given beside the query.
    pub columns_given: bool,
    /// ALGORITHM.
    pub algorithm: ViewAlgorithm,
    /// User and host of DEFINER.
    pub definer: (String, String),
    /// SQL SECURITY INVOKER.
    pub invoker: bool,
    /// WITH CHECK OPTION.
    pub check_option: Option<CheckOption>,
    /// Whether its rows are rows of tables, so that a statement can read these tables in its place.
    pub mergeable: bool,
    /// Whether a statement that changes its rows can change those of its tables.
    pub updatable: bool,
    /// What information_schema says of that: no, if all its columns are computed, or its conditions
    /// read its tables, too.
    pub shown_updatable: bool,
    /// @@character_set_client of its author.
    pub character_set_client: String,
    /// @@collation_connection of its author, in which its strings are that say nothing else.
    pub collation_connection: Collation,
    /// When it was created or altered, in seconds since 1970.
    pub created: u64,
}

/// The query of a view.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewQuery {
    /// Its text, in which all tables have their databases.
    pub text: String,
    /// Where in the text the name of a database and the point behind it are: first byte and length.
    pub qualifiers: Vec<(u32, u32)>,
}

/// ALGORITHM of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ViewAlgorithm {
    /// UNDEFINED
    #[default]
    Undefined,
    /// MERGE
    Merge,
    /// TEMPTABLE
    TempTable,
}

/// WITH … CHECK OPTION of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckOption {
    /// Its own conditions only, and those of the views below that want to be checked themselves.
    Local,
    /// Those of all views below, too.
    Cascaded,
}

impl ViewQuery {
    /// The text as a session with this default database writes it: without that name.
    #[must_use]
    pub fn seen_from(&self, database: &str) -> String {
        let own = format!("{}.", super::quoted(database));
        let mut text = String::with_capacity(self.text.len());
        let mut done = 0;
        for &(start, length) in &self.qualifiers {
            let (start, end) = (start as usize, start as usize + length as usize);
            text.push_str(self.text.get(done..start).unwrap_or_default());
            let qualifier = self.text.get(start..end).unwrap_or_default();
            if qualifier != own {
                text.push_str(qualifier);
            }
            done = end;
        }
        text.push_str(self.text.get(done..).unwrap_or_default());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::ViewQuery;

    #[test]
    fn the_name_of_the_default_database_is_left_out() {
        let text = "select `d`.`t`.`a` AS `a` from `d`.`t` join `e`.`u`";
        let places = text.match_indices("`d`.").chain(text.match_indices("`e`."));
        let query = ViewQuery {
            text: text.to_string(),
            qualifiers: places
                .map(|(at, _)| (u32::try_from(at).unwrap(), 4))
                .collect(),
        };
        assert_eq!(
            query.seen_from("d"),
            "select `t`.`a` AS `a` from `t` join `e`.`u`"
        );
        assert_eq!(query.seen_from("x"), text);
    }
}
