//! Texts of several statements under rules: how they are taken apart, and at what work.

use super::ruled::begun;
use super::*;

/// How many bytes of texts the proxy looked at for so many statements in one text, and the size of
/// that text.
fn looked_at(count: usize) -> (usize, usize) {
    let mut played = begun(SERVER);
    let one = "INSERT INTO person (name, number) VALUES ('canary', 4242)";
    let text = vec![one; count].join("; ");
    played.client(0, &[b"\x03", text.as_bytes()].concat());
    for number in 1..=count {
        let sent = played.told();
        let [sent] = &sent[..] else {
            panic!("{} statements at once", sent.len());
        };
        assert!(sent.starts_with(b"\x03INSERT INTO"), "{number}");
        assert!(!contains(sent, b"canary"));
        played.server(1, &ok(0));
    }
    assert_eq!(played.told(), [b""; 0]);
    let got = played.got();
    assert_eq!(got.len(), count);
    for (number, (sequence, payload)) in (1_usize..).zip(&got) {
        let ok = OkPacket::read(payload, SERVER).expect("an answer");
        let follows = ok.status.0 & Status::MORE_RESULTS != 0;
        assert_eq!(usize::from(*sequence), number % 256);
        assert_eq!(follows, number < count, "{number} of {count}");
    }
    let protected = played.session.protected.as_ref().expect("rules");
    (protected.client.looked_at, text.len())
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn each_statement_of_a_text_is_looked_at_once_behind_the_whole() {
    for count in [2, 40, 400] {
        let (looked_at, size) = looked_at(count);
        assert!(looked_at <= 2 * size, "{looked_at} bytes of {size}");
    }
}

#[test]
fn statements_behind_a_protected_one_go_to_the_server_one_by_one() {
    let mut played = begun(SERVER);
    let text = "UPDATE person SET number = 1 WHERE id = 1; SELECT note FROM plain ; COMMIT";
    played.client(0, &[b"\x03", text.as_bytes()].concat());
    assert_eq!(played.told().len(), 1);
    played.server(1, &ok(0));
    assert_eq!(played.told(), [b"\x03SELECT note FROM plain "]);
    played.server(1, &ok(0));
    assert_eq!(played.told(), [b"\x03COMMIT"]);
    played.server(1, &error(1213));
    let got = played.got();
    assert_eq!(got.len(), 3);
    assert_eq!(got[2], (3, error(1213)));
}
