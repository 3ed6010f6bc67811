//! A second implementation writes what is read here, and reads what is written here.

use std::collections::HashMap;
use std::sync::Arc;

use mysql_common::Value as Theirs;
use mysql_common::constants::{CapabilityFlags, ColumnFlags, ColumnType, StatusFlags};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{
    AuthPlugin, AuthSwitchRequest, Column as TheirColumn, ComChangeUser, ComChangeUserMoreData,
    ComStmtExecuteRequestBuilder, CommonOkPacket, ErrPacket, HandshakePacket, HandshakeResponse,
    OkPacketDeserializer, StmtPacket,
};
use mysql_common::proto::{Binary, MyDeserialize, MySerialize, Text};
use mysql_common::row::{Row, RowDeserializer};
use mysql_common::value::ServerSide;
use proptest::prelude::*;
use wire_mysql::answer::{self, ErrorPacket, OkPacket, Prepared};
use wire_mysql::capabilities::Status;
use wire_mysql::column::Column;
use wire_mysql::command::{ChangeUser, Command};
use wire_mysql::execute::Execute;
use wire_mysql::greeting::Greeting;
use wire_mysql::login::{First, Switch};
use wire_mysql::row::{self, TextRow};
use wire_mysql::value::{DateTime, FieldType, Time, Value};
use wire_mysql::{Capabilities, packet};

fn name() -> impl Strategy<Value = String> {
    "[a-zA-Zäß_ ]{0,12}"
}

fn written(packet: &impl MySerialize) -> Vec<u8> {
    let mut out = Vec::new();
    packet.serialize(&mut out);
    out
}

fn theirs<'de, T: MyDeserialize<'de>>(ctx: T::Ctx, payload: &'de [u8]) -> T {
    let mut buffer = ParseBuf(payload);
    let packet = T::deserialize(ctx, &mut buffer).expect("well formed");
    assert!(buffer.0.is_empty(), "all of it is read");
    packet
}

fn their_flags(flags: Capabilities) -> CapabilityFlags {
    CapabilityFlags::from_bits_truncate(flags.common())
}

fn value() -> impl Strategy<Value = Theirs> {
    prop_oneof![
        Just(Theirs::NULL),
        any::<i64>().prop_map(Theirs::Int),
        any::<u64>().prop_map(Theirs::UInt),
        any::<i32>().prop_map(|number| Theirs::Float(number as f32 / 8.0)),
        any::<i64>().prop_map(|number| Theirs::Double(number as f64 / 8.0)),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(Theirs::Bytes),
        (
            0..9999_u16,
            0..13_u8,
            0..32_u8,
            0..24_u8,
            0..60_u8,
            0..3_u32
        )
            .prop_map(|(y, m, d, h, s, us)| Theirs::Date(y, m, d, h, 0, s, us)),
        (any::<bool>(), 0..35_u32, 0..24_u8, 0..60_u8, 0..3_u32)
            .prop_map(|(sign, d, h, s, us)| Theirs::Time(sign, d, h, 0, s, us)),
    ]
}

/// What they call this value.
fn as_theirs(value: Value<'_>, is_unsigned: bool) -> Theirs {
    match value {
        Value::Null => Theirs::NULL,
        Value::LongLong(bits) if is_unsigned => Theirs::UInt(bits),
        Value::LongLong(bits) => Theirs::Int(bits.cast_signed()),
        Value::Float(number) => Theirs::Float(number),
        Value::Double(number) => Theirs::Double(number),
        Value::Bytes(bytes) => Theirs::Bytes(bytes.to_vec()),
        Value::DateTime(DateTime {
            year,
            month,
            day,
            hour,
            minute,
            second,
            microsecond,
        }) => Theirs::Date(year, month, day, hour, minute, second, microsecond),
        Value::Time(Time {
            is_negative,
            days,
            hour,
            minute,
            second,
            microsecond,
        }) => Theirs::Time(is_negative, days, hour, minute, second, microsecond),
        Value::Tiny(_) | Value::Short(_) | Value::Long(_) => unreachable!("they write 8 bytes"),
    }
}

proptest! {
    #[test]
    fn their_execution_is_read(values in prop::collection::vec(value(), 0..12)) {
        let (request, _) = ComStmtExecuteRequestBuilder::new(7).build(&values);
        let payload = written(&request);
        let Ok(Command::Execute(body)) = Command::read(&payload) else {
            panic!("no execution")
        };
        let execute = Execute::read(body, values.len(), &[], |_| false).expect("well formed");
        prop_assert_eq!(execute.head.statement, 7);
        let read: Vec<_> = execute
            .values
            .iter()
            .zip(&execute.types)
            .map(|(value, of)| as_theirs(value.expect("no long data"), of.is_unsigned))
            .collect();
        prop_assert_eq!(read, values);
    }

    #[test]
    fn our_binary_row_is_read_by_them(values in prop::collection::vec(value(), 1..12)) {
        let kinds: Vec<_> = values.iter().map(kind_of).collect();
        let columns: Arc<[TheirColumn]> = kinds
            .iter()
            .zip(&values)
            .map(|(kind, value)| {
                let flags = match value {
                    Theirs::UInt(_) => ColumnFlags::UNSIGNED_FLAG,
                    _ => ColumnFlags::empty(),
                };
                let kind = ColumnType::try_from(kind.0).expect("a type");
                TheirColumn::new(kind).with_flags(flags)
            })
            .collect();
        let mut out = Vec::new();
        row::write_binary(values.iter().map(as_ours).collect::<Vec<_>>().into_iter(), &mut out);
        let row: Row = theirs::<RowDeserializer<ServerSide, Binary>>(columns, &out).into();
        let values: Vec<_> = values.into_iter().map(with_a_sign_if_it_fits).collect();
        prop_assert_eq!(row.unwrap(), values);
    }

    #[test]
    fn our_row_of_texts_is_read_by_them(
        values in prop::collection::vec(
            prop::option::of(prop::collection::vec(any::<u8>(), 0..300)),
            1..12,
        ),
    ) {
        let mut out = Vec::new();
        for value in &values {
            row::write_text(value.as_deref(), &mut out);
        }
        let column = TheirColumn::new(ColumnType::MYSQL_TYPE_VAR_STRING);
        let columns: Arc<[TheirColumn]> = vec![column; values.len()].into();
        let row: Row = theirs::<RowDeserializer<ServerSide, Text>>(columns, &out).into();
        let expected: Vec<_> = values
            .iter()
            .map(|value| value.clone().map_or(Theirs::NULL, Theirs::Bytes))
            .collect();
        prop_assert_eq!(row.unwrap(), expected);
        let ours = TextRow::read(&out, values.len()).expect("well formed");
        let ours: Vec<_> = ours.iter().map(|value| value.map(<[u8]>::to_vec)).collect();
        prop_assert_eq!(ours, values);
    }

    #[test]
    fn their_login_is_read_and_ours_by_them(
        user in name(),
        answer in prop::collection::vec(1..255_u8, 0..250),
        database in prop::option::of(name()),
        attribute in prop::option::of((name(), name())),
        is_long in any::<bool>(),
    ) {
        let mut flags = CapabilityFlags::CLIENT_PROTOCOL_41
            | CapabilityFlags::CLIENT_SECURE_CONNECTION;
        flags.set(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA, is_long);
        let attributes = attribute.clone().map(|pair| HashMap::from([pair]));
        let login = HandshakeResponse::new(
            Some(answer.clone()),
            (8, 0, 15),
            Some(user.clone().into_bytes()),
            database.clone().map(String::into_bytes),
            Some(AuthPlugin::CachingSha2Password),
            flags,
            attributes,
            1 << 24,
        );
        let payload = written(&login);
        let Ok(First::Login(read)) = First::read(&payload) else { panic!("no login") };
        prop_assert_eq!(read.user, user.as_bytes());
        prop_assert_eq!(read.answer, &answer[..]);
        prop_assert_eq!(read.database, database.as_ref().map(String::as_bytes));
        prop_assert_eq!(read.plugin, b"caching_sha2_password");
        let attributes: Vec<_> = read.attributes().collect();
        let expected: Vec<_> =
            attribute.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        prop_assert_eq!(attributes, expected);

        let mut out = Vec::new();
        read.write(&mut out);
        prop_assert_eq!(theirs::<HandshakeResponse<'_>>((), &out), login);
    }

    #[test]
    fn a_greeting_goes_both_ways(
        version in "[a-z0-9.-]{1,30}",
        connection in any::<u32>(),
        nonce in prop::array::uniform20(1..255_u8),
    ) {
        let flags = Capabilities::PROTOCOL_41
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::MYSQL
            | Capabilities::DEPRECATE_EOF;
        let greeting = Greeting {
            version: version.as_bytes(),
            connection,
            nonce,
            capabilities: flags,
            collation: 255,
            status: Status(Status::AUTOCOMMIT),
            plugin: b"mysql_native_password",
        };
        let mut out = Vec::new();
        greeting.write(&mut out);
        let read: HandshakePacket<'_> = theirs((), &out);
        prop_assert_eq!(read.server_version_ref(), version.as_bytes());
        prop_assert_eq!(read.nonce(), nonce);
        prop_assert_eq!(read.connection_id(), connection);
        prop_assert_eq!(read.capabilities(), their_flags(flags));
        let again = written(&read);
        prop_assert_eq!(Greeting::read(&again), Ok(greeting));
    }

    #[test]
    fn their_change_of_the_user_is_read(
        user in name(),
        database in name(),
        answer in prop::collection::vec(1..255_u8, 0..30),
    ) {
        let more = ComChangeUserMoreData::new(45)
            .with_auth_plugin(Some(AuthPlugin::MysqlNativePassword));
        let change = ComChangeUser::new()
            .with_user(Some(user.clone().into_bytes()))
            .with_database(Some(database.clone().into_bytes()))
            .with_auth_plugin_data(Some(answer.clone()))
            .with_more_data(Some(more));
        let payload = written(&change);
        let Ok(Command::ChangeUser(body)) = Command::read(&payload) else { panic!("no change") };
        let flags = Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::LONG_LOGIN_ANSWER;
        let read = ChangeUser::read(body, flags).expect("well formed");
        prop_assert_eq!(read.user, user.as_bytes());
        prop_assert_eq!(read.answer, &answer[..]);
        prop_assert_eq!(read.database, database.as_bytes());
        prop_assert_eq!((read.collation, read.plugin), (45, Some(&b"mysql_native_password"[..])));
    }

    #[test]
    fn our_answers_are_read_by_them(
        affected_rows in any::<u64>(),
        last_insert_id in 1..u64::MAX,
        warnings in any::<u16>(),
        info in "[ -~]{1,300}",
        is_tracking in any::<bool>(),
    ) {
        let capabilities = match is_tracking {
            true => Capabilities::PROTOCOL_41 | Capabilities::SESSION_TRACK,
            false => Capabilities::PROTOCOL_41,
        };
        let mut ok = OkPacket::new(affected_rows, Status(Status::IN_TRANSACTION));
        ok.last_insert_id = last_insert_id;
        ok.warnings = warnings;
        ok.info = info.as_bytes();
        let mut out = Vec::new();
        ok.write(answer::OK, capabilities, &mut out);
        let flags = their_flags(capabilities);
        let read: OkPacketDeserializer<'_, CommonOkPacket> = theirs(flags, &out);
        let read = read.into_inner();
        prop_assert_eq!(read.affected_rows(), affected_rows);
        prop_assert_eq!(read.last_insert_id(), Some(last_insert_id));
        prop_assert_eq!(read.status_flags(), StatusFlags::SERVER_STATUS_IN_TRANS);
        prop_assert_eq!(read.info_ref(), Some(info.as_bytes()));

        out.clear();
        let error = ErrorPacket { code: 1235, state: Some(*b"42000"), message: info.as_bytes() };
        error.write(&mut out);
        let read: ErrPacket<'_> = theirs(flags, &out);
        let ErrPacket::Error(read) = read else { panic!("no error") };
        prop_assert_eq!(read.error_code(), 1235);
        prop_assert_eq!(read.message_ref(), info.as_bytes());
        prop_assert_eq!(read.sql_state_ref().map(|state| state.as_bytes()), Some(*b"42000"));
    }

    #[test]
    fn our_column_is_read_by_them(names in prop::array::uniform5(name()), length in any::<u32>()) {
        let [schema, table, original_table, name, original_name] = &names;
        let column = Column {
            catalog: b"def",
            schema: schema.as_bytes(),
            table: table.as_bytes(),
            original_table: original_table.as_bytes(),
            name: name.as_bytes(),
            original_name: original_name.as_bytes(),
            character_set: 45,
            length,
            kind: FieldType::VAR_STRING,
            flags: 1,
            decimals: 31,
        };
        let mut out = Vec::new();
        column.write(&mut out);
        let read: TheirColumn = theirs((), &out);
        prop_assert_eq!(read.org_name_ref(), original_name.as_bytes());
        prop_assert_eq!(read.column_length(), length);
        prop_assert_eq!(read.character_set(), 45);
        prop_assert_eq!(read.decimals(), 31);
        // They write length and character set the wrong way around.
        prop_assert_eq!(Column::read(&out), Ok(column));
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Greeting::read(&bytes);
        let _ = First::read(&bytes);
        let _ = Command::read(&bytes);
        let _ = Column::read(&bytes);
        let _ = packet::Extent::read(&bytes, 1000);
    }
}

/// They read a number without a sign as one with a sign where it fits.
fn with_a_sign_if_it_fits(value: Theirs) -> Theirs {
    match value {
        Theirs::UInt(number) => i64::try_from(number).map_or(value, Theirs::Int),
        other => other,
    }
}

fn kind_of(value: &Theirs) -> FieldType {
    match value {
        Theirs::NULL | Theirs::Bytes(_) => FieldType::VAR_STRING,
        Theirs::Int(_) | Theirs::UInt(_) => FieldType::LONGLONG,
        Theirs::Float(_) => FieldType::FLOAT,
        Theirs::Double(_) => FieldType::DOUBLE,
        Theirs::Date(..) => FieldType::DATETIME,
        Theirs::Time(..) => FieldType::TIME,
    }
}

fn as_ours(value: &Theirs) -> Value<'_> {
    match *value {
        Theirs::NULL => Value::Null,
        Theirs::Bytes(ref bytes) => Value::Bytes(bytes),
        Theirs::Int(number) => Value::LongLong(number.cast_unsigned()),
        Theirs::UInt(number) => Value::LongLong(number),
        Theirs::Float(number) => Value::Float(number),
        Theirs::Double(number) => Value::Double(number),
        Theirs::Date(year, month, day, hour, minute, second, microsecond) => {
            Value::DateTime(DateTime {
                year,
                month,
                day,
                hour,
                minute,
                second,
                microsecond,
            })
        }
        Theirs::Time(is_negative, days, hour, minute, second, microsecond) => Value::Time(Time {
            is_negative,
            days,
            hour,
            minute,
            second,
            microsecond,
        }),
    }
}

#[test]
fn a_switch_and_a_prepared_statement_go_both_ways() {
    let data = b"abcdefghijklmnopqrst\0";
    let switch = Switch {
        plugin: Some(b"caching_sha2_password"),
        data,
    };
    let mut out = Vec::new();
    switch.write(&mut out);
    let read: AuthSwitchRequest<'_> = theirs((), &out);
    let expected = AuthSwitchRequest::new(&b"caching_sha2_password"[..], &data[..]);
    assert_eq!(read, expected);
    assert_eq!(Switch::read(&written(&expected)), Ok(switch));

    out.clear();
    let prepared = Prepared {
        statement: 9,
        columns: 3,
        parameters: 2,
        warnings: 1,
    };
    prepared.write(&mut out);
    let read: StmtPacket = theirs((), &out);
    assert_eq!(read.statement_id(), 9);
    assert_eq!(
        (read.num_columns(), read.num_params(), read.warning_count()),
        (3, 2, 1)
    );
}
