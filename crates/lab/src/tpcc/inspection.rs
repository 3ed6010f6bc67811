//! Checks the consistency conditions of TPC-C.

use workloads::tpcc::Isolation;
use workloads::tpcc::consistency::{
    Acknowledged, Customer, District, DistrictRows, Inspector, Line, Order, Payment, Place,
    Violation,
};
use workloads::tpcc::population::Sizes;
use workloads::tpcc::statements::Statement;
use workloads::tpcc::value::Value;

use super::terminal::{Reply, Terminal};
use super::transactions::Session;
use crate::engine::EngineError;

/// The first condition that does not hold, if any.
pub(super) fn inspect(
    terminal: Box<dyn Terminal>,
    sizes: Sizes,
    acknowledged: Acknowledged,
) -> Result<Option<Violation>, EngineError> {
    let mut session = Session::new(terminal, Isolation::ReadCommitted);
    let violation = look(&mut session, sizes, acknowledged)?;
    session.rollback()?;
    session.close()?;
    Ok(violation)
}

fn look(
    session: &mut Session,
    sizes: Sizes,
    acknowledged: Acknowledged,
) -> Result<Option<Violation>, EngineError> {
    let warehouses = fetch(session, Statement::CheckWarehouses, None, |reply, row| {
        Ok((reply.integer(row, 0)?, reply.cents(row, 1)?))
    })?;
    let districts = fetch(session, Statement::CheckDistricts, None, |reply, row| {
        Ok(District {
            place: (reply.integer(row, 0)?, reply.integer(row, 1)?),
            ytd: reply.cents(row, 2)?,
            next_order: reply.integer(row, 3)?,
        })
    })?;
    let payments = fetch(session, Statement::CheckHistory, None, |reply, row| {
        Ok(Payment {
            place: (reply.integer(row, 0)?, reply.integer(row, 1)?),
            customer_place: (reply.integer(row, 2)?, reply.integer(row, 3)?),
            customer: reply.integer(row, 4)?,
            cents: reply.cents(row, 5)?,
        })
    })?;
    let began = Inspector::begin(sizes, acknowledged, &warehouses, &districts, &payments);
    let mut inspector = match began {
        Ok(inspector) => inspector,
        Err(violation) => return Ok(Some(violation)),
    };
    for place in inspector.places() {
        let rows = district(session, place)?;
        if let Err(violation) = inspector.district(place, &rows) {
            return Ok(Some(violation));
        }
    }
    Ok(inspector.end().err())
}

fn district(session: &mut Session, place: Place) -> Result<DistrictRows, EngineError> {
    let place = Some(place);
    Ok(DistrictRows {
        customers: fetch(session, Statement::CheckCustomers, place, |reply, row| {
            Ok(Customer {
                id: reply.integer(row, 0)?,
                balance: reply.cents(row, 1)?,
                paid: (reply.float(row, 2)? * 100.0).round() as i64,
            })
        })?,
        orders: fetch(session, Statement::CheckOrders, place, |reply, row| {
            Ok(Order {
                id: reply.integer(row, 0)?,
                customer: reply.integer(row, 1)?,
                carrier: reply.integer_or_null(row, 2)?,
                lines: reply.digits(row, 3, 0)?,
            })
        })?,
        pending: fetch(session, Statement::CheckPending, place, |reply, row| {
            reply.integer(row, 0)
        })?,
        lines: fetch(session, Statement::CheckLines, place, |reply, row| {
            Ok(Line {
                order: reply.integer(row, 0)?,
                cents: reply.cents(row, 1)?,
                delivered: !reply.is_null(row, 2)?,
            })
        })?,
    })
}

fn fetch<T>(
    session: &mut Session,
    statement: Statement,
    place: Option<Place>,
    read: impl Fn(&Reply<'_>, usize) -> Result<T, EngineError>,
) -> Result<Vec<T>, EngineError> {
    let keys = place.map(|(w, d)| [Value::Integer(w), Value::Integer(d)]);
    let keys: &[Value<'_>] = keys.as_ref().map_or(&[], |keys| keys);
    let reply = session.ask(statement, keys)?;
    (0..reply.rows()).map(|row| read(&reply, row)).collect()
}
