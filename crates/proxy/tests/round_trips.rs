//! How often the transactions of TPC-C wait for the server, with all of its columns protected.

use std::fmt::Write;

use crate::common::Setup;
use crate::common::wire::{Answer, SYNC, Session, put, put_text};
use wire_postgres::frontend::write_parse;
use workloads::tpcc::population::{Sizes, rows};
use workloads::tpcc::schema::{INDEX, TABLES};
use workloads::tpcc::statements::Statement::{self, *};
use workloads::tpcc::value::Value;

const RULES: &str = include_str!("../../../examples/tpcc-columns/100.toml");

const SIZES: Sizes = Sizes {
    warehouses: 1,
    items: 20,
    customers: 10,
};

const TIME: &str = "2026-02-03 04:05:06";

/// Statements, each with its values, that a client sends one by one.
type Calls<'a> = Vec<(Statement, Vec<&'a str>)>;

/// The tables with their first rows.
fn fill(setup: &Setup) {
    let mut client = setup.connect();
    for table in &TABLES {
        client.batch_execute(&table.ddl()).expect("it is made");
        let rows: Vec<String> = rows(table, SIZES)
            .map(|row| {
                let values: Vec<String> = row.iter().map(literal).collect();
                format!("({})", values.join(", "))
            })
            .collect();
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
        let (table, names, rows) = (table.name, names.join(", "), rows.join(", "));
        let text = format!("INSERT INTO {table} ({names}) VALUES {rows}");
        client.batch_execute(&text).expect("its rows");
    }
    client.batch_execute(INDEX).expect("it is made");
}

fn literal(value: &Value<'_>) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Integer(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => format!("'{text}'"),
        Value::Timestamp(_) => format!("'{TIME}'"),
    }
}

/// A session that has prepared all statements of TPC-C, each by its name.
fn prepared(setup: &Setup) -> Session {
    let mut session = Session::connect(setup.proxy.address.port());
    for statement in Statement::ALL {
        let mut text = String::new();
        for (number, part) in statement.text().sql.split('?').enumerate() {
            if number > 0 {
                write!(text, "${number}").expect("a String takes all");
            }
            text.push_str(part);
        }
        let mut messages = Vec::new();
        let name = format!("{statement:?}");
        let types = std::iter::empty();
        write_parse(name.as_bytes(), text.as_bytes(), types, &mut messages);
        messages.extend_from_slice(SYNC);
        done(session.say(&messages));
    }
    session
}

#[track_caller]
fn done(answer: Answer) -> Answer {
    assert!(answer.code.is_empty() && !answer.is_over, "{answer:?}");
    answer
}

fn run(session: &mut Session, text: &str) {
    let mut messages = Vec::new();
    put_text(text, &mut messages);
    messages.extend_from_slice(SYNC);
    done(session.say(&messages));
}

/// How often the client waits in a transaction, and how often the proxy does.
fn round_trips(setup: &Setup, session: &mut Session, calls: &Calls<'_>) -> (usize, usize) {
    let before = setup.tap.round_trips();
    run(session, "BEGIN");
    for (statement, values) in calls {
        let mut messages = Vec::new();
        put(format!("{statement:?}").as_bytes(), values, &mut messages);
        messages.extend_from_slice(SYNC);
        let answer = done(session.say(&messages));
        let tag = answer.tag.trim_end_matches('\0');
        assert!(!tag.ends_with(" 0"), "{statement:?}: {answer:?}");
    }
    run(session, "COMMIT");
    (calls.len() + 2, setup.tap.round_trips() - before)
}

fn new_order(order: &str) -> Calls<'_> {
    let district = vec!["1", "1"];
    let mut calls = vec![
        (NewOrderCustomer, vec!["1", "1", "1"]),
        (NewOrderWarehouse, vec!["1"]),
        (NewOrderDistrict, district.clone()),
        (NewOrderNumber, district),
        (NewOrderInsert, vec![order, "1", "1", "1", TIME, "3", "1"]),
        (NewOrderPending, vec![order, "1", "1"]),
    ];
    for (number, item) in [("1", "3"), ("2", "5"), ("3", "7")] {
        let dist_info = "abcdefghijklmnopqrstuvwx";
        calls.extend([
            (NewOrderItem, vec![item]),
            (NewOrderStock, vec![item, "1"]),
            (NewOrderTake, vec!["17", "5", "0", item, "1"]),
            (
                NewOrderLine,
                vec![order, "1", "1", number, item, "1", "5", "50.00", dist_info],
            ),
        ]);
    }
    calls
}

fn payment(balance: &str) -> Calls<'_> {
    vec![
        (PaymentWarehouse, vec!["4.50", "1"]),
        (PaymentWarehouseAddress, vec!["1"]),
        (PaymentDistrict, vec!["4.50", "1", "1"]),
        (PaymentDistrictAddress, vec!["1", "1"]),
        (CustomerByIdLocked, vec!["1", "1", "2"]),
        (PaymentCustomer, vec![balance, "14.5", "2", "1", "1", "2"]),
        (
            PaymentHistory,
            vec!["1", "1", "2", "1", "1", TIME, "4.50", "a b"],
        ),
    ]
}

fn order_status(name: &str) -> Calls<'_> {
    vec![
        (CustomersByName, vec!["1", "1", name]),
        (OrderStatusOrder, vec!["1", "1", "1"]),
        (OrderStatusLines, vec!["11", "1", "1"]),
    ]
}

fn delivery(order: &str) -> Calls<'_> {
    vec![
        (DeliveryOrder, vec!["1", "1"]),
        (DeliveryDone, vec![order, "1", "1"]),
        (DeliveryCustomer, vec![order, "1", "1"]),
        (DeliveryCarrier, vec!["3", order, "1", "1"]),
        (DeliveryDate, vec![TIME, order, "1", "1"]),
        (DeliverySum, vec![order, "1", "1"]),
        (DeliveryBalance, vec!["10.00", "1", "1", "1"]),
    ]
}

fn stock_level() -> Calls<'static> {
    vec![
        (StockLevelDistrict, vec!["1", "1"]),
        (StockLevelCount, vec!["1", "1", "13", "1", "1", "15"]),
    ]
}

/// An increment of a row that the transaction has locked is a statement as the rest; any other one
/// waits for the old value first.
#[test]
fn transactions_wait_for_the_server_once_more_for_an_increment_of_a_row_that_is_not_locked() {
    if !server_testkit::is_installed() {
        return;
    }
    // A look at the catalogues would count.
    let setup = Setup::start_with(RULES, "schema_check_seconds = 3600");
    fill(&setup);
    let named = "SELECT c_last FROM customer WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1";
    let named = setup.connect().query_one(named, &[]).expect("its name");
    let name: String = named.get(0);
    let mut session = prepared(&setup);
    // The first of each kind may have more to ask.
    for calls in [new_order("11"), payment("-5.00"), delivery("8")] {
        round_trips(&setup, &mut session, &calls);
    }
    for calls in [order_status(&name), stock_level()] {
        round_trips(&setup, &mut session, &calls);
    }
    for (calls, increments) in [
        (new_order("12"), 0),
        // What warehouse and district have earned.
        (payment("-9.50"), 2),
        (order_status(&name), 0),
        // The customer's balance.
        (delivery("9"), 1),
        (stock_level(), 0),
    ] {
        let (client, proxy) = round_trips(&setup, &mut session, &calls);
        assert_eq!(proxy, client + increments, "{calls:?}");
    }
}
