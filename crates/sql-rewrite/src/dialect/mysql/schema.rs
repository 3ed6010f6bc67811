//! The schema of a MySQL or MariaDB server: what is asked of `information_schema`, and what the
//! answers mean.

mod asked;
pub(crate) mod groups;
mod guards;
mod labels;
mod reach;

use std::collections::HashMap;

use column_codec::{Layout, TOKEN_PREFIX_SIZE};
use column_value::LogicalType;
use semantics_mysql::{Fractions, Terms};
use sqlparser::ast::{BinaryLength, DataType};

use super::MySql;
use crate::schema::Answer;
use crate::schema::cells::text;
use crate::{
    Column, ColumnChecks, ColumnId, ColumnRule, DeclaredColumn, DeclaredKey, Dialect, Mode,
    ProtectedColumn, RelationKind, Rules, Schema, SchemaError, SealedForm, Table,
};
pub use asked::ASKED;

/// How a protected column is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Physical {
    /// `VARBINARY` of the widest sealed value.
    Varbinary(u64),
    /// `MEDIUMBLOB`: no `VARBINARY` is wide enough.
    MediumBlob,
}

impl Physical {
    pub(crate) fn data_type(self) -> DataType {
        match self {
            Self::Varbinary(length) => {
                DataType::Varbinary(Some(BinaryLength::IntegerLength { length }))
            }
            Self::MediumBlob => DataType::MediumBlob,
        }
    }

    /// The width of a column that can be part of a key.
    pub(crate) fn width(self) -> Option<u64> {
        match self {
            Self::Varbinary(width @ ..=KEY_SIZE_MAX) => Some(width),
            Self::Varbinary(_) | Self::MediumBlob => None,
        }
    }
}

/// The longest column of a key (InnoDB).
const KEY_SIZE_MAX: u64 = 3072;
/// The widest `VARBINARY` that leaves room for other columns in a row of 65,535 bytes.
const VARBINARY_MAX: u64 = 32 * 1024;

/// What is wrong with a rule of another type.
const UNKNOWN_TYPE: &str = "has a type that is not supported before MySQL yet: those are tinyint, \
                            tinyint(1) (BOOLEAN there), smallint, mediumint, integer and bigint, \
                            also unsigned, year, bit(n) unsigned (BIT(n) there), \
                            numeric(p,s) up to 65 digits, real (FLOAT there), double precision, \
                            char(n), varchar(n), text, enum('a','b'), set('a','b'), bytea (BLOB \
                            there), date, time(n) signed (TIME(n) there), timestamp(n) \
                            (DATETIME(n) there) and timestamptz(n) (TIMESTAMP(n) there)";

/// What is wrong with a table that has an enumeration or a set.
const OTHER_LABELS: &str = "has labels in a table whose default collation may take unlike letters \
                            of ASCII for equal: let that be utf8mb4_general_ci, \
                            utf8mb4_0900_ai_ci or utf8mb4_bin";

/// Whether the proxy sorts a type as these servers do.
fn has_order(logical: LogicalType) -> bool {
    logical.is_whole()
        || matches!(
            logical,
            LogicalType::Date
                | LogicalType::SignedTime(_)
                | LogicalType::Timestamp(_)
                | LogicalType::TimestampTz(_)
                | LogicalType::Numeric(Some((..=18, _)))
        )
}

/// How values are stored, at their widest.
pub(crate) fn physical_type(layout: Layout) -> Physical {
    match layout.size_max() {
        Some(size @ ..=VARBINARY_MAX) => Physical::Varbinary(size),
        _ => Physical::MediumBlob,
    }
}

/// The name of the check with which the server itself refuses plaintext in a table.
pub(super) fn guard_name(table: &str) -> String {
    format!("strongroom_{table}")
}

/// Whether columns of a type are declared in two sizes: `TEXT` and `LONGTEXT`, `BLOB` and
/// `LONGBLOB`. The longer ones are stored in a `LONGBLOB`.
fn may_be_long(logical: LogicalType) -> bool {
    matches!(logical, LogicalType::Text | LogicalType::Bytes)
}

pub(crate) fn type_name(logical: LogicalType) -> String {
    semantics_mysql::name_of_type(logical).unwrap_or_else(|| logical.to_string())
}

impl Schema {
    /// Whether a protected text is found by a token of its collation key.
    pub fn has_tokens(&self) -> bool {
        let mut protected = self.protected.iter();
        protected.any(|column| column.form.tokens.is_some())
    }

    /// What decides about a value that a protected column stores, beside its type.
    pub fn terms(&self, id: ColumnId) -> Terms {
        Terms {
            size_max: match self.is_long(id) {
                true => semantics_mysql::LONG_SIZE_MAX,
                false => semantics_mysql::TEXT_SIZE_MAX,
            },
            fractions: match self.dialect {
                Dialect::MySql(own) if own.rounds_seconds => Fractions::Rounded,
                _ => Fractions::Cut,
            },
            refuses_zero_dates: match self.dialect {
                Dialect::MySql(own) => own.refuses_zero_dates,
                _ => true,
            },
        }
    }

    /// The same for a value that a server of the same product has already judged.
    pub fn terms_of_judged(&self, id: ColumnId) -> Terms {
        Terms {
            refuses_zero_dates: false,
            ..self.terms(id)
        }
    }
}

/// Why the proxy does not keep these rules before MySQL, for each that it does not.
pub fn check_rules(rules: &Rules) -> Vec<SchemaError> {
    let mut errors = Vec::new();
    for (name, columns) in &rules.tables {
        let (database, table) = Rules::split_name(name);
        let is_name = |name: &str| {
            let mut bytes = name.bytes();
            !name.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        for (column, rule) in columns {
            let is_small = is_name(column) && *column == column.to_ascii_lowercase();
            let of_default;
            let problem = if !name.contains('.') {
                "needs the database before the table, as [columns.\"shop.person\".mail]"
            } else if !is_name(database) || !is_name(table) || !is_small {
                "has a name that is not supported before MySQL yet: databases and tables of A-Z, \
                 a-z, 0-9 and _, columns of A-Z, a-z, 0-9 and _, each of which one rule names"
            } else if semantics_mysql::name_of_type(rule.logical).is_none() {
                UNKNOWN_TYPE
            } else if rule.mode == Mode::Order && !has_order(rule.logical) {
                "has mode order, which is not supported for its type before MySQL: use equality \
                 or random"
            } else if rule.mode == Mode::Equality
                && matches!(rule.logical, LogicalType::Real | LogicalType::Double)
            {
                "has mode equality on a floating number, which is not supported before MySQL: use \
                 numeric(p,s), or mode random"
            } else if rule.mode == Mode::Equality
                && rule.logical.is_text()
                && rule.collation.is_none()
            {
                "has mode equality on a text, and the server compares texts by their collation, \
                 for which letters of both cases are equal: add that to the rule, as collation = \
                 \"utf8mb4_general_ci\", or collation = \"binary\" if texts are to be equal only \
                 where their bytes are"
            } else if let Err(problem) = super::defaults::of_rule(rule) {
                of_default = problem;
                &of_default
            } else {
                continue;
            };
            errors.push(SchemaError {
                schema: database.to_owned(),
                table: table.to_owned(),
                column: column.clone(),
                problem: problem.to_owned(),
                is_own: true,
            });
        }
    }
    errors
}

/// The schema that the answers to [`ASKED`] give, for sessions whose database is `database`. What
/// does not fit is in [`Schema::unfit`].
pub fn build(rules: &Rules, answers: &[Answer], own: MySql, database: Option<&str>) -> Schema {
    let mut builder = Builder {
        own,
        schema: Schema {
            dialect: Dialect::MySql(own),
            search_path: database
                .iter()
                .map(|name| builder_name(name, own))
                .collect(),
            leaves_guards_out: rules.leaves_guards_out,
            ..Schema::default()
        },
        engines: HashMap::new(),
    };
    let empty = Answer::new();
    let answer = |index: usize| answers.get(index).unwrap_or(&empty);
    builder.tables(answer(0));
    let types = builder.columns(answer(1));
    builder.keys(answer(7), rules);
    builder.json(answer(8));
    builder.rules(rules, &types);
    builder.form_groups(&types);
    builder.guards(answer(8));
    // No statement goes by rules of which one is no rule.
    let of_rules = check_rules(rules).into_iter();
    let of_rules = of_rules.map(|error| SchemaError {
        is_own: false,
        ..error
    });
    builder.schema.unfit.extend(of_rules);
    builder.privileges(answer(5), answer(6));
    builder.reached_by(answer(2), answer(3), answer(4));
    builder.schema
}

fn builder_name(name: &str, own: MySql) -> String {
    super::names::table(name, own)
}

type Name = (String, String);

struct Builder {
    own: MySql,
    schema: Schema,
    engines: HashMap<Name, String>,
}

fn truth(row: &[Option<String>], index: usize) -> bool {
    text(row, index) == "1"
}

/// A column for the finisher. It keeps what definitions of columns tell of.
fn declared(row: &[Option<String>], extra: &str, is_mariadb: bool) -> DeclaredColumn {
    let type_name = text(row, 3);
    let mut tail = String::new();
    if !truth(row, 4) {
        tail.push_str(" NOT NULL");
        if truth(row, 5) {
            // No row takes it.
            tail.push_str(
                match type_name.split(['(', ' ']).next().unwrap_or_default() {
                    "date" | "time" | "datetime" | "timestamp" => " DEFAULT 0",
                    "enum" | "set" | "json" => "",
                    own if own.ends_with("text") || own.ends_with("blob") => " DEFAULT ''",
                    "char" | "varchar" | "binary" | "varbinary" => " DEFAULT ''",
                    _ => " DEFAULT 0",
                },
            );
        }
    } else if type_name.starts_with("timestamp") {
        tail.push_str(" NULL");
    }
    if extra.contains("auto_increment") {
        tail.push_str(" AUTO_INCREMENT");
    }
    let default = match truth(row, 5) && !extra.contains("on update") {
        true => super::defaults::of_server(&text(row, 9), (&type_name, extra), is_mariadb),
        false => None,
    };
    DeclaredColumn {
        type_name,
        collation: Some(text(row, 7)).filter(|name| !name.is_empty()),
        tail,
        default,
    }
}

/// Whether a part of a key is the token of a text: such a key is one over the texts.
fn is_token(table: &Table, row: &[Option<String>], rules: &Rules) -> bool {
    let column = text(row, 3).to_ascii_lowercase();
    let rule = rules.column(&table.schema, &table.name, &column);
    rule.is_some_and(|own| own.tokens().is_some()) && text(row, 6) == TOKEN_PREFIX_SIZE.to_string()
}

/// A key for the finisher. None: it is over what is computed.
fn declared_key(table: &Table, rows: &[Vec<Option<String>>], rules: &Rules) -> Option<DeclaredKey> {
    let columns = rows.iter().map(|row| {
        let position = table.position(&text(row, 3).to_ascii_lowercase())?;
        let part = match is_token(table, row, rules) {
            true => None,
            false => text(row, 6).parse().ok(),
        };
        Some((position, part))
    });
    let name = text(&rows[0], 2);
    Some(DeclaredKey {
        is_primary: name.eq_ignore_ascii_case("primary"),
        name,
        is_unique: !truth(&rows[0], 5),
        columns: columns.collect::<Option<_>>()?,
    })
}

impl Builder {
    fn name(&self, row: &[Option<String>]) -> Name {
        let part = |index| builder_name(&text(row, index), self.own);
        (part(0), part(1))
    }

    fn tables(&mut self, answer: &Answer) {
        for (index, row) in answer.iter().enumerate() {
            let name = self.name(row);
            // Tables of MariaDB with a history, and sequences, are of no engine that is supported.
            let (kind, engine) = match text(row, 2).as_str() {
                "BASE TABLE" => (RelationKind::Table, text(row, 3)),
                "VIEW" => (RelationKind::View, String::new()),
                other => (RelationKind::Table, other.to_owned()),
            };
            self.engines.insert(name.clone(), engine);
            let collations = &mut self.schema.catalogue.collations;
            collations.insert(name.clone(), text(row, 4));
            let table = Table {
                oid: u32::try_from(index + 1).unwrap_or(u32::MAX),
                kind,
                ..Table::empty(&name)
            };
            self.schema.tables.insert(name, table);
        }
    }

    /// Reads the columns, and gives the types of those that may have rules.
    fn columns(&mut self, answer: &Answer) -> HashMap<(Name, String), String> {
        let mut types = HashMap::new();
        let mut unsupported = Vec::new();
        // What the account may do with the first column of each table.
        let mut privileges: HashMap<Name, String> = HashMap::new();
        for row in answer {
            let name = self.name(row);
            let written = text(row, 2);
            if !written.is_ascii() {
                unsupported.push(name);
                continue;
            }
            let column = written.to_ascii_lowercase();
            types.insert((name.clone(), column.clone()), text(row, 3));
            let Some(table) = self.schema.tables.get_mut(&name) else {
                continue;
            };
            let extra = text(row, 6).to_ascii_lowercase();
            if extra.contains("invisible") {
                unsupported.push(name);
                continue;
            }
            let may = privileges
                .entry(name.clone())
                .or_insert_with(|| text(row, 8));
            table.has_column_privileges |= *may != text(row, 8);
            let declared = declared(row, &extra, self.own.is_mariadb);
            let number = i16::try_from(table.columns.len() + 1).unwrap_or(i16::MAX);
            let columns = &mut self.schema.catalogue.finisher.declared_columns;
            columns.insert((table.oid, number), declared);
            table.columns.push(Column {
                written: Some(written).filter(|written| *written != column),
                name: column,
                number,
                not_null: !truth(row, 4),
                has_default: truth(row, 5) || extra.contains("auto_increment"),
                // MySQL says `DEFAULT_GENERATED` of a default that it computes.
                is_generated: extra
                    .split(' ')
                    .any(|word| matches!(word, "generated" | "virtual" | "stored")),
                protected: None,
                physical: None,
            });
        }
        for name in unsupported {
            let is_ruled = self.schema.tables.contains_key(&name);
            if let Some(table) = self.schema.tables.get_mut(&name).filter(|_| is_ruled) {
                table.columns.clear();
            }
        }
        types
    }

    /// Reads primary and unique keys. One over a part of a column that is no token, or over what is
    /// computed, is left out.
    fn keys(&mut self, answer: &Answer, rules: &Rules) {
        let is_same = |one: &Vec<Option<String>>, other: &Vec<Option<String>>| {
            one.iter().take(3).eq(other.iter().take(3))
        };
        for rows in answer.chunk_by(is_same) {
            let name = self.name(&rows[0]);
            let Some(table) = self.schema.tables.get_mut(&name) else {
                continue;
            };
            let columns: Option<Vec<usize>> = rows
                .iter()
                .map(|row| {
                    let column = text(row, 3).to_ascii_lowercase();
                    let is_whole = truth(row, 4) || is_token(table, row, rules);
                    table.position(&column).filter(|_| is_whole)
                })
                .collect();
            self.schema
                .catalogue
                .finisher
                .declared_keys
                .entry(table.oid)
                .or_default()
                .extend(declared_key(table, rows, rules));
            if let Some(columns) = columns.filter(|_| !truth(&rows[0], 5)) {
                table.unique_keys.push(columns);
                let names = &mut self.schema.catalogue.unique_key_names;
                names.entry(name).or_default().push(text(&rows[0], 2));
            }
        }
    }

    /// Makes columns those of type JSON which the server takes for such.
    fn json(&mut self, answer: &Answer) {
        for row in answer.iter().filter(|row| text(row, 3).is_empty()) {
            let name = self.name(row);
            let column = text(row, 2).to_ascii_lowercase();
            let table = self.schema.tables.get(&name);
            let found = table.and_then(|table| {
                let place = table.position(&column)?;
                Some((table.oid, table.columns[place].number))
            });
            let columns = &mut self.schema.catalogue.finisher.declared_columns;
            if let Some(declared) = found.and_then(|found| columns.get_mut(&found)) {
                let quoted = column.replace('`', "``");
                declared.tail += &format!(" CHECK (json_valid(`{quoted}`))");
            }
        }
    }

    fn rules(&mut self, rules: &Rules, types: &HashMap<(Name, String), String>) {
        for (table_name, columns) in &rules.tables {
            let (database, table) = Rules::split_name(table_name);
            let name = (
                builder_name(database, self.own),
                builder_name(table, self.own),
            );
            if !self.schema.tables.contains_key(&name) {
                let table = Table::empty(&name);
                self.schema.tables.insert(name.clone(), table);
            }
            for (column, rule) in columns {
                let found = types.get(&(name.clone(), column.clone()));
                self.rule(&name, (column, rule), found);
            }
        }
    }

    /// Adds a column with a rule, which the server has with this type.
    fn rule(&mut self, name: &Name, (column, rule): (&str, &ColumnRule), found: Option<&String>) {
        let count = self.schema.protected.len();
        let id = ColumnId(u32::try_from(count).expect("rules are fewer than 2^32"));
        let group = rule.group.as_deref();
        let form = SealedForm {
            group: group.map(|own| self.schema.group_number((&name.0, &name.1), own)),
            ..SealedForm::of(rule)
        };
        let physical = physical_type(form.layout(rule.logical, rule.mode));
        if rule.is_binary() {
            self.schema.catalogue.binary_texts.push(id);
        }
        if may_be_long(rule.logical)
            && group.is_none()
            && found.is_some_and(|found| found.eq_ignore_ascii_case("longblob"))
        {
            self.schema.catalogue.long.push(id);
        }
        // What is wrong with members is looked at once all are known.
        let problem = match group {
            _ if !self.fits_labels(name, rule.logical) => Some(OTHER_LABELS.to_owned()),
            None => self.problem(name, column, physical, found),
            Some(_) => None,
        };
        let checks = || "has checks, which this server cannot have: remove them".to_owned();
        if let Some(problem) = problem.or((!rule.checks.is_empty()).then(checks)) {
            self.schema.unfit.push(SchemaError {
                schema: name.0.clone(),
                table: name.1.clone(),
                column: column.to_owned(),
                problem,
                is_own: true,
            });
        }
        let mut not_null = false;
        let table = self.schema.tables.get_mut(name);
        let known = table.and_then(|table| {
            let mut columns = table.columns.iter_mut();
            columns.find(|own| own.name == column)
        });
        if let Some(known) = known {
            known.protected = Some(id);
            not_null = known.not_null;
        }
        let own_domain = || format!("column:{}.{}.{column}", name.0, name.1);
        self.schema.protected.push(ProtectedColumn {
            id,
            schema: name.0.clone(),
            table: name.1.clone(),
            column: column.to_owned(),
            logical: rule.logical,
            mode: match form.tokens {
                Some(_) => Mode::Random,
                None => rule.mode,
            },
            domain: rule.domain.clone().unwrap_or_else(own_domain),
            form,
            default: super::defaults::of_rule(rule).ok().flatten(),
            draws: None,
            not_null: form.group.map_or(not_null, |_| rule.not_null),
            checks: ColumnChecks::default(),
        });
    }

    /// Whether the texts that a table takes for equal to a label are those that the proxy does.
    fn fits_labels(&self, name: &Name, logical: LogicalType) -> bool {
        let collation = self.schema.catalogue.collations.get(name);
        let is_known = |own: &String| own.is_empty() || labels::is_known(own);
        !logical.is_of_labels() || collation.is_none_or(is_known)
    }

    /// Why a table cannot have its rule.
    fn problem(
        &self,
        name: &Name,
        column: &str,
        physical: Physical,
        found: Option<&String>,
    ) -> Option<String> {
        let table = self
            .schema
            .tables
            .get(name)
            .filter(|table| table.oid != 0)?;
        if table.kind != RelationKind::Table {
            return Some("is no table of this server: only tables can be protected".to_owned());
        }
        let engine = self.engines.get(name).map_or("", String::as_str);
        if !engine.eq_ignore_ascii_case("innodb") {
            return Some(format!(
                "is of the engine {engine:?}; protected tables need InnoDB, in which a statement \
                 is done as a whole or not at all"
            ));
        }
        if table.columns.is_empty() {
            return Some(
                "has a table with invisible columns, or letters beyond ASCII in names of columns, \
                 which is not supported yet"
                    .to_owned(),
            );
        }
        let known = table.columns.iter().find(|own| own.name == column);
        let (Some(known), Some(found)) = (known, found) else {
            return Some("is not there: its rule protects nothing. Mend the rule".to_owned());
        };
        if known.has_default || known.is_generated {
            return Some(
                "has a default or is computed in the server, so values would be stored in clear: \
                 remove the default there, and write it into the rule"
                    .to_owned(),
            );
        }
        let is_wide = match physical {
            groups::NO_ROOM => found.eq_ignore_ascii_case("varbinary(0)"),
            Physical::Varbinary(width) => {
                let size = found.to_ascii_lowercase();
                let size = size.strip_prefix("varbinary(");
                let size = size.and_then(|size| size.strip_suffix(')'));
                let size = size.and_then(|size| size.parse::<u64>().ok());
                size.is_some_and(|size| size >= width)
            }
            Physical::MediumBlob => {
                matches!(
                    found.to_ascii_lowercase().as_str(),
                    "mediumblob" | "longblob"
                )
            }
        };
        match is_wide {
            true => None,
            false => Some(format!(
                "is {found} in the server, and must be {} for sealed values. Create the table \
                 anew through the proxy and move the rows, or remove the rule",
                physical.data_type()
            )),
        }
    }
}
