//! What the machine can do: the rows of the two words as bitmaps in memory, and all rows by their date.

use super::{BOTH, EITHER, Measurement, NEWEST, corpus};
use roaring::RoaringBitmap;
use std::{hint::black_box, time::Instant};

/// The column of the report.
pub const MEMORY: &str = "memory";

/// The sets of rows.
pub struct Sets {
    title: RoaringBitmap,
    see: RoaringBitmap,
    /// The rows, the newest first.
    newest: Vec<u32>,
}

impl Sets {
    /// Those of the texts that the servers have.
    pub fn new(rows: u32) -> Sets {
        let (mut title, mut see) = (RoaringBitmap::new(), RoaringBitmap::new());
        let mut dated = Vec::new();
        for (id, doc) in (1_u32..).zip(corpus::docs(rows)) {
            if doc.has_title {
                title.insert(id);
            }
            if doc.has_see {
                see.insert(id);
            }
            dated.push((doc.modified, id));
        }
        dated.sort_unstable_by(|a, b| b.cmp(a));
        Sets {
            title,
            see,
            newest: dated.into_iter().map(|(_, id)| id).collect(),
        }
    }
    /// The right answer to a question that is a number.
    pub fn count(&self, question: &str) -> Option<u64> {
        match question {
            BOTH => Some(self.title.intersection_len(&self.see)),
            EITHER => Some(self.title.union_len(&self.see)),
            _ => None,
        }
    }
    /// Answers the questions.
    pub fn measure(&self, round: usize) -> Vec<Measurement> {
        let measured = |question, answer: &dyn Fn()| {
            let begun = Instant::now();
            answer();
            Measurement {
                target: MEMORY.into(),
                question,
                round,
                ms: begun.elapsed().as_secs_f64() * 1000.0,
            }
        };
        vec![
            measured(BOTH, &|| {
                black_box((&self.title & &self.see).len());
            }),
            measured(EITHER, &|| {
                black_box((&self.title | &self.see).len());
            }),
            measured(NEWEST, &|| {
                let both = &self.title & &self.see;
                let newest = self.newest.iter().filter(|id| both.contains(**id));
                black_box(newest.take(100).count());
            }),
        ]
    }
}
