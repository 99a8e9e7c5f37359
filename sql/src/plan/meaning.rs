//! What the names of a query's text mean, noted while it is compiled: the text of a view is printed
//! with them (`expr_text`).
//!
//! A place in the text is the number of its token, as the syntax tree tells it.

use super::{
    Planner,
    named::{At, Called},
    scope::Names,
};
use crate::expr::Expr;
use sqlparser::{ast, tokenizer::Span};
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
    pub fn select(&self, token: &ast::helpers::attached_token::AttachedToken) -> Option<&[String]> {
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

impl Names {
    fn meant_at(&self, at: At) -> Option<Meant> {
        let Called {
            alias,
            database,
            own_name,
        } = self.called(at)?;
        let (column, _) = self.name_of(at)?;
        let database = if own_name { database } else { "" };
        Some(Meant::Column {
            database: database.to_string(),
            table: alias.to_string(),
            column: column.to_string(),
        })
    }

    fn meant(&self, path: &[ast::Ident], expr: &Expr) -> Option<Meant> {
        let name = &path.last()?.value;
        let found = self.find_at(path, self.clause).ok().flatten();
        let found = found.filter(|at| self.value_of(*at).as_ref() == Some(expr));
        let grouped = !self.grouped.is_empty() || !self.aggregates.is_empty();
        let in_groups = match self.clause {
            "group statement" | "having clause" => true,
            "order clause" => grouped,
            _ => false,
        };
        let is_of_rows = |at: &At| self.called(*at).is_some_and(|c| !c.alias.is_empty());
        let at = match found {
            None if !in_groups || path.len() > 1 => self.at_of(expr),
            found => found,
        };
        match at.filter(is_of_rows) {
            Some(at) => self.meant_at(at),
            None => Some(Meant::Selected {
                name: name.clone(),
                by_name: in_groups
                    || at.is_some()
                    || self.aggregates_in(expr)
                    || self.windows_in(expr),
            }),
        }
    }
}

impl Planner<'_> {
    /// Notes what a name means that was found in the block of this level, and is this there.
    pub(super) fn note_name(&mut self, level: usize, path: &[ast::Ident], expr: &Expr) {
        if self.meanings.is_none() {
            return;
        }
        let meant = self
            .stack
            .get(level)
            .and_then(|names| names.meant(path, expr));
        if let (Some(meanings), Some(meant), Some(first)) =
            (&mut self.meanings, meant, path.first())
        {
            meanings.names.insert(place(first.span), meant);
        }
    }

    /// Notes what a `*` stands for.
    pub(super) fn note_star(&mut self, options: &ast::WildcardAdditionalOptions, columns: &[At]) {
        if self.meanings.is_none() {
            return;
        }
        let names = self.names();
        let meant = columns.iter().filter_map(|at| names.meant_at(*at));
        let meant = meant.collect();
        if let Some(meanings) = &mut self.meanings {
            let token = options.wildcard_token.0.span;
            meanings.stars.insert(place(token), meant);
        }
    }

    /// Notes how the columns of a SELECT are called.
    pub(super) fn note_select(
        &mut self,
        token: &ast::helpers::attached_token::AttachedToken,
        names: impl Iterator<Item = String>,
    ) {
        if let Some(meanings) = &mut self.meanings {
            meanings
                .selects
                .insert(place(token.0.span), names.collect());
        }
    }

    /// Notes a table or view of FROM: its database and its name.
    pub(super) fn note_table(&mut self, name: &ast::ObjectName, known: (&str, &str)) {
        let first = name.0.first().and_then(|part| part.as_ident());
        if let (Some(meanings), Some(first)) = (&mut self.meanings, first) {
            meanings.tables.insert(
                place(first.span),
                (known.0.to_string(), known.1.to_string()),
            );
        }
    }

    /// Notes which columns a join makes equal.
    pub(super) fn note_join(&mut self, joined: Span, pairs: &[(At, At)]) {
        if self.meanings.is_none() {
            return;
        }
        let names = self.names();
        let meant = pairs
            .iter()
            .filter_map(|(a, b)| Some((names.meant_at(*a)?, names.meant_at(*b)?)));
        let meant = meant.collect();
        if let Some(meanings) = &mut self.meanings {
            meanings.joins.insert(place(joined), meant);
        }
    }
}
