//! `UPDATE` that computes new values from sealed ones: the server reads and locks the rows, the
//! proxy computes, and one statement writes them.

use std::ops::ControlFlow;

use semantics_postgres::check_assignment;
use sqlparser::ast::{
    Assignment as Set, AssignmentTarget, BinaryOperator, Expr, ObjectName, Query, SelectItem,
    SetExpr, Statement, TableFactor, Update, Visit, Visitor,
};

use crate::analysis::fetched::Fetched;
use crate::analysis::lower::Lowering;
use crate::analysis::meeting::Meetings;
use crate::analysis::template;
use crate::analysis::{Analysis, Scope, output_list};
use crate::dialect::marks;
use crate::dialect::postgres::calls;
use crate::spread;
use crate::walk;
use crate::{
    Assignment, ColumnId, Current, Dialect, Effects, Form, LockKey, Output, OutputKind, Piece,
    Plan, Purpose, ReadModifyWrite, Refusal, RelationKind, Schema, Source, Table, Template,
    Translated, guard, locks,
};
use sql_plan::{refuse, unsupported};

/// The server's hint where it assigns no value of a type to a column.
pub(crate) const NEEDS_CAST: &str = "You will need to rewrite or cast the expression.";

/// The plan of an UPDATE that the server cannot do alone.
pub(crate) fn of_update(update: &Update, schema: &Schema) -> Result<Plan, Refusal> {
    let (_, plan) = Analysis::run(schema, |analysis| increment(update, analysis))?;
    guard::check_depth(plan.assignments.iter().map(|assignment| &assignment.value))?;
    Ok(Plan::ReadModifyWrite(Box::new(plan)))
}

fn increment(update: &Update, analysis: &mut Analysis) -> Result<ReadModifyWrite, Refusal> {
    if update.from.is_some() {
        return Err(unsupported(
            "UPDATE … FROM that computes from protected columns",
        ));
    }
    let (table, name) = updated_table(update, analysis)?;
    let (alias, is_only) = match &update.table.relation {
        TableFactor::Table { name, alias, .. } => (
            alias.as_ref().map(|alias| alias.name.clone()),
            marks::has_only(name),
        ),
        _ => (None, false),
    };
    let dialect = analysis.dialect();
    let renamed = alias.map(|alias| dialect.fold(&alias));
    let scope = Scope::of_table(table, renamed, analysis.schema);
    let (kept, mut computed) = part_assignments(update, table, analysis, &scope)?;
    analysis.complete_groups(&mut computed, &name)?;
    let (assignments, fetched) = lower(&computed, analysis, &scope)?;
    check_unchecked(&assignments, analysis)?;
    let current = fetched.iter().map(current).collect::<Result<Vec<_>, _>>()?;
    let (mut read, read_outputs) = reading(update, &name, fetched, analysis)?;
    let lock_pairs = conditions(&mut read, table, analysis);
    let pairs = lock_pairs.as_ref().map(|(pairs, _)| pairs.as_slice());
    check_queries(update, &kept, table, pairs.unwrap_or_default())?;
    let mut write = writing(update, kept, &computed, analysis);
    let mut by_key = write.clone();
    let finds_one = finds_one(table, pairs.unwrap_or_default());
    let write_all = writing_all((&write, &name), finds_one, &computed, analysis)?;
    locate(&mut write, &name, analysis);
    let outputs = output_list(analysis.update(&mut write, None)?);
    // By its key, the row is found only where nothing else is asked of it.
    let key = lock_pairs
        .filter(|(_, whole)| *whole && !is_only && !changes_key(update, table, dialect))
        // Plain values are not kept with a locked row, nor those that are sealed together.
        .filter(|_| current.iter().all(|one| one.sealed().is_some()))
        .filter(|_| !has_members(&assignments, analysis))
        .and_then(|(pairs, _)| locks::unique_key(table, &pairs))
        .filter(|key| !key.is_empty());
    let write_by_key = match key {
        Some(_) => {
            analysis.update(&mut by_key, None)?;
            Some(template::of(&mut Statement::Update(by_key), dialect)?)
        }
        None => None,
    };
    let write = template::of(&mut Statement::Update(write), dialect)?;
    let read = locked_as_written(template::of(&mut Statement::Query(read), dialect)?, dialect);
    let is_exact = key.is_some();
    let (read, key) = translated(read, read_outputs, key.unwrap_or_default(), analysis);
    Ok(ReadModifyWrite {
        read,
        current,
        assignments,
        write: translated(write, outputs.clone(), Vec::new(), analysis).0,
        write_all: write_all
            .map(|template| translated(template, outputs.clone(), Vec::new(), analysis).0),
        write_by_key: write_by_key
            .map(|template| translated(template, outputs, Vec::new(), analysis).0),
        locks: is_exact.then(|| LockKey {
            table: (table.schema.clone(), table.name.clone()),
            key,
            read: Vec::new(),
            wider: None,
        }),
        effects: effects(table, analysis),
    })
}

/// Refuses to compute values of columns with check constraints, which the proxy does not evaluate.
fn check_unchecked(assignments: &[Assignment], analysis: &Analysis) -> Result<(), Refusal> {
    let mut written = assignments.iter().map(|own| own.column);
    match written.find(|column| analysis.column(*column).is_checked()) {
        None => Ok(()),
        Some(column) => Err(refuse(format!(
            "protected column {} has check constraints, which a computed value is not checked by \
             here",
            analysis.title(column)
        ))),
    }
}

/// Whether a column that is written is sealed with others.
fn has_members(assignments: &[Assignment], analysis: &Analysis) -> bool {
    let mut written = assignments.iter().map(|own| own.column);
    written.any(|column| analysis.schema.is_member(column))
}

/// Whether the statement may change the key of the row.
fn changes_key(update: &Update, table: &Table, dialect: Dialect) -> bool {
    update.assignments.iter().any(|assignment| {
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return true;
        };
        let index = dialect
            .split(name)
            .and_then(|(_, column)| table.position(&column));
        index.is_none_or(|index| table.unique_keys.iter().any(|key| key.contains(&index)))
    })
}

/// Rows are locked as UPDATE would lock them, by words that the parser may not know.
pub(crate) fn locked_as_written(mut read: Template, dialect: Dialect) -> Template {
    if let Some(Piece::Text(last)) = read.pieces.last_mut()
        && let Some(before) = last.strip_suffix("FOR UPDATE")
    {
        *last = format!("{before}{}", dialect.lock_of_update());
    }
    read
}

fn effects(table: &Table, analysis: &Analysis) -> Effects {
    Effects {
        writes: Some((table.schema.clone(), table.name.clone())),
        forgets_locks: table.has_triggers,
        uses: analysis.uses.clone(),
        ..Effects::default()
    }
}

/// What the proxy computes, and the columns that it needs for it.
fn lower(
    computed: &[Computed],
    analysis: &mut Analysis,
    scope: &Scope,
) -> Result<(Vec<Assignment>, Vec<Fetched>), Refusal> {
    let before = analysis.dialect().row_locator().len();
    let mut lowering = Lowering {
        analysis,
        scope,
        fetched: Vec::new(),
        before,
        plain: true,
    };
    let mut assignments = Vec::new();
    for (column, _, value) in computed {
        let target = lowering.analysis.column(*column);
        let (value, own) = lowering.lower(value, Some(target.logical))?;
        if let Some(own) = own {
            let checked = check_assignment(&target.column, own, target.logical);
            checked.map_err(|error| {
                refuse(error.message)
                    .with_state(error.sqlstate)
                    .with_hint(NEEDS_CAST)
            })?;
        }
        assignments.push(Assignment {
            column: *column,
            value,
        });
    }
    let fetched = lowering.fetched;
    let values: Vec<_> = assignments.iter().map(|own| &own.value).collect();
    let expressions: Vec<&Expr> = fetched.iter().map(|own| &own.expression).collect();
    calls::check((&expressions, before), &values, false, analysis.schema)?;
    let meetings = Meetings::new(analysis, &fetched, before);
    for assignment in &assignments {
        meetings.check_stored(assignment.column, &assignment.value)?;
    }
    Ok((assignments, fetched))
}

/// A column to be read: of a type that the proxy can compute with.
fn current(fetched: &Fetched) -> Result<Current, Refusal> {
    if fetched.gathered.is_some() {
        return Err(unsupported("aggregates in what is computed for an UPDATE"));
    }
    match (fetched.sealed, fetched.logical) {
        (Some(column), _) => Ok(Current::Sealed(column)),
        (None, Some(logical)) => Ok(Current::Plain(logical)),
        (None, None) => Err(unsupported(
            "computing a protected column from a value whose type is not known",
        )
        .with_hint("Compute the value in the client, and pass it as a parameter.")),
    }
}

/// A statement with the holes that its text has; the holes of the key are renumbered with them.
fn translated(
    template: Template,
    outputs: Vec<Output>,
    key: Vec<(usize, usize)>,
    analysis: &Analysis,
) -> (Translated, Vec<(usize, usize)>) {
    let (template, holes, key) = template::compact(template, &analysis.holes, key);
    let translated = Translated {
        template,
        holes,
        outputs,
        parameter_types: analysis.parameters.types(),
        locks: None,
    };
    (translated, key)
}

/// The table, and the name that qualifies its columns.
fn updated_table<'s>(
    update: &Update,
    analysis: &Analysis<'s>,
) -> Result<(&'s Table, String), Refusal> {
    let found = protected_table(&update.table.relation, analysis.schema)?;
    let TableFactor::Table { alias, .. } = &update.table.relation else {
        return Err(unsupported("UPDATE of what is no table"));
    };
    let name = alias.as_ref().map_or_else(
        || found.name.clone(),
        |alias| analysis.dialect().fold(&alias.name),
    );
    Ok((found, name))
}

/// The protected table that a statement writes.
fn protected_table<'s>(factor: &TableFactor, schema: &'s Schema) -> Result<&'s Table, Refusal> {
    let found = written_table(factor, schema).ok();
    let found = found.filter(|found| found.is_protected());
    found.ok_or_else(|| {
        unsupported("computing a column of a table that is not protected from one that is")
    })
}

/// The table that a statement writes.
pub(crate) fn written_table<'s>(
    factor: &TableFactor,
    schema: &'s Schema,
) -> Result<&'s Table, Refusal> {
    match factor {
        TableFactor::Table { name, .. } => table_of(name, schema),
        _ => Err(unsupported("a statement that writes what is no table")),
    }
}

/// The table of a name.
pub(crate) fn table_of<'s>(name: &ObjectName, schema: &'s Schema) -> Result<&'s Table, Refusal> {
    let (own, table) = schema
        .dialect
        .split(name)
        .ok_or_else(|| unsupported("a computed name"))?;
    let found = schema.find(own.as_deref(), &table);
    let found = found.filter(|found| found.kind == RelationKind::Table);
    found.ok_or_else(|| unsupported("writing what is no table by what the finisher finds"))
}

/// Whether a condition that has these comparisons finds at most one row.
fn finds_one(table: &Table, pairs: &[(usize, usize)]) -> bool {
    locks::unique_key(table, pairs).is_some_and(|key| !key.is_empty())
}

/// Refuses a query in what the server does with several rows: it comes later than what reads them,
/// and the query could see other rows.
fn check_queries(
    update: &Update,
    kept: &[Set],
    table: &Table,
    pairs: &[(usize, usize)],
) -> Result<(), Refusal> {
    let mut kept = kept.iter();
    if finds_one(table, pairs) || !(has_query(&update.returning) || kept.any(has_query)) {
        return Ok(());
    }
    Err(
        unsupported("a query in an UPDATE of several rows that the proxy has to compute")
            .with_hint("Find the row by a unique key, or use the query in a statement of its own."),
    )
}

pub(crate) fn has_query<T: Visit>(part: &T) -> bool {
    walk::visit(part, &mut Queries).is_break()
}

/// Stops at a query.
struct Queries;

impl Visitor for Queries {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

pub(crate) type Computed = (ColumnId, AssignmentTarget, Expr);

/// Assignments that the server can do, and those that need old values.
pub(crate) fn part_assignments(
    update: &Update,
    table: &Table,
    analysis: &Analysis,
    scope: &Scope,
) -> Result<(Vec<Set>, Vec<Computed>), Refusal> {
    let mut kept = Vec::new();
    let mut computed: Vec<Computed> = Vec::new();
    for assignment in &update.assignments {
        if let Some(member) = analysis.assigned_member(assignment, table)? {
            if computed.iter().any(|(other, ..)| *other == member) {
                return Err(analysis.assigned_twice(member));
            }
            computed.push((member, assignment.target.clone(), assignment.value.clone()));
            continue;
        }
        let mut attempt = analysis.clone();
        let mut changed = [assignment.clone()];
        let done = attempt.assignments(&mut changed, Some(table), scope);
        let Err(refusal) = done else {
            kept.push(assignment.clone());
            continue;
        };
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return Err(refusal);
        };
        let index = analysis
            .dialect()
            .split(name)
            .and_then(|(_, column)| table.position(&column));
        let Some(column) = index.and_then(|index| table.columns[index].protected) else {
            return Err(refusal);
        };
        let target = assignment.target.clone();
        computed.push((column, target, assignment.value.clone()));
    }
    Ok((kept, computed))
}

/// `SELECT ctid, tableoid, columns FROM table WHERE … FOR UPDATE`, analysed.
fn reading(
    update: &Update,
    name: &str,
    columns: Vec<Fetched>,
    analysis: &mut Analysis,
) -> Result<(Box<Query>, Vec<Output>), Refusal> {
    let dialect = analysis.dialect();
    let skeleton = dialect.parse("SELECT 1 FROM a FOR UPDATE");
    let Ok(Statement::Query(mut query)) = skeleton else {
        unreachable!("the skeleton is a query");
    };
    let SetExpr::Select(select) = &mut *query.body else {
        unreachable!("the skeleton is a SELECT");
    };
    let locators = dialect.row_locator();
    let locator = |column: &&str| qualified(name, column, dialect);
    select.projection = locators
        .iter()
        .map(|column| SelectItem::UnnamedExpr(locator(column)))
        .collect();
    select.from = vec![update.table.clone()];
    select.selection = update.selection.clone();
    analysis.query(&mut query, None, None)?;
    let sealed = columns.iter().map(|one| one.sealed);
    let outputs = std::iter::repeat_n(None, locators.len())
        .chain(sealed)
        .map(|sealed| Output::shown(sealed.map_or(OutputKind::Plain, OutputKind::Sealed)));
    let outputs = outputs.collect();
    // They are analysed already.
    let SetExpr::Select(select) = &mut *query.body else {
        unreachable!("the skeleton is a SELECT");
    };
    let columns = columns.into_iter().map(|one| one.expression);
    select
        .projection
        .extend(columns.map(SelectItem::UnnamedExpr));
    Ok((query, outputs))
}

/// Columns that the condition compares with holes, and whether that is all of it.
fn conditions(
    query: &mut Query,
    table: &Table,
    analysis: &mut Analysis,
) -> Option<(Vec<(usize, usize)>, bool)> {
    let SetExpr::Select(select) = &mut *query.body else {
        return None;
    };
    let condition = select.selection.as_mut()?;
    Some(locks::equalities(analysis, table, condition))
}

/// The UPDATE with a hole for each computed value.
fn writing(
    update: &Update,
    kept: Vec<Set>,
    computed: &[Computed],
    analysis: &mut Analysis,
) -> Update {
    let mut assignments = kept;
    assignments.extend(computed_holes(computed, analysis));
    Update {
        assignments,
        ..update.clone()
    }
}

/// The UPDATE that writes all rows, given the one with a hole for each value. None: there is at
/// most one, or the dialect writes rows one by one.
fn writing_all(
    (write, name): (&Update, &str),
    finds_one: bool,
    computed: &[Computed],
    analysis: &mut Analysis,
) -> Result<Option<Template>, Refusal> {
    let dialect = analysis.dialect();
    let arrays = spread::locators(analysis).filter(|_| !finds_one);
    let Some(mut arrays) = arrays else {
        return Ok(None);
    };
    let columns: Vec<ColumnId> = computed.iter().map(|(column, ..)| *column).collect();
    arrays.extend(spread::computed(&columns, analysis));
    let mut all = Update {
        selection: None,
        ..write.clone()
    };
    analysis.update(&mut all, None)?;
    spread::update(&mut all, &dialect.quote(name), arrays, dialect)?;
    template::of(&mut Statement::Update(all), dialect).map(Some)
}

/// The assignments of computed values. Those that are sealed together are one.
pub(crate) fn computed_holes(computed: &[Computed], analysis: &mut Analysis) -> Vec<Set> {
    let mut assignments = Vec::new();
    for (number, (column, target, _)) in computed.iter().enumerate() {
        if analysis.schema.holder_of(*column) != Some(*column) {
            continue;
        }
        let form = Form::Sealed(*column, Purpose::Store);
        assignments.push(Set {
            target: target.clone(),
            value: analysis.hole(Source::Computed(number), form),
        });
    }
    assignments
}

/// Finds the row by its locator.
fn locate(update: &mut Update, name: &str, analysis: &mut Analysis) {
    update.selection = locate_rows(name, analysis);
}

/// The condition that finds a row by its locator.
pub(crate) fn locate_rows(name: &str, analysis: &mut Analysis) -> Option<Expr> {
    let dialect = analysis.dialect();
    let equal = dialect
        .row_locator()
        .iter()
        .enumerate()
        .map(|(number, column)| Expr::BinaryOp {
            left: Box::new(qualified(name, column, dialect)),
            op: BinaryOperator::Eq,
            right: Box::new(analysis.hole(Source::Locator(number), Form::Plain)),
        });
    equal.reduce(|left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::And,
        right: Box::new(right),
    })
}

/// A column of a relation that has this name.
fn qualified(relation: &str, column: &str, dialect: Dialect) -> Expr {
    Expr::CompoundIdentifier(vec![dialect.quote(relation), column.into()])
}
