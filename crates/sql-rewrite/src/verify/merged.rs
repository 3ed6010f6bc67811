//! `MERGE`: each value that a clause writes is sealed for its column, or no protected column took
//! part in it.
//!
//! Which clause applies to a row depends on protected columns, as the rows of any `UPDATE` do whose
//! condition the finisher evaluates. A value in clear does not: where its clause applies, it is
//! made of plain columns of its row alone.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Join, JoinOperator, Query, SelectItem, SetExpr, Statement, TableFactor,
    TableWithJoins, Value, Visitor,
};

use super::inserted::{InFrom, Relations, is_made_of_plain, named, relations};
use super::label::{Atom, Labels};
use super::{Computes, Doubt, check_outputs, hidden_by, hidden_by_finisher, labelled};
use crate::dialect::postgres::finisher::CLAUSE_RELATION;
use crate::walk;
use crate::{Dialect, FinisherMerge, Form, InsertedColumn, Purpose, Source};

/// Checks the fetch and what is written. Returns the values that may meet protected columns.
pub(super) fn check(plan: &FinisherMerge, labels: &mut Labels) -> Result<Vec<Atom>, Doubt> {
    let mut hidden = hidden_by_finisher(&plan.query, labels)?;
    let dialect = labels.schema.dialect;
    let Ok(Statement::Query(text)) = dialect.parse(&plan.query.text) else {
        return Err(Doubt("the finisher's query cannot be read".to_owned()));
    };
    let relations = relations(&plan.query, &text, dialect)?;
    let columns = labelled(&plan.write, Computes::ARRAYS, labels)?;
    check_outputs(&plan.write.outputs, &columns, labels)?;
    hidden.extend(hidden_by(&plan.write.holes));
    for hole in &plan.write.holes {
        let Source::Computed(index) = hole.source else {
            continue;
        };
        let mut clauses = plan.clauses.iter();
        let clause = clauses.position(|clause| clause.values.contains(&index));
        let is_right = match (plan.rows.columns.get(index), clause) {
            (Some(InsertedColumn::Sealed(_, id) | InsertedColumn::Default(_, id)), Some(_)) => {
                hole.form == Form::SealedArray(*id, Purpose::Store)
            }
            (Some(InsertedColumn::Plain(answer)), Some(clause)) => {
                hole.form == Form::Plain
                    && is_public((&text, &relations), *answer, clause + 1, dialect)
            }
            // The session sends no other number than one of a clause.
            (Some(InsertedColumn::Plain(FinisherMerge::NUMBER)), None) => hole.form == Form::Plain,
            _ => false,
        };
        if !is_right {
            return Err(Doubt(
                "a value of MERGE is not sealed for its column, or may be made of protected ones"
                    .to_owned(),
            ));
        }
    }
    Ok(hidden)
}

/// Whether a column of the answer is made of plain columns, where the clause of this number
/// applies.
fn is_public(
    (text, relations): (&Query, &Relations),
    answer: usize,
    number: usize,
    dialect: Dialect,
) -> bool {
    let ctes = text.with.iter().flat_map(|with| &with.cte_tables);
    let has_others = ctes.count() > relations.len();
    let SetExpr::Select(select) = &*text.body else {
        return false;
    };
    let [from] = select.from.as_slice() else {
        return false;
    };
    let Some((scope, other)) = scope(from, relations, dialect) else {
        return false;
    };
    let Some(SelectItem::UnnamedExpr(Expr::Case {
        operand: None,
        conditions,
        else_result: None,
        ..
    })) = select.projection.get(answer)
    else {
        return false;
    };
    let [arm] = conditions.as_slice() else {
        return false;
    };
    !has_others
        && is_number(&arm.condition, number, dialect)
        && is_made_of_plain(&arm.result, &scope, other.as_deref(), dialect)
}

/// `strongroom_clause.number = 2`
fn is_number(condition: &Expr, number: usize, dialect: Dialect) -> bool {
    let Expr::BinaryOp {
        left,
        op: BinaryOperator::Eq,
        right,
    } = condition
    else {
        return false;
    };
    let is_own = match &**left {
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [relation, column] => {
                dialect.fold(relation) == CLAUSE_RELATION && dialect.fold(column) == "number"
            }
            _ => false,
        },
        _ => false,
    };
    let is_wanted = matches!(
        &**right,
        Expr::Value(value)
            if matches!(&value.value, Value::Number(own, false) if *own == number.to_string())
    );
    is_own && is_wanted
}

/// The relations whose columns are known, and a source that has no protected ones. The query that
/// says which clause applies is none of them. None: there are others.
fn scope<'r>(
    from: &TableWithJoins,
    relations: &'r Relations,
    dialect: Dialect,
) -> Option<(InFrom<'r>, Option<String>)> {
    let [
        Join {
            relation: target,
            join_operator: JoinOperator::Left(_) | JoinOperator::LeftOuter(_),
            ..
        },
        Join {
            relation:
                TableFactor::Derived {
                    alias: Some(clause),
                    ..
                },
            ..
        },
    ] = from.joins.as_slice()
    else {
        return None;
    };
    if dialect.fold(&clause.name) != CLAUSE_RELATION {
        return None;
    }
    let mut scope = vec![named(target, relations, dialect)?];
    if let Some(source) = named(&from.relation, relations, dialect) {
        scope.push(source);
        return Some((scope, None));
    }
    let (TableFactor::Table { alias, .. }
    | TableFactor::Derived { alias, .. }
    | TableFactor::UNNEST { alias, .. }
    | TableFactor::Function { alias, .. }) = &from.relation
    else {
        return None;
    };
    let name = dialect.fold(&alias.as_ref()?.name);
    let mut plain = OnlyPlain { relations, dialect };
    let is_plain = walk::visit(&from.relation, &mut plain).is_continue();
    let is_other = scope.iter().all(|(own, _)| *own != name) && name != CLAUSE_RELATION;
    (is_plain && is_other).then_some((scope, Some(name)))
}

/// Stops at a relation with protected columns.
struct OnlyPlain<'r> {
    relations: &'r Relations,
    dialect: Dialect,
}

impl Visitor for OnlyPlain<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let relation = self.dialect.split(name).map(|(_, name)| name);
        let columns = relation.and_then(|name| self.relations.get(&name));
        match columns {
            Some(columns) if columns.iter().any(|(_, is_protected)| *is_protected) => {
                ControlFlow::Break(())
            }
            // Others are functions, queries of the same source, and what the server said of its
            // moment: no common table expression beside them reads a relation.
            _ => ControlFlow::Continue(()),
        }
    }
}
