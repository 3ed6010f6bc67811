//! A second implementation writes what is read here, and reads what is written here.

use bytes::BytesMut;
use postgres_protocol::IsNull;
use postgres_protocol::message::{backend as theirs, frontend as their_writers};
use proptest::prelude::*;
use sqlstate::SqlState;
use wire_postgres::backend::{self, Failure, Field};
use wire_postgres::frontend::{self, Bind, Execute, Parse, Target};
use wire_postgres::startup::First;
use wire_postgres::{HEADER_SIZE, Header};

fn name() -> impl Strategy<Value = String> {
    "[a-zA-Zäß_ ]{0,12}"
}

fn values() -> impl Strategy<Value = Vec<Option<Vec<u8>>>> {
    prop::collection::vec(
        prop::option::of(prop::collection::vec(any::<u8>(), 0..40)),
        0..12,
    )
}

fn body(message: &[u8]) -> &[u8] {
    let header = Header::read(message, usize::MAX)
        .expect("a length")
        .expect("a header");
    assert_eq!(header.size, message.len(), "the size is the message's");
    &message[HEADER_SIZE..]
}

fn theirs(message: &[u8]) -> theirs::Message {
    let mut bytes = BytesMut::from(message);
    theirs::Message::parse(&mut bytes)
        .expect("well formed")
        .expect("a whole message")
}

proptest! {
    #[test]
    fn their_bind_is_read_and_written_again(
        portal in name(),
        statement in name(),
        values in values(),
        binary in any::<bool>(),
    ) {
        let mut message = BytesMut::new();
        let formats = vec![i16::from(binary); values.len()];
        let written = their_writers::bind(
            &portal,
            &statement,
            formats.clone(),
            &values,
            |value, out| {
                Ok(match value {
                    Some(bytes) => {
                        out.extend_from_slice(bytes);
                        IsNull::No
                    }
                    None => IsNull::Yes,
                })
            },
            [1],
            &mut message,
        );
        prop_assert!(written.is_ok());
        let bind = Bind::read(body(&message)).expect("well formed");
        prop_assert_eq!(bind.portal, portal.as_bytes());
        prop_assert_eq!(bind.statement, statement.as_bytes());
        let read: Vec<_> = bind.parameters.iter().map(|value| value.map(<[u8]>::to_vec)).collect();
        prop_assert_eq!(&read, &values);

        let mut again = Vec::new();
        frontend::write_bind(
            (bind.portal, bind.statement),
            bind.formats.iter(),
            |out| {
                out.extend_from_slice(bind.parameters.raw());
                Ok::<_, ()>(())
            },
            bind.result_formats.iter(),
            &mut again,
        ).expect("nothing fails");
        prop_assert_eq!(&again[..], &message[..]);
    }

    #[test]
    fn their_other_messages_are_read_and_written_again(
        statement in name(),
        text in name(),
        types in prop::collection::vec(any::<u32>(), 0..5),
        rows_max in any::<i32>(),
    ) {
        let mut message = BytesMut::new();
        their_writers::parse(&statement, &text, types.clone(), &mut message).expect("no zero byte");
        let parse = Parse::read(body(&message)).expect("well formed");
        let mut again = Vec::new();
        frontend::write_parse(parse.statement, parse.text, parse.types(), &mut again);
        prop_assert_eq!(&again[..], &message[..]);

        let mut message = BytesMut::new();
        their_writers::execute(&statement, rows_max, &mut message).expect("no zero byte");
        let execute = Execute::read(body(&message)).expect("well formed");
        let mut again = Vec::new();
        frontend::write_execute(execute.portal, execute.rows_max, &mut again);
        prop_assert_eq!(&again[..], &message[..]);

        let mut message = BytesMut::new();
        their_writers::describe(b'P', &statement, &mut message).expect("no zero byte");
        let target = Target::read(body(&message)).expect("well formed");
        let mut again = Vec::new();
        frontend::write_target(frontend::kind::DESCRIBE, target, &mut again);
        prop_assert_eq!(&again[..], &message[..]);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Parse::read(&bytes);
        let _ = Execute::read(&bytes);
        let _ = Target::read(&bytes);
        let _ = First::read(&bytes);
        let _ = frontend::read_query(&bytes);
        let _ = frontend::SaslInitialResponse::read(&bytes);
        let _ = backend::Authentication::read(&bytes);
        let _ = backend::BackendKeyData::read(&bytes);
        let _ = backend::read_fields(&bytes);
        let _ = backend::read_parameter_description(&bytes);
        let _ = backend::read_row_description(&bytes);
        if let Ok(values) = backend::read_data_row(&bytes) {
            prop_assert_eq!(values.iter().count(), values.count());
        }
        if let Ok(bind) = Bind::read(&bytes) {
            prop_assert_eq!(bind.parameters.iter().count(), bind.parameters.count());
        }
    }
}

#[test]
fn the_other_implementation_reads_our_output() {
    use fallible_iterator::FallibleIterator;

    let mut out = Vec::new();
    Failure::error(SqlState::FEATURE_NOT_SUPPORTED, "no")
        .hint("do")
        .write(&mut out);
    let theirs::Message::ErrorResponse(error) = theirs(&out) else {
        panic!("no error")
    };
    let letters: Vec<u8> = error
        .fields()
        .map(|field| Ok(field.type_()))
        .collect()
        .expect("read");
    assert_eq!(letters, *b"SVCMH");

    out.clear();
    let field = Field {
        name: b"a",
        table: 1,
        column: 2,
        type_oid: 23,
        type_size: 4,
        type_modifier: -1,
        format: 0,
    };
    backend::write_row_description(&[field, field], &mut out);
    let theirs::Message::RowDescription(description) = theirs(&out) else {
        panic!("no description")
    };
    assert_eq!(description.fields().count().expect("read"), 2);

    out.clear();
    backend::write_command_complete("UPDATE 2", &mut out);
    let theirs::Message::CommandComplete(complete) = theirs(&out) else {
        panic!("no end")
    };
    assert_eq!(complete.tag().expect("UTF-8"), "UPDATE 2");
}
