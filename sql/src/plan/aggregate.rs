//! Aggregate functions: what they are, their arguments and types.

use super::{
    Aggregate, AggregateFunction, Computed, Planner, SortKey,
    scope::{is_desc, slot_expr},
};
use crate::{
    error::SqlError,
    expr::{Expr, ExprType, as_number, coercibility, infer},
};
use cohort_engine::types::{Collation, ColumnType};
use sqlparser::ast;

impl Planner<'_> {
    /// A call of an aggregate function: the slot of its result.
    pub(super) fn aggregate(&mut self, call: &ast::Function, name: &str) -> Result<Expr, SqlError> {
        let names = self.names();
        if !names.aggregates_allowed || names.in_aggregate {
            return Err(SqlError::invalid_group_function());
        }
        let ast::FunctionArguments::List(list) = &call.args else {
            return Err(SqlError::invalid_group_function());
        };
        let function = Self::aggregate_function(name, list)?;
        self.names().in_aggregate = true;
        let args = self.aggregate_args(list);
        self.names().in_aggregate = false;
        let (mut args, order) = args?;
        as_numbers(&function, &mut args);
        if function == AggregateFunction::Count && args.len() > 1 && !is_distinct(list) {
            return Err(SqlError::wrong_native_argument_count(name));
        }
        if args.is_empty() != (function == AggregateFunction::CountRows) {
            return Err(SqlError::wrong_native_argument_count(name));
        }
        let distinct = is_distinct(list);
        let ty = aggregate_type(&function, &args, self.context.collation);
        let names = self.names();
        let shape = format!("{function:?}{args:?}{distinct}{order:?}");
        let same = names
            .aggregates
            .iter()
            .find(|a| shape == format!("{:?}{:?}{}{:?}", a.function, a.args, a.distinct, a.order));
        if let Some(same) = same {
            return Ok(slot_expr(same.slot, same.ty));
        }
        let slot = names.new_slot();
        names.aggregates.push(Aggregate {
            function,
            args,
            distinct,
            order,
            slot,
            ty,
        });
        Ok(slot_expr(slot, ty))
    }

    fn aggregate_function(
        name: &str,
        list: &ast::FunctionArgumentList,
    ) -> Result<AggregateFunction, SqlError> {
        use AggregateFunction::{
            AnyValue, Avg, BitAnd, BitOr, BitXor, Count, CountRows, GroupConcat, Max, Min, Sum,
            Variance,
        };
        let wildcard = matches!(
            list.args.as_slice(),
            [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard)]
        );
        let variance = |sample, root| Variance { sample, root };
        Ok(match name.to_ascii_lowercase().as_str() {
            "count" if wildcard => CountRows,
            "count" => Count,
            "sum" => Sum,
            "avg" => Avg,
            "min" => Min,
            "max" => Max,
            "any_value" => AnyValue,
            "bit_and" => BitAnd,
            "bit_or" => BitOr,
            "bit_xor" => BitXor,
            "std" | "stddev" | "stddev_pop" => variance(false, true),
            "stddev_samp" => variance(true, true),
            "var_pop" | "variance" => variance(false, false),
            "var_samp" => variance(true, false),
            "group_concat" => {
                let mut separator = b",".to_vec();
                for clause in &list.clauses {
                    match clause {
                        ast::FunctionArgumentClause::Separator(value) => {
                            if let ast::Value::SingleQuotedString(text) = &value.value {
                                separator = text.clone().into_bytes();
                            }
                        }
                        ast::FunctionArgumentClause::OrderBy(_) => {}
                        _ => return Err(SqlError::not_supported("this clause of GROUP_CONCAT")),
                    }
                }
                GroupConcat(separator)
            }
            other => return Err(SqlError::not_supported(other.to_uppercase())),
        })
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
                    order.push(SortKey {
                        value: self.computed(&key.expr)?,
                        desc: is_desc(&key.options),
                    });
                }
            }
        }
        Ok((args, order))
    }
}

/// What is summed are numbers: of a text the number it begins with.
fn as_numbers(function: &AggregateFunction, args: &mut [Computed]) {
    let ty = match function {
        AggregateFunction::Sum | AggregateFunction::Avg | AggregateFunction::Variance { .. } => {
            ExprType::double()
        }
        AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
            ExprType::bigint(true)
        }
        _ => return,
    };
    for arg in args {
        arg.expr = as_number(std::mem::replace(&mut arg.expr, super::walk::null()));
        let own = infer(&arg.expr);
        let (whole, scale) = own.digits();
        let ty = match own.ty {
            Some(from) if !from.is_string() && !from.is_temporal() => continue,
            // Dates and times are summed exactly.
            Some(from) if from.is_temporal() && ty.ty == Some(ColumnType::Double) => {
                ExprType::decimal(whole + scale, scale)
            }
            _ => ty,
        };
        let expr = std::mem::replace(&mut arg.expr, super::walk::null());
        arg.expr = Expr::Cast {
            expr: Box::new(expr),
            ty: ty.or_null(),
        };
    }
}

fn is_distinct(list: &ast::FunctionArgumentList) -> bool {
    matches!(
        list.duplicate_treatment,
        Some(ast::DuplicateTreatment::Distinct)
    )
}

/// The type of an aggregate's result.
fn aggregate_type(
    function: &AggregateFunction,
    args: &[Computed],
    collation: Collation,
) -> ExprType {
    let arg = args.first().map(|a| infer(&a.expr));
    let arg = arg.map_or_else(|| ExprType::bigint(false), ExprType::computed);
    match function {
        AggregateFunction::CountRows | AggregateFunction::Count => ExprType::bigint(false),
        AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
            ExprType::bigint(true)
        }
        AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::AnyValue => {
            arg.or_null()
        }
        AggregateFunction::Sum => match arg.ty {
            Some(ColumnType::Decimal { precision, scale }) => {
                ExprType::decimal(u32::from(precision) + 22, scale.into()).or_null()
            }
            Some(ty) if ty.is_integer() || ty == ColumnType::Year => {
                ExprType::decimal(arg.length + 21, 0).or_null()
            }
            _ => ExprType::double().or_null(),
        },
        AggregateFunction::Avg => match arg.ty {
            Some(ColumnType::Decimal { precision, scale }) => {
                ExprType::decimal(u32::from(precision) + 4, u32::from(scale) + 4).or_null()
            }
            Some(ty) if ty.is_integer() || ty == ColumnType::Year => {
                ExprType::decimal(arg.length + 4, 4).or_null()
            }
            _ => ExprType::double().or_null(),
        },
        AggregateFunction::Variance { .. } => ExprType::double().or_null(),
        AggregateFunction::GroupConcat(_) => {
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
