//! `SELECT`, `VALUES`, set operations and their clauses.

mod from;
mod keys;
mod projection;
mod with;

use sqlparser::ast::{
    Distinct, Expr, Fetch, LimitClause, LockClause, OrderBy, Query, Select, SelectFlavor, SetExpr,
    SetOperator, SetQuantifier, Statement, Values,
};
use sqlstate::SqlState;

use super::scope::common_type;
use super::{Analysis, Clear, Constant, OutColumn, Scope, template};
use crate::analysis::joinable::joinable;
use crate::analysis::query_context::{QueryContext, Targets};
use crate::analysis::scope::refuse_gathered;
use crate::dialect::mysql::defaults;
use crate::type_limits::look_alike;
use crate::{ColumnId, Dialect, Purpose, Refusal, Use};
use sql_plan::{refuse, unsupported};

pub(crate) use from::{
    FromContext, check_relation_name, check_simple_alias, explicit_name, make_explicit,
};
pub(crate) use keys::{check_key, key_of, output_of};
pub(crate) use projection::expand_relation;

/// Columns that a query returns; None: their number is not known, and none is sealed.
pub(crate) type Outputs = Option<Vec<OutColumn>>;

impl Analysis<'_> {
    pub fn query(
        &mut self,
        query: &mut Query,
        outer: Option<&Scope>,
        targets: Targets,
    ) -> Result<Outputs, Refusal> {
        let context = QueryContext {
            outer,
            targets,
            ..QueryContext::default()
        };
        self.query_in(query, context)
    }

    pub fn query_in(
        &mut self,
        query: &mut Query,
        context: QueryContext<'_>,
    ) -> Result<Outputs, Refusal> {
        let outputs = self.query_gathering(query, context)?;
        refuse_gathered(outputs.iter().flatten(), self.schema)?;
        Ok(outputs)
    }

    /// A query whose outputs may be gathered, if that is asked for.
    pub fn query_gathering(
        &mut self,
        query: &mut Query,
        context: QueryContext<'_>,
    ) -> Result<Outputs, Refusal> {
        let Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause: None,
            settings: None,
            format_clause: None,
            pipe_operators,
        } = query
        else {
            return Err(unsupported("a clause of another dialect"));
        };
        if !pipe_operators.is_empty() {
            return Err(unsupported("a pipe operator"));
        }
        let QueryContext { outer, targets, .. } = context;
        let ctes_before = self.ctes.len();
        if let Some(with) = with {
            self.with(with, outer)?;
        }
        let outputs = match &mut **body {
            SetExpr::Select(select) => self.select(select, order_by, context)?,
            body => {
                let outputs = self.body(body, outer, targets)?;
                if let Some(order_by) = order_by {
                    self.order_outputs(order_by, outputs.as_deref())?;
                }
                outputs
            }
        };
        self.limits(limit_clause.as_mut(), fetch.as_mut())?;
        for LockClause {
            lock_type: _,
            of: _,
            nonblock: _,
        } in locks
        {}
        self.ctes.truncate(ctes_before);
        Ok(outputs)
    }

    fn limits(
        &mut self,
        limit: Option<&mut LimitClause>,
        fetch: Option<&mut Fetch>,
    ) -> Result<(), Refusal> {
        let scope = Scope::of(Vec::new(), None, self.dialect());
        match limit {
            None => {}
            Some(LimitClause::LimitOffset {
                limit,
                offset,
                limit_by,
            }) if limit_by.is_empty() => {
                if let Some(limit) = limit {
                    self.plain(limit, &scope)?;
                }
                if let Some(offset) = offset {
                    self.plain(&mut offset.value, &scope)?;
                }
            }
            Some(_) => return Err(unsupported("a LIMIT of another dialect")),
        }
        match fetch {
            None => Ok(()),
            Some(Fetch {
                with_ties: _,
                percent: false,
                quantity,
            }) => quantity
                .as_mut()
                .map_or(Ok(()), |quantity| self.plain(quantity, &scope)),
            Some(_) => Err(unsupported("FETCH … PERCENT")),
        }
    }

    fn body(
        &mut self,
        body: &mut SetExpr,
        outer: Option<&Scope>,
        targets: Targets,
    ) -> Result<Outputs, Refusal> {
        match body {
            SetExpr::Select(select) => {
                let context = QueryContext {
                    outer,
                    targets,
                    ..QueryContext::default()
                };
                self.select(select, &mut None, context)
            }
            SetExpr::Query(query) => self.query(query, outer, targets),
            SetExpr::Values(values) => self.values(values, outer, targets),
            SetExpr::SetOperation {
                left,
                op,
                set_quantifier,
                right,
            } => {
                let left = self.body(left, outer, targets)?;
                let right = self.body(right, outer, targets)?;
                self.set_operation(left, (*op, *set_quantifier), right)
            }
            SetExpr::Insert(Statement::Insert(insert)) => self.insert(insert, outer),
            SetExpr::Update(Statement::Update(update)) => self.update(update, outer),
            SetExpr::Delete(Statement::Delete(delete)) => self.delete(delete, outer),
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                Err(unsupported("MERGE"))
            }
            SetExpr::Table(_) => Err(unsupported("TABLE as a query")),
        }
    }

    fn set_operation(
        &mut self,
        left: Outputs,
        (operator, quantifier): (SetOperator, SetQuantifier),
        right: Outputs,
    ) -> Result<Outputs, Refusal> {
        let all = match quantifier {
            SetQuantifier::All => operator == SetOperator::Union,
            SetQuantifier::Distinct | SetQuantifier::None => false,
            _ => return Err(unsupported("UNION BY NAME")),
        };
        let is_sealed = |side: &Outputs| side.iter().flatten().any(OutColumn::has_ciphertext);
        let (Some(lefts), Some(rights)) = (&left, &right) else {
            if is_sealed(&left) || is_sealed(&right) {
                return Err(unsupported(
                    "a set operation with a table that is not known",
                ));
            }
            return Ok(None);
        };
        if lefts.len() != rights.len() {
            return Err(refuse(
                "each query of a set operation must have the same number of columns",
            )
            .with_state(SqlState::SYNTAX_ERROR));
        }
        for (left, right) in lefts.iter().zip(rights) {
            refuse_gathered([left, right], self.schema)?;
            if all && left.sealed == right.sealed {
                continue;
            }
            self.pair(left.sealed, right.sealed)?;
            let (Some(one), Some(other)) = (left.sealed, right.sealed) else {
                continue;
            };
            if !look_alike(self.column(one).logical, self.column(other).logical) {
                return Err(refuse(format!(
                    "protected columns {} and {} of different types in one column of a set \
                     operation",
                    self.title(one),
                    self.title(other)
                ))
                .with_hint("Ask for them in two queries."));
            }
            self.note_mixed(one, other);
        }
        let mut outputs = left;
        for (output, right) in outputs.iter_mut().flatten().zip(rights) {
            output.logical = common_type(output.logical, right.logical);
            output.is_free |= right.is_free;
        }
        Ok(outputs)
    }

    pub fn values(
        &mut self,
        values: &mut Values,
        outer: Option<&Scope>,
        targets: Targets,
    ) -> Result<Outputs, Refusal> {
        let scope = Scope::of(Vec::new(), outer, self.dialect());
        let mut columns = 0;
        for row in &mut values.rows {
            let row = &mut row.content;
            columns = row.len();
            if targets.is_some_and(|targets| targets.len() < columns) {
                return Err(refuse("INSERT has more expressions than target columns")
                    .with_state(SqlState::SYNTAX_ERROR));
            }
            for (index, value) in row.iter_mut().enumerate() {
                match targets {
                    None => self.plain(value, &scope)?,
                    Some(targets) => {
                        let stored = self.store(value, targets[index], &scope)?;
                        self.check_stored(stored, targets[index])?;
                    }
                }
            }
        }
        let out = |index: usize| OutColumn {
            name: Some(format!("column{}", index + 1)),
            sealed: targets.and_then(|targets| targets[index]),
            is_free: targets.is_none(),
            ..OutColumn::default()
        };
        Ok(Some((0..columns).map(out).collect()))
    }

    /// A value on its way into a column: a constant is sealed for it.
    pub fn store(
        &mut self,
        value: &mut Expr,
        target: Option<ColumnId>,
        scope: &Scope,
    ) -> Result<Option<ColumnId>, Refusal> {
        if template::marked(value).is_some() {
            return Ok(target);
        }
        if is_default(value) {
            if let Some(column) = target {
                *value = self.default_of(column);
            }
            return Ok(target);
        }
        match (target, Constant::of(value)?) {
            (Some(column), Some(constant)) => {
                *value = self.sealed(constant, column, Purpose::Store)?;
                Ok(Some(column))
            }
            (Some(column), None) if self.is_moment(value, column) => {
                let now = Constant {
                    source: crate::Source::Literal(crate::Literal::TransactionTime),
                    cast: None,
                    number: None,
                };
                *value = self.sealed(now, column, Purpose::Store)?;
                Ok(Some(column))
            }
            (None, Some(_)) => self.plain_as(value, Clear::ByColumn, scope).map(|()| None),
            (_, None) => {
                let stored = self.value(value, scope)?;
                if let (Some(_), Some(column)) = (stored, target)
                    && !(stored == target && is_column(value))
                {
                    self.check_unchecked(column)?;
                }
                Ok(stored)
            }
        }
    }

    /// Whether a value is the moment of the transaction or statement, as a column stores it.
    fn is_moment(&self, value: &Expr, column: ColumnId) -> bool {
        match self.dialect() {
            Dialect::MySql(_) => {
                matches!(value, Expr::Function(_))
                    && defaults::is_moment_of(&value.to_string(), self.column(column).logical)
            }
            _ => is_transaction_time(value),
        }
    }

    /// Refuses to have the server store a value in a column with check constraints, which the proxy
    /// would not see.
    pub fn check_unchecked(&self, target: ColumnId) -> Result<(), Refusal> {
        match self.column(target).is_checked() {
            false => Ok(()),
            true => Err(refuse(format!(
                "protected column {} has check constraints, and the proxy would not see what is \
                 stored there",
                self.title(target)
            ))
            .with_hint("Pass the value as a parameter or constant.")),
        }
    }

    /// Whether a value may be stored in a column unchanged.
    pub fn check_stored(
        &mut self,
        value: Option<ColumnId>,
        target: Option<ColumnId>,
    ) -> Result<(), Refusal> {
        if let Some(value) = value {
            self.check_unmixed(value)?;
            self.note_use(target, Use::Written);
        }
        match (value, target) {
            (None, None) => Ok(()),
            (Some(value), Some(target)) if value == target => Ok(()),
            (Some(value), Some(target)) => {
                joinable(self.schema, Some(value), Some(target))?;
                self.check_unchecked(target)?;
                if self.schema.have_one_type(value, target) {
                    return Ok(());
                }
                Err(refuse(format!(
                    "protected column {} is of another type than {}",
                    self.title(value),
                    self.title(target)
                )))
            }
            (Some(value), None) => Err(refuse(format!(
                "protected column {} would be stored in a column that is not protected",
                self.title(value)
            ))),
            (None, Some(target)) => Err(refuse(format!(
                "a computed value would be stored in protected column {} in clear",
                self.title(target)
            ))
            .with_hint("Compute the value in the client, and pass it as a parameter.")),
        }
    }

    fn select(
        &mut self,
        select: &mut Select,
        order_by: &mut Option<OrderBy>,
        context: QueryContext<'_>,
    ) -> Result<Outputs, Refusal> {
        check_dialect(select)?;
        let mut scope = Scope::of(Vec::new(), context.outer, self.dialect());
        self.relations(&mut select.from, context.values_targets, &mut scope)?;
        if let Some(condition) = &mut select.selection {
            self.zero_dates(condition, &scope, &select.from)?;
            self.plain(condition, &scope)?;
        }
        for window in &mut select.named_window {
            self.named_window(&mut window.1, &scope)?;
        }
        let outputs = self.projection(&mut select.projection, &scope, context.targets)?;
        self.group_by(&mut select.group_by, &scope, outputs.as_deref())?;
        if let Some(having) = &mut select.having {
            self.plain(having, &scope)?;
        }
        match &mut select.distinct {
            None | Some(Distinct::All) => {}
            Some(Distinct::Distinct) => {
                refuse_gathered(outputs.iter().flatten(), self.schema)?;
                for column in outputs.iter().flatten().filter_map(|column| column.sealed) {
                    self.group(column, "DISTINCT")?;
                }
            }
            Some(Distinct::On(keys)) => {
                for key in keys {
                    self.group_key(key, &scope, outputs.as_deref(), "DISTINCT ON")?;
                }
            }
        }
        let order_by = (order_by, context.order_is_free);
        self.order(order_by, &scope, outputs.as_deref())?;
        Ok(outputs)
    }
}

/// `DEFAULT` as a value; sqlparser reads it as a name.
pub(crate) fn is_default(value: &Expr) -> bool {
    matches!(value, Expr::Identifier(name)
        if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default"))
}

/// `CURRENT_TIMESTAMP`, `now()`
fn is_transaction_time(value: &Expr) -> bool {
    matches!(
        value.to_string().to_ascii_lowercase().as_str(),
        "current_timestamp" | "now()" | "transaction_timestamp()"
    )
}

pub(crate) fn check_dialect(select: &Select) -> Result<(), Refusal> {
    let Select {
        select_token: _,
        optimizer_hints: _,
        distinct: _,
        select_modifiers: _,
        top: None,
        top_before_distinct: false,
        projection: _,
        exclude: None,
        into,
        from: _,
        lateral_views,
        prewhere: None,
        selection: _,
        connect_by,
        group_by: _,
        cluster_by,
        distribute_by,
        sort_by,
        having: _,
        named_window: _,
        qualify: None,
        window_before_qualify: _,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    } = select
    else {
        return Err(unsupported("a clause of another dialect"));
    };
    if into.is_some() {
        return Err(unsupported("SELECT INTO"));
    }
    let empty = lateral_views.is_empty()
        && connect_by.is_empty()
        && cluster_by.is_empty()
        && distribute_by.is_empty()
        && sort_by.is_empty();
    match empty {
        true => Ok(()),
        false => Err(unsupported("a clause of another dialect")),
    }
}

/// Whether it is a column by itself. What that column has, or was to get, has been checked.
fn is_column(value: &Expr) -> bool {
    matches!(value, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}
