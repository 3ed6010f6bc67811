//! `MERGE` on tables with protected columns, or from them.
//!
//! The finisher joins source and target, and says for each pair which clause applies: `SELECT
//! t.ctid, t.tableoid, number, values … FROM source LEFT JOIN target AS t ON … CROSS JOIN LATERAL
//! (SELECT CASE WHEN t.ctid IS NULL THEN … END AS number)`. Rows of the target are fetched and
//! locked if a clause writes them. The proxy seals the values, and the server gets a `MERGE` of
//! these rows ([`written`]).
//!
//! Invariants:
//! 1. A plain column gets only values that no protected column took part in ([`lineage`]).
//! 2. A value is evaluated for rows of its own clause only, as the server does: division by zero in
//!    another one is no error.

mod clauses;
mod reduction;
mod written;

use sqlparser::ast::{CaseWhen, Expr, Ident, Join, Merge, ObjectName, SelectItem, TableFactor};

use clauses::{Action, Clauses};

use super::legs::{self, select_of};
use super::lineage::{self, Origin};
use super::{Prepared, arrays};
use crate::analysis::Analysis;
use crate::dialect::marks;
use crate::dialect::postgres::finisher;
use crate::increment::{locked_as_written, written_table};
use crate::{FinisherMerge, InsertedRows, Plan, Refusal, Schema, Table};
use sql_plan::{refuse, unsupported};

/// The query that says which clause applies to a pair of rows.
const CLAUSE: &str = finisher::CLAUSE_RELATION;

/// The plan of a `MERGE`.
///
/// # Errors
/// The finisher would do otherwise than the server, or there is none.
pub(crate) fn of_merge(merge: &Merge, schema: &Schema) -> Result<Plan, Refusal> {
    if !schema.has_finisher() {
        return Err(unsupported("MERGE without a finisher").with_hint(
            "Set [finish] engine = \"postgres\" in the proxy's configuration, or use INSERT … \
                 ON CONFLICT, UPDATE and DELETE.",
        ));
    }
    if merge.output.is_some() {
        return Err(
            unsupported("RETURNING of MERGE").with_hint("Read the rows by a statement of its own.")
        );
    }
    Analysis::new(schema).refuse_groups_of(&merge.table)?;
    let merging = Merging::of(merge, schema)?;
    merging.plan()
}

/// A `MERGE` that was read.
struct Merging<'s> {
    schema: &'s Schema,
    table: &'s Table,
    /// The target, as the statement has it.
    target: TableFactor,
    target_table: ObjectName,
    /// The name that qualifies its columns.
    name: Ident,
    source: TableFactor,
    on: Expr,
    clauses: Clauses<'s>,
}

impl<'s> Merging<'s> {
    fn of(merge: &Merge, schema: &'s Schema) -> Result<Self, Refusal> {
        let table = written_table(&merge.table, schema)?;
        let TableFactor::Table {
            name: written,
            alias,
            ..
        } = &merge.table
        else {
            return Err(unsupported("MERGE into what is no table"));
        };
        if alias.as_ref().is_some_and(|own| !own.columns.is_empty()) {
            return Err(unsupported("names of columns behind the table of MERGE"));
        }
        if marks::has_only(written) {
            return Err(unsupported("MERGE into ONLY of a table"));
        }
        let last = written.0.last().and_then(|part| part.as_ident());
        let name = alias.as_ref().map(|alias| &alias.name).or(last).cloned();
        let name = name.ok_or_else(|| unsupported("a computed name"))?;
        let clauses = Clauses::of(merge, (&name, table), schema)?;
        check_rows(table)?;
        Ok(Self {
            schema,
            table,
            target: merge.table.clone(),
            target_table: written.clone(),
            name,
            source: merge.source.clone(),
            on: (*merge.on).clone(),
            clauses,
        })
    }

    fn plan(&self) -> Result<Plan, Refusal> {
        self.check_public()?;
        let mut prepared = self.query()?;
        for leg in prepared.legs.iter_mut().filter(|leg| leg.is_located()) {
            let names = (&leg.alias, self.table);
            leg.conditions.extend(reduction::conditions(
                &self.source,
                &self.on,
                names,
                self.schema,
            ));
        }
        let locks = match self.clauses.locks() {
            true => legs::read("SELECT 1 FROM a FOR UPDATE", self.schema.dialect)?.locks,
            false => Vec::new(),
        };
        let (analysis, (fetched, written)) = Analysis::run(self.schema, |analysis| {
            let fetched = prepared.fetch(&locks, analysis)?;
            Ok((fetched, self.write(analysis)?))
        })?;
        let (statement, columns, clauses) = written;
        let holes = analysis.holes.clone();
        let fires_triggers = analysis.fires_triggers;
        let mut query = prepared.plan(fetched, analysis, None)?;
        if !self.clauses.deletes() {
            query.fetch.template = locked_as_written(query.fetch.template, self.schema.dialect);
        }
        query.effects.writes = Some((self.table.schema.clone(), self.table.name.clone()));
        query.effects.forgets_locks = fires_triggers;
        let width = FinisherMerge::COLUMNS + self.clauses.values().count();
        let write = arrays::translated(statement, &holes, Vec::new(), &query, self.schema.dialect)?;
        Ok(Plan::FinisherMerge(Box::new(FinisherMerge {
            query,
            clauses,
            rows: InsertedRows { width, columns },
            write,
        })))
    }

    /// Invariant 1.
    fn check_public(&self) -> Result<(), Refusal> {
        let origin = Origin::of(&self.source, (&self.name, self.table), self.schema);
        for (target, value) in self.clauses.values() {
            let is_public = target.column.protected.is_some()
                || lineage::is_public_of(value, origin.as_ref(), self.schema);
            if !is_public {
                return Err(refuse(format!(
                    "a value that protected columns take part in would be stored in column \
                     {}.{}.{}, which is not protected",
                    self.table.schema, self.table.name, target.column.name
                ))
                .with_hint(
                    "Protect the column, or leave it out. Name the source of the value as s.column \
                     of a table, or of rows without protected columns.",
                ));
            }
        }
        Ok(())
    }

    /// The query that finds pairs of rows.
    fn query(&self) -> Result<Prepared, Refusal> {
        let dialect = self.schema.dialect;
        let mut query = legs::read("SELECT 1 FROM a LEFT JOIN b ON c", dialect)?;
        let select = select_of(&mut query)?;
        let conditions = self.clauses.conditions().cloned();
        let values = self.clauses.values().map(|(_, value)| value.clone());
        let items = conditions.chain(values);
        select.projection = items.map(SelectItem::UnnamedExpr).collect();
        if select.projection.is_empty() {
            let null = Expr::Value(sqlparser::ast::Value::Null.into());
            select.projection.push(SelectItem::UnnamedExpr(null));
        }
        select.from[0].relation = self.source.clone();
        let join = &mut select.from[0].joins[0];
        join.relation = self.target.clone();
        put_condition(join, self.on.clone())?;
        finisher::check_failing(&query, self.schema)?;
        let factor: *const TableFactor = &select_of(&mut query)?.from[0].joins[0].relation;
        let mut prepared =
            Prepared::new(query, Some((factor, dialect.row_locator())), self.schema)?;
        let select = select_of(&mut prepared.query)?;
        let mut items = std::mem::take(&mut select.projection).into_iter();
        let mut next = || match items.next() {
            Some(SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }) => {
                Ok(item)
            }
            _ => Err(unsupported("a clause of this form")),
        };
        let number = self.number(&mut next)?;
        let locator = |column: &&str| self.qualified(column);
        let mut columns: Vec<Expr> = dialect.row_locator().iter().map(locator).collect();
        columns.push(number_of_clause());
        for (index, clause) in self.clauses.writing().enumerate() {
            for _ in clause.values() {
                let value = case(vec![(is_clause(index + 1), next()?)], None)?;
                columns.push(value);
            }
        }
        select.projection = columns.into_iter().map(SelectItem::UnnamedExpr).collect();
        let text = format!("SELECT 1 FROM a CROSS JOIN LATERAL (SELECT 1 AS number) AS {CLAUSE}");
        let mut lateral = legs::read(&text, dialect)?;
        let mut joins = std::mem::take(&mut select_of(&mut lateral)?.from[0].joins);
        for join in &mut joins {
            if let TableFactor::Derived { subquery, .. } = &mut join.relation
                && let Some(SelectItem::ExprWithAlias { expr, .. }) =
                    select_of(subquery)?.projection.first_mut()
            {
                *expr = number.clone();
            }
        }
        select.from[0].joins.extend(joins);
        Ok(prepared)
    }

    /// The number of the clause that applies to a pair, given the conditions of the clauses.
    fn number(&self, next: &mut dyn FnMut() -> Result<Expr, Refusal>) -> Result<Expr, Refusal> {
        let mut of_matched = Vec::new();
        let mut of_others = Vec::new();
        let mut number = 0;
        for clause in &self.clauses.all {
            let own = match clause.action {
                Action::Nothing => 0,
                _ => {
                    number += 1;
                    number
                }
            };
            let condition = match clause.condition {
                Some(_) => next()?,
                None => Expr::Value(sqlparser::ast::Value::Boolean(true).into()),
            };
            let arms = match clause.is_matched {
                true => &mut of_matched,
                false => &mut of_others,
            };
            arms.push((condition, literal(own)));
        }
        let of = |arms: Vec<(Expr, Expr)>| match arms.is_empty() {
            true => Ok(literal(0)),
            false => case(arms, Some(literal(0))),
        };
        let is_alone = Expr::IsNull(Box::new(
            self.qualified(self.schema.dialect.row_locator()[0]),
        ));
        case(vec![(is_alone, of(of_others)?)], Some(of(of_matched)?))
    }

    fn qualified(&self, column: &str) -> Expr {
        Expr::CompoundIdentifier(vec![self.name.clone(), Ident::new(column)])
    }
}

/// Refuses a table of whose rows the server decides more than the finisher knows.
fn check_rows(table: &Table) -> Result<(), Refusal> {
    let title = format!("{}.{}", table.schema, table.name);
    if table.rows.has_policies {
        return Err(unsupported(&format!(
            "MERGE into table {title}, which has row-level security, beside protected columns"
        ))
        .with_hint("Use INSERT … ON CONFLICT, UPDATE and DELETE."));
    }
    Ok(())
}

fn put_condition(join: &mut Join, condition: Expr) -> Result<(), Refusal> {
    use sqlparser::ast::{JoinConstraint, JoinOperator};
    match &mut join.join_operator {
        JoinOperator::Left(JoinConstraint::On(on))
        | JoinOperator::LeftOuter(JoinConstraint::On(on)) => {
            *on = condition;
            Ok(())
        }
        _ => Err(unsupported("a join of this form")),
    }
}

fn number_of_clause() -> Expr {
    Expr::CompoundIdentifier(vec![Ident::new(CLAUSE), Ident::new("number")])
}

fn literal(number: usize) -> Expr {
    Expr::Value(sqlparser::ast::Value::Number(number.to_string(), false).into())
}

fn is_clause(number: usize) -> Expr {
    Expr::BinaryOp {
        left: Box::new(number_of_clause()),
        op: sqlparser::ast::BinaryOperator::Eq,
        right: Box::new(literal(number)),
    }
}

/// `CASE WHEN … THEN … ELSE … END`
fn case(arms: Vec<(Expr, Expr)>, otherwise: Option<Expr>) -> Result<Expr, Refusal> {
    let arms = arms.into_iter();
    let arms = arms.map(|(condition, result)| CaseWhen { condition, result });
    match finisher::expression("CASE WHEN NULL THEN NULL END") {
        Some(Expr::Case {
            case_token,
            end_token,
            ..
        }) => Ok(Expr::Case {
            case_token,
            end_token,
            operand: None,
            conditions: arms.collect(),
            else_result: otherwise.map(Box::new),
        }),
        _ => Err(unsupported("CASE")),
    }
}
