//! Reading a source: a stored table as it is read, computed rows, hash tables.

use super::{
    ExecContext, Flow, Flowing, Stop,
    block::{BlockRun, Each},
    derived::{self, Rows},
    hash_index::{HashIndex, Making},
    json_table,
    key::{self, Ranges},
    memory,
    reader::{Reader, read_mode},
    row_store::{self, Cursor, RowStore},
};
use crate::{
    expr::{Expr, eval, hash_key, infer},
    plan::{Access, Apart, Input, Source, index_of},
};
use cohort_engine::{
    invariant::broken,
    txn::{KeyRange, Read},
    types::{Table, Value},
};
use std::{mem::take, sync::Arc};

/// Another path than the planned one.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// Of the source's other ways, this one.
    Other(usize),
    /// The path to this aggregate's result.
    End(usize),
}

/// What a source keeps between rows.
#[derive(Default)]
pub(super) struct SourceState {
    /// The key of the current row and its image, for statements that change it.
    pub key: Vec<u8>,
    pub image: Vec<u8>,
    /// The rows of a computed table.
    pub rows: Option<Arc<Computed>>,
    /// The ranges of the first source, if they are computed already.
    pub ranges: Option<Ranges>,
    /// Of a part that was to be read, what was left for later.
    pub rest: Option<KeyRange>,
    /// How it is read, if not by the planned path; whether that is settled.
    pub way: Option<Way>,
    pub chosen: bool,
}

impl SourceState {
    /// As it was at first; its room stays.
    pub fn clear(&mut self) {
        let (mut key, mut image) = (take(&mut self.key), take(&mut self.image));
        key.clear();
        image.clear();
        *self = SourceState {
            key,
            image,
            ..SourceState::default()
        };
    }
}

/// The rows of a derived or virtual table, or of a table that is looked up by hash: of each, the
/// values of the wanted columns.
pub(super) struct Computed {
    rows: Rows,
    /// The rows have all columns, not only the wanted ones.
    whole: bool,
    by_key: HashIndex,
}

impl<'b> BlockRun<'b> {
    /// Calls `each` for every row of the source at `at` that passes its conditions.
    pub(super) fn scan(
        &mut self,
        context: &mut ExecContext,
        at: usize,
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        let block = self.block;
        let source = block.sources.get(at);
        let source = source.ok_or_else(|| broken("a block reads its own sources"))?;
        match (&source.input, &source.kept) {
            (Input::Table(table, access), None) => {
                if let Some(apart) = &source.apart
                    && read_mode(source, context) == Read::Plain
                    && let Some(flow) = self.scan_apart(context, source, apart, each)?
                {
                    return Ok(flow);
                }
                self.choose_way(at, context)?;
                let way = match self.sources.get(at).and_then(|state| state.way) {
                    None => None,
                    Some(Way::Other(number)) => source.ways.get(number),
                    Some(Way::End(number)) => block.ends.get(number),
                };
                let access = way.unwrap_or(access);
                let locks = read_mode(source, context) != Read::Plain;
                let mut read = |run: &mut Self, context: &mut ExecContext| {
                    let mut reader = Reader::new(source, table, access, at, context);
                    reader.read_all(run, context, &mut |run, context| {
                        if run.all_hold(&source.filter, context)? {
                            if locks {
                                context.txn.keep_locks();
                            }
                            return each(run, context).map(Some);
                        }
                        Ok(None)
                    })
                };
                match &source.apart {
                    Some(apart) if !locks => self.noting_cost(context, apart, read),
                    _ => read(self, context),
                }
            }
            (_, kept) => {
                let keys = kept.as_deref().unwrap_or_default();
                self.computed_rows(context, at, (source, keys), each)
            }
        }
    }

    /// Computes the ranges of the first source: whether all its bounds can be used.
    pub(super) fn first_bounds_usable(&mut self, context: &mut ExecContext) -> Result<bool, Stop> {
        let Some(Input::Table(table, access)) = self.block.sources.first().map(|s| &s.input) else {
            return Ok(false);
        };
        let Some(index) = index_of(table, access.index).filter(|_| !access.alternatives.is_empty())
        else {
            return Ok(true);
        };
        let found = key::ranges(table, index, &access.alternatives, self, context)?;
        if let Some(state) = self.sources.first_mut() {
            state.ranges = Some(found.ranges);
        }
        Ok(found.usable)
    }

    fn computed_rows(
        &mut self,
        context: &mut ExecContext,
        at: usize,
        (source, keys): (&'b Source, &'b [(Expr, Expr)]),
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        let known = self.sources.get(at).and_then(|s| s.rows.clone());
        let rows = match known {
            _ if source.lateral => Arc::new(self.compute_measured(context, at, source)?),
            Some(rows) => rows,
            None => {
                let rows = Arc::new(self.compute_measured(context, at, source)?);
                if let Some(state) = self.sources.get_mut(at) {
                    state.rows = Some(Arc::clone(&rows));
                }
                rows
            }
        };
        if keys.is_empty() {
            let mut cursor = Cursor::default();
            for place in 0..rows.rows.len() {
                let row = rows.rows.get(place, &mut cursor)?;
                self.put_row(source, rows.whole, row);
                self.put_key(at, source, row);
                if self.computed_row(context, source, each)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            return Ok(Flow::Continue);
        }
        self.probe(context, (at, source), &rows, keys, each)
    }

    /// Calls `each` for the rows of a hash table that match the row as it is.
    pub(super) fn probe(
        &mut self,
        context: &mut ExecContext,
        (at, source): (usize, &'b Source),
        rows: &Computed,
        keys: &[(Expr, Expr)],
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        let mut key = Vec::new();
        let probes = keys.iter().map(|(probe, _)| probe);
        if !hash_of(probes, &self.row, context, &mut key)? {
            return Ok(Flow::Continue);
        }
        let mut cursor = Cursor::default();
        let mut places = rows.by_key.places(&key);
        while let Some(place) = places.next()? {
            let row = rows.rows.get(place, &mut cursor)?;
            self.put_row(source, rows.whole, row);
            self.put_key(at, source, row);
            if self.computed_row(context, source, each)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// A value of each row that is the first one with its key.
    pub(super) fn values_of_firsts(
        &mut self,
        context: &mut ExecContext,
        source: &Source,
        rows: &Computed,
        value: &Expr,
    ) -> Result<Vec<Value>, Stop> {
        let mut values = Vec::new();
        let mut cursor = Cursor::default();
        rows.by_key.each_first(&mut |place| {
            context.tick()?;
            self.put_row(source, rows.whole, rows.rows.get(place, &mut cursor)?);
            values.push(eval(value, &self.row, &mut context.eval)?);
            Ok(())
        })?;
        Ok(values)
    }

    /// Fills the slots of a computed row.
    pub(super) fn put_row(&mut self, source: &Source, whole: bool, row: &[Value]) {
        for (i, column) in source.wanted.iter().enumerate() {
            let column = usize::from(*column);
            let at = if whole { column } else { i };
            if let (Some(slot), Some(value)) =
                (self.row.get_mut(source.first_slot + column), row.get(at))
            {
                slot.clone_from(value);
            }
        }
    }

    /// Where the key of a row is wanted it is kept behind its values.
    fn put_key(&mut self, at: usize, source: &Source, row: &[Value]) {
        if source.keyed
            && let (Some(Value::Bytes(key)), Some(state)) = (row.last(), self.sources.get_mut(at))
        {
            state.key.clear();
            state.key.extend_from_slice(key);
        }
    }

    fn computed_row(
        &mut self,
        context: &mut ExecContext,
        source: &'b Source,
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        context.tick()?;
        context.count_computed();
        if !self.all_hold(&source.filter, context)? {
            return Ok(Flow::Continue);
        }
        each(self, context)
    }

    fn compute_measured(
        &mut self,
        context: &mut ExecContext,
        at: usize,
        source: &'b Source,
    ) -> Result<Computed, Stop> {
        let compute = |run: &mut Self, context: &mut ExecContext| run.compute(context, at, source);
        self.measure_computed(at, context, compute, |computed| computed.rows.len())
    }

    /// The rows of a computed table, or of a stored one for a hash table.
    fn compute(
        &mut self,
        context: &mut ExecContext,
        at: usize,
        source: &'b Source,
    ) -> Result<Computed, Stop> {
        // The rows, and whether they have all columns.
        let (rows, whole) = match &source.input {
            Input::Derived(query, given) => {
                (derived::rows(query, given, &self.row, context)?, true)
            }
            Input::Working(number) => (derived::working(*number, context), true),
            Input::Json(table) => {
                let rows = json_table::rows(table, &self.row, context)?;
                (Arc::new(rows.into()), true)
            }
            Input::Virtual(table) => {
                let mut rows = Vec::new();
                let known = context.virtual_rows.iter().find(|(t, _)| t.id == table.id);
                for row in known.map(|(_, rows)| rows.as_slice()).unwrap_or_default() {
                    context.handler.examined += 1;
                    let columns = source.wanted.iter();
                    let value = |c: &u16| row.get(usize::from(*c)).cloned().unwrap_or_default();
                    rows.push(columns.map(value).collect());
                }
                (Arc::new(rows.into()), false)
            }
            Input::Table(table, access) => {
                let rows = self.rows_to_keep(context, at, source, (table, access))?;
                (Arc::new(rows), false)
            }
        };
        let keys = source.kept.as_deref().unwrap_or_default();
        self.hash_table(context, source, (rows, whole), keys)
    }

    /// The rows of the first source, as `apart` says.
    pub(super) fn read_apart(
        &mut self,
        context: &mut ExecContext,
        source: &'b Source,
        apart: &'b Apart,
    ) -> Result<Computed, Stop> {
        let Input::Table(table, _) = &source.input else {
            return Err(broken("what is read apart is a stored table").into());
        };
        // Those are of the path that sees outer rows.
        if let Some(state) = self.sources.first_mut() {
            state.ranges = None;
        }
        let rows = self.rows_to_keep(context, 0, source, (table, &apart.access))?;
        self.hash_table(context, source, (Arc::new(rows), false), &apart.keys)
    }

    /// The rows of a stored table that its own conditions admit: of each the wanted columns, and its key if
    /// that is wanted.
    fn rows_to_keep(
        &mut self,
        context: &mut ExecContext,
        at: usize,
        source: &'b Source,
        (table, access): (&'b Arc<Table>, &'b Access),
    ) -> Result<row_store::Rows, Stop> {
        let mut rows = RowStore::default();
        let mut reader = Reader::new(source, table, access, at, context);
        let locks = read_mode(source, context) != Read::Plain;
        reader.read_all(self, context, &mut |run, context| {
            if !run.all_hold(&source.alone, context)? {
                return Ok(None);
            }
            // Whatever it is joined with.
            if locks {
                context.txn.keep_locks();
            }
            let first = run.row.get_mut(source.first_slot..).unwrap_or_default();
            let take = |column: &u16| first.get_mut(usize::from(*column)).map(std::mem::take);
            let mut row: Vec<Value> = source
                .wanted
                .iter()
                .map(take)
                .map(Option::unwrap_or_default)
                .collect();
            if source.keyed {
                let state = run.sources.get(at);
                let key = state.ok_or_else(|| broken("a block reads its own sources"))?;
                row.push(Value::Bytes(key.key.clone()));
            }
            rows.push(row, memory::of_table(context), context)?;
            Ok(Some(Flow::Continue))
        })?;
        rows.finish()
    }

    /// Rows with a hash table of their keys, if there are any.
    fn hash_table(
        &mut self,
        context: &mut ExecContext,
        source: &'b Source,
        (rows, whole): (Rows, bool),
        keys: &[(Expr, Expr)],
    ) -> Result<Computed, Stop> {
        let mut by_key = HashIndex::default();
        if !keys.is_empty() {
            let mut making = Making::new(rows.len(), context);
            let mut cursor = Cursor::default();
            let mut key = Vec::new();
            for place in 0..rows.len() {
                context.tick()?;
                self.put_row(source, whole, rows.get(place, &mut cursor)?);
                key.clear();
                let own = keys.iter().map(|(_, own)| own);
                let has_key = hash_of(own, &self.row, context, &mut key)?;
                making.push(has_key.then_some(key.as_slice()), context)?;
            }
            by_key = making.finish(context)?;
        }
        Ok(Computed {
            rows,
            whole,
            by_key,
        })
    }
}

/// The key of some values in a hash table; `false` if one is NULL, which equals nothing.
fn hash_of<'e>(
    exprs: impl Iterator<Item = &'e Expr>,
    row: &[Value],
    context: &mut ExecContext,
    key: &mut Vec<u8>,
) -> Result<bool, Stop> {
    for expr in exprs {
        let value = eval(expr, row, &mut context.eval)?;
        if value.is_null() {
            return Ok(false);
        }
        hash_key(&value, infer(expr).collation, key);
    }
    Ok(true)
}
