//! The statement that fetches the rows of all relations of a query, and the arrays that they
//! become.
//!
//! Each relation is a *leg* of one `UNION ALL`, so that all are of one snapshot. A leg has its
//! index in the first column, and NULL in the columns of the others.

mod united;

use column_value::OpaqueType;
use sqlparser::ast::{
    BinaryOperator, Expr, Ident, LockClause, ObjectName, Query, Select, SetExpr, Statement,
    TableFactor, TableSampleKind,
};

use super::semi_joins::SemiJoin;
use crate::analysis::Analysis;
use crate::dialect::postgres::finisher;
use crate::dialect::postgres::names::array_element;
use crate::{ColumnId, Dialect, Output, OutputKind, Refusal, Schema, Table};
use sql_plan::{Element, unsupported};
use united::{over, together};

/// The only column of a relation of which no column is used: its rows are counted.
pub(super) const ROW: &str = "strongroom_row";
/// How often the fetch of a table is analysed to find out what the server can decide. Conditions
/// beyond that stay behind.
const ATTEMPTS_MAX: usize = 64;

/// The rows of a table that meet some conditions.
#[derive(Clone, Debug)]
pub(super) struct Leg {
    pub number: usize,
    /// The table, as the query names it.
    pub name: ObjectName,
    /// The name by which the conditions qualify its columns.
    pub alias: Ident,
    /// Schema and name in the catalogue.
    pub table: (String, String),
    /// Indices of its columns.
    pub columns: Vec<usize>,
    /// The rows of it that the server is to choose by chance.
    pub sample: Option<TableSampleKind>,
    /// Conditions that the server may evaluate.
    pub conditions: Vec<Expr>,
    /// Tables in which each row needs a partner, if the server can tell.
    pub partners: Vec<SemiJoin>,
    /// Whether its rows are those that are written or locked.
    pub is_target: bool,
    /// The columns that locate its rows, to be written or locked.
    pub locators: super::Locators,
    /// How its rows are locked.
    pub locks: Vec<LockClause>,
}

/// What the server says of the moment and the session.
pub(super) struct ServerLeg {
    pub names: Vec<&'static str>,
    /// Whether the query has no table, and asks nothing of the server: one row is fetched that it
    /// does not use.
    pub is_empty: bool,
}

impl ServerLeg {
    /// Whether it is fetched.
    pub fn is_needed(&self) -> bool {
        self.is_empty || !self.names.is_empty()
    }
}

impl Leg {
    /// The name of the finisher's relation.
    pub fn relation_name(&self) -> String {
        format!("{}{}", finisher::RELATION_PREFIX, self.number)
    }

    /// Whether its rows are found again.
    pub fn is_located(&self) -> bool {
        !self.locators.is_empty()
    }

    /// Whether it fetches the same rows and columns as another.
    pub fn fetches_the_same(&self, other: &Self) -> bool {
        !self.is_target
            && !other.is_target
            && self.sample.is_none()
            && other.sample.is_none()
            && self.table == other.table
            && self.columns == other.columns
            && self.conditions == other.conditions
            && self.partners == other.partners
            && self.locks == other.locks
            && (self.alias == other.alias
                || (self.conditions.is_empty() && self.partners.is_empty()))
    }

    /// The query that fetches its rows, without conditions.
    fn query(&self, table: &Table, dialect: Dialect) -> Result<Query, Refusal> {
        let alias = &self.alias;
        let columns = self.columns.iter().map(|column| {
            let name = dialect.quote(&table.columns[*column].name);
            format!("{alias}.{name}")
        });
        let locators = self.locators.iter().map(|name| format!("{alias}.{name}"));
        let mut columns: Vec<String> = locators.chain(columns).collect();
        if columns.is_empty() {
            columns.push("1".to_owned());
        }
        let text = format!(
            "SELECT {} FROM {} AS {alias}",
            columns.join(", "),
            self.name
        );
        let mut query = read(&text, dialect)?;
        for from in &mut select_of(&mut query)?.from {
            if let TableFactor::Table { sample, .. } = &mut from.relation {
                sample.clone_from(&self.sample);
            }
        }
        Ok(query)
    }
}

pub(super) fn read(text: &str, dialect: Dialect) -> Result<Query, Refusal> {
    let statements = dialect.statements(text).unwrap_or_default();
    match <[Statement; 1]>::try_from(statements) {
        Ok([Statement::Query(query)]) => Ok(*query),
        _ => Err(unsupported("a table or column with such a name")),
    }
}

/// The `SELECT` that is the body of a query.
pub(super) fn select_of(query: &mut Query) -> Result<&mut Select, Refusal> {
    match &mut *query.body {
        SetExpr::Select(select) => Ok(select),
        _ => Err(unsupported("a query that is no SELECT")),
    }
}

/// How a column of a relation is made from its array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArrayColumn {
    pub name: String,
    /// The type of the column.
    pub type_name: String,
    pub array_type: ArrayType,
    /// The collation, unless it is that of the database.
    pub collation: Option<String>,
}

/// What an array has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrayType {
    /// Values of the type of the column.
    Own,
    /// Texts, which are cast.
    Text,
    /// Values of a type that is declared with the question, which are cast.
    Declared,
    /// There is none: the column is NULL.
    Null,
}

/// A fetch that was planned.
pub(super) struct Fetched {
    pub statement: Statement,
    pub outputs: Vec<Output>,
    pub relations: super::Relations,
    pub has_index: bool,
}

/// A leg that was analysed.
struct Analysed {
    query: Query,
    columns: Vec<(OutputKind, Element, ArrayColumn)>,
}

/// Plans the fetch of all legs.
pub(super) fn fetch(
    legs: &[Leg],
    server: &ServerLeg,
    locks: &[LockClause],
    analysis: &mut Analysis,
) -> Result<Fetched, Refusal> {
    let mut analysed = Vec::new();
    for leg in legs {
        let locks = if leg.is_located() { locks } else { &leg.locks };
        analysed.push(analyse(leg, locks, analysis)?);
    }
    if server.is_needed() {
        analysed.push(of_server(server, analysis.dialect())?);
    }
    together(analysed, analysis)
}

/// Plans the fetch of all legs where an analysed statement writes the rows of the target and
/// returns its columns.
pub(super) fn fetch_beside(
    legs: &[Leg],
    (written, sealed): (&Statement, &[Option<ColumnId>]),
    analysis: &mut Analysis,
) -> Result<Fetched, Refusal> {
    let mut analysed = Vec::new();
    for (index, leg) in legs.iter().enumerate() {
        if !leg.is_target {
            analysed.push(analyse(leg, &leg.locks, analysis)?);
            continue;
        }
        let columns = returned(leg, sealed, analysis.schema)?;
        let body = match written {
            Statement::Insert(_) => SetExpr::Insert(written.clone()),
            Statement::Update(_) => SetExpr::Update(written.clone()),
            _ => SetExpr::Delete(written.clone()),
        };
        let mut inner = read("SELECT 1", analysis.dialect())?;
        inner.body = Box::new(body);
        let query = over(
            (finisher::WRITTEN_RELATION, index, columns.len()),
            inner,
            analysis.dialect(),
        )?;
        analysed.push(Analysed { query, columns });
    }
    together(analysed, analysis)
}

/// The columns of a leg whose rows a statement returns, where those of these columns are sealed.
///
/// # Errors
/// As those of [`column`].
pub(super) fn returned(
    leg: &Leg,
    sealed: &[Option<ColumnId>],
    schema: &Schema,
) -> Result<Vec<(OutputKind, Element, ArrayColumn)>, Refusal> {
    let unknown = || unsupported("a table that is not known");
    let table = schema.tables.get(&leg.table).ok_or_else(unknown)?;
    if leg.columns.is_empty() {
        return Ok(vec![counted_row()]);
    }
    let columns = leg.columns.iter().enumerate();
    columns
        .map(|(output, index)| {
            let sealed = sealed.get(output).copied().flatten();
            column(table, *index, sealed, schema)
        })
        .collect()
}

/// Analyses the query of a leg with the conditions that the server can decide.
fn analyse(leg: &Leg, locks: &[LockClause], analysis: &mut Analysis) -> Result<Analysed, Refusal> {
    let schema = analysis.schema;
    let table = schema
        .tables
        .get(&leg.table)
        .ok_or_else(|| unsupported("a table that is not known"))?;
    let mut query = leg.query(table, schema.dialect)?;
    query.locks = locks.to_vec();
    let before = analysis.clone();
    let mut attempts = ATTEMPTS_MAX;
    let mut is_decided = |tried: &Query| {
        attempts = attempts.saturating_sub(1);
        let mut attempt = before.clone();
        attempts > 0
            && attempt.query(&mut tried.clone(), None, None).is_ok()
            && attempt.check_parameters().is_ok()
    };
    let mut accepted = query.clone();
    for condition in &leg.conditions {
        let tried = with_condition(&accepted, condition.clone());
        if is_decided(&tried) {
            accepted = tried;
        }
    }
    for partner in &leg.partners {
        let base = accepted.clone();
        let with = |exists: &Expr| with_condition(&base, exists.clone());
        let exists = decided_part(partner, schema.dialect, &mut |exists| {
            is_decided(&with(exists))
        });
        if let Some(exists) = exists {
            accepted = with(&exists);
        }
    }
    query = accepted;
    let outputs = analysis.query(&mut query, None, None)?;
    let outputs = outputs.ok_or_else(|| unsupported("a table whose columns are not known"))?;
    let mut columns = located(leg.locators);
    if leg.columns.is_empty() && columns.is_empty() {
        columns.push(counted_row());
    }
    for (index, output) in leg.columns.iter().zip(outputs.iter().skip(columns.len())) {
        columns.push(column(table, *index, output.sealed, schema)?);
    }
    Ok(Analysed { query, columns })
}

/// That a row has a partner, with those of the conditions on the partner that the server can
/// decide; None: it can decide none of them.
fn decided_part(
    partner: &SemiJoin,
    dialect: Dialect,
    is_decided: &mut dyn FnMut(&Expr) -> bool,
) -> Option<Expr> {
    let text = format!("SELECT 1 FROM {} AS {}", partner.name, partner.alias);
    let mut query = read(&text, dialect).ok()?;
    add_condition(&mut query, partner.on.clone());
    let exists = |query: &Query| Expr::Exists {
        subquery: Box::new(query.clone()),
        negated: false,
    };
    if !is_decided(&exists(&query)) {
        return None;
    }
    let mut is_restricted = false;
    for condition in &partner.conditions {
        let tried = with_condition(&query, condition.clone());
        if is_decided(&exists(&tried)) {
            (query, is_restricted) = (tried, true);
        }
    }
    for next in &partner.partners {
        let base = query.clone();
        let found = decided_part(next, dialect, &mut |inner| {
            is_decided(&exists(&with_condition(&base, inner.clone())))
        });
        if let Some(inner) = found {
            (query, is_restricted) = (with_condition(&base, inner), true);
        }
    }
    is_restricted.then(|| exists(&query))
}

fn with_condition(query: &Query, condition: Expr) -> Query {
    let mut query = query.clone();
    add_condition(&mut query, condition);
    query
}

pub(super) fn add_condition(query: &mut Query, condition: Expr) {
    let SetExpr::Select(select) = &mut *query.body else {
        return;
    };
    let condition = Expr::Nested(Box::new(condition));
    select.selection = Some(match select.selection.take() {
        None => condition,
        Some(earlier) => Expr::BinaryOp {
            left: Box::new(earlier),
            op: BinaryOperator::And,
            right: Box::new(condition),
        },
    });
}

/// The columns by which a row is found again.
fn located(names: &[&str]) -> Vec<(OutputKind, Element, ArrayColumn)> {
    let locators = names.iter().zip(finisher::LOCATOR_TYPES);
    let locators = locators.map(|(name, type_name)| {
        let array = ArrayColumn {
            name: (*name).to_owned(),
            type_name: type_name.to_owned(),
            array_type: ArrayType::Own,
            collation: None,
        };
        (OutputKind::Plain, Element::Binary, array)
    });
    locators.collect()
}

pub(super) fn counted_row() -> (OutputKind, Element, ArrayColumn) {
    let array = ArrayColumn {
        name: ROW.to_owned(),
        type_name: "integer".to_owned(),
        array_type: ArrayType::Own,
        collation: None,
    };
    (OutputKind::Plain, Element::Binary, array)
}

/// Whether the server has printed a collation with its schema: it is none of PostgreSQL's own.
fn is_of_users(collation: &str) -> bool {
    let mut outside_of_quotes = collation.split('"').step_by(2);
    outside_of_quotes.any(|part| part.contains('.'))
}

/// A column of a table, which comes sealed or in clear.
///
/// # Errors
/// The finisher does not know its type.
pub(super) fn column(
    table: &Table,
    index: usize,
    sealed: Option<ColumnId>,
    schema: &Schema,
) -> Result<(OutputKind, Element, ArrayColumn), Refusal> {
    let column = &table.columns[index];
    let name = schema.dialect.quote(&column.name).to_string();
    if let Some(id) = sealed {
        let logical = schema.column(id).logical;
        let array = ArrayColumn {
            name,
            type_name: logical.sql_name(),
            array_type: match logical.opaque().is_some_and(OpaqueType::is_array) {
                true => ArrayType::Text,
                false => ArrayType::Own,
            },
            collation: None,
        };
        return Ok((OutputKind::Sealed(id), Element::Opened(logical), array));
    }
    let known = schema
        .catalogue
        .finisher
        .column_types
        .get(&(table.oid, column.number));
    let type_name = match (known, column.physical) {
        (Some(known), _) => known.name.clone(),
        (None, Some(physical)) => physical.to_string(),
        (None, None) => {
            return Err(unsupported(&format!(
                "column {}.{} of a type that the finisher does not know",
                table.name, column.name
            ))
            .with_hint("Leave the column out, if the statement can do without it."));
        }
    };
    let collation = known.and_then(|known| known.collation.clone());
    if collation.as_deref().is_some_and(is_of_users) {
        return Err(unsupported(&format!(
            "column {}.{} with a collation of users in a query that the finisher evaluates",
            table.name, column.name
        ))
        .with_hint("Leave the column out, if the statement can do without it."));
    }
    let is_text = type_name.ends_with("[]");
    let array = ArrayColumn {
        name,
        type_name,
        array_type: match is_text {
            true => ArrayType::Text,
            false => ArrayType::Own,
        },
        collation,
    };
    let element = match is_text {
        true => Element::Text,
        false => Element::Binary,
    };
    Ok((OutputKind::Plain, element, array))
}

fn of_server(server: &ServerLeg, dialect: Dialect) -> Result<Analysed, Refusal> {
    let known = server.names.iter().filter_map(|name| {
        let (expression, type_name) = finisher::of_server(name)?;
        let array = ArrayColumn {
            name: Ident::with_quote('"', *name).to_string(),
            type_name: type_name.to_owned(),
            array_type: ArrayType::Own,
            collation: None,
        };
        Some((expression, (OutputKind::Plain, Element::Binary, array)))
    });
    let (mut expressions, mut columns): (Vec<&str>, Vec<_>) = known.unzip();
    if server.is_empty {
        expressions.push("1");
        columns.push(counted_row());
    }
    let query = read(&format!("SELECT {}", expressions.join(", ")), dialect)?;
    Ok(Analysed { query, columns })
}

/// A common table expression whose rows are those of arrays. `number` parameters come before them.
pub(super) fn array_relation(name: &str, columns: &[ArrayColumn], number: &mut usize) -> String {
    let mut names = Vec::new();
    let mut arrays = Vec::new();
    let mut values = Vec::new();
    let mut given = Vec::new();
    for column in columns {
        let ArrayColumn {
            name, type_name, ..
        } = column;
        let element = array_element(type_name);
        let array = match column.array_type {
            ArrayType::Own => Some(format!("CAST(${} AS {element}[])", *number + 1)),
            ArrayType::Text => Some(format!("CAST(${} AS text[])", *number + 1)),
            ArrayType::Declared => Some(format!("${}", *number + 1)),
            ArrayType::Null => None,
        };
        let mut value = match column.array_type {
            // What comes out of an array has no modifier, and its cast gives it one.
            ArrayType::Own if !type_name.contains('(') => name.clone(),
            ArrayType::Own | ArrayType::Text | ArrayType::Declared => {
                format!("CAST({name} AS {type_name})")
            }
            ArrayType::Null => format!("CAST(NULL AS {type_name})"),
        };
        if let Some(collation) = &column.collation {
            value = format!("{value} COLLATE {collation}");
        }
        if let Some(array) = array {
            *number += 1;
            arrays.push(array);
            given.push(name.as_str());
        }
        names.push(name.as_str());
        values.push(value);
    }
    let (names, values) = (names.join(", "), values.join(", "));
    let (given, arrays) = (given.join(", "), arrays.join(", "));
    format!(
        "{name} ({names}) AS (SELECT {values} FROM unnest({arrays}) AS strongroom_rows ({given}))"
    )
}
