//! The condition of a check constraint as the catalogue stores it (`pg_constraint.conbin`).
//!
//! The server could print the condition, but locks the table for that, and would wait for every
//! transaction that has changed it. The stored tree can be read without a lock. Only the fields
//! that say what a node computes are read; the others depend on the version. A condition that is
//! not understood is no guard.

/// Numbers of the catalogue, which are the same in all versions: `pg_operator.dat`, `pg_proc.dat`
/// and `pg_type.dat` of PostgreSQL.
const OPERATORS: [(&str, &str); 4] = [("1960", ">="), ("1957", "<"), ("525", ">="), ("1956", "<>")];
const FUNCTIONS: [(&str, &str); 3] = [
    ("2085", "substr"),
    ("720", "octet_length"),
    ("2011", "byteacat"),
];
const BYTEA: &str = "17";
const INT4: &str = "23";

/// Levels of a guard, with some to spare.
const DEPTH_MAX: usize = 16;

/// The conditions of a tree that is one, or joins them by AND, with `$1` for the first column of
/// the table; None: it has what no guard has.
pub(crate) fn conditions(text: &str) -> Option<Vec<String>> {
    let mut words = Words { rest: text };
    let Item::Node(node) = words.item(DEPTH_MAX)? else {
        return None;
    };
    let is_whole = words.next().is_none();
    if !is_whole {
        return None;
    }
    match node.name == "BOOLEXPR" && node.word("boolop")? == "and" {
        true => node.arguments(),
        false => Some(vec![node.text()?]),
    }
}

/// A part of a tree.
enum Item<'a> {
    Node(Node<'a>),
    List(Vec<Item<'a>>),
    Word(&'a str),
}

struct Node<'a> {
    name: &'a str,
    /// What follows the name of each field.
    fields: Vec<(&'a str, Vec<Item<'a>>)>,
}

/// Words of a tree: parentheses are some.
struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let text = self.rest.trim_start();
        let first = text.chars().next()?;
        let end = match first {
            '{' | '}' | '(' | ')' => 1,
            _ => text
                .find([' ', '\n', '{', '}', '(', ')'])
                .unwrap_or(text.len()),
        };
        let (word, rest) = text.split_at(end);
        self.rest = rest;
        Some(word)
    }

    fn item(&mut self, depth: usize) -> Option<Item<'a>> {
        let word = self.next()?;
        self.item_from(word, depth)
    }

    fn item_from(&mut self, word: &'a str, depth: usize) -> Option<Item<'a>> {
        let depth = depth.checked_sub(1)?;
        match word {
            "{" => {
                let name = self.next()?;
                let mut fields: Vec<(&str, Vec<Item>)> = Vec::new();
                loop {
                    match self.next()? {
                        "}" => return Some(Item::Node(Node { name, fields })),
                        word => match word.strip_prefix(':') {
                            Some(field) => fields.push((field, Vec::new())),
                            None => {
                                let item = self.item_from(word, depth)?;
                                fields.last_mut()?.1.push(item);
                            }
                        },
                    }
                }
            }
            "(" => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        ")" => return Some(Item::List(items)),
                        word => items.push(self.item_from(word, depth)?),
                    }
                }
            }
            "}" | ")" => None,
            // Of names with such letters no guard has one.
            word if word.contains('\\') => None,
            word => Some(Item::Word(word)),
        }
    }
}

impl Node<'_> {
    fn field(&self, name: &str) -> Option<&[Item<'_>]> {
        let field = self.fields.iter().find(|(own, _)| *own == name);
        field.map(|(_, items)| items.as_slice())
    }

    fn word(&self, name: &str) -> Option<&str> {
        match self.field(name)? {
            [Item::Word(word)] => Some(word),
            _ => None,
        }
    }

    /// The arguments as texts.
    fn arguments(&self) -> Option<Vec<String>> {
        let [Item::List(items)] = self.field("args")? else {
            return None;
        };
        let text = |item: &Item| match item {
            Item::Node(node) => node.text(),
            _ => None,
        };
        items.iter().map(text).collect()
    }

    fn text(&self) -> Option<String> {
        let named = |names: &[(&str, &'static str)], field: &str| {
            let number = self.word(field)?;
            let found = names.iter().find(|(own, _)| *own == number);
            found.map(|(_, name)| *name)
        };
        match self.name {
            "OPEXPR" => match self.arguments()?.as_slice() {
                [left, right] => Some(format!("{left} {} {right}", named(&OPERATORS, "opno")?)),
                _ => None,
            },
            "MINMAXEXPR" => {
                // `MinMaxOp` of primnodes.h.
                let name = named(&[("0", "GREATEST"), ("1", "LEAST")], "op")?;
                Some(format!("{name}({})", self.arguments()?.join(", ")))
            }
            "FUNCEXPR" => {
                let name = named(&FUNCTIONS, "funcid")?;
                Some(format!("{name}({})", self.arguments()?.join(", ")))
            }
            "VAR" => {
                let is_own = self.word("varno")? == "1" && self.word("varlevelsup")? == "0";
                is_own.then(|| format!("${}", self.word("varattno").unwrap_or("0")))
            }
            "CONST" => self.constant(),
            "NULLTEST" => {
                // `NullTestType` of primnodes.h.
                let test = named(&[("0", "IS NULL"), ("1", "IS NOT NULL")], "nulltesttype")?;
                match self.field("arg")? {
                    [Item::Node(own)] => Some(format!("{} {test}", own.text()?)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn constant(&self) -> Option<String> {
        let [Item::Word(_), Item::Word("["), bytes @ .., Item::Word("]")] =
            self.field("constvalue")?
        else {
            return None;
        };
        let byte = |item: &Item| match item {
            Item::Word(word) => word.parse::<i8>().ok().map(|byte| byte as u8),
            _ => None,
        };
        let bytes: Vec<u8> = bytes.iter().map(byte).collect::<Option<_>>()?;
        match self.word("consttype")? {
            // Behind the four bytes of its length.
            BYTEA => {
                let digits = bytes.get(4..)?.iter().map(|byte| format!("{byte:02x}"));
                Some(format!("x{}", digits.collect::<String>()))
            }
            // In the server's own order of bytes; those of guards are small.
            INT4 => {
                let bytes: [u8; 8] = bytes.try_into().ok()?;
                let number = u64::from_le_bytes(bytes).min(u64::from_be_bytes(bytes));
                Some(number.to_string())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// `"$1" >= '\x90' AND "$1" < '\x91'` as PostgreSQL 15 stores it.
    pub(crate) const EQUALITY: &str = "{BOOLEXPR :boolop and :args ({OPEXPR :opno 1960 :opfuncid \
        1952 :opresulttype 16 :opretset false :opcollid 0 :inputcollid 0 :args ({VAR :varno 1 \
        :varattno 1 :vartype 17 :vartypmod -1 :varcollid 0 :varlevelsup 0 :varnosyn 1 \
        :varattnosyn 1 :location 67} {CONST :consttype 17 :consttypmod -1 :constcollid 0 :constlen \
        -1 :constbyval false :constisnull false :location 97 :constvalue 5 [ 20 0 0 0 -112 ]}) \
        :location 73} {OPEXPR :opno 1957 :opfuncid 1949 :opresulttype 16 :opretset false :opcollid \
        0 :inputcollid 0 :args ({VAR :varno 1 :varattno 1 :vartype 17 :vartypmod -1 :varcollid 0 \
        :varlevelsup 0 :varnosyn 1 :varattnosyn 1 :location 139} {CONST :consttype 17 :consttypmod \
        -1 :constcollid 0 :constlen -1 :constbyval false :constisnull false :location 168 \
        :constvalue 5 [ 20 0 0 0 -111 ]}) :location 145}) :location 126}";

    #[test]
    fn the_condition_of_a_stored_tree_is_read() {
        let read = conditions(EQUALITY).expect("a guard");
        assert_eq!(read, ["$1 >= x90", "$1 < x91"]);
        let number = "{BOOLEXPR :boolop and :args ({OPEXPR :opno 525 :args ({MINMAXEXPR :op 1 \
                      :args ({FUNCEXPR :funcid 720 :args ({VAR :varno 1 :varattno 3 :varlevelsup \
                      0})} {FUNCEXPR :funcid 720 :args ({VAR :varno 1 :varattno 2 :varlevelsup \
                      0})})} {CONST :consttype 23 :constvalue 4 [ 46 0 0 0 0 0 0 0 ]})})}";
        let expected = ["LEAST(octet_length($3), octet_length($2)) >= 46"];
        assert_eq!(conditions(number).expect("a guard"), expected);
        let other_order = number.replace("46 0 0 0 0 0 0 0", "0 0 0 0 0 0 0 46");
        assert_eq!(conditions(&other_order).expect("a guard"), expected);
    }

    #[test]
    fn other_conditions_are_no_guard() {
        for (part, other) in [
            (":boolop and", ":boolop or"),
            ("BOOLEXPR", "OTHER"),
            (":opno 1957", ":opno 1958"),
            (":varlevelsup 0", ":varlevelsup 1"),
            (":varno 1", ":varno 2"),
            ("{CONST", "{PARAM"),
            (":consttype 17", ":consttype 25"),
            (":constvalue 5 [ 20 0 0 0 -111 ]", ":constvalue <>"),
            (":location 126}", ":location 126} {}"),
            (":location 126}", ""),
            ("VAR :varno", "VAR (((((((((((((((((((((((( :varno"),
            (":location 97", ":location a\\ b"),
        ] {
            let text = EQUALITY.replace(part, other);
            assert_ne!(text, EQUALITY);
            assert_eq!(conditions(&text), None, "{part} {other}");
        }
    }
}
