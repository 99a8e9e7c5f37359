//! Aggregate and window functions, which only queries have.

use super::{condition::function_name, print::Printer, query::descending};
use crate::{error::SqlError, expr::is_window_function};
use cohort_engine::types::quoted;
use sqlparser::ast::{self, Expr};

type Text = Result<String, SqlError>;

/// Functions that MySQL keeps under another name.
const NAMES: [(&str, &str); 4] = [
    ("stddev", "std"),
    ("stddev_pop", "std"),
    ("var_pop", "variance"),
    ("count", "count"),
];

fn refused(what: impl std::fmt::Display) -> SqlError {
    SqlError::not_supported(format_args!("{what} in a view"))
}

/// Whether a call is one of an aggregate or window function.
pub(super) fn is_of_rows(function: &ast::Function, name: &str) -> bool {
    function.over.is_some() || crate::expr::is_aggregate(name) || is_window_function(name)
}

impl Printer<'_> {
    /// A call of an aggregate or window function.
    pub(super) fn call_of_rows(&self, function: &ast::Function) -> Text {
        let name = function_name(function);
        if self.meanings.is_none() || function.filter.is_some() {
            return Err(SqlError::not_supported(format_args!(
                "{function} in a definition"
            )));
        }
        let kept = NAMES.iter().find(|(written, _)| *written == name);
        let kept = kept.map_or(name.as_str(), |(_, kept)| kept);
        let args = match &function.args {
            ast::FunctionArguments::None => String::new(),
            ast::FunctionArguments::Subquery(_) => return Err(refused(function)),
            ast::FunctionArguments::List(list) => self.argument_list(&name, list)?,
        };
        let over = match &function.over {
            None => String::new(),
            Some(ast::WindowType::NamedWindow(window)) => {
                format!(" OVER {}", quoted(&window.value))
            }
            Some(ast::WindowType::WindowSpec(spec)) => {
                format!(" OVER ({}) ", self.specification(spec)?)
            }
        };
        Ok(format!("{kept}({args}){over}"))
    }

    fn argument_list(&self, name: &str, list: &ast::FunctionArgumentList) -> Text {
        let mut args = Vec::with_capacity(list.args.len());
        for arg in &list.args {
            match arg {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => {
                    args.push(self.value(expr)?);
                }
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) => args.push("0".into()),
                other => return Err(refused(other)),
            }
        }
        // The least of several is the least of all.
        let repeats = matches!(name, "min" | "max");
        let distinct = match list.duplicate_treatment {
            Some(ast::DuplicateTreatment::Distinct) if !repeats => "distinct ",
            Some(_) | None => "",
        };
        let mut text = format!("{distinct}{}", args.join(","));
        let mut separator = (name == "group_concat").then(|| "','".to_string());
        for clause in &list.clauses {
            match clause {
                ast::FunctionArgumentClause::OrderBy(keys) => {
                    let keys = keys.iter().map(|key| {
                        let direction = descending(key, "DESC")?;
                        let direction = if direction.is_empty() {
                            " ASC"
                        } else {
                            &direction
                        };
                        Ok(format!("{}{direction}", self.argument_key(key, &args)?))
                    });
                    let keys: Vec<String> = keys.collect::<Result<_, SqlError>>()?;
                    text.push_str(&format!(" order by {}", keys.join(",")));
                }
                ast::FunctionArgumentClause::Separator(value) => {
                    separator = Some(self.literal(&value.value)?);
                }
                other => return Err(refused(other)),
            }
        }
        if let Some(separator) = separator {
            text.push_str(&format!(" separator {separator}"));
        }
        Ok(text)
    }

    /// A key of ORDER BY in GROUP_CONCAT: a position is an argument.
    fn argument_key(&self, key: &ast::OrderByExpr, args: &[String]) -> Text {
        match crate::parse::key_position(&key.expr) {
            None => self.value(&key.expr),
            Some(position) => {
                let arg = position.checked_sub(1).and_then(|at| args.get(at));
                arg.cloned().ok_or_else(|| refused("a position"))
            }
        }
    }

    /// A window of the clause WINDOW.
    pub(super) fn window(&self, window: &ast::NamedWindowDefinition) -> Text {
        let ast::NamedWindowDefinition(name, expr) = window;
        let ast::NamedWindowExpr::WindowSpec(spec) = expr else {
            return Err(refused(window));
        };
        let spec = self.specification(spec)?;
        Ok(format!("{} AS ({spec}) ", quoted(&name.value)))
    }

    fn specification(&self, spec: &ast::WindowSpec) -> Text {
        let ast::WindowSpec {
            window_name,
            partition_by,
            order_by,
            window_frame,
        } = spec;
        let mut text = String::new();
        if let Some(name) = window_name {
            text.push_str(&format!("{} ", quoted(&name.value)));
        }
        if !partition_by.is_empty() {
            let keys = self.list(partition_by.iter())?;
            text.push_str(&format!("PARTITION BY {keys} "));
        }
        if !order_by.is_empty() {
            let keys = order_by.iter().map(|key| {
                let direction = descending(key, "desc")?;
                Ok(format!("{}{direction}", self.value(&key.expr)?))
            });
            let keys: Vec<String> = keys.collect::<Result<_, SqlError>>()?;
            text.push_str(&format!("ORDER BY {} ", keys.join(",")));
        }
        if let Some(frame) = window_frame {
            text.push_str(&self.frame(frame)?);
        }
        Ok(text)
    }

    fn frame(&self, frame: &ast::WindowFrame) -> Text {
        let unit = match frame.units {
            ast::WindowFrameUnits::Rows => "ROWS",
            ast::WindowFrameUnits::Range => "RANGE",
            ast::WindowFrameUnits::Groups => return Err(refused("GROUPS")),
        };
        let start = self.bound(&frame.start_bound)?;
        let end = match &frame.end_bound {
            Some(end) => self.bound(end)?,
            None => "CURRENT ROW".to_string(),
        };
        Ok(format!("{unit} BETWEEN {start} AND {end}"))
    }

    fn bound(&self, bound: &ast::WindowFrameBound) -> Text {
        let distance = |distance: &Option<Box<Expr>>| match distance.as_deref() {
            None => Ok("UNBOUNDED".to_string()),
            Some(Expr::Interval(interval)) => self.interval(interval),
            Some(expr) => self.value(expr),
        };
        Ok(match bound {
            ast::WindowFrameBound::CurrentRow => "CURRENT ROW".into(),
            ast::WindowFrameBound::Preceding(n) => format!("{} PRECEDING", distance(n)?),
            ast::WindowFrameBound::Following(n) => format!("{} FOLLOWING", distance(n)?),
        })
    }
}
