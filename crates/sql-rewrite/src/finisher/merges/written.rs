//! The `MERGE` that the server gets: `MERGE INTO t USING UNNEST($1, …) AS strongroom_rows (c0, …)
//! ON t.ctid = strongroom_rows.c0 AND … WHEN MATCHED AND strongroom_rows.c2 = 1 THEN UPDATE SET n
//! = strongroom_rows.c3 …`.
//!
//! It is one statement for all clauses, as the client's is. So constraints that are checked at the
//! end of a statement, actions of foreign keys, triggers and the number of rows are the server's
//! own. A row that was found is locked, so it lies where it lay.

use sqlparser::ast::{
    Assignment as Set, Expr, Ident, Insert, Merge, MergeAction, MergeInsertKind, MergeUpdateKind,
    ObjectName, Statement, TableFactor, Update,
};

use super::clauses::{self, Action, Clause, Written};
use super::{Merging, literal};
use crate::analysis::{Analysis, explicit_name};
use crate::finisher::arrays::{self, Rows};
use crate::finisher::inserts;
use crate::finisher::targets::{Target, Value};
use crate::finisher::writes::located;
use crate::{FinisherMerge, Form, InsertedColumn, MergeClause, Purpose, Refusal, Source};
use sql_plan::unsupported;

impl Merging<'_> {
    /// The statement that writes the rows of all clauses, what it takes, and which values are those
    /// of which clause.
    pub(super) fn write(
        &self,
        analysis: &mut Analysis,
    ) -> Result<(Statement, Vec<InsertedColumn>, Vec<MergeClause>), Refusal> {
        let mut rows = match self.clauses.locks() {
            true => Rows::behind(located(analysis)?),
            false => Rows::default(),
        };
        let number = analysis.hole(Source::Computed(0), Form::Plain);
        rows.columns
            .push(InsertedColumn::Plain(FinisherMerge::NUMBER));
        rows.arrays.push(number);
        let number = rows.column(0);
        let mut actions = Vec::new();
        let mut clauses = Vec::new();
        for clause in self.clauses.writing() {
            let start = rows.columns.len();
            actions.push((clause, self.action(clause, &mut rows, analysis)?));
            clauses.push(MergeClause {
                inserts: matches!(clause.action, Action::Insert(_)),
                values: start..rows.columns.len(),
            });
        }
        analysis.fires_triggers |= self.table.has_triggers;
        let merge = self.assembled(actions, &number, rows.arrays)?;
        Ok((Statement::Merge(merge), rows.columns, clauses))
    }

    /// What is done with the rows of a clause. None: they are deleted.
    fn action(
        &self,
        clause: &Clause,
        rows: &mut Rows,
        analysis: &mut Analysis,
    ) -> Result<Option<Changed>, Refusal> {
        let first = FinisherMerge::COLUMNS + self.clauses.before(clause);
        match &clause.action {
            Action::Nothing => Err(unsupported("a clause that writes nothing")),
            Action::Delete => Ok(None),
            Action::Update(targets) => {
                let assignments = self.assignments(targets, first, rows, analysis)?;
                Ok(Some(Changed::Updated(assignments)))
            }
            Action::Insert(targets) => {
                let mut own: Vec<Target> = targets.iter().map(Written::of_insert).collect();
                if own
                    .iter()
                    .all(|target| matches!(target.value, Value::Default))
                    && let Some(first) = own.first_mut()
                {
                    // A row has at least one column.
                    first.value = Value::Kept(Box::new(default()));
                }
                let start = rows.columns.len();
                let insert = self.insert()?;
                let (mut insert, _) =
                    inserts::row(&insert, &own, (self.table, None), rows, analysis)?;
                let answers: Vec<usize> = clauses::answers(targets, first).collect();
                for column in &mut rows.columns[start..] {
                    if let InsertedColumn::Sealed(index, _) | InsertedColumn::Plain(index) = column
                    {
                        *index = answers[*index];
                    }
                }
                let values = inserts::taken(&mut insert, rows, analysis)?;
                Ok(Some(Changed::Inserted(insert.columns, values)))
            }
        }
    }

    /// The assignments of a clause, with columns of the rows.
    fn assignments(
        &self,
        targets: &[Written],
        first: usize,
        rows: &mut Rows,
        analysis: &mut Analysis,
    ) -> Result<Vec<Set>, Refusal> {
        let mut update = self.update()?;
        update.assignments.clear();
        let answers = clauses::answers(targets, first);
        for (target, answer) in targets.iter().zip(answers) {
            let source = Source::Computed(rows.columns.len());
            let value = match (&target.value, target.column.protected) {
                (Value::Computed, Some(id)) => {
                    rows.columns.push(InsertedColumn::Sealed(answer, id));
                    analysis.hole(source, Form::Sealed(id, Purpose::Store))
                }
                (Value::Computed, None) => {
                    rows.columns.push(InsertedColumn::Plain(answer));
                    analysis.hole(source, Form::Plain)
                }
                (Value::Kept(value), _) => (**value).clone(),
                (Value::Default, _) => default(),
            };
            update.assignments.push(target.assigned(value));
        }
        analysis.update(&mut update, None)?;
        for assignment in &mut update.assignments {
            rows.take(&mut assignment.value, analysis)?;
        }
        Ok(update.assignments)
    }

    /// The statement of these actions. `number` is the number of a row's clause.
    fn assembled(
        &self,
        actions: Vec<(&Clause, Option<Changed>)>,
        number: &Expr,
        arrays: Vec<Expr>,
    ) -> Result<Merge, Refusal> {
        let dialect = self.schema.dialect;
        let mut text = format!("MERGE INTO a USING {} ON", arrays::relation(arrays.len()));
        match self.clauses.locks() {
            true => {
                let equal = dialect.row_locator().iter().enumerate();
                let equal = equal.map(|(index, own)| {
                    format!(" {}.{own} = {}", self.name, arrays::column(index))
                });
                text.push_str(&equal.collect::<Vec<_>>().join(" AND"));
            }
            false => text.push_str(" false"),
        }
        for (index, (clause, changed)) in actions.iter().enumerate() {
            let matched = if clause.is_matched { "" } else { "NOT " };
            let own = literal(index + 1);
            let action = match changed {
                None => "DELETE",
                Some(Changed::Updated(_)) => "UPDATE SET a = 1",
                Some(Changed::Inserted(..)) => "INSERT (a) VALUES (1)",
            };
            text.push_str(&format!(
                " WHEN {matched}MATCHED AND {number} = {own} THEN {action}"
            ));
        }
        if actions.is_empty() {
            text.push_str(" WHEN MATCHED THEN DO NOTHING");
        }
        let Ok(Statement::Merge(mut merge)) = dialect.parse(&text) else {
            return Err(unsupported("a table or column with such a name"));
        };
        merge.table = self.target.clone();
        if let TableFactor::Table { name, .. } = &mut merge.table {
            *name = explicit_name(self.table, false, dialect);
        }
        let TableFactor::UNNEST { array_exprs, .. } = &mut merge.source else {
            return Err(unsupported("rows of this form"));
        };
        *array_exprs = arrays;
        for (clause, (_, changed)) in merge.clauses.iter_mut().zip(actions) {
            match (&mut clause.action, changed) {
                (MergeAction::Update(update), Some(Changed::Updated(assignments))) => {
                    update.kind = MergeUpdateKind::Set(assignments);
                }
                (MergeAction::Insert(insert), Some(Changed::Inserted(columns, values))) => {
                    insert.columns = columns;
                    if let MergeInsertKind::Values(own) = &mut insert.kind
                        && let [row] = own.rows.as_mut_slice()
                    {
                        row.content = values;
                    }
                }
                _ => {}
            }
        }
        Ok(merge)
    }

    fn update(&self) -> Result<Update, Refusal> {
        match self.schema.dialect.parse("UPDATE b SET a = 1") {
            Ok(Statement::Update(mut update)) => {
                update.table.relation = self.target.clone();
                Ok(update)
            }
            _ => Err(unsupported("an UPDATE of this form")),
        }
    }

    fn insert(&self) -> Result<Insert, Refusal> {
        match self.schema.dialect.parse("INSERT INTO b (a) VALUES (1)") {
            Ok(Statement::Insert(mut insert)) => {
                let name = self.target_table.clone();
                insert.table = sqlparser::ast::TableObject::TableName(name);
                Ok(insert)
            }
            _ => Err(unsupported("an INSERT of this form")),
        }
    }
}

/// `DEFAULT`
fn default() -> Expr {
    Expr::Identifier(Ident::new("DEFAULT"))
}

/// What a clause writes.
enum Changed {
    Updated(Vec<Set>),
    /// The columns, and a value for each.
    Inserted(Vec<ObjectName>, Vec<Expr>),
}
