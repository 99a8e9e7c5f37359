//! The fake disk loses what it may lose, and nothing else.

use super::*;
use crate::env::Mode;

fn path() -> PathBuf {
    PathBuf::from("/data/f")
}

#[test]
fn what_was_synced_survives_and_the_rest_may_not() {
    let (mut kept, mut lost, mut torn) = (0, 0, 0);
    for seed in 0..200 {
        let disk = Disk::new(seed);
        let env = disk.env();
        let file = env.open(&path(), Mode::Create).unwrap();
        file.write_at(&[1; 4096], 0).unwrap();
        file.sync_data().unwrap();
        env.sync_dir(Path::new("/data")).unwrap();
        file.write_at(&[2; 4096], 2048).unwrap();
        let after = disk.crash(seed).contents(&path()).unwrap();
        assert!(after.len() >= 4096);
        assert_eq!(&after[..2048], &[1; 2048]);
        let twos = after.iter().filter(|&&byte| byte == 2).count();
        assert_eq!(twos % SECTOR, 0);
        match twos {
            4096 => kept += 1,
            0 => lost += 1,
            _ => torn += 1,
        }
    }
    assert!(kept > 10 && lost > 10 && torn > 10, "{kept} {lost} {torn}");
}

#[test]
fn a_name_may_be_lost_until_its_directory_is_synced() {
    let mut lost = 0;
    for seed in 0..50 {
        let disk = Disk::new(seed);
        let env = disk.env();
        env.open(&path(), Mode::Create).unwrap();
        lost += u32::from(disk.crash(seed).contents(&path()).is_none());
        env.sync_dir(Path::new("/data")).unwrap();
        assert!(disk.crash(seed).contents(&path()).is_some());
    }
    assert!(lost > 0 && lost < 50);
}

#[test]
fn a_replaced_file_is_old_or_new_at_every_crash() {
    let run = |at: Option<u64>| {
        let disk = Disk::new(1);
        let env = disk.env();
        env.replace(&path(), b"old").unwrap();
        if let Some(at) = at {
            disk.crash_at(disk.operations() + at);
        }
        let result = env.replace(&path(), b"new contents");
        (disk, result.is_ok())
    };
    for at in 1..10 {
        for seed in 0..50 {
            let (disk, done) = run(Some(at));
            let contents = disk.crash(seed).contents(&path()).unwrap();
            assert!(contents == b"new contents" || (contents == b"old" && !done));
        }
    }
}

#[test]
fn faults_come_where_they_were_ordered() {
    let disk = Disk::new(3);
    let env = disk.env();
    let file = env.open(&path(), Mode::Create).unwrap();
    disk.fail_at(3, ErrorKind::Other);
    file.write_at(&[1; 100], 0).unwrap();
    assert!(file.sync_data().is_err());
    file.sync_data().unwrap();
    disk.set_capacity(150);
    let error = file.write_at(&[2; 100], 100).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert_eq!(file.len().unwrap(), 150);
    disk.crash_at(disk.operations() + 1);
    assert!(file.write_at(b"x", 0).is_err());
    assert!(file.read_at(&mut [0], 0).is_err());
    assert_eq!(disk.operations(), 6);
}

/// Files made of shared blocks are as files of plain bytes.
#[test]
fn contents_are_what_was_written() {
    let mut noise = Noise::new(5);
    let mut contents = Contents::default();
    let mut plain: Vec<u8> = Vec::new();
    for round in 0..2000 {
        let offset = noise.below(20_000) as usize;
        let length = noise.below(9000) as usize;
        let copy = (round % 7 == 0).then(|| (contents.clone(), plain.clone()));
        if noise.one_in(4) {
            contents.set_len(offset);
            plain.resize(offset, 0);
        } else {
            let bytes: Vec<u8> = (0..length).map(|_| noise.next_u64() as u8).collect();
            contents.write(offset, &bytes);
            plain.resize(plain.len().max(offset + length), 0);
            plain[offset..offset + length].copy_from_slice(&bytes);
        }
        assert_eq!(contents.to_bytes(), plain, "round {round}");
        if let Some((copy, plain)) = copy {
            assert_eq!(
                copy.to_bytes(),
                plain,
                "a copy changes with what it was made from"
            );
        }
    }
}

#[test]
fn a_failed_sync_may_lose_what_reads_still_show() {
    let (mut lost, mut kept) = (0, 0);
    for seed in 0..50 {
        let disk = Disk::new(seed);
        disk.lose_on_failed_sync();
        let env = disk.env();
        let file = env.open(&path(), Mode::Create).unwrap();
        env.sync_dir(Path::new("/data")).unwrap();
        file.write_at(&[1; 10_000], 0).unwrap();
        disk.fail_at(disk.operations() + 1, ErrorKind::Other);
        assert!(file.sync_data().is_err());
        file.sync_data().unwrap();
        assert_eq!(disk.contents(&path()).unwrap(), [1; 10_000]);
        assert_eq!(disk.copy().contents(&path()).unwrap(), [1; 10_000]);
        match disk.crash(seed).contents(&path()).unwrap() == [1; 10_000] {
            true => kept += 1,
            false => lost += 1,
        }
    }
    assert!(lost > 5 && kept > 5, "{lost} {kept}");
}

#[test]
fn reads_fail_for_a_while() {
    let disk = Disk::new(1);
    let env = disk.env();
    let file = env.open(&path(), Mode::Create).unwrap();
    file.write_at(&[1; 10], 0).unwrap();
    disk.fail_reads(2, 2, ErrorKind::Other);
    let results = [0; 4].map(|_: i32| file.read_at(&mut [0; 4], 0).is_ok());
    assert_eq!(results, [true, false, false, true]);
}

#[test]
fn a_copy_is_made_before_a_call() {
    let disk = Disk::new(1);
    let env = disk.env();
    let file = env.open(&path(), Mode::Create).unwrap();
    env.sync_dir(Path::new("/data")).unwrap();
    disk.copy_before([4, 5]);
    file.write_at(&[1; 10], 0).unwrap();
    file.write_at(&[2; 10], 0).unwrap();
    file.sync_data().unwrap();
    let contents = |disk: &Disk| disk.contents(&path()).unwrap();
    let copies = disk.take_copies();
    assert_eq!(
        copies.iter().map(contents).collect::<Vec<_>>(),
        [[1; 10], [2; 10]]
    );
    assert!((0..50).any(|seed| contents(&copies[1].crash(seed)).is_empty()));
    assert!((0..50).all(|seed| contents(&disk.crash(seed)) == [2; 10]));
}

#[test]
fn holes_take_no_room() {
    let disk = Disk::new(1);
    let file = disk.env().open(&path(), Mode::Create).unwrap();
    disk.set_capacity(5000);
    file.set_len(1 << 20).unwrap();
    file.write_at(&[1; 4096], 4096).unwrap();
    file.write_at(&[2; 4096], 4096).unwrap();
    assert_eq!(disk.used(), 4096);
    let error = file.write_at(&[1; 4096], 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    disk.set_capacity_for(5000, 1000);
    assert!(file.write_at(&[1; 4096], 8192).is_err());
    disk.advance(1000);
    file.write_at(&[1; 4096], 8192).unwrap();
}

#[test]
fn damage_is_where_it_was_ordered() {
    let disk = Disk::new(1);
    disk.put(&path(), [[1; SECTOR], [2; SECTOR], [3; SECTOR]].concat());
    let damaged = |damage| {
        let copy = disk.copy();
        copy.damage(&path(), damage);
        copy.crash(1).contents(&path()).unwrap()
    };
    assert_eq!(
        damaged(Damage::Flip {
            offset: 600,
            bit: 7
        })[600],
        130
    );
    assert_eq!(damaged(Damage::Zero(1))[SECTOR..2 * SECTOR], [0; SECTOR]);
    assert_eq!(damaged(Damage::Swap(0, 2))[..SECTOR], [3; SECTOR]);
    assert_eq!(damaged(Damage::Cut(700)).len(), 700);
}
