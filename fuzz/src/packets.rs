//! What a client sends, before and after it has logged in. Its statements are executed.

use crate::Kept;
use cohort_server::fuzz::Server;

thread_local! {
    static SERVER: Kept<Server> = const { Kept::new(Server::new, 3_000) };
}

/// All that a client sends, its login included.
pub fn before_login(bytes: &[u8]) {
    SERVER.with(|server| server.with(|server| server.before_login(bytes)));
}

/// Commands. The bytes are their payloads, each behind two bytes of length, so that a change of
/// them does not spoil the packets.
pub fn after_login(bytes: &[u8]) {
    if sleeps(bytes) {
        return;
    }
    let mut packets = Vec::new();
    let mut rest = bytes;
    while let Some((length, more)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)).min(more.len());
        let (payload, more) = more.split_at(length);
        packets.extend_from_slice(&[length as u8, (length >> 8) as u8, 0, 0]);
        packets.extend_from_slice(payload);
        rest = more;
    }
    SERVER.with(|server| server.with(|server| server.after_login(&packets)));
}

/// Whether a statement waits because it was told to.
fn sleeps(bytes: &[u8]) -> bool {
    let finds = |word: &[u8]| {
        bytes
            .windows(word.len())
            .any(|window| window.eq_ignore_ascii_case(word))
    };
    finds(b"sleep") || finds(b"get_lock") || finds(b"shutdown")
}
