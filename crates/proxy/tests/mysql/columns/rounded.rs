//! Numbers with more digits than their protected column, and floating-point numbers for columns of
//! exact ones, beside plain columns: Connector/J writes the double `9.5e-5` as such a constant, and
//! adds `4.550000190734863` to a decimal.

use mysql::{Value, prelude::Queryable as _};

use super::inserted::same;
use super::lab::{Lab, assert_shown_alike, on_each};

const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.price\"]
net = { type = \"numeric(6,2)\" }
rate = { type = \"numeric(4,4)\" }
level = { type = \"numeric(5,1)\", mode = \"order\" }
code = { type = \"integer\", mode = \"equality\" }
free = { type = \"smallint unsigned\" }
big = { type = \"bigint\", default = \"1e2\" }
long = { type = \"numeric(30,10)\" }
";

const TABLES: [&str; 1] = [
    "CREATE TABLE price (id INT PRIMARY KEY, net DECIMAL(6,2), rate DECIMAL(4,4), level \
     DECIMAL(5,1), code INT, free SMALLINT UNSIGNED, big BIGINT DEFAULT 1e2, `long` \
     DECIMAL(30,10))",
];

const ROWS: &str = "SELECT * FROM price ORDER BY id";

/// What the server may take for another number.
const OTHERS: [&str; 8] = [
    "INSERT INTO price (id, code) VALUES (0, 1.5e0)",
    "INSERT INTO price (id, code) VALUES (0, '1e2')",
    "INSERT INTO price (id, big) VALUES (0, 1e16)",
    "INSERT INTO price (id, `long`) VALUES (0, 1e15)",
    "INSERT INTO price (id, net) VALUES (0, -0e0)",
    "INSERT INTO price (id, net) VALUES (0, '1e0')",
    "SELECT id FROM price WHERE code = 1.5e0",
    "SELECT id FROM price WHERE level < 2.5e0",
];

fn labs() -> impl Iterator<Item = Lab> {
    on_each(|brand| Lab::with(brand, RULES, &TABLES))
}

#[test]
fn constants_with_an_exponent_are_stored_as_the_server_rounds_them() {
    for mut lab in labs() {
        let decimals = [
            "9.999999747378752E-5",
            "1.9999999494757503E-4",
            "0.00005e0",
            "0.125e0",
            "-0.125E0",
            "-1e-4",
            "-1e-9",
            "1e-30",
            "0e5",
            "5.0E-1",
        ];
        let mut ids = 1..;
        let mut insert = |lab: &mut Lab, column: &str, number: &str| {
            let id = ids.next().expect("numbers go on");
            let text = format!("INSERT INTO price (id, `{column}`) VALUES ({id}, {number})");
            same(lab, &text, vec![]);
        };
        for number in decimals {
            for column in ["net", "rate", "level", "long"] {
                insert(&mut lab, column, number);
            }
        }
        for (column, number) in [
            ("net", "9.9995E+3"),
            ("net", "9999.994e0"),
            ("net", "9999.995e0"),
            ("net", "1e4"),
            ("rate", "9.99949e-1"),
            ("rate", "0.99995e0"),
            ("level", "-9.99994E+3"),
            ("long", "1.2345678901234567E14"),
            ("code", "1e2"),
            ("code", "-2147483648e0"),
            ("code", "2147483648e0"),
            ("code", "-0.5e1"),
            ("free", "6.5535e4"),
            ("free", "-1e0"),
            ("free", "-0.4"),
            ("free", "'-0.4'"),
            ("free", "0.5"),
            ("free", "65536e0"),
            ("big", "4.5e15"),
            ("big", "-4503599627370497e0"),
            ("big", "DEFAULT"),
        ] {
            insert(&mut lab, column, number);
        }
        same(&mut lab, ROWS, vec![]);
        assert_shown_alike(&mut lab, "price");
        for condition in [
            "code = 1e2",
            "code IN (1e0, -5e0)",
            "level > 0e0",
            "level BETWEEN -1e1 AND 1E1",
        ] {
            let text = format!("SELECT id FROM price WHERE {condition} ORDER BY id");
            same(&mut lab, &text, vec![]);
        }
        for wrong in OTHERS {
            let error = lab.ours.query_drop(wrong).expect_err(wrong).to_string();
            assert!(error.contains("strongroom: "), "{wrong}: {error}");
        }
    }
}

#[test]
fn sums_are_rounded_as_the_server_rounds_them() {
    for mut lab in labs() {
        let row = "INSERT INTO price VALUES (1, 10.10, 0.1, 5.5, 7, 3, 100, 1.5)";
        same(&mut lab, row, vec![]);
        for assignment in [
            "net = net + 1234.56005859375",
            "net = net - 1234.56005859375",
            "net = net + 0.005",
            "net = net - 0.015",
            "net = net - 10.105",
            "net = net - 0.0049, rate = rate + 0.00005",
            "net = -0.005 + net",
            "net = net + 0.004 + 0.004",
            "net = net + 3e0",
            "net = net - 2.5E-1",
            "net = net + 9999.995",
            "rate = rate + 0.99985",
            "rate = rate - 0.12345678901234567890123456789",
            "level = level + 0.05, `long` = `long` - 0.00000000005",
            "code = code + 0.5",
            "code = code - 9.5",
            "code = code + 1.49999999999",
            "free = free - 2.5",
            "free = free - 0.4",
            "free = free - 1.4",
            "free = free + 1",
            "free = free - 1.6",
            "big = big + 0.5, code = code - 0.50001",
        ] {
            let text = format!("UPDATE price SET {assignment} WHERE id = 1");
            // A value of mode random is sealed anew, and counts as changed if it is the same.
            let code = |result: mysql::Result<()>| match result {
                Err(mysql::Error::MySqlError(error)) => Some(error.code),
                Err(error) => panic!("{error}"),
                Ok(()) => None,
            };
            let (ours, theirs) = (lab.ours.query_drop(&text), lab.theirs.query_drop(&text));
            assert_eq!(code(ours), code(theirs), "{text}");
            same(&mut lab, ROWS, vec![]);
        }
        let text = "UPDATE price SET net = net + ? - 0.0049 WHERE id = 1";
        same(&mut lab, text, vec![Value::Int(-3)]);
        same(&mut lab, ROWS, vec![]);
        let finer = lab.ours.exec_drop(text, (0.25,)).expect_err(text);
        assert!(finer.to_string().contains("strongroom: "), "{finer}");
        for wrong in [
            "UPDATE price SET net = net + 1e-3 WHERE id = 1",
            "UPDATE price SET net = net + '0.001' WHERE id = 1",
            "UPDATE price SET net = net + 0.0000000000000000000000000000001 WHERE id = 1",
        ] {
            let error = lab.ours.query_drop(wrong).expect_err(wrong).to_string();
            assert!(error.contains("strongroom: "), "{wrong}: {error}");
        }
    }
}
