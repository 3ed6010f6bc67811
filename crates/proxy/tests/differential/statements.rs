//! Random statements over two tables: values that fit and that do not, keys that are there and that
//! are not.

/// How a statement is sent.
#[derive(Clone, Copy, Debug)]
pub enum MessageAction {
    /// As one text, by the simple protocol.
    Simple,
    /// With parameters as texts.
    Text,
    /// With parameters in binary.
    Binary,
}

/// A statement and its parameters.
#[derive(Clone, Debug)]
pub struct Statement {
    pub kind: &'static str,
    pub text: String,
    pub values: Vec<Option<String>>,
    pub way: MessageAction,
    /// Whether the order of rows is given by the statement.
    pub is_ordered: bool,
}

/// Kinds that the server serves, or the proxy: none of them may be refused.
pub const NEVER_REFUSED: &[&str] = &[
    "insert account",
    "insert several",
    "insert entry",
    "on conflict",
    "update",
    "update plain",
    "increment",
    "delete account",
    "delete entry",
    "select by key",
    "select by name",
    "select null",
    "select range",
    "select join",
    "count distinct",
    "group",
    "largest",
    "sum",
    "sum by group",
    "sort",
    "sort and limit",
    "like",
    "compare random",
    "distinct random",
    "sum of join",
    "transaction",
];

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn one_of<T: Copy>(&mut self, things: &[T]) -> T {
        things[usize::try_from(self.below(things.len() as u64)).expect("a small number")]
    }
}

/// A text with `$n` and the values that it stands for.
struct Draft<'a> {
    random: &'a mut Random,
    values: Vec<Option<String>>,
    /// A statement has one value at most that does not fit: which of several is named first is
    /// nobody's promise.
    has_bad: bool,
}

impl Draft<'_> {
    /// Whether there is a value now that does not fit.
    fn goes_bad(&mut self, may_be_bad: bool) -> bool {
        let goes_bad = may_be_bad && !self.has_bad && self.random.below(8) == 0;
        self.has_bad |= goes_bad;
        goes_bad
    }

    /// Takes a value, and gives its place.
    fn put(&mut self, value: Option<String>) -> String {
        self.values.push(value);
        format!("${}", self.values.len())
    }

    fn id(&mut self) -> String {
        let id = self.random.below(8).to_string();
        self.put(Some(id))
    }

    fn name(&mut self, may_be_bad: bool) -> String {
        let name = if self.goes_bad(may_be_bad) {
            self.random.one_of(&[None, Some("CANARYtoolong")])
        } else {
            match self.random.below(20) {
                // Blanks beyond the length are cut.
                0 => Some("CANARYcut      "),
                1 => Some(""),
                2 => Some("O'Hara \\ é"),
                _ => Some(self.random.one_of(&["CANARYann", "CANARYbob", "CANARYeve"])),
            }
        };
        self.put(name.map(str::to_owned))
    }

    fn note(&mut self) -> String {
        let note = match self.random.below(4) {
            0 => None,
            1 => Some("CANARY a note".to_owned()),
            2 => Some(String::new()),
            _ => Some(format!("CANARY{}", "long ".repeat(30))),
        };
        self.put(note)
    }

    fn amount(&mut self, may_be_bad: bool) -> String {
        let amount = if self.goes_bad(may_be_bad) {
            let bad = ["123456789.00", "99999999.995", "-1e8"];
            Some(self.random.one_of(&bad).to_owned())
        } else {
            match self.random.below(12) {
                0 => None,
                1 => Some("0.005".to_owned()),
                2 => Some("-17".to_owned()),
                3 => Some("99999999.994".to_owned()),
                _ => {
                    let (whole, part) = (self.random.below(1000), self.random.below(100));
                    Some(format!("{whole}.{part}"))
                }
            }
        };
        self.put(amount)
    }

    fn day(&mut self, may_be_bad: bool) -> String {
        let day = if self.goes_bad(may_be_bad) {
            Some("2023-02-29".to_owned())
        } else {
            match self.random.below(12) {
                0 => None,
                1 => Some("infinity".to_owned()),
                2 => Some("0044-03-15 BC".to_owned()),
                _ => {
                    let (year, month) = (self.random.below(100), 1 + self.random.below(9));
                    let day = 10 + self.random.below(18);
                    Some(format!("20{year:02}-0{month}-{day}"))
                }
            }
        };
        self.put(day)
    }

    fn place(&mut self) -> String {
        let place = match self.random.below(8) {
            0 => None,
            _ => Some(self.random.below(1 << 16).to_string()),
        };
        self.put(place)
    }

    fn plain(&mut self) -> String {
        let plain = self.random.below(1 << 30).to_string();
        self.put(Some(plain))
    }

    fn row(&mut self, may_be_bad: bool) -> String {
        let values = [
            self.id(),
            self.name(may_be_bad),
            self.note(),
            self.amount(may_be_bad),
            self.day(may_be_bad),
            self.place(),
            self.plain(),
        ];
        format!("({})", values.join(", "))
    }

    fn assignments(&mut self) -> String {
        let mut assignments = Vec::new();
        if self.random.below(2) == 0 {
            assignments.push(format!("name = {}", self.name(true)));
        }
        if self.random.below(2) == 0 {
            assignments.push(format!("note = {}", self.note()));
        }
        if self.random.below(2) == 0 {
            assignments.push(format!("place = {}", self.place()));
        }
        assignments.push(format!("plain = {}", self.plain()));
        assignments.join(", ")
    }
}

impl Statement {
    /// Any statement.
    pub fn random(random: &mut Random) -> Self {
        let way = random.one_of(&[
            MessageAction::Simple,
            MessageAction::Text,
            MessageAction::Binary,
        ]);
        let choice = random.below(32);
        let mut draft = Draft {
            random,
            values: Vec::new(),
            has_bad: false,
        };
        let (kind, text) = match choice {
            0..14 => writes(choice, &mut draft),
            _ => reads(choice - 14, &mut draft),
        };
        let is_ordered = text.contains(" ORDER BY ");
        let values = draft.values;
        // The simple protocol alone: a driver of its own would know of the transaction.
        let way = match kind {
            "transaction" => MessageAction::Simple,
            _ => way,
        };
        Self {
            kind,
            text,
            values,
            way,
            is_ordered,
        }
    }

    /// The text with its values in place.
    pub fn with_literals(&self) -> String {
        let mut text = self.text.clone();
        for (index, value) in self.values.iter().enumerate().rev() {
            let literal = match value {
                None => "NULL".to_owned(),
                Some(value) => format!("'{}'", value.replace('\'', "''")),
            };
            text = text.replace(&format!("${}", index + 1), &literal);
        }
        text
    }
}

fn writes(choice: u64, draft: &mut Draft<'_>) -> (&'static str, String) {
    match choice {
        0..4 => {
            let row = draft.row(true);
            (
                "insert account",
                format!("INSERT INTO account VALUES {row}"),
            )
        }
        4 => {
            let rows = [draft.row(false), draft.row(false)];
            let text = format!("INSERT INTO account VALUES {}", rows.join(", "));
            ("insert several", text)
        }
        5 => {
            let (row, name) = (draft.row(true), draft.name(true));
            let text = format!(
                "INSERT INTO account VALUES {row} ON CONFLICT (id) DO UPDATE SET name = {name}, \
                 note = EXCLUDED.note RETURNING id, name, note"
            );
            ("on conflict", text)
        }
        6 | 7 => {
            let (id, number) = (draft.id(), draft.random.below(3));
            let value = draft.random.below(1 << 40).to_string();
            let value = draft.put(Some(value));
            let text = format!("INSERT INTO entry VALUES ({id}, {number}, {value})");
            ("insert entry", text)
        }
        8 | 9 => {
            let (set, id) = (draft.assignments(), draft.id());
            (
                "update",
                format!("UPDATE account SET {set} WHERE id = {id}"),
            )
        }
        10 => {
            let id = draft.id();
            let text = format!("UPDATE account SET plain = plain + 1 WHERE id = {id}");
            ("update plain", text)
        }
        11 => {
            let id = draft.id();
            let text = format!("UPDATE account SET amount = amount + 1.5 WHERE id = {id}");
            ("increment", text)
        }
        12 => {
            let id = draft.id();
            match draft.random.below(2) {
                0 => (
                    "delete account",
                    format!("DELETE FROM account WHERE id = {id}"),
                ),
                _ => (
                    "delete entry",
                    format!("DELETE FROM entry WHERE account_id = {id}"),
                ),
            }
        }
        _ => {
            let text = draft.random.one_of(&[
                "BEGIN",
                "COMMIT",
                "ROLLBACK",
                "SAVEPOINT s",
                "ROLLBACK TO s",
            ]);
            ("transaction", text.to_owned())
        }
    }
}

fn reads(choice: u64, draft: &mut Draft<'_>) -> (&'static str, String) {
    let by = |kind: &'static str, text: &str| (kind, text.to_owned());
    match choice {
        0 => {
            let id = draft.id();
            (
                "select by key",
                format!("SELECT * FROM account WHERE id = {id}"),
            )
        }
        1 => {
            let (first, second) = (draft.id(), draft.id());
            let text = format!("SELECT name, day FROM account WHERE id IN ({first}, {second})");
            ("select by key", text)
        }
        2 => {
            let name = draft.name(false);
            let text = format!("SELECT id, amount, plain FROM account WHERE name = {name}");
            ("select by name", text)
        }
        3 => by(
            "select null",
            "SELECT id FROM account WHERE note IS NULL OR amount IS NULL",
        ),
        4 | 5 => {
            let (from, to) = (draft.place(), draft.place());
            let text = format!(
                "SELECT id, place, note FROM account WHERE place BETWEEN {from} AND {to} \
                 ORDER BY place DESC, plain"
            );
            ("select range", text)
        }
        6 => {
            let id = draft.id();
            let text = format!(
                "SELECT a.name, e.number, e.value FROM account a JOIN entry e \
                 ON e.account_id = a.id WHERE a.id <> {id}"
            );
            ("select join", text)
        }
        7 => by(
            "count distinct",
            "SELECT count(DISTINCT name), count(note), count(*) FROM account",
        ),
        8 => by("group", "SELECT name, count(*) FROM account GROUP BY name"),
        9 => by("largest", "SELECT max(place), min(place) FROM account"),
        10 => by(
            "sum",
            "SELECT sum(amount), avg(amount), count(*) FROM account",
        ),
        11 => by(
            "sum by group",
            "SELECT name, sum(amount) AS total FROM account GROUP BY name",
        ),
        12 => by("sort", "SELECT id, name FROM account ORDER BY name, id"),
        13 => by(
            "sort and limit",
            "SELECT id, day FROM account ORDER BY day DESC, id LIMIT 3",
        ),
        14 => by(
            "like",
            "SELECT id FROM account WHERE note LIKE 'CANARY%long%'",
        ),
        15 => {
            let amount = draft.amount(false);
            let text = format!("SELECT id FROM account WHERE amount > {amount}");
            ("compare random", text)
        }
        16 => by("distinct random", "SELECT DISTINCT note FROM account"),
        _ => {
            let text = "SELECT a.name, sum(e.value) FROM account a JOIN entry e \
                        ON e.account_id = a.id GROUP BY a.name ORDER BY a.name";
            by("sum of join", text)
        }
    }
}
