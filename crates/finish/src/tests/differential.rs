//! Random queries, run both by a real server over plain columns and by the executor over the rows
//! that the plan fetches: same rows, types and SQLSTATEs.
//!
//! `STRONGROOM_TEST_SEED` sets the seed, `STRONGROOM_TEST_CASES` the number of cases.

use postgres::{Client, SimpleQueryMessage};

use super::*;

/// SplitMix64, so that a seed draws the same cases on every machine.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn one_of<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len() as u64) as usize]
    }

    fn number(&mut self, depth: u32) -> String {
        if depth == 0 || self.below(3) == 0 {
            return match self.below(4) {
                0 => self
                    .one_of(&["0", "1", "2", "-3", "0.5", "10", "1000000"])
                    .to_owned(),
                _ => self
                    .one_of(&["n2", "n4", "n8", "d", "f", "r", "n4"])
                    .to_owned(),
            };
        }
        let deeper = depth - 1;
        match self.below(8) {
            0..=3 => {
                let (left, right) = (self.number(deeper), self.number(deeper));
                format!("({left} {} {right})", self.one_of(&["+", "-", "*", "/"]))
            }
            4 => format!("(- {})", self.one_of(&["n2", "n4", "n8", "d", "f"])),
            5 => {
                let to = self.one_of(&["integer", "bigint", "numeric(9,2)", "double precision"]);
                format!("CAST({} AS {to})", self.number(deeper))
            }
            6 => format!(
                "COALESCE({}, {})",
                self.one_of(&["n4", "d", "n8"]),
                self.number(0)
            ),
            _ => {
                let condition = self.condition(deeper);
                let column = self.one_of(&["n4", "n8"]);
                format!("CASE WHEN {condition} THEN {column} ELSE n2 END")
            }
        }
    }

    fn text(&mut self) -> String {
        match self.below(4) {
            0 => "(s || x)".to_owned(),
            1 => format!(
                "COALESCE(x, '{}')",
                self.one_of(&["a", "", "b'"]).replace('\'', "''")
            ),
            _ => self.one_of(&["s", "x", "c"]).to_owned(),
        }
    }

    fn compared(&mut self) -> &'static str {
        self.one_of(&["=", "<>", "<", "<=", ">", ">="])
    }

    fn condition(&mut self, depth: u32) -> String {
        if depth > 0 && self.below(2) == 0 {
            let (left, right) = (self.condition(depth - 1), self.condition(depth - 1));
            return match self.below(5) {
                0 => format!("NOT ({left})"),
                1 | 2 => format!("({left} OR {right})"),
                _ => format!("({left} AND {right})"),
            };
        }
        match self.below(10) {
            0 | 1 => {
                let (left, right) = (self.number(depth.min(1)), self.number(0));
                format!("{left} {} {right}", self.compared())
            }
            2 => format!(
                "{} {} '{}'",
                self.text(),
                self.compared(),
                self.one_of(&["a", "ab", "B "])
            ),
            3 => {
                let like = self.one_of(&["LIKE", "ILIKE", "NOT LIKE"]);
                format!(
                    "{} {like} '{}'",
                    self.text(),
                    self.one_of(&["a%", "_b", "%B%", "", "%"])
                )
            }
            4 => format!("{} IS {}NULL", self.text(), self.one_of(&["", "NOT "])),
            5 => format!(
                "{} {}IN (1, 2, {})",
                self.one_of(&["n2", "n4", "d"]),
                self.one_of(&["", "NOT "]),
                self.one_of(&["3", "NULL"])
            ),
            6 => format!(
                "{} BETWEEN {} AND {}",
                self.number(0),
                self.number(0),
                self.number(0)
            ),
            7 => format!(
                "dt {} '{}'",
                self.compared(),
                self.one_of(&["2001-01-01", "2020-02-29"])
            ),
            8 => format!("ts {} '2001-01-01 12:00'", self.compared()),
            _ => self
                .one_of(&["b", "NOT b", "b IS NULL", "s = c", "n4 < f"])
                .to_owned(),
        }
    }

    fn value(&mut self) -> String {
        match self.below(4) {
            0 | 1 => self.number(2),
            2 => self.text(),
            _ => self.one_of(&["dt", "ts", "b", "f", "r", "c"]).to_owned(),
        }
    }

    fn aggregate(&mut self) -> String {
        let distinct = self.one_of(&["", "", "DISTINCT "]);
        let filter = match self.below(4) {
            0 => format!(" FILTER (WHERE {})", self.condition(0)),
            _ => String::new(),
        };
        let called = match self.below(6) {
            0 => "count(*)".to_owned(),
            1 => format!("count({distinct}{})", self.value()),
            2 => format!("sum({distinct}{})", self.number(1)),
            3 => format!("avg({distinct}{})", self.number(1)),
            4 => format!(
                "min({})",
                self.one_of(&["n4", "d", "f", "s", "x", "c", "dt", "ts"])
            ),
            _ => format!(
                "max({})",
                self.one_of(&["n4", "d", "r", "s", "x", "c", "dt", "ts"])
            ),
        };
        format!("{called}{filter}")
    }

    fn filter(&mut self) -> String {
        match self.below(4) {
            0 => String::new(),
            1 => format!(" WHERE g > 1 AND {}", self.condition(1)),
            _ => format!(" WHERE {}", self.condition(2)),
        }
    }

    fn query(&mut self) -> String {
        let filter = self.filter();
        match self.below(5) {
            0 | 1 => {
                let (first, second) = (self.value(), self.value());
                let order = self.one_of(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
                let limit = self.one_of(&["", "", " LIMIT 5", " LIMIT 7 OFFSET 3", " OFFSET 30"]);
                let key = self.one_of(&["n4", "d", "f", "s", "c", "x", "dt", "b"]);
                format!(
                    "SELECT id, {first}, {second} FROM t{filter} ORDER BY {key}{order}, id{limit}"
                )
            }
            2 => {
                let key = self.one_of(&["n2", "c", "b", "d", "g"]);
                format!("SELECT DISTINCT {key}, n2 FROM t{filter}")
            }
            3 => {
                let key = self.one_of(&["n2", "c", "b", "d", "g", "s"]);
                let (first, second) = (self.aggregate(), self.aggregate());
                let having = self.one_of(&["", "", " HAVING count(*) > 1", " HAVING sum(n4) > 3"]);
                format!("SELECT {key}, {first}, {second} FROM t{filter} GROUP BY {key}{having}")
            }
            _ => {
                let (first, second) = (self.aggregate(), self.aggregate());
                format!("SELECT {first}, {second} FROM t{filter}")
            }
        }
    }

    fn row(&mut self, id: u64) -> String {
        let or_null = |draw: &mut Self, value: String| match draw.below(6) {
            0 => "NULL".to_owned(),
            _ => value,
        };
        let whole = |draw: &mut Self| (draw.below(9) as i64 - 3).to_string();
        let mut fields = vec![id.to_string(), self.below(4).to_string()];
        for kind in [
            "whole", "whole", "whole", "d", "f", "f", "s", "c", "x", "dt", "ts", "b",
        ] {
            let value = match kind {
                "whole" => whole(self),
                "d" => self
                    .one_of(&["1.5", "1.500", "-2.25", "0", "3", "1000.125"])
                    .to_owned(),
                "f" => self.one_of(&["1.5", "-0.1", "0", "1e10", "3"]).to_owned(),
                "s" => format!("'{}'", self.one_of(&["a", "ab", "B ", "", "äb", "b"])),
                "c" => format!("'{}'", self.one_of(&["a", "ab  ", "B", "äb", ""])),
                "x" => format!(
                    "'{}'",
                    self.one_of(&["a", "ab", "B ", "a\tb", "zz%_", "Äb"])
                ),
                "dt" => format!(
                    "'{}'",
                    self.one_of(&["2001-01-01", "1999-12-31", "2020-02-29"])
                ),
                "ts" => format!(
                    "'{}'",
                    self.one_of(&["2001-01-01 12:00", "1999-12-31 23:59:59.5"])
                ),
                _ => self.one_of(&["TRUE", "FALSE"]).to_owned(),
            };
            fields.push(or_null(self, value));
        }
        format!("({})", fields.join(", "))
    }
}

type Rows = Vec<Vec<Option<String>>>;

fn rows_of(client: &mut Client, sql: &str) -> Result<Rows, String> {
    let messages = client.simple_query(sql).map_err(|error| {
        let code = error.code().map(|code| code.code().to_owned());
        code.unwrap_or_else(|| error.to_string())
    })?;
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            let field = |index| row.get(index).map(str::to_owned);
            Some((0..row.len()).map(field).collect())
        }
        _ => None,
    });
    Ok(rows.collect())
}

fn ours(client: &mut Client, finish: &Finish) -> Result<(Vec<u32>, Rows), String> {
    let failed = |error: FinishError| match error {
        FinishError::Value(error) => error.sqlstate.to_string(),
        other => other.to_string(),
    };
    let fetch = write_plain(finish);
    let fetched = rows_of(client, &fetch).expect("the server can do the fetch");
    let statement = client.prepare(&fetch).expect("it was just run");
    let columns = statement.columns().iter();
    let types: Vec<u32> = columns.map(|column| column.type_().oid()).collect();
    let inputs = inputs_of(finish, &schema(), &types);
    let rows = answer(finish, &inputs, &fetched, LIMITS).map_err(failed)?;
    let program = program(finish, &inputs).map_err(|error| failed(error.into()))?;
    let outputs = program.outputs().map(|output| {
        let plain = output
            .origin
            .filter(|&column| finish.fetch.outputs[column].kind == OutputKind::Plain);
        plain.map_or_else(
            || values::oid(output.logical.expect("computed ones have a type")),
            |column| types[column],
        )
    });
    Ok((outputs.collect(), rows))
}

fn theirs(client: &mut Client, sql: &str) -> Result<(Vec<u32>, Rows), String> {
    let rows = rows_of(client, sql)?;
    let statement = client.prepare(sql).expect("it was just run");
    let columns = statement.columns().iter();
    Ok((columns.map(|column| column.type_().oid()).collect(), rows))
}

fn sorted(sql: &str, mut rows: Rows) -> Rows {
    if !sql.contains("ORDER BY") {
        rows.sort();
    }
    rows
}

#[test]
fn drawn_queries_have_the_answers_of_the_server() {
    let Some((_server, mut client)) = server_testkit::connected() else {
        return;
    };
    let number = |name: &str, default: u64| {
        let text = std::env::var(name).ok();
        text.map_or(default, |text| text.parse().expect("a number"))
    };
    let seed = number("STRONGROOM_TEST_SEED", 1);
    let count = number("STRONGROOM_TEST_CASES", 2000);
    let mut draw = Draw(seed);
    let columns = COLUMNS
        .iter()
        .map(|(name, logical, _)| format!("{name} {logical}"));
    let columns = columns.collect::<Vec<_>>().join(", ");
    let rows: Vec<String> = (0..40).map(|id| draw.row(id)).collect();
    let made = format!(
        "CREATE TABLE t ({columns}); INSERT INTO t VALUES {}",
        rows.join(", ")
    );
    client.batch_execute(&made).expect("made");

    let (mut compared, mut errors, mut refused) = (0_u64, 0_u64, Vec::new());
    let mut wrong = Vec::new();
    for _ in 0..count {
        let sql = draw.query();
        let finish = match plan(&sql) {
            Ok(Some(finish)) => finish,
            Ok(None) => continue,
            Err(message) => {
                refused.push(format!("{message}: {sql}"));
                continue;
            }
        };
        let (ours, theirs) = (ours(&mut client, &finish), theirs(&mut client, &sql));
        compared += 1;
        errors += u64::from(theirs.is_err());
        let is_same = match (&ours, &theirs) {
            (Ok((our_types, our_rows)), Ok((their_types, their_rows))) => {
                our_types == their_types
                    && sorted(&sql, our_rows.clone()) == sorted(&sql, their_rows.clone())
            }
            // If a query has two errors, the server may report the other one.
            (Err(_), Err(_)) => true,
            _ => false,
        };
        if !is_same {
            wrong.push(format!("{sql}\n  ours   {ours:?}\n  theirs {theirs:?}"));
        }
    }
    println!(
        "{compared} compared, {errors} of them errors, {} refused",
        refused.len()
    );
    for refusal in refused.iter().take(5) {
        println!("refused: {refusal}");
    }
    assert!(
        wrong.is_empty(),
        "seed {seed}: {} of {compared} differ\n{}",
        wrong.len(),
        wrong[..wrong.len().min(10)].join("\n")
    );
    assert!(compared * 10 > count * 6, "most queries are for the proxy");
    assert!(errors * 3 < compared, "most queries have an answer");
}
