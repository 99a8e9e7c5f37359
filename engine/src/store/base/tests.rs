use super::*;
use crate::env::fake::Disk;

const TREE: TreeId = 7;
/// So small that a part has three pages.
const CACHE: usize = 64 << 10;
const KEYS: u32 = 500;

/// Puts `value` under all keys, and returns how many parts it ended.
fn put_all(write: &mut BaseWrite<'_>, value: &[u8]) -> usize {
    let mut parts = 0;
    for key in 0..KEYS {
        parts += usize::from(write.is_full());
        write.settle().unwrap();
        let mut tree = write.tree(TREE).unwrap();
        tree.put(&key.to_be_bytes(), value).unwrap();
    }
    parts
}

/// The value that all keys have.
fn value(snapshot: &BaseSnapshot) -> Option<Vec<u8>> {
    let value = |key: u32| snapshot.get(TREE, &key.to_be_bytes(), <[u8]>::to_vec);
    let values: Vec<_> = (0..KEYS).map(|key| value(key).unwrap()).collect();
    assert!(
        values.windows(2).all(|pair| pair[0] == pair[1]),
        "some keys"
    );
    values.into_iter().next().flatten()
}

fn filled(disk: &Disk) -> Base {
    let base = Base::create(&disk.env(), Path::new("/base"), CACHE).unwrap();
    let mut write = base.write().unwrap();
    assert!(put_all(&mut write, b"before") > 100);
    write.commit().unwrap();
    disk.env().sync_dir(Path::new("/")).unwrap();
    base
}

#[test]
fn nobody_sees_parts_of_a_change() {
    let disk = Disk::new(1);
    let base = filled(&disk);
    let old = base.snapshot().unwrap();
    let mut write = base.write().unwrap();
    assert!(put_all(&mut write, b"after") > 100);
    assert_eq!(value(&base.snapshot().unwrap()), Some(b"before".to_vec()));
    let kept = base.snapshot().unwrap();
    let from_disk = base.snapshot_from_disk(&kept).unwrap();
    assert_eq!(value(&from_disk), Some(b"before".to_vec()));
    write.commit().unwrap();
    assert_eq!(value(&base.snapshot().unwrap()), Some(b"after".to_vec()));
    assert_eq!(value(&old), Some(b"before".to_vec()));
}

#[test]
fn a_change_that_is_dropped_takes_its_parts_along() {
    let disk = Disk::new(2);
    let base = filled(&disk);
    let mut write = base.write().unwrap();
    put_all(&mut write, b"never");
    drop(write);
    assert_eq!(value(&base.snapshot().unwrap()), Some(b"before".to_vec()));
    assert!(base.write().is_err(), "it is to be opened anew");
    assert!(base.mend().unwrap());
    assert!(!base.mend().unwrap());
    assert_eq!(value(&base.snapshot().unwrap()), Some(b"before".to_vec()));
    let mut write = base.write().unwrap();
    put_all(&mut write, b"after");
    write.commit().unwrap();
    assert_eq!(value(&base.snapshot().unwrap()), Some(b"after".to_vec()));
}

/// Whoever reads the file for itself learns that its pages were given up, as every snapshot does.
#[test]
fn a_snapshot_from_disk_ends_with_the_one_that_keeps_its_pages() {
    let disk = Disk::new(4);
    let base = filled(&disk);
    let kept = base.snapshot().unwrap();
    let from_disk = base.snapshot_from_disk(&kept).unwrap();
    let mut write = base.write().unwrap();
    put_all(&mut write, b"never");
    drop(write);
    assert!(base.mend().unwrap());
    assert!(base.mend().is_err(), "it is read yet");
    assert!(
        base.snapshot_from_disk(&kept).is_err(),
        "of the file as it was"
    );
    disk.advance(PATIENCE.as_micros().try_into().unwrap());
    assert!(!base.mend().unwrap());
    for _ in 0..3 {
        let mut write = base.write().unwrap();
        put_all(&mut write, b"after");
        write.commit().unwrap();
    }
    for snapshot in [&*kept, &from_disk] {
        assert!(snapshot.is_lost());
        let read = snapshot.get(TREE, &7_u32.to_be_bytes(), <[u8]>::to_vec);
        assert!(read.unwrap_err().to_string().contains("opened anew"));
        assert!(
            snapshot
                .range(TREE, &[], None)
                .and_then(|mut all| all.next(false))
                .is_err()
        );
    }
}

#[test]
fn a_crash_leaves_all_parts_or_none() {
    let disk = Disk::new(3);
    let base = filled(&disk);
    let begin = disk.operations();
    disk.copy_before((begin..begin + 10_000).step_by(7));
    let mut write = base.write().unwrap();
    put_all(&mut write, b"after");
    assert!(
        disk.operations() > begin + 100,
        "pages of earlier parts are written"
    );
    write.commit().unwrap();
    let (mut before, mut after) = (0, 0);
    let copies = disk.take_copies().into_iter().chain([disk]);
    for (seed, copy) in (0..).zip(copies) {
        let left = copy.power_loss(seed);
        let base = Base::open(&left.env(), Path::new("/base"), CACHE).unwrap();
        match value(&base.snapshot().unwrap()).as_deref() {
            Some(b"before") => before += 1,
            Some(b"after") => after += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(before > 10 && after > 0, "{before} before, {after} after");
}

/// A process is killed at any moment while the file is cut, and power is lost at any moment while the next
/// one opens it.
#[test]
fn a_file_that_is_cut_opens_after_two_crashes() {
    let disk = Disk::new(5);
    let base = filled(&disk);
    let write = base.write().unwrap();
    let mut large = write.tree(TREE + 1).unwrap();
    for key in 0..1_500_u32 {
        large.put(&key.to_be_bytes(), &[1; 1_000]).unwrap();
    }
    drop(large);
    write.commit().unwrap();
    let length = || disk.contents(Path::new("/base")).unwrap().len();
    let before = length();
    let write = base.write().unwrap();
    write.drop_tree(TREE + 1).unwrap();
    write.commit().unwrap();
    let write = base.write().unwrap();
    write.commit().unwrap();
    let begin = disk.operations();
    disk.copy_before(begin..begin + 10_000);
    drop(base);
    assert!(length() < before, "{} of {before}", length());
    let mut opened = 0;
    for killed in disk.take_copies() {
        let begin = killed.operations();
        killed.copy_before(begin..begin + 100);
        drop(Base::open(&killed.env(), Path::new("/base"), CACHE).unwrap());
        for copy in killed.take_copies() {
            for seed in 0..16 {
                let left = copy.power_loss(seed);
                let base = Base::open(&left.env(), Path::new("/base"), CACHE).unwrap();
                assert_eq!(value(&base.snapshot().unwrap()), Some(b"before".to_vec()));
                opened += 1;
            }
        }
    }
    assert!(opened > 100, "{opened}");
}
