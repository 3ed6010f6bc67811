//! `CREATE TABLE`, and the definition of a column, which `ALTER TABLE … ADD COLUMN` shares.

use column_value::LogicalType;
use sqlparser::ast::{
    ColumnDef, ColumnOption, CreateTable, CreateTableLikeKind, DataType, Expr, Statement,
    TableConstraint, Value,
};

use super::{
    checked, constraint, drawn, find, grouped, guarded, has_rules, is_temporary, own_name, pass,
    put_found_schema, put_schema, refusal, refuse_named, refuse_table_as, reshaping, subject_of,
    written,
};
use crate::dialect::postgres::named_types;
use crate::dialect::postgres::names::{folded, split};
use crate::{
    Column, Literal, Plan, ProtectedColumn, Refusal, RelationKind, Schema, ServerType, Table,
};
use sql_plan::{constant_value, parse_default};

pub(super) fn plan(create: &CreateTable, schema: &Schema) -> Result<Plan, Refusal> {
    if let Some(query) = &create.query {
        refuse_table_as(create, query, schema)?;
        return Ok(pass());
    }
    refuse_copies(create, schema)?;
    refuse_hiding(create, schema)?;
    let Some(table) = described(create, schema) else {
        refuse_named(&create.name, "created", schema)?;
        return Ok(pass());
    };
    let mut anew = create.clone();
    if table.is_protected() {
        constraint::check_partition_key(create.partition_by.as_deref(), &table, schema)?;
    }
    let checks = checked::take_of_new(&mut anew, &table, schema)?;
    let mut sequences = Vec::new();
    for definition in &mut anew.columns {
        sequences.extend(column(definition, &table, schema)?);
    }
    for own in &anew.constraints {
        constraint::check(own, &table, schema)?;
    }
    anew.constraints.extend(checks);
    anew.constraints
        .extend(guarded::of_new(create, &table, schema)?);
    let plan = if anew == *create && !table.is_protected() {
        pass()
    } else {
        put_schemas(&mut anew, &table, schema);
        match sequences.is_empty() {
            true => written(&Statement::CreateTable(anew))?,
            false => drawn::plan(anew, &table, &sequences)?,
        }
    };
    match has_rules(&create.name, schema) {
        true => Ok(reshaping(plan, &table)),
        false => Ok(plan),
    }
}

/// Names the schemas of the table, of its parents, and of what its foreign keys refer to.
fn put_schemas(create: &mut CreateTable, table: &Table, schema: &Schema) {
    put_schema(&mut create.name, &table.schema);
    let inherited = create.inherits.iter_mut().flatten();
    for parent in inherited.chain(&mut create.partition_of) {
        put_found_schema(parent, schema);
    }
    for own in &mut create.constraints {
        constraint::put_schema(own, table, schema);
    }
    for definition in &mut create.columns {
        constraint::put_schemas(definition, table, schema);
    }
}

/// The table as it will be, for the checks; None for a name that cannot be resolved.
pub(super) fn described(create: &CreateTable, schema: &Schema) -> Option<Table> {
    let (own_schema, name) = own_name(&create.name, schema)?;
    let parent = create
        .partition_of
        .iter()
        .chain(create.inherits.iter().flatten());
    let mut columns: Vec<Column> = parent
        .filter_map(|name| find(name, schema))
        .flat_map(|table| table.columns.clone())
        .collect();
    for (index, definition) in create.columns.iter().enumerate() {
        columns.push(described_column(
            definition,
            index,
            (&own_schema, &name),
            schema,
        ));
    }
    let mut table = Table {
        schema: own_schema,
        name,
        // A number that no relation has; 0 would say that nothing is known of its columns.
        oid: u32::MAX,
        kind: RelationKind::Table,
        columns,
        unique_keys: Vec::new(),
        has_primary_key: false,
        opaque: false,
        has_triggers: false,
        has_column_privileges: false,
        rows: crate::RowRules::default(),
    };
    table.unique_keys = primary_key(create, &table).into_iter().collect();
    table.has_primary_key = !table.unique_keys.is_empty();
    Some(table)
}

/// A column as it will be.
pub(super) fn described_column(
    definition: &ColumnDef,
    index: usize,
    (own_schema, table): (&str, &str),
    schema: &Schema,
) -> Column {
    let name = folded(&definition.name);
    Column {
        protected: schema.rule(own_schema, table, &name).map(|rule| rule.id),
        physical: logical_of(&definition.data_type, schema)
            .filter(|logical| logical.opaque().is_none()),
        number: i16::try_from(index + 1).unwrap_or(i16::MAX),
        not_null: false,
        has_default: false,
        is_generated: is_generated(definition),
        written: None,
        name,
    }
}

/// Whether the server computes a column; one that it counts is no such.
fn is_generated(definition: &ColumnDef) -> bool {
    let mut options = definition.options.iter();
    options.any(|option| {
        let ColumnOption::Generated {
            generation_expr, ..
        } = &option.option
        else {
            return false;
        };
        generation_expr.is_some()
    })
}

/// The primary key that the statement declares: a foreign key within it may refer to it.
fn primary_key(create: &CreateTable, table: &Table) -> Option<Vec<usize>> {
    let by_column = create.columns.iter().find(|definition| {
        let mut options = definition.options.iter();
        options.any(|option| matches!(option.option, ColumnOption::PrimaryKey(_)))
    });
    if let Some(definition) = by_column {
        return Some(vec![table.position(&folded(&definition.name))?]);
    }
    let columns = create.constraints.iter().find_map(|own| match own {
        TableConstraint::PrimaryKey(key) => Some(&key.columns),
        _ => None,
    })?;
    let position = |expr: &Expr| match expr {
        Expr::Identifier(name) => table.position(&folded(name)),
        _ => None,
    };
    columns
        .iter()
        .map(|column| position(&column.column.expr))
        .collect()
}

/// Tables that are made after another one: their columns would be `bytea` without a rule.
fn refuse_copies(create: &CreateTable, schema: &Schema) -> Result<(), Refusal> {
    let like = match &create.like {
        Some(CreateTableLikeKind::Parenthesized(like) | CreateTableLikeKind::Plain(like)) => {
            Some(&like.name)
        }
        None => None,
    };
    let sources = like.into_iter().chain(&create.clone);
    for source in sources {
        refuse_named(source, "a pattern for LIKE", schema)?;
        refuse_named(&create.name, "made by LIKE", schema)?;
    }
    let parents = || create.inherits.iter().flatten().chain(&create.partition_of);
    let parents_of = || parents().filter_map(|parent| find(parent, schema));
    for parent in parents_of().filter(|parent| !parent.is_protected()) {
        refuse_ruled_column(create, parent, schema)?;
        let shared = parents_of()
            .filter(|other| other.is_protected())
            .find_map(|other| {
                let mut columns = parent.columns.iter();
                let found = columns.find(|own| {
                    let at = other.position(&own.name);
                    at.is_some_and(|at| other.columns[at].protected.is_some())
                });
                found.map(|own| subject_of(other, &own.name))
            });
        if let Some(subject) = shared {
            return Err(refusal(
                &subject,
                "a child would have the column of another parent, which is not protected, in one \
                 with it",
                "Rename one of them, or leave that parent out.",
            ));
        }
    }
    for parent in parents() {
        if let Some(parent) = find(parent, schema).filter(|parent| parent.is_protected()) {
            let own = create.columns.iter().find(|definition| {
                let at = parent.position(&folded(&definition.name));
                at.is_some_and(|at| parent.columns[at].protected.is_some())
            });
            if let Some(own) = own {
                return Err(refusal(
                    &subject_of(parent, &own.name.value),
                    "a child repeats the column",
                    "Leave the column out: it is inherited.",
                ));
            }
            refuse_ruled_child(create, schema)?;
            refuse_temporary_child(create, schema)?;
        }
    }
    Ok(())
}

/// A column that a child has from a parent without rules is stored as that has it.
fn refuse_ruled_column(
    create: &CreateTable,
    parent: &Table,
    schema: &Schema,
) -> Result<(), Refusal> {
    let Some((own_schema, name)) = own_name(&create.name, schema) else {
        return Ok(());
    };
    let mut columns = parent.columns.iter();
    match columns.find(|own| schema.rule(&own_schema, &name, &own.name).is_some()) {
        None => Ok(()),
        Some(own) => Err(refusal(
            &format!("protected column {name}.{}", own.name),
            "it comes from a parent without rules, and would be stored in clear",
            "Protect the parent, or create the table without it.",
        )),
    }
}

/// The rules of a child are those of its parent.
fn refuse_ruled_child(create: &CreateTable, schema: &Schema) -> Result<(), Refusal> {
    if super::has_rules(&create.name, schema) {
        return Err(refusal(
            &format!("protected table {}", create.name),
            "has rules of its own beside those of the table that it is a part of",
            "Remove them: a partition is protected as its parent is.",
        ));
    }
    Ok(())
}

/// What is temporary is not among what the catalogues are asked for.
fn refuse_temporary_child(create: &CreateTable, schema: &Schema) -> Result<(), Refusal> {
    if !is_temporary(create.temporary, &create.name, schema) {
        return Ok(());
    }
    Err(refusal(
        &format!("table {}", create.name),
        "a temporary part of a protected table is seen by one connection only, not by the proxy: \
         rows of it would be stored in clear",
        "Leave TEMPORARY out.",
    ))
}

/// A temporary table of the name of a protected one is found before it.
fn refuse_hiding(create: &CreateTable, schema: &Schema) -> Result<(), Refusal> {
    let name = split(&create.name).map(|(_, name)| name);
    let is_protected = name.is_some_and(|name| schema.has_protected(&name));
    if !is_protected || !is_temporary(create.temporary, &create.name, schema) {
        return Ok(());
    }
    Err(refusal(
        &format!("protected table {}", create.name),
        "a temporary table would hide it from one connection, and the proxy does not see it",
        "Give the temporary table another name.",
    ))
}

/// Refuses to add a column whose default the server would have to give to rows that are there.
pub(super) fn check_added(definition: &ColumnDef, table: &Table) -> Result<(), Refusal> {
    let name = folded(&definition.name);
    let is_protected = table
        .position(&name)
        .is_some_and(|at| table.columns[at].protected.is_some());
    let has = |wanted: fn(&ColumnOption) -> bool| {
        let mut options = definition.options.iter();
        options.any(|option| wanted(&option.option))
    };
    let fills = has(|option| match option {
        ColumnOption::Default(expr) => !is_null(expr),
        _ => false,
    });
    // The server refuses rows without a value, and so the whole statement.
    let finds_rows =
        has(|option| matches!(option, ColumnOption::NotNull | ColumnOption::PrimaryKey(_)));
    if !is_protected || !fills || finds_rows {
        return Ok(());
    }
    Err(refusal(
        &subject_of(table, &name),
        "the server cannot seal its default for the rows that are there",
        "Add the column without DEFAULT: rows to come get the default of the rule. Give those that \
         are there theirs by UPDATE.",
    ))
}

fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::Cast { expr, .. } | Expr::Nested(expr) => is_null(expr),
        Expr::Value(value) => value.value == Value::Null,
        _ => false,
    }
}

/// Checks the definition of a column, and rewrites it if the column is protected. Some: a sequence
/// that it draws its values from is to be made.
pub(super) fn column(
    definition: &mut ColumnDef,
    table: &Table,
    schema: &Schema,
) -> Result<Option<drawn::NewSequence>, Refusal> {
    let name = folded(&definition.name);
    let own = table
        .position(&name)
        .and_then(|at| table.columns[at].protected);
    let rule = own.map(|id| schema.column(id));
    for option in &definition.options {
        if let Some(name) = &option.name {
            guarded::refuse_name(name, table)?;
        }
        constraint::check_option(&option.option, &definition.name, table, schema)?;
    }
    let Some(rule) = rule else {
        return Ok(None);
    };
    let subject = subject_of(table, &name);
    let sequence = drawn::take(definition, rule, &subject)?;
    match logical_of(&definition.data_type, schema) {
        Some(declared) if declared == rule.logical => {
            definition.data_type = match rule.server_type() {
                ServerType::Bytes => DataType::Bytea,
                ServerType::Number => DataType::BigInt(None),
            }
        }
        _ => {
            return Err(refusal(
                &subject,
                &format!(
                    "the rule says {}, the statement {}",
                    rule.logical, definition.data_type
                ),
                "Make both the same. The rule of a serial column has the type integer, or bigint, \
                 and default = \"serial\".",
            ));
        }
    }
    let mut options = Vec::new();
    for option in definition.options.drain(..) {
        if keeps(&option.option, rule, &subject)? {
            options.push(option);
        }
    }
    definition.options = options;
    grouped::put_not_null(definition, rule, table, schema)?;
    Ok(sequence)
}

/// Whether an option of a protected column stays in the server's definition.
fn keeps(option: &ColumnOption, rule: &ProtectedColumn, subject: &str) -> Result<bool, Refusal> {
    match option {
        ColumnOption::Null
        | ColumnOption::NotNull
        | ColumnOption::PrimaryKey(_)
        | ColumnOption::Unique(_)
        | ColumnOption::ForeignKey(_)
        | ColumnOption::Check(_) => Ok(true),
        ColumnOption::Default(expr) => {
            check_default(expr, rule, subject)?;
            Ok(false)
        }
        ColumnOption::Collation(_) => Err(refusal(
            subject,
            "ciphertext has no collation; the proxy sorts by bytes, as \"C\" does",
            "Leave COLLATE out.",
        )),
        ColumnOption::Generated { .. } | ColumnOption::Identity(_) => Err(refusal(
            subject,
            "the server cannot make a value that it must not know",
            "Leave the column plain, or let the application make the value.",
        )),
        other => Err(refusal(
            subject,
            &format!("{other} is not supported"),
            "Leave it out.",
        )),
    }
}

/// A default is filled in by the proxy, so it stands in the rule; DDL may repeat it.
pub(super) fn check_default(
    expr: &Expr,
    rule: &ProtectedColumn,
    subject: &str,
) -> Result<(), Refusal> {
    let mut inner = expr;
    while let Expr::Cast { expr, .. } | Expr::Nested(expr) = inner {
        inner = expr;
    }
    let declared = parse_default(&inner.to_string(), rule.logical);
    let same = match (&declared, &rule.default) {
        (Ok(Literal::Null), None) => true,
        (Ok(declared), Some(own)) => {
            let value = |literal| constant_value(literal, rule.logical);
            declared == own || (value(declared).is_some() && value(declared) == value(own))
        }
        _ => false,
    };
    if same {
        return Ok(());
    }
    let hint = match &declared {
        Ok(_) => "Write the same default into the rule (`default = …`); the proxy fills it in.",
        Err(_) => {
            "The proxy fills in constants and CURRENT_TIMESTAMP only: let the application make the \
             value, or leave the column plain."
        }
    };
    Err(refusal(
        subject,
        "the default of the statement is not that of its rule",
        hint,
    ))
}

/// The logical type of a type in DDL; None for one that cannot be protected.
pub(super) fn logical_of(data_type: &DataType, schema: &Schema) -> Option<LogicalType> {
    if let Some(own) = named_types::of_type(data_type, schema) {
        return Some(LogicalType::Opaque(own));
    }
    let text = data_type.to_string().to_lowercase();
    let text = text.strip_prefix("pg_catalog.").unwrap_or(&text);
    match text {
        // Without a length it is not char(1), as `char` is.
        "bpchar" => return None,
        "char varying" => return Some(LogicalType::Varchar(None)),
        _ => {}
    }
    if let Some(precision) = text
        .strip_prefix("float(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        // Table 8.2 of PostgreSQL's manual: up to 24 bits are `real`.
        return match precision.trim().parse::<u8>().ok()? {
            1..=24 => Some(LogicalType::Real),
            25..=53 => Some(LogicalType::Double),
            _ => None,
        };
    }
    let text = text
        .replace("char varying", "varchar")
        .replace("dec(", "decimal(");
    text.parse().ok()
}
