//! A server that lacks a collation by which a rule finds texts.

use crypto::secret::Key;
use session_core::Root;
use sql_plan::Rules;
use sql_rewrite::mysql::schema::ASKED;

use super::ruled::rows;
use super::*;

const RULES: &str = "
    [columns.\"shop.person\"]
    name = { type = \"varchar(20)\" }
    mail = { type = \"varchar(20)\", mode = \"equality\", collation = \"utf8mb4_general_ci\" }
";

fn begun() -> Played {
    let rules = Rules::from_toml(RULES).expect("rules");
    let root = Root::new(Key::from_bytes([7; 32]));
    let protection = Protection::new(rules, root, || 0).with_finisher(Arc::new(|_| true));
    Played::begun_under(Some(Arc::new(protection)), SERVER)
}

/// The answer to a question of the proxy's own. None: it is none.
fn told(text: &str) -> Option<Vec<Vec<u8>>> {
    if text.starts_with("SELECT @@version") {
        let values = [
            "10.11.19-MariaDB",
            "0",
            "STRICT_ALL_TABLES",
            "anna@%",
            "shop",
            "utf8mb4",
            "utf8mb4",
            "utf8mb4",
            "NONE",
        ];
        return Some(rows(SERVER, 9, &[&values.map(Some)]));
    }
    let column = |name: &'static str, kind: &'static str| {
        ["shop", "person", name, kind, "1", "0", ""].map(Some)
    };
    let of = |width, own: &[&[Option<&str>]]| Some(rows(SERVER, width, own));
    match ASKED.iter().position(|own| text.starts_with(own)) {
        Some(0) => of(4, &[&["shop", "person", "BASE TABLE", "InnoDB"].map(Some)]),
        Some(1) => of(
            7,
            &[
                &column("id", "int"),
                &column("name", "varbinary(400)"),
                &column("mail", "varbinary(400)"),
            ],
        ),
        Some(5) => of(2, &[&["%", "%"].map(Some)]),
        Some(_) => of(2, &[]),
        None if text.contains("WEIGHT_STRING") => Some(vec![error(1273)]),
        None => None,
    }
}

/// Sends a text, answers the proxy's questions, and gives what else it sends.
fn asks(played: &mut Played, text: &str) -> Vec<Vec<u8>> {
    played.client(0, &[b"\x03", text.as_bytes()].concat());
    loop {
        let sent = played.sent();
        let Some((_, last)) = sent.last() else {
            return Vec::new();
        };
        match told(&String::from_utf8_lossy(&last[1..])) {
            Some(answer) => {
                for (number, payload) in (1..).zip(&answer) {
                    played.server(number, payload);
                }
            }
            None => return sent.into_iter().map(|(_, payload)| payload).collect(),
        }
    }
}

#[test]
fn a_collation_that_is_not_there_stops_what_needs_it_alone() {
    let mut played = begun();
    for text in [
        "SELECT id FROM person WHERE mail = 'anna'",
        "INSERT INTO person (mail) VALUES ('anna')",
    ] {
        assert_eq!(asks(&mut played, text), [b""; 0], "{text}");
        let got = played.got();
        let [(1, payload)] = &got[..] else {
            panic!("{got:?}");
        };
        let refused = ErrorPacket::read(payload).expect("an error");
        let said = String::from_utf8_lossy(refused.message);
        assert!(
            refused.code == 1105 && said.contains("no collation utf8mb4_general_ci"),
            "{said}"
        );
    }
    for text in [
        "SELECT 1",
        "INSERT INTO person (name) VALUES ('canary')",
        "SELECT name, mail FROM person WHERE id = 1",
    ] {
        let sent = asks(&mut played, text);
        assert_eq!(sent.len(), 1, "{text}");
        played.server(1, &ok(0));
        assert_eq!(played.got(), [(1, ok(0))], "{text}");
    }
}
