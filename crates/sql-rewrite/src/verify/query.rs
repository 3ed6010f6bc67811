//! Labels of the columns that a query returns.

use sqlparser::ast::{
    Cte, Distinct, Expr, Fetch, FunctionArg, FunctionArgExpr, GroupByExpr, Join, JoinConstraint,
    JoinOperator, LimitClause, NamedWindowDefinition, NamedWindowExpr, ObjectName, OrderBy,
    OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement,
    TableAlias, TableFactor, TableSampleKind, TableWithJoins, Values, With,
};

use super::label::Label;
use super::names::{Columns, Relation, Scope};
use super::{Doubt, Verifier};
use crate::Dialect;

/// Labels of a recursive query change at most once for each of their parts.
const ROUNDS_MAX: usize = 8;

impl Verifier<'_, '_> {
    pub fn query(&mut self, query: &Query, outer: Option<&Scope>) -> Result<Columns, Doubt> {
        let Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks: _,
            for_clause: None,
            settings: None,
            format_clause: None,
            pipe_operators: _,
        } = query
        else {
            return Err(Doubt("a clause of another dialect".to_owned()));
        };
        let ctes_before = self.ctes.len();
        if let Some(with) = with {
            self.with(with, outer)?;
        }
        let columns = self.body(body, order_by.as_ref(), outer)?;
        if let (Some(order_by), false) = (order_by, matches!(**body, SetExpr::Select(_))) {
            let scope = Scope::default();
            self.order(order_by, &columns, &scope)?;
        }
        self.limits(limit_clause.as_ref(), fetch.as_ref())?;
        self.ctes.truncate(ctes_before);
        Ok(columns)
    }

    fn with(&mut self, with: &With, outer: Option<&Scope>) -> Result<(), Doubt> {
        for Cte { alias, query, .. } in &with.cte_tables {
            let name = self.dialect().fold(&alias.name);
            let columns = match &*query.body {
                SetExpr::SetOperation { left, .. } if with.recursive => {
                    self.recursive(&name, alias, (query, left), outer)?
                }
                _ => self
                    .query(query, outer)?
                    .renamed(Some(alias), self.dialect()),
            };
            self.ctes.push((name, columns));
        }
        Ok(())
    }

    /// A recursive query: its labels are a fixed point.
    fn recursive(
        &mut self,
        name: &str,
        alias: &TableAlias,
        (query, first): (&Query, &SetExpr),
        outer: Option<&Scope>,
    ) -> Result<Columns, Doubt> {
        let ctes_before = self.ctes.len();
        if let Some(with) = &query.with {
            self.with(with, outer)?;
        }
        let mut columns = self
            .body(first, None, outer)?
            .renamed(Some(alias), self.dialect());
        self.ctes.truncate(ctes_before);
        for _ in 0..ROUNDS_MAX {
            self.ctes.push((name.to_owned(), columns.clone()));
            let again = self
                .query(query, outer)
                .map(|again| again.renamed(Some(alias), self.dialect()));
            self.ctes.truncate(ctes_before);
            let again = again?;
            let kinds = |columns: &Columns| -> Vec<_> {
                let kind = |label: &Label| (label.sealed, label.public, label.clear.is_empty());
                columns.labels().map(kind).collect()
            };
            if kinds(&again) == kinds(&columns) {
                return Ok(again);
            }
            columns = again;
        }
        Err(Doubt("a recursive query that is not understood".to_owned()))
    }

    fn body(
        &mut self,
        body: &SetExpr,
        order_by: Option<&OrderBy>,
        outer: Option<&Scope>,
    ) -> Result<Columns, Doubt> {
        match body {
            SetExpr::Select(select) => self.select(select, order_by, outer),
            SetExpr::Query(query) => self.query(query, outer),
            SetExpr::Values(values) => self.values(values, outer),
            SetExpr::SetOperation { left, right, .. } => {
                let left = self.body(left, None, outer)?;
                let right = self.body(right, None, outer)?;
                self.united(left, right)
            }
            SetExpr::Insert(Statement::Insert(insert)) => self.insert(insert, outer),
            SetExpr::Update(Statement::Update(update)) => self.update(update, outer),
            SetExpr::Delete(Statement::Delete(delete)) => self.delete(delete, outer),
            _ => Err(Doubt("a query of this form".to_owned())),
        }
    }

    fn united(&mut self, left: Columns, right: Columns) -> Result<Columns, Doubt> {
        if left.others.is_some() || right.others.is_some() {
            let left = left.any(self.labels)?;
            let right = right.any(self.labels)?;
            return self.labels.merge(left, right).map(Columns::unknown);
        }
        if left.known.len() != right.known.len() {
            return Err(Doubt("queries of different width are united".to_owned()));
        }
        let pairs = left.known.into_iter().zip(right.known);
        let known = pairs.map(|((name, left), (_, right))| {
            let label = self.labels.merge(left, right)?;
            Ok((name, label))
        });
        Ok(Columns {
            known: known.collect::<Result<_, Doubt>>()?,
            others: None,
        })
    }

    pub fn values(&mut self, values: &Values, outer: Option<&Scope>) -> Result<Columns, Doubt> {
        let scope = Scope {
            relations: Vec::new(),
            outer,
        };
        let mut columns: Vec<(Option<String>, Label)> = Vec::new();
        for row in &values.rows {
            for (index, value) in row.content.iter().enumerate() {
                let label = self.stored(value, &scope)?;
                match columns.get_mut(index) {
                    None => columns.push((Some(format!("column{}", index + 1)), label)),
                    Some((_, own)) => {
                        let merged = self.labels.merge(std::mem::take(own), label)?;
                        *own = merged;
                    }
                }
            }
        }
        Ok(Columns {
            known: columns,
            others: None,
        })
    }

    fn limits(&mut self, limit: Option<&LimitClause>, fetch: Option<&Fetch>) -> Result<(), Doubt> {
        let scope = Scope::default();
        let mut numbers: Vec<&Expr> = Vec::new();
        match limit {
            None => {}
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                numbers.extend(limit);
                numbers.extend(offset.as_ref().map(|offset| &offset.value));
            }
            Some(_) => return Err(Doubt("a LIMIT of another dialect".to_owned())),
        }
        numbers.extend(fetch.and_then(|fetch| fetch.quantity.as_ref()));
        for number in numbers {
            let label = self.label(number, &scope)?;
            let label = self.in_clear(label)?;
            self.labels.make_public(&label);
        }
        Ok(())
    }

    fn select(
        &mut self,
        select: &Select,
        order_by: Option<&OrderBy>,
        outer: Option<&Scope>,
    ) -> Result<Columns, Doubt> {
        if select.into.is_some() {
            return Err(Doubt("SELECT INTO".to_owned()));
        }
        let mut scope = Scope {
            relations: Vec::new(),
            outer,
        };
        for joined in &select.from {
            self.joined(joined, &mut scope)?;
        }
        for condition in select.selection.iter().chain(&select.having) {
            let label = self.label(condition, &scope)?;
            self.in_clear(label)?;
        }
        let columns = self.items(&select.projection, &scope)?;
        if let Some(Distinct::On(keys)) = &select.distinct {
            for key in keys {
                self.key(key, &columns, &scope)?;
            }
        }
        match &select.group_by {
            GroupByExpr::Expressions(keys, _) => {
                for key in keys {
                    self.key(key, &columns, &scope)?;
                }
            }
            GroupByExpr::All(_) => return Err(Doubt("GROUP BY ALL".to_owned())),
        }
        for NamedWindowDefinition(_, window) in &select.named_window {
            if let NamedWindowExpr::WindowSpec(window) = window {
                self.window(window, &scope)?;
            }
        }
        if let Some(order_by) = order_by {
            self.order(order_by, &columns, &scope)?;
        }
        Ok(columns)
    }

    fn order(&mut self, order_by: &OrderBy, columns: &Columns, scope: &Scope) -> Result<(), Doubt> {
        match &order_by.kind {
            OrderByKind::Expressions(keys) => keys
                .iter()
                .try_for_each(|key| self.key(&key.expr, columns, scope)),
            OrderByKind::All(_) => Err(Doubt("ORDER BY ALL".to_owned())),
        }
    }

    /// A key of an order or of groups: a column of the answer, or any expression. Nothing meets.
    fn key(&mut self, key: &Expr, columns: &Columns, scope: &Scope) -> Result<(), Doubt> {
        if let Expr::Identifier(name) = key {
            let name = self.dialect().fold(name);
            let mut known = columns.known.iter();
            if known.any(|(own, _)| own.as_ref() == Some(&name)) || columns.others.is_some() {
                self.saw(key);
                return Ok(());
            }
        }
        if let Expr::Tuple(parts) = key {
            self.saw(key);
            return parts
                .iter()
                .try_for_each(|part| self.key(part, columns, scope));
        }
        self.label(key, scope).map(drop)
    }

    /// The columns of a select list.
    pub fn items(&mut self, items: &[SelectItem], scope: &Scope) -> Result<Columns, Doubt> {
        let mut columns = Columns::default();
        for item in items {
            match item {
                SelectItem::UnnamedExpr(expression) => {
                    let label = self.label(expression, scope)?;
                    columns
                        .known
                        .push((implied_name(expression, self.dialect()), label));
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    let label = self.label(expr, scope)?;
                    columns
                        .known
                        .push((Some(self.dialect().fold(alias)), label));
                }
                SelectItem::Wildcard(_) => {
                    let labels = scope.relations.iter().map(|relation| &relation.columns);
                    for shown in labels {
                        self.show(shown, &mut columns)?;
                    }
                }
                SelectItem::QualifiedWildcard(kind, _) => {
                    let SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
                        return Err(Doubt("* of an expression".to_owned()));
                    };
                    let shown = self
                        .dialect()
                        .split(name)
                        .and_then(|(_, name)| scope.relation(&name));
                    let shown = shown.ok_or_else(|| Doubt("* of no relation".to_owned()))?;
                    self.show(&shown.columns, &mut columns)?;
                }
                SelectItem::ExprWithAliases { .. } => {
                    return Err(Doubt("names of another dialect".to_owned()));
                }
            }
        }
        Ok(columns)
    }

    /// `*`: how many columns it is, and in which order, does not matter where all are in clear.
    fn show(&mut self, shown: &Columns, columns: &mut Columns) -> Result<(), Doubt> {
        let any = shown.any(self.labels)?;
        let others = columns.others.take().unwrap_or_else(Label::null);
        columns.others = Some(self.labels.merge(others, any)?);
        Ok(())
    }

    pub fn joined(&mut self, joined: &TableWithJoins, scope: &mut Scope) -> Result<(), Doubt> {
        let TableWithJoins { relation, joins } = joined;
        let left = scope.relations.len();
        self.factor(relation, scope)?;
        for Join {
            relation,
            global: _,
            join_operator,
        } in joins
        {
            let right = scope.relations.len();
            self.factor(relation, scope)?;
            let constraint = match join_operator {
                JoinOperator::Join(constraint)
                | JoinOperator::Inner(constraint)
                | JoinOperator::Left(constraint)
                | JoinOperator::LeftOuter(constraint)
                | JoinOperator::Right(constraint)
                | JoinOperator::RightOuter(constraint)
                | JoinOperator::FullOuter(constraint)
                | JoinOperator::CrossJoin(constraint) => constraint,
                _ => return Err(Doubt("a join of another dialect".to_owned())),
            };
            match constraint {
                JoinConstraint::None => {}
                JoinConstraint::On(condition) => {
                    let label = self.label(condition, scope)?;
                    self.in_clear(label)?;
                }
                JoinConstraint::Using(names) => {
                    for name in names {
                        let (_, name) = self
                            .dialect()
                            .split(name)
                            .ok_or_else(|| Doubt("USING without a name".to_owned()))?;
                        self.paired(&name, scope, (left, right))?;
                    }
                }
                JoinConstraint::Natural => {
                    let rights = &scope.relations[right..];
                    let rights = rights.iter().flat_map(|relation| &relation.columns.known);
                    let names: Vec<String> = rights.filter_map(|(name, _)| name.clone()).collect();
                    for name in names {
                        self.paired(&name, scope, (left, right))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Columns of one name on both sides of a join are compared.
    fn paired(
        &mut self,
        name: &str,
        scope: &Scope,
        (left, right): (usize, usize),
    ) -> Result<(), Doubt> {
        let side = |relations: std::ops::Range<usize>| {
            let columns = scope.relations[relations].iter();
            let columns = columns.flat_map(|relation| &relation.columns.known);
            let named = columns.filter(|(own, _)| own.as_deref() == Some(name));
            named.map(|(_, label)| label.clone()).collect::<Vec<_>>()
        };
        let rights = side(right..scope.relations.len());
        for left in side(left..right) {
            for right in &rights {
                self.labels.meet(&left, right)?;
            }
        }
        Ok(())
    }

    pub fn factor(&mut self, factor: &TableFactor, scope: &mut Scope) -> Result<(), Doubt> {
        let (name, columns, alias) = match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                sample,
                ..
            } => {
                if let Some(TableSampleKind::AfterTableAlias(sample)) = sample
                    && let Some(quantity) = &sample.quantity
                {
                    self.label(&quantity.value, &Scope::default())?;
                }
                let (name, columns) = self.table(name)?;
                (name, columns, alias.as_ref())
            }
            TableFactor::Table {
                name,
                alias,
                args: Some(arguments),
                ..
            } => self.table_function(name, &arguments.args, alias.as_ref(), scope)?,
            TableFactor::Function {
                name, args, alias, ..
            } => self.table_function(name, args, alias.as_ref(), scope)?,
            TableFactor::UNNEST {
                alias,
                array_exprs,
                with_ordinality,
                ..
            } => {
                let columns = match self.columns_of_arrays(array_exprs)? {
                    Some(mut columns) => {
                        let number = with_ordinality.then(|| (None, Label::public()));
                        columns.known.extend(number);
                        columns
                    }
                    None => self.columns_of_values(array_exprs, scope)?,
                };
                ("unnest".to_owned(), columns, alias.as_ref())
            }
            TableFactor::Derived {
                lateral,
                subquery,
                alias,
                ..
            } => {
                let outer = match lateral {
                    true => Some(&*scope),
                    false => scope.outer,
                };
                let columns = self.query(subquery, outer)?;
                (String::new(), columns, alias.as_ref())
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => return self.joined(table_with_joins, scope),
            _ => return Err(Doubt("a relation of this form".to_owned())),
        };
        scope.relations.push(Relation {
            name: alias.map_or(self.dialect().fold_relation(name), |alias| {
                self.dialect().fold(&alias.name)
            }),
            columns: columns.renamed(alias, self.dialect()),
        });
        Ok(())
    }

    /// Columns that the server makes of values in clear.
    fn columns_of_values(&mut self, values: &[Expr], scope: &Scope) -> Result<Columns, Doubt> {
        let mut any = Label::null();
        for value in values {
            let label = self.label(value, scope)?;
            let label = self.in_clear(label)?;
            any = self.labels.merge(any, label)?;
        }
        Ok(Columns::unknown(any))
    }

    fn table_function<'f>(
        &mut self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        alias: Option<&'f TableAlias>,
        scope: &Scope,
    ) -> Result<(String, Columns, Option<&'f TableAlias>), Doubt> {
        let mut any = Label::public();
        for argument in arguments {
            let (FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))
            | FunctionArg::Named {
                arg: FunctionArgExpr::Expr(argument),
                ..
            }) = argument
            else {
                return Err(Doubt("an argument of another dialect".to_owned()));
            };
            let label = self.label(argument, scope)?;
            let label = self.in_clear(label)?;
            any = self.labels.merge(any, label)?;
        }
        let (_, name) = self
            .dialect()
            .split(name)
            .ok_or_else(|| Doubt("a computed name".to_owned()))?;
        Ok((name, Columns::unknown(any), alias))
    }

    /// A relation by its name. A protected one must be qualified, so that the search path of the
    /// server does not matter.
    pub fn table(&mut self, name: &ObjectName) -> Result<(String, Columns), Doubt> {
        let (schema, table) = self
            .dialect()
            .split(name)
            .ok_or_else(|| Doubt("a computed name".to_owned()))?;
        let found = match &schema {
            Some(_) => None,
            None => self.ctes.iter().rev().find(|(cte, _)| *cte == table),
        };
        if let Some((_, columns)) = found {
            return Ok((table, columns.clone()));
        }
        let own = self.labels.schema;
        let Some(found) = own.find(schema.as_deref(), &table) else {
            let is_system = schema
                .is_some_and(|schema| schema.starts_with("pg_") || schema == "information_schema");
            return match !is_system && own.has_protected(&table) {
                true => Err(Doubt(format!("relation {table:?} may be a protected one"))),
                false => Ok((table, Columns::unknown(Label::public()))),
            };
        };
        if found.is_protected() && (schema.is_none() || found.opaque || found.oid == 0) {
            return Err(Doubt(format!(
                "relation {table:?} is not named with its schema"
            )));
        }
        Ok((table, Columns::of_table(found)))
    }
}

/// The name that the server gives to a column (`FigureColname`), in simple cases.
fn implied_name(expression: &Expr, dialect: Dialect) -> Option<String> {
    match expression {
        Expr::Identifier(name) => Some(dialect.fold(name)),
        Expr::CompoundIdentifier(parts) => parts.last().map(|own| dialect.fold(own)),
        Expr::Nested(inner) => implied_name(inner, dialect),
        Expr::Function(function) => dialect.split(&function.name).map(|(_, name)| name),
        _ => None,
    }
}
