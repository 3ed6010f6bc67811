//! The `WHEN` clauses of `MERGE`, and what each writes.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment as Set, AssignmentTarget, Expr, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, Merge, MergeAction, MergeClauseKind, MergeInsertExpr, MergeInsertKind, MergeUpdateExpr,
    MergeUpdateKind, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    TableFactor, Visitor, VisitorMut,
};

use super::reduction::name_of;
use crate::analysis::{Constant, given_always, is_default};
use crate::dialect::postgres::finisher;
use crate::finisher::inserts::default_of;
use crate::finisher::rows::cast_constant;
use crate::finisher::targets::{Target, Value, check_width, column_of};
use crate::walk;
use crate::{Column, ProtectedColumn, Refusal, Schema, Table};
use sql_plan::{refuse, unsupported};
use sqlstate::SqlState;

/// The clauses of a `MERGE`.
pub(super) struct Clauses<'s> {
    pub all: Vec<Clause<'s>>,
}

pub(super) struct Clause<'s> {
    /// `WHEN MATCHED`
    pub is_matched: bool,
    pub condition: Option<Expr>,
    pub action: Action<'s>,
}

pub(super) enum Action<'s> {
    Nothing,
    Delete,
    Update(Vec<Written<'s>>),
    Insert(Vec<Written<'s>>),
}

/// A column that a clause writes.
pub(super) struct Written<'s> {
    pub name: ObjectName,
    pub column: &'s Column,
    pub value: Value,
    /// What the finisher computes for it.
    expression: Option<Expr>,
}

impl<'s> Written<'s> {
    /// The same for the statement that inserts.
    pub fn of_insert(&self) -> Target<'s> {
        Target {
            name: self.name.clone(),
            column: self.column,
            value: self.value.clone(),
        }
    }

    /// Its assignment.
    pub fn assigned(&self, value: Expr) -> Set {
        Set {
            target: AssignmentTarget::ColumnName(self.name.clone()),
            value,
        }
    }
}

/// The columns of the answer for each of some columns that are written: those of the next one if it
/// is not computed.
pub(super) fn answers(written: &[Written], first: usize) -> impl Iterator<Item = usize> {
    let mut next = first;
    written.iter().map(move |own| {
        let answer = next;
        next += usize::from(own.expression.is_some());
        answer
    })
}

impl<'s> Clause<'s> {
    /// The columns that are computed, and their expressions.
    pub fn values(&self) -> impl Iterator<Item = (&Written<'s>, &Expr)> {
        let written = match &self.action {
            Action::Update(written) | Action::Insert(written) => written.as_slice(),
            Action::Nothing | Action::Delete => &[],
        };
        written
            .iter()
            .filter_map(|own| Some((own, own.expression.as_ref()?)))
    }
}

impl<'s> Clauses<'s> {
    /// Those of a `MERGE` into a table of this name.
    ///
    /// # Errors
    /// The server refuses them, or they are not supported.
    pub fn of(
        merge: &Merge,
        (name, table): (&Ident, &'s Table),
        schema: &Schema,
    ) -> Result<Self, Refusal> {
        let mut all: Vec<Clause> = Vec::new();
        for clause in &merge.clauses {
            let is_matched = match clause.clause_kind {
                MergeClauseKind::Matched => true,
                MergeClauseKind::NotMatched => false,
                MergeClauseKind::NotMatchedByTarget | MergeClauseKind::NotMatchedBySource => {
                    return Err(unsupported("WHEN NOT MATCHED BY in MERGE").with_hint(
                        "Update or delete rows without a partner by a statement of its own.",
                    ));
                }
            };
            let mut before = all.iter().filter(|own| own.is_matched == is_matched);
            if before.any(|own| own.condition.is_none()) {
                return Err(refuse(
                    "unreachable WHEN clause specified after unconditional WHEN clause",
                )
                .with_state(SqlState::SYNTAX_ERROR));
            }
            let mut condition = clause.predicate.clone();
            let mut action = match &clause.action {
                MergeAction::DoNothing { .. } => Action::Nothing,
                MergeAction::Delete { .. } => Action::Delete,
                MergeAction::Update(update) => Action::Update(updated(update, table, schema)?),
                MergeAction::Insert(insert) => Action::Insert(inserted(insert, table, schema)?),
            };
            let mut parts: Vec<&mut Expr> = condition.iter_mut().collect();
            if let Action::Update(written) | Action::Insert(written) = &mut action {
                parts.extend(written.iter_mut().filter_map(|own| own.expression.as_mut()));
            }
            for part in parts {
                check_rows(part)?;
                if !is_matched {
                    let source = name_of(&merge.source);
                    of_source(part, source, (name, table), schema)?;
                }
            }
            all.push(Clause {
                is_matched,
                condition,
                action,
            });
        }
        match all.is_empty() {
            true => Err(unsupported("MERGE without a WHEN clause")),
            false => Ok(Self { all }),
        }
    }

    /// Those that write.
    pub fn writing(&self) -> impl Iterator<Item = &Clause<'s>> {
        let all = self.all.iter();
        all.filter(|clause| !matches!(clause.action, Action::Nothing))
    }

    /// The conditions, in their order.
    pub fn conditions(&self) -> impl Iterator<Item = &Expr> {
        self.all
            .iter()
            .filter_map(|clause| clause.condition.as_ref())
    }

    /// The columns that are computed, and their expressions.
    pub fn values(&self) -> impl Iterator<Item = (&Written<'s>, &Expr)> {
        self.writing().flat_map(Clause::values)
    }

    /// How many values come before those of a clause.
    pub fn before(&self, clause: &Clause) -> usize {
        let before = self.writing().take_while(|own| !std::ptr::eq(*own, clause));
        before.map(|own| own.values().count()).sum()
    }

    /// Whether rows of the target are written.
    pub fn locks(&self) -> bool {
        let mut all = self.all.iter();
        all.any(|clause| matches!(clause.action, Action::Delete | Action::Update(_)))
    }

    /// Whether rows are deleted.
    pub fn deletes(&self) -> bool {
        let mut all = self.all.iter();
        all.any(|clause| matches!(clause.action, Action::Delete))
    }
}

fn updated<'s>(
    update: &MergeUpdateExpr,
    table: &'s Table,
    schema: &Schema,
) -> Result<Vec<Written<'s>>, Refusal> {
    let MergeUpdateExpr {
        kind: MergeUpdateKind::Set(assignments),
        update_predicate: None,
        delete_predicate: None,
        ..
    } = update
    else {
        return Err(unsupported("a clause of another dialect"));
    };
    let mut written: Vec<Written> = Vec::new();
    for Set { target, value } in assignments {
        let pairs = match (target, value) {
            (AssignmentTarget::ColumnName(name), value) => vec![(name, value)],
            (AssignmentTarget::Tuple(names), Expr::Tuple(values))
                if names.len() == values.len() =>
            {
                names.iter().zip(values).collect()
            }
            _ => {
                return Err(unsupported("a row that is assigned in MERGE")
                    .with_hint("Assign each column by itself."));
            }
        };
        for (name, value) in pairs {
            let column = column_of(name, table, schema)?;
            if written.iter().any(|own| own.column.number == column.number) {
                return Err(refuse(format!(
                    "multiple assignments to same column {:?}",
                    column.name
                ))
                .with_state(SqlState::SYNTAX_ERROR));
            }
            let rule = column.protected.map(|id| schema.column(id));
            if rule.is_some_and(|rule| rule.draws.is_some()) && is_default(value) {
                return Err(unsupported(&format!(
                    "DEFAULT of column {}, which is the next value of its sequence, in MERGE",
                    column.name
                ))
                .with_hint("Ask for nextval() first, and pass its value as a parameter."));
            }
            if rule.is_some_and(ProtectedColumn::is_always) {
                let message = format!("column {:?} can only be updated to DEFAULT", column.name);
                return Err(refuse(message).with_state(SqlState::GENERATED_ALWAYS));
            }
            written.push(value_of(
                (name.clone(), column),
                value,
                (table, schema),
                true,
            )?);
        }
    }
    Ok(written)
}

fn inserted<'s>(
    insert: &MergeInsertExpr,
    table: &'s Table,
    schema: &Schema,
) -> Result<Vec<Written<'s>>, Refusal> {
    let MergeInsertExpr {
        columns,
        kind: MergeInsertKind::Values(values),
        insert_predicate: None,
        ..
    } = insert
    else {
        return Err(unsupported("a clause of another dialect"));
    };
    let [row] = values.rows.as_slice() else {
        return Err(refuse("MERGE inserts one row for each of the source")
            .with_state(SqlState::SYNTAX_ERROR));
    };
    let row = &row.content;
    let named: Vec<ObjectName> = match columns.is_empty() {
        true => {
            let columns = table.columns.iter().take(row.len());
            let columns =
                columns.map(|own| ObjectName::from(vec![schema.dialect.quote(&own.name)]));
            columns.collect()
        }
        false => columns.clone(),
    };
    check_width(named.len(), row.len())?;
    let mut written: Vec<Written> = Vec::new();
    for (name, value) in named.into_iter().zip(row) {
        let column = column_of(&name, table, schema)?;
        let rule = column.protected.map(|id| schema.column(id));
        if rule.is_some_and(ProtectedColumn::is_always) && !is_default(value) {
            return Err(given_always(&column.name));
        }
        written.push(value_of((name, column), value, (table, schema), false)?);
    }
    Ok(written)
}

/// Decides who computes a value.
fn value_of<'s>(
    (name, column): (ObjectName, &'s Column),
    value: &Expr,
    (table, schema): (&Table, &Schema),
    updates: bool,
) -> Result<Written<'s>, Refusal> {
    let written = |value, expression| Written {
        name,
        column,
        value,
        expression,
    };
    let mut expression = value.clone();
    if is_default(value) {
        if !updates || column.protected.is_none() {
            return Ok(written(Value::Default, None));
        }
        expression = default_of(column, schema)?;
    }
    let is_of_server = column.protected.is_none()
        && Constant::of(&expression)?.is_none()
        && finisher::is_of_no_row(&expression)?
        && finisher::check_expression(&expression, schema).is_err();
    if is_of_server {
        return Ok(written(Value::Kept(Box::new(expression)), None));
    }
    cast_constant(&mut expression, column, (table, schema))?;
    Ok(written(Value::Computed, Some(expression)))
}

/// Refuses window functions: a clause has one pair of rows.
fn check_rows(part: &Expr) -> Result<(), Refusal> {
    struct Windows;
    impl Visitor for Windows {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
            match expression {
                Expr::Function(function) if function.over.is_some() => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    match walk::visit(part, &mut Windows) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(refuse(
            "window functions are not allowed in MERGE WHEN clauses",
        )
        .with_state(SqlState::WINDOWING_ERROR)),
    }
}

/// Has names without a relation mean the source: there is no row of the target.
fn of_source(
    part: &mut Expr,
    source: Option<&Ident>,
    (name, table): (&Ident, &Table),
    schema: &Schema,
) -> Result<(), Refusal> {
    let mut names = OfSource {
        source,
        name: schema.dialect.fold(name),
        table,
        schema,
        depth: 0,
        has_with: false,
        selects: Vec::new(),
    };
    match walk::visit_mut(part, &mut names) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(refusal) => Err(refusal),
    }
}

struct OfSource<'a> {
    source: Option<&'a Ident>,
    /// The name of the target.
    name: String,
    table: &'a Table,
    schema: &'a Schema,
    /// How many queries are around.
    depth: usize,
    /// One of them may have given a table's name to something else.
    has_with: bool,
    /// The columns of the tables of each `SELECT` around.
    selects: Vec<Vec<String>>,
}

impl OfSource<'_> {
    /// The columns of the tables of a `SELECT`, of those that are known.
    fn columns_of(&self, select: &Select) -> Vec<String> {
        let tables = select.from.iter().flat_map(|from| {
            let joined = from.joins.iter().map(|join| &join.relation);
            std::iter::once(&from.relation).chain(joined)
        });
        let tables = tables.filter_map(|factor| match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } if alias.as_ref().is_none_or(|alias| alias.columns.is_empty()) => {
                let (own, name) = self.schema.dialect.split(name)?;
                self.schema.find(own.as_deref(), &name)
            }
            _ => None,
        });
        let columns = tables.flat_map(|table| table.columns.iter().map(|own| own.name.clone()));
        columns.collect()
    }

    /// Whether a name in a query is that of a column of the query's own tables.
    fn is_of_query(&self, name: &str) -> bool {
        let own = self.selects.last().filter(|_| !self.has_with);
        own.is_some_and(|own| own.iter().any(|own| own == name))
    }

    /// Refuses a name in a query that may mean the target.
    fn check_in_query(&self, expression: &Expr) -> Result<(), Refusal> {
        let dialect = self.schema.dialect;
        let is_target = |name: &Ident| dialect.fold(name) == self.name;
        let may_mean_it = match expression {
            Expr::Identifier(name) => {
                let own = dialect.fold(name);
                let is_column = self.table.position(&own).is_some();
                (is_target(name) || is_column) && !self.is_of_query(&own)
            }
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [relations @ .., _] => relations.last().is_some_and(is_target),
                [] => false,
            },
            Expr::Function(function) => match &function.args {
                FunctionArguments::List(list) => list.args.iter().any(|argument| {
                    matches!(
                        argument,
                        FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name))
                            if self.is_target(name)
                    )
                }),
                _ => false,
            },
            _ => false,
        };
        match may_mean_it {
            true => Err(of_query(&expression.to_string())),
            false => Ok(()),
        }
    }

    fn is_target(&self, name: &ObjectName) -> bool {
        let last = name.0.last().and_then(|part| part.as_ident());
        last.is_some_and(|last| self.schema.dialect.fold(last) == self.name)
    }

    fn qualify(&self, expression: &mut Expr) -> Result<(), Refusal> {
        let dialect = self.schema.dialect;
        match expression {
            Expr::Identifier(column) => {
                let own = dialect.fold(column);
                let is_column = self.table.position(&own).is_some();
                match self.source {
                    Some(source) if is_column => {
                        let parts = vec![source.clone(), column.clone()];
                        *expression = Expr::CompoundIdentifier(parts);
                        Ok(())
                    }
                    Some(_) if own != self.name => Ok(()),
                    None if !is_column && own != self.name => Ok(()),
                    _ => Err(unsupported(&format!(
                        "column {column} without the name of its relation in WHEN NOT MATCHED"
                    ))
                    .with_hint("Write s.column, with the name of the source.")),
                }
            }
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [.., relation, _] if dialect.fold(relation) == self.name => Err(refuse(format!(
                    "invalid reference to FROM-clause entry for table {:?}",
                    self.name
                ))
                .with_state(SqlState::UNDEFINED_TABLE)),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

impl VisitorMut for OfSource<'_> {
    type Break = Refusal;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Refusal> {
        self.depth += 1;
        self.has_with |= query.with.is_some();
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Refusal> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<Refusal> {
        self.selects.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Refusal> {
        self.selects.push(self.columns_of(select));
        for item in &select.projection {
            if let SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(name),
                _,
            ) = item
                && self.is_target(name)
            {
                return ControlFlow::Break(of_query(&item.to_string()));
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Refusal> {
        let checked = match self.depth {
            0 => self.qualify(expression),
            _ => self.check_in_query(expression),
        };
        match checked {
            Ok(()) => ControlFlow::Continue(()),
            Err(refusal) => ControlFlow::Break(refusal),
        }
    }
}

/// The refusal of a name in a query.
fn of_query(name: &str) -> Refusal {
    unsupported(&format!(
        "{name} in a query in WHEN NOT MATCHED, which may mean a column of the target,"
    ))
    .with_hint("Write relation.column, with another name than that of the target.")
}
