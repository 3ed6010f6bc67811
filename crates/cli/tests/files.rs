//! `strongroom encrypt`, `decrypt`, `key`, `verify` and `inspect` on real files.

mod support;

use std::fs;
use support::{Place, contains};

/// Bytes before the first page.
const REGION_SIZE: usize = 8192;

fn encrypted(place: &Place) {
    place.key("key");
    place.plain_database("plain.db");
    place
        .run(&["encrypt", "plain.db", "a.db", "--key-file", "key"])
        .fine();
}

#[test]
fn there_and_back_again() {
    let place = Place::new();
    encrypted(&place);
    assert!(place.bytes("a.db").starts_with(b"Strongroom db"));
    assert!(!contains(&place.bytes("a.db"), b"canary number"));
    place
        .run(&["decrypt", "a.db", "back.db", "--key-file", "key"])
        .fine();
    let dump = |name: &str| place.shell(name, ".dump\n").fine();
    assert_eq!(dump("back.db"), dump("plain.db"));
    assert!(place.left_over().is_empty());
}

#[test]
fn each_cipher_and_page_size() {
    let place = Place::new();
    encrypted(&place);
    for cipher in [
        "aegis-256x2",
        "aegis-256",
        "aes-256-gcm",
        "xchacha20-poly1305",
    ] {
        for page_size in ["512", "1024", "65536"] {
            for source in ["plain.db", "a.db"] {
                let options = ["--cipher", cipher, "--page-size", page_size, "--force"];
                let mut arguments = vec!["encrypt", source, "b.db", "--key-file", "key"];
                arguments.extend(options);
                place.run(&arguments).fine();
                let json = place.run(&["inspect", "--json", "b.db"]).fine();
                let value: serde_json::Value = serde_json::from_str(&json).unwrap();
                assert_eq!(value["cipher"], cipher);
                assert_eq!(value["page_size"].to_string(), page_size);
                let count = place.run(&[
                    "shell",
                    "--key-file",
                    "key",
                    "b.db",
                    "select count(*) from t",
                ]);
                assert_eq!(count.fine(), "500\n");
            }
        }
    }
    let wrong = place.run(&[
        "encrypt",
        "plain.db",
        "c.db",
        "--key-file",
        "key",
        "--page-size",
        "1000",
    ]);
    assert!(wrong.failed().contains("power of two"));
}

#[test]
fn nothing_is_overwritten_unasked() {
    let place = Place::new();
    encrypted(&place);
    place.write("there", "precious");
    for command in [
        ["encrypt", "plain.db", "there"],
        ["decrypt", "a.db", "there"],
    ] {
        let mut arguments = command.to_vec();
        arguments.extend(["--key-file", "key"]);
        assert!(
            place
                .run(&arguments)
                .failed()
                .contains("there exists already")
        );
        assert_eq!(place.bytes("there"), b"precious");
        arguments.push("--force");
        place.run(&arguments).fine();
        assert_ne!(place.bytes("there"), b"precious");
        place.write("there", "precious");
    }
    // No key is given: the command fails before it asks for one.
    for arguments in [
        &["encrypt", "plain.db", "plain.db"][..],
        &["encrypt", "plain.db", "./plain.db", "--force"],
        &["decrypt", "a.db", "a.db", "--force"],
    ] {
        let message = place.run(arguments).failed();
        assert!(message.contains("are the same file"), "{message}");
        assert!(!message.contains("exists already"), "{message}");
    }
    assert!(
        place
            .run(&["key", "generate", "key"])
            .failed()
            .contains("key exists already")
    );
}

#[test]
fn the_wrong_key_opens_nothing() {
    let place = Place::new();
    encrypted(&place);
    place.key("other");
    place.passphrase("words", "not it");
    for options in [["--key-file", "other"], ["--passphrase-file", "words"]] {
        let decrypt = place
            .run(&[&["decrypt", "a.db", "b.db"], &options[..]].concat())
            .failed();
        assert!(decrypt.contains("a.db: "), "{decrypt}");
        assert!(!place.exists("b.db"));
        place
            .run(&[&["verify", "a.db"], &options[..]].concat())
            .failed();
        place
            .run(&[&["shell", "a.db"], &options[..]].concat())
            .failed();
    }
    assert!(place.left_over().is_empty());
    let nobody = place.run(&["verify", "a.db"]).failed();
    assert!(nobody.contains("--key-file"), "{nobody}");
}

#[test]
fn keys_come_from_everywhere() {
    let place = Place::new();
    encrypted(&place);
    let key = String::from_utf8(place.bytes("key")).unwrap();
    place
        .run(&["verify", "a.db", "--key-command", "cat key"])
        .fine();
    let with_variable = support::program(place.folder())
        .args(["verify", "a.db", "--key-env", "MY_KEY"])
        .env("MY_KEY", key.trim())
        .status()
        .unwrap();
    assert!(with_variable.success());
    let by_environment = support::program(place.folder())
        .args(["verify", "a.db"])
        .env("STRONGROOM_KEY_FILE", "key")
        .status()
        .unwrap();
    assert!(by_environment.success());
    let two = place.run(&["verify", "a.db", "--key-env", "A", "--key-file", "key"]);
    assert_eq!(two.status, 2);
    let run = |arguments: &[&str]| {
        let status = support::program(place.folder())
            .args(arguments)
            .env("OLD_WORDS", "tiger balm")
            .env("NEW_WORDS", "tiger milk")
            .status();
        status.unwrap().success()
    };
    let add = ["key", "add", "a.db", "--key-file", "key"];
    assert!(run(
        &[&add[..], &["--new-passphrase-env", "OLD_WORDS"]].concat()
    ));
    let change = ["key", "change", "a.db", "--passphrase-env", "OLD_WORDS"];
    assert!(run(
        &[&change[..], &["--new-passphrase-env", "NEW_WORDS"]].concat()
    ));
    assert!(run(&["verify", "a.db", "--passphrase-env", "NEW_WORDS"]));
    assert!(!run(&["verify", "a.db", "--passphrase-env", "OLD_WORDS"]));
    if cfg!(unix) {
        let by_descriptor = std::process::Command::new("sh")
            .args(["-c", "exec \"$0\" verify a.db --key-fd 5 5<key"])
            .arg(env!("CARGO_BIN_EXE_strongroom"))
            .current_dir(place.folder())
            .status()
            .unwrap();
        assert!(by_descriptor.success());
    }
}

#[cfg(unix)]
#[test]
fn a_secret_file_open_to_others_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.plain_database("plain.db");
    place.key("key");
    place.passphrase("words", "tiger balm");
    for (name, option, called) in [
        ("key", "--key-file", "the key file key"),
        ("words", "--passphrase-file", "the passphrase file words"),
    ] {
        let arguments = ["encrypt", "plain.db", "b.db", "--force", option, name];
        let quiet = place.run(&arguments);
        assert!(!quiet.messages.contains("warning"), "{quiet:?}");
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o644)).unwrap();
        let loud = place.run(&arguments);
        assert!(loud.messages.contains(called), "{loud:?}");
        loud.fine();
    }
}

#[test]
fn a_file_that_cannot_be_made_is_named_once() {
    let place = Place::new();
    place.plain_database("plain.db");
    place.key("key");
    for arguments in [
        &["shell", "none/x.db", "select 1"][..],
        &["encrypt", "plain.db", "none/x.db", "--key-file", "key"],
    ] {
        let message = place.run(arguments).failed();
        assert_eq!(message.matches("none/").count(), 1, "{message}");
        assert!(!message.contains("file:"), "{message}");
    }
}

#[test]
fn a_destination_that_takes_no_file_is_told_with_what_does() {
    let place = Place::new();
    encrypted(&place);
    fs::create_dir(place.path("folder")).unwrap();
    for command in [
        &["encrypt", "plain.db"][..],
        &["decrypt", "a.db"],
        &["backup", "a.db"],
    ] {
        for (destination, told) in [("folder", "name the file to make in it"), ("-", "./-")] {
            for force in [&[][..], &["--force"]] {
                let arguments = [command, &[destination, "--key-file", "key"], force].concat();
                let message = place.run(&arguments).failed();
                assert!(message.contains(told), "{message}");
                assert!(!message.contains("say --force"), "{message}");
            }
        }
    }
    assert!(!place.exists("-"));
    place
        .run(&["decrypt", "a.db", "./-", "--key-file", "key"])
        .fine();
    assert!(place.bytes("-").starts_with(b"SQLite format 3"));
}

#[test]
fn key_slots_are_added_changed_and_removed() {
    let place = Place::new();
    encrypted(&place);
    place.passphrase("words", "correct horse");
    place.passphrase("better", "battery staple");
    let opens = |options: [&str; 2]| {
        place
            .run(&[&["verify", "a.db"], &options[..]].concat())
            .status
            == 0
    };
    let pages = place.bytes("a.db")[REGION_SIZE..].to_vec();

    place
        .run(&[
            "key",
            "add",
            "a.db",
            "--key-file",
            "key",
            "--new-passphrase-file",
            "words",
        ])
        .fine();
    let list = place.run(&["key", "list", "a.db"]).fine();
    assert!(
        list.contains("slot 0: key-file") && list.contains("slot 1: passphrase (Argon2id"),
        "{list}"
    );
    assert!(opens(["--passphrase-file", "words"]) && opens(["--key-file", "key"]));

    place
        .run(&[
            "key",
            "change",
            "a.db",
            "--passphrase-file",
            "words",
            "--new-passphrase-file",
            "better",
        ])
        .fine();
    assert!(opens(["--passphrase-file", "better"]) && !opens(["--passphrase-file", "words"]));

    removes_only_what_is_meant(&place);
    assert!(!opens(["--key-file", "key"]) && opens(["--passphrase-file", "better"]));
    let last = place.run(&["key", "remove", "a.db", "1", "--passphrase-file", "better"]);
    assert!(last.failed().contains("last one"));
    let none = place.run(&["key", "remove", "a.db", "5", "--passphrase-file", "better"]);
    assert!(none.failed().contains("slot 5 is empty"));
    assert!(opens(["--passphrase-file", "better"]));
    assert_eq!(
        place.bytes("a.db")[REGION_SIZE..],
        pages,
        "a page was rewritten"
    );
}

/// Slot 0 is a key file, slot 1 the passphrase that is used.
fn removes_only_what_is_meant(place: &Place) {
    let in_use = ["key", "remove", "a.db", "1", "--passphrase-file", "better"];
    let refused = place.run(&in_use).failed();
    assert!(
        refused.contains("opened the file just now")
            && refused.contains("last passphrase")
            && refused.contains("--yes"),
        "{refused}"
    );
    let list = place.run(&["key", "list", "a.db"]).fine();
    assert_eq!(list.lines().count(), 2, "{list}");
    let removed = place.run(&["key", "remove", "a.db", "0", "--passphrase-file", "better"]);
    assert!(
        removed
            .messages
            .contains("One key opens a.db now:\n  slot 1: passphrase")
            && removed.messages.contains("Copies made before still open"),
        "{removed:?}"
    );
    removed.fine();
}

#[test]
fn verify_names_the_page_with_a_flipped_bit() {
    let place = Place::new();
    encrypted(&place);
    let sound = place.run(&["verify", "a.db", "--key-file", "key"]).fine();
    assert!(sound.contains("all sound"), "{sound}");
    for page in [1usize, 3, 7] {
        let mut bytes = place.bytes("a.db");
        bytes[REGION_SIZE + (page - 1) * 4096 + 100] ^= 1;
        place.write("bad.db", bytes);
        let run = place.run(&["verify", "bad.db", "--key-file", "key"]);
        assert_eq!(run.status, 1, "{run:?}");
        assert!(
            run.output.contains(&format!("page {page} does not open")),
            "{}",
            run.output
        );
        assert_eq!(run.output.matches("does not open").count(), 1);
        let json = place
            .run(&["verify", "bad.db", "--json", "--key-file", "key"])
            .output;
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["bad"][0]["page"], serde_json::json!(page));
        assert_eq!(value["bad"].as_array().unwrap().len(), 1);
        assert_eq!(value["sound"], serde_json::json!(false));
    }
    // A query over the bad page fails and says which page it was.
    let query = place.run(&[
        "shell",
        "bad.db",
        "--key-file",
        "key",
        "select sum(length(name)) from t not indexed",
    ]);
    assert!(query.failed().contains("page 7"));
    // Content that does not open is never copied.
    let copy = place.run(&["decrypt", "bad.db", "c.db", "--key-file", "key"]);
    assert!(copy.failed().contains("page 7"));
    assert!(!place.exists("c.db") && place.left_over().is_empty());
}

#[test]
fn verify_sees_a_swap_and_a_cut() {
    let place = Place::new();
    encrypted(&place);
    let mut bytes = place.bytes("a.db");
    let (first, second) = (REGION_SIZE + 2 * 4096, REGION_SIZE + 4 * 4096);
    for index in 0..4096 {
        bytes.swap(first + index, second + index);
    }
    place.write("swapped.db", &bytes);
    let run = place.run(&["verify", "swapped.db", "--key-file", "key"]);
    assert!(
        run.output.contains("page 3 ") && run.output.contains("page 5 "),
        "{}",
        run.output
    );
    let bytes = place.bytes("a.db");
    place.write("cut.db", &bytes[..bytes.len() - 100]);
    assert_eq!(
        place.run(&["verify", "cut.db", "--key-file", "key"]).status,
        1
    );
}

#[test]
fn inspect_distinguishes_four_conditions() {
    let place = Place::new();
    encrypted(&place);
    let good = place.run(&["inspect", "a.db"]).fine();
    assert!(
        good.contains("format version 1") && good.contains("key slot 0: key-file"),
        "{good}"
    );

    let plain = place.run(&["inspect", "plain.db"]).failed();
    assert!(plain.contains("plain SQLite database"), "{plain}");
    place.write("text", "hello ".repeat(2000));
    let text = place.run(&["inspect", "text"]).failed();
    assert!(text.contains("not a Strongroom file"), "{text}");

    let mut bytes = place.bytes("a.db");
    bytes[600] ^= 1;
    place.write("half.db", &bytes);
    let half = place.run(&["inspect", "half.db"]).fine();
    assert!(
        half.contains("copy 1       DAMAGED") && half.contains("copy 2       intact"),
        "{half}"
    );
    place
        .run(&["verify", "half.db", "--key-file", "key"])
        .fine();
    bytes[600 + REGION_SIZE / 2] ^= 1;
    place.write("damaged.db", &bytes);
    let damaged = place.run(&["inspect", "damaged.db"]).failed();
    assert!(damaged.contains("damaged in both"), "{damaged}");

    place.write("newer.db", newer_version(place.bytes("a.db")));
    let newer = place.run(&["inspect", "newer.db"]).failed();
    assert!(
        newer.contains("format version 9") && newer.contains("newer Strongroom"),
        "{newer}"
    );
    assert!(
        place
            .run(&["inspect", "none"])
            .failed()
            .contains("there is no file")
    );
}

/// The file as a later version would write it: with another version number and a valid checksum.
fn newer_version(mut bytes: Vec<u8>) -> Vec<u8> {
    const COPY_SIZE: usize = REGION_SIZE / 2;
    for copy in [0, COPY_SIZE] {
        bytes[copy + 18..copy + 20].copy_from_slice(&9u16.to_le_bytes());
        let checked = copy..copy + COPY_SIZE - 32;
        let checksum = crypto::mac::checksum(&bytes[checked.clone()]);
        bytes[checked.end..checked.end + 32].copy_from_slice(&checksum);
    }
    bytes
}

#[test]
fn names_with_odd_characters() {
    let place = Place::new();
    encrypted(&place);
    for name in ["a b.db", "50%?x=y#z.db", "ü'\"&.db"] {
        place
            .run(&["encrypt", "plain.db", name, "--key-file", "key"])
            .fine();
        place.run(&["verify", name, "--key-file", "key"]).fine();
        let count = place.run(&["shell", "--key-file", "key", name, "select count(*) from t"]);
        assert_eq!(count.fine(), "500\n");
    }
}

#[test]
fn a_source_in_use_is_copied_as_a_snapshot() {
    let place = Place::new();
    place.key("key");
    place.plain_database("plain.db");
    let writer = rusqlite::Connection::open(place.path("plain.db")).unwrap();
    writer
        .execute_batch("pragma journal_mode=wal; insert into t values(501, 'in the log', null)")
        .unwrap();
    writer
        .execute_batch("begin; insert into t values(502, 'not committed', null)")
        .unwrap();
    place
        .run(&["encrypt", "plain.db", "a.db", "--key-file", "key"])
        .fine();
    let count = place.run(&[
        "shell",
        "--key-file",
        "key",
        "a.db",
        "select max(id) from t",
    ]);
    assert_eq!(count.fine(), "501\n");
}

#[cfg(unix)]
#[test]
fn permissions_stay_narrow() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    encrypted(&place);
    let mode = |name: &str| fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("key"), 0o600);
    fs::set_permissions(place.path("a.db"), fs::Permissions::from_mode(0o644)).unwrap();
    place
        .run(&["decrypt", "a.db", "back.db", "--key-file", "key"])
        .fine();
    assert_eq!(mode("back.db"), 0o600, "the plain copy of a readable file");
    fs::set_permissions(place.path("key"), fs::Permissions::from_mode(0o644)).unwrap();
    let warned = place.run(&["verify", "a.db", "--key-file", "key"]);
    assert!(warned.messages.contains("chmod 600"), "{}", warned.messages);
}

#[test]
fn the_work_for_a_passphrase_is_named_beside_any_key() {
    let place = Place::new();
    encrypted(&place);
    let verify = |limit| {
        let options = ["--key-file", "key", "--unlock-work", limit];
        place.run(&[["verify", "a.db"].as_slice(), &options].concat())
    };
    verify("8").fine();
    for limit in ["0", "x"] {
        let run = verify(limit);
        assert_eq!(run.status, 2, "{run:?}");
        assert!(run.messages.contains("a number from 1 to 20000"), "{run:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_key_file_that_others_change_or_replace_gives_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    encrypted(&place);
    let set = |name: &str, mode| {
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let messages = || {
        let run = place.run(&["verify", "a.db", "--key-file", "key"]);
        assert_eq!(run.status, 0, "{run:?}");
        run.messages
    };
    set("key", 0o600);
    assert!(!messages().contains("warning"));
    set("key", 0o620);
    assert!(messages().contains("can be changed by other users"));
    set("key", 0o600);
    set(".", 0o770);
    assert!(messages().contains("can be replaced by other users"));
}

#[test]
fn a_file_of_a_key_that_cannot_be_read_is_told_with_one_remedy() {
    let place = Place::new();
    encrypted(&place);
    let verify = |key: &str| place.run(&["verify", "a.db", "--key-file", key]).failed();
    let missing = verify("nope");
    assert!(
        missing.contains(
            "cannot read the key file nope: no such file or folder; check the name and its \
             permissions"
        ),
        "{missing}"
    );
    fs::create_dir(place.path("folder")).unwrap();
    let folder = verify("folder");
    assert!(folder.contains("it is not a regular file"), "{folder}");
    // Nobody could enter the folder any more.
    assert!(!folder.contains("chmod"), "{folder}");
}

#[test]
fn a_file_without_a_command_is_told_what_opens_it() {
    let place = Place::new();
    place.plain_database("plain.db");
    let run = place.run(&["plain.db"]);
    assert_eq!(run.status, 2);
    assert!(
        run.messages
            .contains("`strongroom shell plain.db` opens it"),
        "{}",
        run.messages
    );
    let run = place.run(&["plane.db"]);
    assert_eq!(run.status, 2);
    assert!(run.messages.contains("Usage"), "{}", run.messages);
}
