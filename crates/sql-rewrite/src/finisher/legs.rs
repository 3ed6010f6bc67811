//! The statement that fetches the rows of all relations of a query, and the arrays that they
//! become.
//!
//! Each relation is a *leg* of one `UNION ALL`, so that all are of one snapshot. A leg has its
//! index in the first column, and NULL in the columns of the others.

use column_value::OpaqueType;
use sqlparser::ast::{
    BinaryOperator, Expr, Ident, LockClause, ObjectName, Query, Select, SelectItem, SetExpr,
    SetOperator, SetQuantifier, Statement, TableFactor, TableSampleKind, Value, With,
};

use super::semi_joins::SemiJoin;
use crate::analysis::Analysis;
use crate::dialect::postgres::finisher;
use crate::dialect::postgres::names::array_element;
use crate::{ColumnId, Dialect, Output, OutputKind, Refusal, Schema, Table};
use sql_plan::{Element, FetchedColumnPlan, FetchedRelation, unsupported};

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
        !self.is_located()
            && !other.is_located()
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
    let dialect = analysis.dialect();
    let mut analysed = Vec::new();
    for leg in legs {
        let locks = if leg.is_located() { locks } else { &leg.locks };
        analysed.push(analyse(leg, locks, analysis)?);
    }
    if server.is_needed() {
        analysed.push(of_server(server, dialect)?);
    }
    let has_index = analysed.len() != 1;
    let mut outputs = Vec::new();
    if has_index {
        outputs.push(Output::shown(OutputKind::Plain));
    }
    let mut relations = Vec::new();
    let mut fillers = Vec::new();
    for leg in &analysed {
        let mut relation = FetchedRelation {
            columns: Vec::new(),
        };
        let mut arrays = Vec::new();
        for (kind, element, array) in &leg.columns {
            relation.columns.push(FetchedColumnPlan {
                output: outputs.len(),
                element: *element,
            });
            outputs.push(Output::shown(*kind));
            fillers.push(filler(*kind, array, analysis.schema)?);
            arrays.push(array.clone());
        }
        relations.push((relation, arrays));
    }
    let query = match has_index {
        false => analysed.pop().map(|leg| leg.query),
        true => united(analysed, &fillers, dialect)?,
    };
    let query = query.ok_or_else(|| unsupported("a query without a table"))?;
    Ok(Fetched {
        statement: Statement::Query(Box::new(query)),
        outputs,
        relations,
        has_index,
    })
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
    let is_text = type_name.ends_with("[]");
    let array = ArrayColumn {
        name,
        type_name,
        array_type: match is_text {
            true => ArrayType::Text,
            false => ArrayType::Own,
        },
        collation: known.and_then(|known| known.collation.clone()),
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

/// What stands in a column in the rows of the other legs.
fn filler(kind: OutputKind, array: &ArrayColumn, schema: &Schema) -> Result<Expr, Refusal> {
    let type_name = match kind {
        OutputKind::Plain => &array.type_name,
        OutputKind::Sealed(id) | OutputKind::Gathered(id, _) => {
            schema.column(id).server_type().name()
        }
    };
    let query = read(&format!("SELECT CAST(NULL AS {type_name})"), schema.dialect)?;
    let unknown = || unsupported(&format!("a column of type {type_name}"));
    match *query.body {
        SetExpr::Select(select) => match <[SelectItem; 1]>::try_from(select.projection) {
            Ok([SelectItem::UnnamedExpr(null)]) => Ok(null),
            _ => Err(unknown()),
        },
        _ => Err(unknown()),
    }
}

/// One query that returns the rows of all legs.
fn united(
    legs: Vec<Analysed>,
    fillers: &[Expr],
    dialect: Dialect,
) -> Result<Option<Query>, Refusal> {
    let mut whole: Option<Query> = None;
    let mut locked: Option<With> = None;
    let mut start = 0;
    for (index, leg) in legs.into_iter().enumerate() {
        let mut query = leg.query;
        if !query.locks.is_empty() {
            query = over_locked((index, leg.columns.len()), query, dialect)?;
            let own = query.with.take();
            match (&mut locked, own) {
                (Some(locked), Some(own)) => locked.cte_tables.extend(own.cte_tables),
                (locked, own) => *locked = own,
            }
        }
        let SetExpr::Select(select) = &mut *query.body else {
            return Ok(None);
        };
        widen(select, index, start, fillers);
        start += leg.columns.len();
        whole = Some(match whole {
            None => query,
            Some(mut earlier) => {
                earlier.body = Box::new(SetExpr::SetOperation {
                    op: SetOperator::Union,
                    set_quantifier: SetQuantifier::All,
                    left: earlier.body,
                    right: query.body,
                });
                earlier
            }
        });
    }
    if let Some(whole) = &mut whole {
        whole.with = locked;
    }
    Ok(whole)
}

/// A query over another one that locks its rows: no part of a union may lock.
fn over_locked(
    (index, count): (usize, usize),
    inner: Query,
    dialect: Dialect,
) -> Result<Query, Refusal> {
    let names: Vec<String> = (0..count).map(|number| format!("c{number}")).collect();
    let names = names.join(", ");
    let name = format!("{}_{index}", finisher::LOCKED_RELATION);
    let text = format!("WITH {name} ({names}) AS (SELECT 1) SELECT {names} FROM {name}");
    let mut query = read(&text, dialect)?;
    for cte in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
        *cte.query = inner.clone();
    }
    Ok(query)
}

/// Puts the index of a leg and the columns of the others around its own, which begin at `start`.
fn widen(select: &mut Select, index: usize, start: usize, fillers: &[Expr]) {
    let own = std::mem::take(&mut select.projection);
    let end = start + own.len();
    let number = Value::Number(index.to_string(), false);
    let filler = |null: &Expr| SelectItem::UnnamedExpr(null.clone());
    select
        .projection
        .push(SelectItem::UnnamedExpr(Expr::Value(number.into())));
    select
        .projection
        .extend(fillers[..start].iter().map(filler));
    select.projection.extend(own);
    select.projection.extend(fillers[end..].iter().map(filler));
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
