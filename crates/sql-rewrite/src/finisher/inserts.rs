//! `INSERT` of rows that neither the server nor the proxy can compute: `INSERT … SELECT`, also from
//! `UNNEST`, and `VALUES` with expressions.
//!
//! The finisher computes the rows of the source. The proxy seals what goes into protected columns,
//! and sends all rows in one statement, as arrays: `INSERT INTO t (a, b) SELECT c0, c1 FROM
//! UNNEST($1, $2) AS r (c0, c1)`. So keys that are checked at the end of the statement, triggers,
//! `ON CONFLICT`, `RETURNING` and the count of rows are the server's own. What is the same
//! expression for all rows and stored in a plain column stays in that statement.
//!
//! `ON CONFLICT DO UPDATE` that computes from protected columns is in [`super::conflicts`].
//!
//! Invariant: a plain column gets only values that no protected column took part in ([`lineage`]).

use sqlparser::ast::{
    DoUpdate, Expr, Insert, ObjectName, OnConflict, OnConflictAction, OnInsert, Query, SelectItem,
    SetExpr, Statement, TableObject,
};

use super::arrays::Rows;
use super::conflicts::{Conflicts, RowUpdate};
use super::rows::{Cells, cast_constant, expand_stars, width_of};
use super::targets::{Target, Value, check_width, column_of};
use super::writes::note_types;
use super::{Prepared, arrays, lineage};
use crate::analysis::{
    Analysis, Constant, Outputs, given_always, is_default, output_list, overriding_user,
};
use crate::dialect::marks;
use crate::dialect::postgres::{calls, finisher};
use crate::increment::{has_query, table_of};
use crate::{
    Column, FinisherWrite, Form, InsertedColumn, InsertedRows, Plan, ProtectedColumn, Purpose,
    Refusal, Schema, Source, Table,
};
use sql_plan::{refuse, unsupported};

/// The plan of an `INSERT` that neither the server nor the proxy can do alone.
///
/// # Errors
/// The finisher would do otherwise than the server.
pub(crate) fn of_insert(insert: &Insert, schema: &Schema) -> Result<Plan, Refusal> {
    let keeping = planned(insert, schema, true, None);
    let planned_alone =
        keeping.or_else(|refusal| planned(insert, schema, false, None).map_err(|_| refusal));
    let Err(refusal) = planned_alone else {
        return planned_alone;
    };
    let is_upsert = matches!(
        &insert.on,
        Some(OnInsert::OnConflict(OnConflict {
            action: OnConflictAction::DoUpdate(_),
            ..
        }))
    );
    let TableObject::TableName(name) = &insert.table else {
        return Err(refusal);
    };
    if !is_upsert {
        return Err(refusal);
    }
    let conflicts = Conflicts::of(insert, table_of(name, schema)?, schema)?;
    // What the finisher computes may be a value of EXCLUDED.
    let computing = planned(insert, schema, false, Some(&conflicts));
    computing
        .or_else(|refusal| planned(insert, schema, true, Some(&conflicts)).map_err(|_| refusal))
}

/// The same of an `INSERT` behind `WITH`.
///
/// # Errors
/// The finisher would do otherwise than the server.
pub(super) fn of_with(query: &Query, schema: &Schema) -> Result<Plan, Refusal> {
    let SetExpr::Insert(Statement::Insert(insert)) = &*query.body else {
        return Err(unsupported("a query of this form"));
    };
    let mut insert = insert.clone();
    let has_others = has_query(&insert.on) || has_query(&insert.returning);
    match insert.source.as_deref_mut() {
        Some(source) if source.with.is_none() && !has_others => source.with = query.with.clone(),
        _ => {
            return Err(unsupported(
                "WITH before an INSERT that has other queries than its source",
            ));
        }
    }
    of_insert(&insert, schema)
}

fn planned(
    insert: &Insert,
    schema: &Schema,
    keeps: bool,
    conflicts: Option<&Conflicts>,
) -> Result<Plan, Refusal> {
    let TableObject::TableName(name) = &insert.table else {
        return Err(unsupported("INSERT into what is no table"));
    };
    Analysis::new(schema).refuse_groups(name)?;
    let table = table_of(name, schema)?;
    let mut source = match &insert.source {
        Some(source) => (**source).clone(),
        None => return Err(unsupported("INSERT without values")),
    };
    expand_stars(&mut source, schema);
    let mut targets = targets(insert, table, &source, schema)?;
    let original = source.clone();
    // A row that differs by what the server computes for it alone is another row.
    let is_distinct = is_distinct(&source);
    if let Some(mut cells) = Cells::of(&mut source) {
        decide(
            &mut targets,
            &mut cells,
            (table, schema),
            (keeps, is_distinct),
        )?;
    }
    check_always(&targets, marks::overriding(name), schema)?;
    finisher::check_failing(&source, schema)?;
    let prepared = Prepared::new(source, None, schema)?;
    let is_plain = prepared.legs.iter().all(|leg| {
        let of_leg = schema.tables.get(&leg.table);
        of_leg.is_some_and(|own| {
            let mut columns = leg.columns.iter();
            columns.all(|index| own.columns[*index].protected.is_none())
        })
    });
    check_public(&targets, is_plain, (&original, table), schema)?;
    let (analysis, planned) = Analysis::run(schema, |analysis| {
        if let Some(conflicts) = conflicts {
            super::hide_constants(conflicts.query(), analysis)?;
        }
        let fetched = prepared.fetch(&[], analysis)?;
        let written = write(insert, &targets, (table, conflicts), analysis)?;
        let update = match conflicts {
            Some(conflicts) => Some(conflicts.update((&targets, &written.2), analysis)?),
            None => None,
        };
        Ok((fetched, written, update))
    })?;
    assembled(prepared, (analysis, planned), (&targets, table), conflicts)
}

/// What was planned: the fetch, the `INSERT` with its outputs and arrays, and the statement that
/// writes a row which is there.
type Parts = (
    super::legs::Fetched,
    (Statement, Outputs, Vec<InsertedColumn>),
    Option<RowUpdate>,
);

fn assembled(
    prepared: Prepared,
    (analysis, parts): (Analysis, Parts),
    (targets, table): (&[Target], &Table),
    conflicts: Option<&Conflicts>,
) -> Result<Plan, Refusal> {
    let schema = analysis.schema;
    let (fetched, (written, outputs, columns), update) = parts;
    let rows = (targets, &*columns);
    let pairs = match conflicts {
        Some(conflicts) => Some((conflicts.query(), conflicts.shape(rows, schema)?)),
        None => None,
    };
    let fires_triggers = analysis.fires_triggers;
    let holes = analysis.holes.clone();
    let mut query = prepared.plan(fetched, analysis, pairs)?;
    query.effects.writes = Some((table.schema.clone(), table.name.clone()));
    query.effects.forgets_locks = fires_triggers;
    let translated =
        |statement, outputs| arrays::translated(statement, &holes, outputs, &query, schema.dialect);
    let upsert = match (conflicts, update) {
        (Some(conflicts), Some(update)) => {
            let written = translated(update.statement, output_list(update.outputs))?;
            let written = (written, update.passed);
            Some(conflicts.plan(rows, written, query.parameters, schema)?)
        }
        _ => None,
    };
    let outputs = match conflicts {
        Some(conflicts) => conflicts.outputs(outputs.unwrap_or_default()),
        None => output_list(outputs),
    };
    let write = translated(written, outputs)?;
    Ok(Plan::FinisherWrite(Box::new(FinisherWrite {
        query,
        columns: Vec::new(),
        inserted: Some(InsertedRows {
            width: targets.len(),
            columns,
        }),
        upsert,
        write,
        returning: None,
        verb: "INSERT 0",
    })))
}

/// Refuses a value for a plain column that a protected one may take part in.
fn check_public(
    targets: &[Target],
    is_plain: bool,
    (original, table): (&Query, &Table),
    schema: &Schema,
) -> Result<(), Refusal> {
    for (index, target) in targets.iter().enumerate() {
        let is_public = target.column.protected.is_some()
            || !matches!(target.value, Value::Computed)
            || is_plain
            || lineage::is_public(original, index, schema);
        if !is_public {
            return Err(refuse(format!(
                "a value that protected columns take part in would be stored in column \
                 {}.{}.{}, which is not protected",
                table.schema, table.name, target.column.name
            ))
            .with_hint("Protect the column, or leave it out."));
        }
    }
    Ok(())
}

/// `GENERATED ALWAYS`: no value is computed for such a column.
fn check_always(
    targets: &[Target],
    overriding: Option<&str>,
    schema: &Schema,
) -> Result<(), Refusal> {
    let mut computed = targets
        .iter()
        .filter(|target| matches!(target.value, Value::Computed));
    let rule = |target: &Target| target.column.protected.map(|id| schema.column(id));
    let draws = |target: &&Target| {
        let draws = rule(target).and_then(|rule| rule.draws.as_ref());
        draws.is_some_and(|draws| draws.is_identity)
    };
    match overriding {
        Some(marks::OVERRIDING_SYSTEM) => return Ok(()),
        Some(_) if computed.clone().any(|target| draws(&target)) => return Err(overriding_user()),
        Some(_) => return Ok(()),
        None => {}
    }
    let is_always = |target: &&Target| rule(target).is_some_and(ProtectedColumn::is_always);
    match computed.find(is_always) {
        Some(target) => Err(given_always(&target.column.name)),
        None => Ok(()),
    }
}

/// The columns that the rows of a source go to.
fn targets<'s>(
    insert: &Insert,
    table: &'s Table,
    source: &Query,
    schema: &Schema,
) -> Result<Vec<Target<'s>>, Refusal> {
    let width = width_of(source);
    let count = match (insert.columns.len(), width) {
        (0, None) => {
            return Err(
                unsupported("INSERT of rows whose number of columns is not known")
                    .with_hint("Name the columns of the table."),
            );
        }
        (0, Some(width)) if width <= table.columns.len() => width,
        (count, Some(width)) => {
            check_width(count, width)?;
            count
        }
        (count, None) => count,
    };
    let target = |name: ObjectName, column| Target {
        name,
        column,
        value: Value::Computed,
    };
    if insert.columns.is_empty() {
        let columns = table.columns.iter().take(count);
        let targets = columns.map(|column| {
            let name = ObjectName::from(vec![schema.dialect.quote(&column.name)]);
            target(name, column)
        });
        return Ok(targets.collect());
    }
    let targets = insert
        .columns
        .iter()
        .map(|name| Ok(target(name.clone(), column_of(name, table, schema)?)));
    targets.collect()
}

/// Decides who computes the values of each column. Constants for the finisher get the types of
/// their columns, as the server gives them.
fn decide(
    targets: &mut [Target],
    cells: &mut Cells,
    (table, schema): (&Table, &Schema),
    (keeps, is_distinct): (bool, bool),
) -> Result<(), Refusal> {
    let null = Expr::Value(sqlparser::ast::Value::Null.into());
    let mut kept = Vec::new();
    for (index, target) in targets.iter_mut().enumerate() {
        let mut column = cells.column(index);
        let defaults = column.iter().filter(|cell| is_default(cell)).count();
        if defaults > 0 && defaults == column.len() {
            target.value = Value::Default;
            column.iter_mut().for_each(|cell| **cell = null.clone());
            continue;
        }
        if defaults > 0 && target.column.has_default {
            return Err(unsupported(&format!(
                "DEFAULT of column {} in some of the rows, beside rows that are computed",
                target.column.name
            ))
            .with_hint("Insert the rows with DEFAULT by a statement of their own."));
        }
        if keeps
            && defaults == 0
            && target.column.protected.is_none()
            && let Some(expression) = column.first().map(|cell| (**cell).clone())
            && column.iter().all(|cell| **cell == expression)
            && finisher::is_of_no_row(&expression)?
            && !(is_distinct && calls::varies(&expression, Some(schema)))
        {
            kept.push((index, expression));
            continue;
        }
        for cell in column {
            if is_default(cell) {
                *cell = default_of(target.column, schema)?;
            }
            cast_constant(cell, target.column, (table, schema))?;
        }
    }
    // The number of rows must be seen in at least one array.
    let is_computed = |target: &&Target| matches!(target.value, Value::Computed);
    if targets.iter().filter(is_computed).count() == kept.len() && !kept.is_empty() {
        let (index, _) = kept.remove(0);
        for cell in cells.column(index) {
            cast_constant(cell, targets[index].column, (table, schema))?;
        }
    }
    for (index, expression) in kept {
        let column = cells.column(index);
        column.into_iter().for_each(|cell| *cell = null.clone());
        targets[index].value = Value::Kept(Box::new(expression));
    }
    Ok(())
}

/// Whether rows of a source that are equal become one.
fn is_distinct(source: &Query) -> bool {
    match &*source.body {
        SetExpr::Select(select) => select.distinct.is_some(),
        SetExpr::Query(inner) => is_distinct(inner),
        _ => false,
    }
}

/// `DEFAULT` of a column for which the server has none.
pub(super) fn default_of(column: &Column, schema: &Schema) -> Result<Expr, Refusal> {
    let literal = column
        .protected
        .and_then(|id| schema.column(id).default.clone());
    if literal == Some(crate::Literal::Drawn) {
        return Err(unsupported(&format!(
            "DEFAULT of column {} in some of the rows, beside rows that are computed",
            column.name
        ))
        .with_hint("Insert the rows with DEFAULT by a statement of their own."));
    }
    let mut text = String::new();
    literal.unwrap_or(crate::Literal::Null).write(&mut text);
    finisher::expression(&text).ok_or_else(|| unsupported("a default of this kind"))
}

/// The statement that inserts rows out of arrays, and what these are.
fn write(
    insert: &Insert,
    targets: &[Target],
    (table, conflicts): (&Table, Option<&Conflicts>),
    analysis: &mut Analysis,
) -> Result<(Statement, Outputs, Vec<InsertedColumn>), Refusal> {
    let mut rows = Rows::default();
    let (mut written, outputs) = row(insert, targets, (table, conflicts), &mut rows, analysis)?;
    let items = taken(&mut written, &mut rows, analysis)?;
    let items = items.into_iter().map(SelectItem::UnnamedExpr).collect();
    let source = arrays::select(items, rows.arrays, analysis.dialect())?;
    written.source = Some(Box::new(source));
    Ok((Statement::Insert(written), outputs, rows.columns))
}

/// The statement that inserts a row of computed values, which become the next columns of `rows`.
pub(super) fn row(
    insert: &Insert,
    targets: &[Target],
    (table, conflicts): (&Table, Option<&Conflicts>),
    rows: &mut Rows,
    analysis: &mut Analysis,
) -> Result<(Insert, Outputs), Refusal> {
    let mut row = Vec::new();
    let columns = &mut rows.columns;
    let mut names = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        let number = columns.len();
        match (&target.value, target.column.protected) {
            (Value::Default, _) => continue,
            (Value::Kept(expression), _) => {
                if let Some(constant) = Constant::of(expression)?
                    && let (None, Some(physical)) = (constant.cast, target.column.physical)
                {
                    analysis.parameters.note_type(&constant.source, physical);
                }
                row.push((**expression).clone());
            }
            (Value::Computed, Some(id)) => {
                let form = Form::Sealed(id, Purpose::Store);
                row.push(analysis.hole(Source::Computed(number), form));
                columns.push(InsertedColumn::Sealed(index, id));
            }
            (Value::Computed, None) => {
                row.push(analysis.hole(Source::Computed(number), Form::Plain));
                columns.push(InsertedColumn::Plain(index));
            }
        }
        names.push(target.name.clone());
    }
    let mut written = insert.clone();
    match (conflicts, &insert.on) {
        (Some(conflicts), _) => conflicts.put(&mut written, analysis.schema),
        (
            None,
            Some(OnInsert::OnConflict(OnConflict {
                action: OnConflictAction::DoUpdate(DoUpdate { assignments, .. }),
                ..
            })),
        ) => note_types(assignments, table, analysis)?,
        (None, _) => {}
    }
    written.columns = names;
    let mut source = super::legs::read("VALUES (1)", analysis.dialect())?;
    if let SetExpr::Values(values) = &mut *source.body
        && let Some(first) = values.rows.first_mut()
    {
        first.content = row;
    }
    written.source = Some(Box::new(source));
    let outputs = analysis.insert(&mut written, None)?;
    Ok((written, outputs))
}

/// The row of an `INSERT`, with columns of `rows` in the place of computed values.
pub(super) fn taken(
    insert: &mut Insert,
    rows: &mut Rows,
    analysis: &mut Analysis,
) -> Result<Vec<Expr>, Refusal> {
    let row = match insert.source.as_deref_mut().map(|source| &mut *source.body) {
        Some(SetExpr::Values(values)) => values.rows.pop(),
        _ => None,
    };
    let mut items = row
        .ok_or_else(|| unsupported("a row of this form"))?
        .content;
    for item in &mut items {
        rows.take(item, analysis)?;
    }
    Ok(items)
}
