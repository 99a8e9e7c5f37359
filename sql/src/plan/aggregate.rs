//! Aggregate functions: what they are, their arguments and types.

use super::{
    Aggregate, AggregateFunction, CompileContext, Computed, Planner, SortKey,
    place::add_slots,
    scope::{Names, slot_expr},
    walk::is_constant,
};
use crate::{
    error::SqlError,
    expr::{
        Expr, ExprType, JsonPart, as_number, check_ordered, coercibility, infer, plain_call,
        resolve::{check_constant, parameters_as_texts},
    },
    parse::key_position,
};
use cohort_engine::types::{ColumnType, Value};
use sqlparser::ast;
use std::collections::BTreeSet;

/// How deep aggregate functions of enclosing blocks may nest.
const MOVED_DEPTH_MAX: usize = 4;

impl Planner<'_> {
    /// A call of an aggregate function: the slot of its result. It is computed in the block whose
    /// columns its arguments are, which may be one around this.
    pub(super) fn aggregate(&mut self, call: &ast::Function, name: &str) -> Result<Expr, SqlError> {
        let levels = self.levels();
        let allowed = |names: &Names| names.aggregates_allowed;
        let any_allows = levels
            .iter()
            .any(|level| self.stack.get(*level).is_some_and(allowed));
        if !any_allows || self.names().in_aggregate {
            return Err(SqlError::invalid_group_function());
        }
        let ast::FunctionArguments::List(list) = plain_call(call, self)? else {
            return Err(SqlError::invalid_group_function());
        };
        let noted: Vec<(usize, usize)> = self
            .stack
            .iter()
            .map(|names| (names.outer.len(), names.subqueries.len()))
            .collect();
        let mark = self.mark();
        let before = self.innermost_named.take();
        let aggregate = self.aggregate_call(name, list)?;
        let level = self.level_of_aggregate(&aggregate, &levels)?;
        self.innermost_named = self.innermost_named.max(before);
        if level + 1 == self.stack.len() {
            return Ok(self.names().add_aggregate(aggregate));
        }
        // Its arguments are resolved where it is computed: those that have queries in them once
        // more each time.
        if self.moved > MOVED_DEPTH_MAX {
            return Err(SqlError::nesting_too_deep());
        }
        self.back_to(mark);
        for (names, (outer, subqueries)) in self.stack.iter_mut().zip(noted) {
            names.outer.truncate(outer);
            names.subqueries.truncate(subqueries);
        }
        let inner = self.stack.split_off(level + 1);
        self.moved += 1;
        let result = match self.names().in_aggregate {
            true => Err(SqlError::invalid_group_function()),
            false => self.aggregate_call(name, list),
        };
        self.moved -= 1;
        let result = result.map(|aggregate| self.names().add_aggregate(aggregate));
        self.stack.extend(inner);
        Ok(self.import(level, result?))
    }

    fn aggregate_call(
        &mut self,
        name: &str,
        list: &ast::FunctionArgumentList,
    ) -> Result<Aggregate, SqlError> {
        let function = self.aggregate_function(name, list)?;
        self.names().in_aggregate = true;
        let args = self.aggregate_args(list);
        self.names().in_aggregate = false;
        self.aggregate_of(name, list, function, args?)
    }

    /// The same with OVER: other aggregates may be in its arguments.
    pub(super) fn aggregate_over(
        &mut self,
        name: &str,
        list: &ast::FunctionArgumentList,
    ) -> Result<Aggregate, SqlError> {
        let function = self.aggregate_function(name, list)?;
        if let AggregateFunction::GroupConcat(_) = function {
            return Err(SqlError::not_supported("group_concat as window function"));
        }
        if is_distinct(list) && function.can_be_distinct() {
            return Err(SqlError::not_supported("<window function>(DISTINCT ..)"));
        }
        let args = self.aggregate_args(list)?;
        if args.0.len() > 1 && !function.makes_json() {
            return Err(self.text.error_at_word(","));
        }
        self.aggregate_of(name, list, function, args)
    }

    fn aggregate_of(
        &mut self,
        name: &str,
        list: &ast::FunctionArgumentList,
        function: AggregateFunction,
        (mut args, order): (Vec<Computed>, Vec<SortKey>),
    ) -> Result<Aggregate, SqlError> {
        args = match function {
            AggregateFunction::JsonArray => document_of(args, 1, name, JsonPart::Array)?,
            AggregateFunction::JsonObject => document_of(args, 2, name, JsonPart::Object)?,
            _ => args,
        };
        if !matches!(
            function,
            AggregateFunction::Sum | AggregateFunction::Avg | AggregateFunction::Variance { .. }
        ) {
            args.iter_mut()
                .for_each(|arg| parameters_as_texts(&mut arg.expr, self));
        }
        as_numbers(&function, &mut args);
        if function == AggregateFunction::Count && !is_distinct(list) && is_never_null(&args) {
            return Ok(self.count_rows());
        }
        let distinct = is_distinct(list);
        if distinct && !function.can_be_distinct() {
            return Err(self.text.error_at_word("DISTINCT"));
        }
        if function == AggregateFunction::Count && args.len() > 1 && !distinct {
            return Err(SqlError::wrong_native_argument_count(name));
        }
        if args.is_empty() != (function == AggregateFunction::CountRows) {
            return Err(SqlError::wrong_native_argument_count(name));
        }
        let ty = aggregate_type(&function, &args, self.context);
        if function.is_extreme() {
            check_ordered(&ty, &name.to_lowercase())?;
        }
        if let AggregateFunction::GroupConcat(_) = function {
            let mut constants = args.iter();
            constants.try_for_each(|arg| check_constant(&arg.expr, &ty, self))?;
        }
        // The length of an aggregate on bits counts a byte more.
        if function.is_on_bits() && ty.is_bytes() && ty.length > BITS_LENGTH_MAX + 1 {
            return Err(SqlError::bitwise_aggregate_operand_size());
        }
        Ok(Aggregate {
            function,
            args,
            distinct,
            order,
            slot: 0,
            ty,
        })
    }

    fn count_rows(&self) -> Aggregate {
        let function = AggregateFunction::CountRows;
        Aggregate {
            ty: aggregate_type(&function, &[], self.context),
            function,
            args: Vec::new(),
            distinct: false,
            order: Vec::new(),
            slot: 0,
        }
    }

    /// The level of the block that an aggregate function of the innermost one is computed in: that
    /// of the columns it reads, or else the innermost around this one that takes it, or else this
    /// one.
    fn level_of_aggregate(
        &self,
        aggregate: &Aggregate,
        levels: &[usize],
    ) -> Result<usize, SqlError> {
        let here = self.stack.len() - 1;
        let allows = |level: usize| {
            let names = self.stack.get(level);
            names.is_some_and(|names| names.aggregates_allowed)
        };
        let args = aggregate.args.iter();
        let read = args.chain(aggregate.order.iter().map(|key| &key.value));
        let read = read.filter_map(|arg| self.level_of(&arg.expr)).max();
        // A column of a merged table may be a constant, and is a column of its block for all that.
        let own = read.max(self.innermost_named.filter(|named| *named <= here));
        if own == Some(here) || own.is_none() && allows(here) {
            return match allows(here) {
                true => Ok(here),
                false => Err(SqlError::invalid_group_function()),
            };
        }
        if let Some(own) = own.filter(|own| allows(*own)) {
            return Ok(own);
        }
        let mut around = levels.iter().copied().skip(1);
        around
            .find(|level| own.is_none_or(|own| *level > own) && allows(*level))
            .or_else(|| allows(here).then_some(here))
            .ok_or_else(SqlError::invalid_group_function)
    }

    /// The innermost level of the columns that an expression of the innermost block reads.
    fn level_of(&self, expr: &Expr) -> Option<usize> {
        let here = self.stack.len() - 1;
        let mut read = BTreeSet::new();
        add_slots(expr, self.stack.get(here)?, &mut read);
        let levels = read.into_iter().filter_map(|slot| self.level_of_slot(slot));
        levels.max()
    }

    fn level_of_slot(&self, mut slot: usize) -> Option<usize> {
        for (level, names) in self.stack.iter().enumerate().rev() {
            if names.subquery_of(slot).is_some() {
                return None;
            }
            match names.outer.iter().find(|(_, to, _)| *to == slot) {
                Some(&(from, ..)) => slot = from,
                None => return Some(level),
            }
        }
        None
    }

    fn aggregate_function(
        &mut self,
        name: &str,
        list: &ast::FunctionArgumentList,
    ) -> Result<AggregateFunction, SqlError> {
        use AggregateFunction::{
            Avg, BitAnd, BitOr, BitXor, Count, CountRows, GroupConcat, JsonArray, JsonObject, Max,
            Min, Sum, Variance,
        };
        let wildcard = matches!(
            list.args.as_slice(),
            [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard)]
        );
        if wildcard && list.duplicate_treatment.is_some() {
            return Err(self.text.error_at_word("*"));
        }
        let variance = |sample, root| Variance { sample, root };
        Ok(match name.to_ascii_lowercase().as_str() {
            "count" if wildcard => CountRows,
            "count" => Count,
            "sum" => Sum,
            "avg" => Avg,
            "min" => Min,
            "max" => Max,
            "bit_and" => BitAnd,
            "bit_or" => BitOr,
            "bit_xor" => BitXor,
            "std" | "stddev" | "stddev_pop" => variance(false, true),
            "stddev_samp" => variance(true, true),
            "var_pop" | "variance" => variance(false, false),
            "var_samp" => variance(true, false),
            "json_arrayagg" | "json_objectagg" if !list.clauses.is_empty() => {
                return Err(self.text.error_at_word("ORDER"));
            }
            "json_arrayagg" => JsonArray,
            "json_objectagg" => JsonObject,
            "group_concat" => {
                let mut separator = b",".to_vec();
                for clause in &list.clauses {
                    match clause {
                        ast::FunctionArgumentClause::Separator(value) => {
                            separator = self.separator(value)?;
                        }
                        ast::FunctionArgumentClause::OrderBy(_) => {}
                        ast::FunctionArgumentClause::Limit(_) => {
                            return Err(self.text.error_at_word("LIMIT"));
                        }
                        ast::FunctionArgumentClause::Where(_) => {
                            return Err(self.text.error_at_word("WHERE"));
                        }
                        ast::FunctionArgumentClause::Having(_) => {
                            return Err(self.text.error_at_word("HAVING"));
                        }
                        ast::FunctionArgumentClause::IgnoreOrRespectNulls(_) => {
                            return Err(self.text.error_at_word("NULLS"));
                        }
                        ast::FunctionArgumentClause::OnOverflow(_)
                        | ast::FunctionArgumentClause::JsonNullClause(_)
                        | ast::FunctionArgumentClause::JsonReturningClause(_) => {
                            return Err(SqlError::not_supported("this clause of GROUP_CONCAT"));
                        }
                    }
                }
                GroupConcat(separator)
            }
            other => return Err(SqlError::not_supported(other.to_uppercase())),
        })
    }

    /// SEPARATOR of GROUP_CONCAT.
    fn separator(&mut self, value: &ast::ValueWithSpan) -> Result<Vec<u8>, SqlError> {
        let is_string = matches!(
            value.value,
            ast::Value::SingleQuotedString(_)
                | ast::Value::HexStringLiteral(_)
                | ast::Value::SingleQuotedByteStringLiteral(_)
        );
        match self.resolve(&ast::Expr::Value(value.clone()))? {
            Expr::Literal(Value::Bytes(text), _) if is_string => Ok(text),
            // What was lifted out of the text is a parameter now: the literal itself is wanted.
            _ => Err(match self.text.refuse_behind("SEPARATOR", true) {
                Err(error) => error,
                Ok(()) => SqlError::syntax("SEPARATOR", 1),
            }),
        }
    }

    fn aggregate_args(
        &mut self,
        list: &ast::FunctionArgumentList,
    ) -> Result<(Vec<Computed>, Vec<SortKey>), SqlError> {
        let mut args = Vec::new();
        for arg in &list.args {
            match arg {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Tuple(row))) => {
                    for expr in row {
                        args.push(self.computed(expr)?);
                    }
                }
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => {
                    args.push(self.computed(expr)?);
                }
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) => {}
                _ => return Err(SqlError::not_supported("named arguments")),
            }
        }
        let mut order = Vec::new();
        for clause in &list.clauses {
            if let ast::FunctionArgumentClause::OrderBy(keys) = clause {
                for key in keys {
                    let (expr, desc) = self.sort_key_parts(key)?;
                    let value = match key_position(expr) {
                        Some(n) => n.checked_sub(1).and_then(|i| args.get(i)).cloned(),
                        None => Some(self.computed(expr)?),
                    };
                    let unknown = || SqlError::unknown_column(expr, "order clause");
                    order.push(SortKey {
                        value: value.ok_or_else(unknown)?,
                        desc,
                    });
                }
            }
        }
        Ok((args, order))
    }
}

impl Names {
    /// Adds an aggregate, if it is not there yet: the slot of its result.
    fn add_aggregate(&mut self, mut aggregate: Aggregate) -> Expr {
        let shape =
            |a: &Aggregate| format!("{:?}{:?}{}{:?}", a.function, a.args, a.distinct, a.order);
        let wanted = shape(&aggregate);
        let mut known = self.aggregates.iter();
        if let Some(same) = known.find(|known| shape(known) == wanted) {
            return slot_expr(same.slot, same.ty);
        }
        aggregate.slot = self.new_slot();
        let result = slot_expr(aggregate.slot, aggregate.ty);
        self.aggregates.push(aggregate);
        result
    }
}

/// The arguments of JSON_ARRAYAGG and JSON_OBJECTAGG as one: an array of one element, an object of
/// one member.
fn document_of(
    args: Vec<Computed>,
    count: usize,
    name: &str,
    function: JsonPart,
) -> Result<Vec<Computed>, SqlError> {
    if args.len() != count {
        return Err(SqlError::wrong_native_argument_count(name));
    }
    let mut subqueries = Vec::new();
    let mut exprs = Vec::new();
    let mut selective = false;
    for arg in args {
        selective |= arg.selective;
        subqueries.extend(arg.subqueries);
        exprs.push(arg.expr);
    }
    let expr = function.of(exprs);
    Ok(vec![Computed {
        expr,
        subqueries,
        selective,
    }])
}

/// What is summed are numbers: of a text the number it begins with.
fn as_numbers(function: &AggregateFunction, args: &mut [Computed]) {
    let ty = match function {
        AggregateFunction::Sum | AggregateFunction::Avg | AggregateFunction::Variance { .. } => {
            Some(ExprType::double())
        }
        // These take the bits of what there is.
        AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => None,
        _ => return,
    };
    for arg in args {
        arg.expr = as_number(std::mem::replace(&mut arg.expr, Expr::null()));
        let Some(ty) = ty else {
            continue;
        };
        let own = infer(&arg.expr);
        let (whole, scale) = own.digits();
        let ty = match own.ty {
            Some(from)
                if !from.has_collation() && !from.is_temporal() && from != ColumnType::Json =>
            {
                continue;
            }
            // Dates and times are summed exactly.
            Some(from) if from.is_temporal() && ty.ty == Some(ColumnType::Double) => {
                ExprType::decimal(whole + scale, scale)
            }
            _ => ty,
        };
        let expr = std::mem::replace(&mut arg.expr, Expr::null());
        arg.expr = Expr::Cast {
            expr: Box::new(expr),
            ty: ty.or_null(),
        };
    }
}

/// Whether it is one constant that is not NULL.
fn is_never_null(args: &[Computed]) -> bool {
    let [
        Computed {
            expr, subqueries, ..
        },
    ] = args
    else {
        return false;
    };
    subqueries.is_empty() && is_constant(expr) && !infer(expr).nullable
}

fn is_distinct(list: &ast::FunctionArgumentList) -> bool {
    matches!(
        list.duplicate_treatment,
        Some(ast::DuplicateTreatment::Distinct)
    )
}

/// The longest binary strings that aggregates on bits take.
const BITS_LENGTH_MAX: u32 = 511;

/// The type of a sum of floating point numbers: as many digits after the point as they have, and
/// some more.
fn real_type(arg: &ExprType, more: u32) -> ExprType {
    let is_real = matches!(arg.ty, Some(ColumnType::Float | ColumnType::Double));
    let decimals = u32::from(arg.decimals) + more;
    let decimals = match u8::try_from(decimals) {
        Ok(decimals @ ..=30) if is_real => decimals,
        _ => crate::text::DECIMALS_NOT_FIXED,
    };
    ExprType {
        decimals,
        ..ExprType::double().or_null()
    }
}

/// The type of an aggregate's result.
fn aggregate_type(
    function: &AggregateFunction,
    args: &[Computed],
    context: &CompileContext,
) -> ExprType {
    let (collation, digits) = (
        context.settings.collation,
        context.settings.div_precision_increment,
    );
    let digits = u32::from(digits);
    let arg = args.first().map(|a| infer(&a.expr));
    let arg = arg.map_or_else(|| ExprType::bigint(false), ExprType::computed);
    match function {
        AggregateFunction::CountRows | AggregateFunction::Count => ExprType::bigint(false),
        AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor
            if arg.is_bytes() =>
        {
            ExprType {
                unsigned: true,
                decimals: 0,
                ..ExprType::bytes(arg.length.saturating_add(1))
            }
        }
        AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
            ExprType::bigint(true)
        }
        AggregateFunction::Min | AggregateFunction::Max => arg.without_members().or_null(),
        AggregateFunction::Sum => match arg.ty {
            Some(ColumnType::Decimal { precision, scale }) => {
                ExprType::decimal(u32::from(precision) + 22, scale.into()).or_null()
            }
            Some(_) if arg.is_integer() => ExprType::decimal(arg.length + 21, 0).or_null(),
            _ => real_type(&arg, 0),
        },
        AggregateFunction::Avg => match arg.ty {
            Some(ColumnType::Decimal { precision, scale }) => {
                ExprType::decimal(u32::from(precision) + digits, u32::from(scale) + digits)
                    .or_null()
            }
            Some(_) if arg.is_integer() => ExprType::decimal(arg.length + digits, digits).or_null(),
            _ => real_type(&arg, digits),
        },
        AggregateFunction::JsonArray | AggregateFunction::JsonObject => ExprType::json().or_null(),
        AggregateFunction::Variance { .. } => ExprType::double().or_null(),
        AggregateFunction::GroupConcat(_) => {
            let arg = arg.with_bytes();
            let collation = if arg.is_string() {
                arg.collation
            } else {
                collation
            };
            let length = if collation.is_binary() { 1024 } else { 16_384 };
            ExprType {
                ty: Some(ColumnType::Text(4)),
                ..ExprType::string(length, collation, coercibility::IMPLICIT).or_null()
            }
        }
    }
}
