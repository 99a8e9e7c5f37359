//! Statements about files: LOAD DATA, and a SELECT whose rows go into one.
//!
//! LOAD DATA is an INSERT whose rows come from a file, see `parse::files`. What is special: the
//! columns may be named twice, and generated ones, too, for a field that nobody wants has to go
//! somewhere; the user variables that fields go to are texts for what is SET; and a column that is
//! not given and has no default is zero or empty, in strict mode, too.

use super::{
    Assigned, Block, Body, FieldSlot, Insert, InsertRows, Load, Plan, Planner, Query,
    dml::uses,
    from::From,
    named::At,
    scope::{Names, Outside},
    view_target::Change,
};
use crate::{
    error::SqlError,
    expr::{ExprType, coercibility},
    output::ColumnMeta,
    parse::{FieldTarget, IntoFile, IntoSyntax, LoadSyntax, Parsed},
    privileges::Privilege,
};
use cohort_engine::types::{Collation, Table};
use sqlparser::ast;
use std::sync::Arc;

/// Whose files a statement uses, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// LOAD DATA LOCAL: a file of the client.
    Client,
    /// LOAD DATA.
    Read,
    /// INTO OUTFILE or DUMPFILE.
    Write,
}

impl FileUse {
    /// That of a statement.
    pub(super) fn of(parsed: &Parsed<'_>) -> Option<FileUse> {
        match (&parsed.load, &parsed.into) {
            (Some(load), _) if load.local => Some(FileUse::Client),
            (Some(_), _) => Some(FileUse::Read),
            (None, IntoSyntax::File(_)) => Some(FileUse::Write),
            (None, IntoSyntax::Client | IntoSyntax::Variables(_)) => None,
        }
    }
}

impl Plan {
    /// Whose files it uses, and what for.
    #[must_use]
    pub fn file_use(&self) -> Option<FileUse> {
        match &self.body {
            Body::SelectIntoFile(_) => Some(FileUse::Write),
            Body::Insert(insert) => match &insert.rows {
                InsertRows::File(load) if load.local => Some(FileUse::Client),
                InsertRows::File(_) => Some(FileUse::Read),
                InsertRows::Values(_) | InsertRows::Query(_) => None,
            },
            _ => None,
        }
    }
    /// Whether it is LOAD DATA.
    #[must_use]
    pub fn is_load(&self) -> bool {
        matches!(&self.body, Body::Insert(insert) if matches!(insert.rows, InsertRows::File(_)))
    }
}

/// What becomes of the rows of a SELECT, and the columns that the client gets.
pub(super) fn into(
    query: Query,
    columns: Vec<ColumnMeta>,
    into: &IntoSyntax,
) -> Result<(Body, Vec<ColumnMeta>), SqlError> {
    match into {
        IntoSyntax::Client => Ok((Body::Select(query), columns)),
        IntoSyntax::Variables(names) if names.len() == query.types.len() => {
            Ok((Body::SelectInto(query, names.clone()), Vec::new()))
        }
        IntoSyntax::Variables(_) => Err(SqlError::select_column_counts_differ()),
        IntoSyntax::File(file) => {
            let export = Export {
                query,
                columns,
                file: file.clone(),
            };
            Ok((Body::SelectIntoFile(Box::new(export)), Vec::new()))
        }
    }
}

/// A SELECT whose rows go into a file.
#[derive(Debug)]
pub struct Export {
    /// The query.
    pub query: Query,
    /// Its columns.
    pub columns: Vec<ColumnMeta>,
    /// The file.
    pub file: IntoFile,
}

/// The type of a user variable that a field of a file goes to.
#[must_use]
pub(super) fn type_of_field(collation: Collation) -> ExprType {
    ExprType::string(u32::MAX, collation, coercibility::IMPLICIT).nullable_if(true)
}

impl Planner<'_> {
    /// Compiles LOAD DATA.
    pub(super) fn load(
        &mut self,
        insert: &ast::Insert,
        load: &LoadSyntax,
    ) -> Result<Insert, SqlError> {
        let name = self.plain_insert(insert)?;
        self.text.refuse_placeholders()?;
        self.stack.push(Names::new(Outside::Nothing));
        let loaded = self.load_into(name, insert, load);
        let names = self.stack.pop();
        let mut loaded = loaded?;
        if let Some(names) = names {
            if !names.subqueries.is_empty() {
                loaded.block.slots = names.slots;
            }
            loaded.block.subqueries = names.subqueries;
            let table = Arc::clone(&loaded.table);
            let mut subqueries = loaded.block.subqueries.iter();
            if let Some(used) = subqueries.find_map(|s| uses(&s.query, &table, Some(&table.name))) {
                return Err(SqlError::update_table_used(used));
            }
        }
        Ok(loaded)
    }

    fn load_into(
        &mut self,
        name: &ast::ObjectName,
        insert: &ast::Insert,
        load: &LoadSyntax,
    ) -> Result<Insert, SqlError> {
        let needed: &[Privilege] = match load.replace {
            true => &[Privilege::Insert, Privilege::Delete],
            false => &[Privilege::Insert],
        };
        let (table, view) = self.loaded_table(name, needed)?;
        let mut fields = Vec::with_capacity(load.targets.len());
        for target in &load.targets {
            fields.push(match target {
                FieldTarget::Column(name) => {
                    FieldSlot::Column(self.assigned_position(&table, name)?)
                }
                FieldTarget::Variable(name) => FieldSlot::Variable(name.clone()),
            });
        }
        if fields.is_empty() {
            let all = self.all_columns(&table, view)?;
            fields = all.into_iter().map(FieldSlot::Column).collect();
        }
        let mut set = Vec::with_capacity(insert.assignments.len());
        for assignment in &insert.assignments {
            let name = self.assigned_column(&assignment.target)?;
            if let Some(ident) = name.0.first().and_then(|part| part.as_ident())
                && ident.quote_style.is_none()
                && ident.value.starts_with('@')
            {
                return Err(self.text.error_at_word(&ident.value));
            }
            set.push(self.assigned_position(&table, name)?);
        }
        // What is SET begins with its default.
        let given: Vec<usize> = fields.iter().filter_map(FieldSlot::column).collect();
        let columns = [&given[..], &set].concat();
        if load.replace {
            self.note_change(0, Privilege::Delete, None);
        }
        self.note_change(0, Privilege::Insert, Some(&columns));
        self.names().clause = "field list";
        let mut assignments: Vec<(usize, Assigned)> = Vec::with_capacity(set.len());
        for (position, assignment) in set.into_iter().zip(&insert.assignments) {
            let value = self.assigned(&assignment.value, table.columns.get(position))?;
            assignments.push((position, value));
        }
        Ok(Insert {
            columns: given,
            rows: InsertRows::File(Box::new(Load {
                file: load.file.clone(),
                local: load.local,
                charset: load.charset,
                format: load.format.clone(),
                skip: load.skip,
                fields,
                assignments,
            })),
            // What a client sends cannot be stopped in the middle.
            ignore: load.ignore || load.local && !load.replace,
            replace: load.replace,
            on_duplicate: None,
            defaults: self.defaults(&table)?,
            per_row: 0,
            block: Block::default(),
            returning: None,
            table,
        })
    }

    /// Brings the table, or that of a view, into the block; and the number of the view.
    fn loaded_table(
        &mut self,
        name: &ast::ObjectName,
        needed: &[Privilege],
    ) -> Result<(Arc<Table>, Option<usize>), SqlError> {
        let Some(view) = self.view_named(name) else {
            let table = self.written_table(name, None, needed)?;
            self.add_target(&table, &table.name)?;
            return Ok((table, None));
        };
        self.may_name(&view.database, &view.name, needed)?;
        let mut from = From::default();
        self.view_part(&view, None, &mut from)?;
        let target = self.target_of_view(&from, &view, &view.name, Change::Load)?;
        let (number, table) = target.ok_or_else(|| SqlError::not_updatable(&view.name, "LOAD"))?;
        self.note_view_written(number, 0, Change::Load)?;
        Ok((table, Some(number)))
    }

    /// The columns that fields go to if none are named: those that can be seen of a table, or all of
    /// a view, 1348 if one of these is computed.
    fn all_columns(&mut self, table: &Table, view: Option<usize>) -> Result<Vec<usize>, SqlError> {
        let Some(number) = view else {
            let columns = table.named_columns().iter().enumerate();
            let visible = columns.filter(|(_, column)| column.visibility.is_visible());
            return Ok(visible.map(|(position, _)| position).collect());
        };
        let names = self.names();
        let count = names.views.get(number).map_or(0, |view| view.columns.len());
        let columns = (0..count).map(|column| names.changed_column(At::View(number, column)));
        columns.map(|at| Ok(at?.1)).collect()
    }
}
