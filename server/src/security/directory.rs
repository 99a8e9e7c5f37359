//! Who else may look into a data directory.

use super::Finding;
use crate::check::expect_data;
use std::{
    fs::{self, Metadata},
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
};

/// Files that nobody but the server has to read.
const KEYS: [&str; 4] = [
    "ca-key.pem",
    "server-key.pem",
    "client-key.pem",
    "private_key.pem",
];

/// Who belongs neither to the owner's group nor is the owner.
const OTHERS: u32 = 0o007;
const OTHERS_MAY_ENTER: u32 = 0o001;
const OTHERS_MAY_WRITE: u32 = 0o002;
const GROUP_MAY_WRITE: u32 = 0o020;
const ALL_BUT_OWNER: u32 = 0o077;

/// What is not as it should be.
pub fn look(path: &Path) -> Result<Vec<Finding>, String> {
    expect_data(path)?;
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let whole = fs::metadata(path).map_err(failed)?;
    let mut findings = Vec::new();
    let own = path.display().to_string();
    if whole.mode() & OTHERS != 0 {
        findings.push(Finding::new(
            "directory-open-to-others",
            &own,
            format!(
                "everybody on this machine may look into it (mode {:o})",
                whole.mode() & 0o777
            ),
            format!("chmod o= '{own}'"),
        ));
    }
    if whole.mode() & GROUP_MAY_WRITE != 0 {
        findings.push(Finding::new(
            "directory-writable-by-group",
            &own,
            "its group may replace the server's files",
            format!("chmod g-w '{own}'"),
        ));
    }
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // One that has gone meanwhile is no file any more.
        let Ok(about) = fs::metadata(entry.path()) else {
            continue;
        };
        let name = entry.file_name().to_string_lossy().into_owned();
        let file = entry.path().display().to_string();
        findings.extend(of_file(&whole, (&name, &file), &about));
    }
    findings.sort_by(|a, b| a.subject.cmp(&b.subject));
    Ok(findings)
}

fn of_file(directory: &Metadata, (name, file): (&str, &str), about: &Metadata) -> Option<Finding> {
    let mode = about.mode();
    if about.file_type().is_socket() {
        let is_open = directory.mode() & OTHERS_MAY_ENTER != 0 && mode & OTHERS_MAY_WRITE != 0;
        return is_open.then(|| {
            Finding::new(
                "socket-open-to-others",
                file,
                "everybody on this machine may ask the server to be let in",
                "let nobody else into the directory, or give the socket a place of its own (--socket)",
            )
        });
    }
    if about.uid() != directory.uid() {
        return Some(Finding::new(
            "file-of-another-owner",
            file,
            format!(
                "it belongs to user {}, the directory to user {}",
                about.uid(),
                directory.uid()
            ),
            "find out who has put it there; chown it to the server's user",
        ));
    }
    if KEYS.contains(&name) && mode & ALL_BUT_OWNER != 0 {
        return Some(Finding::new(
            "key-readable",
            file,
            format!(
                "others than the server may read the key (mode {:o})",
                mode & 0o777
            ),
            format!("chmod 600 '{file}', and make new keys if somebody may have read it"),
        ));
    }
    (mode & OTHERS_MAY_WRITE != 0).then(|| {
        Finding::new(
            "file-writable-by-others",
            file,
            "everybody who gets into the directory may change it",
            format!("chmod o-w '{file}'"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    #[test]
    fn open_directories_and_keys_are_found() {
        let name = format!("cohort-security-{}", std::process::id());
        let room = std::env::temp_dir().join(name);
        fs::create_dir(&room).unwrap();
        let found = |path: &Path| -> Vec<&'static str> {
            look(path).unwrap().iter().map(|one| one.finding).collect()
        };
        assert!(look(&room).is_err(), "no data directory");
        let set = |name: &str, mode: u32| {
            let path = match name {
                "" => room.clone(),
                name => room.join(name),
            };
            if !path.exists() {
                fs::write(&path, "").unwrap();
            }
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        };
        set("", 0o750);
        set("cohort.base", 0o644);
        set("server-key.pem", 0o600);
        assert!(found(&room).is_empty());
        set("server-key.pem", 0o640);
        set("cohort.base", 0o646);
        set("", 0o775);
        assert_eq!(
            found(&room),
            [
                "directory-open-to-others",
                "directory-writable-by-group",
                "file-writable-by-others",
                "key-readable"
            ]
        );
        fs::remove_dir_all(&room).unwrap();
    }
}
