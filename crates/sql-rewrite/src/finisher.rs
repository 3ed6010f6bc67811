//! `SELECT` that the finisher answers: a server of the same product on the proxy's side evaluates
//! the client's own query over rows that the proxy has fetched and opened.
//!
//! The client's server gets one statement that returns the rows of all relations of the query, of
//! one snapshot. Of the conditions it gets those that it can decide over one relation; the finisher
//! evaluates all of them again. So a condition that stays behind costs time and memory, never a
//! wrong answer.
//!
//! Invariants:
//! 1. The finisher's query is the client's, with relations of the same columns, types and names in
//!    place of tables. What it would evaluate otherwise than the server is refused
//!    ([`finisher::check`]).
//! 2. Every parameter and constant of the query may meet a protected column in the finisher. So it
//!    reaches the server sealed, or compared with a plain column by name.

mod arrays;
mod conditions;
mod conflicts;
mod grouped;
pub(crate) mod inserts;
mod legs;
mod lineage;
mod locked;
pub(crate) mod merges;
mod others;
mod parameters;
pub(crate) mod returned;
mod rows;
mod semi_joins;
mod sequences;
mod skip_locked;
pub(crate) mod tables;
mod targets;
mod whole_rows;
mod with_writes;
pub(crate) mod writes;

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, LockClause, ObjectName, Query, Select, SetExpr, Statement, TableAlias,
    TableFactor, ValueWithSpan, Visitor, VisitorMut,
};

use crate::analysis::{Analysis, Constant, template};
use crate::dialect::postgres::finisher;
use crate::walk;
use crate::{Effects, Output, Plan, Refusal, RelationKind, Schema, Table, Translated};
use sql_plan::{FetchedRelation, FinisherQuery, refuse, unsupported};

use conditions::Scope;
use legs::{Leg, ServerLeg};
use parameters::{declared, parameters_of};
use semi_joins::SemiJoin;

/// The plan of a statement that neither the server nor the proxy can do alone.
///
/// # Errors
/// The finisher would do otherwise than the server, or there is none.
pub(crate) fn of_statement(statement: &Statement, schema: &Schema) -> Result<Plan, Refusal> {
    if let Some(plan) = skip_locked::of_statement(statement, schema)? {
        return Ok(plan);
    }
    match statement {
        Statement::Query(query) => {
            if let Some(plan) = returned::of_query(query, schema)? {
                return Ok(plan);
            }
            match with_writes::of_query(query, schema)? {
                Some(plan) => Ok(plan),
                None => of_query(query, schema),
            }
        }
        Statement::Update(update) => writes::of_update(update, schema),
        Statement::Delete(delete) => writes::of_delete(delete, schema),
        _ => Err(unsupported("a statement of this kind")),
    }
}

/// The plan of a query that neither the server nor the proxy can answer.
///
/// # Errors
/// The finisher would answer otherwise than the server, or there is none.
pub(crate) fn of_query(query: &Query, schema: &Schema) -> Result<Plan, Refusal> {
    if let SetExpr::Insert(_) = *query.body {
        return inserts::of_with(query, schema);
    }
    if let Some(plan) = sequences::of_query(query, schema)? {
        return Ok(plan);
    }
    finisher::check_failing(query, schema)?;
    let prepared = Prepared::new(query.clone(), None, schema)?;
    let (analysis, fetched) = Analysis::run(schema, |analysis| prepared.fetch(&[], analysis))?;
    let plan = prepared.plan(fetched, analysis, None)?;
    Ok(Plan::Finisher(Box::new(plan)))
}

/// The plan of the query of a cursor whose rows the proxy keeps: it has each column twice, for
/// clients that fetch texts and for those that fetch binary values.
///
/// # Errors
/// As those of [`of_query`].
pub(crate) fn of_cursor(query: &Query, schema: &Schema) -> Result<Plan, Refusal> {
    finisher::check_failing(query, schema)?;
    let mut prepared = Prepared::new(query.clone(), None, schema)?;
    let name = finisher::CURSOR_RELATION;
    let text = format!("SELECT {name}.*, {name}.* FROM (SELECT 1) AS {name}");
    let whole = legs::read(&text, schema.dialect)?;
    let mut inner = std::mem::replace(&mut prepared.query, whole);
    prepared.query.with = inner.with.take();
    let SetExpr::Select(select) = &mut *prepared.query.body else {
        return Err(unsupported("a cursor over such a query"));
    };
    let derived = select.from.iter_mut().map(|from| &mut from.relation);
    for factor in derived {
        if let TableFactor::Derived { subquery, .. } = factor {
            **subquery = inner.clone();
        }
    }
    let (analysis, fetched) = Analysis::run(schema, |analysis| prepared.fetch(&[], analysis))?;
    let plan = prepared.plan(fetched, analysis, None)?;
    Ok(Plan::Finisher(Box::new(plan)))
}

/// System columns by which rows are found again.
type Locators = &'static [&'static str];

/// A query in which relations of the finisher stand in the places of tables.
struct Prepared {
    query: Query,
    legs: Vec<Leg>,
    server: ServerLeg,
}

impl Prepared {
    /// Prepares a query. The rows of the target, a factor of its tree, are fetched for it alone,
    /// and also located by these columns.
    fn new(
        mut query: Query,
        target: Option<(*const TableFactor, Locators)>,
        schema: &Schema,
    ) -> Result<Self, Refusal> {
        let mut occurrences = Occurrences::new(&query, schema)?;
        occurrences.target = target.map(|(factor, own)| (factor.addr(), own));
        occurrences.locked = locked::take(&mut query, schema.dialect)?;
        let checked = std::mem::take(&mut query.locks);
        match walk::visit_mut(&mut query, &mut occurrences) {
            ControlFlow::Continue(()) => {}
            ControlFlow::Break(refusal) => return Err(refusal),
        }
        query.locks = checked;
        for leg in occurrences.legs.iter().filter(|leg| leg.is_located()) {
            whole_rows::check(&query, leg, schema)?;
        }
        finisher::replace_failing_calls(&mut query, schema);
        // Conditions that the server evaluates keep their calls.
        let names = finisher::replace_server_calls(&mut query);
        let is_empty = occurrences.legs.is_empty() && names.is_empty();
        Ok(Self {
            query,
            legs: occurrences.legs,
            server: ServerLeg { names, is_empty },
        })
    }

    /// Plans the fetch of its rows. The rows of a target get these locks.
    fn fetch(
        &self,
        locks: &[LockClause],
        analysis: &mut Analysis,
    ) -> Result<legs::Fetched, Refusal> {
        hide_constants(&self.query, analysis)?;
        legs::fetch(&self.legs, &self.server, locks, analysis)
    }

    /// The plan, after all of the server's statements were analysed. The query over pairs of rows,
    /// and its text as a common table expression, has parameters of its own.
    fn plan(
        self,
        fetched: legs::Fetched,
        mut analysis: Analysis,
        pairs: Option<(&Query, String)>,
    ) -> Result<FinisherQuery, Refusal> {
        let schema = analysis.schema;
        let legs::Fetched {
            mut statement,
            outputs,
            relations,
            has_index,
        } = fetched;
        let mut own = parameters_of(&self.query)?;
        let mut shape = None;
        if let Some((pairs, text)) = pairs {
            let more = parameters_of(pairs)?;
            shape = (!more.is_empty()).then_some(text);
            own.extend(more);
        }
        let highest = own.last().map_or(0, |number| number + 1);
        let parameters = highest.max(analysis.parameters.count);
        if let Some(last) = parameters.checked_sub(1) {
            analysis.parameters.see(last);
        }
        let fetch = translated(&mut statement, outputs, &analysis)?;
        let declared = declared(&own, &fetch.parameter_types)?;
        let is_of_no_row = self.server.is_empty;
        let text = text_of(
            self.query,
            (&self.legs, &self.server),
            (&relations, parameters),
            shape,
            schema,
        )?;
        Ok(FinisherQuery {
            fetch,
            has_index,
            is_of_no_row,
            relations: relations
                .into_iter()
                .map(|(relation, _)| relation)
                .collect(),
            text,
            parameters,
            declared,
            returned_by: None,
            effects: Effects {
                uses: analysis.uses,
                ..Effects::default()
            },
        })
    }
}

/// The statement of a fetch.
fn translated(
    statement: &mut Statement,
    outputs: Vec<Output>,
    analysis: &Analysis,
) -> Result<Translated, Refusal> {
    let template = template::of(statement, analysis.dialect())?;
    let (template, holes, _) = template::compact(template, &analysis.holes, Vec::new());
    Ok(Translated {
        template,
        holes,
        outputs,
        parameter_types: analysis.parameters.types(),
        locks: None,
    })
}

/// A relation of a plan, and for each of its columns the expression that makes it from the array.
type Relations = Vec<(FetchedRelation, Vec<legs::ArrayColumn>)>;

/// The query for the finisher, with its relations as common table expressions over arrays.
fn text_of(
    mut query: Query,
    (legs, server): (&[Leg], &ServerLeg),
    (relations, parameters): (&Relations, usize),
    shape: Option<String>,
    schema: &Schema,
) -> Result<String, Refusal> {
    finisher::cast_times(&mut query)?;
    // It is read again as a whole, and its parts are parts of what was printed.
    template::of(
        &mut Statement::Query(Box::new(query.clone())),
        schema.dialect,
    )?;
    let with = query.with.take();
    let is_recursive = with.as_ref().is_some_and(|with| with.recursive);
    let body = query.to_string();
    let mut tables = Vec::new();
    let mut number = parameters;
    let names = legs.iter().map(|leg| leg.relation_name());
    let server = server
        .is_needed()
        .then(|| finisher::SERVER_RELATION.to_owned());
    for (name, (_, columns)) in names.chain(server).zip(relations) {
        tables.push(legs::array_relation(&name, columns, &mut number));
    }
    if let Some(with) = with {
        for cte in with.cte_tables {
            tables.push(cte.to_string());
        }
    }
    tables.extend(shape);
    let recursive = if is_recursive { "RECURSIVE " } else { "" };
    let text = match tables.is_empty() {
        true => body,
        false => format!("WITH {recursive}{} {body}", tables.join(", ")),
    };
    Ok(schema.dialect.for_server(text))
}

/// Marks every parameter and constant of a query: it may meet a protected column in the finisher.
fn hide_constants(query: &Query, analysis: &mut Analysis) -> Result<(), Refusal> {
    struct Constants<'a, 's> {
        analysis: &'a mut Analysis<'s>,
    }
    impl Visitor for Constants<'_, '_> {
        type Break = Refusal;

        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<Refusal> {
            let expression = Expr::Value(value.clone());
            match Constant::of(&expression) {
                Ok(Some(constant)) => {
                    if let crate::Source::Parameter(number) = &constant.source {
                        self.analysis.parameters.compute(*number);
                    }
                    self.analysis.parameters.hide(&constant.source);
                    ControlFlow::Continue(())
                }
                Ok(None) => ControlFlow::Continue(()),
                Err(refusal) => ControlFlow::Break(refusal),
            }
        }
    }
    match walk::visit(query, &mut Constants { analysis }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(refusal) => Err(refusal),
    }
}

/// Finds the tables of a query, and puts the names of the finisher's relations in their places.
struct Occurrences<'s> {
    schema: &'s Schema,
    /// Names of common table expressions.
    ctes: Vec<String>,
    /// Names that the query uses anywhere.
    names: Vec<String>,
    /// Whether it means all columns of its tables.
    is_whole: bool,
    legs: Vec<Leg>,
    /// The address of the factor of the table whose rows are located, and by which columns.
    target: Option<(usize, Locators)>,
    /// The locks of table factors, by their addresses.
    locked: Vec<(usize, Vec<LockClause>)>,
    /// The tables of this query and of those around it, the innermost last.
    scopes: Vec<Scope<'s>>,
}

impl<'s> Occurrences<'s> {
    fn new(query: &Query, schema: &'s Schema) -> Result<Self, Refusal> {
        let mut mentioned = Mentioned {
            schema,
            ctes: Vec::new(),
            names: Vec::new(),
            relations: Vec::new(),
            selects: 0,
        };
        match walk::visit(query, &mut mentioned) {
            ControlFlow::Continue(()) => {}
            ControlFlow::Break(refusal) => return Err(refusal),
        }
        let Mentioned {
            ctes,
            mut names,
            relations,
            selects,
            ..
        } = mentioned;
        names.sort_unstable();
        names.dedup();
        // A column of a query beside or within is not in sight.
        let is_column = |name: &str| {
            let mut tables = schema.tables.values();
            selects == 1
                && tables.any(|table| {
                    relations.iter().any(|(_, own)| *own == table.oid)
                        && table.position(name).is_some()
                })
        };
        let is_whole = finisher::means_whole_rows(query, |name| {
            relations.iter().any(|(alias, _)| alias == name) && !is_column(name)
        });
        Ok(Self {
            schema,
            ctes,
            names,
            is_whole,
            legs: Vec::new(),
            target: None,
            locked: Vec::new(),
            scopes: Vec::new(),
        })
    }

    /// The table that a name means. None: a common table expression.
    fn table(&self, name: &ObjectName) -> Result<Option<&'s Table>, Refusal> {
        let dialect = self.schema.dialect;
        let (own, relation) = dialect.split(name).ok_or_else(|| {
            unsupported("a relation with such a name in a query that the finisher evaluates")
        })?;
        let table = self.schema.find(own.as_deref(), &relation);
        if own.is_none() && self.ctes.contains(&relation) {
            return match table {
                None => Ok(None),
                Some(_) => Err(unsupported(
                    "a WITH query with the name of a table in a query that the finisher evaluates",
                )),
            };
        }
        let table = table.ok_or_else(|| {
            unsupported(&format!(
                "relation {name} in a query that the finisher evaluates"
            ))
        })?;
        if table.opaque {
            return Err(refuse(format!(
                "view {name} computes something from a protected column"
            )));
        }
        Ok(Some(table))
    }

    /// The indices of the columns of a table that the query may use.
    fn columns(&self, table: &Table) -> Vec<usize> {
        let used = |(_, column): &(usize, &crate::Column)| {
            self.is_whole || self.names.binary_search(&column.name).is_ok()
        };
        let columns = table.columns.iter().enumerate().filter(used);
        columns.map(|(index, _)| index).collect()
    }

    /// The number of a leg. One that fetches the same as another is that other.
    fn enter(&mut self, leg: Leg) -> usize {
        let same = self.legs.iter().find(|own| own.fetches_the_same(&leg));
        if let Some(same) = same {
            return same.number;
        }
        self.legs.push(leg);
        self.legs.len() - 1
    }

    /// Conditions on the rows of a table factor, and tables in which they need a partner.
    fn restrictions(&self, at: usize) -> (Vec<Expr>, Vec<SemiJoin>) {
        let sources = self
            .scopes
            .last()
            .into_iter()
            .flat_map(|scope| &scope.sources);
        let found = sources.enumerate().find(|(_, source)| source.at == at);
        found.map_or_else(Default::default, |(index, source)| {
            let partners = semi_joins::of_source(&self.scopes, index);
            (source.conditions.clone(), partners)
        })
    }

    fn replace(&mut self, factor: &mut TableFactor) -> Result<(), Refusal> {
        let at = std::ptr::from_ref::<TableFactor>(factor).addr();
        let TableFactor::Table {
            name,
            alias,
            args: None,
            sample,
            ..
        } = factor
        else {
            return Ok(());
        };
        let Some(table) = self.table(name)? else {
            return Ok(());
        };
        if table.kind == RelationKind::Table && table.oid == 0 {
            return Err(refuse(format!("relation {name} does not exist")));
        }
        let last = name.0.last().and_then(|part| part.as_ident()).cloned();
        let own = last.ok_or_else(|| unsupported("a relation without a name"))?;
        let alias = alias.get_or_insert_with(|| TableAlias {
            explicit: true,
            name: own,
            columns: Vec::new(),
            at: None,
        });
        let (conditions, partners) = self.restrictions(at);
        let locked = self.locked.iter().find(|(locked, _)| *locked == at);
        let target = self.target.filter(|(target, _)| *target == at);
        let mut leg = Leg {
            number: self.legs.len(),
            name: name.clone(),
            alias: alias.name.clone(),
            table: (table.schema.clone(), table.name.clone()),
            columns: self.columns(table),
            sample: sample.take(),
            conditions,
            partners,
            is_target: target.is_some(),
            locators: target.map_or(&[], |(_, locators)| locators),
            locks: locked.map_or_else(Vec::new, |(_, locks)| locks.clone()),
        };
        leg.number = self.enter(leg.clone());
        *name = ObjectName::from(vec![Ident::new(leg.relation_name())]);
        Ok(())
    }
}

impl VisitorMut for Occurrences<'_> {
    type Break = Refusal;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Refusal> {
        let scope = Scope::of(select, self.schema, |name| self.table(name).ok().flatten());
        grouped::complete(select, &scope, self.schema, |table| self.columns(table));
        self.scopes.push(scope);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<Refusal> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Refusal> {
        match self.replace(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(refusal) => ControlFlow::Break(refusal),
        }
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Refusal> {
        let is_read = matches!(
            *query.body,
            SetExpr::Select(_)
                | SetExpr::SetOperation { .. }
                | SetExpr::Values(_)
                | SetExpr::Query(_)
        );
        match (is_read, query.locks.is_empty()) {
            (true, true) => ControlFlow::Continue(()),
            (false, _) => ControlFlow::Break(unsupported(
                "a query that writes, or TABLE, in a query that the finisher evaluates",
            )),
            (true, false) => ControlFlow::Break(unsupported(
                "FOR UPDATE in a query within one that the finisher evaluates",
            )),
        }
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Refusal> {
        // The finisher's relations are in no schema: `public.person.name` is `person.name`.
        if let Expr::CompoundIdentifier(parts) = expression
            && parts.len() > 2
        {
            parts.drain(..parts.len() - 2);
        }
        ControlFlow::Continue(())
    }
}

/// Names of a query.
struct Mentioned<'s> {
    schema: &'s Schema,
    ctes: Vec<String>,
    names: Vec<String>,
    /// The name by which each table is known in the query, and its number.
    relations: Vec<(String, u32)>,
    /// How many select lists it has.
    selects: usize,
}

impl Visitor for Mentioned<'_> {
    type Break = Refusal;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Refusal> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        let names = tables.map(|cte| self.schema.dialect.fold(&cte.alias.name));
        self.ctes.extend(names);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, _: &Select) -> ControlFlow<Refusal> {
        self.selects += 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_ident(&mut self, ident: &Ident) -> ControlFlow<Refusal> {
        self.names.push(self.schema.dialect.fold(ident));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Refusal> {
        if let TableFactor::Table { name, alias, .. } = factor
            && let Some((own, relation)) = self.schema.dialect.split(name)
            && let Some(table) = self.schema.find(own.as_deref(), &relation)
        {
            let alias = alias.as_ref();
            let known = alias.map_or(relation, |alias| self.schema.dialect.fold(&alias.name));
            self.relations.push((known, table.oid));
        }
        ControlFlow::Continue(())
    }
}
