//! Notes what the names of a query's text mean while it is compiled: the text of a view is printed with
//! them (`expr_text`).

use super::{
    Planner,
    named::{At, Called},
    scope::Names,
};
use crate::{expr::Expr, expr_text::Meant};
use sqlparser::{
    ast::{self, helpers::attached_token::AttachedToken},
    tokenizer::Span,
};

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
        if let (Some(meanings), Some(meant)) = (&mut self.meanings, meant) {
            meanings.note_name(path, meant);
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
            meanings.note_star(options, meant);
        }
    }

    /// Notes how the columns of a SELECT are called.
    pub(super) fn note_select(
        &mut self,
        token: &AttachedToken,
        names: impl Iterator<Item = String>,
    ) {
        if let Some(meanings) = &mut self.meanings {
            meanings.note_select(token, names.collect());
        }
    }

    /// Notes a table or view of FROM: its database and its name.
    pub(super) fn note_table(&mut self, name: &ast::ObjectName, known: (&str, &str)) {
        if let Some(meanings) = &mut self.meanings {
            meanings.note_table(name, known);
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
            meanings.note_join(joined, meant);
        }
    }
}
