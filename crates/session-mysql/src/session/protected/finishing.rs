//! `SELECT` that the proxy finishes over the rows that the server finds: it sorts them by opened
//! values, or adds these up.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use column_value::{LogicalType, Value};
use semantics_mysql::{check_sorted, compare, sum, text as written};
use session_core::plans::TextPlan;
use session_core::{OpenedGroup, StatementError};
use sql_plan::{
    Aggregate, AggregateFunction, ColumnId, Expression, Finish, Literal, OutputKind, Plan, Source,
};
use wire_mysql::answer::EofPacket;
use wire_mysql::capabilities::Status;
use wire_mysql::column::Column;
use wire_mysql::packet::{self, Header};
use wire_mysql::row::{BinaryRow, TextRow, write_binary, write_text};
use wire_mysql::value::{FieldType, Value as WireValue};
use wire_mysql::{Capabilities, Malformed};

use super::columns;
use super::errors::{refusal, without_sealed};
use super::fetching::{Fetched, Fetching};
use super::fill;
use super::reply::definition;
use super::settings::Results;
use super::statements::Bindings;
use super::values::Opened;
use crate::refusal::Refusal;

/// The query that a plan finishes.
pub(super) fn finish_of(plan: &TextPlan) -> Option<&Finish> {
    match plan.planned.first().map(|one| &one.plan) {
        Some(Plan::Finish(finish)) => Some(finish),
        _ => None,
    }
}

/// How many columns the client sees, where the server has others.
pub(super) fn shown_columns(plan: &TextPlan) -> Option<usize> {
    finish_of(plan).map(|finish| finish.project.len())
}

/// The definitions that the client sees of a query whose rows have these.
///
/// # Errors
/// They are not those of the plan.
pub(super) fn definitions(
    columns: &[Vec<u8>],
    plan: &TextPlan,
    results: Results,
) -> Result<Vec<Vec<u8>>, Refusal> {
    let Some(finish) = finish_of(plan) else {
        return Err(Malformed.into());
    };
    if columns.len() != finish.fetch.outputs.len() {
        return Err(refusal(&StatementError::other_columns()));
    }
    // All are checked, also those that the client does not see.
    let known: Vec<Vec<u8>> = columns
        .iter()
        .enumerate()
        .map(|(index, payload)| definition(payload, index, plan, results))
        .collect::<Result<_, _>>()?;
    let shown = finish
        .project
        .iter()
        .map(|(name, value, logical)| match (value, logical) {
            (Expression::Column(index), _) => known.get(*index).cloned().ok_or(Malformed),
            (Expression::Aggregate(index), Some(logical)) => {
                let aggregate = finish.aggregates.get(*index).ok_or(Malformed)?;
                let not_null = aggregate.function == AggregateFunction::Count;
                let mut out = Vec::new();
                columns::computed(name, (*logical, &plan.loaded.schema), results, not_null)
                    .write(&mut out);
                Ok(out)
            }
            _ => Err(Malformed),
        });
    shown
        .collect::<Result<_, Malformed>>()
        .map_err(Refusal::from)
}

/// A query under way.
#[derive(Debug)]
pub(super) struct Finishing {
    plan: Arc<TextPlan>,
    bindings: Option<Bindings>,
    results: Results,
    fetching: Fetching,
    /// The number of the client's next packet.
    pub(super) sequence: u8,
    /// A value did not open.
    pub(super) is_damaged: bool,
}

/// A value of a row.
enum Cell<'a> {
    Null,
    Plain(WireValue<'a>),
    Opened(Opened),
}

impl Finishing {
    /// One whose fetch is sent. The client has executed a prepared statement, or sent a text.
    pub(super) fn new(
        (plan, bindings): (Arc<TextPlan>, Option<Bindings>),
        results: Results,
        (rows_max, size_max): (usize, usize),
        sequence: u8,
    ) -> Self {
        Self {
            plan,
            bindings,
            results,
            fetching: Fetching::new(rows_max, size_max),
            sequence,
            is_damaged: false,
        }
    }

    /// Takes a payload of the server, and writes the answer once all is there. Gives whether it
    /// was the last; an error takes the place of the answer.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(super) fn take(
        &mut self,
        packet: (Header, &[u8]),
        (capabilities, status): (Capabilities, &mut Status),
        out: &mut Vec<u8>,
    ) -> Result<Option<Result<(), Refusal>>, Refusal> {
        match self.fetching.take(packet, capabilities, status)? {
            Fetched::More => Ok(None),
            Fetched::Failed(error) => {
                packet::write_bytes(&without_sealed(&error)?, &mut self.sequence, out);
                Ok(Some(Ok(())))
            }
            Fetched::Done => {
                let mut answer = Vec::new();
                let mut sequence = self.sequence;
                let end = (capabilities, *status, packet.1);
                match self.answer(end, &mut sequence, &mut answer) {
                    Ok(()) => {
                        out.extend_from_slice(&answer);
                        Ok(Some(Ok(())))
                    }
                    Err(error) if error.ends_session => {
                        self.is_damaged = true;
                        Err(refusal(&error))
                    }
                    Err(error) => Ok(Some(Err(refusal(&error)))),
                }
            }
        }
    }

    fn answer(
        &self,
        (capabilities, status, end): (Capabilities, Status, &[u8]),
        sequence: &mut u8,
        out: &mut Vec<u8>,
    ) -> Result<(), StatementError> {
        let finish = finish_of(&self.plan).ok_or_else(StatementError::other_plan)?;
        if self.fetching.is_too_much {
            let message = "a query fetches more rows than the proxy may keep to finish it";
            return Err(StatementError::limit(message).hint(
                "Narrow the condition, or raise max_finish_rows and max_finish_bytes in the \
                 proxy's configuration.",
            ));
        }
        let shown = definitions(&self.fetching.columns, &self.plan, self.results)
            .map_err(|refusal| StatementError::unsupported(refusal.message))?;
        let rows = match finish.grouped {
            true => vec![self.added_up(finish)?],
            false => self.sorted(finish)?,
        };
        let count = u16::try_from(shown.len()).map_err(|_| StatementError::other_columns())?;
        packet::write(sequence, out, |out| match u8::try_from(count) {
            Ok(count @ ..=250) => out.push(count),
            _ => {
                out.push(0xfc);
                out.extend_from_slice(&count.to_le_bytes());
            }
        });
        for one in &shown {
            packet::write_bytes(one, sequence, out);
        }
        if !capabilities.has(Capabilities::DEPRECATE_EOF) {
            let eof = EofPacket {
                warnings: 0,
                status,
            };
            packet::write(sequence, out, |out| eof.write(out));
        }
        for row in &rows {
            self.write_row(row, sequence, out);
        }
        packet::write_bytes(end, sequence, out);
        Ok(())
    }

    fn write_row(&self, row: &[Cell<'_>], sequence: &mut u8, out: &mut Vec<u8>) {
        if self.bindings.is_some() {
            let values = row.iter().map(|cell| match cell {
                Cell::Null => WireValue::Null,
                Cell::Plain(value) => *value,
                Cell::Opened(opened) => opened.binary(),
            });
            packet::write(sequence, out, |out| write_binary(values, out));
            return;
        }
        packet::write(sequence, out, |out| {
            for cell in row {
                match cell {
                    Cell::Plain(WireValue::Bytes(text)) => write_text(Some(text), out),
                    Cell::Opened(opened) => write_text(Some(opened.text()), out),
                    _ => write_text(None, out),
                }
            }
        });
    }

    /// The rows of the server, in the order of the answer, without what is hidden.
    fn sorted(&self, finish: &Finish) -> Result<Vec<Vec<Cell<'_>>>, StatementError> {
        let mut rows = Vec::new();
        for row in self.cells(finish)? {
            let keys = finish.order_by.iter().map(|sort| {
                let Expression::Column(index) = sort.value else {
                    return Err(StatementError::other_plan());
                };
                match row.get(index) {
                    Some(Cell::Null) => Ok(None),
                    Some(Cell::Opened(opened)) => {
                        check_sorted(opened.value(), opened.logical())?;
                        Ok(Some(opened.value().clone()))
                    }
                    _ => Err(StatementError::other_plan()),
                }
            });
            let keys: Vec<Option<Value>> = keys.collect::<Result<_, _>>()?;
            rows.push((keys, row));
        }
        let directions: Vec<bool> = finish.order_by.iter().map(|own| own.descending).collect();
        rows.sort_by(|(one, _), (other, _)| order(one, other, &directions));
        let skipped = self.bound(finish.offset.as_ref())?.unwrap_or(0);
        let count = self.bound(finish.limit.as_ref())?.unwrap_or(usize::MAX);
        let shown = finish.project.len();
        let rows = rows.into_iter().skip(skipped).take(count);
        Ok(rows
            .map(|(_, mut row)| {
                row.truncate(shown);
                row
            })
            .collect())
    }

    fn bound(&self, bound: Option<&Expression>) -> Result<Option<usize>, StatementError> {
        let wrong =
            || StatementError::unsupported("LIMIT or OFFSET of something else than a whole number");
        let number = match bound {
            None => return Ok(None),
            Some(Expression::Value(Source::Literal(Literal::Number(digits)), _)) => {
                digits.parse::<u64>().map_err(|_| wrong())?
            }
            Some(Expression::Value(Source::Parameter(number), _)) => {
                let bindings = self.bindings.as_ref().ok_or_else(fill::without_values)?;
                let values = bindings.values().map_err(|_| wrong())?;
                let bound = fill::Bound::find(&values, *number).map_err(|_| wrong())?;
                limit(&bound).ok_or_else(wrong)?
            }
            Some(_) => return Err(StatementError::other_plan()),
        };
        Ok(Some(usize::try_from(number).unwrap_or(usize::MAX)))
    }

    /// The one row of aggregates.
    fn added_up(&self, finish: &Finish) -> Result<Vec<Cell<'_>>, StatementError> {
        let rows = self.cells(finish)?;
        let cells = finish.project.iter().map(|(_, value, logical)| {
            let (Expression::Aggregate(index), Some(logical)) = (value, logical) else {
                return Err(StatementError::other_plan());
            };
            let aggregate = finish.aggregates.get(*index);
            let aggregate = aggregate.ok_or_else(StatementError::other_plan)?;
            match self::aggregate(aggregate, &rows)? {
                None => Ok(Cell::Null),
                Some(value) => Opened::of(value, *logical, self.results).map(Cell::Opened),
            }
        });
        cells.collect()
    }

    /// All values, opened.
    fn cells(&self, finish: &Finish) -> Result<Vec<Vec<Cell<'_>>>, StatementError> {
        let types: Vec<FieldType> = self
            .fetching
            .columns
            .iter()
            .map(|payload| Column::read(payload).map(|column| column.kind))
            .collect::<Result<_, Malformed>>()
            .map_err(|Malformed| StatementError::other_columns())?;
        let sealed: Vec<Option<ColumnId>> = finish
            .fetch
            .outputs
            .iter()
            .map(|output| match output.kind {
                OutputKind::Sealed(id) => Some(id),
                _ => None,
            })
            .collect();
        let rows = self.fetching.rows.iter().map(|payload| {
            let values: Vec<WireValue<'_>> = match self.bindings.is_some() {
                true => {
                    let row = BinaryRow::read(payload, &types)
                        .map_err(|Malformed| StatementError::other_columns())?;
                    row.values(&types).collect()
                }
                false => TextRow::read(payload, types.len())
                    .map_err(|Malformed| StatementError::other_columns())?
                    .iter()
                    .map(|value| value.map_or(WireValue::Null, WireValue::Bytes))
                    .collect(),
            };
            let mut together = OpenedGroup::default();
            let cells =
                values
                    .into_iter()
                    .zip(&sealed)
                    .map(|(value, sealed)| match (value, sealed) {
                        (WireValue::Null, _) => Ok(Cell::Null),
                        (WireValue::Bytes(bytes), Some(id)) => {
                            let loaded = &self.plan.loaded;
                            let opened =
                                Opened::in_row(loaded, (*id, bytes), self.results, &mut together)?;
                            Ok(opened.map_or(Cell::Null, Cell::Opened))
                        }
                        (_, Some(_)) => Err(StatementError::other_columns()),
                        (value, None) => Ok(Cell::Plain(value)),
                    });
            cells.collect()
        });
        rows.collect()
    }
}

/// The number of rows that a parameter stands for, as the server reads it. None: it reads another
/// one, or none.
fn limit(bound: &fill::Bound<'_>) -> Option<u64> {
    /// Whole numbers below it are the same in double precision.
    const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;
    match bound.value {
        WireValue::Null => Some(0),
        WireValue::Bytes(text) => {
            let text = text.trim_ascii_start();
            let digits = text.strip_prefix(b"+").unwrap_or(text);
            let end = digits.iter().position(|byte| !byte.is_ascii_digit());
            let digits = &digits[..end.unwrap_or(digits.len())];
            match (text.first(), digits) {
                (Some(b'-'), _) => None,
                (_, b"") => Some(0),
                (_, digits) => {
                    let number: i64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
                    u64::try_from(number).ok()
                }
            }
        }
        WireValue::Double(number) => {
            let is_whole = number.fract() == 0.0 && (0.0..EXACT_BELOW).contains(&number);
            // The shortest digits of a whole number are all of them.
            is_whole.then(|| number.to_string().parse().ok())?
        }
        _ => match u64::try_from(bound.whole()?) {
            Ok(number) => Some(number),
            // A negative number is the largest one without a sign.
            Err(_) => Some(u64::MAX),
        },
    }
}

fn order(one: &[Option<Value>], other: &[Option<Value>], descending: &[bool]) -> Ordering {
    let pairs = one.iter().zip(other).zip(descending);
    let orders = pairs.map(|((one, other), descending)| {
        // To these servers, NULL is less than every value.
        let order = match (one, other) {
            (Some(one), Some(other)) => compare(one, other).unwrap_or(Ordering::Equal),
            (one, other) => one.is_some().cmp(&other.is_some()),
        };
        match descending {
            true => order.reverse(),
            false => order,
        }
    });
    orders
        .into_iter()
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// The value of an aggregate. None: NULL.
fn aggregate(
    aggregate: &Aggregate,
    rows: &[Vec<Cell<'_>>],
) -> Result<Option<Value>, StatementError> {
    let whole = |count: usize| {
        Ok(Some(Value::Integer(
            i64::try_from(count).unwrap_or(i64::MAX),
        )))
    };
    let index = match aggregate.argument {
        None => return whole(rows.len()),
        Some(Expression::Column(index)) => index,
        Some(_) => return Err(StatementError::other_plan()),
    };
    let cells = rows.iter().filter_map(|row| row.get(index));
    if aggregate.function == AggregateFunction::Count && !aggregate.distinct {
        return whole(cells.filter(|cell| !matches!(cell, Cell::Null)).count());
    }
    let mut total = None;
    let mut chosen: Option<Value> = None;
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    for cell in cells {
        let opened = match cell {
            Cell::Null => continue,
            Cell::Opened(opened) => opened,
            Cell::Plain(_) => return Err(StatementError::other_plan()),
        };
        let value = opened.value();
        match aggregate.function {
            AggregateFunction::Sum => {
                total = Some(sum(total, value).ok_or_else(StatementError::other_plan)?);
            }
            AggregateFunction::Count => {
                check_sorted(value, opened.logical())?;
                seen.insert(distinct(value, opened.logical())?);
            }
            AggregateFunction::Minimum | AggregateFunction::Maximum => {
                let wanted = match aggregate.function {
                    AggregateFunction::Minimum => Ordering::Less,
                    _ => Ordering::Greater,
                };
                let is_better = match &chosen {
                    None => true,
                    Some(earlier) => compare(value, earlier) == Some(wanted),
                };
                if is_better {
                    chosen = Some(value.clone());
                }
            }
            _ => return Err(StatementError::other_plan()),
        }
    }
    match aggregate.function {
        AggregateFunction::Sum => Ok(total.map(Value::Numeric)),
        AggregateFunction::Count => whole(seen.len()),
        _ => Ok(chosen),
    }
}

/// Bytes that equal values share.
fn distinct(value: &Value, logical: LogicalType) -> Result<Vec<u8>, StatementError> {
    let value = match value {
        // The two zeros are equal.
        Value::Float(number) => Value::Float(number + 0.0),
        other => other.clone(),
    };
    // A FLOAT is shown with six digits, and has more.
    let whole = match logical {
        LogicalType::Real => LogicalType::Double,
        other => other,
    };
    Ok(written(&value, whole)?)
}
