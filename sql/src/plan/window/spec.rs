//! What stands behind OVER and in WINDOW.

use super::{
    super::{Computed, Planner, SortKey, scope::Aliases, walk},
    Frame, FrameBound,
};
use crate::{
    error::SqlError,
    expr::{Expr, infer},
    parse::key_position,
};
use cohort_engine::types::Value;
use sqlparser::ast::{self, Spanned};

/// How errors call a window without a name.
const UNNAMED: &str = "<unnamed window>";

/// A window of the clause WINDOW.
pub(in crate::plan) struct NamedWindow {
    name: String,
    spec: ast::WindowSpec,
}

/// What a window is.
pub(super) struct Specified {
    /// PARTITION BY, then ORDER BY.
    pub keys: Vec<SortKey>,
    /// How many of the keys are PARTITION BY's.
    pub partition: usize,
    pub frame: Frame,
    /// Its name.
    pub window: String,
}

/// A specification with what it has from the windows it refers to.
struct Whole {
    name: String,
    partition: Vec<ast::Expr>,
    order: Vec<ast::OrderByExpr>,
    frame: Option<ast::WindowFrame>,
}

impl Planner<'_> {
    /// Notes the windows of the clause WINDOW.
    pub(in crate::plan) fn name_windows(
        &mut self,
        windows: &[ast::NamedWindowDefinition],
    ) -> Result<(), SqlError> {
        for ast::NamedWindowDefinition(name, window) in windows {
            let ast::NamedWindowExpr::WindowSpec(spec) = window else {
                return Err(self.text.error_at_word("AS"));
            };
            let named = &mut self.names().named_windows;
            let same = |w: &&NamedWindow| w.name.eq_ignore_ascii_case(&name.value);
            if let Some(first) = named.iter().find(same) {
                return Err(SqlError::window_defined_twice(&first.name));
            }
            named.push(NamedWindow {
                name: name.value.clone(),
                spec: spec.clone(),
            });
        }
        for at in 0..windows.len() {
            self.whole_named(at)?;
        }
        Ok(())
    }

    /// Looks at the windows of the clause WINDOW, whether they are used or not.
    pub(in crate::plan) fn check_named_windows(&mut self) -> Result<(), SqlError> {
        for at in 0..self.names().named_windows.len() {
            let whole = self.whole_named(at)?;
            self.specify(whole)?;
        }
        Ok(())
    }

    /// What stands behind OVER.
    pub(super) fn specified(&mut self, over: &ast::WindowType) -> Result<Specified, SqlError> {
        let whole = match over {
            ast::WindowType::NamedWindow(name) => {
                let at = self.window_named(name)?;
                self.whole_named(at)?
            }
            ast::WindowType::WindowSpec(spec) => self.whole(UNNAMED, spec, 0)?,
        };
        self.specify(whole)
    }

    fn window_named(&mut self, name: &ast::Ident) -> Result<usize, SqlError> {
        let mut named = self.names().named_windows.iter();
        let found = named.position(|w| w.name.eq_ignore_ascii_case(&name.value));
        found.ok_or_else(|| SqlError::no_such_window(&name.value))
    }

    fn whole_named(&mut self, at: usize) -> Result<Whole, SqlError> {
        let named = self.names().named_windows.get(at);
        let named = named.map(|w| (w.name.clone(), w.spec.clone()));
        let (name, spec) = named.ok_or_else(|| SqlError::internal("a window is missing"))?;
        self.whole(&name, &spec, 0)
    }

    /// A specification with what it inherits; `depth` windows refer to it, one by way of another.
    fn whole(
        &mut self,
        name: &str,
        spec: &ast::WindowSpec,
        depth: usize,
    ) -> Result<Whole, SqlError> {
        let ast::WindowSpec {
            window_name,
            partition_by,
            order_by,
            window_frame,
        } = spec;
        let mut whole = Whole {
            name: name.to_string(),
            partition: partition_by.clone(),
            order: order_by.clone(),
            frame: window_frame.clone(),
        };
        let Some(parent_name) = window_name else {
            return Ok(whole);
        };
        let at = self.window_named(parent_name)?;
        if depth > self.names().named_windows.len() {
            return Err(SqlError::window_circularity());
        }
        let parent = self.names().named_windows.get(at);
        let parent = parent.map(|w| (w.name.clone(), w.spec.clone()));
        let (parent_name, parent) =
            parent.ok_or_else(|| SqlError::internal("a window is missing"))?;
        let parent = self.whole(&parent_name, &parent, depth + 1)?;
        if !whole.partition.is_empty() {
            return Err(SqlError::window_partitioned_twice());
        }
        if parent.frame.is_some() {
            return Err(SqlError::window_with_frame_inherited(&parent.name));
        }
        if !whole.order.is_empty() && !parent.order.is_empty() {
            return Err(SqlError::window_ordered_twice(name, &parent.name));
        }
        whole.partition = parent.partition;
        if whole.order.is_empty() {
            whole.order = parent.order;
        }
        Ok(whole)
    }

    /// Resolves a specification.
    fn specify(&mut self, whole: Whole) -> Result<Specified, SqlError> {
        let names = self.names();
        let outside = names.in_window.replace(whole.name.clone());
        let before = (names.clause, names.aliases);
        // As in the select list: what it calls by a name, a query in a key may.
        names.aliases = Aliases::Inside;
        let specified = self.specify_inside(&whole);
        let names = self.names();
        (names.clause, names.aliases) = before;
        names.in_window = outside;
        specified
    }

    fn specify_inside(&mut self, whole: &Whole) -> Result<Specified, SqlError> {
        let mut keys = Vec::with_capacity(whole.partition.len() + whole.order.len());
        let (mut partition, mut order) = (Vec::new(), Vec::new());
        self.names().clause = "window partition by";
        for expr in &whole.partition {
            keys.push(self.window_key(expr, false, whole, &mut partition)?);
        }
        self.names().clause = "window order by";
        for key in &whole.order {
            let (expr, desc) = self.sort_key_parts(key)?;
            keys.push(self.window_key(expr, desc, whole, &mut order)?);
        }
        let names = self.names();
        names.window_keys.push((whole.name.clone(), partition));
        names.window_keys.push((whole.name.clone(), order));
        Ok(Specified {
            partition: whole.partition.len(),
            frame: self.frame(whole, keys.last())?,
            keys,
            window: whole.name.clone(),
        })
    }

    fn window_key(
        &mut self,
        expr: &ast::Expr,
        desc: bool,
        whole: &Whole,
        written: &mut Vec<Expr>,
    ) -> Result<SortKey, SqlError> {
        let value = self.computed(expr)?;
        let is_lifted = |index: u32| {
            let value = self.context.parameters.get(index as usize);
            matches!(value, Some(Value::Int(_) | Value::UInt(_)))
        };
        let is_position = match &value.expr {
            Expr::Parameter {
                index,
                bound: false,
                ..
            } => is_lifted(*index),
            _ => key_position(expr).is_some(),
        };
        if is_position {
            return Err(SqlError::window_position(&whole.name));
        }
        self.refuse_outer(&value)?;
        written.push(value.expr.clone());
        let names = self.names();
        let expr = names.window_input(value, None);
        let value = names.wrap(expr);
        Ok(SortKey { value, desc })
    }

    /// What a window is ordered and partitioned by is of its own query.
    fn refuse_outer(&mut self, key: &Computed) -> Result<(), SqlError> {
        let mut outer = None;
        let names = self.names();
        walk::slots(&key.expr, &mut |slot| {
            let from = names.outer.iter().find(|(_, to, _)| *to == slot);
            outer = outer.or(from.map(|_| slot));
        });
        let Some(mut slot) = outer else {
            return Ok(());
        };
        for names in self.stack.iter().rev() {
            if let Some((from, ..)) = names.outer.iter().find(|(_, to, _)| *to == slot) {
                slot = *from;
                continue;
            }
            return Err(SqlError::window_outer_reference(names.full_name(slot)));
        }
        Ok(())
    }

    fn frame(&mut self, whole: &Whole, key: Option<&SortKey>) -> Result<Frame, SqlError> {
        use ast::{WindowFrameBound as Bound, WindowFrameUnits as Units};
        let Some(frame) = &whole.frame else {
            return Ok(Frame {
                rows: false,
                start: FrameBound::Unbounded,
                end: match whole.order.is_empty() {
                    true => FrameBound::Unbounded,
                    false => FrameBound::CurrentRow,
                },
            });
        };
        let ast::WindowFrame {
            units,
            start_bound,
            end_bound,
        } = frame;
        if *units == Units::Groups {
            return Err(SqlError::not_supported("GROUPS"));
        }
        let end = end_bound.as_ref().unwrap_or(&Bound::CurrentRow);
        match (start_bound, end) {
            (Bound::Following(_), _) if end_bound.is_none() => {
                return Err(self.text.error_at_word("FOLLOWING"));
            }
            (Bound::Following(None), _) => {
                return Err(SqlError::window_frame_start(&whole.name));
            }
            (_, Bound::Preceding(None)) => return Err(SqlError::window_frame_end(&whole.name)),
            (Bound::CurrentRow, Bound::Preceding(_))
            | (Bound::Following(_), Bound::CurrentRow | Bound::Preceding(_)) => {
                return Err(SqlError::window_frame(&whole.name));
            }
            _ => {}
        }
        let rows = *units == Units::Rows;
        Ok(Frame {
            rows,
            start: self.frame_bound(start_bound, rows, whole, key)?,
            end: self.frame_bound(end, rows, whole, key)?,
        })
    }

    fn frame_bound(
        &mut self,
        bound: &ast::WindowFrameBound,
        rows: bool,
        whole: &Whole,
        key: Option<&SortKey>,
    ) -> Result<FrameBound, SqlError> {
        let (amount, after) = match bound {
            ast::WindowFrameBound::CurrentRow => return Ok(FrameBound::CurrentRow),
            ast::WindowFrameBound::Preceding(None) | ast::WindowFrameBound::Following(None) => {
                return Ok(FrameBound::Unbounded);
            }
            ast::WindowFrameBound::Preceding(Some(amount)) => (amount.as_ref(), false),
            ast::WindowFrameBound::Following(Some(amount)) => (amount.as_ref(), true),
        };
        let is_interval = matches!(amount, ast::Expr::Interval(_));
        let is_number = matches!(amount, ast::Expr::Value(value)
            if matches!(value.value, ast::Value::Number(..) | ast::Value::Placeholder(_)));
        if !is_interval && !is_number {
            return Err(self.text.error_at_span(amount.span()));
        }
        if rows && is_interval {
            return Err(SqlError::window_rows_interval(&whole.name));
        }
        let value = match rows {
            true => None,
            false => Some(self.range_bound(amount, after, whole, key)?),
        };
        let amount = match is_interval {
            true => None,
            false => Some(self.resolve(amount)?),
        };
        if let Some(Expr::Literal(number, _)) = &amount
            && rows
            && !matches!(number, Value::Int(0..) | Value::UInt(_))
        {
            return Err(SqlError::window_frame(&whole.name));
        }
        Ok(FrameBound::Away {
            after,
            amount,
            value,
        })
    }

    /// The slot of the value that RANGE compares the key with: the row's own, and so much more or
    /// less.
    fn range_bound(
        &mut self,
        amount: &ast::Expr,
        after: bool,
        whole: &Whole,
        key: Option<&SortKey>,
    ) -> Result<usize, SqlError> {
        let ([order], Some(key)) = (whole.order.as_slice(), key) else {
            return Err(SqlError::window_range_order(&whole.name));
        };
        let ty = infer(&key.value.expr);
        let is_interval = matches!(amount, ast::Expr::Interval(_));
        match ty.ty {
            Some(_) if ty.is_json() => return Err(SqlError::window_range_order(&whole.name)),
            Some(_) if ty.is_temporal() && !is_interval => {
                return Err(SqlError::window_range_temporal(&whole.name));
            }
            Some(_) if !ty.is_temporal() && !ty.is_string() && is_interval => {
                return Err(SqlError::window_range_numeric(&whole.name));
            }
            Some(_) if !ty.is_string() => {}
            _ => return Err(SqlError::window_range_order(&whole.name)),
        }
        let op = match after != key.desc {
            true => ast::BinaryOperator::Plus,
            false => ast::BinaryOperator::Minus,
        };
        let value = self.computed(&ast::Expr::BinaryOp {
            left: Box::new(ast::Expr::Nested(Box::new(order.expr.clone()))),
            op,
            right: Box::new(amount.clone()),
        })?;
        let input = self.names().window_input(value, None);
        walk::slot(&input).ok_or_else(|| SqlError::internal("a window's bound without a slot"))
    }
}
