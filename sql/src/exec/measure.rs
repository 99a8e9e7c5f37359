//! EXPLAIN ANALYZE: how often the parts of a plan run, how many rows they give, and how long it takes.
//!
//! Rows are pushed, so the time of a part is the time that it takes in all, less what those take that
//! it hands its rows to.

use super::{
    ExecContext, Flow, Flowing, Stop,
    block::{BlockRun, Each},
    subquery::{RowSink, run_query},
};
use crate::{
    error::SqlError,
    plan::{Block, ExplainedPlace as Place, ExplainedPoint as Point, Figures, Input, Query},
};
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};

/// What was measured so far.
#[derive(Default)]
pub struct Measures {
    figures: FxHashMap<(usize, Place), Figures>,
    /// Rows of computed tables that were read.
    computed: u64,
    /// Rows read that were counted for a source.
    counted: u64,
}

impl Measures {
    /// What was measured there; `None` if it never ran.
    pub fn figures(&self, point: Point) -> Option<Figures> {
        let of = |place| self.figures.get(&(point.block, place)).copied();
        let Some((first, last)) = point.joins else {
            return of(point.place);
        };
        let mut sum = Figures {
            loops: of(Place::Read(first))?.loops,
            // Where no row came there are no figures.
            rows: of(point.place).map_or(0, |counted| counted.rows),
            ..Figures::default()
        };
        for source in (first..=last).filter_map(|source| of(Place::Read(source))) {
            sum.first += source.first;
            sum.last += source.last;
        }
        Some(sum)
    }

    fn add(&mut self, block: &Block, place: Place, run: &Figures) {
        let address = std::ptr::from_ref(block).addr();
        let figures = self.figures.entry((address, place)).or_default();
        figures.loops += run.loops;
        figures.rows += run.rows;
        figures.first += run.first;
        figures.last += run.last;
    }
}

/// One run of a part.
struct Clock {
    begun: Instant,
    outside: Duration,
    rows: u64,
    first: Option<Duration>,
}

impl Clock {
    fn start() -> Clock {
        Clock {
            begun: Instant::now(),
            outside: Duration::ZERO,
            rows: 0,
            first: None,
        }
    }

    /// A row is handed on.
    fn hand_on(&mut self, to: impl FnOnce() -> Flowing) -> Flowing {
        self.rows += 1;
        let left = Instant::now();
        self.first.get_or_insert(left - self.begun);
        let flow = to();
        self.outside += left.elapsed();
        flow
    }

    fn stop(self) -> Figures {
        let last = self.begun.elapsed().saturating_sub(self.outside);
        Figures {
            loops: 1,
            rows: self.rows,
            first: self.first.unwrap_or(last).as_secs_f64(),
            last: last.as_secs_f64(),
        }
    }
}

impl ExecContext<'_> {
    fn rows_read(&self) -> u64 {
        self.handler.examined + self.measures.as_ref().map_or(0, |m| m.computed)
    }

    /// A row of a computed table is read.
    #[inline]
    pub(super) fn count_computed(&mut self) {
        if let Some(measures) = &mut self.measures {
            measures.computed += 1;
        }
    }

    /// A row is there, which takes no time.
    #[inline]
    pub(super) fn count_row(&mut self, block: &Block, place: Place) {
        if let Some(measures) = &mut self.measures {
            let row = Figures {
                rows: 1,
                ..Figures::default()
            };
            measures.add(block, place, &row);
        }
    }

    fn measured(&mut self, block: &Block, place: Place, run: &Figures) {
        if let Some(measures) = &mut self.measures {
            measures.add(block, place, run);
        }
    }
}

/// The same as `run`, which hands the rows of a block to the sink, measured; or those of several
/// blocks, of which it is the first.
pub(super) fn result(
    (block, place): (&Block, Place),
    context: &mut ExecContext,
    sink: &mut RowSink,
    run: impl FnOnce(&mut ExecContext, &mut RowSink) -> Flowing,
) -> Flowing {
    let mut clock = Clock::start();
    let flow = run(context, &mut |context, row| {
        clock.hand_on(|| sink(context, row))
    });
    context.measured(block, place, &clock.stop());
    flow
}

impl<'b> BlockRun<'b> {
    /// The same as `part`, which hands its rows to `each`, measured if that is wanted.
    pub(super) fn measure(
        &mut self,
        place: Place,
        context: &mut ExecContext,
        each: &mut Each<'_, 'b>,
        part: impl FnOnce(&mut Self, &mut ExecContext, &mut Each<'_, 'b>) -> Flowing,
    ) -> Flowing {
        if context.measures.is_none() {
            return part(self, context, each);
        }
        let (flow, figures) = self.timed(context, each, part);
        context.measured(self.block, place, &figures);
        flow
    }

    /// Runs a part, and what was measured.
    fn timed(
        &mut self,
        context: &mut ExecContext,
        each: &mut Each<'_, 'b>,
        part: impl FnOnce(&mut Self, &mut ExecContext, &mut Each<'_, 'b>) -> Flowing,
    ) -> (Flowing, Figures) {
        let mut clock = Clock::start();
        let flow = part(self, context, &mut |run, context| {
            clock.hand_on(|| each(run, context))
        });
        (flow, clock.stop())
    }

    /// The same as `scan`, measured.
    pub(super) fn scan_measured(
        &mut self,
        context: &mut ExecContext,
        at: usize,
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        let counted = |context: &ExecContext| context.measures.as_ref().map_or(0, |m| m.counted);
        let (read_before, counted_before) = (context.rows_read(), counted(context));
        let (flow, passed) = self.timed(context, each, |run, context, each| {
            run.scan(context, at, each)
        });
        // What others have read meanwhile is counted for them.
        let of_others = counted(context) - counted_before;
        let rows = (context.rows_read() - read_before).saturating_sub(of_others);
        if let Some(measures) = &mut context.measures {
            measures.counted += rows;
        }
        context.measured(self.block, Place::Passed(at), &passed);
        context.measured(self.block, Place::Read(at), &Figures { rows, ..passed });
        flow
    }

    /// What a source computes before it is read, measured if that is wanted.
    pub(super) fn measure_computed<T, E>(
        &mut self,
        at: usize,
        context: &mut ExecContext,
        compute: impl FnOnce(&mut Self, &mut ExecContext) -> Result<T, E>,
        count: impl FnOnce(&T) -> usize,
    ) -> Result<T, E> {
        if context.measures.is_none() {
            return compute(self, context);
        }
        let read_before = context.handler.examined;
        let mut clock = Clock::start();
        let computed = compute(self, context)?;
        clock.rows = count(&computed) as u64;
        let kept = clock.stop();
        context.measured(self.block, Place::Kept(at), &kept);
        let input = self.block.sources.get(at).map(|source| &source.input);
        let rows = match input {
            Some(Input::Table(..)) => context.handler.examined - read_before,
            _ => kept.rows,
        };
        context.measured(self.block, Place::Computed(at), &Figures { rows, ..kept });
        Ok(computed)
    }

    /// A row of the join of all sources before this one is there.
    pub(super) fn count_joined(&mut self, context: &mut ExecContext, at: usize) {
        if let Some(last) = at.checked_sub(1).filter(|_| !self.is_entered(at)) {
            context.count_row(self.block, Place::Joined(last));
        }
    }
}

/// Runs a query for its figures only. One that takes longer than max_execution_time ends there, and
/// what was measured until then is told.
pub(super) fn run(query: &Query, context: &mut ExecContext) -> Result<Measures, Stop> {
    let limit = query.limit_of_rows(context.select_limit);
    let mut rows = 0;
    context.measures = Some(Box::default());
    let result = run_query(query, context, &[], &mut |_, _| {
        rows += 1;
        Ok(if rows < limit {
            Flow::Continue
        } else {
            Flow::Stop
        })
    });
    let measures = context.measures.take().unwrap_or_default();
    match result {
        Err(Stop::Error(error)) if error.code == SqlError::QUERY_TIMEOUT => {
            context.eval.warnings.warn(error);
        }
        other => drop(other?),
    }
    Ok(*measures)
}
