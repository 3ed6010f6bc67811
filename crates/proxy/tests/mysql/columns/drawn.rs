//! Statements that are drawn at random, on protected tables and on plain ones of the same server.

use mysql::Value;
use mysql::prelude::Queryable as _;

use super::differential::{Answer, as_text, prepared};
use super::lab::{Lab, connect};
use server_testkit::mysql::Brand;

mod stored;

const RULES: &str = "
[keys]
file = \"columns.key\"
[columns.\"shop.account\"]
bank = { type = \"integer\", mode = \"equality\", domain = \"bank\" }
code = { type = \"varchar(12)\", mode = \"equality\", domain = \"code\", collation = \"binary\" }
kind = { type = \"char(4)\", mode = \"equality\", collation = \"binary\" }
holder = { type = \"varchar(20)\", collation = \"binary\" }
level = { type = \"integer\", mode = \"order\", bits = 16 }
lowest = { type = \"decimal(6,2)\", mode = \"order\" }
opened = { type = \"date\", mode = \"order\" }
paid = { type = \"decimal(12,2)\" }
times = { type = \"integer\" }
share = { type = \"double precision\" }
[columns.\"shop.entry\"]
bank = { type = \"integer\", mode = \"equality\", domain = \"bank\" }
code = { type = \"varchar(12)\", mode = \"equality\", domain = \"code\", collation = \"binary\" }
number = { type = \"integer\", mode = \"order\" }
amount = { type = \"decimal(6,2)\" }
moved = { type = \"timestamp(6)\", mode = \"order\" }
";

const TABLES: [&str; 2] = [
    "CREATE TABLE account (bank INT NOT NULL, code VARCHAR(12) CHARACTER SET utf8mb4 COLLATE \
     utf8mb4_bin NOT NULL, kind CHAR(4) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, holder \
     VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, level INT, lowest DECIMAL(6,2), opened \
     DATE, paid DECIMAL(12,2), times INT, share DOUBLE, seen INT NOT NULL DEFAULT 0, PRIMARY KEY \
     (bank, code), KEY by_level (bank, level))",
    "CREATE TABLE entry (bank INT NOT NULL, code VARCHAR(12) CHARACTER SET utf8mb4 COLLATE \
     utf8mb4_bin NOT NULL, number INT NOT NULL, amount DECIMAL(6,2), moved DATETIME(6), PRIMARY \
     KEY (bank, code, number), FOREIGN KEY (bank, code) REFERENCES account (bank, code) ON DELETE \
     CASCADE)",
];

/// Draws numbers (xorshift).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }

    fn code(&mut self) -> &'static str {
        self.of(&[
            "a", "A", "b", "ä", "ab", "Ab", "ß", "ss", "😀", "🙂", "O''N", "",
        ])
    }

    fn bank(&mut self) -> u64 {
        self.below(3)
    }

    fn decimal(&mut self) -> String {
        let sign = self.of(&["", "-"]);
        format!("{sign}{}.{:02}", self.below(2000), self.below(100))
    }

    fn day(&mut self) -> String {
        format!(
            "20{:02}-{:02}-{:02}",
            self.below(30),
            1 + self.below(12),
            1 + self.below(28)
        )
    }

    fn or_null(&mut self, text: String) -> String {
        match self.below(6) {
            0 => "NULL".to_owned(),
            _ => text,
        }
    }

    fn account(&mut self) -> String {
        let values = [
            self.bank().to_string(),
            format!("'{}'", self.code()),
            format!("'{}'", self.of(&["x", "X", "y  ", "1234", "ü"])),
            format!(
                "'{}'",
                self.of(&["Zoe", "zoe", "Ann", "ann", "Ärger", "Bo 😀", "B"])
            ),
            self.below(60_000).to_string(),
            self.decimal(),
            format!("'{}'", self.day()),
            self.decimal(),
            self.below(100).to_string(),
            self.of(&[
                "0.1",
                "100000000000000000000",
                "-2.5",
                "0",
                "123456789012345678",
                "0.00000000001",
            ])
            .to_owned(),
        ];
        let [bank, code, rest @ ..] = values;
        let rest = rest.map(|value| self.or_null(value));
        format!("{bank}, {code}, {}, 0", rest.join(", "))
    }

    fn key(&mut self) -> String {
        format!("bank = {} AND code = '{}'", self.bank(), self.code())
    }

    fn range(&mut self) -> String {
        let sign = self.of(&["<", "<=", ">", ">=", "=", "<>"]);
        match self.below(6) {
            0 => format!("level {sign} {}", self.below(70_000)),
            1 => format!("lowest {sign} {}", self.decimal()),
            2 => format!("lowest {sign} {}5", self.decimal()),
            3 => format!("opened {sign} '{}'", self.day()),
            4 => format!(
                "level BETWEEN {} AND {}.5",
                self.below(30_000),
                self.below(60_000)
            ),
            _ => format!("level {sign} -1"),
        }
    }

    fn statement(&mut self) -> String {
        let key = self.key();
        match self.below(22) {
            0..=2 => format!("INSERT INTO account VALUES ({})", self.account()),
            3 => format!(
                "INSERT INTO entry VALUES ({}, '{}', {}, {}, '{} 0{}:00:00.5')",
                self.bank(),
                self.code(),
                self.below(50),
                self.decimal(),
                self.day(),
                self.below(9)
            ),
            4 => format!("SELECT * FROM account WHERE {key}"),
            5 => format!(
                "SELECT bank, code, kind FROM account WHERE kind = '{}' ORDER BY seen, level",
                self.of(&["x", "X", "1234", "y", "toolong"])
            ),
            6 => format!(
                "SELECT a.code, a.level, e.number, e.amount FROM account a JOIN entry e ON \
                 a.bank = e.bank AND a.code = e.code WHERE a.{} ORDER BY a.level, e.number",
                self.range()
            ),
            7 => format!(
                "SELECT level, lowest FROM account WHERE {} ORDER BY level, lowest DESC \
                          LIMIT 5",
                self.range()
            ),
            8 => format!(
                "SELECT MIN(level) AS l, MAX(lowest) AS h, MIN(opened) AS o, COUNT(DISTINCT code) \
                 AS c FROM account WHERE {}",
                self.range()
            ),
            9 => "SELECT MAX(moved) AS m, MIN(number) AS n FROM entry".to_owned(),
            10 => format!(
                "SELECT number FROM entry WHERE bank = {} ORDER BY number DESC, moved LIMIT 1",
                self.bank()
            ),
            11 => "SELECT code, COUNT(*) AS c FROM account GROUP BY code ORDER BY c".to_owned(),
            12 => format!("DELETE FROM account WHERE {key}"),
            13 => format!(
                "UPDATE account SET code = '{}', level = {} WHERE {key}",
                self.code(),
                self.below(60_000)
            ),
            14 => format!(
                "UPDATE account SET lowest = {} WHERE {}",
                self.decimal(),
                self.range()
            ),
            15 => format!("UPDATE entry SET number = {} WHERE {key}", self.below(40)),
            16 => format!(
                "UPDATE account SET seen = seen + 1, level = {} WHERE {} ORDER BY seen, level \
                 DESC, lowest, opened",
                self.below(60_000),
                self.range()
            ),
            17 => format!(
                "UPDATE entry SET amount = {} WHERE {key} ORDER BY number LIMIT 1",
                self.decimal()
            ),
            18..=20 => self.joined(),
            // Those that are first are the same, if they have nothing but that.
            _ => format!(
                "DELETE FROM entry WHERE {key} ORDER BY number {} LIMIT {}",
                self.of(&["", "DESC"]),
                self.below(3)
            ),
        }
    }

    /// A statement that writes rows of joined tables.
    fn joined(&mut self) -> String {
        match self.below(3) {
            0 => format!(
                "UPDATE account a JOIN entry e ON e.bank = a.bank AND e.code = a.code SET \
                 a.lowest = {}, e.amount = {}, a.seen = a.seen + 1 WHERE a.{}",
                self.decimal(),
                self.decimal(),
                self.range()
            ),
            1 => format!(
                "UPDATE entry e, account a SET e.number = {}, a.opened = '{}' WHERE e.bank = \
                 a.bank AND e.code = a.code AND e.number = {} AND a.{}",
                self.below(50),
                self.day(),
                self.below(50),
                self.range()
            ),
            _ => format!(
                "DELETE {} FROM account a LEFT JOIN entry e ON e.bank = a.bank AND e.code = \
                 a.code WHERE a.{} AND a.bank = {}",
                self.of(&["e", "e", "e, a"]),
                self.range(),
                self.bank()
            ),
        }
    }

    /// A query that the proxy finishes, and its parameters.
    fn finished(&mut self) -> (String, Vec<Value>) {
        let (range, text) = (self.range(), |text: &str| {
            Value::Bytes(text.as_bytes().to_vec())
        });
        let plain = match self.below(9) {
            0 => format!("SELECT holder FROM account WHERE {range} ORDER BY holder LIMIT 100"),
            1 => format!(
                "SELECT holder AS H, paid, seen, kind FROM account WHERE {range} ORDER BY h DESC"
            ),
            2 => format!(
                "SELECT paid AS p, times FROM account WHERE {range} ORDER BY p DESC, times \
                 LIMIT 2, 4"
            ),
            3 => format!("SELECT * FROM account a WHERE a.{range} ORDER BY a.paid"),
            4 => "SELECT share FROM account ORDER BY share LIMIT 7".to_owned(),
            5 => format!(
                "SELECT SUM(paid) AS s, SUM(times), MIN(times) AS a, MAX(paid), MIN(share) AS w, \
                 COUNT(DISTINCT times) AS d, COUNT(paid) AS n, COUNT(*) AS Rows_ FROM account \
                 WHERE {range}"
            ),
            6 => format!(
                "SELECT COUNT(DISTINCT (holder)) AS d, MAX(opened) AS o, SUM(level) AS l, \
                 COUNT(DISTINCT paid) AS p, COUNT(DISTINCT share) AS f FROM account WHERE {range}"
            ),
            7 => {
                return (
                    "SELECT SUM(amount) AS total FROM entry WHERE bank = ? AND code = ?".to_owned(),
                    vec![Value::Int(self.bank() as i64), text(self.code())],
                );
            }
            _ => {
                return (
                    "SELECT times FROM account WHERE bank = ? AND level > ? ORDER BY times LIMIT ?"
                        .to_owned(),
                    vec![
                        Value::Int(self.bank() as i64),
                        Value::Int(self.below(30_000) as i64),
                        Value::Int(self.below(5) as i64),
                    ],
                );
            }
        };
        (plain, vec![])
    }

    /// An `UPDATE` by old values, and its parameters.
    fn increment(&mut self) -> (String, Vec<Value>) {
        let further = self.of(&[
            "",
            "",
            " AND seen < 3",
            " AND (seen IN (0, 1) OR seen + 1 > 4)",
            " AND NOT seen = 0x02",
            " AND seen IS NOT NULL AND lowest > -1000",
        ]);
        let key = format!("{}{further}", self.key());
        match self.below(12) {
            0 => (
                format!("UPDATE account SET times = times + 1 WHERE {key}"),
                vec![],
            ),
            1 => (
                format!(
                    "UPDATE account SET times = times - {}, seen = seen + 1, paid = paid + {}{} \
                     WHERE {key}",
                    self.below(9),
                    self.decimal(),
                    self.of(&["", "5", "49", "5000001907"])
                ),
                vec![],
            ),
            2 => (
                format!(
                    "UPDATE account a SET a.level = a.level + {}, seen = seen + 1, lowest = NULL \
                     WHERE {key}",
                    self.below(900)
                ),
                vec![],
            ),
            3 => (
                format!(
                    "UPDATE entry SET amount = amount - (0.05 - amount) WHERE \
                     {} AND number = {} AND moved IS {} NULL",
                    self.key(),
                    self.below(50),
                    self.of(&["", "NOT"])
                ),
                vec![],
            ),
            4..=6 => (self.wrong_increment(&key), vec![]),
            7 | 8 => self.increment_by_parameters(),
            9 => ("BEGIN".to_owned(), vec![]),
            10 => ("COMMIT".to_owned(), vec![]),
            _ => ("ROLLBACK".to_owned(), vec![]),
        }
    }

    /// One whose result is out of range, or NULL.
    fn wrong_increment(&mut self, key: &str) -> String {
        match self.below(3) {
            0 => format!(
                "UPDATE account SET times = times + 2147483000, paid = 1, seen = seen + 1 WHERE \
                 {key}"
            ),
            1 => format!("UPDATE account SET paid = paid + 9999999999.99 WHERE {key}"),
            _ => format!("UPDATE account SET times = times + NULL WHERE {key}"),
        }
    }

    fn increment_by_parameters(&mut self) -> (String, Vec<Value>) {
        let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        match self.below(3) {
            0 => (
                "UPDATE account SET times = times + ? WHERE bank = ? AND code = ? AND seen < ? AND \
                 level >= ?"
                    .to_owned(),
                vec![
                    Value::Double(1.0),
                    Value::Double(self.bank() as f64),
                    text(self.code()),
                    Value::Double(self.below(9) as f64 / 2.0),
                    Value::Int(self.below(30_000) as i64),
                ],
            ),
            1 => (
                "UPDATE account SET paid = paid + ?, times = times + ?, seen = ? WHERE bank = ? \
                 AND code = ?"
                    .to_owned(),
                vec![
                    text(&self.decimal()),
                    Value::Int(self.below(20) as i64 - 10),
                    Value::Int(self.below(5) as i64),
                    Value::Int(self.bank() as i64),
                    text(self.code()),
                ],
            ),
            _ => (
                "UPDATE account SET paid = paid - ?, lowest = lowest + ? WHERE bank = ? AND \
                 code = ?"
                    .to_owned(),
                vec![
                    Value::Double(0.25),
                    match self.below(3) {
                        0 => Value::NULL,
                        _ => text("1.5"),
                    },
                    Value::UInt(self.bank()),
                    text(self.code()),
                ],
            ),
        }
    }
}

/// Rows of a query without an order come in any.
fn sorted(mut answer: Answer, text: &str) -> Answer {
    if !text.contains("LIMIT") {
        answer.rows.sort_by_key(|row| format!("{row:?}"));
    }
    answer
}

fn run(lab: &mut Lab, seed: u64, count: usize) {
    let mut draw = Draw(seed);
    for number in 0..count {
        let (text, values) = match draw.below(7) {
            0 => draw.increment(),
            1 => draw.finished(),
            2 => draw.stored(),
            _ => (draw.statement(), vec![]),
        };
        let (ours, theirs) = match number % 2 {
            0 if values.is_empty() => (
                as_text(&mut lab.ours, &text),
                as_text(&mut lab.theirs, &text),
            ),
            _ => (
                prepared(&mut lab.ours, &text, values.clone()),
                prepared(&mut lab.theirs, &text, values),
            ),
        };
        if ours.error != theirs.error {
            let log = std::fs::read(lab.log()).unwrap_or_default();
            let log = String::from_utf8_lossy(&log).into_owned();
            let lines: Vec<&str> = log.lines().collect();
            println!("{}", lines[lines.len().saturating_sub(12)..].join("\n"));
        }
        assert_eq!(sorted(ours, &text), sorted(theirs, &text), "{seed}: {text}");
    }
}

fn both() -> impl Iterator<Item = Lab> {
    let brands = [Brand::MariaDb, Brand::MySql].into_iter();
    brands.filter_map(|brand| Lab::with(brand, RULES, &TABLES))
}

#[test]
fn drawn_statements_give_the_answers_of_plain_tables() {
    for mut lab in both() {
        for seed in [1, 4242, 987_654_321] {
            run(&mut lab, seed, 500);
            let rows: Vec<(i64, i64)> = lab
                .ours
                .query("SELECT COUNT(*) AS a, COUNT(paid) AS b FROM account")
                .expect("a count");
            assert!(rows[0].0 > 3, "{rows:?}");
        }
    }
}

#[test]
fn texts_are_equal_if_their_bytes_are() {
    for mut lab in both() {
        let insert = "INSERT INTO account (bank, code, kind) VALUES (?, ?, ?)";
        for (bank, code, kind) in [(1, "Ab", "x  "), (1, "ab", "X"), (1, "äb", "x")] {
            let values = (bank, code, kind);
            lab.ours.exec_drop(insert, values).expect("another text");
        }
        let again = lab.ours.exec_drop(insert, (1, "Ab", "x"));
        assert!(again.is_err_and(|error| error.to_string().contains("1062")));
        let found: Vec<String> = lab
            .ours
            .exec(
                "SELECT code FROM account WHERE kind = ? ORDER BY seen",
                ("x",),
            )
            .expect("rows");
        assert_eq!(found.len(), 2, "{found:?}");
        let mut refused = |text: &str, values: Vec<Value>| {
            let error = lab
                .ours
                .exec_drop(text, values)
                .expect_err(text)
                .to_string();
            assert!(
                error.contains("strongroom: ") && error.contains("blank"),
                "{error}"
            );
        };
        let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        refused(insert, vec![Value::Int(1), text("ab "), text("x")]);
        refused("SELECT code FROM account WHERE code = ?", vec![text("ab ")]);
        let number = lab
            .ours
            .query_drop("SELECT code FROM account WHERE code = 5");
        assert!(number.is_err_and(|error| error.to_string().contains("strongroom: ")));
    }
}

/// Without a transaction nothing keeps others from changing the row between reading and writing.
#[test]
fn no_increment_is_lost() {
    const EACH: i64 = 60;
    for mut lab in both() {
        lab.ours
            .query_drop("INSERT INTO account (bank, code, times, paid) VALUES (1, 'a', 0, 0)")
            .expect("a row");
        let port = lab.proxy.port();
        std::thread::scope(|scope| {
            for in_transaction in [false, false, true] {
                scope.spawn(move || {
                    let mut client = connect(port, "shop");
                    for _ in 0..EACH {
                        if in_transaction {
                            client.query_drop("BEGIN").expect("a transaction");
                        }
                        client
                            .exec_drop(
                                "UPDATE account SET times = times + ?, paid = paid - 0.5 WHERE \
                                 bank = 1 AND code = ?",
                                (1, "a"),
                            )
                            .expect("an update");
                        assert_eq!(client.affected_rows(), 1);
                        if in_transaction {
                            client.query_drop("COMMIT").expect("its end");
                        }
                    }
                });
            }
        });
        let found: Option<(i64, String)> = lab
            .ours
            .query_first("SELECT times, paid FROM account")
            .expect("a row");
        assert_eq!(found, Some((3 * EACH, "-90.00".to_owned())));
    }
}

#[test]
fn what_names_no_single_row_is_not_incremented() {
    for mut lab in both() {
        for (text, why) in [
            (
                "UPDATE account SET times = times + 1",
                "primary or unique key",
            ),
            (
                "UPDATE account SET times = times + 1 WHERE bank = 1",
                "primary or unique key",
            ),
            (
                "UPDATE account SET times = times + 1 WHERE bank = 1 AND code > 'a'",
                "strongroom: ",
            ),
            (
                "UPDATE account SET level = level + 1 WHERE bank = 1 AND code = 'a' AND (seen = 1 \
                 OR account.Level > 5)",
                "more of it",
            ),
            (
                "UPDATE account SET times = times * 2 WHERE bank = 1 AND code = 'a'",
                "sums and differences",
            ),
            (
                "UPDATE account SET times = times + seen WHERE bank = 1 AND code = 'a'",
                "sums and differences",
            ),
            (
                "UPDATE account SET times = times + 1, level = times WHERE bank = 1 AND code = 'a'",
                "strongroom: ",
            ),
            (
                "UPDATE account SET seen = 5, times = times + 1, seen = seen + 1 WHERE bank = 1 \
                 AND code = 'a'",
                "twice",
            ),
        ] {
            let error = lab.ours.query_drop(text).expect_err(text).to_string();
            assert!(
                error.contains("strongroom: ") && error.contains(why),
                "{text}: {error}"
            );
        }
        lab.ours
            .query_drop("INSERT INTO account (bank, code, times, paid) VALUES (1, 'a', 0, 0)")
            .expect("a row");
        let text = "UPDATE account SET paid = paid + '0.001' WHERE bank = 1 AND code = 'a'";
        let error = lab.ours.query_drop(text).expect_err(text).to_string();
        assert!(error.contains("strongroom: "), "{text}: {error}");
    }
}
