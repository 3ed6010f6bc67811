//! Statements that store rows which may be there.

use mysql::Value;

use super::Draw;

fn text(text: &str) -> Value {
    Value::Bytes(text.as_bytes().to_vec())
}

impl Draw {
    /// An `INSERT` over rows that may be there, and its parameters.
    pub(super) fn stored(&mut self) -> (String, Vec<Value>) {
        let (one, other) = (self.account(), self.account());
        let plain = match self.below(12) {
            0 => format!(
                "INSERT INTO account VALUES ({one}), ({other}) ON DUPLICATE KEY UPDATE seen = \
                 seen + 1 + VALUES(seen), level = VALUES(level), holder = 'Eve', paid = 3.5"
            ),
            1 => format!(
                "INSERT INTO account VALUES ({one}) ON DUPLICATE KEY UPDATE account.seen = \
                 account.seen + 1, lowest = lowest, opened = DEFAULT, code = VALUES(`code`)"
            ),
            // The same values count as none that changes.
            2 => {
                let (bank, code) = (self.bank(), self.code());
                format!(
                    "INSERT INTO account (bank, code, level) VALUES ({bank}, '{code}', 7) ON \
                     DUPLICATE KEY UPDATE level = VALUES (level), kind = 'x'"
                )
            }
            3 => format!("REPLACE INTO account VALUES ({one}), ({other})"),
            4 => format!(
                "REPLACE account SET bank = {}, code = '{}', seen = {}",
                self.bank(),
                self.code(),
                self.below(1 << 30)
            ),
            5 => format!("INSERT IGNORE INTO account VALUES ({one}), ({other}), ({one})"),
            6 => format!(
                "INSERT IGNORE entry (bank, code, number, amount) VALUES ({}, '{}', {}, {})",
                self.bank(),
                self.code(),
                self.below(50),
                self.decimal()
            ),
            7 => format!(
                "INSERT INTO entry (bank, code, number, moved) SELECT bank, code, {}, NULL FROM \
                 account WHERE {} AND seen < 5",
                self.below(50),
                self.range()
            ),
            8 => format!(
                "REPLACE INTO entry (number, code, bank, moved) SELECT e.number, a.code, a.bank, \
                 e.moved FROM account a JOIN entry e ON a.bank = e.bank AND a.code = e.code WHERE \
                 a.{}",
                self.range()
            ),
            9 | 10 => return self.stored_by_parameters(),
            _ => format!(
                "INSERT INTO account (bank, code, level, seen) SELECT 2, code, level, seen FROM \
                 account WHERE bank = {} AND {}",
                self.bank(),
                self.range()
            ),
        };
        (plain, vec![])
    }

    fn stored_by_parameters(&mut self) -> (String, Vec<Value>) {
        match self.below(2) {
            0 => (
                "INSERT INTO account (bank, code, times, seen) VALUES (?, ?, ?, ?) ON \
                     DUPLICATE KEY UPDATE times = ?, seen = seen + ?, kind = ?"
                    .to_owned(),
                vec![
                    Value::Int(self.bank() as i64),
                    text(self.code()),
                    Value::Int(self.below(50) as i64),
                    Value::Int(1),
                    Value::NULL,
                    Value::Int(1 + self.below(5) as i64),
                    text(self.of(&["x", "ü", "X"])),
                ],
            ),
            _ => (
                "INSERT IGNORE INTO account (bank, code, holder) VALUES (?, ?, ?), (?, ?, ?)"
                    .to_owned(),
                (0..2)
                    .flat_map(|_| {
                        [
                            Value::Int(self.bank() as i64),
                            text(self.code()),
                            text(self.of(&["Ann", "Zoe"])),
                        ]
                    })
                    .collect(),
            ),
        }
    }
}
