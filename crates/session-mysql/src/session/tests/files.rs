//! Files of the client that the server asks for.

use super::ruled::begun;
use super::*;

const LOAD: &[u8] =
    b"\x03LOAD DATA LOCAL INFILE 'a' INTO TABLE person CHARACTER SET utf8mb4 (number)";
const PLAIN: &[u8] = b"\x03LOAD DATA LOCAL INFILE 'a' INTO TABLE plain";

/// A session that has sent a command which loads a file.
fn loading(command: &[u8]) -> Played {
    let mut played = begun(Capabilities::new(0x00ff_ffff, 0));
    played.client(0, command);
    let told = played.told();
    assert!(told[0].starts_with(b"\x03LOAD DATA"), "{told:?}");
    played
}

#[test]
fn a_server_gets_the_file_that_the_statement_names_and_no_other() {
    for command in [LOAD, PLAIN] {
        for name in [&b"\xfb/etc/passwd"[..], b"\xfb", b"\xfbaa"] {
            let mut played = loading(command);
            played.server(1, name);
            played.assert_refused(1, Reason::Server);
        }
        let mut played = loading(command);
        played.server(1, b"\xfba");
        assert_eq!(played.got(), [(1, b"\xfba".to_vec())]);
        played.server(2, b"\xfba");
        played.assert_refused(2, Reason::Server);
    }
    let mut played = begun(Capabilities::new(0x00ff_ffff, 0));
    played.client(0, b"\x03SELECT 'LOAD DATA LOCAL INFILE ''a'''");
    played.told();
    played.server(1, b"\xfba");
    played.assert_refused(1, Reason::Server);
}

#[test]
fn values_of_a_file_are_sealed_wherever_packets_end() {
    let file = b"4242424242\n-5\n\\N\n";
    for size in [1, 3, file.len()] {
        let mut played = loading(LOAD);
        played.server(1, b"\xfba");
        assert_eq!(played.got(), [(1, b"\xfba".to_vec())]);
        let mut sequence = 2;
        for piece in file.chunks(size) {
            for byte in framed(sequence, piece) {
                played.session.client_bytes(&[byte]);
            }
            sequence += 1;
        }
        played.client(sequence, b"");
        let sent = played.sent();
        let numbers: Vec<u8> = sent.iter().map(|(number, _)| *number).collect();
        let expected: Vec<u8> = (2..).take(sent.len()).collect();
        assert_eq!(numbers, expected);
        assert_eq!(sent.last().map(|(_, last)| last.is_empty()), Some(true));
        let rows: Vec<u8> = sent.into_iter().flat_map(|(_, bytes)| bytes).collect();
        let rows = String::from_utf8(rows).expect("digits");
        let lines: Vec<&str> = rows.lines().collect();
        assert_eq!((lines.len(), lines[2]), (3, "\\N"), "{rows}");
        assert!(!rows.contains("4242424242"), "{rows}");
        played.server(numbers.len() as u8 + 2, &ok(0));
        assert_eq!(played.got(), [(sequence + 1, ok(0))]);
    }
}

#[test]
fn a_value_that_does_not_fit_stops_the_statement() {
    let mut played = loading(LOAD);
    played.server(1, b"\xfba");
    played.got();
    played.client(2, b"1\ncanary\n2\n");
    played.client(3, b"3\n");
    played.client(4, b"");
    let sent: Vec<u8> = played
        .sent()
        .into_iter()
        .flat_map(|(_, bytes)| bytes)
        .collect();
    assert!(sent.ends_with(b"\n!\n"), "{sent:?}");
    played.server(4, &error(1690));
    let got = played.got();
    assert_eq!((got.len(), got[0].0), (1, 5));
    assert!(String::from_utf8_lossy(&got[0].1).contains("row 2 of the file"));
    // A server that took the rows is not believed.
    let mut played = loading(LOAD);
    played.server(1, b"\xfba");
    played.got();
    played.client(2, b"canary");
    played.client(3, b"");
    played.server(4, &ok(0));
    played.assert_refused(4, Reason::Server);
}

#[test]
fn a_file_for_another_table_passes() {
    let mut played = loading(PLAIN);
    played.server(1, b"\xfba");
    played.got();
    played.client(2, b"1\tx");
    played.client(3, b"");
    let sent = played.sent();
    assert_eq!(sent, [(2, b"1\tx".to_vec()), (3, Vec::new())]);
    played.server(4, &error(1100));
    assert_eq!(played.got(), [(4, error(1100))]);
    // However it is read: an empty packet is the end of the file.
    let mut played = loading(PLAIN);
    played.server(1, b"\xfba");
    played.got();
    for packet in [
        framed(2, b"1\tx\n2\ty\n"),
        framed(3, b"3\tz"),
        framed(4, b""),
    ] {
        for byte in packet {
            played.session.client_bytes(&[byte]);
        }
    }
    let mut sent = played.sent();
    assert_eq!(sent.pop().map(|(_, last)| last.is_empty()), Some(true));
    assert!(sent.iter().all(|(_, bytes)| !bytes.is_empty()), "{sent:?}");
    let file: Vec<u8> = sent.into_iter().flat_map(|(_, bytes)| bytes).collect();
    assert_eq!(file, b"1\tx\n2\ty\n3\tz");
}

#[test]
fn a_row_that_is_long_goes_in_several_packets() {
    let mut played = begun(Capabilities::new(0x00ff_ffff, 0));
    let load =
        b"\x03LOAD DATA LOCAL INFILE 'a' INTO TABLE person CHARACTER SET utf8mb4 (number, id)";
    played.client(0, load);
    played.told();
    played.server(1, b"\xfba");
    played.got();
    let row = [b"1\t", &vec![b'7'; 100_000][..], b"\n"].concat();
    played.client(2, &row);
    played.client(3, b"");
    let sent = played.sent();
    assert!(sent.len() > 3, "{}", sent.len());
    assert!(sent.iter().all(|(_, bytes)| bytes.len() <= 32 << 10));
    assert_eq!(sent.iter().filter(|(_, bytes)| bytes.is_empty()).count(), 1);
}

#[test]
fn a_file_behind_another_statement_is_refused() {
    for text in [
        &b"\x03LOAD DATA LOCAL INFILE 'a' INTO TABLE plain; SELECT 1"[..],
        b"\x03LOAD DATA LOCAL INFILE 'a' INTO TABLE person (number); SELECT id FROM person",
    ] {
        let mut played = begun(Capabilities::new(0x00ff_ffff, 0));
        played.client(0, text);
        assert_eq!(played.told(), Vec::<Vec<u8>>::new());
        let got = played.got();
        let said = String::from_utf8_lossy(&got[0].1).into_owned();
        assert!(said.contains("Send it by itself"), "{said}");
        assert!(!played.session.has_ended());
    }
    let mut played = begun(Capabilities::new(0x00ff_ffff, 0));
    played.client(
        0,
        b"\x03UPDATE person SET id = 1; LOAD DATA LOCAL INFILE 'a' INTO TABLE plain",
    );
    assert_eq!(played.told().len(), 1);
    played.server(1, &ok(0));
    assert_eq!(played.told(), Vec::<Vec<u8>>::new());
    let said: Vec<u8> = played.got().into_iter().flat_map(|(_, own)| own).collect();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains("Send it by itself"), "{said}");
    assert!(!played.session.has_ended());
}
