//! `CREATE TABLE`, `ALTER TABLE`, `DROP TABLE` and `TRUNCATE` of protected tables.

use std::collections::HashSet;

use column_value::{Collation, EnumType, LogicalType, SetType, WholeType};
use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{
    CharacterLength, ColumnDef, ColumnOption, CreateTable, CreateTableOptions, DataType,
    EnumMember, ExactNumberInfo, Expr, ForeignKeyConstraint, Ident, IndexColumn, ObjectName,
    ObjectType, SqlOption, Statement, TableConstraint, TimezoneInfo, UnaryOperator,
};

use super::{MySql, bytes, defaults, names, schema::physical_type};
use crate::{Effects, Mode, Piece, Plan, ProtectedColumn, Refusal, Schema, Template, Translated};
use sql_plan::{refuse, unsupported};

mod columns;
mod grouped;
mod guards;
mod keys;
mod tokens;

pub use columns::behind;
pub(super) use columns::changed as columns_changed;

/// The plan of a statement that reads and writes no rows.
pub(crate) fn plan(statement: &Statement, schema: &Schema, own: MySql) -> Result<Plan, Refusal> {
    if let Some(planned) = keys::plan(statement, schema, own) {
        return planned;
    }
    match statement {
        Statement::CreateTable(create) => of_create(create, schema, own),
        Statement::Drop {
            object_type: ObjectType::Table,
            temporary: false,
            table: None,
            ..
        } => Ok(Plan::Pass(changes())),
        // The server commits.
        Statement::Truncate(_) => Ok(Plan::Pass(Effects {
            forgets_locks: true,
            ..Effects::default()
        })),
        _ => Err(unsupported("a statement of this kind")),
    }
}

fn changes() -> Effects {
    Effects {
        changes_schema: true,
        ..Effects::default()
    }
}

fn of_create(create: &CreateTable, schema: &Schema, own: MySql) -> Result<Plan, Refusal> {
    check_form(create)?;
    let (database, table) =
        names::split(&create.name, own).ok_or_else(|| unsupported("a computed name"))?;
    let database = database.or_else(|| schema.search_path.first().cloned());
    let database = database.ok_or_else(|| unsupported("a table without a database"))?;
    let rules: Vec<&ProtectedColumn> = schema
        .protected
        .iter()
        .filter(|rule| rule.schema == database && rule.table == table)
        .collect();
    if rules.is_empty() {
        return Err(refuse(format!(
            "{database}.{table} has no rules, and the statement names a protected table"
        ))
        .with_hint("Foreign keys between protected and other tables are not supported yet."));
    }
    let mut create = create.clone();
    let grouped = grouped::Members::of(&create, &rules);
    for rule in &rules {
        let column = create.columns.iter_mut();
        let mut column = column.filter(|column| names::fold(&column.name) == rule.column);
        let Some(column) = column.next() else {
            return Err(refuse(format!(
                "{table} has a rule for column {}, which the table would not have",
                rule.column
            )));
        };
        defaults::check(column, rule, schema)?;
        seal(column, rule, schema)?;
        grouped.place(column, rule, schema)?;
    }
    let written = guards::written_by_keys(create.constraints.iter());
    let guarded = rules.iter().filter(|rule| !written.contains(&rule.column));
    let condition = guards::condition(guarded.copied(), |rule| grouped.of_rule(rule), schema);
    check_parts(&create, &rules, &database, schema, own)?;
    tokens::shorten_keys(&mut create, &rules);
    let mut text = create.to_string();
    if !reads_back(&text, &create, own) {
        return Err(refuse(
            "this form of CREATE TABLE cannot be sent on safely: it prints as another one",
        ));
    }
    if !names_engine(&create) {
        // The server's own may be another one.
        text.push_str(" ENGINE=InnoDB");
    }
    if let Some(condition) = condition
        && own.enforces_checks()
        && !schema.leaves_guards_out
    {
        text = guards::with_guard(text, &table, &condition)?;
    }
    Ok(sent_as(super::lexer::for_server(text, own)))
}

/// A text that is sent in the place of the client's.
fn sent_as(text: String) -> Plan {
    let translated = Translated {
        template: Template {
            pieces: vec![Piece::Text(text)],
        },
        holes: Vec::new(),
        outputs: Vec::new(),
        parameter_types: Vec::new(),
        locks: None,
    };
    Plan::One(translated, changes())
}

/// Lets columns without rules and constraints through that touch no column with one.
fn check_parts(
    create: &CreateTable,
    rules: &[&ProtectedColumn],
    database: &str,
    schema: &Schema,
    own: MySql,
) -> Result<(), Refusal> {
    for column in &create.columns {
        check_name(&column.name)?;
        if !rules
            .iter()
            .any(|rule| names::fold(&column.name) == rule.column)
        {
            column
                .options
                .iter()
                .try_for_each(|own| check_option(&own.option, rules))?;
        }
    }
    for constraint in &create.constraints {
        match constraint {
            TableConstraint::ForeignKey(key) => {
                check_foreign_key(key, rules, database, schema, own)?;
            }
            constraint => check_constraint(constraint, rules)?,
        }
    }
    Ok(())
}

/// Refuses names of columns that are not understood beside protected ones.
fn check_name(name: &Ident) -> Result<(), Refusal> {
    let name = &name.value;
    match name.is_ascii() {
        true => Ok(()),
        false => Err(unsupported(&format!(
            "the name `{name}` of a column of a protected table"
        ))
        .with_hint("Name columns in letters of ASCII.")),
    }
}

fn check_form(create: &CreateTable) -> Result<(), Refusal> {
    let understood = CreateTableBuilder::new(create.name.clone())
        .if_not_exists(create.if_not_exists)
        .columns(create.columns.clone())
        .constraints(create.constraints.clone())
        .table_options(create.table_options.clone())
        .build();
    if understood != *create || create.columns.is_empty() {
        return Err(unsupported(
            "CREATE TABLE of this form (OR REPLACE, TEMPORARY, LIKE, SELECT, partitions)",
        ));
    }
    let options: &[SqlOption] = match &create.table_options {
        CreateTableOptions::None => &[],
        CreateTableOptions::Plain(options) => options,
        _ => return Err(unsupported("table options of this form")),
    };
    for option in options {
        let text = option.to_string().to_ascii_lowercase().replace('`', "");
        let is_known = match option_name(option).as_str() {
            "engine" => text.ends_with("innodb"),
            "auto_increment" | "comment" | "charset" | "collate" | "default" | "character"
            | "row_format" => true,
            _ => false,
        };
        if !is_known {
            return Err(unsupported("this table option")
                .with_hint("Protected tables are of the engine InnoDB."));
        }
    }
    Ok(())
}

fn names_engine(create: &CreateTable) -> bool {
    let options = match &create.table_options {
        CreateTableOptions::Plain(options) => &options[..],
        _ => &[],
    };
    let mut names = options.iter().map(option_name);
    names.any(|name| name == "engine")
}

fn option_name(option: &SqlOption) -> String {
    let text = option.to_string().to_ascii_lowercase().replace('`', "");
    let name = text.split([' ', '=']).next();
    name.unwrap_or_default().to_owned()
}

/// Gives a column the type of sealed values.
fn seal(column: &mut ColumnDef, rule: &ProtectedColumn, schema: &Schema) -> Result<(), Refusal> {
    let is_binary = schema.catalogue.binary_texts.contains(&rule.id);
    match rule.form.tokens {
        Some(collation) => take_collation(column, rule, &|name| is_collation(name, collation))?,
        None if is_binary => take_collation(column, rule, &|name| name.ends_with("_bin"))?,
        None => {}
    }
    let declared = logical(&column.data_type);
    if declared != Some(rule.logical) {
        return Err(refuse(format!(
            "{}.{} is declared {}, and its rule has {}",
            rule.table,
            rule.column,
            column.data_type,
            super::schema::type_name(rule.logical)
        ))
        .with_hint("Declare the column with the type of the rule."));
    }
    if matches!(rule.logical, LogicalType::TimestampTz(_)) && super::zone::offset(schema).is_err() {
        return Err(unsupported(super::zone::NO_OFFSET));
    }
    for option in &column.options {
        match &option.option {
            ColumnOption::Null | ColumnOption::NotNull | ColumnOption::Comment(_) => {}
            // What it is was checked.
            ColumnOption::Default(_) => {}
            ColumnOption::Unique(_) | ColumnOption::PrimaryKey(_) => check_key(rule)?,
            _ => {
                return Err(refuse(format!(
                    "{}.{}: a protected column has no {}",
                    rule.table, rule.column, option.option
                ))
                .with_hint("Leave it out."));
            }
        }
    }
    defaults::take_out(column);
    column.data_type = match column.data_type {
        DataType::LongText | DataType::LongBlob => DataType::LongBlob,
        _ => physical_type(rule.layout()).data_type(),
    };
    Ok(())
}

/// Sealed values have no collation. One that is declared must be that of the rule.
fn take_collation(
    column: &mut ColumnDef,
    rule: &ProtectedColumn,
    is_own: &dyn Fn(&str) -> bool,
) -> Result<(), Refusal> {
    let mut wrong = None;
    column.options.retain(|option| match &option.option {
        ColumnOption::CharacterSet(_) => false,
        ColumnOption::Collation(name) => {
            if !is_own(&name.to_string().replace('`', "").to_ascii_lowercase()) {
                wrong = Some(name.to_string());
            }
            false
        }
        _ => true,
    });
    let Some(name) = wrong else {
        return Ok(());
    };
    let (wanted, hint) = match rule.form.tokens {
        Some(collation) => (
            collation.name(),
            "Declare it with that collation, or with none.",
        ),
        None => (
            "binary",
            "Declare it with a collation that ends with _bin, or with none.",
        ),
    };
    Err(refuse(format!(
        "{}.{} is declared with collation {name}, and its rule has collation = \"{wanted}\"",
        rule.table, rule.column
    ))
    .with_hint(hint))
}

/// Whether a declared collation is this one. Some of MariaDB's are named without a character set.
fn is_collation(name: &str, collation: Collation) -> bool {
    let own = collation.name();
    name == own || own.strip_prefix("utf8mb4_") == Some(name).filter(|own| own.starts_with("uca"))
}

fn check_key(rule: &ProtectedColumn) -> Result<(), Refusal> {
    if rule.form.tokens.is_some() {
        return match rule.logical {
            LogicalType::Text => Err(refuse(format!(
                "a key over {}.{}, which is a text without a length",
                rule.table, rule.column
            ))
            .with_hint("Declare it varchar(n), in the rule too.")),
            _ => Ok(()),
        };
    }
    if physical_type(rule.layout()).width().is_none() {
        return Err(refuse(format!(
            "{}.{} is too long, sealed, for a key",
            rule.table, rule.column
        )));
    }
    match rule.mode {
        Mode::Random => Err(refuse(format!(
            "a key over {}.{}, which has mode random",
            rule.table, rule.column
        ))
        .with_hint("Give the rule mode = \"equality\".")),
        Mode::Equality | Mode::Order => Ok(()),
    }
}

/// What a column without a rule may have: nothing that computes with protected columns, or refers
/// to other tables.
fn check_option(option: &ColumnOption, rules: &[&ProtectedColumn]) -> Result<(), Refusal> {
    let is_moment = |value: &Expr| {
        matches!(value, Expr::Function(function)
            if names::is_word(&function.name, "current_timestamp"))
    };
    let is_constant = |value: &Expr| match value {
        Expr::Value(_) => true,
        Expr::Prefixed { prefix, .. } => bytes::is_prefix(prefix),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => matches!(**expr, Expr::Value(_)),
        _ => false,
    };
    let is_known = match option {
        ColumnOption::Null
        | ColumnOption::NotNull
        | ColumnOption::Comment(_)
        | ColumnOption::CharacterSet(_)
        | ColumnOption::Collation(_)
        | ColumnOption::Unique(_)
        | ColumnOption::PrimaryKey(_) => true,
        ColumnOption::Default(value) => is_constant(value) || is_moment(value),
        ColumnOption::OnUpdate(value) => is_moment(value),
        ColumnOption::Check(check) => return check_check(&check.expr, rules),
        ColumnOption::DialectSpecific(tokens) => {
            let word = tokens.iter().map(ToString::to_string).collect::<String>();
            word.eq_ignore_ascii_case("auto_increment") || word.eq_ignore_ascii_case("key")
        }
        _ => false,
    };
    match is_known {
        true => Ok(()),
        false => Err(unsupported(
            "a column of this form in a table with protected columns (a computed value, REFERENCES \
             behind a column)",
        )
        .with_hint("Write FOREIGN KEY by itself, and leave out what is computed.")),
    }
}

/// A foreign key ties columns in clear, or sealed columns of one domain: only those have one form
/// for equal values.
fn check_foreign_key(
    key: &ForeignKeyConstraint,
    rules: &[&ProtectedColumn],
    database: &str,
    schema: &Schema,
    own: MySql,
) -> Result<(), Refusal> {
    let parent = names::split(&key.foreign_table, own);
    let (parent_database, parent) = parent.ok_or_else(|| unsupported("a computed name"))?;
    let parent_database = parent_database.unwrap_or_else(|| database.to_owned());
    let of_parent =
        |rule: &&ProtectedColumn| rule.schema == parent_database && rule.table == parent;
    if key.referred_columns.len() != key.columns.len() {
        return match rules.is_empty() && !schema.protected.iter().any(|rule| of_parent(&rule)) {
            true => Ok(()),
            false => Err(refuse(
                "a foreign key of a protected table that does not name a column for each of its \
                 own",
            )
            .with_hint("Name the columns that it refers to.")),
        };
    }
    for (child, referred) in key.columns.iter().zip(&key.referred_columns) {
        let (child, referred) = (names::fold(child), names::fold(referred));
        let ours = rules.iter().find(|rule| rule.column == child);
        let mut theirs = schema.protected.iter().filter(of_parent);
        let theirs = theirs.find(|rule| rule.column == referred);
        match (ours, theirs) {
            (None, None) => {}
            (Some(ours), Some(theirs))
                if ours.domain == theirs.domain
                    && ours.mode == theirs.mode
                    && ours.mode != Mode::Random => {}
            _ => {
                return Err(refuse(format!(
                    "a foreign key from {child} to {parent}.{referred}, which are not both sealed \
                     so that equal values are alike"
                ))
                .with_hint(
                    "Give both a rule with the same domain and mode = \"equality\" or \"order\", \
                     or neither a rule.",
                ));
            }
        }
    }
    Ok(())
}

/// Whether the server reads what is sent as what was checked.
fn reads_back(text: &str, create: &CreateTable, own: MySql) -> bool {
    let text = super::lexer::for_server(text.to_owned(), own);
    let statement = Statement::CreateTable(create.clone());
    super::parse::reads_back(&text, &statement, own)
}

/// A protected column whose name is a word of a text in small letters.
fn named<'a>(text: &str, rules: &[&'a ProtectedColumn]) -> Option<&'a ProtectedColumn> {
    let words: HashSet<&str> = text
        .split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .collect();
    let mut rules = rules.iter();
    rules
        .find(|rule| words.contains(rule.column.as_str()))
        .copied()
}

/// The columns of a key.
fn check_columns(columns: &[IndexColumn], rules: &[&ProtectedColumn]) -> Result<(), Refusal> {
    columns.iter().try_for_each(|column| {
        let text = column.to_string().replace('`', "").to_ascii_lowercase();
        match named(&text, rules) {
            None => Ok(()),
            Some(rule) if text == rule.column => check_key(rule),
            Some(rule) => Err(refuse(format!(
                "a key over a part of {}.{}",
                rule.table, rule.column
            ))
            .with_hint("Leave the length out.")),
        }
    })
}

fn check_constraint(
    constraint: &TableConstraint,
    rules: &[&ProtectedColumn],
) -> Result<(), Refusal> {
    match constraint {
        TableConstraint::PrimaryKey(key) => check_columns(&key.columns, rules),
        TableConstraint::Unique(key) => check_columns(&key.columns, rules),
        TableConstraint::Index(key) => check_columns(&key.columns, rules),
        TableConstraint::Check(check) => check_check(&check.expr, rules),
        _ => Err(unsupported("a constraint of this form")),
    }
}

fn check_check(condition: &Expr, rules: &[&ProtectedColumn]) -> Result<(), Refusal> {
    match named(&condition.to_string().to_ascii_lowercase(), rules) {
        None => Ok(()),
        Some(rule) => Err(refuse(format!(
            "a check over {}.{}, which the server cannot read",
            rule.table, rule.column
        ))),
    }
}

/// The type of a rule that a declared type is; None: none that can be protected.
fn logical(declared: &DataType) -> Option<LogicalType> {
    Some(match declared {
        DataType::SmallInt(_) => LogicalType::SmallInt,
        DataType::Int(_) | DataType::Integer(_) => LogicalType::Integer,
        DataType::BigInt(_) => LogicalType::BigInt,
        DataType::Bool | DataType::Boolean | DataType::TinyInt(Some(1)) => {
            LogicalType::Whole(WholeType::Flag)
        }
        DataType::TinyInt(_) => LogicalType::Whole(WholeType::Tiny),
        DataType::MediumInt(_) => LogicalType::Whole(WholeType::Medium),
        // The server shows it with one digit.
        DataType::TinyIntUnsigned(Some(1)) => return None,
        DataType::TinyIntUnsigned(_) => LogicalType::Whole(WholeType::UnsignedTiny),
        DataType::SmallIntUnsigned(_) => LogicalType::Whole(WholeType::UnsignedSmall),
        DataType::MediumIntUnsigned(_) => LogicalType::Whole(WholeType::UnsignedMedium),
        DataType::IntUnsigned(_) | DataType::IntegerUnsigned(_) => {
            LogicalType::Whole(WholeType::UnsignedInteger)
        }
        DataType::BigIntUnsigned(_) => LogicalType::Whole(WholeType::UnsignedBig),
        DataType::Custom(name, width) if is_year(name, width) => {
            LogicalType::Whole(WholeType::Year)
        }
        DataType::Varchar(Some(CharacterLength::IntegerLength { length, unit: None })) => {
            LogicalType::Varchar(Some(u32::try_from(*length).ok()?))
        }
        DataType::Char(None) => LogicalType::Char(1),
        DataType::Char(Some(CharacterLength::IntegerLength { length, unit: None })) => {
            LogicalType::Char(u32::try_from(*length).ok()?)
        }
        DataType::Float(ExactNumberInfo::None | ExactNumberInfo::Precision(..=24)) => {
            LogicalType::Real
        }
        DataType::Float(ExactNumberInfo::Precision(25..=53)) => LogicalType::Double,
        DataType::Double(ExactNumberInfo::None) | DataType::DoublePrecision => LogicalType::Double,
        DataType::Enum(members, None) => {
            let labels = members.iter().map(|own| match own {
                EnumMember::Name(label) => Some(label.as_str()),
                EnumMember::NamedValue(..) => None,
            });
            LogicalType::Enum(EnumType::of_labels(&labels.collect::<Option<Vec<_>>>()?)?)
        }
        DataType::Bit(count) => LogicalType::Bits(bits(*count)?),
        DataType::Set(labels) => {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            LogicalType::Set(SetType::of_labels(&labels)?)
        }
        DataType::Text | DataType::LongText => LogicalType::Text,
        DataType::Blob(None) | DataType::LongBlob => LogicalType::Bytes,
        DataType::Date => LogicalType::Date,
        DataType::Time(digits, TimezoneInfo::None) => {
            LogicalType::SignedTime(u8::try_from(digits.unwrap_or(0)).ok()?)
        }
        DataType::Datetime(digits) => {
            LogicalType::Timestamp(Some(u8::try_from(digits.unwrap_or(0)).ok()?))
        }
        DataType::Timestamp(digits, TimezoneInfo::None) => {
            LogicalType::TimestampTz(Some(u8::try_from(digits.unwrap_or(0)).ok()?))
        }
        DataType::Decimal(limits) | DataType::Numeric(limits) => {
            let (precision, scale) = match limits {
                ExactNumberInfo::None => (10, 0),
                ExactNumberInfo::Precision(precision) => (*precision, 0),
                ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
            };
            let scale = u16::try_from(scale).ok()?;
            LogicalType::Numeric(Some((u16::try_from(precision).ok()?, scale)))
        }
        _ => return None,
    })
}

/// How many bits are declared.
fn bits(count: Option<u64>) -> Option<u8> {
    let count = u8::try_from(count.unwrap_or(1)).ok();
    count.filter(|own| (1..=64).contains(own))
}

/// Whether a name of a type is that of years, which have four digits.
fn is_year(name: &ObjectName, width: &[String]) -> bool {
    name.to_string().eq_ignore_ascii_case("year") && (width.is_empty() || *width == ["4"])
}
