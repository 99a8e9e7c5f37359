//! Calls with OVER: their arguments and types.

use super::{
    super::{Computed, Planner, union::cast_to, walk},
    WindowCall, WindowFunction,
    spec::Specified,
    stored_type,
};
use crate::{
    error::SqlError,
    expr::{
        Expr, ExprType, common_type, infer, is_aggregate, plain_arguments,
        resolve::{check_constant, check_mixable},
        windowed_call,
    },
};
use cohort_engine::types::Value;
use sqlparser::ast::{self, Spanned};

impl Planner<'_> {
    /// A call with OVER, or of a function that needs it: the slot of its result.
    pub(in crate::plan) fn window_call(
        &mut self,
        call: &ast::Function,
        name: &str,
    ) -> Result<Expr, SqlError> {
        let name = name.to_ascii_lowercase();
        let Some(over) = &call.over else {
            return Err(self.text.error_behind_call(call.name.span()));
        };
        let list = self.window_arguments(call, &name)?;
        let names = self.names();
        if let Some(window) = &names.in_window {
            return Err(SqlError::window_nested(window));
        }
        if names.in_aggregate || !names.windows_allowed {
            return Err(SqlError::window_not_allowed(name));
        }
        let (function, ty) = self.window_function(call, &name, list)?;
        let Specified {
            keys,
            partition,
            frame,
            window,
        } = self.specified(over)?;
        let names = self.names();
        let slot = names.new_slot();
        let call = WindowCall {
            function,
            frame,
            slot,
            window,
        };
        Ok(names.add_window_call((keys, partition), call, ty))
    }

    /// The arguments of a call, and nothing else but OVER and RESPECT NULLS.
    fn window_arguments<'f>(
        &self,
        call: &'f ast::Function,
        name: &str,
    ) -> Result<&'f ast::FunctionArgumentList, SqlError> {
        let reads_rows = ["lag", "lead", "first_value", "last_value", "nth_value"].contains(&name);
        match call.null_treatment {
            None => {}
            Some(_) if !reads_rows => return Err(self.text.error_at_word("NULLS")),
            Some(ast::NullTreatment::RespectNulls) => {}
            Some(ast::NullTreatment::IgnoreNulls) => {
                return Err(SqlError::not_supported("IGNORE NULLS"));
            }
        }
        match windowed_call(call, self)? {
            ast::FunctionArguments::List(list) => Ok(list),
            ast::FunctionArguments::None | ast::FunctionArguments::Subquery(_) => {
                Err(self.text.error_behind_call(call.name.span()))
            }
        }
    }

    fn window_function(
        &mut self,
        call: &ast::Function,
        name: &str,
        list: &ast::FunctionArgumentList,
    ) -> Result<(WindowFunction, ExprType), SqlError> {
        // No window function stands in the arguments of another.
        self.names().windows_allowed = false;
        let function = if is_aggregate(name) {
            self.windowed_aggregate(name, list)
        } else {
            self.window_function_of(call, name, list)
        };
        self.names().windows_allowed = true;
        function
    }

    fn windowed_aggregate(
        &mut self,
        name: &str,
        list: &ast::FunctionArgumentList,
    ) -> Result<(WindowFunction, ExprType), SqlError> {
        let aggregate = self.aggregate_over(name, list)?;
        let ty = stored_type(aggregate.ty);
        let names = self.names();
        let value = aggregate.args.first().cloned();
        let value = value.map(|arg| names.window_input(arg, Some(&aggregate.function)));
        let slot = value.as_ref().and_then(walk::slot);
        Ok((WindowFunction::Aggregate(Box::new(aggregate), slot), ty))
    }

    fn window_function_of(
        &mut self,
        call: &ast::Function,
        name: &str,
        list: &ast::FunctionArgumentList,
    ) -> Result<(WindowFunction, ExprType), SqlError> {
        let arguments = plain_arguments(list, name, self)?;
        let mut args = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => args.push(expr),
                other => return Err(self.text.error_at_span(other.span())),
            }
        }
        let args = args.as_slice();
        let number = ExprType::bigint(true);
        Ok(match (name, args) {
            ("row_number", []) => (WindowFunction::RowNumber, number),
            ("rank", []) => (WindowFunction::Rank, number),
            ("dense_rank", []) => (WindowFunction::DenseRank, number),
            ("percent_rank", []) => (WindowFunction::PercentRank, ExprType::double()),
            ("cume_dist", []) => (WindowFunction::CumeDist, ExprType::double()),
            ("ntile", [parts]) => {
                let parts = self.whole_number(parts, "ntile")?;
                (WindowFunction::Ntile(parts), number)
            }
            ("lag" | "lead", [value, rest @ ..]) if rest.len() <= 2 => {
                self.neighbour(name, value, rest)?
            }
            ("first_value", [value]) => {
                let (slot, ty) = self.value_of_row(value)?;
                (WindowFunction::First(slot), ty)
            }
            ("last_value", [value]) => {
                let (slot, ty) = self.value_of_row(value)?;
                (WindowFunction::Last(slot), ty)
            }
            ("nth_value", [value, which]) => {
                let (slot, ty) = self.value_of_row(value)?;
                let which = self.whole_number(which, "nth_value")?;
                (WindowFunction::Nth(slot, which), ty)
            }
            _ => return Err(self.wrong_arguments(call, args)),
        })
    }

    /// 1064 where the arguments are too many or too few.
    fn wrong_arguments(&self, call: &ast::Function, args: &[&ast::Expr]) -> SqlError {
        let most = match call.name.to_string().to_ascii_lowercase().as_str() {
            "ntile" | "first_value" | "last_value" => 1,
            "nth_value" => 2,
            "lag" | "lead" => 3,
            _ => 0,
        };
        match args.get(most) {
            Some(first) if most == 0 => self.text.error_at_span(first.span()),
            Some(_) => self.text.error_at_word(","),
            None => self.text.error_at_end_of_call(call.name.span()),
        }
    }

    /// LAG and LEAD.
    fn neighbour(
        &mut self,
        name: &str,
        value: &ast::Expr,
        rest: &[&ast::Expr],
    ) -> Result<(WindowFunction, ExprType), SqlError> {
        let distance = rest.first();
        let distance = distance.map(|d| self.whole_number(d, name)).transpose()?;
        let otherwise = rest.get(1).map(|d| self.computed(d)).transpose()?;
        let mut value = self.computed(value)?;
        let own = infer(&value.expr);
        let Some(mut otherwise) = otherwise else {
            let slot = self.slot_of(value)?;
            let function = WindowFunction::Neighbour {
                lead: name == "lead",
                value: slot,
                distance,
                otherwise: None,
            };
            return Ok((function, stored_type(own).or_null()));
        };
        let both = [own, infer(&otherwise.expr)];
        check_mixable(&both, name)?;
        let ty = stored_type(common_type(&both));
        for either in [&mut value, &mut otherwise] {
            check_constant(&either.expr, &ty, self)?;
            cast_to(&mut either.expr, &ty);
        }
        let function = WindowFunction::Neighbour {
            lead: name == "lead",
            value: self.slot_of(value)?,
            distance,
            otherwise: Some(self.slot_of(otherwise)?),
        };
        Ok((function, ty))
    }

    /// What a call wants of other rows than the current one, which may not be there.
    fn value_of_row(&mut self, value: &ast::Expr) -> Result<(usize, ExprType), SqlError> {
        let value = self.computed(value)?;
        let ty = stored_type(infer(&value.expr)).or_null();
        Ok((self.slot_of(value)?, ty))
    }

    fn slot_of(&mut self, value: Computed) -> Result<usize, SqlError> {
        let input = self.names().window_input(value, None);
        walk::slot(&input).ok_or_else(|| SqlError::internal("a window's input without a slot"))
    }

    /// A whole number without a sign, a parameter or a user variable.
    fn whole_number(&mut self, expr: &ast::Expr, name: &str) -> Result<Expr, SqlError> {
        // MySQL's grammar takes any expression here, and then says what it has to be.
        let text = self.text;
        let wrong = |span| match name {
            "nth_value" => SqlError::wrong_arguments(name),
            _ => text.error_at_span(span),
        };
        let is_literal = match expr {
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Number(text, _) if text.parse::<u64>().is_ok() => true,
                ast::Value::Placeholder(_) => false,
                _ => return Err(wrong(expr.span())),
            },
            ast::Expr::Identifier(ident) if ident.value.starts_with('@') => false,
            ast::Expr::Identifier(ident) => return Err(SqlError::undeclared_variable(ident)),
            other => return Err(wrong(other.span())),
        };
        let number = self.resolve(expr)?;
        if let Expr::Parameter {
            index,
            bound: false,
            ..
        } = &number
        {
            // A literal of the text.
            let value = self.context.parameters.get(*index as usize);
            if !matches!(value, None | Some(Value::Int(0..) | Value::UInt(_))) {
                return Err(wrong(expr.span()));
            }
        }
        let zero = matches!(&number, Expr::Literal(Value::Int(0) | Value::UInt(0), _));
        if is_literal && zero && name != "lag" && name != "lead" {
            return Err(SqlError::wrong_arguments(name));
        }
        Ok(number)
    }
}
