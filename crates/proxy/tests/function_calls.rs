//! Function calls of the protocol: those of large objects pass, all others are refused.

use crate::common::Setup;
use crate::common::wire::{Answer, Session, put_text};

const RULES: &str = "[columns.person]\nname = { type = \"text\" }\n";

const MD5: u32 = 2311;
const LO_CREATE: u32 = 715;
const LO_OPEN: u32 = 952;
const LO_READ: u32 = 954;
const LO_WRITE: u32 = 955;
const LO_SEEK: u32 = 956;
const LO_UNLINK: u32 = 964;

/// FunctionCall with values in the binary format, as the result is.
fn call(function: u32, arguments: &[&[u8]]) -> Vec<u8> {
    let mut body = function.to_be_bytes().to_vec();
    body.extend(b"\0\x01\0\x01");
    body.extend(u16::try_from(arguments.len()).expect("few").to_be_bytes());
    for argument in arguments {
        let size = u32::try_from(argument.len()).expect("small");
        body.extend(size.to_be_bytes());
        body.extend(*argument);
    }
    body.extend(b"\0\x01");
    let size = u32::try_from(body.len() + 4).expect("small");
    [b"F", &size.to_be_bytes()[..], &body].concat()
}

/// The result of a call, or the code of its error, and the status of the transaction.
fn said(session: &mut Session, messages: &[u8]) -> Vec<(char, Vec<u8>)> {
    session.send(messages);
    let messages = session.messages().into_iter();
    messages.map(|(kind, body)| (kind.into(), body)).collect()
}

fn int(number: i32) -> [u8; 4] {
    number.to_be_bytes()
}

fn result(value: &[u8]) -> (char, Vec<u8>) {
    let size = u32::try_from(value.len()).expect("small").to_be_bytes();
    ('V', [&size[..], value].concat())
}

fn status(letter: u8) -> (char, Vec<u8>) {
    ('Z', vec![letter])
}

/// Their arguments would reach the server unseen.
#[test]
fn calls_of_other_functions_are_refused_where_columns_are_protected() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    // The message is one that the server takes.
    let mut direct = Session::connect(setup.server.port());
    let digest = result(b"d41d8cd98f00b204e9800998ecf8427e");
    assert_eq!(
        said(&mut direct, &call(MD5, &[b""])),
        [digest, status(b'I')]
    );
    let mut session = Session::connect(setup.proxy.address.port());
    let wanted = "a function call of the protocol, other than of large objects, is refused before \
                  protected columns";
    for _ in 0..2 {
        let Answer {
            code,
            message,
            is_over,
            ..
        } = session.say(&call(MD5, &[b"CANARYargument"]));
        assert_eq!((code.as_str(), message.as_str()), ("0A000", wanted));
        assert!(!is_over, "the session goes on");
    }
    assert_eq!(session.query("BEGIN").tag, "BEGIN\0");
    assert_eq!(session.say(&call(MD5, &[b"CANARYargument"])).code, "0A000");
    assert_eq!(session.query("SELECT 1").code, "25P02");
    assert_eq!(session.query("ROLLBACK").tag, "ROLLBACK\0");
}

#[test]
fn large_objects_are_written_and_read() {
    if !server_testkit::is_installed() {
        return;
    }
    let setup = Setup::start(RULES);
    for port in [setup.server.port(), setup.proxy.address.port()] {
        let session = &mut Session::connect(port);
        let number = int(40_000 + i32::from(port));
        let created = said(session, &call(LO_CREATE, &[&number]));
        assert_eq!(created, [result(&number), status(b'I')]);
        assert_eq!(session.query("BEGIN").tag, "BEGIN\0");
        let to_write = int(0x20000 | 0x40000);
        let opened = said(session, &call(LO_OPEN, &[&number, &to_write]));
        assert_eq!(opened, [result(&int(0)), status(b'T')]);
        // In a pipeline, among messages of other kinds.
        session.send(&call(LO_WRITE, &[&int(0), b"some bytes"]));
        session.send(&call(LO_SEEK, &[&int(0), &int(5), &int(0)]));
        let mut messages = Vec::new();
        put_text("SELECT 7", &mut messages);
        messages.extend(b"S\0\0\0\x04");
        messages.extend(call(LO_READ, &[&int(0), &int(100)]));
        session.send(&messages);
        assert_eq!(said(session, b""), [result(&int(10)), status(b'T')]);
        assert_eq!(said(session, b""), [result(&int(5)), status(b'T')]);
        assert_eq!(session.answer().rows, [[Some("7".to_owned())]]);
        assert_eq!(said(session, b""), [result(b"bytes"), status(b'T')]);
        assert_eq!(session.query("COMMIT").tag, "COMMIT\0");
        // An error of the server ends nothing.
        assert_eq!(session.say(&call(LO_UNLINK, &[&int(1)])).code, "42704");
        let unlinked = said(session, &call(LO_UNLINK, &[&number]));
        assert_eq!(unlinked, [result(&int(1)), status(b'I')]);
    }
}
