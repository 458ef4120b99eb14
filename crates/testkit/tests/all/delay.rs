//! The proxy that represents a long way.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use pgdyno_testkit::DelayingProxy;

#[test]
fn every_byte_arrives_later_in_each_direction_and_so_does_the_end() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("socket");
    let listener = UnixListener::bind(&path).expect("its directory is new");
    std::thread::spawn(move || {
        let (mut server, _) = listener.accept().expect("the proxy connects");
        let mut buffer = [0; 4];
        while server.read_exact(&mut buffer).is_ok() {
            server.write_all(&buffer).expect("it is read");
        }
    });
    let one_way = Duration::from_millis(20);
    let proxy = DelayingProxy::start(&path, one_way);
    let mut client = TcpStream::connect(proxy.address()).expect("it listens");
    for text in [b"ping", b"pong"] {
        let began = Instant::now();
        client.write_all(text).expect("it goes through");
        let mut answer = [0; 4];
        client.read_exact(&mut answer).expect("it comes back");
        assert_eq!(&answer, text);
        assert!(began.elapsed() >= 2 * one_way, "{:?}", began.elapsed());
    }
    client
        .shutdown(std::net::Shutdown::Write)
        .expect("it is open");
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).expect("the server closes");
    assert!(rest.is_empty());
}
