//! TLS: what a client with it sees, and what one sees that does not do as it should.

use super::*;
use crate::{
    client::tls::{Demand, Mode, Tls as Trust},
    tls::{Offer, Refusal, Sources},
};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::AtomicU32,
};

/// A directory of its own, which goes with it.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Directory {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let name = format!("cohort-mysql-tls-{}-{number}", process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    /// A certificate and its key, in files.
    fn certificate(&self, name: &str) -> (PathBuf, PathBuf) {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let paths = (
            self.0.join(format!("{name}-cert.pem")),
            self.0.join(format!("{name}-key.pem")),
        );
        fs::write(&paths.0, cert.pem()).unwrap();
        fs::write(&paths.1, signing_key.serialize_pem()).unwrap();
        paths
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sources(certificate: &Path, key: &Path) -> Sources {
    Sources {
        authority: None,
        certificate: Some(certificate.to_owned()),
        key: Some(key.to_owned()),
        versions: "TLSv1.2,TLSv1.3".into(),
    }
}

/// A server's TLS with a certificate of its own.
fn offered(versions: &str) -> Arc<Tls> {
    let directory = Directory::new();
    let (certificate, key) = directory.certificate("server");
    let tls = Tls::default();
    let versions = versions.into();
    let sources = Sources {
        versions,
        ..sources(&certificate, &key)
    };
    tls.set_offer(Some(Offer::load(sources).unwrap()));
    Arc::new(tls)
}

fn trust() -> Trust {
    let demand = Demand {
        mode: Mode::Required,
        authority: None,
    };
    Trust::load(&demand).unwrap()
}

fn request() -> Vec<u8> {
    let capabilities = capability::SERVER | capability::SSL;
    let mut out = capabilities.to_le_bytes().to_vec();
    out.extend_from_slice(&[0, 0, 0, 1, 255]);
    out.extend_from_slice(&[0; 23]);
    out
}

impl Client {
    /// Asks for TLS, and agrees on it.
    fn ask_for_tls(&mut self) {
        self.receive().unwrap();
        self.send(&request());
        trust().secure(&self.stream, "localhost").unwrap();
    }

    fn log_in_over_tls(&mut self) {
        self.ask_for_tls();
        self.send(&response("open", "caching_sha2_password", "test"));
        assert_eq!(self.receive().unwrap()[0], 0, "OK");
    }

    fn echo(&mut self, text: &str) {
        let sql = format!("echo {text}");
        assert_eq!(self.command(command::QUERY, sql.as_bytes()), [2]);
        self.receive_echo(text);
    }

    /// What follows the number of columns.
    fn receive_echo(&mut self, text: &str) {
        self.receive().unwrap();
        self.receive().unwrap();
        let mut row = Vec::new();
        put_string(&mut row, text.as_bytes());
        row.push(0xfb);
        assert!(self.receive().unwrap() == row);
        assert_eq!(self.receive().unwrap()[0], 0xfe);
    }

    /// From here on all bytes, in both directions, come one at a time.
    fn go_slowly(&mut self) {
        let (near, far) = UnixStream::pair().unwrap();
        let through = Arc::new(std::mem::replace(&mut self.stream, Stream::from(near)));
        let far = Arc::new(Stream::from(far));
        for (from, to) in [(Arc::clone(&far), Arc::clone(&through)), (through, far)] {
            thread::spawn(move || {
                let mut byte = [0];
                while let Ok(1) = (&*from).read(&mut byte) {
                    if (&*to).write_all(&byte).is_err() {
                        break;
                    }
                }
                to.shutdown(Shutdown::Both);
            });
        }
    }
}

#[test]
fn a_conversation_over_tls() {
    for (versions, agreed) in [
        ("TLSv1.2", "TLSv1.2"),
        ("TLSv1.3", "TLSv1.3"),
        ("TLSv1.2,TLSv1.3", "TLSv1.3"),
    ] {
        for crowded in [false, true] {
            let tls = offered(versions);
            let mut client = Client::connect_with(crowded, Arc::clone(&tls));
            client.log_in_over_tls();
            let encryption = client.stream.encryption().unwrap();
            assert_eq!(encryption.version, agreed);
            assert!(encryption.ciphers.contains(encryption.cipher));
            client.echo("hello");
            client.echo(&"long".repeat(100_000));
            assert_eq!(tls.counts(), (1, 1));
            client.tell(command::QUIT, b"");
            assert!(matches!(client.receive(), Err(ReadError::Closed)));
            client.finish();
        }
    }
}

#[test]
fn without_tls_there_is_no_offer() {
    let mut client = Client::connect();
    let greeting = client.receive().unwrap();
    // The lower half of the capabilities stands behind the version, number and nonce.
    let low = 1 + "9.7.0-test\0".len() + 4 + 8 + 1;
    assert_eq!(greeting[low + 1] & (capability::SSL >> 8) as u8, 0);
    client.send(&request());
    assert_eq!(error_code(&client.receive().unwrap()), 1043);
    client.finish();
}

/// Also the handshake and the login come a byte at a time.
#[test]
fn slow_clients_over_tls() {
    for crowded in [false, true] {
        let mut client = Client::connect_with(crowded, offered("TLSv1.2,TLSv1.3"));
        client.go_slowly();
        client.log_in_over_tls();
        client.echo("slow");
        client.finish();
    }
}

/// What comes in one record, more than a read takes, is obeyed in order, though epoll sees
/// nothing of it.
#[test]
fn hasty_clients_over_tls() {
    for crowded in [false, true] {
        let mut client = Client::connect_with(crowded, offered("TLSv1.3"));
        client.ask_for_tls();
        let mut ahead = Writer::new();
        let mut put = |sequence, payload: &[u8]| {
            ahead.sequence = sequence;
            ahead.begin();
            ahead.buffer.extend_from_slice(payload);
            ahead.end();
        };
        put(2, &response("open", "caching_sha2_password", "test"));
        let texts: Vec<String> = (0..100)
            .map(|n| format!("{n}{}", "x".repeat(100)))
            .collect();
        for text in &texts {
            put(0, &[b"\x03echo ", text.as_bytes()].concat());
        }
        ahead.flush(&mut &client.stream).unwrap();
        client.reader.sequence = 3;
        assert_eq!(client.receive().unwrap()[0], 0, "OK");
        for text in &texts {
            client.reader.sequence = 1;
            assert_eq!(client.receive().unwrap(), [2]);
            client.receive_echo(text);
        }
        client.finish();
    }
}

/// Another user on the same connection, with the password itself.
#[test]
fn change_of_user_over_tls() {
    let mut client = Client::connect_with(false, offered("TLSv1.3"));
    client.log_in_over_tls();
    for (password, right) in [("secret", true), ("wrong", false)] {
        // As MySQL's own client: no proof before it is asked for.
        let change = b"sha2\0\0test\0\xff\0caching_sha2_password\0";
        assert_eq!(client.command(command::CHANGE_USER, change)[0], 0xfe);
        client.send(&[7; 32]);
        let asked = client.receive().unwrap();
        // A password that was right once is remembered.
        if asked == [1, 4] {
            client.send(&[password.as_bytes(), b"\0"].concat());
            let verdict = client.receive().unwrap();
            assert_eq!(verdict[0] == 0, right);
        }
    }
    client.finish();
}

/// The password itself travels as it is, for nobody else can read it.
#[test]
fn the_password_itself_over_tls() {
    for (password, right) in [("secret", true), ("wrong", false)] {
        let mut client = Client::connect_with(false, offered("TLSv1.3"));
        client.ask_for_tls();
        let mut answer = response("sha2", "caching_sha2_password", "test");
        // A proof that nobody can check yet.
        let at = answer.iter().position(|byte| *byte == 0xff).unwrap() + 24 + "sha2\0".len();
        answer[at] = 32;
        answer.splice(at + 1..at + 1, [7; 32]);
        client.send(&answer);
        assert_eq!(
            client.receive().unwrap(),
            [1, 4],
            "the password is asked for"
        );
        client.send(&[password.as_bytes(), b"\0"].concat());
        let verdict = client.receive().unwrap();
        if right {
            assert_eq!(verdict[0], 0);
        } else {
            assert_eq!(error_code(&verdict), 1045);
        }
        client.finish();
    }
}

#[test]
fn what_is_no_tls_ends_the_connection() {
    let login = response("open", "caching_sha2_password", "test");
    let hello = [0x16, 3, 1, 0xff, 0xff].repeat(10);
    let long = [&[0x17, 3, 3, 0x48, 1][..], &[0; 0x4801]].concat();
    for after in [login, hello, long, vec![0; 70_000], vec![0xff; 70_000]] {
        let mut client = Client::connect_with(false, offered("TLSv1.2,TLSv1.3"));
        client.receive().unwrap();
        client.send(&request());
        // It may hang up before it has taken everything.
        let _ = (&client.stream).write_all(&after);
        let mut answer = Vec::new();
        let _ = (&client.stream).read_to_end(&mut answer);
        assert!(answer.len() < 20, "an alert at most");
        client.finish();
    }
    // Too short, too long, and asked for again.
    for length in [4, 31, 33] {
        let mut client = Client::connect_with(false, offered("TLSv1.3"));
        client.receive().unwrap();
        let mut request = request();
        request.resize(length, 0);
        client.send(&request);
        let refused = client.receive().map(|packet| error_code(&packet));
        assert!(matches!(refused, Ok(1043 | 1045)), "{length}: {refused:?}");
        client.finish();
    }
    let mut client = Client::connect_with(false, offered("TLSv1.3"));
    client.ask_for_tls();
    client.send(&request());
    assert_eq!(error_code(&client.receive().unwrap()), 1043);
    client.finish();
}

/// Both ends of a connection with TLS.
fn both_ends() -> (Arc<Stream>, Arc<Stream>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (ours, theirs) = (Arc::new(Stream::from(ours)), Arc::new(Stream::from(theirs)));
    let tls = offered("TLSv1.3");
    let offer = tls.offer().unwrap();
    tls.accept(&offer, &theirs, &[]).unwrap();
    let serving = Arc::clone(&theirs);
    let server = thread::spawn(move || serving.shake_hands().unwrap());
    trust().secure(&ours, "localhost").unwrap();
    server.join().unwrap();
    (ours, theirs)
}

#[test]
fn who_says_goodbye_over_tls_has_gone() {
    let say = |words: &[&[u8]]| {
        let (ours, theirs) = both_ends();
        assert!(theirs.is_private());
        for word in words {
            (&*ours).write_all(word).unwrap();
        }
        assert!(!theirs.is_deserted(), "it is still there");
        ours.shutdown(Shutdown::Write);
        let deserted = theirs.is_deserted();
        // Whatever was said is still to be read.
        let mut unread = Vec::new();
        (&*theirs).read_to_end(&mut unread).unwrap();
        assert_eq!(unread, words.concat());
        deserted
    };
    let quit: &[u8] = &[1, 0, 0, 0, 1];
    let ping: &[u8] = &[1, 0, 0, 0, 14];
    assert!(say(&[]));
    assert!(say(&[quit]));
    assert!(!say(&[ping]));
    assert!(!say(&[ping, quit]));
    assert!(!say(&[&[7; 60_000]]));
}

/// What the socket does not take is kept, and goes when it does.
#[test]
fn a_reader_who_stops_gets_everything_later() {
    let (ours, theirs) = both_ends();
    let sent: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
    let mut writer = Writer::new();
    writer.buffer.extend_from_slice(&sent);
    let mut prompt = crate::stream::Prompt(&theirs);
    assert!(!writer.flush_promptly(&mut prompt).unwrap());
    let wanted = sent.len();
    let reading = thread::spawn(move || {
        let mut read = vec![0; wanted];
        (&*ours).read_exact(&mut read).unwrap();
        read
    });
    writer.flush(&mut &*theirs).unwrap();
    assert!(reading.join().unwrap() == sent);
    // Nothing of it is left behind.
    theirs.shutdown(Shutdown::Both);
    let late = crate::stream::Prompt(&theirs).write(b"late");
    assert_eq!(late.map_err(|e| e.kind()), Err(io::ErrorKind::BrokenPipe));
}

#[test]
fn offers_that_cannot_be_made() {
    let directory = Directory::new();
    let (certificate, key) = directory.certificate("one");
    let (_, other_key) = directory.certificate("other");
    let nonsense = directory.0.join("nonsense.pem");
    fs::write(&nonsense, "nonsense").unwrap();
    let good = sources(&certificate, &key);
    assert!(
        Offer::load(good.clone())
            .unwrap()
            .valid_until
            .ends_with("GMT")
    );
    let refused = |sources| {
        let Err(Refusal { setting, words, .. }) = Offer::load(sources) else {
            panic!("an offer was made of nonsense");
        };
        (setting, words)
    };
    let missing = Some(directory.0.join("missing"));
    for bad in [
        None,
        missing.clone(),
        Some(nonsense.clone()),
        Some(key.clone()),
    ] {
        let certificate = ("ssl_cert", "Unable to get certificate");
        let private_key = ("ssl_key", "Unable to get private key");
        let authority = ("ssl_ca", "SSL_CTX_set_default_verify_paths failed");
        let sources = |change: fn(&mut Sources, Option<PathBuf>)| {
            let mut sources = good.clone();
            change(&mut sources, bad.clone());
            sources
        };
        assert_eq!(refused(sources(|s, bad| s.certificate = bad)), certificate);
        if bad.as_ref() != Some(&key) {
            assert_eq!(refused(sources(|s, bad| s.key = bad)), private_key);
        }
        if bad.is_some() {
            assert_eq!(refused(sources(|s, bad| s.authority = bad)), authority);
        }
    }
    let mismatch = sources(&certificate, &other_key);
    let words = "Private key does not match the certificate public key";
    assert_eq!(refused(mismatch), ("ssl_key", words));
    for versions in ["", "TLSv1.1", "TLSv1.2,", "TLSv1.2 TLSv1.3"] {
        let sources = Sources {
            versions: versions.into(),
            ..good.clone()
        };
        assert_eq!(refused(sources).0, "tls_version", "{versions}");
    }
}
