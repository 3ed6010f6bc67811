//! A server that lacks a collation by which a rule finds texts.

use crypto::secret::Key;
use session_core::Root;
use sql_plan::Rules;

use super::ruled::Shop;
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

const SHOP: Shop = Shop {
    version: "10.11.19-MariaDB",
    columns: &[
        ["id", "int"],
        ["name", "varbinary(400)"],
        ["mail", "varbinary(400)"],
    ],
};

/// Sends a text, answers the proxy's questions, and gives what else it sends.
fn asks(played: &mut Played, text: &str) -> Vec<Vec<u8>> {
    played.client(0, &[b"\x03", text.as_bytes()].concat());
    played.told_by(|text| {
        let of_weights = || vec![error(1273)];
        let told = SHOP.told(text, SERVER);
        told.or_else(|| text.contains("WEIGHT_STRING").then(of_weights))
    })
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
