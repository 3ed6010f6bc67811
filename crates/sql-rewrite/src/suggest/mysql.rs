//! Rules for a database of MySQL or MariaDB whose tables are in clear.
//!
//! As before PostgreSQL, what forbids a rule is mostly found by trying it: [`build`] is given the
//! server's answers with the types that sealed columns would have, and a column that it complains
//! of is left out.

use std::collections::{BTreeMap, BTreeSet};

use column_value::{EnumType, LogicalType, Pad, SetType, WholeType};
use sql_plan::{Mode, Rules, RulesError, few_values};

use super::{Candidate, Place, Proposal, Suggestion, TableProposal, Wishes, domains, rule};
use crate::dialect::mysql::MySql;
use crate::dialect::mysql::schema::{Physical, build, check_rules, physical_type};
use crate::schema::cells::text;
use crate::schema::{Answer, RelationKind, Schema};
use crate::{SealedForm, Use, explain, uses};

/// What is asked beside [`crate::mysql::schema::ASKED`].
pub const MYSQL_SUGGEST_QUERIES: [&str; 3] = [
    // Foreign keys: a column, that which it refers to, and the name.
    "SELECT table_schema, table_name, column_name, referenced_table_schema, referenced_table_name, \
     referenced_column_name, constraint_name FROM information_schema.key_column_usage WHERE \
     referenced_column_name IS NOT NULL ORDER BY 1, 2, 3, 7",
    // Checks.
    "SELECT '', '', '' FROM DUAL WHERE 0 = 1 /*M! UNION ALL SELECT constraint_schema, table_name, \
     check_clause FROM information_schema.check_constraints */ /*!80016 UNION ALL SELECT \
     t.table_schema, t.table_name, c.check_clause FROM information_schema.table_constraints t JOIN \
     information_schema.check_constraints c ON c.constraint_schema = t.constraint_schema AND \
     c.constraint_name = t.constraint_name WHERE t.constraint_type = 'CHECK' */",
    // Expressions of generated columns, and of partitions.
    "SELECT table_schema, table_name, generation_expression FROM information_schema.columns WHERE \
     generation_expression <> '' UNION ALL SELECT table_schema, table_name, CONCAT_WS(' ', \
     partition_expression, subpartition_expression) FROM information_schema.partitions WHERE \
     partition_name IS NOT NULL",
];

/// Where answers of [`crate::mysql::schema::ASKED`] have columns and triggers.
const COLUMNS: usize = 1;
const TRIGGERS: usize = 4;
/// Where a row of [`COLUMNS`] has the type.
const COLUMN_TYPE: usize = 3;

/// Where a row of [`COLUMNS`] says whether the column has a default.
const COLUMN_HAS_DEFAULT: usize = 5;

/// What a server has told.
#[derive(Clone, Copy, Debug)]
pub struct MySqlServer<'a> {
    /// Answers to [`crate::mysql::schema::ASKED`].
    pub answers: &'a [Answer],
    /// Answers to [`MYSQL_SUGGEST_QUERIES`].
    pub more: &'a [Answer],
    /// How it reads texts.
    pub own: MySql,
    /// The current database.
    pub database: Option<&'a str>,
}

/// Proposes rules. `statements` are texts that programs send. Columns with rules in `present` are
/// not looked at.
pub fn suggest_mysql(
    server: MySqlServer<'_>,
    statements: &[&str],
    present: &Rules,
    wishes: Wishes,
) -> Suggestion {
    let mut proposing = Proposing {
        plain: build(
            &Rules::default(),
            server.answers,
            server.own,
            server.database,
        ),
        server,
        wishes,
        places: Vec::new(),
        foreign_keys: Vec::new(),
        pairs: Vec::new(),
        candidates: BTreeMap::new(),
        left_out: BTreeMap::new(),
        notes: BTreeMap::new(),
    };
    proposing.gather(present);
    proposing.note_keys();
    proposing.settle();
    proposing.read_statements(statements);
    proposing.leave_keys_out();
    proposing.settle();
    proposing.suggestion()
}

/// What the server does with columns, and which it compares with each other.
type Searched = (BTreeMap<Place, BTreeSet<Use>>, Vec<(Place, Place)>);

struct Proposing<'a> {
    server: MySqlServer<'a>,
    plain: Schema,
    wishes: Wishes,
    /// All columns of tables, in their order.
    places: Vec<Place>,
    foreign_keys: Vec<(Place, Place)>,
    /// Columns that statements compare with each other.
    pairs: Vec<(Place, Place)>,
    candidates: BTreeMap<Place, Candidate>,
    left_out: BTreeMap<Place, String>,
    /// What statements do with columns that keep mode `random`.
    notes: BTreeMap<Place, BTreeSet<String>>,
}

/// The rule's type for a column of the server. None: there is none.
fn logical_of(type_name: &str) -> Option<LogicalType> {
    if let Some(own) = EnumType::read(type_name) {
        return Some(LogicalType::Enum(own));
    }
    if let Some(own) = SetType::read(type_name) {
        return Some(LogicalType::Set(own));
    }
    let name = type_name.to_ascii_lowercase();
    let (word, limits, behind) = match name.split_once('(') {
        Some((word, rest)) => {
            let (limits, behind) = rest.split_once(')')?;
            (word, limits, behind.trim())
        }
        None => {
            let (word, behind) = name.split_once(' ').unwrap_or((&name, ""));
            (word, "", behind)
        }
    };
    let numbers = limits.split(',').map(|own| own.trim().parse().ok());
    let numbers: Vec<u32> = numbers.collect::<Option<_>>().unwrap_or_default();
    if !behind.is_empty() {
        let whole = format!("{word} {behind}").parse().ok();
        let is_known = numbers.len() < 2 && (word, numbers.as_slice()) != ("tinyint", &[1]);
        return whole.filter(|own: &LogicalType| is_known && own.is_unsigned());
    }
    let digits = u8::try_from(numbers.first().copied().unwrap_or(0)).ok();
    let logical = match (word, numbers.as_slice()) {
        ("tinyint", [1]) => LogicalType::Whole(WholeType::Flag),
        ("tinyint", _) => LogicalType::Whole(WholeType::Tiny),
        ("bit", [1..=64]) => LogicalType::Bits(digits?),
        ("year", [] | [4]) => LogicalType::Whole(WholeType::Year),
        ("mediumint", _) => LogicalType::Whole(WholeType::Medium),
        ("smallint", _) => LogicalType::SmallInt,
        ("int", _) => LogicalType::Integer,
        ("bigint", _) => LogicalType::BigInt,
        ("decimal", [precision, scale]) => {
            let precision = u16::try_from(*precision).ok()?;
            LogicalType::Numeric(Some((precision, u16::try_from(*scale).ok()?)))
        }
        ("float", []) => LogicalType::Real,
        ("double", []) => LogicalType::Double,
        ("char", [letters]) => LogicalType::Char(*letters),
        ("varchar", [letters]) => LogicalType::Varchar(Some(*letters)),
        ("text" | "longtext", _) => LogicalType::Text,
        ("blob" | "longblob", _) => LogicalType::Bytes,
        ("date", _) => LogicalType::Date,
        ("time", _) => LogicalType::SignedTime(digits?),
        ("timestamp", _) => LogicalType::TimestampTz(Some(digits?)),
        ("datetime", _) => LogicalType::Timestamp(Some(digits?)),
        _ => return None,
    };
    semantics_mysql::name_of_type(logical).map(|_| logical)
}

/// How far values are padded for all to have one size, if the usual step does not do that.
fn pad_of(logical: LogicalType) -> Option<Pad> {
    let pad = Pad::holding(logical.labels_size_max()?)?;
    (pad != Pad::DEFAULT).then_some(pad)
}

fn refers(other: &Place) -> String {
    let (table, column) = other;
    format!("is in a foreign key with {table}.{column}, which cannot be protected")
}

/// Whether an expression may have a column.
fn mentions(expression: &str, column: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
    let mut words = expression.split(|letter| !is_word(letter));
    words.any(|word| word.eq_ignore_ascii_case(column))
}

impl Proposing<'_> {
    fn gather(&mut self, present: &Rules) {
        let mut tables: Vec<_> = self.plain.tables.values().collect();
        tables.sort_unstable_by_key(|table| (&table.schema, &table.name));
        let declared = &self.plain.catalogue.finisher.declared_columns;
        for table in tables {
            if table.kind != RelationKind::Table || table.columns.is_empty() {
                continue;
            }
            let title = format!("{}.{}", table.schema, table.name);
            for column in &table.columns {
                let place = (title.clone(), column.name.clone());
                self.places.push(place.clone());
                let declared = declared.get(&(table.oid, column.number));
                let type_name = declared.map_or("", |own| own.type_name.as_str());
                let is_numbered = declared.is_some_and(|own| own.tail.contains("AUTO_INCREMENT"));
                let default = declared.and_then(|own| own.default.clone());
                let is_ruled = present.column(&table.schema, &table.name, &column.name);
                let reason = if is_ruled.is_some() {
                    "has a rule in the configuration".to_owned()
                } else if is_numbered {
                    "numbers rows (AUTO_INCREMENT)".to_owned()
                } else if column.is_generated && default.is_none() {
                    "the server computes it from other columns".to_owned()
                } else if column.has_default && default.is_none() {
                    "its default is computed by the server, or it has ON UPDATE".to_owned()
                } else if let Some(reason) = self.seen_by(&table.schema, &table.name, &column.name)
                {
                    reason
                } else if let Some(logical) = logical_of(type_name) {
                    let mut rule = rule(logical, default, BTreeMap::new());
                    rule.pad = pad_of(logical);
                    let collation = declared.and_then(|own| own.collation.as_deref());
                    let is_binary = collation.is_some_and(|own| own.ends_with("_bin"));
                    rule.collation = (logical.is_text() && is_binary).then(|| "binary".to_owned());
                    let candidate = Candidate {
                        rule,
                        needs: BTreeSet::new(),
                        is_key: false,
                    };
                    self.candidates.insert(place, candidate);
                    continue;
                } else {
                    format!("has the type {type_name}, for which there are no rules before MySQL")
                };
                self.left_out.insert(place, reason);
            }
        }
    }

    /// What in the server would compute from ciphertext.
    fn seen_by(&self, database: &str, table: &str, column: &str) -> Option<String> {
        let is_own = |row: &&Vec<Option<String>>| {
            text(row, 0).eq_ignore_ascii_case(database)
                && text(row, 1).eq_ignore_ascii_case(table)
                && mentions(&text(row, 2), column)
        };
        let sources = [
            (self.server.answers.get(TRIGGERS), "a trigger"),
            (self.server.more.get(1), "a check"),
            (
                self.server.more.get(2),
                "a generated column or the partitioning",
            ),
        ];
        let mut sources = sources.into_iter();
        sources.find_map(|(answer, what)| {
            let found = answer?.iter().find(is_own);
            found.map(|_| format!("{what} of the table would see ciphertext"))
        })
    }

    /// Notes what needs equality: keys and foreign keys.
    fn note_keys(&mut self) {
        let mut needs: Vec<(Place, Result<String, String>, bool)> = Vec::new();
        for table in self.plain.tables.values() {
            let keys = self.plain.catalogue.finisher.declared_keys.get(&table.oid);
            for key in keys.into_iter().flatten() {
                let what = match (key.is_primary, key.is_unique) {
                    (true, _) => "primary key".to_owned(),
                    (false, true) => format!("unique key {}", key.name),
                    (false, false) => format!("key {}", key.name),
                };
                for (index, letters) in &key.columns {
                    let place = (
                        format!("{}.{}", table.schema, table.name),
                        table.columns[*index].name.clone(),
                    );
                    let need = match letters {
                        None => Ok(what.clone()),
                        Some(_) => Err(format!("{what} has only a part of it")),
                    };
                    needs.push((place, need, key.is_primary));
                }
            }
        }
        for row in self.server.more.first().into_iter().flatten() {
            let place = |at: usize| {
                let name =
                    |index| crate::dialect::mysql::names::table(&text(row, index), self.server.own);
                let table = format!("{}.{}", name(at), name(at + 1));
                (table, text(row, at + 2).to_ascii_lowercase())
            };
            let need = format!("foreign key {}", text(row, 6));
            for at in [0, 3] {
                needs.push((place(at), Ok(need.clone()), true));
            }
            self.foreign_keys.push((place(0), place(3)));
        }
        for (place, need, is_key) in needs {
            let Some(candidate) = self.candidates.get_mut(&place) else {
                continue;
            };
            candidate.is_key |= is_key;
            let logical = candidate.rule.logical;
            let has_form = !logical.is_text() || candidate.rule.collation.is_some();
            match need {
                Ok(need) if has_form => {
                    candidate.needs.insert(need);
                }
                Ok(need) => self.leave_out(
                    place,
                    format!(
                        "is a text in {need}, which compares letters by a collation: write a rule \
                         with mode = \"equality\" and collation = \"binary\" if only equal bytes \
                         are to be equal"
                    ),
                ),
                Err(reason) => self.leave_out(place, reason),
            }
        }
        for (own, other) in self.foreign_keys.clone() {
            let is_candidate = |place| self.candidates.contains_key(place);
            match (is_candidate(&own), is_candidate(&other)) {
                (true, false) => self.leave_out(own, refers(&other)),
                (false, true) => self.leave_out(other, refers(&own)),
                (true, true) | (false, false) => {}
            }
        }
    }

    /// Gives each candidate its mode and domain, and leaves out those that do not fit the server or
    /// each other.
    fn settle(&mut self) {
        loop {
            self.decide_modes();
            let connected = self.foreign_keys.iter().chain(&self.pairs);
            domains::assign(connected, &mut self.candidates);
            let rules = self.rules();
            let count = self.candidates.len();
            if let Err(errors) = rules.check() {
                for error in errors {
                    if let RulesError::Column {
                        table,
                        column,
                        problem,
                    } = error
                    {
                        self.leave_out((table, column), problem);
                    }
                }
            } else {
                let mut errors = check_rules(&rules);
                if errors.is_empty() {
                    errors = self.schema(&rules).unfit;
                }
                for error in errors {
                    let table = format!("{}.{}", error.schema, error.table);
                    self.leave_out((table, error.column), error.problem);
                }
            }
            if self.candidates.len() == count {
                return;
            }
        }
    }

    fn decide_modes(&mut self) {
        for candidate in self.candidates.values_mut() {
            let rule = &mut candidate.rule;
            rule.domain = None;
            if candidate.needs.is_empty() {
                continue;
            }
            if rule.mode == Mode::Random {
                rule.mode = Mode::Equality;
            }
            rule.accept_leakage = self.wishes.all && few_values(rule.logical, rule.bits).is_some();
        }
    }

    fn leave_out(&mut self, place: Place, reason: String) {
        if self.candidates.remove(&place).is_none() {
            return;
        }
        // The other side of a foreign key would be in clear.
        let others = self
            .foreign_keys
            .iter()
            .filter_map(|(own, other)| match () {
                () if *own == place => Some(other.clone()),
                () if *other == place => Some(own.clone()),
                () => None,
            });
        let others: Vec<Place> = others.collect();
        for other in others {
            self.leave_out(other, refers(&place));
        }
        self.left_out.insert(place, reason);
    }

    fn leave_keys_out(&mut self) {
        if self.wishes.all {
            return;
        }
        let numbers = self.candidates.iter();
        let numbers: Vec<Place> = numbers
            .filter(|(_, own)| own.is_key && own.rule.logical.is_whole())
            .map(|(place, _)| place.clone())
            .collect();
        for place in numbers {
            self.candidates.remove(&place);
            let reason = "is a key that is only a number (--all proposes it too)".to_owned();
            self.left_out.insert(place, reason);
        }
    }

    fn rules(&self) -> Rules {
        let mut rules = Rules::default();
        for ((table, column), candidate) in &self.candidates {
            let columns = rules.tables.entry(table.clone()).or_default();
            columns.insert(column.clone(), candidate.rule.clone());
        }
        rules
    }

    /// The schema of a server whose columns with rules are sealed.
    fn schema(&self, rules: &Rules) -> Schema {
        let mut answers = self.server.answers.to_vec();
        for row in answers.get_mut(COLUMNS).into_iter().flatten() {
            let name =
                |index| crate::dialect::mysql::names::table(&text(row, index), self.server.own);
            let column = text(row, 2).to_ascii_lowercase();
            let Some(rule) = rules.column(&name(0), &name(1), &column) else {
                continue;
            };
            let layout = SealedForm::of(rule).layout(rule.logical, rule.mode);
            let stored = match physical_type(layout) {
                Physical::Varbinary(width) => format!("varbinary({width})"),
                Physical::MediumBlob => "longblob".to_owned(),
            };
            row[COLUMN_TYPE] = Some(stored);
            // The default is the rule's then.
            row[COLUMN_HAS_DEFAULT] = Some("0".to_owned());
        }
        build(rules, &answers, self.server.own, self.server.database)
    }

    /// Notes what needs equality or order for the statements.
    fn read_statements(&mut self, statements: &[&str]) {
        let (searched, pairs) = self.uses(statements, Mode::Equality);
        let mut compared = Vec::new();
        for (place, uses) in searched {
            for (what, need) in [
                (Use::Matched, "compared by ="),
                (Use::Paired, "compared with a column"),
            ] {
                if uses.contains(&what) {
                    compared.push((place.clone(), need));
                }
            }
        }
        for (place, need) in compared {
            let Some(candidate) = self.candidates.get_mut(&place) else {
                continue;
            };
            let rule = &candidate.rule;
            let is_few = few_values(rule.logical, rule.bits).is_some();
            let is_text = rule.logical.is_text() && rule.collation.is_none();
            match is_text || rule.logical == LogicalType::Double {
                false if is_few && candidate.needs.is_empty() => {}
                false => {
                    candidate.needs.insert(need.to_owned());
                }
                true => {
                    let notes = self.notes.entry(place).or_default();
                    notes.insert(format!("{need}, which needs a finisher, or another rule"));
                }
            }
        }
        self.pairs = pairs;
        if !self.wishes.order {
            return;
        }
        for (place, uses) in self.uses(statements, Mode::Order).0 {
            let mut pairs = self.pairs.iter();
            let is_paired = pairs.any(|pair| pair.0 == place || pair.1 == place);
            let is_bounded = uses.contains(&Use::Bounded) || uses.contains(&Use::Sorted);
            if let Some(candidate) = self.candidates.get_mut(&place)
                && is_bounded
                && !candidate.is_key
                && !is_paired
            {
                candidate.rule.mode = Mode::Order;
                candidate.needs.insert("bounds or sorting".to_owned());
            }
        }
    }

    /// What the server does with columns of this mode, if types allow it, and which it compares
    /// with each other.
    fn uses(&self, statements: &[&str], mode: Mode) -> Searched {
        let mut rules = self.rules();
        for columns in rules.tables.values_mut() {
            for rule in columns.values_mut() {
                let kept = rule.clone();
                rule.mode = mode;
                rule.accept_leakage = true;
                rule.domain = Some(super::searched::kind(rule.logical, mode));
                if rule.logical.is_text() {
                    rule.collation = Some("binary".to_owned());
                }
                let alone = Rules {
                    tables: BTreeMap::from([(
                        "d.t".to_owned(),
                        BTreeMap::from([("c".to_owned(), rule.clone())]),
                    )]),
                    ..Rules::default()
                };
                if alone.check().is_err() || !check_rules(&alone).is_empty() {
                    *rule = kept;
                    rule.domain = None;
                }
            }
        }
        let mut schema = self.schema(&rules);
        schema.catalogue.finisher.is_there = true;
        let mut found: BTreeMap<Place, BTreeSet<Use>> = BTreeMap::new();
        let mut pairs = Vec::new();
        let parts = statements
            .iter()
            .flat_map(|text| explain::parts(text, &schema));
        for part in parts {
            for planned in crate::plan(part, &schema).into_iter().flatten() {
                let mut paired = Vec::new();
                for (id, what) in uses::of_plan(&planned.plan) {
                    let column = schema.column(id);
                    let table = format!("{}.{}", column.schema, column.table);
                    let place = (table, column.column.clone());
                    if what == Use::Paired {
                        paired.push(place.clone());
                    }
                    found.entry(place).or_default().insert(what);
                }
                // Of more columns the plan does not say which belong together.
                if let [one, other] = paired.as_slice() {
                    pairs.push((other.clone(), one.clone()));
                }
            }
        }
        (found, pairs)
    }

    fn suggestion(self) -> Suggestion {
        let schema = self.schema(&self.rules());
        let views = schema.tables.values().filter(|table| table.opaque);
        let mut opaque_views: Vec<String> = views
            .filter(|table| table.kind == RelationKind::View)
            .map(|table| format!("{}.{}", table.schema, table.name))
            .collect();
        opaque_views.sort_unstable();
        let mut tables: Vec<TableProposal> = Vec::new();
        for place in &self.places {
            let proposal = match (self.candidates.get(place), self.left_out.get(place)) {
                (Some(own), _) => {
                    let notes = self.notes.get(place).into_iter().flatten();
                    let why = own.needs.iter().chain(notes).cloned();
                    Proposal::Rule(own.rule.clone(), why.collect())
                }
                (None, Some(reason)) => Proposal::LeftOut(reason.clone()),
                (None, None) => continue,
            };
            let column = (place.1.clone(), proposal);
            match tables.last_mut().filter(|last| last.table == place.0) {
                Some(last) => last.columns.push(column),
                None => tables.push(TableProposal {
                    table: place.0.clone(),
                    columns: vec![column],
                }),
            }
        }
        Suggestion {
            tables,
            opaque_views,
        }
    }
}

#[cfg(test)]
mod tests;
