use super::{Body, Call, Caller, Guard, Resolver, host_of, tls};
use crate::{
    model::{Global, Pattern, Reply, Status},
    tests::{grpc, participant},
};
use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{IpAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::Duration,
};

#[test]
fn hosts_are_between_scheme_and_path() {
    for (url, wanted) in [
        ("http://a:80/x?u=http://b/", "a:80"),
        ("https://user:secret@a/x", "a"),
        ("h:1/p.S/M", "h:1"),
        ("grpcs://h:1/p.S/M", "h:1"),
        ("dns:///h:1/p.S/M", "h:1"),
        ("http://[::1]:8080?x", "[::1]:8080"),
        ("", ""),
    ] {
        assert_eq!(host_of(url), wanted, "{url}");
    }
}

fn ip(last: u8) -> IpAddr {
    [127, 0, 0, last].into()
}

/// Calls a name that has these addresses, so often; what came of it.
fn call(addresses: &[u8], guard: &str, url: &str, count: usize) -> Vec<Reply> {
    let guard = Arc::new(Guard::parse(guard, true).expect("a guard"));
    let addresses = addresses.iter().map(|last| ip(*last)).collect();
    let resolver = Resolver::listed(addresses, Arc::clone(&guard));
    let global = Global::new("g", Pattern::Message, Status::Submitted, 0);
    let call = Call {
        url: url.to_owned(),
        body: Body::Made(Vec::new()),
        post: false,
        branch_id: "01".to_owned(),
        op: "action".to_owned(),
        headers: BTreeMap::new(),
        timeout: Duration::from_secs(15),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let caller = Caller::with(guard, resolver, tls(None).expect("TLS"));
        let mut replies = Vec::new();
        for _ in 0..count {
            replies.push(caller.call(&global, &call, || ()).await);
        }
        replies
    })
}

/// Serves answers of which each begins with so many interim ones.
fn interim(count: usize) -> u16 {
    let listener = TcpListener::bind((ip(1), 0)).expect("a port");
    let port = listener.local_addr().expect("its number").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = [0; 4096];
            while stream.read(&mut request).is_ok_and(|bytes| bytes > 0) {
                let heads = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000);
                let sent = (0..count / 1_000).try_for_each(|_| stream.write_all(heads.as_bytes()));
                let last = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                if sent.is_err() || stream.write_all(last).is_err() {
                    break;
                }
            }
        }
    });
    port
}

#[test]
fn interim_answers_are_read_up_to_a_limit() {
    let url = |count| format!("http://bank.test:{}/x", interim(count));
    // Each of several on one connection.
    assert!(call(&[1], "", &url(3_000), 3).iter().all(is_success));
    let endless = call(&[1], "", &url(usize::MAX), 1);
    assert!(
        matches!(&endless[0], Reply::Error(why) if why.contains("no answer in 131072 bytes")),
        "{endless:?}"
    );
}

/// What a status decides needs no body that can be read.
#[test]
fn a_refusal_may_be_long() {
    let reply = |status: u16| {
        let long = "x".repeat(2 << 20);
        let port = participant::serve(move |_| participant::Answer::Status(status, long.clone()));
        call(&[1], "", &format!("http://bank.test:{port}/x"), 1).remove(0)
    };
    assert!(matches!(reply(409), Reply::Failure(why) if why.len() < 10_000));
    assert_eq!(reply(425), Reply::Ongoing);
    assert!(matches!(reply(200), Reply::Error(_)));
}

/// Listeners at these addresses of this machine, on the same port.
fn listen(addresses: &[u8]) -> (u16, Vec<TcpListener>) {
    loop {
        let first = TcpListener::bind((ip(addresses[0]), 0)).expect("a port");
        let port = first.local_addr().expect("its number").port();
        let others = addresses[1..]
            .iter()
            .map(|last| TcpListener::bind((ip(*last), port)));
        // Somebody else may have it there.
        if let Ok(others) = others.collect::<Result<Vec<_>, _>>() {
            return (port, [first].into_iter().chain(others).collect());
        }
    }
}

fn is_success(reply: &Reply) -> bool {
    matches!(reply, Reply::Success(_))
}

#[test]
fn the_next_address_is_tried_when_one_cannot_be_connected_to() {
    let (port, mut listeners) = listen(&[1, 2]);
    let taken = listeners.pop().expect("the second");
    // Only the second listens.
    drop(listeners);
    let handler = |_: &participant::Visit| participant::Answer::ok();
    participant::serve_at(taken, handler);
    let url = format!("http://bank.test:{port}/x");
    assert!(call(&[1, 2], "", &url, 2).iter().all(is_success));
    assert!(!is_success(&call(&[1], "", &url, 1)[0]));

    let (port, mut listeners) = listen(&[1, 2]);
    let taken = listeners.pop().expect("the second");
    drop(listeners);
    grpc::serve_at(taken, handler);
    for scheme in ["", "dns:///"] {
        let url = format!("{scheme}bank.test:{port}/test.Bank/Move");
        let replies = call(&[1, 2], "", &url, 3);
        assert!(replies.iter().all(is_success), "{replies:?}");
        assert!(!is_success(&call(&[1], "", &url, 1)[0]));
    }
}

#[test]
fn an_address_that_does_not_even_refuse_leaves_time_for_the_next() {
    let (port, mut listeners) = listen(&[1, 2]);
    let taken = listeners.pop().expect("the second");
    participant::serve_at(taken, |_| participant::Answer::ok());
    // Nobody accepts: when its queue is full, what else comes is not answered.
    let silent = &listeners[0];
    rustix::net::listen(silent, 0).expect("a short queue");
    let address = silent.local_addr().expect("its address");
    let mut waiting = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
        waiting.push(stream);
        assert!(waiting.len() < 100, "the queue has no end");
    }
    let url = format!("http://bank.test:{port}/x");
    assert!(call(&[1, 2], "", &url, 1).iter().all(is_success));
}

#[test]
fn calls_to_a_name_go_round_to_those_that_may_be_called() {
    let (port, listeners) = listen(&[1, 2, 3]);
    let visits = Arc::new(Mutex::new(BTreeMap::new()));
    for (number, listener) in (1..).zip(listeners) {
        let visits = Arc::clone(&visits);
        grpc::serve_at(listener, move |_| {
            *visits.lock().expect("no panic").entry(number).or_insert(0) += 1;
            participant::Answer::ok()
        });
    }
    let counts = |count: usize, scheme: &str, guard: &str| {
        let url = format!("{scheme}bank.test:{port}/test.Bank/Move");
        assert!(call(&[1, 2, 3], guard, &url, count).iter().all(is_success));
        std::mem::take(&mut *visits.lock().expect("no panic"))
    };
    assert_eq!(counts(6, "dns:///", ""), [(1, 2), (2, 2), (3, 2)].into());
    assert_eq!(
        counts(6, "dns:///", "127.0.0.2/31"),
        [(2, 3), (3, 3)].into()
    );
    assert_eq!(counts(3, "", ""), [(1, 3)].into());
    let url = format!("dns:///bank.test:{port}/test.Bank/Move");
    let refused = call(&[1, 2, 3], "10.0.0.0/8", &url, 1);
    assert!(
        matches!(&refused[0], Reply::Error(why) if why.contains("branch-hosts")),
        "{refused:?}"
    );
}

/// A gRPC service that refuses every call before it looks at it; its port.
fn refusing_service() -> u16 {
    const HEADERS: u8 = 1;
    const REFUSED_STREAM: u8 = 7;
    let listener = TcpListener::bind((ip(1), 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut stream = stream;
                let mut preface = [0; 24];
                stream.read_exact(&mut preface)?;
                // SETTINGS without any.
                stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0])?;
                loop {
                    let mut head = [0; 9];
                    stream.read_exact(&mut head)?;
                    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
                    stream.read_exact(&mut vec![0; length as usize])?;
                    if head[3] == HEADERS {
                        let mut reset = vec![0, 0, 4, 3, 0];
                        reset.extend_from_slice(&head[5..]);
                        reset.extend_from_slice(&[0, 0, 0, REFUSED_STREAM]);
                        stream.write_all(&reset)?;
                    }
                }
                #[expect(unreachable_code, reason = "it ends with the connection")]
                Ok::<(), std::io::Error>(())
            });
        }
    });
    port
}

#[test]
fn what_a_grpc_service_refuses_unseen_was_not_sent() {
    let port = refusing_service();
    let replies = call(&[1], "", &format!("bank.test:{port}/p.S/M"), 2);
    assert_eq!(replies, [Reply::Unsent, Reply::Unsent]);
    // Of several addresses another one takes it.
    let other = TcpListener::bind((ip(2), port)).expect("the same port");
    grpc::serve_at(other, |_| participant::Answer::Status(200, String::new()));
    let replies = call(&[1, 2], "", &format!("dns:///bank.test:{port}/p.S/M"), 4);
    assert!(replies.iter().all(is_success), "{replies:?}");
}
