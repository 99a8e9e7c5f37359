//! The store: what the rows are, as of any Seq that somebody can still see.
//!
//! # Why it is hard
//!
//! Readers never wait and never lock, writers never wait for readers, old versions must go as
//! soon as nobody can see them, memory is bounded, and everything that is on disk is exactly the
//! state as of one Seq, so that recovery only has to replay the log from there.
//!
//! # How it works
//!
//! Rows and index entries live in ordered *trees*. A tree's newest contents are the sum of three
//! layers, each of which hides the ones below it, key by key:
//!
//! 1. the *active* [`Delta`]: an ordered map in memory from key to a chain of versions, each
//!    stamped with its Seq; commits push here;
//! 2. while a checkpoint runs, the *sealed* delta: what was active before, no longer written;
//! 3. the [`Base`](base::Base): a copy-on-write B-tree on disk, all trees as of one Seq.
//!
//! A [`View`] names the three. A snapshot is a `View` and a Seq; it holds the view by reference
//! count, and with it the old layers, for just as long as it lives. A checkpoint seals the active
//! delta, merges it into the Base in one durable commit that also records how far it got, and
//! publishes a view without the sealed delta. Readers with older views do not notice.
//!
//! # Invariants
//!
//! 1. The Base holds exactly the commits up to its `applied` Seq; a sealed delta exactly those
//!    from there to its seal; the active delta those after. So a layer can be dropped whole.
//! 2. Only the holder of a row's lock pushes versions of it, in ascending Seq: a chain is sorted.
//! 3. A version is pruned only if it is not the newest at or below the horizon and no live
//!    snapshot lies between it and its successor (see [`Horizon`]).
//! 4. A view is replaced only by the checkpoint thread; sealing happens inside the log's critical
//!    section, so that "placed before the seal" and "in the sealed delta" are the same thing.
//! 5. A version may carry a stamp that is not yet known ([`Stamp::Later`]): a big transaction
//!    fills the delta before it has its Seq. Everyone skips such versions. A delta is not sealed
//!    while one is being filled.
//!
//! Rejected: an LSM tree (reads two to four times slower, stalls at flushes, a hot key slows
//! ranges), undo records in the Base (nothing uncommitted is ever written,
//! so recovery needs no undo), versions inside the Base (they would have to be collected there).

pub mod base;
mod delta;
pub mod dump;
mod error;
mod file;
mod key;
mod merge;
mod postings;
mod read_ahead;
mod scan;
mod view;

pub use delta::{Delta, Horizon, Put, Stamp};
pub use error::StoreError;
pub use file::Traffic;
pub use key::TreeKey;
pub use merge::{look_up, merge, note};
pub use postings::{Numbering, Postings, Term, TextTree, WordChanges, change_row, each_entry};
pub use scan::{Batch, Cursor, KeyRange, Overlay, Window};
pub use view::View;
