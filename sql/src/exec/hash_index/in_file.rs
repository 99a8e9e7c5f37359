//! The keys in a temporary file, sorted by their hashes. Some hashes are kept in memory, with the place in
//! the file where they begin: to find a key a few entries are read.

use super::hash;
use crate::exec::{
    ExecContext, Flow, Stop,
    sort::{By, Sorter},
    temporary::{RowFile, RowReader},
};
use cohort_engine::{
    invariant::broken,
    types::{Collation, Value},
};

/// One entry in so many has its hash in memory.
const BLOCK: usize = 16;

/// Entries that are being sorted: the hash of the key, the place of the row, the key.
pub(in crate::exec) struct Sorting {
    sorter: Sorter<'static>,
}

impl Sorting {
    pub fn new(context: &mut ExecContext) -> Result<Sorting, Stop> {
        context.handler.tmp_disk_tables += 1;
        let by = [0, 1].map(|at| By {
            at,
            collation: Collation::Binary,
            desc: false,
        });
        Ok(Sorting {
            sorter: Sorter::of_values(&by, 3),
        })
    }

    pub fn push(
        &mut self,
        place: usize,
        key: &[u8],
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        let hash = Value::Int(hash(key).cast_signed());
        let place = Value::Int(place as i64);
        self.sorter
            .push(vec![hash, place, Value::Bytes(key.to_vec())], context)
    }

    pub fn finish(self, context: &mut ExecContext) -> Result<InFile, Stop> {
        let mut file = RowFile::create(context)?;
        let mut blocks = Vec::new();
        let mut entries = 0;
        let sort_rows = context.handler.sort_rows;
        self.sorter.finish(0, u64::MAX, context, &mut |_, row| {
            if entries % BLOCK == 0 {
                blocks.push((Entry::of(row)?.hash, file.end()));
            }
            entries += 1;
            file.push(row)?;
            Ok(Flow::Continue)
        })?;
        // The rows of the statement are not sorted by this.
        context.handler.sort_rows = sort_rows;
        file.finish()?;
        Ok(InFile { file, blocks })
    }
}

/// An entry.
struct Entry<'r> {
    hash: i64,
    place: usize,
    key: &'r [u8],
}

impl Entry<'_> {
    fn of(row: &[Value]) -> Result<Entry<'_>, Stop> {
        match row {
            [Value::Int(hash), Value::Int(place), Value::Bytes(key)] => Ok(Entry {
                hash: *hash,
                place: *place as usize,
                key,
            }),
            _ => Err(broken("an entry of a hash table has a hash, a place and a key").into()),
        }
    }
}

pub(in crate::exec) struct InFile {
    file: RowFile,
    /// The first hash of each block of entries, and where the block begins.
    blocks: Vec<(i64, u64)>,
}

impl InFile {
    /// The places of the rows with this key, in their order.
    pub fn places<'i>(&'i self, key: &'i [u8]) -> Places<'i> {
        let hash = hash(key).cast_signed();
        // Entries with the hash may begin in the block before the first one that begins with it.
        let from = self.blocks.partition_point(|(first, _)| *first < hash);
        let to = self.blocks.partition_point(|(first, _)| *first <= hash);
        let begins = |block: usize| self.blocks.get(block).map(|(_, at)| *at);
        let end = self.file.end();
        let from = begins(from.saturating_sub(1)).unwrap_or(end);
        Places {
            entries: self.file.read(from, begins(to).unwrap_or(end)),
            hash,
            key,
        }
    }

    /// Hands on the place of the first row with each key.
    pub fn each_first(&self, each: &mut dyn FnMut(usize) -> Result<(), Stop>) -> Result<(), Stop> {
        let mut entries = self.file.read(0, self.file.end());
        // The keys with the hash of the last entry: there is hardly ever more than one.
        let (mut hash, mut keys) = (0, Vec::<Vec<u8>>::new());
        while let Some(row) = entries.next()? {
            let entry = Entry::of(&row)?;
            if entry.hash != hash {
                hash = entry.hash;
                keys.clear();
            }
            if !keys.iter().any(|key| key == entry.key) {
                keys.push(entry.key.to_vec());
                each(entry.place)?;
            }
        }
        Ok(())
    }
}

/// The places of a key.
pub(in crate::exec) struct Places<'i> {
    entries: RowReader<&'i RowFile>,
    hash: i64,
    key: &'i [u8],
}

impl Places<'_> {
    pub fn next(&mut self) -> Result<Option<usize>, Stop> {
        while let Some(row) = self.entries.next()? {
            let entry = Entry::of(&row)?;
            if entry.hash > self.hash {
                break;
            }
            if entry.hash == self.hash && entry.key == self.key {
                return Ok(Some(entry.place));
            }
        }
        Ok(None)
    }
}
