//! Sessions with rules: which commands pass, what the server is asked and sent, and what the client
//! gets.

use crypto::secret::Key;
use session_core::Root;
use sql_plan::Rules;
use sql_rewrite::mysql::schema::ASKED;
use wire_mysql::column::{BINARY, Column};
use wire_mysql::execute::{self, NO_CURSOR, ParameterType, READ_ONLY_CURSOR};
use wire_mysql::row::{BinaryRow, TextRow, write_binary, write_text};
use wire_mysql::value::{FieldType, Value};

use super::*;

const RULES: &str = "
    [columns.\"shop.person\"]
    name = { type = \"varchar(20)\" }
    number = { type = \"bigint\", mode = \"equality\" }
";

const WITH_EOF: Capabilities = Capabilities::new(0x00ff_ffff, 0);

pub(super) fn protection() -> Arc<Protection> {
    let rules = Rules::from_toml(RULES).expect("rules");
    let root = Root::new(Key::from_bytes([7; 32]));
    Arc::new(Protection::new(rules, root, || 0))
}

pub(super) fn begun(capabilities: Capabilities) -> Played {
    Played::begun_under(Some(protection()), capabilities)
}

/// A definition of a column of sealed values.
fn defined(table: &str, name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let column = Column {
        catalog: b"def",
        schema: b"shop",
        table: b"p",
        original_table: table.as_bytes(),
        name: b"n",
        original_name: name.as_bytes(),
        character_set: BINARY,
        length: 126,
        kind: FieldType::VAR_STRING,
        flags: 0x80,
        decimals: 0,
    };
    column.write(&mut out);
    out
}

/// Rows of texts as an answer.
pub(super) fn rows(
    capabilities: Capabilities,
    width: usize,
    rows: &[&[Option<&str>]],
) -> Vec<Vec<u8>> {
    let has_eof = !capabilities.has(Capabilities::DEPRECATE_EOF);
    let mut packets = vec![vec![u8::try_from(width).expect("few columns")]];
    packets.extend(vec![defined("x", "x"); width]);
    packets.extend(has_eof.then(|| eof(0)));
    for row in rows {
        let mut out = Vec::new();
        row.iter()
            .for_each(|value| write_text(value.map(str::as_bytes), &mut out));
        packets.push(out);
    }
    packets.push(if has_eof { eof(0) } else { end(0) });
    packets
}

/// A server with one table.
pub(super) struct Shop {
    pub(super) version: &'static str,
    /// Names and types of the columns of `person`.
    pub(super) columns: &'static [[&'static str; 2]],
}

const SHOP: Shop = Shop {
    version: "8.0.15",
    columns: &[
        ["id", "int"],
        ["name", "varbinary(121)"],
        ["number", "varbinary(17)"],
    ],
};

impl Shop {
    /// The answer to a question of the proxy's own. None: it is none.
    pub(super) fn told(&self, text: &str, capabilities: Capabilities) -> Option<Vec<Vec<u8>>> {
        let of = |width, own: &[&[Option<&str>]]| Some(rows(capabilities, width, own));
        if text.starts_with("SELECT @@version") {
            let values = [
                self.version,
                "0",
                "STRICT_ALL_TABLES",
                "anna@%",
                "shop",
                "utf8mb4",
                "utf8mb4",
                "utf8mb4",
                "NONE",
                "utf8mb4",
                "67108864",
                "18446744073709551615",
            ];
            return of(values.len(), &[&values.map(Some)]);
        }
        match ASKED.iter().position(|own| text.starts_with(own))? {
            0 => of(4, &[&["shop", "person", "BASE TABLE", "InnoDB"].map(Some)]),
            1 => {
                let columns = self.columns.iter();
                let columns = columns
                    .map(|[name, kind]| ["shop", "person", name, kind, "1", "0", ""].map(Some));
                let columns: Vec<_> = columns.collect();
                let columns: Vec<&[Option<&str>]> = columns.iter().map(|own| &own[..]).collect();
                of(7, &columns)
            }
            5 => of(2, &[&["%", "%"].map(Some)]),
            _ => of(2, &[]),
        }
    }
}

impl Played {
    /// Answers the proxy's questions, and gives what else it sends.
    pub(super) fn told(&mut self) -> Vec<Vec<u8>> {
        let capabilities = self.session.capabilities;
        self.told_by(|text| SHOP.told(text, capabilities))
    }

    /// The same, with these answers.
    pub(super) fn told_by(&mut self, told: impl Fn(&str) -> Option<Vec<Vec<u8>>>) -> Vec<Vec<u8>> {
        let mut others = Vec::new();
        loop {
            let mut sent = self.sent();
            let last = sent.pop();
            others.extend(sent.into_iter().map(|(_, payload)| payload));
            let Some((_, last)) = last else {
                return others;
            };
            let text = String::from_utf8_lossy(&last[1..]).into_owned();
            let Some(answer) = told(&text) else {
                others.push(last);
                return others;
            };
            for (number, payload) in (1..).zip(&answer) {
                self.server(number, payload);
            }
        }
    }

    /// The answer of the server to what was sent last.
    fn answers(&mut self, answer: &[Vec<u8>]) {
        for (number, payload) in (1..).zip(answer) {
            self.server(number, payload);
        }
    }

    #[track_caller]
    fn assert_error(&mut self, code: u16) {
        let got = self.got();
        let (sequence, payload) = got.first().expect("the client is told");
        let error = ErrorPacket::read(payload).expect("an error");
        let said = String::from_utf8_lossy(error.message).into_owned();
        assert_eq!((*sequence, error.code), (1, code), "{said}");
    }
}

/// A session of which the schema is known.
fn known(capabilities: Capabilities) -> Played {
    let mut played = begun(capabilities);
    played.client(0, b"\x03select 1");
    assert_eq!(played.told(), [b"\x03select 1"]);
    played.server(1, &ok(0));
    assert_eq!(played.got(), [(1, ok(0))]);
    played
}

/// The sealed values of a text, in their order.
fn sealed(text: &[u8]) -> Vec<Vec<u8>> {
    let text = String::from_utf8_lossy(text).into_owned();
    let parts = text.split("x'").skip(1);
    let digits = parts.map(|part| part.split('\'').next().unwrap_or_default().to_owned());
    let bytes = digits.map(|digits| {
        let pairs = digits.as_bytes().chunks(2);
        let pairs = pairs.map(|pair| std::str::from_utf8(pair).expect("ASCII"));
        pairs
            .map(|pair| u8::from_str_radix(pair, 16).expect("a digit"))
            .collect()
    });
    bytes.collect()
}

#[test]
fn what_names_no_protected_table_passes_as_it_came() {
    for capabilities in [SERVER, WITH_EOF] {
        let mut played = known(capabilities);
        let command = b"\x03select note /* here */ from plain";
        played.client(0, command);
        assert_eq!(played.sent(), [(0, command.to_vec())]);
        let answer = rows(capabilities, 1, &[&[Some("x")], &[None]]);
        played.answers(&answer);
        let wanted: Vec<_> = (1..).zip(answer).collect();
        assert_eq!(played.got(), wanted);
        assert!(played.session.is_between_transactions());
    }
}

#[test]
fn values_are_sealed_and_opened() {
    for capabilities in [SERVER, WITH_EOF] {
        let mut played = known(capabilities);
        played.client(
            0,
            b"\x03INSERT INTO person (name, number) VALUES ('canary', 4242)",
        );
        let [sent] = &played.told()[..] else {
            panic!("one statement");
        };
        let sent = sent.clone();
        let text = String::from_utf8_lossy(&sent);
        assert!(
            !text.contains("canary") && !text.contains("4242)"),
            "{text}"
        );
        let [name, number] = &sealed(&sent)[..] else {
            panic!("{text}");
        };
        played.server(1, &ok(0));
        assert_eq!(played.got(), [(1, ok(0))]);

        played.client(0, b"\x03SELECT name, number FROM person");
        assert_eq!(played.told().len(), 1);
        let mut row = Vec::new();
        write_text(Some(name), &mut row);
        write_text(Some(number), &mut row);
        let has_eof = !capabilities.has(Capabilities::DEPRECATE_EOF);
        let mut answer = vec![
            vec![2],
            defined("person", "name"),
            defined("person", "number"),
        ];
        answer.extend(has_eof.then(|| eof(0)));
        answer.push(row);
        answer.push(if has_eof { eof(0) } else { end(0) });
        played.answers(&answer);
        let got = played.got();
        assert_eq!(got.len(), answer.len());
        let shown = Column::read(&got[2].1).expect("a definition");
        assert_eq!((shown.kind, shown.length), (FieldType::LONGLONG, 20));
        let row = TextRow::read(&got[got.len() - 2].1, 2).expect("a row");
        let values: Vec<_> = row.iter().collect();
        assert_eq!(values, [Some(&b"canary"[..]), Some(b"4242")]);
    }
}

fn of_text() -> ParameterType {
    ParameterType {
        kind: FieldType::VAR_STRING,
        is_unsigned: false,
    }
}

fn executes(statement: u32, cursor: u8, values: &[Value<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let head = execute::Head { statement, cursor };
    let values = values.iter().map(|value| (of_text(), *value));
    execute::write(head, values, &mut out);
    out
}

/// Prepares a query with one sealed parameter and column: statement 1.
fn prepare_query(played: &mut Played) {
    played.client(0, b"\x16SELECT number FROM person WHERE number = ?");
    let [sent] = &played.told()[..] else {
        panic!("one statement");
    };
    assert!(sent.ends_with(b"= ?"));
    let has_eof = !played.session.capabilities.has(Capabilities::DEPRECATE_EOF);
    let mut answer = vec![prepared(1, 1), defined("", "?")];
    answer.extend(has_eof.then(|| eof(0)));
    answer.push(defined("person", "number"));
    answer.extend(has_eof.then(|| eof(0)));
    played.answers(&answer);
    let got = played.got();
    assert_eq!(got.len(), answer.len());
    let column = &got[if has_eof { 3 } else { 2 }].1;
    let shown = Column::read(column).expect("a definition");
    assert_eq!(shown.kind, FieldType::LONGLONG);
}

#[test]
fn parameters_are_sealed_and_binary_rows_opened() {
    for capabilities in [SERVER, WITH_EOF] {
        let mut played = known(capabilities);
        prepare_query(&mut played);
        // MariaDB's clients also name the last statement by -1.
        for number in [1, u32::MAX] {
            let asked = executes(number, READ_ONLY_CURSOR, &[Value::Bytes(b"4242")]);
            played.client(0, &asked);
            let sent = played.told().concat();
            let execute = execute::Execute::read(&sent[1..], 1, &[], |_| false).expect("sent");
            assert_eq!(
                (execute.head.statement, execute.head.cursor),
                (1, NO_CURSOR)
            );
            assert_eq!(execute.types[0].kind, FieldType::BLOB);
            let Some(Value::Bytes(bytes)) = execute.values[0] else {
                panic!("{:?}", execute.values);
            };
            assert!(bytes.starts_with(b"\x90"));
            let mut row = Vec::new();
            write_binary([Value::Bytes(bytes)].into_iter(), &mut row);
            let has_eof = !capabilities.has(Capabilities::DEPRECATE_EOF);
            let mut answer = vec![vec![1], defined("person", "number")];
            answer.extend(has_eof.then(|| eof(0)));
            answer.push(row);
            answer.push(if has_eof { eof(0) } else { end(0) });
            played.answers(&answer);
            let got = played.got();
            let types = [FieldType::LONGLONG];
            let row = BinaryRow::read(&got[got.len() - 2].1, &types).expect("a row");
            let values: Vec<_> = row.values(&types).collect();
            assert_eq!(values, [Value::LongLong(4242)]);
        }
    }
}

#[test]
fn pieces_of_parameters_stay_in_the_proxy() {
    let mut played = known(SERVER);
    prepare_query(&mut played);
    for piece in [&b"42"[..], b"43"] {
        played.client(0, &[&b"\x18\x01\0\0\0\0\0"[..], piece].concat());
    }
    assert_eq!(played.sent(), []);
    // Its type, and no value.
    let execution = b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfd\0";
    played.client(0, execution);
    let first = played.told().concat();
    assert!(first.starts_with(b"\x17") && first.len() == execution.len() + 18);
    played.server(1, &error(1317));
    played.got();
    // Forgotten: the value is missing now.
    played.client(0, b"\x18\x01\0\0\0\0\x0042");
    played.client(0, b"\x1a\x01\0\0\0");
    played.server(1, &ok(0));
    played.client(0, execution);
    assert!(played.session.has_ended());
}

#[test]
fn commands_wait_for_the_one_before() {
    let mut played = begun(SERVER);
    played.client(0, b"\x16SELECT number FROM person WHERE number = ?");
    played.client(0, &executes(u32::MAX, NO_CURSOR, &[Value::Bytes(b"1")]));
    played.client(0, b"\x0e");
    let [sent] = &played.told()[..] else {
        panic!("one statement");
    };
    assert_eq!(sent[0], kind::STMT_PREPARE);
    played.server(1, &error(1146));
    // The last statement is none, so the execution is refused by the proxy.
    assert_eq!(played.told(), [b"\x0e"]);
    let got = played.got();
    let codes: Vec<_> = got.iter().map(|(_, own)| ErrorPacket::read(own)).collect();
    let codes: Vec<_> = codes
        .into_iter()
        .map(|own| own.map(|own| own.code))
        .collect();
    assert_eq!(codes, [Ok(1146), Ok(1243)]);
}

#[test]
fn commands_that_cannot_be_followed_are_refused() {
    let mut played = known(SERVER);
    for command in [&b"\x05person"[..], b"\x06shop", b"\x12\0", b"\x1d\0"] {
        played.client(0, command);
        assert_eq!(played.sent(), []);
        played.assert_error(1235);
    }
    prepare_query(&mut played);
    played.client(0, b"\x1c\x01\0\0\0\x01\0\0\0");
    assert_eq!(played.sent(), []);
    played.assert_error(1421);
    played.client(0, b"\x03SELECT number FROM person WHERE name = 'x'");
    assert_eq!(played.sent(), []);
    played.assert_error(1235);
}

#[test]
fn an_answer_that_was_not_planned_ends_the_session() {
    // A statement that passes shows a protected column.
    let mut played = known(SERVER);
    played.client(0, b"\x03SELECT * FROM elsewhere");
    played.sent();
    played.answers(&[vec![1], defined("person", "number")]);
    let got = played.got();
    let said = ErrorPacket::read(&got[1].1).expect("an error");
    assert_eq!((got[1].0, said.code), (2, 1105));
    assert!(played.session.has_ended());
    let query = b"\x03SELECT number FROM person";
    let wrong: [(&[u8], Vec<Vec<u8>>); 4] = [
        (query, vec![vec![2]]),
        (query, vec![vec![1], defined("person", "name")]),
        (
            query,
            vec![vec![1], defined("person", "number"), b"\x041234".to_vec()],
        ),
        (
            b"\x03SELECT id FROM person",
            vec![vec![1], defined("person", "number")],
        ),
    ];
    for (query, answer) in wrong {
        let mut played = known(SERVER);
        played.client(0, query);
        played.told();
        played.answers(&answer);
        assert!(played.session.has_ended());
        let got = played.got();
        let (_, last) = got.last().expect("the client is told");
        let said = ErrorPacket::read(last).expect("an error");
        assert_eq!(said.code, 1105, "{}", String::from_utf8_lossy(said.message));
    }
}

#[test]
fn a_server_that_does_not_tell_is_not_sent_the_statement() {
    let mut played = begun(SERVER);
    // What would have met the client's own statement keeps its number.
    for (code, told) in [(1317, 1317), (1213, 1213), (1045, 1105)] {
        played.client(0, b"\x03INSERT INTO person (name) VALUES ('canary')");
        assert_eq!(played.sent().len(), 1);
        played.server(1, &error(code));
        assert_eq!(played.sent(), []);
        played.assert_error(told);
    }
    // It waits for the answer, and the end is the end.
    played.client(0, b"\x03INSERT INTO person (name) VALUES ('canary')");
    played.session.server_closed();
    assert!(played.session.has_ended());
    assert_eq!(played.got(), []);
}

#[test]
fn settings_are_asked_for_after_what_may_change_them() {
    let mut played = known(SERVER);
    for command in [
        &b"\x03SET sql_mode = ''"[..],
        b"\x03USE shop",
        b"\x02shop",
        b"\x1f",
        b"\x03CALL x()",
    ] {
        played.client(0, command);
        played.told();
        played.server(1, &ok(0));
        played.got();
        // What is about the session alone passes at once.
        played.client(0, b"\x03COMMIT");
        assert_eq!(played.sent(), [(0, b"\x03COMMIT".to_vec())]);
        played.server(1, &ok(0));
        played.client(0, b"\x03SELECT 1");
        let sent = played.sent();
        assert!(
            sent[0].1.starts_with(b"\x03SELECT @@version"),
            "{command:?}"
        );
        let answer = SHOP.told("SELECT @@version", SERVER).expect("an answer");
        played.answers(&answer);
        played.told();
        played.server(1, &ok(0));
        played.got();
    }
}
