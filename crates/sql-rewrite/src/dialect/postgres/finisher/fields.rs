//! Dates and times in the fields of JSON texts.
//!
//! `json_to_record(j) AS x(d date)` reads a field by the input function of its type, to which
//! `'now'` is the moment. So such a field is read as a text that is cast: the finisher refuses to
//! cast what is the moment, and reads everything else in the same way.

use std::ops::ControlFlow;

use sqlparser::ast::{
    ArrayElemTypeDef, DataType, Expr, FunctionArg, FunctionArgExpr, ObjectName, Query, Statement,
    TableAlias, TableFactor, VisitorMut,
};

use super::super::names::builtin;
use super::super::parse;
use crate::Refusal;
use crate::walk;
use sql_plan::unsupported;

const READERS: [&str; 4] = [
    "json_to_record",
    "json_to_recordset",
    "jsonb_to_record",
    "jsonb_to_recordset",
];

/// Types that the parser knows by name only.
const TIMES: [&str; 8] = [
    "timestamptz",
    "timetz",
    "daterange",
    "tsrange",
    "tstzrange",
    "datemultirange",
    "tsmultirange",
    "tstzmultirange",
];

/// Has a query read dates and times of fields by casts.
///
/// # Errors
/// A relation cannot be written so.
pub(crate) fn cast_times(query: &mut Query) -> Result<(), Refusal> {
    match walk::visit_mut(query, &mut Fields) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(refusal) => Err(refusal),
    }
}

/// Refuses arrays of dates and times in fields: no cast reads an array of JSON. A constant shows
/// what it holds.
///
/// # Errors
/// There are such.
pub(super) fn check(factor: &TableFactor) -> Result<(), Refusal> {
    let Some((arguments, alias)) = reader(factor) else {
        return Ok(());
    };
    let mut types = alias.columns.iter().flat_map(|column| &column.data_type);
    let is_shown = arguments.iter().all(|argument| {
        matches!(
            argument,
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(_)))
        )
    });
    match !is_shown && types.any(|own| element(own).is_some_and(is_time)) {
        false => Ok(()),
        true => Err(unsupported(
            "an array of dates or times that is read from a field of a JSON value, in a query that \
             the finisher evaluates",
        )
        .with_hint("Read it as text[], and cast that.")),
    }
}

/// The arguments and the alias of a relation that is read from JSON.
fn reader(factor: &TableFactor) -> Option<(&[FunctionArg], &TableAlias)> {
    let (name, arguments, alias): (&ObjectName, _, _) = match factor {
        TableFactor::Table {
            name,
            args: Some(arguments),
            alias,
            ..
        } => (name, &arguments.args, alias),
        TableFactor::Function {
            name, args, alias, ..
        } => (name, args, alias),
        _ => return None,
    };
    let is_reader = builtin(name).is_some_and(|name| READERS.contains(&name.as_str()));
    Some((arguments, alias.as_ref().filter(|_| is_reader)?))
}

fn element(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::Qualified(element, _),
        ) => Some(element),
        _ => None,
    }
}

fn is_time(data_type: &DataType) -> bool {
    match data_type {
        DataType::Date | DataType::Time(..) | DataType::Timestamp(..) => true,
        DataType::Custom(name, _) => {
            builtin(name).is_some_and(|name| TIMES.contains(&name.as_str()))
        }
        _ => false,
    }
}

struct Fields;

impl Fields {
    fn replace(factor: &mut TableFactor) -> Option<()> {
        let alias = reader(factor)?.1.clone();
        let is_of_time = alias.columns.iter().map(|column| {
            let own = column.data_type.as_ref();
            own.is_some_and(is_time)
        });
        let is_of_time: Vec<bool> = is_of_time.collect();
        let (TableFactor::Table { alias: own, .. } | TableFactor::Function { alias: own, .. }) =
            factor
        else {
            return None;
        };
        let columns = own.iter_mut().flat_map(|own| &mut own.columns);
        for (column, _) in columns.zip(&is_of_time).filter(|(_, is_so)| **is_so) {
            column.data_type = Some(DataType::Text);
        }
        let relation = &alias.name;
        let columns = alias.columns.iter().zip(&is_of_time);
        let items = columns.map(|(column, is_so)| match (&column.data_type, is_so) {
            (Some(own), true) => format!("CAST({relation}.{0} AS {own}) AS {0}", column.name),
            _ => format!("{relation}.{0} AS {0}", column.name),
        });
        let items = items.collect::<Vec<_>>().join(", ");
        let text = format!("SELECT {items} FROM {factor}");
        let Some(Statement::Query(subquery)) = parse::statements(&text)?.pop() else {
            return None;
        };
        *factor = TableFactor::Derived {
            lateral: true,
            subquery,
            alias: Some(TableAlias {
                columns: Vec::new(),
                ..alias
            }),
            sample: None,
        };
        Some(())
    }
}

impl VisitorMut for Fields {
    type Break = Refusal;

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Refusal> {
        let reads_times = reader(factor).is_some_and(|(_, alias)| {
            let mut types = alias.columns.iter().flat_map(|column| &column.data_type);
            types.any(is_time)
        });
        match reads_times && Self::replace(factor).is_none() {
            false => ControlFlow::Continue(()),
            true => ControlFlow::Break(unsupported(
                "this form of a relation that is read from JSON, in a query that the finisher \
                 evaluates",
            )),
        }
    }
}
