//! Commands and their answers.

use super::*;

/// What a client takes that reads the older form of answers.
const WITH_EOF: Capabilities = Capabilities::new(0x00ff_ffff, 0);

const DEFINITION: &[u8] = b"\x03def";
const MORE: u16 = Status::MORE_RESULTS;

/// The server answers with packets one after the other, the last of which ends the answer: nothing
/// is due behind it, and something is before.
#[track_caller]
fn assert_is_answer(capabilities: Capabilities, command: &[u8], answer: &[Vec<u8>]) {
    let mut played = Played::begun_with(capabilities);
    played.client(0, command);
    assert_eq!(played.sent(), [(0, command.to_vec())]);
    for (number, payload) in (1..).zip(answer) {
        assert_eq!(
            played.session.due.len(),
            1,
            "it ends before packet {number}"
        );
        played.server(number, payload);
        assert_eq!(played.got(), [(number, payload.clone())]);
    }
    assert!(played.session.due.is_empty(), "it does not end");
    assert!(!played.session.has_ended());
}

#[test]
fn answers_end_where_they_end() {
    let definition = || DEFINITION.to_vec();
    let (row, long_row) = (b"\x011".to_vec(), vec![0xfe; 9]);
    let query = b"\x03select";
    assert_is_answer(SERVER, query, &[ok(0)]);
    assert_is_answer(SERVER, query, &[error(1064)]);
    let rows = [vec![1], definition(), row.clone(), row.clone(), end(0)];
    assert_is_answer(SERVER, query, &rows);
    let rows = [vec![1], definition(), eof(0), row.clone(), long_row, eof(0)];
    assert_is_answer(WITH_EOF, query, &rows);
    assert_is_answer(SERVER, query, &[vec![1], definition(), error(1317)]);
    assert_is_answer(SERVER, query, &[vec![1], error(1317)]);
    // Several results; an error is the last.
    let several = [
        ok(MORE),
        vec![1],
        definition(),
        row.clone(),
        end(MORE),
        ok(0),
    ];
    assert_is_answer(SERVER, query, &several);
    assert_is_answer(SERVER, query, &[ok(MORE), error(1064)]);
    // The rows of a cursor are asked for.
    let cursor = Status::CURSOR_EXISTS;
    let opened = [vec![1], definition(), eof(cursor)];
    assert_is_answer(WITH_EOF, b"\x17execute", &opened);
    assert_is_answer(
        SERVER,
        b"\x17execute",
        &[vec![1], definition(), end(cursor)],
    );
    assert_is_answer(SERVER, b"\x1cfetch", &[row.clone(), end(0)]);
    assert_is_answer(WITH_EOF, b"\x1cfetch", &[row, eof(0)]);

    let both = [prepared(1, 2), definition(), definition(), definition()];
    assert_is_answer(SERVER, b"\x16prepare", &both);
    let [prepared_both, ..] = both;
    let both = [
        prepared_both,
        definition(),
        eof(0),
        definition(),
        definition(),
        eof(0),
    ];
    assert_is_answer(WITH_EOF, b"\x16prepare", &both);
    assert_is_answer(SERVER, b"\x16prepare", &[prepared(0, 0)]);
    let columns = [prepared(0, 1), definition(), eof(0)];
    assert_is_answer(WITH_EOF, b"\x16prepare", &columns);
    let parameters = [prepared(2, 0), definition(), definition()];
    assert_is_answer(SERVER, b"\x16prepare", &parameters);
    assert_is_answer(SERVER, b"\x16prepare", &[error(1064)]);

    assert_is_answer(SERVER, b"\x04t\0", &[definition(), end(0)]);
    assert_is_answer(SERVER, b"\x09", &[b"Uptime: 1".to_vec()]);
    for word in [b"\x02shop", &b"\x0e"[..], b"\x1f", b"\x1a\x01\0\0\0"] {
        assert_is_answer(SERVER, word, &[ok(0)]);
    }
    assert_is_answer(WITH_EOF, b"\x1b\0\0", &[eof(0)]);
    assert_is_answer(SERVER, b"\x1b\0\0", &[end(0)]);
}

#[test]
fn commands_without_an_answer_have_none() {
    let mut played = Played::begun();
    let (data, close) = (b"\x18\x01\0\0\0\0\0abc", b"\x19\x01\0\0\0");
    played.client(0, data);
    played.client(0, close);
    assert_eq!(played.sent(), [(0, data.to_vec()), (0, close.to_vec())]);
    assert!(played.session.due.is_empty());
    played.client(0, b"\x01");
    assert_eq!(played.sent(), [(0, b"\x01".to_vec())]);
    played.session.server_closed();
    assert!(played.session.has_ended());
    assert_eq!(played.got(), []);
}

#[test]
fn large_payloads_pass_in_pieces_cut_anywhere() {
    let text = vec![b'x'; PIECE_SIZE_MAX + 10];
    let command = framed(0, &[b"\x03", &text[..]].concat());
    let mut played = Played::begun();
    for piece in command.chunks(1_000_003) {
        played.session.client_bytes(piece);
        assert!(played.session.from_client.held.len() < HEADER_SIZE);
    }
    assert_eq!(played.session.to_server.bytes, command);
    // The server counts both packets of the client.
    played.server(2, &[1]);
    played.server(3, DEFINITION);
    let row = framed(4, &[b"\xfd\x09\0\0", &text[..]].concat());
    for piece in row.chunks(1_000_003) {
        played.session.server_bytes(piece);
        assert!(played.session.from_server.held.len() < HEADER_SIZE);
    }
    played.server(6, &end(0));
    assert!(played.session.due.is_empty() && !played.session.has_ended());
    let size = framed(2, &[1]).len() + framed(3, DEFINITION).len();
    let got = &played.session.to_client.bytes[size..];
    assert!(got.starts_with(&row));
}

#[test]
fn bytes_may_come_one_by_one() {
    let mut played = Played::begun();
    let command = framed(0, b"\x03select");
    let answer = [framed(1, &[1]), framed(2, DEFINITION), framed(3, &end(0))].concat();
    for byte in &command {
        played.session.client_bytes(&[*byte]);
    }
    for byte in &answer {
        played.session.server_bytes(&[*byte]);
    }
    assert_eq!(played.session.to_server.bytes, command);
    assert_eq!(played.session.to_client.bytes, answer);
    assert!(played.session.due.is_empty());
}

#[test]
fn a_client_may_ask_before_it_has_the_answer() {
    let mut played = Played::begun();
    played.client(0, b"\x16prepare");
    played.client(0, b"\x17execute");
    assert_eq!(played.sent().len(), 2);
    played.server(1, &prepared(0, 0));
    played.server(1, &ok(Status::IN_TRANSACTION));
    assert_eq!(played.got().len(), 2);
    assert!(played.session.due.is_empty());
}

#[test]
fn what_cannot_be_followed_is_refused_in_its_turn() {
    for kind in [0x12, 0x13, 0x15, 0x1e, 0x20, 0x7f] {
        let mut played = Played::begun();
        played.client(0, b"\x0e");
        let large = vec![kind; PIECE_SIZE_MAX + 1];
        played.client(0, &large);
        assert_eq!(played.sent(), [(0, b"\x0e".to_vec())]);
        assert_eq!(played.got(), []);
        played.server(1, &ok(0));
        let got = played.got();
        assert_eq!(got[0], (1, ok(0)));
        let refused = ErrorPacket::read(&got[1].1).expect("an error");
        assert_eq!((got[1].0, refused.code), (2, 1235), "{kind:#x}");
        // The session goes on.
        played.client(0, b"\x0e");
        assert_eq!(played.sent(), [(0, b"\x0e".to_vec())]);
    }
}

/// A client that waits for the answer to its text.
fn asked() -> Played {
    let mut played = Played::begun();
    played.client(0, b"\x03select");
    played
}

#[test]
fn packets_that_do_not_belong_end_the_session() {
    let mut played = Played::begun();
    played.client(1, b"\x0e");
    played.assert_refused(1, Reason::PacketsOutOfOrder);
    assert!(played.session.client_erred());
    let mut played = Played::begun();
    played.client(0, b"");
    played.assert_refused(1, Reason::MalformedPacket);

    let mut played = asked();
    played.server(2, &ok(0));
    played.assert_refused(1, Reason::PacketsOutOfOrder);
    let mut played = asked();
    played.server(1, &[0]);
    played.assert_refused(1, Reason::MalformedPacket);
    // The server asks for a file although the client was not allowed to give one.
    let mut played = asked();
    played.server(1, b"\xfb/etc/passwd");
    played.assert_refused(1, Reason::Server);
    let mut played = Played::begun();
    played.server(1, &ok(0));
    played.assert_refused(1, Reason::Server);
}

#[test]
fn a_server_may_say_why_it_ends_a_connection() {
    let mut played = Played::begun();
    played.server(0, &error(1927));
    assert_eq!(played.got(), [(0, error(1927))]);
    played.session.server_closed();
    assert_eq!(played.got(), []);
    // It refuses a statement before it has all of it.
    let mut played = Played::begun();
    let command = framed(0, &vec![3; PIECE_SIZE_MAX + 10]);
    played.session.client_bytes(&command[..1000]);
    played.server(1, &error(1153));
    assert_eq!(played.got(), [(1, error(1153))]);
    // Where it does not say why, the end is the end, whether an answer is due or not.
    for mut played in [Played::begun(), asked()] {
        played.session.server_closed();
        assert!(played.session.has_ended());
        assert_eq!(played.got(), []);
    }
}

#[test]
fn a_proxy_that_stops_waits_for_transactions() {
    let mut played = Played::begun();
    played.client(0, b"\x03begin");
    played.session.drain(false);
    played.server(1, &ok(Status::IN_TRANSACTION));
    assert!(!played.session.has_ended());
    played.client(0, b"\x03commit");
    played.server(1, &ok(0));
    played.assert_refused(1, Reason::ShuttingDown);
    let mut played = Played::begun();
    played.client(0, b"\x03select");
    played.session.drain(true);
    played.assert_refused(1, Reason::ShuttingDown);
    let mut played = Played::begun();
    played.session.drain(false);
    played.assert_refused(1, Reason::ShuttingDown);
}

#[test]
fn a_client_that_only_asks_is_held_up() {
    let mut played = Played::begun();
    for _ in 0..2 * DUE_MAX {
        played.client(0, b"\x0e");
    }
    assert!(!played.session.wants_client());
    assert_eq!(played.sent().len(), DUE_MAX);
    for _ in 0..DUE_MAX {
        played.server(1, &ok(0));
    }
    assert_eq!(played.sent().len(), DUE_MAX);
    played.session.to_client.bytes = vec![0; WAITING_MAX];
    assert!(!played.session.wants_server());
}
