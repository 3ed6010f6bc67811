//! Packets of MySQL and MariaDB. The first byte says which reader takes the rest; the second has
//! flags of the session, or a number of columns.

use wire_mysql::answer::{self, EofPacket, ErrorPacket, OkPacket, Prepared, Start};
use wire_mysql::bulk::Bulk;
use wire_mysql::capabilities::Capabilities;
use wire_mysql::column::Column;
use wire_mysql::command::{ChangeUser, Command};
use wire_mysql::execute::{self, Execute};
use wire_mysql::greeting::Greeting;
use wire_mysql::login::{First, Switch};
use wire_mysql::packet::{self, Extent};
use wire_mysql::row::{self, BinaryRow, TextRow};
use wire_mysql::value::{FieldType, Value};

/// Larger than any input.
const SIZE_MAX: usize = 1 << 20;

/// What is read and written again is read as the same.
pub fn run(bytes: &[u8]) {
    let Some((&[reader, choice], payload)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    match reader % 12 {
        0 => extent(payload),
        1 => greeting(payload),
        2 => first(payload),
        3 => switch(payload),
        4 => command(payload, choice),
        5 => execution(payload, choice),
        6 => ok(payload, choice),
        7 => error(payload),
        8 => column(payload),
        9 => text_row(payload, choice),
        10 => binary_row(payload, choice),
        _ => rest(payload),
    }
}

fn extent(bytes: &[u8]) {
    let Ok(Some(extent)) = Extent::read(bytes, SIZE_MAX) else {
        return;
    };
    let mut joined = Vec::new();
    let payload = extent.payload(bytes, &mut joined);
    let mut sequence = extent.first_sequence;
    let mut out = Vec::new();
    packet::write_bytes(payload, &mut sequence, &mut out);
    assert_eq!(out, bytes[..extent.size()]);
    assert_eq!(sequence, extent.next_sequence());
}

fn greeting(payload: &[u8]) {
    if let Ok(greeting) = Greeting::read(payload) {
        let mut out = Vec::new();
        greeting.write(&mut out);
        assert_eq!(Greeting::read(&out), Ok(greeting));
    }
}

fn first(payload: &[u8]) {
    let Ok(First::Login(login)) = First::read(payload) else {
        return;
    };
    let mut out = Vec::new();
    login.write(&mut out);
    let Ok(First::Login(again)) = First::read(&out) else {
        panic!("a login is written as something else")
    };
    assert_eq!((again.user, again.answer), (login.user, login.answer));
    assert_eq!(again.plugin, login.plugin);
    assert!(again.attributes().eq(login.attributes()));
}

fn switch(payload: &[u8]) {
    if let Ok(switch) = Switch::read(payload) {
        let mut out = Vec::new();
        switch.write(&mut out);
        assert_eq!(Switch::read(&out), Ok(switch));
    }
}

fn command(payload: &[u8], choice: u8) {
    if let Ok(Command::ChangeUser(body)) = Command::read(payload) {
        let _ = ChangeUser::read(body, flags(choice));
    }
}

fn execution(body: &[u8], choice: u8) {
    let parameters = usize::from(choice & 15);
    if choice & 32 > 0 {
        return bulk(body, parameters);
    }
    let is_long = |index| choice & 16 > 0 && index == 0;
    let Ok(execute) = Execute::read(body, parameters, &[], is_long) else {
        return;
    };
    let Some(values) = execute.values.iter().copied().collect::<Option<Vec<_>>>() else {
        return;
    };
    let mut out = Vec::new();
    let parameters = execute.types.iter().copied().zip(values.iter().copied());
    let parameters: Vec<_> = parameters.collect();
    execute::write(execute.head, parameters.iter().copied(), &mut out);
    let again = Execute::read(&out[1..], parameters.len(), &[], |_| false);
    let again = again.expect("what was written is well formed");
    assert_eq!(again.types, execute.types);
    let again: Vec<_> = again.values.into_iter().flatten().collect();
    assert!(are_same(&again, &values));
}

/// More rows show nothing else.
const BULK_VALUES_MAX: usize = 10_000;

fn bulk(body: &[u8], parameters: usize) {
    let Ok(Some(bulk)) = Bulk::read(body, parameters, &[], BULK_VALUES_MAX) else {
        return;
    };
    let written = |bulk: &Bulk<'_>| {
        let mut out = Vec::new();
        bulk.write(&mut out);
        out
    };
    let out = written(&bulk);
    let again = Bulk::read(&out[1..], parameters, &[], BULK_VALUES_MAX);
    let again = again.expect("what was written is well formed");
    let again = again.expect("it has as many values");
    // Numbers may be no numbers, which are not equal.
    assert_eq!(written(&again), out);
    assert_eq!(again.rows.len(), bulk.rows.len());
}

fn ok(payload: &[u8], choice: u8) {
    let flags = flags(choice);
    if let Ok(ok) = OkPacket::read(payload, flags) {
        let mut out = Vec::new();
        ok.write(answer::OK, flags, &mut out);
        assert_eq!(OkPacket::read(&out, flags), Ok(ok));
        ok.changes().count();
    }
}

fn error(payload: &[u8]) {
    if let Ok(error) = ErrorPacket::read(payload) {
        let mut out = Vec::new();
        error.write(&mut out);
        assert_eq!(ErrorPacket::read(&out), Ok(error));
    }
}

fn column(payload: &[u8]) {
    if let Ok((column, default)) = Column::read_listed(payload) {
        let mut out = Vec::new();
        column.write_listed(default, &mut out);
        assert_eq!(Column::read_listed(&out), Ok((column, default)));
    }
    if let Ok(column) = Column::read(payload) {
        let mut out = Vec::new();
        column.write(&mut out);
        assert_eq!(Column::read(&out), Ok(column));
    }
}

fn text_row(payload: &[u8], choice: u8) {
    if let Ok(read) = TextRow::read(payload, usize::from(choice)) {
        let mut out = Vec::new();
        for value in read.iter() {
            row::write_text(value, &mut out);
        }
        let again = TextRow::read(&out, usize::from(choice)).expect("well formed");
        assert!(again.iter().eq(read.iter()));
    }
}

fn binary_row(payload: &[u8], choice: u8) {
    let count = usize::from(choice & 15).min(payload.len());
    let (types, payload) = payload.split_at(count);
    let types: Vec<_> = types.iter().map(|number| FieldType(*number)).collect();
    if let Ok(read) = BinaryRow::read(payload, &types) {
        let values: Vec<_> = read.values(&types).collect();
        let mut out = Vec::new();
        row::write_binary(values.iter().copied(), &mut out);
        let again = BinaryRow::read(&out, &types).expect("well formed");
        assert!(are_same(&again.values(&types).collect::<Vec<_>>(), &values));
    }
}

fn rest(payload: &[u8]) {
    let _ = Start::read(payload);
    let _ = EofPacket::read(payload);
    let _ = Prepared::read(payload);
    let _ = answer::ends_rows(payload, Capabilities::default());
}

fn flags(choice: u8) -> Capabilities {
    let all = [
        Capabilities::SESSION_TRACK,
        Capabilities::PLUGIN_AUTH,
        Capabilities::SECURE_CONNECTION,
        Capabilities::CONNECT_ATTRIBUTES,
    ];
    all.into_iter()
        .enumerate()
        .filter(|(bit, _)| choice >> bit & 1 == 1)
        .fold(Capabilities::default(), |flags, (_, flag)| flags | flag)
}

/// By their bytes: a number that is none equals itself.
fn are_same(left: &[Value<'_>], right: &[Value<'_>]) -> bool {
    let bytes = |values: &[Value<'_>]| {
        let mut out = Vec::new();
        for value in values {
            out.push(u8::from(*value == Value::Null));
            value.write(&mut out);
        }
        out
    };
    bytes(left) == bytes(right)
}
