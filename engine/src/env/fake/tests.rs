//! The fake disk loses what it may lose, and nothing else.

use super::*;

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
