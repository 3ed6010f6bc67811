//! `INSERT`: values for their columns, and defaults of protected columns, which the server does not
//! know.

use sqlparser::ast::Parens;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    ConflictTarget, DoUpdate, Expr, Ident, Insert, ObjectName, OnConflict, OnConflictAction,
    OnInsert, Query, SelectItem, SetExpr, TableAlias, TableObject, Value, Values,
};
use sqlstate::SqlState;

use super::super::query::{Outputs, is_default};
use super::super::{Analysis, OutColumn, Relation, Scope};
use super::target_column;
use crate::analysis::query_context::QueryContext;
use crate::analysis::template;
use crate::dialect::marks;
use crate::{ColumnId, Dialect, Mode, Refusal, Table};
use sql_plan::{refuse, unsupported};

impl Analysis<'_> {
    pub fn insert(
        &mut self,
        insert: &mut Insert,
        outer: Option<&Scope>,
    ) -> Result<Outputs, Refusal> {
        check_dialect(insert, self.dialect())?;
        if insert.ignore {
            self.ignoring(insert)?;
        }
        let Insert {
            table: TableObject::TableName(name),
            table_alias,
            columns,
            source,
            on,
            returning,
            ..
        } = insert
        else {
            return Err(unsupported("INSERT into what is no table"));
        };
        if table_alias.as_ref().is_some_and(|alias| !alias.explicit) {
            // To the server an alias of INSERT needs AS.
            let refusal = unsupported("INSERT with an alias without AS");
            return Err(refusal.with_state(SqlState::SYNTAX_ERROR));
        }
        let alias = table_alias.as_ref().map(|alias| TableAlias {
            explicit: true,
            name: alias.alias.clone(),
            columns: Vec::new(),
            at: None,
        });
        let overriding = marks::overriding(name);
        let (table, relation) = self.written(name, alias.as_ref())?;
        marks::put_overriding(name, overriding);
        let targets = targets(table, columns, self.dialect())?;
        self.overriding(overriding, source.as_deref_mut(), &targets)?;
        let mut given = None;
        match source {
            Some(source) => {
                let outputs =
                    self.source(source, table.is_some().then_some(&targets[..]), outer)?;
                given = outputs.as_ref().map(Vec::len);
                if !is_simple(source) {
                    self.check_unseen(outputs.as_deref().unwrap_or_default(), &targets)?;
                }
                self.check_source(outputs, &targets, table)?;
            }
            None if !columns.is_empty() => return Err(unsupported("INSERT without values")),
            None => {}
        }
        if let Some(table) = table {
            self.check_hidden_defaults(table)?;
            // How many columns a row has is known wherever one of the table's is protected.
            if let (true, Some(given)) = (columns.is_empty(), given) {
                *columns = names(table, given, self.dialect())?;
            }
            self.complete(table, columns, source)?;
        }
        match on {
            None => {}
            Some(OnInsert::DuplicateKeyUpdate(assignments)) => {
                self.on_duplicate(assignments, (table, columns), &relation, outer)?;
            }
            Some(OnInsert::OnConflict(on)) => self.on_conflict(on, table, &relation, outer)?,
            Some(_) => return Err(unsupported("an INSERT of another dialect")),
        }
        let scope = Scope::of(vec![relation], outer, self.dialect());
        self.returning(returning.as_mut(), &scope)
    }

    fn source(
        &mut self,
        source: &mut Query,
        targets: Option<&[Option<ColumnId>]>,
        outer: Option<&Scope>,
    ) -> Result<Outputs, Refusal> {
        let values_targets = match targets {
            Some(targets) => self.hand_over(source, targets)?,
            None => None,
        };
        // A row of VALUES may only be stored as it is where nothing sorts or unites it.
        let simple = is_simple(source);
        let context = QueryContext {
            outer,
            targets: targets.filter(|_| simple),
            values_targets: values_targets.as_deref(),
            ..QueryContext::default()
        };
        self.query_in(source, context)
    }

    fn check_source(
        &mut self,
        outputs: Outputs,
        targets: &[Option<ColumnId>],
        table: Option<&Table>,
    ) -> Result<(), Refusal> {
        let Some(outputs) = outputs else {
            return match targets.iter().flatten().next() {
                None => Ok(()),
                Some(column) => Err(unsupported(&format!(
                    "INSERT of columns that are not known into protected column {}",
                    self.title(*column)
                ))),
            };
        };
        if table.is_some() && outputs.len() > targets.len() {
            return Err(refuse("INSERT has more expressions than target columns")
                .with_state(SqlState::SYNTAX_ERROR));
        }
        for (index, output) in outputs.iter().enumerate() {
            self.check_stored(output.sealed, targets.get(index).copied().flatten())?;
        }
        Ok(())
    }

    /// Refuses rows of queries that were not looked at value by value, for columns with check
    /// constraints.
    fn check_unseen(
        &self,
        outputs: &[OutColumn],
        targets: &[Option<ColumnId>],
    ) -> Result<(), Refusal> {
        let pairs = outputs.iter().zip(targets);
        let mut sealed = pairs.filter(|(output, _)| output.sealed.is_some());
        sealed.try_for_each(|(_, target)| target.map_or(Ok(()), |own| self.check_unchecked(own)))
    }

    /// What becomes of values for identity columns, by the mark of `OVERRIDING`.
    fn overriding(
        &self,
        mark: Option<&str>,
        source: Option<&mut Query>,
        targets: &[Option<ColumnId>],
    ) -> Result<(), Refusal> {
        match mark {
            Some(marks::OVERRIDING_SYSTEM) => Ok(()),
            Some(_) => self.override_given(source, targets),
            None => self.check_always(source.as_deref(), targets),
        }
    }

    /// `GENERATED ALWAYS`: a statement may say DEFAULT, and gives no value.
    fn check_always(
        &self,
        source: Option<&Query>,
        targets: &[Option<ColumnId>],
    ) -> Result<(), Refusal> {
        for (index, target) in targets.iter().enumerate() {
            let Some(id) = target.filter(|id| self.is_always(*id)) else {
                continue;
            };
            let is_default = match source.map(|source| &*source.body) {
                None => true,
                Some(SetExpr::Values(values)) => values.rows.iter().all(|row| {
                    let given = row.content.get(index);
                    given.is_none_or(|value| is_default(value) || template::marked(value).is_some())
                }),
                Some(_) => false,
            };
            if !is_default {
                return Err(given_always(&self.column(id).column));
            }
        }
        Ok(())
    }

    /// `OVERRIDING USER VALUE`: what a statement gives to identity columns is not stored.
    fn override_given(
        &self,
        source: Option<&mut Query>,
        targets: &[Option<ColumnId>],
    ) -> Result<(), Refusal> {
        let is_identity = |id: ColumnId| {
            let draws = self.column(id).draws.as_ref();
            draws.is_some_and(|draws| draws.is_identity)
        };
        let identities = targets.iter().enumerate();
        let mut identities = identities
            .filter_map(|(index, target)| target.filter(|id| is_identity(*id)).map(|_| index))
            .peekable();
        if identities.peek().is_none() {
            return Ok(());
        }
        let Some(SetExpr::Values(values)) = source.map(|source| &mut *source.body) else {
            return Err(overriding_user());
        };
        for index in identities {
            for row in &mut values.rows {
                let Some(value) = row.content.get_mut(index) else {
                    continue;
                };
                // The type of a parameter that is not used would not be known.
                if !matches!(value, Expr::Value(own) if !matches!(own.value, Value::Placeholder(_)))
                    && !is_default(value)
                {
                    return Err(overriding_user());
                }
                *value = Expr::Identifier(Ident::new("DEFAULT"));
            }
        }
        Ok(())
    }

    fn is_always(&self, id: ColumnId) -> bool {
        self.column(id).is_always()
    }

    /// A default of ours cannot be given to a column that a view does not show.
    fn check_hidden_defaults(&self, table: &Table) -> Result<(), Refusal> {
        let name = (table.schema.clone(), table.name.clone());
        let hidden = self.schema.hidden_defaults.get(&name);
        match hidden.and_then(|hidden| hidden.first()) {
            None => Ok(()),
            Some(column) => Err(refuse(format!(
                "protected column {} has a default, and view {}.{} does not show it",
                self.title(*column),
                table.schema,
                table.name
            ))
            .with_hint("Insert into the table itself.")),
        }
    }

    /// Adds what the server does not know, and seals together what is sealed together.
    fn complete(
        &mut self,
        table: &Table,
        columns: &mut Vec<ObjectName>,
        source: &mut Option<Box<Query>>,
    ) -> Result<(), Refusal> {
        self.add_defaults(table, columns, source)?;
        self.group_rows(table, columns, source.as_deref_mut())
    }

    /// Protected columns that the statement leaves out, and that have a default.
    fn add_defaults(
        &mut self,
        table: &Table,
        columns: &mut Vec<ObjectName>,
        source: &mut Option<Box<Query>>,
    ) -> Result<(), Refusal> {
        let named: Vec<String> = columns
            .iter()
            .filter_map(|name| self.dialect().split(name).map(|(_, name)| name))
            .collect();
        for column in &table.columns {
            let Some(id) = column.protected else {
                continue;
            };
            if named.contains(&column.name) || self.column(id).default.is_none() {
                continue;
            }
            // Each row has a value of its own.
            let is_drawn = self.column(id).draws.is_some();
            match source.as_deref_mut() {
                Some(query) => append(query, is_drawn, || self.default_of(id)).map_err(|()| {
                    refuse(format!(
                        "protected column {} has a default and is left out of this INSERT",
                        self.title(id)
                    ))
                    .with_hint("Name the column, and give its value.")
                })?,
                None => *source = Some(Box::new(one_row(self.default_of(id)))),
            }
            columns.push(vec![self.dialect().quote(&column.name)].into());
        }
        Ok(())
    }

    fn on_conflict(
        &mut self,
        on: &mut OnConflict,
        table: Option<&Table>,
        relation: &Relation,
        outer: Option<&Scope>,
    ) -> Result<(), Refusal> {
        let OnConflict {
            conflict_target,
            action,
        } = on;
        match conflict_target {
            Some(ConflictTarget::Columns(names)) => {
                for name in names.iter() {
                    let name = ObjectName::from(vec![name.clone()]);
                    if let Some(column) = target_column(table, &name, self.dialect())? {
                        self.demand(column, Mode::Equality, "ON CONFLICT")?;
                    }
                }
            }
            Some(ConflictTarget::OnConstraint(_)) | None => {}
        }
        let OnConflictAction::DoUpdate(DoUpdate {
            assignments,
            selection,
        }) = action
        else {
            return Ok(());
        };
        let excluded = Relation {
            name: "excluded".to_owned(),
            schema: None,
            ..relation.clone()
        };
        // Names without a table mean the table: those of `excluded` must be qualified.
        let around = Scope::of(vec![excluded], outer, self.dialect());
        let scope = Scope::of(vec![relation.clone()], Some(&around), self.dialect());
        self.all_assignments(assignments, table, &scope)?;
        match selection {
            Some(condition) => self.plain(condition, &scope),
            None => Ok(()),
        }
    }
}

/// The refusal of a value for a column that is `GENERATED ALWAYS`.
pub(crate) fn given_always(column: &str) -> Refusal {
    refuse(format!(
        "cannot insert a non-DEFAULT value into column \"{column}\""
    ))
    .with_state(SqlState::GENERATED_ALWAYS)
    .with_hint("Use OVERRIDING SYSTEM VALUE to override.")
}

/// The refusal of what is not stored by `OVERRIDING USER VALUE`.
pub(crate) fn overriding_user() -> Refusal {
    unsupported(
        "OVERRIDING USER VALUE of other values than constants for a protected identity column",
    )
    .with_hint("Leave the column out.")
}

/// Whether each value of the rows is written out, or in a select list.
fn is_simple(source: &Query) -> bool {
    matches!(&*source.body, SetExpr::Values(_) | SetExpr::Select(_))
}

/// The columns that values go to, in their order; empty for a table that is not known.
fn targets(
    table: Option<&Table>,
    columns: &[ObjectName],
    dialect: Dialect,
) -> Result<Vec<Option<ColumnId>>, Refusal> {
    match table {
        None => Ok(Vec::new()),
        Some(table) if columns.is_empty() => Ok(table
            .columns
            .iter()
            .map(|column| column.protected)
            .collect()),
        Some(table) => columns
            .iter()
            .map(|name| target_column(Some(table), name, dialect))
            .collect(),
    }
}

/// The first columns of a table, which rows without names go to.
///
/// # Errors
/// They are some of them, which MySQL does not take. An empty row has all defaults.
fn names(table: &Table, count: usize, dialect: Dialect) -> Result<Vec<ObjectName>, Refusal> {
    let is_some = count > 0 && count != table.columns.len();
    if is_some && matches!(dialect, Dialect::MySql(_)) {
        return Err(
            refuse("INSERT has another number of values than the table has columns")
                .with_hint("Name the columns."),
        );
    }
    let columns = table.columns.iter().take(count);
    Ok(columns
        .map(|column| vec![dialect.quote(&column.name)].into())
        .collect())
}

/// Adds a value to each row of a source: one of its own where rows are written out, so that each is
/// sealed by itself.
fn append(query: &mut Query, is_drawn: bool, mut value: impl FnMut() -> Expr) -> Result<(), ()> {
    match &mut *query.body {
        SetExpr::Values(values) => {
            for row in &mut values.rows {
                row.content.push(value());
            }
            Ok(())
        }
        SetExpr::Select(select) if select.distinct.is_none() && !is_drawn => {
            select.projection.push(SelectItem::UnnamedExpr(value()));
            Ok(())
        }
        // In parentheses.
        SetExpr::Query(inner) => append(inner, is_drawn, value),
        _ => Err(()),
    }
}

/// `VALUES (value)`, for `DEFAULT VALUES` of a table with defaults of our own.
fn one_row(value: Expr) -> Query {
    let row = Parens {
        opening_token: AttachedToken::empty(),
        content: vec![value],
        closing_token: AttachedToken::empty(),
    };
    Query {
        with: None,
        body: Box::new(SetExpr::Values(Values {
            explicit_row: false,
            value_keyword: false,
            rows: vec![row],
        })),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}

fn check_dialect(insert: &Insert, dialect: Dialect) -> Result<(), Refusal> {
    let is_of_mysql = insert.ignore
        || insert.replace_into
        || matches!(insert.on, Some(OnInsert::DuplicateKeyUpdate(_)));
    if is_of_mysql && !matches!(dialect, Dialect::MySql(_)) {
        return Err(unsupported("an INSERT of another dialect"));
    }
    let Insert {
        insert_token: _,
        optimizer_hints: _,
        or: None,
        ignore: _,
        into: true,
        table: _,
        table_alias: _,
        columns: _,
        overwrite: false,
        source: _,
        assignments,
        partitioned: None,
        after_columns,
        has_table_keyword: false,
        on: _,
        returning: _,
        output: None,
        replace_into: _,
        priority: None,
        insert_alias: None,
        settings: None,
        format_clause: None,
        multi_table_insert_type: None,
        multi_table_into_clauses: _,
        multi_table_when_clauses: _,
        multi_table_else_clause: None,
    } = insert
    else {
        return Err(unsupported("an INSERT of another dialect"));
    };
    match assignments.is_empty() && after_columns.is_empty() {
        true => Ok(()),
        false => Err(unsupported("an INSERT of another dialect")),
    }
}
