//! All that a Base has, as a row of bytes, for backups: entries in the order of their trees, without
//! the file's free space, and independent of how the file is made.
//!
//! The bytes come in parts. Each begins with the [`MAGIC`] and is a row of records:
//!
//! | First byte | What follows |
//! |---|---|
//! | `m` | an entry of `meta`: length of the key u32, length of the value u32, both |
//! | `t` | the number of a tree, u32: what follows is of this one |
//! | `e` | an entry: length of the key u32, length of the value u32, both |
//!
//! Integers are little-endian. Trees come once each, and the keys in them ascend, over all parts; a
//! part that begins within a tree names it again.

use super::{
    StoreError,
    base::{Base, BaseSnapshot, BaseWrite},
};
use crate::types::TreeId;

/// The first bytes of a part.
pub const MAGIC: &[u8] = b"cohort base copy 1\n";
/// A part that has so many bytes is followed by another one.
const PART_BYTES: usize = if cfg!(test) { 512 } else { 32 << 20 };
/// So many bytes are given away at once.
const PIECE_BYTES: usize = 64 << 10;

/// Who takes the parts.
pub trait Parts {
    /// Why it cannot take more, or what failed.
    type Error: From<StoreError>;
    /// A part begins.
    fn begin(&mut self) -> Result<(), Self::Error>;
    /// Some more bytes of it.
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;
    /// The part is whole.
    fn end(&mut self) -> Result<(), Self::Error>;
}

struct Dump<'a, P> {
    parts: &'a mut P,
    piece: Vec<u8>,
    /// Of the part, those in `piece` included.
    length: usize,
}

impl<P: Parts> Dump<'_, P> {
    fn begin(&mut self) -> Result<(), P::Error> {
        self.parts.begin()?;
        self.length = MAGIC.len();
        self.piece.extend_from_slice(MAGIC);
        Ok(())
    }
    fn end(&mut self) -> Result<(), P::Error> {
        self.flush()?;
        self.parts.end()
    }
    fn flush(&mut self) -> Result<(), P::Error> {
        self.parts.bytes(&self.piece)?;
        self.piece.clear();
        self.piece.shrink_to(2 * PIECE_BYTES);
        Ok(())
    }
    fn tree(&mut self, tree: TreeId) {
        self.piece.push(b't');
        self.piece.extend_from_slice(&tree.to_le_bytes());
        self.length += 1 + size_of::<TreeId>();
    }
    fn entry(&mut self, kind: u8, key: &[u8], value: &[u8]) -> Result<(), P::Error> {
        self.piece.push(kind);
        for part in [key, value] {
            let length = u32::try_from(part.len());
            let length = length.map_err(|_| StoreError::Io("an entry of 4 GiB".to_owned()))?;
            self.piece.extend_from_slice(&length.to_le_bytes());
        }
        self.piece.extend_from_slice(key);
        self.piece.extend_from_slice(value);
        self.length += 9 + key.len() + value.len();
        if self.piece.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(())
    }
}

/// Gives what a snapshot has beside its trees, and some of these in ascending order, to `parts`.
pub fn dump<P: Parts>(
    snapshot: &BaseSnapshot,
    trees: &[TreeId],
    parts: &mut P,
) -> Result<(), P::Error> {
    let mut dump = Dump {
        parts,
        piece: Vec::new(),
        length: 0,
    };
    dump.begin()?;
    for (key, value) in snapshot.meta()? {
        dump.entry(b'm', &key, &value)?;
    }
    for tree in trees.iter().copied() {
        dump.tree(tree);
        let mut range = snapshot.range(tree, &[], None)?;
        while let Some(item) = range.next(false)? {
            if dump.length >= PART_BYTES {
                dump.end()?;
                dump.begin()?;
                dump.tree(tree);
            }
            dump.entry(b'e', item.key(), item.value())?;
        }
    }
    dump.end()
}

/// A part of which something is wrong; the text says what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPart(pub String);

/// The order of what was read so far, over all parts.
#[derive(Default)]
pub struct Order {
    tree: Option<TreeId>,
    key: Option<Vec<u8>>,
}

/// What stands together in a part.
enum Section<'a> {
    Meta(Vec<(&'a [u8], &'a [u8])>),
    Tree(TreeId, Vec<(&'a [u8], &'a [u8])>),
}

impl Order {
    /// Checks a part without doing anything with it.
    ///
    /// # Errors
    /// It is no such part, or does not follow those before.
    pub fn check(&mut self, part: &[u8]) -> Result<(), BadPart> {
        self.sections(part).map(|_| ())
    }

    fn sections<'p>(&mut self, part: &'p [u8]) -> Result<Vec<Section<'p>>, BadPart> {
        let bad = |what: &str| BadPart(format!("not a part of a base: {what}"));
        let mut rest = part
            .strip_prefix(MAGIC)
            .ok_or_else(|| bad("it begins otherwise"))?;
        let mut sections = Vec::new();
        if self.tree.is_none() {
            sections.push(Section::Meta(Vec::new()));
        }
        while let Some((kind, behind)) = rest.split_first() {
            if *kind == b't' {
                let (tree, behind) = behind
                    .split_first_chunk()
                    .ok_or_else(|| bad("a tree is cut off"))?;
                let tree = TreeId::from_le_bytes(*tree);
                let again = self.tree == Some(tree) && rest.len() + MAGIC.len() == part.len();
                if !again {
                    if self.tree.is_some_and(|before| before >= tree) {
                        return Err(bad("a tree is out of order"));
                    }
                    (self.tree, self.key) = (Some(tree), None);
                }
                sections.push(Section::Tree(tree, Vec::new()));
                rest = behind;
                continue;
            }
            let (key, value, behind) = entry(behind).ok_or_else(|| bad("an entry is cut off"))?;
            match (kind, sections.last_mut()) {
                (b'm', Some(Section::Meta(entries))) | (b'e', Some(Section::Tree(_, entries))) => {
                    let before = entries.last().map(|(key, _)| *key);
                    if before
                        .or(self.key.as_deref())
                        .is_some_and(|before| before >= key)
                    {
                        return Err(bad("an entry is out of order"));
                    }
                    entries.push((key, value));
                }
                _ => return Err(bad("a record is none")),
            }
            rest = behind;
        }
        if let Some(Section::Tree(_, entries)) = sections.last()
            && let Some((key, _)) = entries.last()
        {
            self.key = Some(key.to_vec());
        }
        Ok(sections)
    }
}

fn entry(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (key, bytes) = bytes.split_first_chunk()?;
    let (value, bytes) = bytes.split_first_chunk()?;
    let (key, bytes) = bytes.split_at_checked(u32::from_le_bytes(*key) as usize)?;
    let (value, bytes) = bytes.split_at_checked(u32::from_le_bytes(*value) as usize)?;
    Some((key, value, bytes))
}

/// Fills an empty Base with parts.
pub struct Load<'b> {
    write: BaseWrite<'b>,
    order: Order,
}

/// Why a part was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// Something is wrong with it.
    Part(BadPart),
    /// The Base failed.
    Store(StoreError),
}

impl From<StoreError> for LoadError {
    fn from(error: StoreError) -> LoadError {
        LoadError::Store(error)
    }
}

impl<'b> Load<'b> {
    /// Begins.
    ///
    /// # Errors
    /// The Base fails.
    pub fn begin(base: &'b Base) -> Result<Load<'b>, StoreError> {
        Ok(Load {
            write: base.write()?,
            order: Order::default(),
        })
    }
    /// Takes the next part.
    ///
    /// # Errors
    /// It is not the next part, or the Base fails.
    pub fn part(&mut self, part: &[u8]) -> Result<(), LoadError> {
        for section in self.order.sections(part).map_err(LoadError::Part)? {
            match section {
                Section::Meta(entries) => {
                    let mut meta = self.write.meta()?;
                    for (key, value) in entries {
                        meta.put(key, value)?;
                    }
                }
                Section::Tree(tree, entries) => {
                    let mut tree = self.write.tree(tree)?;
                    if !entries.is_empty() {
                        tree.append(entries.into_iter(), |entry| *entry)?;
                    }
                }
            }
        }
        Ok(())
    }
    /// Makes it durable.
    ///
    /// # Errors
    /// The Base fails.
    pub fn commit(self) -> Result<(), StoreError> {
        self.write.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::fake::Disk;
    use std::path::Path;

    #[derive(Default)]
    struct Collected(Vec<Vec<u8>>);

    impl Parts for Collected {
        type Error = StoreError;
        fn begin(&mut self) -> Result<(), StoreError> {
            self.0.push(Vec::new());
            Ok(())
        }
        fn bytes(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
            self.0.last_mut().unwrap().extend_from_slice(bytes);
            Ok(())
        }
        fn end(&mut self) -> Result<(), StoreError> {
            Ok(())
        }
    }

    fn parts_of(base: &Base) -> Vec<Vec<u8>> {
        let mut parts = Collected::default();
        let snapshot = base.snapshot().unwrap();
        let trees = snapshot.trees().unwrap();
        dump(&snapshot, &trees, &mut parts).unwrap();
        parts.0
    }

    fn base(path: &str) -> Base {
        Base::create(&Disk::new(1).env(), Path::new(path), 1 << 20).unwrap()
    }

    fn example() -> Vec<Vec<u8>> {
        let example = base("/base");
        let write = example.write().unwrap();
        write.meta().unwrap().put(b"m", b"header").unwrap();
        for tree in [3, 7, 9] {
            let mut tree = write.tree(tree).unwrap();
            for number in 0..50_u32 {
                tree.put(&number.to_be_bytes(), &[7; 20]).unwrap();
            }
        }
        write.tree(11).unwrap();
        write.commit().unwrap();
        parts_of(&example)
    }

    #[test]
    fn what_is_loaded_is_what_was_dumped() {
        let parts = example();
        assert!(parts.len() > 5, "several parts");
        let copy = base("/copy");
        let mut load = Load::begin(&copy).unwrap();
        let mut order = Order::default();
        for part in &parts {
            order.check(part).unwrap();
            load.part(part).unwrap();
        }
        load.commit().unwrap();
        assert_eq!(parts_of(&copy), parts);
        assert_eq!(copy.snapshot().unwrap().trees().unwrap().len(), 4);
    }

    #[test]
    fn parts_that_are_none_or_stand_elsewhere_are_refused() {
        let parts = example();
        for part in &parts {
            // A cut between two records shows in the sum of the whole only.
            let cuts = (0..part.len()).filter(|end| {
                let mut order = Order {
                    tree: Some(0),
                    key: None,
                };
                order.check(&part[..*end]).is_err()
            });
            assert!(cuts.count() > part.len() * 9 / 10);
        }
        let mut order = Order::default();
        order.check(&parts[0]).unwrap();
        order.check(&parts[2]).unwrap();
        assert!(order.check(&parts[1]).is_err(), "parts change places");
    }
}
