//! The stream over a pipe instead of a server: beginnings, ends, and who wakes whom.

use std::time::Duration;

use crypto::secret::Key;
use session_core::Root;
use session_postgres::WAITING_MAX;
use sql_plan::Rules;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::time::timeout;
use wire_postgres::backend;

use super::*;

/// Less than what may wait.
const PIPE_SIZE: usize = 1000;
/// A test that waits for so long has found a call that nobody made.
const PATIENCE: Duration = Duration::from_secs(60);
const RULES: &str = "[columns.t]\na = { type = \"text\" }\n";

fn stream() -> (SealedStream<DuplexStream>, DuplexStream) {
    let (near, far) = duplex(PIPE_SIZE);
    let rules = Rules::from_toml(RULES).expect("rules");
    let root = Root::new(Key::from_bytes([7; 32]));
    let begin = Begin {
        protection: Arc::new(Protection::new(rules, root, || 0)),
        server: "here".into(),
        message_size_max: 1_000_000,
        finishers: Asking::default(),
    };
    (SealedStream::new(near, false, begin), far)
}

fn packet(code: u32, rest: &[u8]) -> Vec<u8> {
    let size = u32::try_from(8 + rest.len()).expect("a small packet");
    [&size.to_be_bytes(), &code.to_be_bytes(), rest].concat()
}

fn startup() -> Vec<u8> {
    packet(3 << 16, b"user\0ann\0\0")
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    backend::write(kind, &mut out, |out| out.extend_from_slice(body));
    out
}

/// A run of messages that go on to the server, and that it does not answer: Flush.
fn requests() -> Vec<u8> {
    message(b'H', &[]).repeat(200)
}

type Begun = (
    ReadHalf<SealedStream<DuplexStream>>,
    WriteHalf<SealedStream<DuplexStream>>,
    DuplexStream,
);

/// A session that the server has let in.
async fn begun() -> Begun {
    let (stream, mut server) = stream();
    let (mut reader, mut writer) = split(stream);
    writer.write_all(&startup()).await.expect("written");
    writer.flush().await.expect("sent");
    let mut sent = vec![0; startup().len()];
    server.read_exact(&mut sent).await.expect("arrived");
    let welcome = [message(b'R', &[0; 4]), message(b'Z', b"I")].concat();
    server.write_all(&welcome).await.expect("written");
    let mut read = vec![0; welcome.len()];
    reader.read_exact(&mut read).await.expect("arrived");
    assert_eq!(read, welcome);
    (reader, writer, server)
}

async fn in_time<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("nobody woke it")
}

#[tokio::test]
async fn a_first_packet_goes_on_as_it_came_however_it_is_cut() {
    for piece in [1, 3, 7, 100] {
        let (mut stream, mut server) = stream();
        for bytes in startup().chunks(piece) {
            stream.write_all(bytes).await.expect("written");
            stream.flush().await.expect("sent");
        }
        let mut sent = vec![0; startup().len()];
        in_time(server.read_exact(&mut sent))
            .await
            .expect("arrived");
        assert_eq!(sent, startup(), "in pieces of {piece}");
    }
}

#[tokio::test]
async fn what_would_go_past_the_session_is_refused() {
    let replication = packet(3 << 16, b"user\0ann\0replication\0database\0\0");
    let twice = [startup(), startup()].concat();
    let aliased = packet(3 << 16, b"user\0ann\0database\0a\0database\0b\0\0");
    for first in [
        startup::TLS_REQUEST.to_vec(),
        packet(80_877_102, &[0, 0, 0, 1, 1, 2, 3, 4]),
        packet(80_877_104, b""),
        replication,
        twice,
        aliased,
        vec![0xff; 8],
    ] {
        let (mut stream, mut server) = stream();
        let error = stream.write_all(&first).await.expect_err("refused");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        drop(stream);
        let mut sent = Vec::new();
        server.read_to_end(&mut sent).await.expect("the end");
        assert_eq!(sent, b"", "{first:?}");
    }
}

#[tokio::test]
async fn a_reader_that_waits_is_woken_by_what_a_write_makes_for_him() {
    let (mut reader, mut writer, _server) = begun().await;
    let reading = tokio::spawn(async move {
        let mut read = Vec::new();
        reader.read_to_end(&mut read).await.map(|_| read)
    });
    // Until the reader waits.
    tokio::task::yield_now().await;
    let malformed = b"Q\0\0\0\x03";
    writer.write_all(malformed).await.expect("taken");
    let read = in_time(reading).await.expect("no panic").expect("the end");
    assert!(String::from_utf8_lossy(&read).contains("C08P01\0"));
    // He is told by what he reads, not by a failure of what he writes.
    writer.write_all(malformed).await.expect("left out");
}

#[tokio::test]
async fn a_server_that_takes_nothing_stops_the_writer_until_it_does() {
    let (_reader, mut writer, mut server) = begun().await;
    let requests = requests();
    let count = 4 * WAITING_MAX / requests.len();
    let written = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = Arc::clone(&written);
    let size = requests.len();
    let writing = tokio::spawn(async move {
        for _ in 0..count {
            writer.write_all(&requests).await.expect("written");
            counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        writer.flush().await.expect("sent");
    });
    // It stops by itself: each turn it writes all that it can.
    for _ in 0..10 * count {
        tokio::task::yield_now().await;
    }
    let waiting = size * written.load(std::sync::atomic::Ordering::Relaxed);
    assert!(waiting >= WAITING_MAX, "{waiting}");
    assert!(waiting <= WAITING_MAX + PIECE_SIZE + size, "{waiting}");
    let mut sent = vec![0; count * size];
    in_time(server.read_exact(&mut sent))
        .await
        .expect("all comes");
    in_time(writing).await.expect("no panic");
}

#[tokio::test]
async fn a_server_that_goes_is_told_to_the_reader_and_frees_the_writer() {
    let (mut reader, mut writer, server) = begun().await;
    let writing = tokio::spawn(async move {
        let requests = requests();
        for _ in 0..4 * WAITING_MAX / requests.len() {
            writer.write_all(&requests).await?;
        }
        writer.flush().await
    });
    let turns = async || {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    };
    turns().await;
    // He waits last, and is the one whom the pipe wakes.
    let reading = tokio::spawn(async move {
        let mut read = Vec::new();
        // The end, or why there is nothing more to read.
        let _ = reader.read_to_end(&mut read).await;
        read
    });
    turns().await;
    drop(server);
    let read = in_time(reading).await.expect("no panic");
    assert!(String::from_utf8_lossy(&read).contains("C08006\0"));
    in_time(writing)
        .await
        .expect("no panic")
        .expect("what it writes is left out");
}

#[test]
fn a_connection_may_go_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<SealedStream<DuplexStream>>();
    is_send::<crate::Connection>();
    is_send::<crate::Connector>();
}
