//! The session without sockets: bytes in, bytes out.

mod batches;
mod increments;
mod server;
mod steps;

use super::*;
use crate::target::Target;

fn terms() -> Terms {
    Terms {
        message_size_max: 1000,
        cancel_key: Some([9; 32]),
        ..Terms::default()
    }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    backend::write(kind, &mut out, |out| out.extend_from_slice(body));
    out
}

fn taken(outbox: &mut Outbox) -> Vec<u8> {
    std::mem::take(&mut outbox.bytes)
}

fn begun() -> Session {
    let mut session = Session::new(terms());
    session.server_bytes(&message(b'R', &[0; 4]));
    session.server_bytes(&message(b'K', &[0, 0, 0, 5, 1, 2, 3, 4]));
    session.server_bytes(&message(b'Z', b"I"));
    assert!(session.has_begun());
    session.to_client.bytes.clear();
    session
}

#[test]
fn the_client_is_told_the_servers_process_and_the_secret_of_the_proxy() {
    let mut session = Session::new(terms());
    session.server_bytes(&message(b'K', &[0, 0, 0, 5, 1, 2, 3, 4]));
    let told = message(b'K', &[0, 0, 0, 5, 9, 9, 9, 9]);
    assert_eq!(taken(&mut session.to_client), told);
    let key = ServerKey {
        process_id: 5,
        key: vec![1, 2, 3, 4],
    };
    assert_eq!(session.take_server_key(), Some(key));
}

#[test]
fn a_client_that_cancels_at_the_server_itself_gets_the_servers_key() {
    let mut session = Session::new(Terms {
        cancel_key: None,
        ..terms()
    });
    let told = message(b'K', &[0, 0, 0, 5, 1, 2, 3, 4]);
    session.server_bytes(&told);
    assert_eq!(taken(&mut session.to_client), told);
}

/// Whoever has not logged in takes little memory.
#[test]
fn no_long_message_is_held_before_the_login_has_ended() {
    let large = || Terms {
        message_size_max: 64 * WAITING_MAX,
        ..terms()
    };
    let mut session = Session::new(large());
    session.server_bytes(&message(b'R', &[0; 4]));
    let query = message(b'Q', &vec![b' '; 2 * WAITING_MAX]);
    session.client_bytes(&query[..WAITING_MAX - 1]);
    assert!(session.wants_client());
    session.client_bytes(&query[WAITING_MAX - 1..=WAITING_MAX]);
    assert!(!session.wants_client(), "the rest may wait in its socket");
    session.server_bytes(&message(b'Z', b"I"));
    assert_eq!(taken(&mut session.to_server).len(), WAITING_MAX + 1);
    assert!(session.wants_client());

    let mut session = Session::new(large());
    let offer = [&[0, 0, 0, 10], &b"SCRAM-SHA-256\0\0"[..]].concat();
    session.server_bytes(&message(b'R', &offer));
    session.to_client.bytes.clear();
    let choice = message(b'p', &vec![b'a'; WAITING_MAX]);
    session.client_bytes(&choice[..10]);
    assert!(session.has_ended());
    let said = taken(&mut session.to_client);
    assert!(said.windows(5).any(|part| part == b"08P01"));
}

#[test]
fn nothing_reaches_the_server_before_it_is_ready() {
    let mut session = Session::new(terms());
    let password = message(b'p', b"secret\0");
    let query = message(b'Q', b"select 1\0");
    session.client_bytes(&[password.clone(), query.clone()].concat());
    assert_eq!(taken(&mut session.to_server), password);
    session.server_bytes(&message(b'R', &[0; 4]));
    assert_eq!(taken(&mut session.to_server), b"");
    session.server_bytes(&message(b'Z', b"I"));
    assert_eq!(taken(&mut session.to_server), query);
}

#[test]
fn messages_pass_however_they_are_cut() {
    let stream = [
        message(b'P', b"\0select 1\0\0\0"),
        message(b'd', &[7; 5000]),
        message(b'S', b""),
        message(b'E', b"\0\0\0\0\0"),
    ]
    .concat();
    for piece in [1, 2, 3, 5, 7, 100, 5000, stream.len()] {
        let mut session = begun();
        for bytes in stream.chunks(piece) {
            session.client_bytes(bytes);
        }
        assert_eq!(
            taken(&mut session.to_server),
            stream,
            "in pieces of {piece}"
        );
        assert!(!session.has_ended());
    }
}

#[test]
fn answers_pass_however_they_are_cut() {
    let stream = [
        message(b'D', &[7; 3000]),
        message(b'E', b"SERROR\0VERROR\0C42601\0Mno\0\0"),
        message(b'Z', b"E"),
        message(b'N', b"SNOTICE\0\0"),
    ]
    .concat();
    for piece in [1, 2, 3, 5, 7, 100, stream.len()] {
        let mut session = begun();
        for bytes in stream.chunks(piece) {
            session.server_bytes(bytes);
        }
        assert_eq!(
            taken(&mut session.to_client),
            stream,
            "in pieces of {piece}"
        );
    }
}

#[test]
fn channel_binding_is_not_offered() {
    let mut session = Session::new(terms());
    let offer = [&[0, 0, 0, 10][..], b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"].concat();
    session.server_bytes(&message(b'R', &offer));
    let cut = [&[0, 0, 0, 10][..], b"SCRAM-SHA-256\0\0"].concat();
    assert_eq!(taken(&mut session.to_client), message(b'R', &cut));

    let choice = |flag: &[u8]| {
        let first = [flag, b",,n=,r=abc"].concat();
        let size = (first.len() as u32).to_be_bytes();
        message(b'p', &[b"SCRAM-SHA-256\0", &size[..], &first].concat())
    };
    session.client_bytes(&choice(b"y"));
    assert!(session.has_ended(), "the server would call it an attack");
    let told = taken(&mut session.to_client);
    assert!(String::from_utf8_lossy(&told).contains("channel_binding=disable"));

    let mut session = Session::new(terms());
    session.server_bytes(&message(b'R', &offer));
    session.client_bytes(&choice(b"n"));
    assert_eq!(taken(&mut session.to_server), choice(b"n"));
    // The next answer is none of the kind, and passes.
    session.client_bytes(&message(b'p', b"c=biws"));
    assert_eq!(taken(&mut session.to_server), message(b'p', b"c=biws"));

    let mut session = Session::new(Terms {
        certificate_is_shared: true,
        must_be_asked: false,
        ..terms()
    });
    session.server_bytes(&message(b'R', &offer));
    assert_eq!(taken(&mut session.to_client), message(b'R', &offer));
}

#[test]
fn a_session_on_the_wrong_server_does_not_begin() {
    for (standby, begins) in [(&b"off"[..], true), (b"on", false)] {
        let mut session = Session::new(Terms {
            target: Target::Primary,
            ..terms()
        });
        // The client has logged in by what passes here, and cannot do so a second time.
        session.server_bytes(&message(b'R', &[0; 4]));
        let said = [b"in_hot_standby\0", standby, b"\0"].concat();
        session.server_bytes(&message(b'S', &said));
        session.to_client.bytes.clear();
        session.server_bytes(&message(b'Z', b"I"));
        assert_eq!(
            (session.has_begun(), session.has_ended()),
            (begins, !begins)
        );
        let told = taken(&mut session.to_client);
        match begins {
            true => assert_eq!(told, message(b'Z', b"I")),
            false => {
                let fields = backend::read_fields(&told[5..]).expect("an error");
                assert!(fields.contains(&(b'C', b"57P03")), "{fields:?}");
            }
        }
        assert_eq!(session.server_facts().is_standby, Some(!begins));
    }
}

#[test]
fn an_impossible_message_ends_the_session() {
    let mut session = begun();
    session.client_bytes(b"Q\0\0\0\x03");
    assert!(session.has_ended());
    assert!(taken(&mut session.to_client).starts_with(b"E"));
    session.client_bytes(&message(b'Q', b"select 1\0"));
    assert_eq!(
        taken(&mut session.to_server),
        b"",
        "nothing is taken after the end"
    );
}

#[test]
fn a_lost_server_is_reported_once() {
    let mut session = begun();
    session.server_closed();
    let told = taken(&mut session.to_client);
    assert!(String::from_utf8_lossy(&told).contains("C08006\0"));

    let mut session = begun();
    let own = message(b'E', b"SFATAL\0VFATAL\0C57P01\0Mbye\0\0");
    session.server_bytes(&own);
    session.server_closed();
    assert_eq!(
        taken(&mut session.to_client),
        own,
        "the server has said why itself"
    );

    let mut session = begun();
    session.server_bytes(&message(b'D', &[7; 900])[..100]);
    session.to_client.bytes.clear();
    session.server_closed();
    assert_eq!(
        taken(&mut session.to_client),
        b"",
        "an error inside a row is no error"
    );
    assert!(session.has_ended());
}

#[test]
fn a_client_that_has_ended_its_session_gets_no_error() {
    for mut session in [begun(), server::Both::begin().session] {
        session.client_bytes(&message(b'X', b""));
        assert_eq!(taken(&mut session.to_server), message(b'X', b""));
        session.server_closed();
        assert_eq!(taken(&mut session.to_client), b"");
        assert!(session.has_ended());
    }
}

#[test]
fn draining_waits_for_the_end_of_the_transaction() {
    let mut session = begun();
    session.client_bytes(&message(b'Q', b"begin\0"));
    session.drain(false);
    assert!(!session.has_ended());
    session.server_bytes(&message(b'Z', b"T"));
    assert!(!session.has_ended());
    session.client_bytes(&message(b'Q', b"commit\0"));
    session.server_bytes(&message(b'Z', b"I"));
    assert!(session.has_ended());
    let told = taken(&mut session.to_client);
    assert!(String::from_utf8_lossy(&told).contains("C57P01\0"));
    let mut session = begun();
    session.drain(false);
    assert!(session.has_ended(), "an idle one ends at once");
}

/// As tokio-postgres sends COPY.
#[test]
fn draining_does_not_wait_for_a_sync_that_the_server_ignores() {
    let mut session = begun();
    for kind in *b"BES" {
        session.client_bytes(&message(kind, b""));
    }
    session.server_bytes(&message(b'G', &[0; 3]));
    for kind in *b"dcS" {
        session.client_bytes(&message(kind, b""));
    }
    session.drain(false);
    assert!(!session.has_ended());
    session.server_bytes(&message(b'C', b"COPY 1\0"));
    session.server_bytes(&message(b'Z', b"I"));
    assert!(session.has_ended());
}

#[test]
fn a_side_that_takes_no_bytes_stops_the_other() {
    let mut session = begun();
    session.server_bytes(&message(b'D', &vec![7; WAITING_MAX]));
    assert!(!session.wants_server());
    assert!(session.wants_client());
    session.to_client.bytes.clear();
    assert!(session.wants_server());
    session.client_bytes(&message(b'd', &vec![7; WAITING_MAX]));
    assert!(!session.wants_client());
}
