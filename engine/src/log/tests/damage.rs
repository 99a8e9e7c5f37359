//! What a whole, but wrong, file is told by, and what is said of a lost one.

use super::*;
use crate::log::{event::UNWRITTEN, file_name};
use std::sync::{Arc, Mutex};

/// Files of three commits, one in each, by the server `source`.
fn three_files(source: [u8; 16]) -> Disk {
    let disk = disk();
    let options = Options {
        server_uuid: source,
        ..options()
    };
    let (log, _) = open_from(&disk.env(), options, Position::default(), 0).unwrap();
    for id in 1..=3 {
        commit(&log, insert(id, 10)).unwrap();
        log.rotate().unwrap();
    }
    log.close().unwrap();
    disk
}

/// Opens the log of the server `own`, whose base is of the server `SOURCE`.
fn open_as(disk: &Disk, own: [u8; 16]) -> Result<usize, OpenError> {
    let mut count = 0;
    let mut replay = InOrder(|_: &Replayed<'_>| count += 1);
    let known = Known {
        source: Some(SOURCE),
        ..Known::default()
    };
    let options = Options {
        server_uuid: own,
        ..options()
    };
    let dir = Path::new(DIR);
    Log::open(
        &disk.crash(0).env(),
        dir,
        options,
        known,
        &mut replay,
        &mut |_| (),
    )?;
    Ok(count)
}

#[test]
fn a_file_of_another_server_is_refused() {
    const OTHER: [u8; 16] = [0xcd; 16];
    let other = three_files(OTHER);
    for number in 1..=3 {
        let disk = three_files(SOURCE);
        assert_eq!(open_as(&disk, SOURCE), Ok(3));
        let path = Path::new(DIR).join(file_name(number));
        disk.put(&path, other.contents(&path).unwrap());
        let error = open_as(&disk, SOURCE).unwrap_err().0;
        assert!(error.contains("of another server"), "{error}");
        assert!(error.contains(&file_name(number)), "{error}");
        // Nor may it lie between files of this one after a change of auto.cnf.
        assert!(open_as(&disk, OTHER).is_err());
    }
    // All since that change are of the new one.
    let disk = three_files(SOURCE);
    for number in 2..=4 {
        let path = Path::new(DIR).join(file_name(number));
        disk.put(&path, other.contents(&path).unwrap());
    }
    assert_eq!(open_as(&disk, OTHER), Ok(3));
    assert!(open_as(&disk, SOURCE).is_err());
}

#[test]
fn what_is_cut_with_a_lost_header_is_told() {
    let disk = disk();
    let (log, _) = open(&disk.env()).unwrap();
    commit(&log, insert(1, 10)).unwrap();
    log.rotate().unwrap();
    commit(&log, insert(2, 10)).unwrap();
    let end = log.end();
    assert_eq!(end.file, 2);
    let crashed = disk.crash(0);
    let path = Path::new(DIR).join(file_name(2));
    let mut contents = crashed.contents(&path).unwrap();
    contents[..50].fill(0);
    crashed.put(&path, contents);
    let env = crashed.env();
    let told = Arc::new(Mutex::new(Vec::new()));
    let telling = Arc::clone(&told);
    env.on_notice(move |_, line| telling.lock().unwrap().push(line.to_owned()));
    let (_log, replayed) = open(&env).unwrap();
    assert_eq!(replayed.len(), 1);
    let told = told.lock().unwrap();
    // The end mark's last byte is zero.
    let cut = format!(
        "binlog.000002: {} bytes after position 0 are cut",
        end.offset + UNWRITTEN.len() as u64 - 1
    );
    assert!(told.iter().any(|line| line.contains(&cut)), "{told:?}");
}

#[test]
fn a_file_that_ends_before_the_base_goes_on_is_refused() {
    let disk = disk();
    let (log, _) = open(&disk.env()).unwrap();
    commit(&log, insert(1, 10)).unwrap();
    commit(&log, insert(2, 10)).unwrap();
    let from = log.position();
    log.close().unwrap();
    let path = Path::new(DIR).join(file_name(1));
    let contents = disk.contents(&path).unwrap();
    for length in [300, usize::try_from(from.offset).unwrap() - 1] {
        disk.put(&path, contents[..length].to_vec());
        let error = open_from(&disk.crash(0).env(), options(), from, 2).err();
        let error = error.unwrap().0;
        let place = format!("binlog.000001 is damaged at position {length}: the file is shorter");
        assert!(error.contains(&place), "{error}");
    }
    disk.put(&path, contents);
    let whole = open_from(&disk.crash(0).env(), options(), from, 2);
    assert_eq!(whole.err(), None);
}
