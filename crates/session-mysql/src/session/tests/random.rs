//! Whatever both sides send, a session with rules does not panic, and no text over a protected
//! table reaches the server as it came.

use proptest::collection::vec;
use proptest::prelude::*;

use super::ruled;
use super::*;

/// Texts that a client may send.
const TEXTS: [&[u8]; 10] = [
    b"SELECT * FROM person",
    b"INSERT INTO person (name, number) VALUES (?, 'canary')",
    b"INSERT INTO person (name, number) VALUES ('canary', 5)",
    b"SELECT id FROM person WHERE number = ?",
    b"UPDATE person SET name = ? WHERE number = 5",
    b"SET NAMES gbk",
    b"SELECT 1; SELECT 2",
    b"DROP TABLE person",
    b"COMMIT",
    b"SHOW WARNINGS",
];

#[derive(Clone, Debug)]
enum Event {
    /// A command with a text.
    Text(u8, usize),
    /// A command about statement 1.
    Statement(u8, Vec<u8>),
    /// Any bytes.
    Client(Vec<u8>),
    /// The proxy's questions are answered.
    Told,
    /// A payload of the server's with the number that is due.
    Server(Vec<u8>),
}

fn event() -> impl Strategy<Value = Event> {
    let text_kinds = prop::sample::select(vec![kind::QUERY, kind::STMT_PREPARE]);
    let kinds = prop::sample::select(vec![
        kind::STMT_EXECUTE,
        kind::STMT_SEND_LONG_DATA,
        kind::STMT_RESET,
        kind::STMT_CLOSE,
        kind::STMT_FETCH,
        kind::INIT_DB,
    ]);
    let answers = prop::sample::select(vec![
        ok(0),
        ok(Status::MORE_RESULTS),
        end(0),
        error(1062),
        prepared(1, 0),
        prepared(1, 3),
        prepared(0, 0),
        vec![1],
        vec![3],
    ]);
    prop_oneof![
        4 => (text_kinds, 0..TEXTS.len()).prop_map(|(kind, index)| Event::Text(kind, index)),
        2 => (kinds, vec(any::<u8>(), 0..30)).prop_map(|(kind, rest)| Event::Statement(kind, rest)),
        1 => vec(any::<u8>(), 0..30).prop_map(Event::Client),
        6 => Just(Event::Told),
        4 => answers.prop_map(Event::Server),
        1 => vec(any::<u8>(), 0..60).prop_map(Event::Server),
    ]
}

fn play(events: &[Event], capabilities: Capabilities) {
    let mut played = ruled::begun(capabilities);
    let mut sent = Vec::new();
    let mut number = 1_u8;
    for event in events {
        match event {
            Event::Text(kind, index) => {
                number = 1;
                played.client(0, &[&[*kind], TEXTS[*index]].concat());
            }
            Event::Statement(kind, rest) => {
                number = 1;
                played.client(0, &[&[*kind, 1, 0, 0, 0][..], rest].concat());
            }
            Event::Client(bytes) => played.client(0, bytes),
            Event::Told => {
                sent.extend(played.told());
                number = 1;
            }
            Event::Server(payload) => {
                played.server(number, payload);
                number = number.wrapping_add(1);
            }
        }
    }
    sent.extend(played.sent().into_iter().map(|(_, payload)| payload));
    played.session.server_closed();
    played.session.client_closed();
    for payload in sent {
        let is_clear = payload.windows(6).any(|part| part == b"canary");
        assert!(!is_clear, "{}", String::from_utf8_lossy(&payload));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sessions_with_rules_take_what_comes(events in vec(event(), 1..40), old in any::<bool>()) {
        let without_end = Capabilities::new(0x00ff_ffff, 0);
        play(&events, if old { without_end } else { SERVER });
    }
}
