//! What the names of a query's text mean: noted while it is compiled (`plan/meaning.rs`), and printed
//! with it.
//!
//! A place in the text is the number of its token, as the syntax tree tells it.

use sqlparser::{
    ast::{self, helpers::attached_token::AttachedToken},
    tokenizer::Span,
};
use std::collections::BTreeMap;

/// What the names of a text mean.
#[derive(Clone, Debug, Default)]
pub struct Meanings {
    /// Names of columns, by their first token.
    names: BTreeMap<u64, Meant>,
    /// What each `*` stands for, by its token.
    stars: BTreeMap<u64, Vec<Meant>>,
    /// The names of the columns of each SELECT, by its token.
    selects: BTreeMap<u64, Vec<String>>,
    /// The tables and views in FROM, by the first token of their names: databases and names.
    tables: BTreeMap<u64, (String, String)>,
    /// The columns that USING and NATURAL join, by the first token of the table that is joined.
    joins: BTreeMap<u64, Vec<(Meant, Meant)>>,
}

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// A column of a table.
    Column {
        /// The database of a table that is called by its own name; for others it is empty.
        database: String,
        /// What the table is called.
        table: String,
        /// Its name.
        column: String,
    },
    /// Something that is selected, under this name.
    Selected {
        /// Its name.
        name: String,
        /// Whether it is only known by its name: it is made of groups or of other rows.
        by_name: bool,
    },
}

fn place(span: Span) -> u64 {
    span.start.column
}

impl Meanings {
    /// Notes what a name of a column means.
    pub fn note_name(&mut self, path: &[ast::Ident], meant: Meant) {
        if let Some(first) = path.first() {
            self.names.insert(place(first.span), meant);
        }
    }
    /// Notes what a `*` stands for.
    pub fn note_star(&mut self, options: &ast::WildcardAdditionalOptions, meant: Vec<Meant>) {
        let token = options.wildcard_token.0.span;
        self.stars.insert(place(token), meant);
    }
    /// Notes how the columns of a SELECT are called.
    pub fn note_select(&mut self, token: &AttachedToken, names: Vec<String>) {
        self.selects.insert(place(token.0.span), names);
    }
    /// Notes a table or view of FROM: its database and its name.
    pub fn note_table(&mut self, name: &ast::ObjectName, known: (&str, &str)) {
        if let Some(first) = name.0.first().and_then(|part| part.as_ident()) {
            let known = (known.0.to_string(), known.1.to_string());
            self.tables.insert(place(first.span), known);
        }
    }
    /// Notes which columns a join makes equal.
    pub fn note_join(&mut self, joined: Span, pairs: Vec<(Meant, Meant)>) {
        self.joins.insert(place(joined), pairs);
    }

    /// That of a name of a column.
    #[must_use]
    pub fn name(&self, path: &[ast::Ident]) -> Option<&Meant> {
        self.names.get(&place(path.first()?.span))
    }
    /// The columns that a `*` stands for.
    #[must_use]
    pub fn star(&self, options: &ast::WildcardAdditionalOptions) -> Option<&[Meant]> {
        let token = options.wildcard_token.0.span;
        self.stars.get(&place(token)).map(Vec::as_slice)
    }
    /// The names of the columns of a SELECT.
    #[must_use]
    pub fn select(&self, token: &AttachedToken) -> Option<&[String]> {
        self.selects.get(&place(token.0.span)).map(Vec::as_slice)
    }
    /// The database of a table; `None`: it is a table of WITH.
    #[must_use]
    pub fn database(&self, name: &ast::ObjectName) -> Option<&str> {
        let first = name.0.first()?.as_ident()?;
        let (database, _) = self.tables.get(&place(first.span))?;
        Some(database)
    }
    /// The tables and views in FROM: databases and names.
    #[must_use]
    pub fn uses(&self) -> Vec<(String, String)> {
        let mut uses: Vec<(String, String)> = self.tables.values().cloned().collect();
        uses.sort_unstable();
        uses.dedup();
        uses
    }
    /// The columns that a join makes equal by their names.
    #[must_use]
    pub fn join(&self, joined: Span) -> &[(Meant, Meant)] {
        self.joins.get(&place(joined)).map_or(&[], Vec::as_slice)
    }
}
