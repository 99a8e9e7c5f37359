//! MATCH … AGAINST: what is searched for, what is found, and what it is worth.
//!
//! The text of a search becomes a [`Query`]: words, phrases and operators (`query`). The words are
//! looked up in the index all at once; sets of rows are then put together as the operators say, and
//! each row of the result gets a rank (`answer`):
//!
//! ```text
//! rank = sum over the words that count of   how often the row has it * idf²
//! idf  = log10(rows of the table / rows that have the word); of a word in every row log10(1.0001)
//! ```
//!
//! That is what InnoDB computes, in its precision. Boolean mode adds or takes 1 for `>` and `<`, and
//! what stands behind `~` counts for nothing.

mod answer;
mod query;

pub use answer::{Answer, Searched};
pub use query::Query;

/// MATCH … AGAINST as the parser makes a call of it: nobody can write this name without quotes. Its
/// arguments: the mode's words, what is searched for, and the columns.
pub const MATCH_AGAINST: &str = "match against";

/// How a search takes its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchMode {
    /// Any of the words: IN NATURAL LANGUAGE MODE, or nothing.
    Natural,
    /// Words with operators: IN BOOLEAN MODE.
    Boolean,
    /// Also the words of the rows that are found first: WITH QUERY EXPANSION.
    Expanded,
}

impl SearchMode {
    const ALL: [SearchMode; 3] = [
        SearchMode::Natural,
        SearchMode::Boolean,
        SearchMode::Expanded,
    ];
    /// What stands behind the text, as MySQL writes it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            SearchMode::Natural => "",
            SearchMode::Boolean => " in boolean mode",
            SearchMode::Expanded => " with query expansion",
        }
    }
    /// The mode of these words.
    #[must_use]
    pub fn of_words(words: &str) -> Option<SearchMode> {
        let mut all = SearchMode::ALL.into_iter();
        all.find(|mode| mode.words() == words)
    }
}
