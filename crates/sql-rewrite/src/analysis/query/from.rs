//! `FROM`: the relations of a query.

use sqlparser::ast::{
    Distinct, FunctionArg, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Query, SetExpr,
    TableAlias, TableFactor, TableFunctionArgs, TableWithJoins,
};
use sqlstate::SqlState;

use super::super::function::argument_expression;
use super::super::meeting::has_constant;
use super::super::scope::Sides;
use super::super::{Analysis, OutColumn, Relation, Scope};
use super::Outputs;
use crate::analysis::query_context::{QueryContext, Targets};
use crate::dialect::marks;
use crate::sampled::is_of_numbers;
use crate::{Dialect, Refusal, RelationKind, Table, Use};
use sql_plan::{refuse, unsupported};

/// What the analysis of a relation in FROM knows of its surroundings.
#[derive(Clone, Copy)]
pub(crate) struct FromContext<'c> {
    /// Whether FROM has other relations.
    pub is_joined: bool,
    /// See [`QueryContext::values_targets`].
    pub values_targets: Targets<'c>,
}

impl FromContext<'_> {
    /// Beside the table that is written.
    pub const JOINED: Self = Self {
        is_joined: true,
        values_targets: None,
    };
}

impl Analysis<'_> {
    /// All relations of a FROM clause.
    pub fn relations(
        &mut self,
        from: &mut [TableWithJoins],
        values_targets: Targets,
        scope: &mut Scope,
    ) -> Result<(), Refusal> {
        let context = FromContext {
            is_joined: from.len() > 1,
            values_targets,
        };
        from.iter_mut()
            .try_for_each(|joined| self.from(joined, context, scope))
    }

    pub fn from(
        &mut self,
        joined: &mut TableWithJoins,
        context: FromContext<'_>,
        scope: &mut Scope,
    ) -> Result<(), Refusal> {
        let TableWithJoins { relation, joins } = joined;
        let context = FromContext {
            is_joined: context.is_joined || !joins.is_empty(),
            ..context
        };
        let left = scope.relations.len();
        self.factor(relation, context, scope)?;
        for join in joins {
            let Join {
                relation,
                global: false,
                join_operator,
            } = join
            else {
                return Err(unsupported("GLOBAL JOIN"));
            };
            let right = scope.relations.len();
            self.factor(relation, context, scope)?;
            self.join(join_operator, Sides { left, right }, scope)?;
        }
        Ok(())
    }

    fn join(
        &mut self,
        operator: &mut JoinOperator,
        sides: Sides,
        scope: &mut Scope,
    ) -> Result<(), Refusal> {
        let constraint = match operator {
            JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint)
            | JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint)
            | JoinOperator::CrossJoin(constraint) => constraint,
            _ => return Err(unsupported("a join of this kind")),
        };
        match constraint {
            JoinConstraint::None => Ok(()),
            JoinConstraint::On(condition) => self.plain(condition, scope),
            JoinConstraint::Using(names) => {
                let names: Option<Vec<String>> = names
                    .iter()
                    .map(|name| self.dialect().split(name).map(|(_, name)| name))
                    .collect();
                let names = names.ok_or_else(|| unsupported("a computed name"))?;
                self.merge(&names, sides, scope)
            }
            JoinConstraint::Natural => {
                let names = scope.common_names(sides)?;
                self.merge(&names, sides, scope)
            }
        }
    }

    /// Merges the columns of a join that have one name.
    fn merge(&mut self, names: &[String], sides: Sides, scope: &mut Scope) -> Result<(), Refusal> {
        for (left, right) in scope.merge(sides, names, self.schema)? {
            self.note_mixed(left, right);
            self.note_use([left, right], Use::Paired);
        }
        Ok(())
    }

    fn factor(
        &mut self,
        factor: &mut TableFactor,
        context: FromContext<'_>,
        scope: &mut Scope,
    ) -> Result<(), Refusal> {
        match factor {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                version: None,
                with_ordinality: false,
                partitions,
                json_path: None,
                sample,
                index_hints,
            } if with_hints.is_empty()
                && partitions.is_empty()
                && index_hints.is_empty()
                && sample.as_ref().is_none_or(is_of_numbers) =>
            {
                let relation = match args {
                    None => self.table(name, alias.as_ref())?,
                    Some(TableFunctionArgs {
                        args,
                        settings: None,
                    }) => self.table_function(name, args, alias.as_ref(), scope)?,
                    Some(_) => return Err(unsupported("a function of another dialect")),
                };
                if relation.columns.is_none() {
                    make_explicit(alias.as_mut());
                }
                scope.relations.push(relation);
                Ok(())
            }
            TableFactor::Derived {
                lateral,
                subquery,
                alias,
                sample: None,
            } => {
                let outer = match lateral {
                    true => Some(&*scope),
                    false => scope.outer,
                };
                let is_free = has_constant(&**subquery) || self.has_free_ctes();
                let outputs = self.derived_query(subquery, context, outer)?;
                let mut relation =
                    derived_as(outputs, String::new(), alias.as_ref(), self.dialect())?;
                relation.is_free = is_free && relation.columns.is_none();
                scope.relations.push(relation);
                Ok(())
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => self.from(table_with_joins, context, scope),
            _ => self.computed(factor, scope),
        }
    }

    /// A derived table. Beside other relations its order does not matter, since a join may reorder
    /// rows (PostgreSQL 9.21); an `ORDER BY` that the server cannot execute is then left out.
    fn derived_query(
        &mut self,
        query: &mut Query,
        context: FromContext<'_>,
        outer: Option<&Scope>,
    ) -> Result<Outputs, Refusal> {
        let Query {
            limit_clause,
            fetch,
            ..
        } = &*query;
        let takes_all = limit_clause.is_none() && fetch.is_none() && !has_distinct_on(query);
        let order_is_free = context.is_joined && takes_all;
        self.dialect().name_columns(&mut query.body);
        let targets = context.values_targets;
        let is_values = matches!(&*query.body, SetExpr::Values(_));
        let context = QueryContext {
            outer,
            targets: targets.filter(|_| is_values),
            values_targets: targets.filter(|_| !is_values),
            order_is_free,
        };
        self.query_gathering(query, context)
    }

    /// Rows that a function or an array gives.
    fn computed(&mut self, factor: &mut TableFactor, scope: &mut Scope) -> Result<(), Refusal> {
        match factor {
            TableFactor::Function {
                lateral: _,
                name,
                args,
                with_ordinality: _,
                alias,
            } => {
                let relation = self.table_function(name, args, alias.as_ref(), scope)?;
                scope.relations.push(relation);
                Ok(())
            }
            TableFactor::UNNEST {
                alias,
                array_exprs,
                with_offset: false,
                with_offset_alias: None,
                with_ordinality: _,
            } => {
                for array in array_exprs {
                    self.plain(array, scope)?;
                }
                let name = alias.as_ref().map_or("unnest".to_owned(), |alias| {
                    self.dialect().fold(&alias.name)
                });
                scope.relations.push(computed(name));
                Ok(())
            }
            _ => Err(unsupported("a relation of this kind in FROM")),
        }
    }

    fn table_function(
        &mut self,
        name: &ObjectName,
        arguments: &mut [FunctionArg],
        alias: Option<&TableAlias>,
        scope: &Scope,
    ) -> Result<Relation, Refusal> {
        let (schema, name) = self
            .dialect()
            .split(name)
            .ok_or_else(|| unsupported("a computed name"))?;
        self.check_function(schema.as_deref(), &name)?;
        for argument in arguments {
            self.plain(argument_expression(argument)?, scope)?;
        }
        Ok(computed(
            alias.map_or(name, |alias| self.dialect().fold(&alias.name)),
        ))
    }

    /// A relation by its name: a common table expression, or a table. The name of a known table is
    /// qualified, so that the search path of the server does not matter.
    pub fn table(
        &mut self,
        name: &mut ObjectName,
        alias: Option<&TableAlias>,
    ) -> Result<Relation, Refusal> {
        check_relation_name(name)?;
        let is_only = marks::take_only(name);
        let (schema, table) = self
            .dialect()
            .split(name)
            .ok_or_else(|| unsupported("a computed name"))?;
        if schema.is_none() {
            self.check_pending(&table)?;
        }
        let found = match schema {
            None => self.ctes.iter().rev().find(|(cte, _)| *cte == table),
            Some(_) => None,
        };
        if let Some((_, columns)) = found {
            let relation = derived_as(Some(columns.clone()), table, alias, self.dialect());
            restore_only(name, is_only);
            return relation;
        }
        let Some(found) = self.find_table(schema.as_deref(), &table)? else {
            restore_only(name, is_only);
            return Ok(unknown(
                alias.map_or(table, |alias| self.dialect().fold(&alias.name)),
            ));
        };
        *name = explicit_name(found, is_only, self.dialect());
        let renamed = alias.map(|alias| self.dialect().alias(&alias.name));
        let mut relation = Relation::of_table(found, renamed, self.schema);
        if let (Some(alias), Some(columns)) = (alias, &mut relation.columns)
            && !alias.columns.is_empty()
        {
            rename(columns, alias, self.dialect())?;
            relation.table = None;
        }
        Ok(relation)
    }

    /// A table that the schema has and that may be read; None: it is not known, and not protected
    /// whatever schema it is looked for in.
    pub fn find_table(
        &self,
        schema: Option<&str>,
        name: &str,
    ) -> Result<Option<&'_ Table>, Refusal> {
        let found = self.schema.find(schema, name);
        let Some(found) = found.filter(|found| found.oid != 0 && !found.columns.is_empty()) else {
            self.check_unknown(schema, name)?;
            return Ok(None);
        };
        let own = (found.schema.clone(), found.name.clone());
        if let Some(text) = self.schema.closed.get(&own) {
            return Err(refuse(text.clone())
                .with_state(SqlState::CONFIG_FILE_ERROR)
                .with_hint(
                    "Mend the rules and start the proxy anew; a column that was renamed may also \
                     get its name back at the server.",
                ));
        }
        if found.opaque {
            return Err(refuse(format!(
                "view {}.{} computes something from a protected column",
                found.schema, found.name
            )));
        }
        if schema.is_none() && self.schema.hides_protected(found) {
            return Err(refuse(format!(
                "relation {name:?} is {}.{} on this search path, which is not protected, while \
                 a protected relation has the same name",
                found.schema, found.name
            ))
            .with_state(SqlState::CONFIG_FILE_ERROR)
            .with_hint("Qualify the name with the schema that is meant."));
        }
        if found.kind == RelationKind::Foreign && self.schema.has_protected(name) {
            return Err(refuse(format!(
                "foreign table {}.{} may be the protected table of the same name",
                found.schema, found.name
            ))
            .with_hint("Give the foreign table another name."));
        }
        Ok(Some(found))
    }

    /// Refuses a name that the schema does not have, but the server may have by now: the search
    /// path may have changed, or a table may have been created.
    fn check_unknown(&self, schema: Option<&str>, name: &str) -> Result<(), Refusal> {
        let is_system = schema
            .is_some_and(|schema| schema.starts_with("pg_") || schema == "information_schema");
        if is_system || !self.schema.has_protected(name) {
            return Ok(());
        }
        let title = match schema {
            Some(schema) => format!("{schema}.{name}"),
            None => name.to_owned(),
        };
        Err(refuse(format!("relation {title:?} does not exist"))
            .with_state(SqlState::UNDEFINED_TABLE)
            .with_hint("Qualify the name with its schema, as the rules have it."))
    }
}

/// The name of a table with its schema, and with `ONLY` before it where that was said.
pub(crate) fn explicit_name(table: &Table, is_only: bool, dialect: Dialect) -> ObjectName {
    let mut name = vec![dialect.quote(&table.schema), dialect.quote(&table.name)].into();
    restore_only(&mut name, is_only);
    name
}

fn restore_only(name: &mut ObjectName, is_only: bool) {
    if is_only {
        marks::put_only(name);
    }
}

/// `ONLY t` of a form that is not known (see [`marks`]) is read by the parser as a relation `only`
/// with the alias `t`.
pub(crate) fn check_relation_name(name: &ObjectName) -> Result<(), Refusal> {
    let is_only =
        |ident: &Ident| ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("only");
    let parts = match name.0.as_slice() {
        [mark, parts @ ..] if marks::is_only(mark) => parts,
        parts => parts,
    };
    match parts {
        [part] if part.as_ident().is_some_and(is_only) => {
            Err(unsupported("ONLY")
                .with_hint("Leave it out, or name the partition or child itself."))
        }
        _ => Ok(()),
    }
}

/// An alias without AS after a relation that is not known: the two words may be something else to
/// the server, which then fails.
pub(crate) fn make_explicit(alias: Option<&mut TableAlias>) {
    if let Some(alias) = alias {
        alias.explicit = true;
    }
}

/// Names that an alias gives to columns.
pub(crate) fn rename(
    columns: &mut [OutColumn],
    alias: &TableAlias,
    dialect: Dialect,
) -> Result<(), Refusal> {
    let TableAlias {
        explicit: _,
        name: _,
        columns: names,
        at: None,
    } = alias
    else {
        return Err(unsupported("an alias of this form"));
    };
    if names.len() > columns.len() {
        return Err(refuse("an alias names more columns than there are")
            .with_state(SqlState::INVALID_COLUMN_REFERENCE));
    }
    for (column, definition) in columns.iter_mut().zip(names) {
        if definition.data_type.is_some() {
            return Err(unsupported("a column definition list"));
        }
        column.name = Some(dialect.fold(&definition.name));
    }
    Ok(())
}

/// An alias that renames no column.
pub(crate) fn check_simple_alias(alias: Option<&TableAlias>) -> Result<(), Refusal> {
    match alias {
        Some(alias) if !alias.columns.is_empty() || alias.at.is_some() => Err(unsupported(
            "an alias with columns for a table that is written",
        )),
        _ => Ok(()),
    }
}

/// `DISTINCT ON` takes the first row of the order.
fn has_distinct_on(query: &Query) -> bool {
    matches!(&*query.body, SetExpr::Select(select)
        if matches!(select.distinct, Some(Distinct::On(_))))
}

fn derived_as(
    outputs: super::Outputs,
    name: String,
    alias: Option<&TableAlias>,
    dialect: Dialect,
) -> Result<Relation, Refusal> {
    let mut columns = outputs;
    if let (Some(alias), Some(columns)) = (alias, &mut columns) {
        rename(columns, alias, dialect)?;
    }
    Ok(Relation {
        name: alias.map_or(name, |alias| dialect.fold(&alias.name)),
        schema: None,
        columns,
        merged: Vec::new(),
        table: None,
        is_free: false,
    })
}

/// Rows of a function, which has made them of its arguments.
fn computed(name: String) -> Relation {
    Relation {
        is_free: true,
        ..unknown(name)
    }
}

fn unknown(name: String) -> Relation {
    Relation {
        name,
        schema: None,
        columns: None,
        merged: Vec::new(),
        table: None,
        is_free: false,
    }
}
