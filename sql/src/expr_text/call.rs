//! Calls of functions, under the names and in the forms that MySQL keeps.

use super::{aggregate::is_of_rows, condition::function_name, print::Printer};
use crate::{
    error::SqlError,
    expr::functions::{self, interval::Unit},
};
use sqlparser::ast::{self, Expr};

type Text = Result<String, SqlError>;

/// Functions that MySQL keeps under another name.
const NAMES: [(&str, &str); 21] = [
    ("atan2", "atan"),
    ("ceil", "ceiling"),
    ("character_length", "char_length"),
    ("current_date", "curdate"),
    ("current_time", "curtime"),
    ("current_timestamp", "now"),
    ("day", "dayofmonth"),
    ("lcase", "lower"),
    ("localtime", "now"),
    ("localtimestamp", "now"),
    ("mid", "substr"),
    ("octet_length", "length"),
    ("power", "pow"),
    ("schema", "database"),
    ("session_user", "user"),
    ("sha1", "sha"),
    ("source_pos_wait", "master_pos_wait"),
    ("substring", "substr"),
    ("system_user", "user"),
    ("ucase", "upper"),
    ("datetime", "timestamp"),
];

/// The name under which MySQL keeps a function.
pub fn kept_name(name: &str) -> &str {
    let kept = NAMES.iter().find(|(written, _)| *written == name);
    kept.map_or(name, |(_, kept)| kept)
}

impl Printer<'_> {
    /// The arguments of a call that has nothing else.
    pub(super) fn arguments<'f>(
        &self,
        function: &'f ast::Function,
    ) -> Result<Vec<&'f Expr>, SqlError> {
        let refused = || SqlError::not_supported(format_args!("{function} in a definition"));
        let plain = function.over.is_none()
            && function.filter.is_none()
            && function.null_treatment.is_none()
            && function.within_group.is_empty();
        let list = match &function.args {
            _ if !plain => return Err(refused()),
            ast::FunctionArguments::None => return Ok(Vec::new()),
            ast::FunctionArguments::Subquery(_) => return Err(refused()),
            ast::FunctionArguments::List(list) => list,
        };
        if list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
            return Err(refused());
        }
        let args = list.args.iter().map(|arg| match arg {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Ok(expr),
            _ => Err(refused()),
        });
        args.collect()
    }

    /// A call by name.
    pub(super) fn call(&self, function: &ast::Function) -> Text {
        let name = function_name(function);
        if is_of_rows(function, &name) {
            return self.call_of_rows(function);
        }
        let args = self.arguments(function)?;
        if let Some(text) = self.rewritten(&name, &args)? {
            return Ok(text);
        }
        if functions::find(&name).is_none() {
            return Err(SqlError::not_supported(format_args!(
                "{}() in a definition",
                name.to_ascii_uppercase()
            )));
        }
        let kept = kept_name(&name);
        Ok(format!("{kept}({})", self.list(args.into_iter())?))
    }

    /// Calls that MySQL keeps as something else.
    fn rewritten(&self, name: &str, args: &[&Expr]) -> Result<Option<String>, SqlError> {
        let value = |expr: &Expr| self.value(expr);
        let text = match (name, args) {
            ("date_add" | "adddate", [date, Expr::Interval(interval)]) => {
                self.moved(date, "+", interval)?
            }
            ("date_sub" | "subdate", [date, Expr::Interval(interval)]) => {
                self.moved(date, "-", interval)?
            }
            ("adddate", [date, days]) => {
                format!("({} + interval {} day)", value(date)?, value(days)?)
            }
            ("subdate", [date, days]) => {
                format!("({} - interval {} day)", value(date)?, value(days)?)
            }
            ("timestampadd", [Expr::Identifier(unit), amount, date]) => {
                let unit = Unit::from_name(&unit.value)?.name();
                format!("({} + interval {} {unit})", value(date)?, value(amount)?)
            }
            ("timestampdiff", [Expr::Identifier(unit), a, b]) => {
                let unit = Unit::from_name(&unit.value)?.name().to_ascii_uppercase();
                format!("timestampdiff({unit},{},{})", value(a)?, value(b)?)
            }
            ("datediff", [a, b]) => format!("(to_days({}) - to_days({}))", value(a)?, value(b)?),
            ("date", [x]) => format!("cast({} as date)", value(x)?),
            ("time", [x]) => format!("cast({} as time)", value(x)?),
            ("timestamp", [x]) => format!("cast({} as datetime)", value(x)?),
            ("mod", [a, b]) => format!("({} % {})", value(a)?, value(b)?),
            ("instr", [text, part]) => format!("locate({},{})", value(part)?, value(text)?),
            ("bin", [x]) => format!("conv({},10,2)", value(x)?),
            ("oct", [x]) => format!("conv({},10,8)", value(x)?),
            ("round", [x]) => format!("round({},0)", value(x)?),
            ("week", [x]) => format!("week({},{})", value(x)?, self.week_format),
            ("weekofyear", [x]) => format!("week({},3)", value(x)?),
            ("yearweek", [x]) => format!("yearweek({},0)", value(x)?),
            ("weight_string", [x, length]) => {
                format!("weight_string({} as char({}))", value(x)?, value(length)?)
            }
            // Its first argument is a word.
            ("get_format", _) => {
                return Err(SqlError::not_supported("GET_FORMAT() in a definition"));
            }
            _ => return Ok(None),
        };
        Ok(Some(text))
    }

    /// The calls with a syntax of their own; `None` for what is none.
    pub(super) fn special(&self, expr: &Expr) -> Result<Option<String>, SqlError> {
        let value = |expr: &Expr| self.value(expr);
        let text = match expr {
            Expr::Extract {
                field,
                expr,
                syntax: ast::ExtractSyntax::From,
            } => format!(
                "extract({} from {})",
                Unit::from_field(field)?.name(),
                value(expr)?
            ),
            Expr::Ceil {
                expr,
                field: ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime),
            } => format!("ceiling({})", value(expr)?),
            Expr::Floor {
                expr,
                field: ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime),
            } => format!("floor({})", value(expr)?),
            Expr::Position { expr, r#in } => format!("locate({},{})", value(expr)?, value(r#in)?),
            Expr::Substring {
                expr,
                substring_from,
                substring_for,
                special: _,
                shorthand: _,
            } => {
                let further = [substring_from, substring_for];
                let further = further.into_iter().flatten().map(AsRef::as_ref);
                let all = std::iter::once(expr.as_ref()).chain(further);
                format!("substr({})", self.list(all)?)
            }
            Expr::Trim {
                expr,
                trim_where,
                trim_what,
                trim_characters: None,
            } => self.trim(expr, trim_where.as_ref(), trim_what.as_deref())?,
            _ => return Ok(None),
        };
        Ok(Some(text))
    }

    fn trim(&self, expr: &Expr, side: Option<&ast::TrimWhereField>, what: Option<&Expr>) -> Text {
        let side = match side {
            None => "",
            Some(ast::TrimWhereField::Both) => "both ",
            Some(ast::TrimWhereField::Leading) => "leading ",
            Some(ast::TrimWhereField::Trailing) => "trailing ",
        };
        let expr = self.value(expr)?;
        let what = match what {
            Some(what) => self.value(what)?,
            None if side.is_empty() => return Ok(format!("trim({expr})")),
            None => format!("_{}' '", self.charset.name()),
        };
        Ok(format!("trim({side}{what} from {expr})"))
    }
}
