//! `INSERT`, `UPDATE`, `DELETE`, `MERGE`: the label of each value that is stored.

use sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, Expr, FromTable, Insert, Merge, MergeAction,
    MergeClauseKind, MergeInsertExpr, MergeInsertKind, MergeUpdateExpr, MergeUpdateKind,
    ObjectName, OnConflict, OnConflictAction, OnInsert, SelectItem, SetExpr, TableFactor,
    TableObject, TableWithJoins, Update, UpdateTableFromKind,
};

use super::label::Label;
use super::names::{Columns, Relation, Scope};
use super::{Doubt, Verifier, groups};
use crate::Dialect;

impl Verifier<'_, '_> {
    pub fn insert(&mut self, insert: &Insert, outer: Option<&Scope>) -> Result<Columns, Doubt> {
        let TableObject::TableName(name) = &insert.table else {
            return Err(Doubt("INSERT into what is no table".to_owned()));
        };
        let (name, table) = self.table(name)?;
        let targets = match insert.columns.is_empty() {
            true => table.clone(),
            false => targets(&insert.columns, &table, self.dialect())?,
        };
        if let Some(source) = &insert.source {
            let given = match (&*source.body, &source.with) {
                (SetExpr::Values(values), None) => self.rows(&values.rows, &targets, outer)?,
                _ => self.query(source, outer)?,
            };
            self.store_all(&given, &targets)?;
            self.check_last(&given, &targets)?;
        }
        let alias = insert.table_alias.as_ref();
        let written = Relation {
            name: alias.map_or(name, |alias| self.dialect().fold(&alias.alias)),
            columns: table.clone(),
        };
        match &insert.on {
            None => {}
            Some(OnInsert::OnConflict(on)) => self.on_conflict(on, (&written, &table), outer)?,
            Some(OnInsert::DuplicateKeyUpdate(assignments)) => {
                let given = targets.known;
                self.on_duplicate(assignments, (&written, &table, given), outer)?;
            }
            Some(_) => return Err(Doubt("rows that are there".to_owned())),
        }
        let scope = Scope {
            relations: vec![written],
            outer,
        };
        self.returning(insert.returning.as_deref(), &scope)
    }

    fn on_conflict(
        &mut self,
        on: &OnConflict,
        (written, table): (&Relation, &Columns),
        outer: Option<&Scope>,
    ) -> Result<(), Doubt> {
        let excluded = Relation {
            name: "excluded".to_owned(),
            columns: table.clone(),
        };
        // Names without a relation mean the table.
        let own = Scope {
            relations: vec![excluded],
            outer,
        };
        let scope = Scope {
            relations: vec![Relation {
                name: written.name.clone(),
                columns: table.clone(),
            }],
            outer: Some(&own),
        };
        if let OnConflictAction::DoUpdate(update) = &on.action {
            self.assignments(&update.assignments, table, &scope)?;
            self.condition(update.selection.as_ref(), &scope)?;
        }
        Ok(())
    }

    /// Rows of VALUES that are stored: each value is checked against its column.
    fn rows(
        &mut self,
        rows: &[sqlparser::ast::Parens<Vec<Expr>>],
        targets: &Columns,
        outer: Option<&Scope>,
    ) -> Result<Columns, Doubt> {
        let scope = Scope {
            relations: Vec::new(),
            outer,
        };
        for row in rows {
            let mut given = Columns::default();
            for value in &row.content {
                given.known.push((None, self.stored(value, &scope)?));
            }
            self.store_all(&given, targets)?;
            self.check_last(&given, targets)?;
        }
        Ok(Columns::default())
    }

    fn check_last(&self, given: &Columns, targets: &Columns) -> Result<(), Doubt> {
        let written = given.known.iter().zip(&targets.known);
        let written: Vec<_> = written
            .map(|((_, own), (_, target))| (own, target))
            .collect();
        groups::check_last(&written, false, self.labels)
    }

    /// A value on its way into a column. `DEFAULT` is the server's, which knows none of a protected
    /// column.
    pub fn stored(&mut self, value: &Expr, scope: &Scope) -> Result<Label, Doubt> {
        match value {
            Expr::Identifier(name)
                if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default") =>
            {
                self.saw(value);
                Ok(Label::null())
            }
            _ => self.label(value, scope),
        }
    }

    pub(super) fn store_all(&mut self, given: &Columns, targets: &Columns) -> Result<(), Doubt> {
        if let Some(others) = &given.others {
            if targets.has_sealed() {
                return Err(Doubt("columns that are not known are stored".to_owned()));
            }
            return self.in_clear(others.clone()).map(drop);
        }
        for (index, (_, label)) in given.known.iter().enumerate() {
            match targets.known.get(index) {
                Some((_, target)) => self.labels.store(label, target)?,
                None => drop(self.in_clear(label.clone())?),
            }
        }
        Ok(())
    }

    pub fn assignments(
        &mut self,
        assignments: &[Assignment],
        table: &Columns,
        scope: &Scope,
    ) -> Result<(), Doubt> {
        let mut written = Vec::new();
        for Assignment { target, value } in assignments {
            match (target, value) {
                (AssignmentTarget::ColumnName(name), value) => {
                    let targets = targets(std::slice::from_ref(name), table, self.dialect())?;
                    let given = self.stored(value, scope)?;
                    let given = of(vec![given]);
                    self.store_all(&given, &targets)?;
                    written.extend(given.known.into_iter().zip(targets.known));
                }
                (AssignmentTarget::Tuple(names), Expr::Tuple(values)) => {
                    self.saw(value);
                    let targets = targets(names, table, self.dialect())?;
                    let mut given = Vec::new();
                    for value in values {
                        given.push(self.stored(value, scope)?);
                    }
                    let given = of(given);
                    self.store_all(&given, &targets)?;
                    written.extend(given.known.into_iter().zip(targets.known));
                }
                (AssignmentTarget::Tuple(names), Expr::Subquery(query)) => {
                    self.saw(value);
                    let targets = targets(names, table, self.dialect())?;
                    let given = self.query(query, Some(scope))?;
                    self.store_all(&given, &targets)?;
                    written.extend(given.known.into_iter().zip(targets.known));
                }
                _ => return Err(Doubt("a row is assigned that is not known".to_owned())),
            }
        }
        let written = written.iter().map(|((_, own), (_, target))| (own, target));
        groups::check_last(&written.collect::<Vec<_>>(), true, self.labels)
    }

    pub fn update(&mut self, update: &Update, outer: Option<&Scope>) -> Result<Columns, Doubt> {
        if self.is_mysql() && !update.table.joins.is_empty() {
            return self.update_joined(update, outer);
        }
        let (written, table) = self.written(&update.table)?;
        let mut scope = Scope {
            relations: vec![written],
            outer,
        };
        match &update.from {
            None => {}
            Some(UpdateTableFromKind::AfterSet(tables)) => {
                for joined in tables {
                    self.joined(joined, &mut scope)?;
                }
            }
            Some(UpdateTableFromKind::BeforeSet(_)) => {
                return Err(Doubt("FROM before SET".to_owned()));
            }
        }
        self.assignments(&update.assignments, &table, &scope)?;
        self.condition(update.selection.as_ref(), &scope)?;
        self.first_rows(&update.order_by, update.limit.as_ref(), &scope)?;
        self.returning(update.returning.as_deref(), &scope)
    }

    pub fn delete(&mut self, delete: &Delete, outer: Option<&Scope>) -> Result<Columns, Doubt> {
        if self.is_mysql() && !delete.tables.is_empty() {
            return self.delete_joined(delete, outer);
        }
        let FromTable::WithFromKeyword(from) = &delete.from else {
            return Err(Doubt("a DELETE of another dialect".to_owned()));
        };
        let [table] = from.as_slice() else {
            return Err(Doubt("DELETE of several tables".to_owned()));
        };
        let (written, _) = self.written(table)?;
        let mut scope = Scope {
            relations: vec![written],
            outer,
        };
        for joined in delete.using.iter().flatten() {
            self.joined(joined, &mut scope)?;
        }
        self.condition(delete.selection.as_ref(), &scope)?;
        self.first_rows(&delete.order_by, delete.limit.as_ref(), &scope)?;
        self.returning(delete.returning.as_deref(), &scope)
    }

    pub fn merge(&mut self, merge: &Merge) -> Result<Columns, Doubt> {
        if merge.output.is_some() {
            return Err(Doubt("MERGE that returns rows".to_owned()));
        }
        let (written, table) = self.written_factor(&merge.table)?;
        // A row that is inserted has no row of the table beside it.
        let mut source = Scope::default();
        self.factor(&merge.source, &mut source)?;
        let both = Scope {
            relations: vec![written],
            outer: Some(&source),
        };
        self.condition(Some(&merge.on), &both)?;
        for clause in &merge.clauses {
            let scope = match clause.clause_kind {
                MergeClauseKind::Matched => &both,
                MergeClauseKind::NotMatched => &source,
                MergeClauseKind::NotMatchedByTarget | MergeClauseKind::NotMatchedBySource => {
                    return Err(Doubt("a clause of this kind".to_owned()));
                }
            };
            self.condition(clause.predicate.as_ref(), scope)?;
            match &clause.action {
                MergeAction::Update(MergeUpdateExpr {
                    kind: MergeUpdateKind::Set(assignments),
                    update_predicate: None,
                    delete_predicate: None,
                    ..
                }) => self.assignments(assignments, &table, scope)?,
                MergeAction::Insert(MergeInsertExpr {
                    columns,
                    kind: MergeInsertKind::Values(values),
                    insert_predicate: None,
                    ..
                }) => {
                    let targets = targets(columns, &table, self.dialect())?;
                    self.rows(&values.rows, &targets, Some(scope))?;
                }
                MergeAction::Delete { .. } | MergeAction::DoNothing { .. } => {}
                MergeAction::Update(_) | MergeAction::Insert(_) => {
                    return Err(Doubt("a clause of another dialect".to_owned()));
                }
            }
        }
        Ok(Columns::default())
    }

    fn written(&mut self, table: &TableWithJoins) -> Result<(Relation, Columns), Doubt> {
        match table.joins.as_slice() {
            [] => self.written_factor(&table.relation),
            _ => Err(Doubt("a table of this form is written".to_owned())),
        }
    }

    fn written_factor(&mut self, factor: &TableFactor) -> Result<(Relation, Columns), Doubt> {
        let TableFactor::Table { name, alias, .. } = factor else {
            return Err(Doubt("a table of this form is written".to_owned()));
        };
        let (name, columns) = self.table(name)?;
        let alias = alias.as_ref();
        let relation = Relation {
            name: alias.map_or(self.dialect().fold_relation(name), |alias| {
                self.dialect().fold(&alias.name)
            }),
            columns: columns.clone(),
        };
        Ok((relation, columns))
    }

    pub(super) fn condition(
        &mut self,
        condition: Option<&Expr>,
        scope: &Scope,
    ) -> Result<(), Doubt> {
        let Some(condition) = condition else {
            return Ok(());
        };
        let label = self.label(condition, scope)?;
        self.in_clear(label).map(drop)
    }

    fn returning(&mut self, items: Option<&[SelectItem]>, scope: &Scope) -> Result<Columns, Doubt> {
        items.map_or_else(|| Ok(Columns::default()), |items| self.items(items, scope))
    }
}

pub(super) fn of(labels: Vec<Label>) -> Columns {
    Columns {
        known: labels.into_iter().map(|label| (None, label)).collect(),
        others: None,
    }
}

/// The columns of a column list.
fn targets(names: &[ObjectName], table: &Columns, dialect: Dialect) -> Result<Columns, Doubt> {
    let mut targets = Columns::default();
    for name in names {
        let (_, name) = dialect
            .split(name)
            .ok_or_else(|| Doubt("a computed name".to_owned()))?;
        let mut known = table.known.iter();
        let found = known.find(|(own, _)| own.as_ref() == Some(&name));
        let label = match (found, &table.others) {
            (Some((_, label)), _) | (None, Some(label)) => label.clone(),
            (None, None) => return Err(Doubt(format!("column {name:?} is not known"))),
        };
        targets.known.push((Some(name), label));
    }
    Ok(targets)
}
