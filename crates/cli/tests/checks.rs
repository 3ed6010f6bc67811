//! `verify`, `inspect --pages` and `backup` as a person uses them.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by a panic"
)]

mod support;

use support::Place;

fn encrypted(place: &Place) {
    place.plain_database("plain.db");
    place.key("key");
    place
        .run(&["encrypt", "plain.db", "a.db", "--key-file", "key"])
        .fine();
}

fn fingerprint(place: &Place) -> String {
    let output = place
        .run(&["verify", "a.db", "--key-file", "key", "--fingerprint"])
        .fine();
    let line = output.lines().find(|line| line.starts_with("fingerprint "));
    line.unwrap()["fingerprint ".len()..].to_owned()
}

#[test]
fn an_expected_fingerprint_is_compared() {
    let place = Place::new();
    encrypted(&place);
    let older = place.bytes("a.db");
    let delete = [
        "shell",
        "--key-file",
        "key",
        "a.db",
        "delete from t where id = 7",
    ];
    place.run(&delete).fine();
    let digest = fingerprint(&place);
    let expect = |digest: &str| {
        let arguments = ["verify", "a.db", "--key-file", "key", "--jobs", "2"];
        place.run(&[&arguments[..], &["--expect", digest]].concat())
    };
    assert!(expect(&digest).fine().contains("fingerprint as expected"));
    assert!(
        expect(&digest.to_uppercase())
            .fine()
            .contains("as expected")
    );
    place.write("a.db", older);
    let other = expect(&digest);
    assert!(other.messages.contains("put back to an older state"));
    assert!(other.output.contains("all sound"), "{other:?}");
    assert_eq!(other.status, 1);
    assert!(place.run(&["verify", "a.db", "--key-file", "key"]).status == 0);
    assert_eq!(expect("1234").status, 2);
}

#[test]
fn pages_are_counted_and_no_content_is_shown() {
    let place = Place::new();
    encrypted(&place);
    let blind = place.run(&["inspect", "a.db", "--pages"]).fine();
    assert!(blind.contains("all kinds      epoch 1"), "{blind}");
    let all = ["inspect", "a.db", "--pages=all", "--key-file", "key"];
    let all = place.run(&all).fine();
    assert!(all.contains("page 1 ") && all.contains("schema"), "{all}");
    assert!(all.contains("table leaf") && all.contains("index leaf"));
    assert!(!all.contains("canary") && !all.contains("t_name"));
    let json = ["inspect", "a.db", "--pages", "--json", "--key-file", "key"];
    let value: serde_json::Value = serde_json::from_str(&place.run(&json).fine()).unwrap();
    assert_eq!(value["pages"]["counts"][0]["kind"], "schema");
}

#[test]
fn a_backup_opens_with_the_same_key_or_another() {
    let place = Place::new();
    encrypted(&place);
    place.key("other");
    let backup = ["backup", "a.db", "b.db", "--key-file", "key"];
    place.run(&backup).fine();
    place.run(&["verify", "b.db", "--key-file", "key"]).fine();
    assert!(place.run(&backup).failed().contains("exists already"));
    let again = [&backup[..], &["--force", "--new-key-file", "other"]].concat();
    let said = place.run(&again);
    assert!(said.messages.contains("with the new key"), "{said:?}");
    place.run(&["verify", "b.db", "--key-file", "other"]).fine();
    place.run(&["verify", "b.db", "--key-file", "key"]).failed();
    assert!(place.left_over().is_empty());
}
