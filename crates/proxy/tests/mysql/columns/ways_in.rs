//! ENUM, SET and BIT by the other ways into a table: files, many rows in one command, values that
//! are sealed with others, and texts that share a plan.

use mysql::{Value, prelude::Queryable as _};
use server_testkit::mysql::Brand;
use wire_mysql::Capabilities;
use wire_mysql::bulk::Item;
use wire_mysql::value::{FieldType, Value as Bound};

use super::bulk::{NULL, both_say, given, text as bulk_text, whole};
use super::dump::{dump, restore};
use super::inserted::same;
use super::lab::{Lab, assert_refused, assert_same_code, finisher_of, on_each, text};
use super::loaded::{give, same_file};
use crate::mysql::raw::Raw;

const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.item\"]
e = { type = \"enum('new','Paid','by air')\", mode = \"equality\", accept_leakage = true }
s = { type = \"set('b','a','c')\", mode = \"equality\", accept_leakage = true }
f = { type = \"bit(1) unsigned\", mode = \"equality\", accept_leakage = true }
w = { type = \"bit(16) unsigned\" }
[columns.\"shop.pair\"]
e = { type = \"enum('new','Paid','by air')\", group = \"g\" }
s = { type = \"set('b','a','c')\", group = \"g\" }
f = { type = \"bit(9) unsigned\", group = \"g\" }
n = { type = \"integer\", group = \"g\" }
";

const TABLES: [&str; 2] = [
    "CREATE TABLE item (id INT PRIMARY KEY, e ENUM('new','Paid','by air'), s SET('b','a','c'), f \
     BIT(1), w BIT(16), note VARCHAR(9), KEY (e), KEY (s), KEY (f))",
    "CREATE TABLE pair (id INT PRIMARY KEY, e ENUM('new','Paid','by air'), s SET('b','a','c'), f \
     BIT(9), n INT)",
];

const ITEMS: &str = "SELECT * FROM item ORDER BY id";
const PAIRS: &str = "SELECT * FROM pair ORDER BY id";

fn start(brand: Brand, more: &str) -> Option<Lab> {
    Lab::with(brand, &format!("{RULES}{more}"), &TABLES)
}

fn labs() -> impl Iterator<Item = Lab> {
    on_each(|brand| start(brand, ""))
}

#[test]
fn files_are_loaded_into_labels_and_bits() {
    for mut lab in labs() {
        let load = "LOAD DATA LOCAL INFILE 'x' INTO TABLE item CHARACTER SET utf8mb4 FIELDS \
                    TERMINATED BY ';' (id, e, s, w, note)";
        same_file(
            &mut lab,
            load,
            b"1;new;a,b;A;x\n2;Paid;;BC;\n3;\\N;\\N;\\N;\\N\n4;by air;c,c,b;\\0\x01;y\n",
        );
        same(&mut lab, ITEMS, vec![]);
        for file in [
            &b"20;NEW;;A;x\n"[..],
            b"20;1;;A;x\n",
            b"20;new;A;A;x\n",
            b"20;new;3;A;x\n",
            b"20;new;a;\xc3\xa4;x\n",
        ] {
            give(&mut lab.ours, file);
            assert_refused(&mut lab, load);
        }
        for file in [
            &b"20;other;;A;x\n"[..],
            b"20;new;a,other;A;x\n",
            b"20;new;a;ABC;x\n",
        ] {
            // The plain server would store another value, as with IGNORE.
            give(&mut lab.ours, file);
            lab.ours.query_drop(load).expect_err("it does not fit");
        }
        same(&mut lab, ITEMS, vec![]);
    }
}

#[test]
fn many_rows_have_labels_and_bits() {
    let Some(mut lab) = start(Brand::MariaDb, "") else {
        return;
    };
    let ports = [(lab.proxy.port(), "shop"), (lab.server.port(), "twin")];
    let mut clients = ports.map(|(port, name)| Raw::connect(port, name, Capabilities::BULK));
    const KINDS: [FieldType; 5] = [
        FieldType::LONGLONG,
        FieldType::VAR_STRING,
        FieldType::VAR_STRING,
        FieldType::LONGLONG,
        FieldType::BLOB,
    ];
    let bytes = |own: &'static [u8]| -> Item<'static> { given(Bound::Bytes(own)) };
    both_say(
        &mut clients,
        "INSERT INTO item (id, e, s, f, w) VALUES (?, ?, ?, ?, ?)",
        &KINDS,
        &[
            &[
                whole(1),
                bulk_text("new"),
                bulk_text("c,b"),
                whole(1),
                bytes(b"\x01\xff"),
            ],
            &[
                whole(2),
                bulk_text("Paid"),
                bulk_text(""),
                whole(0),
                bytes(b"\0"),
            ],
            &[whole(3), NULL, NULL, NULL, NULL],
        ],
    );
    same(&mut lab, ITEMS, vec![]);
    for (labels, set, bit) in [("other", "a", 1), ("new", "a,x", 1), ("new", "a", 2)] {
        let row = [
            whole(4),
            bulk_text(labels),
            bulk_text(set),
            whole(bit),
            NULL,
        ];
        let insert = "INSERT INTO item (id, e, s, f, w) VALUES (?, ?, ?, ?, ?)";
        both_say(&mut clients, insert, &KINDS, &[&row]);
    }
    both_say(
        &mut clients,
        "UPDATE item SET s = ?, w = ? WHERE e = ? AND f = ?",
        &[
            FieldType::VAR_STRING,
            FieldType::LONGLONG,
            FieldType::VAR_STRING,
            FieldType::LONGLONG,
        ],
        &[
            &[bulk_text("a"), whole(7), bulk_text("new"), whole(1)],
            &[bulk_text("b,a"), whole(8), bulk_text("Paid"), whole(0)],
        ],
    );
    same(&mut lab, ITEMS, vec![]);
}

#[test]
fn labels_and_bits_are_sealed_with_other_columns() {
    for brand in [Brand::MariaDb, Brand::MySql] {
        let Some(mut lab) = start(brand, &finisher_of(brand)) else {
            continue;
        };
        for statement in [
            "INSERT INTO pair VALUES (1, 'new', 'c,b', b'101', 7), (2, NULL, '', 0, NULL)",
            "INSERT INTO pair VALUES (3, 'by air', 'a,b,c', 511, -1), (4, NULL, NULL, NULL, NULL)",
            PAIRS,
            "UPDATE pair SET e = 'Paid', s = 'b', f = 0x01, n = 3 WHERE id = 1",
            "UPDATE pair SET s = 'c,a' WHERE id = 3",
            "SELECT id FROM pair WHERE FIND_IN_SET('a', s) ORDER BY id",
            "SELECT id, f + 0 AS n FROM pair WHERE e = 'paid' OR f > 500 ORDER BY id",
            "SELECT e, s FROM pair ORDER BY e, s",
            "INSERT INTO item (id, e, s, w) SELECT id, e, s, f FROM pair",
            ITEMS,
            PAIRS,
        ] {
            same(&mut lab, statement, vec![]);
        }
        let insert = "INSERT INTO pair VALUES (?, ?, ?, ?, ?)";
        let values = [text("new"), text("c,a"), Value::Int(257), Value::Int(5)];
        same(
            &mut lab,
            insert,
            [vec![Value::Int(10)], values.to_vec()].concat(),
        );
        for values in [
            "'other', 'a', 1, 1",
            "'new', 'a,other', 1, 1",
            "'new', 'a', 512, 1",
        ] {
            assert_same_code(&mut lab, &format!("INSERT INTO pair VALUES (20, {values})"));
        }
        same(&mut lab, PAIRS, vec![]);
        same(
            &mut lab,
            "SELECT * FROM pair WHERE id < ?",
            vec![Value::Int(99)],
        );
    }
}

#[test]
fn texts_that_share_a_plan_have_labels_and_bits() {
    for mut lab in labs() {
        for (id, (label, set, bit, wide)) in [
            ("new", "a,b", "1", "65535"),
            ("Paid", "", "0", "0"),
            ("by air", "c,a,b,c", "1", "256"),
            ("new", "b", "0", "1"),
        ]
        .into_iter()
        .enumerate()
        {
            let insert = format!(
                "INSERT INTO item (id, e, s, f, w) VALUES ({id}, '{label}', '{set}', {bit}, {wide})"
            );
            same(&mut lab, &insert, vec![]);
        }
        for (label, set, bit) in [
            ("new", "a", "1"),
            ("Paid", "", "0"),
            ("by air", "b,a,c", "1"),
        ] {
            let find = format!(
                "SELECT id, f FROM item WHERE e = '{label}' OR s = '{set}' OR f = {bit} ORDER BY id"
            );
            same(&mut lab, &find, vec![]);
        }
        for wrong in [
            "e = 'NEW'",
            "s = 'a,b'",
            "s = 'b ,a'",
            "f = 2",
            "f = -1",
            "f = '1'",
            "f = 1.0",
            "e = 1",
            "s = 1",
        ] {
            let find = format!("SELECT id FROM item WHERE {wrong} ORDER BY id");
            assert_refused(&mut lab, &find);
        }
        for wrong in [
            "'other', 'a', 1, 1",
            "'new', 'a,x', 1, 1",
            "'new', 'a', 2, 1",
            "'new', 'a', 1, 65536",
            "'new', 'a', 1, 'ABC'",
        ] {
            let insert = format!("INSERT INTO item (id, e, s, f, w) VALUES (99, {wrong})");
            assert_same_code(&mut lab, &insert);
        }
        let count: Option<u64> = lab
            .ours
            .query_first("SELECT COUNT(*) FROM item")
            .expect("a count");
        assert_eq!(count, Some(4));
        same(&mut lab, ITEMS, vec![]);
    }
}

#[test]
fn dumps_of_labels_and_bits_restore() {
    for mut lab in labs() {
        let insert = "INSERT INTO item (id, e, s, f, w, note) VALUES (1, 'new', 'c,b', 1, 65535, \
                      'x'), (2, NULL, '', 0, 65, ''), (3, 'by air', NULL, NULL, NULL, NULL)";
        let pair = "INSERT INTO pair VALUES (1, 'new', 'c,b', b'101', 7), (2, NULL, '', 0, NULL)";
        for statement in [insert, pair] {
            same(&mut lab, statement, vec![]);
        }
        let (through, past) = (lab.proxy.port(), lab.server.port());
        let own = dump(through, "shop", &["--hex-blob"]);
        assert_eq!(own, dump(past, "twin", &["--hex-blob"]));
        restore(through, "shop", &own);
        restore(past, "twin", &own);
        for rows in [ITEMS, PAIRS] {
            same(&mut lab, rows, vec![]);
        }
        let sealed = dump(past, "shop", &["--hex-blob"]);
        assert!(!sealed.contains("by air"), "{sealed}");
    }
}
