//! `COUNT`, `SUM`, `AVG`, `MIN`, `MAX` with the types of the server.

use std::cmp::Ordering;

use bigdecimal::BigDecimal;
use bigdecimal::num_traits::Zero;
use column_value::{LogicalType, Value, ValueError};
use sqlstate::SqlState;

use crate::arithmetic::{Arithmetic, check_float, float, in_range};
use crate::compare::{compare, compare_char};
use crate::numeric;

/// Which aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    /// `COUNT(x)`
    Count,
    /// `SUM(x)`
    Sum,
    /// `AVG(x)`
    Average,
    /// `MIN(x)`
    Minimum,
    /// `MAX(x)`
    Maximum,
}

/// An aggregate over the values that it has been given.
#[derive(Clone, Debug)]
pub struct Accumulator {
    function: Aggregation,
    input: LogicalType,
    count: i64,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Counted,
    Integers(i128),
    Numeric(Value),
    Double(f64),
    /// Sum, and the sum of squared deviations: the server keeps both, and fails on either.
    Averaged(f64, f64),
    Single(f32),
    Extreme(Option<Value>),
}

impl Accumulator {
    /// An aggregate over values of a type, yet without any.
    ///
    /// # Errors
    /// 42883: the server has no such aggregate.
    pub fn new(function: Aggregation, input: LogicalType) -> Result<Self, ValueError> {
        use LogicalType as T;
        let is_average = function == Aggregation::Average;
        let state = match (function, input) {
            (Aggregation::Count, _) => State::Counted,
            (Aggregation::Minimum | Aggregation::Maximum, T::Boolean | T::Bytes)
            | (Aggregation::Minimum | Aggregation::Maximum, T::Uuid | T::Json | T::Opaque(_)) => {
                return Err(no_aggregate(function, input));
            }
            (Aggregation::Minimum | Aggregation::Maximum, _) => State::Extreme(None),
            (_, T::SmallInt | T::Integer | T::BigInt) => State::Integers(0),
            (_, T::Numeric(_)) => State::Numeric(Value::Numeric(BigDecimal::zero())),
            (_, T::Real | T::Double) if is_average => State::Averaged(0.0, 0.0),
            // Unlike 0, it changes no number that is added: not -0 either.
            (_, T::Real) => State::Single(-0.0),
            (_, T::Double) => State::Double(-0.0),
            _ => return Err(no_aggregate(function, input)),
        };
        Ok(Self {
            function,
            input,
            count: 0,
            state,
        })
    }

    /// The type of the result.
    pub fn result_type(&self) -> LogicalType {
        use LogicalType as T;
        match (self.function, self.input) {
            (Aggregation::Count, _) => T::BigInt,
            (Aggregation::Sum, T::SmallInt | T::Integer) => T::BigInt,
            (Aggregation::Sum, T::Real) => T::Real,
            (Aggregation::Sum | Aggregation::Average, T::Real | T::Double) => T::Double,
            (Aggregation::Sum | Aggregation::Average, _) => T::Numeric(None),
            (Aggregation::Minimum | Aggregation::Maximum, T::Varchar(_)) => T::Text,
            (Aggregation::Minimum | Aggregation::Maximum, input) => input,
        }
    }

    /// Takes one more value; NULL does not count.
    ///
    /// # Errors
    /// 22003: the sum leaves the range of a floating type.
    pub fn add(&mut self, value: Option<&Value>) -> Result<(), ValueError> {
        let Some(value) = value else { return Ok(()) };
        self.count += 1;
        match (&mut self.state, value) {
            (State::Counted, _) => {}
            (State::Integers(sum), Value::Integer(number)) => *sum += i128::from(*number),
            (State::Numeric(sum), value) => {
                let result = LogicalType::Numeric(None);
                *sum = Arithmetic::Add.calculate(sum, value, result)?;
            }
            (State::Double(sum), value) => {
                let number = float(value)?;
                let endless = sum.is_infinite() || number.is_infinite();
                *sum = check_float(*sum + number, endless, false)?;
            }
            (State::Averaged(sum, squares), value) => {
                let number = float(value)?;
                average(sum, squares, number, self.count as f64)?;
            }
            (State::Single(sum), value) => {
                let number = float(value)? as f32;
                let endless = sum.is_infinite() || number.is_infinite();
                let total = *sum + number;
                check_float(f64::from(total), endless, false)?;
                *sum = total;
            }
            (State::Extreme(extreme), value) => {
                let wanted = match self.function {
                    Aggregation::Minimum => Ordering::Less,
                    _ => Ordering::Greater,
                };
                let stands = |old: &Value| match self.input {
                    LogicalType::Char(_) => compare_char(old, value),
                    _ => compare(old, value),
                };
                // Of equal values the last, as the server does it.
                if extreme
                    .as_ref()
                    .is_none_or(|old| stands(old) != Some(wanted))
                {
                    *extreme = Some(value.clone());
                }
            }
            (State::Integers(_), _) => return Err(no_aggregate(self.function, self.input)),
        }
        Ok(())
    }

    /// The result; None: NULL, as of no values.
    ///
    /// # Errors
    /// 22003: it leaves the range of its type.
    pub fn finish(self) -> Result<Option<Value>, ValueError> {
        let result_type = self.result_type();
        if let State::Counted = self.state {
            return Ok(Some(Value::Integer(self.count)));
        }
        if self.count == 0 {
            return Ok(None);
        }
        let sum = match self.state {
            State::Counted => Value::Integer(self.count),
            State::Extreme(extreme) => return Ok(extreme),
            State::Single(sum) => Value::Float(f64::from(sum)),
            State::Double(sum) | State::Averaged(sum, _) => Value::Float(sum),
            State::Numeric(sum) => sum,
            State::Integers(sum) if result_type == LogicalType::BigInt => {
                return in_range(sum, result_type).map(Some);
            }
            State::Integers(sum) => Value::Numeric(numeric::check_size(BigDecimal::from(sum))?),
        };
        if self.function != Aggregation::Average {
            return Ok(Some(sum));
        }
        let count = Value::Integer(self.count);
        Arithmetic::Divide
            .calculate(&sum, &count, result_type)
            .map(Some)
    }
}

/// The step of Youngs and Cramer, as the server takes it.
fn average(sum: &mut f64, squares: &mut f64, number: f64, count: f64) -> Result<(), ValueError> {
    let endless = sum.is_infinite() || number.is_infinite();
    let before = count - 1.0;
    *sum += number;
    if before > 0.0 {
        let deviation = number * count - *sum;
        *squares += deviation * deviation / (count * before);
        if sum.is_infinite() || squares.is_infinite() {
            check_float(f64::INFINITY, endless, false)?;
            *squares = f64::NAN;
        }
    } else if endless || number.is_nan() {
        *squares = f64::NAN;
    }
    Ok(())
}

fn no_aggregate(function: Aggregation, input: LogicalType) -> ValueError {
    let name = match function {
        Aggregation::Count => "count",
        Aggregation::Sum => "sum",
        Aggregation::Average => "avg",
        Aggregation::Minimum => "min",
        Aggregation::Maximum => "max",
    };
    ValueError::new(
        SqlState::UNDEFINED_FUNCTION,
        format!("function {name}({input}) does not exist"),
    )
}
