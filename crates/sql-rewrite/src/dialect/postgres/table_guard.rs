//! The guard of a table: the check constraint by which the server itself refuses plaintext in
//! protected columns, whoever writes it.
//!
//! Each sealed value begins with a byte that names its mode and the version of the keys
//! (`docs/column-format.md`, section 1). A guard checks it in the columns of one table. It is *one*
//! constraint with few comparisons: PostgreSQL reads and plans the checks of a table for each
//! statement, and that is their cost.
//!
//! Invariants:
//! 1. Text and name depend on the columns alone, and not on their order in the table: partitions
//!    and children may have another order.
//! 2. NULL passes: `LEAST` and `GREATEST` skip it, and a check accepts an unknown result. In
//!    columns whose values are held by another one, nothing else passes but the empty value.
//! 3. Nothing in the text depends on the search path or on another setting. `LEAST` and `GREATEST`
//!    are syntax, and compare as the type's default index does.
//! 4. No value that the codec seals is refused.
//! 5. A value with the mark of a check ([`super::table_checks`]) is refused, whether the check is
//!    there or not. The server looks at checks in the order of their names: the guard of a table
//!    whose rules have checks is the last, so that an error names the check.
//! 6. The value of a group has at least as many members as the row says by an empty value in the
//!    column of one of them. So a proxy that does not know a member cannot seal the others anew
//!    where the member may have a value. Members are compared that were the last ones when their
//!    guard was made: a value has as many as the table had at that time, or at a later one.

use std::collections::{BTreeMap, BTreeSet};

use column_codec::{Layout, Mode};
use column_value::LogicalType;
use sha2::{Digest, Sha256};

pub(crate) mod tree;

/// What the name of a guard begins with.
const PREFIX: &str = "strongroom_guard";
/// The same where rules have checks. Names of these begin with a smaller character.
const LAST_PREFIX: &str = "~strongroom_guard";

/// Whether a constraint has the name of a guard.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(PREFIX) || name.starts_with(LAST_PREFIX)
}

/// Whether the server looks at a check of that name before such a guard, in every encoding
/// (`CheckConstraintCmp` compares bytes).
pub(crate) fn is_before_last(name: &str) -> bool {
    name.bytes().next().is_some_and(|byte| byte < b'~')
}

/// Whether the server looks at it after all checks of rules.
pub(crate) fn is_last(name: &str) -> bool {
    name.starts_with(LAST_PREFIX)
}

/// Texts of more characters may lie outside of their row: of them the server is to read the
/// beginning only. A row gets a page of its own for them at 2000 bytes and more (`TOAST`).
const SHORT_LENGTH_MAX: u32 = 400;

/// A column as a guard sees it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GuardedColumn {
    name: String,
    /// In the catalogue.
    number: i16,
    /// The first byte of its values.
    mode: u8,
    /// A whole value may be too long to be read for one byte of it.
    is_long: bool,
    /// The least size that a value has, where it is asked for: what clients write there is bytes,
    /// which may well begin as sealed values do. No text in UTF-8 does; and each length that is
    /// asked for costs.
    size_min: Option<u64>,
    /// The rules of its table have checks.
    is_checked: bool,
    /// Its values are sealed with others and lie in another column.
    held: Option<Held>,
}

/// Where the values of a column lie that are sealed with others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    /// The name of the column that has them.
    holder: String,
    /// The number of that one in the catalogue.
    number: i16,
    /// Which member it is, from 1.
    place: u8,
}

impl GuardedColumn {
    pub(crate) fn new(name: &str, number: i16, layout: Layout) -> Self {
        let length = match layout.logical {
            LogicalType::Text | LogicalType::Bytes | LogicalType::Json => Some(u32::MAX),
            LogicalType::Opaque(opaque) if opaque.has_length() => Some(u32::MAX),
            LogicalType::Varchar(length) => Some(length.unwrap_or(u32::MAX)),
            LogicalType::Char(length) => Some(length),
            _ => None,
        };
        Self {
            name: name.to_owned(),
            number,
            mode: layout.mode.header(),
            is_long: length.is_some_and(|length| length > SHORT_LENGTH_MAX),
            size_min: (layout.logical == LogicalType::Bytes).then(|| layout.size_min()),
            is_checked: false,
            held: None,
        }
    }

    /// The column has the values of a group, which have one byte more beside their content.
    pub(crate) fn holding_others(self) -> Self {
        Self {
            is_long: true,
            size_min: self.size_min.map(|size| size + 1),
            ..self
        }
    }

    /// The values of the column are in another one, of that name and number. Among those that are
    /// sealed together it has that place, from 1.
    pub(crate) fn held_by(self, (holder, number): (&str, i16), place: u8) -> Self {
        let held = Held {
            holder: holder.to_owned(),
            number,
            place,
        };
        Self {
            held: Some(held),
            ..self
        }
    }

    pub(crate) fn with_checks(self, is_checked: bool) -> Self {
        Self { is_checked, ..self }
    }
}

/// The check of some columns of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableGuard {
    /// By their names.
    columns: Vec<GuardedColumn>,
}

/// Who reads the text.
#[derive(Clone, Copy, PartialEq)]
enum Reader {
    /// The server, in a statement.
    Server,
    /// The proxy, as [`tree::conditions`] has it from the catalogue.
    Proxy,
}

impl TableGuard {
    /// None: there is nothing to guard.
    pub(crate) fn new(mut columns: Vec<GuardedColumn>) -> Option<Self> {
        columns.sort_unstable();
        columns.dedup();
        (!columns.is_empty()).then_some(Self { columns })
    }

    /// The name of the constraint. Each set of columns has its own, so that a table may have
    /// several guards, and a child those of all its parents.
    pub(crate) fn name(&self) -> String {
        match self.columns.iter().any(|own| own.is_checked) {
            true => self.name_after(LAST_PREFIX),
            false => self.name_after(PREFIX),
        }
    }

    /// Whether it has that name, now or before its rules had checks or lost them.
    pub(crate) fn may_have(&self, name: &str) -> bool {
        [PREFIX, LAST_PREFIX]
            .iter()
            .any(|own| self.name_after(own) == name)
    }

    fn name_after(&self, prefix: &str) -> String {
        let hash = Sha256::digest(self.condition());
        let begin = hash[..4].iter().map(|byte| format!("{byte:02x}"));
        format!("{prefix}_{}", begin.collect::<String>())
    }

    /// The condition as it is sent.
    pub(crate) fn condition(&self) -> String {
        self.conditions(Reader::Server).join(" AND ")
    }

    /// Whether a check is this guard, by what the catalogue stores of it.
    pub(crate) fn is(&self, stored: &str) -> bool {
        tree::conditions(stored).is_some_and(|own| own == self.conditions(Reader::Proxy))
    }

    fn conditions(&self, reader: Reader) -> Vec<String> {
        let mut conditions = Vec::new();
        for mode in Mode::ALL.map(Mode::header) {
            let columns = self.columns.iter().filter(|own| own.held.is_none());
            let own = || columns.clone().filter(move |own| own.mode == mode);
            let short = own().filter(|own| !own.is_long);
            let short: Vec<String> = short.map(|own| reader.name(own)).collect();
            conditions.extend(reader.header(mode, &short));
            let long = own().filter(|own| own.is_long);
            let long = long.map(|own| reader.beginning(own));
            conditions.extend(reader.header(mode, &long.collect::<Vec<_>>()));
            let sizes: BTreeSet<u64> = own().filter_map(|own| own.size_min).collect();
            for size_min in sizes {
                let asked = own().filter(|own| own.size_min == Some(size_min));
                let asked: Vec<String> = asked.map(|own| reader.size(own)).collect();
                let least = among("LEAST", &asked);
                conditions.push(reader.compared(&least, ">=", &size_min.to_string()));
            }
        }
        let empty = self.columns.iter().filter(|own| own.held.is_some());
        let empty: Vec<String> = empty.map(|own| reader.name(own)).collect();
        if !empty.is_empty() {
            let greatest = among("GREATEST", &empty);
            conditions.push(reader.compared(&greatest, "<", &reader.byte(0)));
        }
        conditions.extend(
            self.last_ones()
                .map(|(own, held)| reader.members(own, held)),
        );
        conditions
    }

    /// The last member of each group.
    fn last_ones(&self) -> impl Iterator<Item = (&GuardedColumn, &Held)> {
        let mut last: BTreeMap<&str, (&GuardedColumn, &Held)> = BTreeMap::new();
        for own in &self.columns {
            if let Some(held) = &own.held {
                let known = last.entry(&held.holder).or_insert((own, held));
                if known.1.place < held.place {
                    *known = (own, held);
                }
            }
        }
        last.into_values()
    }
}

/// Members of groups that a check names as a guard does: the numbers of the column that holds the
/// group and of the member's own.
pub(crate) fn members(stored: &str) -> Vec<(i16, i16)> {
    let read = |condition: &String| {
        let rest = condition.strip_prefix("byteacat(substr($")?;
        let (holder, rest) = rest.split_once(", 2, 1), $")?;
        let (member, _) = rest.split_once(") >= x")?;
        Some((holder.parse().ok()?, member.parse().ok()?))
    };
    let conditions = tree::conditions(stored).unwrap_or_default();
    conditions.iter().filter_map(read).collect()
}

/// The least or greatest of some values, which may be one.
fn among(which: &str, values: &[String]) -> String {
    match values {
        [value] => value.clone(),
        values => format!("{which}({})", values.join(", ")),
    }
}

impl Reader {
    fn name(self, column: &GuardedColumn) -> String {
        self.named(&column.name, column.number)
    }

    fn named(self, name: &str, number: i16) -> String {
        match self {
            Self::Server => format!("\"{}\"", name.replace('"', "\"\"")),
            Self::Proxy => format!("${number}"),
        }
    }

    /// That a value has at least as many members as the place of one whose column is empty. Nothing
    /// joined to NULL is NULL, and passes.
    fn members(self, column: &GuardedColumn, held: &Held) -> String {
        let holder = self.named(&held.holder, held.number);
        let count = format!("{}({holder}, 2, 1)", self.call("substr"));
        let joined = format!("{}({count}, {})", self.call("byteacat"), self.name(column));
        self.compared(&joined, ">=", &self.byte(held.place))
    }

    /// The parser does not take `pg_catalog.substr` for a call, unless the name is in quotes.
    fn call(self, function: &str) -> String {
        match self {
            Self::Server => format!("pg_catalog.\"{function}\""),
            Self::Proxy => function.to_owned(),
        }
    }

    fn beginning(self, column: &GuardedColumn) -> String {
        format!("{}({}, 1, 1)", self.call("substr"), self.name(column))
    }

    fn size(self, column: &GuardedColumn) -> String {
        format!("{}({})", self.call("octet_length"), self.name(column))
    }

    fn compared(self, left: &str, operator: &str, right: &str) -> String {
        match self {
            Self::Server => format!("{left} OPERATOR(pg_catalog.{operator}) {right}"),
            Self::Proxy => format!("{left} {operator} {right}"),
        }
    }

    /// One byte. The escape is one whatever `standard_conforming_strings` says.
    fn byte(self, byte: u8) -> String {
        match self {
            Self::Server => format!("E'\\\\x{byte:02x}'::pg_catalog.bytea"),
            Self::Proxy => format!("x{byte:02x}"),
        }
    }

    /// That all values begin with the header.
    fn header(self, mode: u8, values: &[String]) -> Vec<String> {
        if values.is_empty() {
            return Vec::new();
        }
        vec![
            self.compared(&among("LEAST", values), ">=", &self.byte(mode)),
            self.compared(&among("GREATEST", values), "<", &self.byte(mode + 1)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use column_codec::{EqualityForm, Pad};

    use super::*;

    fn guard(columns: &[(&str, Mode, &str)]) -> TableGuard {
        let columns = columns
            .iter()
            .zip(1..)
            .map(|((name, mode, logical), number)| {
                let layout = Layout {
                    logical: logical.parse().expect("a type"),
                    mode: *mode,
                    bits: None,
                    pad: Pad::default(),
                    equality: EqualityForm::default(),
                };
                GuardedColumn::new(name, number, layout)
            });
        TableGuard::new(columns.collect()).expect("columns")
    }

    #[test]
    fn a_single_column_is_compared_directly() {
        let own = guard(&[("id", Mode::Equality, "integer")]);
        assert_eq!(
            own.condition(),
            r#""id" OPERATOR(pg_catalog.>=) E'\\x90'::pg_catalog.bytea AND "#.to_owned()
                + r#""id" OPERATOR(pg_catalog.<) E'\\x91'::pg_catalog.bytea"#
        );
        assert!(own.is(tree::tests::EQUALITY));
        assert!(!own.is(&tree::tests::EQUALITY.replace("-112 ]", "-113 ]")));
    }

    #[test]
    fn columns_of_one_mode_share_their_comparisons() {
        let own = guard(&[
            ("b", Mode::Random, "integer"),
            ("note", Mode::Random, "text"),
            ("a", Mode::Random, "varchar(20)"),
            ("picture", Mode::Random, "bytea"),
            ("sign", Mode::Random, "bytea"),
        ]);
        let stored = [
            "LEAST($3, $1) >= x9d",
            "GREATEST($3, $1) < x9e",
            "LEAST(substr($2, 1, 1), substr($4, 1, 1), substr($5, 1, 1)) >= x9d",
            "GREATEST(substr($2, 1, 1), substr($4, 1, 1), substr($5, 1, 1)) < x9e",
            "LEAST(octet_length($4), octet_length($5)) >= 41",
        ];
        assert_eq!(own.conditions(Reader::Proxy), stored);
    }

    #[test]
    fn columns_held_by_another_are_null_or_empty() {
        let layout = |logical: &str| Layout {
            logical: logical.parse().expect("a type"),
            mode: Mode::Random,
            bits: None,
            pad: Pad::default(),
            equality: EqualityForm::default(),
        };
        let column = |name, number| GuardedColumn::new(name, number, layout("text"));
        let bytes = GuardedColumn::new("a", 3, layout("bytea")).holding_others();
        let own = TableGuard::new(vec![bytes]).expect("a column");
        let conditions = own.conditions(Reader::Proxy);
        assert_eq!(conditions[2..], ["octet_length($3) >= 42"]);
        let columns = vec![
            column("b", 2).held_by(("a", 3), 3),
            column("a", 3).holding_others(),
            column("c", 1).held_by(("a", 3), 2),
        ];
        let own = TableGuard::new(columns).expect("columns");
        let stored = [
            "substr($3, 1, 1) >= x9d",
            "substr($3, 1, 1) < x9e",
            "GREATEST($2, $1) < x00",
            "byteacat(substr($3, 2, 1), $2) >= x03",
        ];
        assert_eq!(own.conditions(Reader::Proxy), stored);
    }

    #[test]
    fn guard_names_do_not_depend_on_the_order_of_columns() {
        let (a, b) = (("a", Mode::Order, "date"), ("b", Mode::Random, "text"));
        assert_eq!(guard(&[a, b]).name(), guard(&[b, a]).name());
        assert_ne!(guard(&[a, b]).name(), guard(&[a]).name());
        assert!(guard(&[a]).name().starts_with(PREFIX));
    }
}
