//! Random queries that the finisher answers, beside a plain twin.

use super::check_all;
use crate::mysql::columns::lab::Lab;

/// Numbers that follow from a seed.
struct Chance(u64);

impl Chance {
    fn one_of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        all[(self.0 % all.len() as u64) as usize]
    }
}

/// Compares the answers to them.
pub fn agree(lab: &mut Lab) {
    let values = [
        "name",
        "number",
        "small",
        "born",
        "paid",
        "ratio",
        "seen",
        "note",
        "code",
        "city",
        "id",
        "big",
        "UPPER(name)",
        "paid * small",
        "DATE(seen)",
        "'kanari'",
        "8",
        "77.7",
        "NULL",
        "'1980-02-29'",
        "LENGTH(note)",
        "IFNULL(number, id)",
    ];
    let operators = ["=", "<>", "<", ">=", "<=>", "LIKE", "NOT LIKE"];
    let mut chance = Chance(0x5eed);
    let mut texts = Vec::new();
    for _ in 0..150 {
        let comparison = |chance: &mut Chance| {
            let (one, operator) = (chance.one_of(&values), chance.one_of(&operators));
            format!("{one} {operator} {}", chance.one_of(&values))
        };
        let (first, second) = (comparison(&mut chance), comparison(&mut chance));
        let joined = chance.one_of(&["AND", "OR", "XOR", "AND NOT"]);
        let (shown, sorted) = (chance.one_of(&values), chance.one_of(&values));
        let text = match chance.one_of(&["rows", "groups", "counts"]) {
            "rows" => format!(
                "SELECT id, {shown} AS x FROM person WHERE {first} {joined} {second} ORDER BY \
                 {sorted}, id"
            ),
            "groups" => format!(
                "SELECT {shown} AS x, COUNT(*), MIN(id) FROM person WHERE {first} GROUP BY \
                 {shown}, {sorted} ORDER BY 3"
            ),
            _ => format!(
                "SELECT COUNT({shown}), MAX({sorted}) FROM person WHERE {first} {joined} \
                          {second}"
            ),
        };
        texts.push(text);
    }
    check_all(lab, texts.iter().map(String::as_str));
}
