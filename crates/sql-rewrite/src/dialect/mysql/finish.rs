//! `SELECT` that the proxy finishes over the rows that the server finds: it sorts them by sealed
//! values, or adds these up. Every condition is the server's; what has groups is left out.

use column_value::{LogicalType, WholeType};
use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    GroupByExpr, LimitClause, LockClause, NonBlock, OrderBy, OrderByExpr, OrderByKind, OrderBySort,
    Query, Select, SelectItem, SetExpr, Statement,
};

use crate::analysis::{Analysis, Constant, output_list, template};
use crate::{
    Aggregate, AggregateFunction, ColumnId, Effects, Expression, Finish, Output, OutputKind, Plan,
    Refusal, Schema, Sort, Source, Translated,
};
use sql_plan::{refuse, unsupported};

/// All rows: a limit of the session's does not hold where there is another one.
pub(crate) const ALL_ROWS: &str = "18446744073709551615";

/// The plan of a query that the server cannot execute alone.
pub(crate) fn of_query(query: &Query, schema: &Schema) -> Result<Plan, Refusal> {
    let (_, finish) = Analysis::run(schema, |analysis| {
        let SetExpr::Select(select) = &*query.body else {
            return Err(unsupported("a query of this form"));
        };
        check_parts(select)?;
        let is_computed = |item: &SelectItem| {
            matches!(
                item,
                SelectItem::UnnamedExpr(Expr::Function(_))
                    | SelectItem::ExprWithAlias {
                        expr: Expr::Function(_),
                        ..
                    }
            )
        };
        match select.projection.iter().any(is_computed) {
            true => added_up(query, select, analysis),
            false => sorted(query, analysis),
        }
    })?;
    Ok(Plan::Finish(Box::new(finish)))
}

fn check_parts(select: &Select) -> Result<(), Refusal> {
    let is_single = matches!(&select.group_by,
        GroupByExpr::Expressions(keys, _) if keys.is_empty());
    match is_single && select.having.is_none() && select.distinct.is_none() {
        true => Ok(()),
        false => Err(unsupported(
            "GROUP BY, HAVING or DISTINCT in a query that the proxy has to finish",
        )
        .with_hint("Give the column mode = \"equality\", or group in the client.")),
    }
}

/// A query whose rows the proxy sorts.
fn sorted(query: &Query, analysis: &mut Analysis) -> Result<Finish, Refusal> {
    let mut fetch = Box::new(query.clone());
    let Some(OrderBy {
        kind: OrderByKind::Expressions(keys),
        ..
    }) = fetch.order_by.take()
    else {
        return Err(unsupported("a query of this form"));
    };
    let skips = |lock: &LockClause| lock.nonblock == Some(NonBlock::SkipLocked);
    if fetch.limit_clause.is_some() && fetch.locks.iter().any(skips) {
        return Err(unsupported(
            "LIMIT with SKIP LOCKED in a query that the proxy has to finish, which would lock all \
             rows,",
        ));
    }
    let (limit, offset) = limits(&fetch, analysis)?;
    fetch.limit_clause = all_rows(analysis)?;
    let SetExpr::Select(select) = &mut *fetch.body else {
        return Err(unsupported("a query of this form"));
    };
    for key in &keys {
        let column = sort_key(key, &select.projection, analysis)?;
        // Behind what the client wants, and hidden from it.
        select.projection.push(SelectItem::UnnamedExpr(column));
    }
    let mut outputs = output_list(analysis.query(&mut fetch, None, None)?);
    let shown = outputs
        .len()
        .checked_sub(keys.len())
        .ok_or_else(|| unsupported("a query of this form"))?;
    for output in &mut outputs[shown..] {
        output.hidden = true;
        check_sorted(output, analysis)?;
    }
    let sorts = keys.iter().enumerate().map(|(number, key)| {
        let descending = key.options.sort == Some(OrderBySort::Desc);
        Sort {
            value: Expression::Column(shown + number),
            descending,
            // To these servers, NULL is less than every value.
            nulls_first: !descending,
        }
    });
    let order_by = sorts.collect();
    let project = (0..shown).map(|index| (String::new(), Expression::Column(index), None));
    Ok(Finish {
        project: project.collect(),
        order_by,
        limit,
        offset,
        ..fetched(fetch, outputs, analysis)?
    })
}

/// A plan of these rows as they are.
fn fetched(
    fetch: Box<Query>,
    outputs: Vec<Output>,
    analysis: &Analysis,
) -> Result<Finish, Refusal> {
    let template = template::of(&mut Statement::Query(fetch), analysis.dialect())?;
    let (template, holes, _) = template::compact(template, &analysis.holes, Vec::new());
    Ok(Finish {
        fetch: Translated {
            template,
            holes,
            outputs,
            parameter_types: analysis.parameters.types(),
            locks: None,
        },
        filter: None,
        group_by: Vec::new(),
        aggregates: Vec::new(),
        grouped: false,
        having: None,
        project: Vec::new(),
        distinct: false,
        order_by: Vec::new(),
        limit: None,
        offset: None,
        effects: Effects {
            uses: analysis.uses.clone(),
            ..Effects::default()
        },
    })
}

fn all_rows(analysis: &Analysis) -> Result<Option<LimitClause>, Refusal> {
    let skeleton = format!("SELECT 1 FROM a LIMIT {ALL_ROWS}");
    match analysis.dialect().parse(&skeleton) {
        Ok(Statement::Query(query)) => Ok(query.limit_clause),
        _ => Err(unsupported("a query of this form")),
    }
}

/// The column by which a key sorts.
fn sort_key(key: &OrderByExpr, items: &[SelectItem], analysis: &Analysis) -> Result<Expr, Refusal> {
    let dialect = analysis.dialect();
    let is_column = |own: &Expr| matches!(own, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    let meant = match &key.expr {
        Expr::Identifier(name) => {
            let named = items.iter().find_map(|item| match item {
                SelectItem::ExprWithAlias { expr, alias }
                    if dialect.fold(alias) == dialect.fold(name) =>
                {
                    Some(expr)
                }
                _ => None,
            });
            named.unwrap_or(&key.expr)
        }
        other => other,
    };
    match is_column(meant) {
        true => Ok(meant.clone()),
        false => Err(unsupported(
            "ORDER BY of something else than columns in a query that the proxy has to finish",
        )),
    }
}

fn check_sorted(output: &Output, analysis: &Analysis) -> Result<(), Refusal> {
    let OutputKind::Sealed(column) = output.kind else {
        return Err(refuse(
            "an order by what is not protected, in a query that the proxy has to finish",
        )
        .with_hint("Sort by protected columns only, or in the client."));
    };
    check_ordered(column, analysis, "ORDER BY")
}

fn check_ordered(column: ColumnId, analysis: &Analysis, what: &str) -> Result<(), Refusal> {
    let own = analysis.column(column);
    let is_known = match own.logical {
        logical if logical.is_text() => {
            let binary = &analysis.schema.catalogue.binary_texts;
            what == "ORDER BY" && binary.contains(&column)
        }
        LogicalType::Bytes => false,
        // MySQL computes it in double precision.
        LogicalType::Real => what == "ORDER BY",
        // MariaDB shows the year 0000 as 0 there. Labels are sorted by their numbers, and the least
        // is found by its letters where no key has the column.
        LogicalType::Whole(WholeType::Year) | LogicalType::Enum(_) | LogicalType::Set(_) => {
            what == "ORDER BY"
        }
        // What servers say of the type differs.
        LogicalType::Bits(_) => what == "ORDER BY",
        _ => true,
    };
    match is_known {
        true => Ok(()),
        false => Err(refuse(format!(
            "{what} of protected column {}, whose values the proxy does not sort as the server \
             does",
            analysis.title(column)
        ))
        .with_hint(
            "For ORDER BY of a text, add collation = \"binary\" to its rule if it is to be sorted \
             by its bytes; or sort in the client.",
        )),
    }
}

type Bounds = (Option<Expression>, Option<Expression>);

/// `LIMIT` and `OFFSET`, which the proxy applies.
fn limits(query: &Query, analysis: &mut Analysis) -> Result<Bounds, Refusal> {
    let mut bound = |own: &Expr| {
        let constant = Constant::of(own)?.ok_or_else(|| unsupported("a computed LIMIT"))?;
        if let Source::Parameter(number) = constant.source {
            analysis.parameters.compute(number);
        }
        Ok::<_, Refusal>(Expression::Value(constant.source, LogicalType::BigInt))
    };
    match &query.limit_clause {
        None => Ok((None, None)),
        Some(LimitClause::LimitOffset { limit, offset, .. }) => Ok((
            limit.as_ref().map(&mut bound).transpose()?,
            offset.as_ref().map(|own| bound(&own.value)).transpose()?,
        )),
        Some(_) => Err(unsupported("LIMIT of this form")),
    }
}

/// A query whose rows become one, of aggregates.
fn added_up(query: &Query, select: &Select, analysis: &mut Analysis) -> Result<Finish, Refusal> {
    if query.order_by.is_some() || query.limit_clause.is_some() || !query.locks.is_empty() {
        return Err(unsupported(
            "ORDER BY, LIMIT or a lock around aggregates that the proxy has to compute",
        ));
    }
    let mut columns: Vec<Expr> = Vec::new();
    let mut items = Vec::new();
    for item in &select.projection {
        let (own, name) = match item {
            SelectItem::UnnamedExpr(own) => (own, own.to_string()),
            SelectItem::ExprWithAlias { expr, alias } => (expr, alias.value.clone()),
            _ => return Err(unsupported("* beside aggregates")),
        };
        let Expr::Function(function) = own else {
            return Err(unsupported(
                "something else than aggregates beside those that the proxy has to compute",
            ));
        };
        items.push((name, aggregate(function, &mut columns, analysis)?));
    }
    let mut fetch = Box::new(query.clone());
    fetch.limit_clause = all_rows(analysis)?;
    let SetExpr::Select(changed) = &mut *fetch.body else {
        return Err(unsupported("a query of this form"));
    };
    changed.projection = columns.into_iter().map(SelectItem::UnnamedExpr).collect();
    if changed.projection.is_empty() {
        return Err(unsupported("a query of this form"));
    }
    let outputs = output_list(analysis.query(&mut fetch, None, None)?);
    let mut project = Vec::new();
    for (index, (name, aggregate)) in items.iter().enumerate() {
        let logical = result(aggregate, &outputs, analysis)?;
        project.push((name.clone(), Expression::Aggregate(index), Some(logical)));
    }
    Ok(Finish {
        aggregates: items.into_iter().map(|(_, aggregate)| aggregate).collect(),
        grouped: true,
        project,
        ..fetched(fetch, outputs, analysis)?
    })
}

/// An aggregate over a column, which is fetched once.
fn aggregate(
    function: &Function,
    columns: &mut Vec<Expr>,
    analysis: &Analysis,
) -> Result<Aggregate, Refusal> {
    let name = analysis.dialect().builtin(&function.name);
    let which = match name.as_deref() {
        Some("count") => AggregateFunction::Count,
        Some("sum") => AggregateFunction::Sum,
        Some("min") => AggregateFunction::Minimum,
        Some("max") => AggregateFunction::Maximum,
        _ => {
            return Err(unsupported(
                "another function than SUM, MIN, MAX and COUNT beside what the proxy has to \
                 compute",
            ));
        }
    };
    let FunctionArguments::List(list) = &function.args else {
        return Err(unsupported("an aggregate of this form"));
    };
    let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
    let argument = match &list.args[..] {
        [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] => None,
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(own))] => {
            let mut own = own;
            while let Expr::Nested(inner) = own {
                own = inner;
            }
            if !matches!(own, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
                return Err(unsupported(
                    "an aggregate of something else than a column, which the proxy has to compute",
                ));
            }
            let known = columns.iter().position(|known| known == own);
            Some(Expression::Column(known.unwrap_or_else(|| {
                columns.push(own.clone());
                columns.len() - 1
            })))
        }
        _ => return Err(unsupported("an aggregate of several arguments")),
    };
    if distinct && which == AggregateFunction::Sum {
        return Err(unsupported("SUM(DISTINCT …) of a protected column"));
    }
    Ok(Aggregate {
        function: which,
        distinct,
        argument,
        filter: None,
    })
}

/// The type of an aggregate.
fn result(
    aggregate: &Aggregate,
    outputs: &[Output],
    analysis: &Analysis,
) -> Result<LogicalType, Refusal> {
    let sealed = match &aggregate.argument {
        Some(Expression::Column(index)) => match outputs.get(*index).map(|output| output.kind) {
            Some(OutputKind::Sealed(column)) => Some(column),
            _ => None,
        },
        _ => None,
    };
    let plain = || {
        unsupported(
            "an aggregate of a column that is not protected beside one that the proxy has \
                     to compute",
        )
        .with_hint("Use two queries.")
    };
    match (aggregate.function, sealed) {
        (AggregateFunction::Count, Some(column)) => {
            let logical = analysis.column(column).logical;
            let binary = &analysis.schema.catalogue.binary_texts;
            match aggregate.distinct && logical.is_text() && !binary.contains(&column) {
                false => Ok(LogicalType::BigInt),
                true => Err(refuse(format!(
                    "COUNT(DISTINCT) of protected text {}, whose collation the proxy does not know",
                    analysis.title(column)
                ))
                .with_hint("Add collation = \"binary\" to its rule.")),
            }
        }
        (AggregateFunction::Count, None) if !aggregate.distinct => Ok(LogicalType::BigInt),
        (AggregateFunction::Sum, Some(column)) => {
            let logical = analysis.column(column).logical;
            semantics_mysql::sum_type(logical).ok_or_else(|| {
                unsupported(&format!(
                    "SUM of protected column {}, which is no whole or decimal number",
                    analysis.title(column)
                ))
            })
        }
        (AggregateFunction::Minimum | AggregateFunction::Maximum, Some(column)) => {
            check_ordered(column, analysis, "MIN or MAX")?;
            Ok(analysis.column(column).logical)
        }
        _ => Err(plain()),
    }
}
