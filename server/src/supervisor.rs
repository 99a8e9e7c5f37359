//! Telling the program that has started this one how it is: systemd, or another that knows its
//! protocol.
//!
//! It names a datagram socket in `NOTIFY_SOCKET`, and gets lines such as `READY=1`. A name that
//! begins with `@` is in Linux's abstract namespace, and no path: containers have such ones.

use cohort_process::{Notice, notice};
use std::{
    ffi::OsStr,
    io,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixDatagram},
        },
    },
};

/// The server answers clients; the text is for people who ask for its state.
pub fn ready(text: &str) {
    tell(&format!("READY=1\nSTATUS={text}\n"));
}

/// The server is about to end.
pub fn stopping() {
    tell("STOPPING=1\nSTATUS=draining connections\n");
}

/// A supervisor that does not hear is no reason not to serve, but ends this process some day: the
/// log has to say why.
fn tell(lines: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
        return;
    };
    if let Err(error) = send(&socket, lines) {
        notice!(
            Notice::NotSupervised,
            "NOTIFY_SOCKET {}: {error}",
            socket.display()
        );
    }
}

fn send(socket: &OsStr, lines: &str) -> io::Result<()> {
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(lines.as_bytes(), &address)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abstract_names_and_paths_are_heard() {
        let name = format!("cohort-supervisor-{}", std::process::id());
        let path = std::env::temp_dir().join(&name);
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let sockets = [
            (
                format!("@{name}"),
                UnixDatagram::bind_addr(&address).unwrap(),
            ),
            (
                path.display().to_string(),
                UnixDatagram::bind(&path).unwrap(),
            ),
        ];
        for (name, socket) in sockets {
            send(OsStr::new(&name), "READY=1\n").unwrap();
            let mut heard = [0; 64];
            let length = socket.recv(&mut heard).unwrap();
            assert_eq!(&heard[..length], b"READY=1\n", "{name}");
        }
        std::fs::remove_file(path).unwrap();
        assert!(send(OsStr::new("/nobody/hears"), "READY=1\n").is_err());
    }
}
