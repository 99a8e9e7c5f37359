//! The expressions of `expressions.sql` have the values, warnings and errors that MySQL
//! gave them (`expressions.out`, written by `generate.py`).

use super::{
    Environment, EvalContext, Expr, ExprType, Scope, Statement, SubqueryUse, VariableScope,
    convert::conform, eval, infer, resolve_expr, types::NOT_FIXED,
};
use crate::{
    error::SqlError,
    lexer::{Mode, ValueKind},
    parse, text,
    warnings::Warnings,
};
use cohort_engine::types::{Collation, Column, ColumnType, Value};
use sqlparser::ast;
use std::{collections::HashMap, fmt::Write};

struct NoColumns;

impl Scope for NoColumns {
    fn column(&mut self, path: &[ast::Ident]) -> Result<Expr, SqlError> {
        let name: Vec<&str> = path.iter().map(|part| part.value.as_str()).collect();
        Err(SqlError::unknown_column(name.join("."), "field list"))
    }
    fn parameter(&mut self, _: u32) -> Result<Expr, SqlError> {
        Err(SqlError::syntax("?", 1))
    }
    fn subquery(&mut self, _: &ast::Query, _: SubqueryUse) -> Result<Vec<Expr>, SqlError> {
        Err(SqlError::not_supported("subqueries here"))
    }
    fn function(&mut self, _: &ast::Function) -> Result<Option<Expr>, SqlError> {
        Ok(None)
    }
    fn user_variable(&mut self, name: &str) -> ExprType {
        let value = variables().user_variable(name);
        let kind = value.map_or(ValueKind::Null, |(value, _)| ValueKind::of(&value));
        kind.variable_type(self.collation())
    }
}

#[derive(Default)]
struct Variables {
    values: HashMap<String, (Value, Collation)>,
    /// How often each has been given a value.
    set: HashMap<String, u32>,
}

impl Environment for Variables {
    fn user_variable(&self, name: &str) -> Option<(Value, Collation)> {
        self.values.get(name).cloned()
    }
    fn set_user_variable(&mut self, name: &str, value: Value, collation: Collation) {
        self.values.insert(name.to_string(), (value, collation));
        *self.set.entry(name.to_string()).or_default() += 1;
    }
    fn system_variable(&self, _: VariableScope, name: &str) -> Result<Value, SqlError> {
        Err(SqlError::unknown_variable(name))
    }
    fn set_last_insert_id(&mut self, _: u64) {}
    fn clock_micros(&self) -> i64 {
        0
    }
    fn random(&mut self) -> u64 {
        0
    }
    fn next_short_uuid(&mut self) -> u64 {
        0
    }
    fn sleep(&mut self, _: u64) -> bool {
        false
    }
    fn interruption(&self) -> Option<SqlError> {
        None
    }
}

fn variables() -> Variables {
    let mut variables = Variables::default();
    let collation = Collation::Utf8mb40900AiCi;
    variables.set_user_variable("one", Value::Int(1), collation);
    variables.set_user_variable("text", Value::Bytes(b"abc".to_vec()), collation);
    variables
}

fn expression(sql: &str) -> Result<Expr, SqlError> {
    let query = format!("SELECT {sql}");
    parse::parse(query.as_bytes(), Mode::default(), None, |parsed| {
        let ast::Statement::Query(query) = &parsed.statement else {
            panic!("{sql} is no query");
        };
        let ast::SetExpr::Select(select) = query.body.as_ref() else {
            panic!("{sql} is no SELECT");
        };
        let ast::SelectItem::UnnamedExpr(tree) = &select.projection[0] else {
            panic!("{sql} is no expression");
        };
        resolve_expr(tree, &mut NoColumns)
    })
}

fn value_of(sql: &str, warnings: &mut Warnings) -> Result<String, SqlError> {
    let expr = expression(sql)?;
    let (statement, mut variables) = (Statement::of_test(), variables());
    let mut context = EvalContext::new(&[], &statement, &mut variables, warnings);
    let value = eval(&expr, &[], &mut context)?;
    let value = conform(value, &infer(&expr), &mut context);
    if value.is_null() {
        return Ok("NULL".to_string());
    }
    let ty = infer(&expr);
    let mut out = Vec::new();
    if ty.ty.is_none() {
        super::text(&value, NOT_FIXED, &mut out);
    } else {
        text::put(&value, ty.decimals, &mut out);
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn answer(sql: &str) -> String {
    let mut warnings = Warnings::new(64);
    let mut out = String::new();
    match value_of(sql, &mut warnings) {
        Err(error) => writeln!(out, "! {} {}", error.code, error.message).unwrap(),
        Ok(value) => {
            writeln!(out, "{value}").unwrap();
            for condition in warnings.list() {
                let error = &condition.error;
                writeln!(out, "! {} {}", error.code, error.message).unwrap();
            }
        }
    }
    out
}

#[test]
fn expressions_as_mysql_computes_them() {
    let expected = include_str!("expressions.out");
    let mut differences = String::new();
    let mut count = 0;
    for case in expected.strip_prefix("> ").unwrap().split("\n> ") {
        let (sql, expected) = case.split_once('\n').unwrap();
        let found = answer(sql);
        count += 1;
        if found.trim_end() != expected.trim_end() {
            writeln!(
                differences,
                "{sql}\n  expected {expected}\n  found    {found}"
            )
            .unwrap();
        }
    }
    assert!(count > 400, "only {count} expressions were found");
    assert!(differences.is_empty(), "{differences}");
}

/// A column of the type that `type_text` writes so.
fn column(type_text: &str) -> Column {
    use ColumnType as T;
    let text = Collation::Utf8mb40900AiCi;
    let (unsigned, name) = match type_text.strip_suffix(" unsigned") {
        Some(name) => (true, name),
        None => (false, type_text),
    };
    let (ty, collation) = match name {
        "tinyint" => (T::TinyInt, Collation::Binary),
        "smallint" => (T::SmallInt, Collation::Binary),
        "mediumint" => (T::MediumInt, Collation::Binary),
        "int" => (T::Int, Collation::Binary),
        "bigint" => (T::BigInt, Collation::Binary),
        "float" => (T::Float, Collation::Binary),
        "double" => (T::Double, Collation::Binary),
        "decimal(5,2)" => (
            T::Decimal {
                precision: 5,
                scale: 2,
            },
            Collation::Binary,
        ),
        "char(3)" => (T::Char(3), text),
        "varchar(3)" => (T::VarChar(3), text),
        "varchar(10)" => (T::VarChar(10), text),
        "varchar(20)" => (T::VarChar(20), text),
        "varbinary(3)" => (T::VarChar(3), Collation::Binary),
        "tinytext" => (T::Text(1), text),
        "date" => (T::Date, Collation::Binary),
        "datetime" => (T::DateTime(0), Collation::Binary),
        "datetime(3)" => (T::DateTime(3), Collation::Binary),
        "datetime(6)" => (T::DateTime(6), Collation::Binary),
        "timestamp" => (T::Timestamp(0), Collation::Binary),
        "timestamp(2)" => (T::Timestamp(2), Collation::Binary),
        "time" => (T::Time(0), Collation::Binary),
        "time(1)" => (T::Time(1), Collation::Binary),
        "year" => (T::Year, Collation::Binary),
        other => panic!("no column of type {other} here"),
    };
    let column = Column {
        unsigned,
        collation,
        ..Column::new("c", ty)
    };
    assert_eq!(column.type_text(), type_text);
    column
}

/// What the column shows after the value was stored.
fn stored(
    column: &Column,
    sql: &str,
    ignore: bool,
    warnings: &mut Warnings,
) -> Result<String, SqlError> {
    let expr = expression(sql)?;
    let (statement, mut variables) = (Statement::of_test(), variables());
    let mut context = EvalContext::new(&[], &statement, &mut variables, warnings);
    context.storing = true;
    context.ignore = ignore;
    let value = super::eval(&expr, &[], &mut context)?;
    let value = super::assign(column, value, &mut context)?;
    if value.is_null() {
        return Ok("NULL".to_string());
    }
    let slot = Expr::Column {
        slot: 0,
        ty: ExprType::of_column(column),
    };
    let row = [value];
    let shown = super::eval(&slot, &row, &mut context)?;
    let mut out = Vec::new();
    text::put(&shown, infer(&slot).decimals, &mut out);
    let out = String::from_utf8_lossy(&out).into_owned();
    Ok(if column.ty == ColumnType::Year {
        format!("{out:0>4}")
    } else {
        out
    })
}

/// MySQL's answers, without its warnings that the operator is deprecated.
#[test]
fn binary_binds_tightly() {
    for (sql, expected) in [
        ("BINARY 'a' = 'A'", "0\n"),
        ("'a' = BINARY 'A'", "0\n"),
        ("BINARY ('a') = 'a' AND 1", "1\n"),
        ("CAST('a' AS BINARY) = 'A'", "0\n"),
        ("CONVERT('a', BINARY(1)) = 'A'", "0\n"),
    ] {
        assert_eq!(answer(sql), expected, "{sql}");
    }
}

#[test]
fn what_is_missing_is_refused() {
    assert!(answer("EXTRACTVALUE('<a/>', '/a')").starts_with("! 1235 "));
}

#[test]
fn assignments_as_mysql_makes_them() {
    let expected = include_str!("assignments.out");
    let mut differences = String::new();
    for case in expected.strip_prefix("> ").unwrap().split("\n> ") {
        let (head, expected) = case.split_once('\n').unwrap();
        let (ty, sql) = head.split_once(" | ").unwrap();
        let mut found = String::new();
        for ignore in [false, true] {
            let mut warnings = Warnings::new(64);
            match stored(&column(ty), sql, ignore, &mut warnings) {
                Err(error) => writeln!(found, "! {} {}", error.code, error.message).unwrap(),
                Ok(value) => {
                    writeln!(found, "= {value}").unwrap();
                    for condition in warnings.list() {
                        let error = &condition.error;
                        writeln!(found, "! {} {}", error.code, error.message).unwrap();
                    }
                }
            }
        }
        if found.trim_end() != expected.trim_end() {
            writeln!(
                differences,
                "{head}\n  expected {expected}\n  found    {found}"
            )
            .unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

/// A call of the matrix whose operands are assignments of `value`, each to a variable of its own;
/// how many there are.
fn with_assignments(call: &str, value: &str) -> (String, usize) {
    let mut count = 0;
    let mut assigned = String::new();
    for (place, part) in call.split('\'').enumerate() {
        if place > 0 {
            assigned.push('\'');
        }
        let mut rest = part;
        // Texts stay as they are.
        while let Some(at) = rest.find(['X', 'Y']).filter(|_| place % 2 == 0) {
            let is_name = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let (before, after) = (
                rest[..at].chars().next_back(),
                rest[at + 1..].chars().next(),
            );
            assigned.push_str(&rest[..at]);
            if is_name(before) || is_name(after) {
                assigned.push_str(&rest[at..=at]);
            } else {
                write!(assigned, "(@o{count} := {value})").unwrap();
                count += 1;
            }
            rest = &rest[at + 1..];
        }
        assigned.push_str(rest);
    }
    (assigned, count)
}

/// Every operator and function evaluates each operand once, or, if it does not need it, not at all.
#[test]
fn operands_are_evaluated_once() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../differ/calls.txt");
    let text = std::fs::read_to_string(path).expect("the calls of the matrix");
    let (operators, rest) = text.split_once("[aggregates]").expect("aggregates");
    let functions = rest.split_once("[functions]").expect("functions").1;
    let values = [
        "12",
        "-1",
        "0",
        "1.5",
        "2e0",
        "'12'",
        "'abc'",
        "''",
        "'2020-01-02'",
        "'10:11:12.5'",
        "_binary'a'",
        "X'0c'",
        "DATE'2020-01-02'",
        "TIME'10:11:12'",
        "TIMESTAMP'2020-01-02 10:11:12.5'",
        "NULL",
    ];
    let mut found = String::new();
    let mut seen = 0;
    // A value that is wanted as a number or a text is not asked for in the same way.
    let wanted = [
        "{}",
        "0 + {}",
        "5 | {}",
        "CONCAT({})",
        "CAST({} AS DECIMAL)",
        "NOT {}",
    ];
    let extra = "random: RAND(X) ;; SLEEP(X) ;; (X, 2) = (1, Y)";
    for line in operators.lines().chain(functions.lines()).chain([extra]) {
        let Some((_, calls)) = line.split_once(": ").filter(|_| !line.starts_with('#')) else {
            continue;
        };
        for ((call, value), wanted) in calls
            .split(" ;; ")
            .filter(|call| !call.starts_with("- "))
            .flat_map(|call| values.iter().map(move |value| (call, value)))
            .flat_map(|asked| wanted.iter().map(move |wanted| (asked, wanted)))
        {
            let (sql, count) = with_assignments(call, value);
            let sql = wanted.replace("{}", &format!("({sql})"));
            let Ok(expr) = expression(&sql) else {
                continue;
            };
            let (statement, mut variables) = (Statement::of_test(), Variables::default());
            let mut warnings = Warnings::new(64);
            let mut context = EvalContext::new(&[], &statement, &mut variables, &mut warnings);
            let _ = eval(&expr, &[], &mut context);
            seen += variables.set.len();
            for operand in 0..count {
                let times = variables.set.get(&format!("o{operand}"));
                if times.is_some_and(|times| *times > 1) {
                    writeln!(found, "{sql}: operand {operand} {times:?} times").unwrap();
                }
            }
        }
    }
    assert!(seen > 30_000, "only {seen} operands were evaluated");
    assert!(found.is_empty(), "{found}");
}
