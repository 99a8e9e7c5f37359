//! Reading ahead of those who read much of the Base in the order of its pages.
//!
//! A page is read when it is needed, and from a file whose rows were loaded in order the next one often stands
//! behind it. The system notices that and reads ahead: at first a little, then megabytes at a time. For a scan of a
//! whole table that is right. For a range of a hundred rows, which ends behind its seventh page, it
//! reads many times what is asked for, and where memory is short, others' pages go for it. So the system is told
//! that reads come in no order, and whoever has read [`BEGIN`] bytes in order has the next [`WINDOW`] read
//! ahead.

use crate::env::File;
use std::cell::Cell;

/// So many bytes in order are a stream.
const BEGIN: u64 = 128 << 10;
/// So many bytes are read ahead of it at a time.
const WINDOW: u64 = 1 << 20;
/// Pages of branches stand between those of leaves: so many bytes may be left out.
const GAP: u64 = 32 << 10;

/// Where a thread reads.
#[derive(Clone, Copy, Default)]
struct Stream {
    /// Behind what it has read.
    end: u64,
    /// How many bytes it has read in order.
    length: u64,
    /// Up to where was read ahead.
    ahead: u64,
}

impl Stream {
    /// Somebody reads so many bytes. Returns from where to read ahead, if it is time to.
    fn reads(&mut self, offset: u64, length: u64) -> Option<u64> {
        let in_order = (self.end..=self.end + GAP).contains(&offset);
        let end = offset + length;
        *self = match in_order {
            true => Stream {
                end,
                length: self.length + length,
                ..*self
            },
            false => Stream {
                end,
                length,
                ahead: 0,
            },
        };
        if self.length < BEGIN || end + WINDOW / 2 < self.ahead {
            return None;
        }
        let from = self.ahead.max(end);
        self.ahead = from + WINDOW;
        Some(from)
    }
}

thread_local! {
    static STREAM: Cell<Stream> = const { Cell::new(Stream { end: 0, length: 0, ahead: 0 }) };
}

/// The calling thread reads so many bytes of a file.
pub(super) fn reads(file: &File, offset: u64, length: u64) {
    let mut stream = STREAM.get();
    let ahead = stream.reads(offset, length);
    STREAM.set(stream);
    if let Some(from) = ahead {
        file.read_ahead(from, WINDOW);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;

    #[test]
    fn a_range_of_few_pages_reads_nothing_ahead() {
        let mut stream = Stream::default();
        for range in [900, 17, 18, 500] {
            for page in range..range + 7 {
                assert_eq!(stream.reads(page * PAGE, PAGE), None);
            }
        }
    }

    #[test]
    fn a_stream_has_each_page_read_ahead_once() {
        let mut stream = Stream::default();
        let mut ahead = 0;
        for page in 1000..3000 {
            // A branch stands between.
            if page % 100 == 0 {
                continue;
            }
            if let Some(from) = stream.reads(page * PAGE, PAGE) {
                assert!(
                    from > page * PAGE && (ahead == 0 || from == ahead),
                    "{from}, {ahead}"
                );
                ahead = from + WINDOW;
            }
            assert!(
                page < 1032 || ahead > page * PAGE,
                "page {page} is not read ahead"
            );
        }
        assert!(ahead < 3000 * PAGE + 2 * WINDOW);
        // Elsewhere it begins anew.
        assert_eq!(stream.reads(0, PAGE), None);
        assert_eq!(stream.length, PAGE);
    }
}
