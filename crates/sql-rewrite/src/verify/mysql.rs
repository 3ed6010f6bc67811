//! What is proved of plans for MySQL and MariaDB alone.

use super::label::{Label, Sealed};
use super::names::{Columns, Relation, Scope};
use super::{Doubt, Verifier};
use crate::{
    AggregateFunction, ColumnId, Current, Dialect, Effects, Expression, Finish, Form, Hole,
    Literal, Mode, OutputKind, ProtectedColumn, Purpose, ReadModifyWrite, Schema, Source,
    Translated, Use,
};
use sqlparser::ast::{
    Assignment, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    GroupByExpr, LimitClause, OrderByExpr, SetExpr, Statement, TableObject, Value,
};

/// Checks that the server compares a sealed value as it would compare the value: by a form that
/// equal values share, or that is sorted as they are. A value that the server itself gave for the
/// row is compared with what the row has, in any mode.
pub(super) fn check_compared(hole: &Hole, schema: &Schema) -> Result<(), Doubt> {
    let (Dialect::MySql(_), Form::Sealed(id, purpose)) = (schema.dialect, hole.form) else {
        return Ok(());
    };
    let column = schema.column(id);
    let wrong = match (purpose, column.mode) {
        _ if matches!(hole.source, Source::Locator(_)) => None,
        (Purpose::Store, _) | (Purpose::Bound, Mode::Order) => None,
        // How it is compared is looked at where it is: see `tokens`.
        (Purpose::Match | Purpose::MatchEnd, _) if column.form.tokens.is_some() => None,
        (Purpose::Match, Mode::Equality | Mode::Order) => {
            let is_other = column.logical.is_text() && !schema.catalogue.binary_texts.contains(&id);
            is_other.then_some("a text is compared by its bytes, which its collation may not do")
        }
        (Purpose::Match | Purpose::MatchEnd | Purpose::Bound, _) => {
            Some("sealed values are compared that are not alike")
        }
    };
    match wrong {
        None => Ok(()),
        Some(wrong) => Err(Doubt(wrong.to_owned())),
    }
}

/// Whether the server finds the least and greatest of sealed values by their bytes, as these are
/// sorted.
pub(super) fn is_extreme(one: &Label, schema: &Schema) -> bool {
    matches!(schema.dialect, Dialect::MySql(_))
        && one.sealed.is_some_and(|sealed| {
            !sealed.is_array && schema.column(sealed.column).mode == Mode::Order
        })
}

/// Whether an operand is a value that the server gave for the row.
pub(super) fn is_given(operand: &Expr, holes: &[Hole], dialect: Dialect) -> bool {
    matches!(dialect, Dialect::MySql(_)) && given(operand, holes).is_some()
}

/// The number of the hole that a parameter stands for, by its name.
fn placeholder(operand: &Expr) -> Option<usize> {
    let Expr::Value(value) = operand else {
        return None;
    };
    let Value::Placeholder(name) = &value.value else {
        return None;
    };
    let number: usize = name.strip_prefix('$')?.parse().ok()?;
    number.checked_sub(1)
}

/// The number of the value that the server gave for the row, by the name of its parameter.
fn given(operand: &Expr, holes: &[Hole]) -> Option<usize> {
    match holes.get(placeholder(operand)?)?.source {
        Source::Locator(number) => Some(number),
        _ => None,
    }
}

/// Checks an `UPDATE` that the proxy computes for: at most one row is read, each value is written
/// back where it was read, and only if the row still has all that was computed from.
pub(super) fn check_modify(modify: &ReadModifyWrite, schema: &Schema) -> Result<(), Doubt> {
    if !matches!(schema.dialect, Dialect::MySql(_)) {
        return Ok(());
    }
    if modify.write_by_key.is_some() || modify.locks.is_some() {
        return Err(Doubt("a row is written without what it has".to_owned()));
    }
    for (number, current) in modify.current.iter().enumerate() {
        let Current::Sealed(column) = *current else {
            return Err(Doubt("a plain value is computed with".to_owned()));
        };
        let is_read = modify
            .read
            .outputs
            .get(number)
            .is_some_and(|output| output.kind == OutputKind::Sealed(column));
        let is_compared = |hole: &Hole| {
            let holder = schema.holder_of(column);
            holder.is_some_and(|holder| hole.form == Form::Sealed(holder, Purpose::Match))
        };
        let mut own = modify.write.holes.iter();
        let is_own = |hole: &&Hole| match hole.source {
            Source::Locator(at) => is_same_value(at, number, modify, schema),
            _ => false,
        };
        if !is_read || !own.find(is_own).is_some_and(is_compared) {
            return Err(Doubt(
                "a row is written that need not have what was computed from".to_owned(),
            ));
        }
    }
    let Statement::Query(read) = super::read(&modify.read.template, schema.dialect)? else {
        return Err(Doubt("what is computed from is not read".to_owned()));
    };
    if read.locks.len() != 1 {
        return Err(Doubt("what is computed from is not locked".to_owned()));
    }
    let Statement::Update(write) = super::read(&modify.write.template, schema.dialect)? else {
        return Err(Doubt("what is computed is not written".to_owned()));
    };
    let mut left: Vec<usize> = (0..modify.current.len()).collect();
    let mut rest: Vec<&Expr> = write.selection.iter().collect();
    while let Some(part) = rest.pop() {
        match part {
            Expr::BinaryOp {
                left: one,
                op: BinaryOperator::And,
                right: other,
            } => rest.extend([&**one, &**other]),
            Expr::BinaryOp {
                left: column,
                op: BinaryOperator::Spaceship,
                right,
            } if names(column, given(right, &modify.write.holes), modify, schema) => {
                let given = given(right, &modify.write.holes);
                left.retain(|number| {
                    !given.is_some_and(|given| is_same_value(given, *number, modify, schema))
                });
            }
            _ => {}
        }
    }
    match left.is_empty() {
        true => Ok(()),
        false => Err(Doubt("a row is written whatever it has".to_owned())),
    }
}

/// Whether two values that were read are the same one of the server: it has one for all columns
/// that are sealed together.
fn is_same_value(one: usize, other: usize, modify: &ReadModifyWrite, schema: &Schema) -> bool {
    let holder = |number: usize| {
        let column = modify.current.get(number)?.sealed()?;
        schema.holder_of(column)
    };
    one == other || (holder(one).is_some() && holder(one) == holder(other))
}

/// Whether an expression is the column of a value that was read.
fn names(column: &Expr, number: Option<usize>, modify: &ReadModifyWrite, schema: &Schema) -> bool {
    let (Expr::CompoundIdentifier(parts), Some(number)) = (column, number) else {
        return false;
    };
    let read = modify.current.get(number).and_then(|own| own.sealed());
    let read = read.and_then(|read| schema.holder_of(read));
    let last = parts.last().map(|name| schema.dialect.fold(name));
    read.is_some_and(|read| last.as_ref() == Some(&schema.column(read).column))
}

impl Verifier<'_, '_> {
    pub(super) fn is_mysql(&self) -> bool {
        matches!(self.dialect(), Dialect::MySql(_))
    }

    /// Checks what becomes of a row that is there, where the statement gives these columns values.
    pub(super) fn on_duplicate(
        &mut self,
        assignments: &[Assignment],
        (written, table, given): (&Relation, &Columns, Vec<(Option<String>, Label)>),
        outer: Option<&Scope>,
    ) -> Result<(), Doubt> {
        if !self.is_mysql() {
            return Err(Doubt("ON DUPLICATE KEY".to_owned()));
        }
        let scope = Scope {
            relations: vec![Relation {
                name: written.name.clone(),
                columns: table.clone(),
            }],
            outer,
        };
        if table.others.is_some() {
            return Err(Doubt("columns are not known".to_owned()));
        }
        // Of a protected column that is NOT NULL and given no value, MariaDB makes up an empty one.
        let mut known = given;
        for (_, label) in &mut known {
            // A member that is not the holder: only NULL or the empty value was stored there.
            if self.labels.is_elsewhere(label) {
                *label = Label {
                    is_empty: true,
                    ..Label::default()
                };
            }
        }
        for (name, label) in &table.known {
            let is_given = known.iter().any(|(own, _)| own == name);
            let is_made_up = |own: Sealed| self.labels.schema.column(own.column).not_null;
            if !is_given && !label.sealed.is_some_and(is_made_up) {
                known.push((name.clone(), label.clone()));
            }
        }
        self.proposed = Some(Columns {
            known,
            others: None,
        });
        let checked = self.assignments(assignments, table, &scope);
        self.proposed = None;
        checked
    }

    /// Checks which rows are written: the first ones by values in clear, or by sealed ones that are
    /// sorted as their values are.
    pub(super) fn first_rows(
        &mut self,
        order_by: &[OrderByExpr],
        limit: Option<&Expr>,
        scope: &Scope,
    ) -> Result<(), Doubt> {
        if !self.is_mysql() && (!order_by.is_empty() || limit.is_some()) {
            return Err(Doubt("a clause of another dialect".to_owned()));
        }
        for key in order_by {
            let label = self.label(&key.expr, scope)?;
            let mode = label
                .sealed
                .map(|own| self.labels.schema.column(own.column).mode);
            if mode.is_some_and(|mode| mode != Mode::Order) {
                return Err(Doubt("rows are sorted by what has no order".to_owned()));
            }
        }
        if let Some(limit) = limit {
            let label = self.label(limit, scope)?;
            let label = self.in_clear(label)?;
            self.labels.make_public(&label);
        }
        Ok(())
    }

    /// The label of a call.
    pub(super) fn call(&mut self, call: &Function, scope: &Scope) -> Result<Label, Doubt> {
        if let Some(label) = self.token(call, scope)? {
            return Ok(label);
        }
        match self.proposed(call)? {
            Some(label) => Ok(label),
            None => self.function(call, scope),
        }
    }

    /// The label of `VALUES(column)`. None: it is another call.
    fn proposed(&mut self, call: &Function) -> Result<Option<Label>, Doubt> {
        let Some(given) = &self.proposed else {
            return Ok(None);
        };
        let is_values = matches!(&call.name.0[..], [name] if name.as_ident().is_some_and(
            |name| name.quote_style.is_none() && name.value.eq_ignore_ascii_case("values")));
        if !is_values {
            return Ok(None);
        }
        let FunctionArguments::List(list) = &call.args else {
            return Err(Doubt("VALUES of no column".to_owned()));
        };
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = &list.args[..] else {
            return Err(Doubt("VALUES of several columns".to_owned()));
        };
        let Expr::Identifier(name) = argument else {
            return Err(Doubt("VALUES of no column".to_owned()));
        };
        let name = self.dialect().fold(name);
        let mut known = given.known.iter();
        let found = known.find(|(own, _)| own.as_ref() == Some(&name));
        let label = match found {
            Some((_, label)) => label.clone(),
            None => {
                return Err(Doubt(format!(
                    "the value of {name:?} is used, which is not given"
                )));
            }
        };
        self.saw(argument);
        Ok(Some(label))
    }
}

/// Checks that an `INSERT IGNORE` has a value for each protected column that is NOT NULL: the
/// server would store an empty one in the place of NULL. Of a parameter, the plan says that it is
/// looked at.
pub(super) fn check_ignored(
    translated: &Translated,
    effects: &Effects,
    schema: &Schema,
) -> Result<(), Doubt> {
    if !matches!(schema.dialect, Dialect::MySql(_)) {
        return Ok(());
    }
    let Statement::Insert(insert) = super::read(&translated.template, schema.dialect)? else {
        return Ok(());
    };
    if !insert.ignore {
        return Ok(());
    }
    let doubt = || Err(Doubt("NULL would become an empty value".to_owned()));
    let TableObject::TableName(name) = &insert.table else {
        return doubt();
    };
    let found = schema.dialect.split(name);
    let table = found.and_then(|(schema_name, name)| schema.find(schema_name.as_deref(), &name));
    let Some(table) = table else {
        return doubt();
    };
    let mut needed: Vec<ColumnId> = Vec::new();
    for column in &table.columns {
        needed.extend(column.protected.filter(|_| column.not_null));
    }
    if needed.is_empty() {
        return Ok(());
    }
    let body = insert.source.as_ref().map(|source| &*source.body);
    let (Some(SetExpr::Values(values)), None) = (body, &insert.on) else {
        return doubt();
    };
    let has_value = |(source, id): (&Source, ColumnId)| match source {
        Source::Literal(Literal::Null) => None,
        Source::Parameter(_) => effects.uses.contains(&(id, Use::NeverNull)).then_some(id),
        Source::Literal(_) => Some(id),
        _ => None,
    };
    let stored = |value: &Expr| -> Vec<ColumnId> {
        let hole = placeholder(value).and_then(|number| translated.holes.get(number));
        let Some((Form::Sealed(id, Purpose::Store), source)) =
            hole.map(|hole| (hole.form, &hole.source))
        else {
            return Vec::new();
        };
        let Source::Members(members) = source else {
            return has_value((source, id)).into_iter().collect();
        };
        let group = schema.group_of(id);
        let columns = group.map_or(&[][..], |group| &group.members);
        let members = members.iter().zip(columns.iter().copied());
        members.filter_map(has_value).collect()
    };
    for row in &values.rows {
        let given: Vec<ColumnId> = row.content.iter().flat_map(stored).collect();
        if !needed.iter().all(|id| given.contains(id)) {
            return doubt();
        }
    }
    Ok(())
}

/// Checks a query that the proxy finishes: the server gives all rows, as they are, and the proxy
/// sorts and adds up only values whose order and sum are those of the server.
pub(super) fn check_finish(finish: &Finish, schema: &Schema) -> Result<(), Doubt> {
    if !matches!(schema.dialect, Dialect::MySql(_)) {
        return Ok(());
    }
    let Statement::Query(fetch) = super::read(&finish.fetch.template, schema.dialect)? else {
        return Err(Doubt("what is finished is not read".to_owned()));
    };
    let gives_all = matches!(&fetch.limit_clause,
        Some(LimitClause::LimitOffset { limit: Some(Expr::Value(rows)), offset: None, .. })
            if matches!(&rows.value, Value::Number(digits, _) if digits.parse() == Ok(u64::MAX)));
    let is_as_it_is = matches!(&*fetch.body, SetExpr::Select(select)
        if select.distinct.is_none() && select.having.is_none()
            && matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty()));
    if !gives_all || !is_as_it_is {
        return Err(Doubt(
            "the server does not give all rows as they are".to_owned(),
        ));
    }
    if finish.filter.is_some()
        || finish.having.is_some()
        || finish.distinct
        || !finish.group_by.is_empty()
        || finish.grouped == finish.aggregates.is_empty()
    {
        return Err(Doubt("the proxy would filter or group rows".to_owned()));
    }
    check_values(finish, schema)?;
    let is_shown = |(_, value, logical): &(String, Expression, Option<_>)| match value {
        Expression::Column(index) => {
            !finish.grouped && logical.is_none() && !finish.fetch.outputs[*index].hidden
        }
        Expression::Aggregate(index) => logical.is_some() && *index < finish.aggregates.len(),
        _ => false,
    };
    match finish.project.iter().all(is_shown) {
        true => Ok(()),
        false => Err(Doubt("the proxy would compute an output".to_owned())),
    }
}

/// Checks that values are sorted and added up as the server would do it.
fn check_values(finish: &Finish, schema: &Schema) -> Result<(), Doubt> {
    let column = |value: &Expression| match value {
        Expression::Column(index) => match finish.fetch.outputs.get(*index)?.kind {
            OutputKind::Sealed(id) => Some(schema.column(id)),
            _ => None,
        },
        _ => None,
    };
    let is_text = |own: &ProtectedColumn| own.logical.is_text();
    let is_bytes = |own: &ProtectedColumn| schema.catalogue.binary_texts.contains(&own.id);
    for sort in &finish.order_by {
        let sorted = column(&sort.value).filter(|own| !is_text(own) || is_bytes(own));
        if sorted.is_none() || sort.nulls_first == sort.descending || finish.grouped {
            return Err(Doubt(
                "the proxy would sort otherwise than the server".to_owned(),
            ));
        }
    }
    for one in &finish.aggregates {
        let own = one.argument.as_ref().and_then(column);
        let is_known = match one.function {
            AggregateFunction::Count => {
                !one.distinct || own.is_some_and(|own| !is_text(own) || is_bytes(own))
            }
            AggregateFunction::Sum => {
                !one.distinct
                    && own.is_some_and(|own| semantics_mysql::sum_type(own.logical).is_some())
            }
            AggregateFunction::Minimum | AggregateFunction::Maximum => {
                own.is_some_and(|own| !own.logical.has_collation())
            }
            _ => false,
        };
        if !is_known || one.filter.is_some() {
            return Err(Doubt(
                "the proxy would add up otherwise than the server".to_owned(),
            ));
        }
    }
    Ok(())
}
