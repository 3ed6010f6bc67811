//! `INSERT`, `UPDATE` and `DELETE` with a `RETURNING` that computes from protected columns:
//! `UPDATE t SET paid = now() RETURNING upper(name)`.
//!
//! The server gets the client's statement, which returns the columns that the list names. The
//! finisher evaluates the list over these rows. So defaults, triggers and generated columns have
//! done their work, as in the server alone.
//!
//! Where the finisher also finds the rows that are written or their values ([`super::writes`],
//! [`super::inserts`]), the statement that writes them returns the columns in the same way.
//!
//! Where the list has queries ([`queries`]), the server's statement also fetches the rows of their
//! tables: `WITH w AS (UPDATE …) SELECT … FROM w UNION ALL SELECT …`.
//!
//! Invariants:
//! 1. Each expression of the list is of one row: the server evaluates no other there, and the
//!    finisher would.
//! 2. No parameter is in the list. So the server knows all of the statement's parameters, and the
//!    finisher has none but its arrays.

mod queries;

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FromTable, Function, FunctionArguments, Ident, ObjectName, Query, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Statement, TableFactor, TableObject, TableWithJoins,
    UpdateTableFromKind, Value, Visitor,
};

use super::legs::{self, Leg, select_of};
use super::parameters::parameters_of;
use super::with_writes::check_others;
use super::{Prepared, Relations, hide_constants, others, text_of, translated};
use crate::analysis::Analysis;
use crate::dialect::marks;
use crate::dialect::postgres::finisher;
use crate::dialect::postgres::names::builtin;
use crate::increment::has_query;
use crate::translate::translate_hiding;
use crate::verify;
use crate::walk;
use crate::{Effects, OutputKind, Plan, Refusal, Schema, Translated};
use sql_plan::{FetchedColumnPlan, FetchedRelation, FinisherQuery, unsupported};

/// The plan of a statement of which the server can do all but the list of `RETURNING`. None: it has
/// no such list, or the server cannot do the rest either.
///
/// # Errors
/// The finisher would evaluate the list otherwise than the server.
pub(crate) fn of_statement(
    statement: &Statement,
    schema: &Schema,
) -> Result<Option<Plan>, Refusal> {
    let Some(target) = Target::of(statement) else {
        return Ok(None);
    };
    let alone = returning(statement, None);
    if translate_hiding(&alone, schema, |_| Ok(())).is_err() {
        return Ok(None);
    }
    let list = List::of(target.checked(schema)?, None, schema)?;
    list.plan(statement, target.verb, schema).map(Some)
}

/// The plan of a query over rows that a statement in its `WITH` writes and returns, where the
/// server can do that statement. None: it is no such query.
///
/// # Errors
/// The finisher would evaluate it otherwise than the server.
pub(super) fn of_query(query: &Query, schema: &Schema) -> Result<Option<Plan>, Refusal> {
    if !matches!(
        *query.body,
        SetExpr::Select(_) | SetExpr::SetOperation { .. } | SetExpr::Query(_)
    ) {
        return Ok(None);
    }
    let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
    let mut parts = ctes
        .enumerate()
        .filter_map(|(index, cte)| match &*cte.query.body {
            SetExpr::Insert(part) | SetExpr::Update(part) | SetExpr::Delete(part) => {
                Some((index, part, Target::of(part)?))
            }
            _ => None,
        });
    let (Some((index, part, target)), None) = (parts.next(), parts.next()) else {
        return Ok(None);
    };
    if check_others(query, index, schema.dialect).is_err()
        || translate_hiding(&returning(part, None), schema, |_| Ok(())).is_err()
    {
        return Ok(None);
    }
    let mut over = query.clone();
    if let Some(with) = &mut over.with {
        *with.cte_tables[index].query = target.checked(schema)?;
    }
    finisher::check(&over, schema)?;
    check_parameters(&over)?;
    List::of(over, Some(index), schema)?
        .plan(part, "SELECT", schema)
        .map(Some)
}

fn check_parameters(query: &Query) -> Result<(), Refusal> {
    if parameters_of(query)?.is_empty() {
        return Ok(());
    }
    Err(
        unsupported("a parameter in RETURNING, beside what is computed from protected columns,")
            .with_hint("Compute with it in the program."),
    )
}

/// The plan of a statement whose rows or values the finisher finds, and what it returns as well.
/// None: it has no such list, or the finisher cannot do the rest either.
///
/// # Errors
/// As those of [`of_statement`].
pub(crate) fn of_found(
    statement: &Statement,
    schema: &Schema,
    found: impl Fn(&Statement) -> Result<Plan, Refusal>,
) -> Result<Option<Plan>, Refusal> {
    let Some(target) = Target::of(statement) else {
        return Ok(None);
    };
    // What becomes of queries, [`super::writes`] says.
    if has_query(&target.list) || found(&returning(statement, None)).is_err() {
        return Ok(None);
    }
    let list = List::of(target.checked(schema)?, None, schema)?;
    let plan = found(&returning(statement, Some(list.returned.clone())))?;
    let Plan::FinisherWrite(mut write) = plan else {
        return Err(of_form());
    };
    if write.upsert.is_some() {
        return Err(of_form());
    }
    let effects = Effects::default();
    write.returning = Some(list.query(write.write.clone(), (target.verb, effects), schema)?);
    let plan = Plan::FinisherWrite(write);
    match verify::check(&plan, schema) {
        Ok(()) => Ok(Some(plan)),
        Err(_) => Err(unsupported(
            "a constant that is sent to the server in clear, and met by protected columns in \
             RETURNING,",
        )
        .with_hint("Compute with it in the program.")),
    }
}

fn of_form() -> Refusal {
    unsupported("RETURNING that computes from protected columns, of a statement of this form,")
        .with_hint("Return the columns, and compute in the program.")
}

/// A list that the finisher evaluates over the columns that it names.
struct List {
    prepared: Prepared,
    /// What the server returns for it.
    returned: Vec<SelectItem>,
}

impl List {
    /// The list in a query over the table that is written, or in such a part of its `WITH`.
    fn of(mut query: Query, part: Option<usize>, schema: &Schema) -> Result<Self, Refusal> {
        let place = match part {
            None => Some(&mut query),
            Some(index) => {
                let with = query.with.as_mut();
                let cte = with.and_then(|with| with.cte_tables.get_mut(index));
                cte.map(|cte| &mut *cte.query)
            }
        };
        let select = select_of(place.ok_or_else(of_form)?)?;
        let from = select.from.first().ok_or_else(of_form)?;
        let factor = std::ptr::from_ref(&from.relation);
        let mut prepared = Prepared::new(query, Some((factor, &[])), schema)?;
        if prepared.server.is_needed() {
            return Err(unsupported(
                "what the server says of the moment or of the session, in RETURNING, beside what \
                 is computed from protected columns,",
            )
            .with_hint("Ask for it in a query of its own."));
        }
        // They would be rows of the target as they were before.
        prepared
            .legs
            .iter_mut()
            .for_each(|leg| leg.partners.clear());
        let leg = target_of(&prepared)?;
        let table = schema.tables.get(&leg.table).ok_or_else(of_form)?;
        let returned = leg.columns.iter().map(|index| {
            let name = schema.dialect.quote(&table.columns[*index].name);
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(vec![leg.alias.clone(), name]))
        });
        let mut returned: Vec<SelectItem> = returned.collect();
        if returned.is_empty() {
            let one = Value::Number("1".to_owned(), false);
            returned.push(SelectItem::UnnamedExpr(Expr::value(one)));
        }
        Ok(Self { prepared, returned })
    }

    /// The plan of a statement that the server does.
    fn plan(
        self,
        statement: &Statement,
        verb: &'static str,
        schema: &Schema,
    ) -> Result<Plan, Refusal> {
        let fetching = returning(statement, Some(self.returned.clone()));
        let hide = |analysis: &mut Analysis| hide_constants(&self.prepared.query, analysis);
        if self.prepared.legs.len() == 1 {
            let (fetch, effects) = translate_hiding(&fetching, schema, hide)?;
            let query = self.query(fetch, (verb, effects), schema)?;
            return Ok(Plan::Finisher(Box::new(query)));
        }
        let (analysis, fetched) = Analysis::run(schema, |analysis| {
            hide(analysis)?;
            let mut written = fetching.clone();
            let outputs = analysis.writing(&mut written)?.ok_or_else(of_form)?;
            let sealed: Vec<_> = outputs.iter().map(|output| output.sealed).collect();
            legs::fetch_beside(&self.prepared.legs, (&written, &sealed), analysis)
        })?;
        let legs::Fetched {
            mut statement,
            outputs,
            relations,
            has_index,
        } = fetched;
        let fetch = translated(&mut statement, outputs, &analysis)?;
        let effects = Effects {
            writes: analysis.writes,
            forgets_locks: analysis.fires_triggers,
            uses: analysis.uses,
            ..Effects::default()
        };
        let query = self.over(fetch, (relations, has_index), (verb, effects), schema)?;
        Ok(Plan::Finisher(Box::new(query)))
    }

    /// The query of the finisher over the rows that a statement returns, and no others.
    fn query(
        self,
        fetch: Translated,
        returned: (&'static str, Effects),
        schema: &Schema,
    ) -> Result<FinisherQuery, Refusal> {
        let [leg] = self.prepared.legs.as_slice() else {
            return Err(of_form());
        };
        let sealed = fetch.outputs.iter().map(|output| match output.kind {
            OutputKind::Sealed(id) => Some(id),
            _ => None,
        });
        let sealed: Vec<_> = sealed.collect();
        let columns = legs::returned(leg, &sealed, schema)?;
        let plans = columns.iter().enumerate();
        let plans = plans.map(|(output, (_, element, _))| FetchedColumnPlan {
            output,
            element: *element,
        });
        let relation = FetchedRelation {
            columns: plans.collect(),
        };
        let arrays = columns.into_iter().map(|(_, _, array)| array).collect();
        self.over(fetch, (vec![(relation, arrays)], false), returned, schema)
    }

    /// The query of the finisher over the rows of a fetch.
    fn over(
        self,
        fetch: Translated,
        (relations, has_index): (Relations, bool),
        (verb, effects): (&'static str, Effects),
        schema: &Schema,
    ) -> Result<FinisherQuery, Refusal> {
        let Prepared {
            query,
            legs,
            server,
        } = self.prepared;
        let text = text_of(query, (&legs, &server), (&relations, 0), None, schema)?;
        let relations = relations.into_iter().map(|(relation, _)| relation);
        Ok(FinisherQuery {
            fetch,
            has_index,
            is_of_no_row: false,
            relations: relations.collect(),
            text,
            parameters: 0,
            declared: Vec::new(),
            returned_by: Some(verb),
            effects,
        })
    }
}

/// The leg of the table that is written.
fn target_of(prepared: &Prepared) -> Result<&Leg, Refusal> {
    let mut targets = prepared.legs.iter().filter(|leg| leg.is_target);
    match (targets.next(), targets.next()) {
        (Some(leg), None) => Ok(leg),
        _ => Err(of_form()),
    }
}

/// The table that is written, and what the statement returns of it.
struct Target {
    name: ObjectName,
    alias: Option<Ident>,
    /// What the client is told that was done.
    verb: &'static str,
    list: Vec<SelectItem>,
    /// The other relations whose columns the list may name.
    others: Vec<TableWithJoins>,
}

impl Target {
    fn of(statement: &Statement) -> Option<Self> {
        let (name, alias, verb, others) = match statement {
            Statement::Insert(insert) => {
                let TableObject::TableName(name) = &insert.table else {
                    return None;
                };
                let alias = insert.table_alias.as_ref().map(|own| own.alias.clone());
                (name, alias, "INSERT 0", Vec::new())
            }
            Statement::Update(update) => {
                let others = match &update.from {
                    None => Vec::new(),
                    Some(
                        UpdateTableFromKind::AfterSet(tables)
                        | UpdateTableFromKind::BeforeSet(tables),
                    ) => tables.clone(),
                };
                let (name, alias) = named(&update.table)?;
                (name, alias, "UPDATE", others)
            }
            Statement::Delete(delete) => {
                let FromTable::WithFromKeyword(from) = &delete.from else {
                    return None;
                };
                let [table] = from.as_slice() else {
                    return None;
                };
                let (name, alias) = named(table)?;
                let others = delete.using.clone().unwrap_or_default();
                (name, alias, "DELETE", others)
            }
            _ => return None,
        };
        Some(Self {
            name: name.clone(),
            alias,
            verb,
            list: list_of(&mut statement.clone())?.take()?,
            others,
        })
    }

    /// The query that has the list over the table.
    ///
    /// # Errors
    /// The list means something else there.
    fn checked(&self, schema: &Schema) -> Result<Query, Refusal> {
        let alias = match &self.alias {
            Some(alias) => format!(" AS {alias}"),
            None => String::new(),
        };
        let text = format!("SELECT 1 FROM {}{alias}", self.name);
        let mut query = legs::read(&text, schema.dialect)?;
        select_of(&mut query)?.projection = self.list.clone();
        self.check(&query, schema)?;
        Ok(query)
    }

    /// Whether the table is one of this namespace.
    fn is_in(&self, namespace: &str, schema: &Schema) -> bool {
        let table = schema.dialect.split(&self.name);
        let table = table.and_then(|(own, name)| schema.find(own.as_deref(), &name));
        table.is_some_and(|table| table.schema == namespace)
    }

    fn check(&self, query: &Query, schema: &Schema) -> Result<(), Refusal> {
        check_parameters(query)?;
        finisher::check(query, schema)?;
        let last = self.name.0.last().and_then(|part| part.as_ident());
        let own = self.alias.as_ref().or(last);
        let own = own.map(|own| schema.dialect.fold(own)).unwrap_or_default();
        let is_own = |name: &ObjectName| {
            let split = schema.dialect.split(name);
            matches!(split, Some((None, name)) if name == own)
        };
        for item in &self.list {
            if let SelectItem::QualifiedWildcard(kind, _) = item
                && !matches!(
                    kind,
                    SelectItemQualifiedWildcardKind::ObjectName(name) if is_own(name)
                )
            {
                return Err(of_another(item));
            }
        }
        let mut outside = Outside {
            target: self,
            own: &own,
            schema,
            depth: 0,
        };
        if let ControlFlow::Break(refusal) = walk::visit(&self.list, &mut outside) {
            return Err(refusal);
        }
        if has_query(&self.list) {
            queries::check(self, &own, schema)?;
        }
        others::check(Some(&self.list), &[], (own, &self.others), schema)
    }
}

/// Looks at names and functions of a list outside of its queries.
struct Outside<'a> {
    target: &'a Target,
    own: &'a str,
    schema: &'a Schema,
    /// In how many queries.
    depth: usize,
}

impl Outside<'_> {
    /// Whether a name surely means a column of the table that is written.
    fn is_of_target(&self, parts: &[Ident]) -> bool {
        let fold = |name: &Ident| self.schema.dialect.fold(name);
        match parts {
            [table, _] => fold(table) == self.own,
            [namespace, table, _] => {
                self.target.alias.is_none()
                    && fold(table) == self.own
                    && self.target.is_in(&fold(namespace), self.schema)
            }
            _ => false,
        }
    }
}

impl Visitor for Outside<'_> {
    type Break = Refusal;

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<Refusal> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Refusal> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, part: &Expr) -> ControlFlow<Refusal> {
        match part {
            _ if self.depth > 0 => ControlFlow::Continue(()),
            Expr::CompoundIdentifier(parts) if !self.is_of_target(parts) => {
                ControlFlow::Break(of_another(part))
            }
            Expr::Function(function) if !is_of_a_row(function) => {
                ControlFlow::Break(unsupported(&format!(
                    "function {} in RETURNING, beside what is computed from protected columns,",
                    function.name
                )))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Whether a function is one of PostgreSQL's own, and takes and returns single values; or the array
/// of a query's rows.
fn is_of_a_row(function: &Function) -> bool {
    if matches!(function.args, FunctionArguments::Subquery(_)) {
        return builtin(&function.name).is_some_and(|name| name == "array");
    }
    let is_own = finisher::is_own_function(&function.name)
        || builtin(&function.name).is_some_and(|name| name == "row");
    is_own && finisher::is_of_a_row(function)
}

fn of_another(part: &impl std::fmt::Display) -> Refusal {
    unsupported(&format!(
        "{part} in RETURNING, beside what is computed from protected columns,"
    ))
    .with_hint("Name columns of the table that is written, each as table.column.")
}

/// Name and alias of a table that is written.
fn named(table: &TableWithJoins) -> Option<(&ObjectName, Option<Ident>)> {
    match &table.relation {
        TableFactor::Table { name, alias, .. } if !marks::has_only(name) => {
            let alias = alias.as_ref().map(|alias| alias.name.clone());
            table.joins.is_empty().then_some((name, alias))
        }
        _ => None,
    }
}

/// The statement with another list.
fn returning(statement: &Statement, list: Option<Vec<SelectItem>>) -> Statement {
    let mut statement = statement.clone();
    if let Some(own) = list_of(&mut statement) {
        *own = list;
    }
    statement
}

/// The list of `RETURNING`. None: a statement of its kind has none.
fn list_of(statement: &mut Statement) -> Option<&mut Option<Vec<SelectItem>>> {
    match statement {
        Statement::Insert(insert) => Some(&mut insert.returning),
        Statement::Update(update) => Some(&mut update.returning),
        Statement::Delete(delete) => Some(&mut delete.returning),
        _ => None,
    }
}
