//! The five transactions of a terminal. Each select is sent alone; updates and inserts of one kind
//! are sent together, as a driver with batches does.

use std::slice;

use workloads::tpcc::Isolation;
use workloads::tpcc::population::DISTRICTS;
use workloads::tpcc::statements::Statement;
use workloads::tpcc::transactions::{Customer, Line, NewOrder, Payment, Transaction, Who};
use workloads::tpcc::value::{Decimal, Value};

use super::terminal::{Call, Replies, Reply, Terminal};
use crate::engine::EngineError;

/// A terminal, with the replies to its last batch.
pub(super) struct Session {
    terminal: Box<dyn Terminal>,
    isolation: Isolation,
    replies: Replies,
    statements: u64,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransactionEnd {
    /// It is committed.
    Committed {
        /// The number of orders delivered.
        deliveries: u32,
    },
    /// It asked for an item that does not exist.
    RolledBack,
}

impl Session {
    pub(super) fn new(terminal: Box<dyn Terminal>, isolation: Isolation) -> Self {
        Self {
            terminal,
            isolation,
            replies: Replies::default(),
            statements: 0,
        }
    }

    /// Runs statements as one batch, and returns their replies.
    fn batch(&mut self, calls: &[Call<'_>]) -> Result<&Replies, EngineError> {
        self.statements += calls.len() as u64;
        self.replies.clear();
        self.terminal.run(calls, &mut self.replies)?;
        Ok(&self.replies)
    }

    /// Runs one statement.
    pub(super) fn ask(
        &mut self,
        statement: Statement,
        parameters: &[Value<'_>],
    ) -> Result<Reply<'_>, EngineError> {
        let call = Call {
            statement,
            parameters,
        };
        Ok(self.batch(&[call])?.of(0))
    }

    /// Runs the same statement several times; each must change one row.
    fn change_each(
        &mut self,
        statement: Statement,
        parameters: &[Vec<Value<'_>>],
    ) -> Result<(), EngineError> {
        let calls: Vec<Call<'_>> = parameters
            .iter()
            .map(|parameters| Call {
                statement,
                parameters,
            })
            .collect();
        let replies = self.batch(&calls)?;
        (0..calls.len()).try_for_each(|place| replies.of(place).changed_one())
    }

    fn change(&mut self, statement: Statement, of: &[Value<'_>]) -> Result<(), EngineError> {
        self.ask(statement, of)?.changed_one()
    }

    /// Returns the number of statements since the last call.
    pub(super) fn take_statements(&mut self) -> u64 {
        std::mem::take(&mut self.statements)
    }

    fn commit(&mut self, deliveries: u32) -> Result<TransactionEnd, EngineError> {
        self.terminal.commit()?;
        Ok(TransactionEnd::Committed { deliveries })
    }

    pub(super) fn rollback(&mut self) -> Result<(), EngineError> {
        self.terminal.rollback()
    }

    pub(super) fn close(self) -> Result<(), EngineError> {
        self.terminal.close()
    }
}

fn id(number: u32) -> Value<'static> {
    Value::Integer(number)
}

/// Runs a transaction at that time, in microseconds since 1970.
pub(super) fn perform(
    session: &mut Session,
    transaction: &Transaction,
    now: i64,
) -> Result<TransactionEnd, EngineError> {
    match transaction {
        Transaction::NewOrder(order) => new_order(session, order, now),
        Transaction::Payment(payment) => pay(session, payment, now),
        Transaction::OrderStatus(customer) => order_status(session, customer),
        Transaction::Delivery { warehouse, carrier } => deliver(session, *warehouse, *carrier, now),
        Transaction::StockLevel {
            warehouse,
            district,
            threshold,
        } => stock_level(session, *warehouse, *district, *threshold),
    }
}

fn new_order(
    session: &mut Session,
    order: &NewOrder,
    now: i64,
) -> Result<TransactionEnd, EngineError> {
    let (w, d, c) = (id(order.warehouse), id(order.district), id(order.customer));
    let of_district = [w.clone(), d.clone()];
    let of_customer = [w.clone(), d.clone(), c.clone()];
    session
        .ask(Statement::NewOrderCustomer, &of_customer)?
        .only_row()?;
    session
        .ask(Statement::NewOrderWarehouse, slice::from_ref(&w))?
        .only_row()?;
    let district = session.ask(Statement::NewOrderDistrict, &of_district)?;
    let o = id(district.only_row()?.integer(0, 0)?);
    session.change(Statement::NewOrderNumber, &of_district)?;
    let is_local = order
        .lines
        .iter()
        .all(|line| line.supplier == order.warehouse);
    session.change(
        Statement::NewOrderInsert,
        &[
            o.clone(),
            d.clone(),
            w.clone(),
            c,
            Value::Timestamp(now),
            Value::whole(order.lines.len() as u32),
            Value::whole(u32::from(is_local)),
        ],
    )?;
    let keys = [o, d, w];
    session.change(Statement::NewOrderPending, &keys)?;
    let mut takes = Vec::with_capacity(order.lines.len());
    let mut lines = Vec::with_capacity(order.lines.len());
    for (line, number) in order.lines.iter().zip(1..) {
        let item = session.ask(Statement::NewOrderItem, &[id(line.item)])?;
        if item.rows() == 0 {
            session.rollback()?;
            return Ok(TransactionEnd::RolledBack);
        }
        let price = item.only_row()?.cents(0, 0)?;
        let stock = session.ask(
            Statement::NewOrderStock,
            &[id(line.item), id(line.supplier)],
        )?;
        let stock = stock.only_row()?;
        let quantity = stock.digits(0, 0, 0)?;
        let info = stock.text(0, 1 + order.district as usize)?.to_owned();
        takes.push(taken(line, quantity, line.supplier != order.warehouse));
        let mut row = keys.to_vec();
        row.extend([
            id(number),
            id(line.item),
            id(line.supplier),
            Value::whole(line.quantity),
            Value::cents(price * i64::from(line.quantity)),
            Value::text(info),
        ]);
        lines.push(row);
    }
    session.change_each(Statement::NewOrderTake, &takes)?;
    session.change_each(Statement::NewOrderLine, &lines)?;
    session.commit(0)
}

/// The remaining stock (2.4.2.2): it is refilled if less than ten would be left.
fn taken(line: &Line, quantity: i64, is_remote: bool) -> Vec<Value<'static>> {
    let left = quantity - i64::from(line.quantity);
    let left = if left >= 10 { left } else { left + 91 };
    vec![
        Value::Decimal(Decimal {
            digits: left,
            scale: 0,
        }),
        Value::whole(line.quantity),
        id(u32::from(is_remote)),
        id(line.item),
        id(line.supplier),
    ]
}

/// The customer data that Payment needs.
struct Found {
    id: u32,
    bad_credit: bool,
    balance: i64,
    paid: f64,
    payments: u32,
}

/// Finds a customer by number, or the middle one of those with the same name, rounded up (2.5.2.2).
fn find(session: &mut Session, customer: &Customer, lock: bool) -> Result<Found, EngineError> {
    use Statement::{CustomerById, CustomerByIdLocked, CustomersByName, CustomersByNameLocked};
    let place = [id(customer.warehouse), id(customer.district)];
    let [w, d] = place;
    let (reply, row, known) = match &customer.who {
        Who::Id(number) => {
            let statement = if lock {
                CustomerByIdLocked
            } else {
                CustomerById
            };
            let reply = session.ask(statement, &[w, d, id(*number)])?.only_row()?;
            (reply, 0, Some(*number))
        }
        Who::LastName(name) => {
            let statement = if lock {
                CustomersByNameLocked
            } else {
                CustomersByName
            };
            let reply = session.ask(statement, &[w, d, Value::Text(name.as_str().into())])?;
            let rows = reply.rows();
            if rows == 0 {
                return Err(reply.odd(format_args!("no customer {name}")));
            }
            (reply, rows.div_ceil(2) - 1, None)
        }
    };
    Ok(Found {
        id: match known {
            Some(number) => number,
            None => reply.integer(row, 2)?,
        },
        bad_credit: reply.text(row, 9)? == "BC",
        balance: reply.cents(row, 12)?,
        paid: reply.float(row, 13)?,
        payments: reply.integer(row, 14)?,
    })
}

/// Maximum length of `c_data`.
const DATA_LENGTH_MAX: usize = 500;

fn pay(session: &mut Session, payment: &Payment, now: i64) -> Result<TransactionEnd, EngineError> {
    let (w, d) = (id(payment.warehouse), id(payment.district));
    let amount = Value::cents(payment.cents);
    session.change(Statement::PaymentWarehouse, &[amount.clone(), w.clone()])?;
    let warehouse = session.ask(Statement::PaymentWarehouseAddress, slice::from_ref(&w))?;
    let mut history = warehouse.only_row()?.text(0, 5)?.to_owned();
    let of_district = [amount.clone(), w.clone(), d.clone()];
    session.change(Statement::PaymentDistrict, &of_district)?;
    let district = session.ask(Statement::PaymentDistrictAddress, &[w.clone(), d.clone()])?;
    history = format!("{history}    {}", district.only_row()?.text(0, 5)?);
    let lock = session.isolation == Isolation::ReadCommitted;
    let found = find(session, &payment.customer, lock)?;
    let c_w = id(payment.customer.warehouse);
    let c_d = id(payment.customer.district);
    let of_customer = [c_w.clone(), c_d.clone(), id(found.id)];
    let mut row = vec![
        Value::cents(found.balance - payment.cents),
        Value::Float(found.paid + payment.cents as f64 / 100.0),
        id(found.payments + 1),
    ];
    if found.bad_credit {
        let data = session.ask(Statement::PaymentCustomerData, &of_customer)?;
        let mut data = format!(
            "{} {} {} {} {} {} | {}",
            found.id,
            payment.customer.district,
            payment.customer.warehouse,
            payment.district,
            payment.warehouse,
            Decimal {
                digits: payment.cents,
                scale: 2
            },
            data.only_row()?.text(0, 0)?
        );
        data.truncate(data.floor_char_boundary(DATA_LENGTH_MAX));
        row.push(Value::text(data));
        row.extend(of_customer);
        session.change(Statement::PaymentCustomerBad, &row)?;
    } else {
        row.extend(of_customer);
        session.change(Statement::PaymentCustomer, &row)?;
    }
    let kept = [c_d, c_w, id(found.id), d, w, Value::Timestamp(now), amount];
    let mut kept = kept.to_vec();
    kept.push(Value::text(history));
    session.change(Statement::PaymentHistory, &kept)?;
    session.commit(0)
}

fn order_status(session: &mut Session, customer: &Customer) -> Result<TransactionEnd, EngineError> {
    let found = find(session, customer, false)?;
    let (w, d) = (id(customer.warehouse), id(customer.district));
    let order = session.ask(
        Statement::OrderStatusOrder,
        &[w.clone(), d.clone(), id(found.id)],
    )?;
    let o = id(order.only_row()?.integer(0, 0)?);
    let lines = session.ask(Statement::OrderStatusLines, &[o, d, w])?;
    if !(5..=15).contains(&lines.rows()) {
        return Err(lines.odd(format_args!("{} lines of an order", lines.rows())));
    }
    session.commit(0)
}

fn deliver(
    session: &mut Session,
    w: u32,
    carrier: u32,
    now: i64,
) -> Result<TransactionEnd, EngineError> {
    let mut deliveries = 0;
    for d in 1..=DISTRICTS {
        let (w, d) = (id(w), id(d));
        let order = session.ask(Statement::DeliveryOrder, &[d.clone(), w.clone()])?;
        if order.rows() == 0 {
            // No order is waiting in this district (2.7.4.2).
            continue;
        }
        let keys = [id(order.only_row()?.integer(0, 0)?), d.clone(), w.clone()];
        let with = |value: Value<'static>| [&[value], keys.as_slice()].concat();
        session.change(Statement::DeliveryDone, &keys)?;
        let customer = session.ask(Statement::DeliveryCustomer, &keys)?;
        let customer = id(customer.only_row()?.integer(0, 0)?);
        session.change(Statement::DeliveryCarrier, &with(id(carrier)))?;
        let dated = with(Value::Timestamp(now));
        session
            .ask(Statement::DeliveryDate, &dated)?
            .changed_some()?;
        let sum = session.ask(Statement::DeliverySum, &keys)?;
        let total = Value::cents(sum.only_row()?.cents(0, 0)?);
        session.change(Statement::DeliveryBalance, &[total, w, d, customer])?;
        deliveries += 1;
    }
    session.commit(deliveries)
}

fn stock_level(
    session: &mut Session,
    w: u32,
    d: u32,
    threshold: u32,
) -> Result<TransactionEnd, EngineError> {
    /// The number of last orders examined (2.8.2.2).
    const ORDERS: u32 = 20;
    let district = session.ask(Statement::StockLevelDistrict, &[id(w), id(d)])?;
    let next = district.only_row()?.integer(0, 0)?;
    let first = next.saturating_sub(ORDERS);
    let count = session.ask(
        Statement::StockLevelCount,
        &[
            id(w),
            id(d),
            id(next),
            id(first),
            id(w),
            Value::whole(threshold),
        ],
    )?;
    count.only_row()?.integer(0, 0)?;
    session.commit(0)
}
