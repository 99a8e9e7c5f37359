//! EXPLAIN: how a statement would be executed, from the plan that would be.
//!
//! ```text
//! plan ─▶ Reading ─▶ table (a row for each source), version1 (a document of blocks)
//!     └─▶ build ─▶ Step ─▶ tree (text) or json (a document of steps: version 2)
//!                   ▲
//!                   └── figures of the run: EXPLAIN ANALYZE
//! ```

mod build;
mod document;
mod joins;
mod json;
mod naming;
mod numbers;
mod operations;
mod path;
mod reading;
mod stages;
mod statement;
mod step;
mod table;
mod tree;
mod version1;
mod within;

pub use naming::Naming;
pub use step::{Figures, Place, Point};

use super::{InsertRows, Planner, Query};
use crate::{
    error::SqlError,
    expr::{Expr, ExprType, VariableScope, coercibility},
    output::ColumnMeta,
    parse::Parsed,
};
use build::Builder;
use cohort_engine::types::{Collation, Value};
use sqlparser::ast::{self, AnalyzeFormat, AnalyzeFormatKind};
use statement::{Change, Explained};
use step::Step;
use tree::Measured;

/// What EXPLAIN is to do.
#[derive(Debug)]
pub enum Explanation {
    /// The rows are known already.
    Known(Vec<Vec<Value>>),
    /// ANALYZE: the query runs first.
    Analyze(Box<Analysis>),
}

/// EXPLAIN ANALYZE.
#[derive(Debug)]
pub struct Analysis {
    /// What runs.
    pub query: Query,
    step: Step,
    form: Form,
    text: String,
}

impl Analysis {
    /// The text that is shown, with what was measured.
    #[must_use]
    pub fn text(&self, measured: &dyn Fn(Point) -> Option<Figures>) -> Value {
        let text = shown(self.form, &self.text, "select", &self.step, Some(measured));
        Value::Bytes(text.into_bytes())
    }
}

/// The form of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A row for each table.
    Table,
    /// The steps as an indented text.
    Tree,
    /// The steps as a document.
    Json,
    /// The blocks as a document.
    Version1,
}

fn shown(
    form: Form,
    text: &str,
    kind: &str,
    step: &Step,
    measured: Option<Measured<'_>>,
) -> String {
    match form {
        Form::Table | Form::Tree | Form::Version1 => tree::text(step, measured),
        Form::Json => json::document(text, kind, step, measured),
    }
}

/// The only column of the forms that are one text.
fn text_column() -> Vec<ColumnMeta> {
    /// A LONGTEXT's, as MySQL tells it.
    const LENGTH: u32 = 4_194_303;
    let ty = ExprType::string(LENGTH, Collation::Utf8mb40900AiCi, coercibility::IMPLICIT);
    vec![ty.or_null().meta("EXPLAIN")]
}

impl Planner<'_> {
    /// What EXPLAIN does, the columns of its result, and whether it locks rows.
    pub(super) fn explain(
        &mut self,
        parsed: &Parsed,
    ) -> Result<(Explanation, Vec<ColumnMeta>, bool), SqlError> {
        let (statement, format, analyze) = parts(parsed)?;
        let form = self.form(format, analyze)?;
        let statement = self.behind_with(statement)?;
        if analyze {
            return self.analyze(statement, form, parsed);
        }
        let known = |rows, columns| Ok((Explanation::Known(rows), columns, false));
        let explained = self.explained(statement)?;
        let is_false = |expr: &Expr| self.is_false(expr);
        let params = self.context.parameters;
        if form == Form::Table {
            return known(table::rows(&explained, &is_false), table::columns());
        }
        let one = |text: String| vec![vec![Value::Bytes(text.into_bytes())]];
        if form == Form::Version1 {
            let text = version1::document(&explained, &is_false, params)?;
            return known(one(text), text_column());
        }
        let builder = Builder::new(params);
        let (kind, step) = match &explained {
            Explained::Query(query) => ("select", builder.whole(query)?),
            Explained::Insert(plan) => {
                let rows = match &plan.rows {
                    InsertRows::Query(query) => builder.whole(query)?,
                    InsertRows::Values(_) | InsertRows::File(_) => Step::no_table(),
                };
                let (kind, verb) = match plan.replace {
                    true => ("replace", "Replace"),
                    false => ("insert", "Insert"),
                };
                let operation = format!("{verb} into {}", plan.table.name);
                (kind, Step::new("insert_values", operation, vec![rows]))
            }
            Explained::Change {
                change,
                block,
                tables,
                ..
            } => {
                let (kind, verb) = match change {
                    Change::Update => ("update", "Update"),
                    Change::Delete => ("delete", "Delete from"),
                };
                let operation = format!("{verb} {}", tables.join(", "));
                let rows = builder.changed(block)?;
                (kind, Step::new(kind, operation, vec![rows]))
            }
        };
        let text = shown(form, &parsed.text.explained(), kind, &step, None);
        known(one(text), text_column())
    }

    fn analyze(
        &mut self,
        statement: &ast::Statement,
        form: Form,
        parsed: &Parsed,
    ) -> Result<(Explanation, Vec<ColumnMeta>, bool), SqlError> {
        let ast::Statement::Query(query) = statement else {
            return Err(SqlError::not_supported("EXPLAIN ANALYZE of this statement"));
        };
        let (query, _) = self.top_query(query)?;
        let mut locks = false;
        query.each_source(&mut |source| locks |= source.lock.is_some());
        // The blocks stay where they are: their addresses say where rows are counted.
        let step = Builder::new(self.context.parameters).whole(&query)?;
        let analysis = Analysis {
            query,
            step,
            form,
            text: parsed.text.explained(),
        };
        Ok((
            Explanation::Analyze(Box::new(analysis)),
            text_column(),
            locks,
        ))
    }

    /// The form that is wanted: without FORMAT, that of explain_format.
    fn form(&self, format: Option<&AnalyzeFormat>, analyze: bool) -> Result<Form, SqlError> {
        let form = match format {
            None => match self.setting("explain_format")?.as_str() {
                "TREE" => Form::Tree,
                "JSON" => Form::Json,
                _ if analyze => Form::Tree,
                _ => Form::Table,
            },
            Some(AnalyzeFormat::TREE) => Form::Tree,
            Some(AnalyzeFormat::JSON) => Form::Json,
            // See `Converter::rewrite_word`.
            Some(AnalyzeFormat::TEXT | AnalyzeFormat::TRADITIONAL) => Form::Table,
            Some(AnalyzeFormat::GRAPHVIZ) => {
                let name = self.text.explain_format();
                return Err(SqlError::unknown_explain_format(name));
            }
        };
        if analyze && form == Form::Table {
            let what = "EXPLAIN ANALYZE with TRADITIONAL format";
            return Err(SqlError::not_supported(what));
        }
        let is_first = form == Form::Json && self.setting("explain_json_format_version")? == "1";
        match (is_first, analyze) {
            (true, true) => Err(SqlError::analyze_in_version_1()),
            (true, false) => Ok(Form::Version1),
            (false, _) => Ok(form),
        }
    }

    /// The value of a session's variable, as a text.
    fn setting(&self, name: &str) -> Result<String, SqlError> {
        let value = (self.context.variable)(VariableScope::Any, name)?;
        let mut text = Vec::new();
        crate::expr::text(&value, 0, &mut text);
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

/// The statement that is explained, the form that is asked for, and whether it is to run.
fn parts<'p>(
    parsed: &'p Parsed,
) -> Result<(&'p ast::Statement, Option<&'p AnalyzeFormat>, bool), SqlError> {
    let ast::Statement::Explain {
        describe_alias: _,
        analyze,
        verbose,
        query_plan,
        estimate,
        statement,
        format,
        options,
    } = &parsed.statement
    else {
        return Err(SqlError::not_supported("this statement"));
    };
    let text = &parsed.text;
    text.refuse("VERBOSE", *verbose)?;
    text.refuse("QUERY", *query_plan)?;
    text.refuse("ESTIMATE", *estimate)?;
    text.refuse("(", options.is_some())?;
    let format = format.as_ref().map(|format| match format {
        AnalyzeFormatKind::Keyword(format) | AnalyzeFormatKind::Assignment(format) => format,
    });
    Ok((statement, format, *analyze))
}
