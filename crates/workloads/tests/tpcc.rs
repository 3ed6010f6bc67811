//! Workload `tpcc`: its initial rows are consistent, its transactions are mixed as specified, and
//! each violated condition is detected.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::HashMap;

use workloads::tpcc::consistency::{
    Acknowledged, Customer, District, DistrictRows, Inspector, Line, Order, Payment, Place,
    Violation,
};
use workloads::tpcc::population::{Row, Sizes, rows};
use workloads::tpcc::schema::{
    CUSTOMER, DISTRICT, HISTORY, NEW_ORDER, OORDER, ORDER_LINE, TABLES, Table, WAREHOUSE,
};
use workloads::tpcc::transactions::{Kind, Transaction, Who, transaction};
use workloads::tpcc::value::Value;

const SMALL: Sizes = Sizes {
    warehouses: 2,
    items: 100,
    customers: 30,
};

fn column(table: &Table, row: &Row, name: &str) -> Value<'static> {
    let place = table.columns.iter().position(|column| column.0 == name);
    row[place.unwrap()].clone()
}

fn integer(table: &Table, row: &Row, name: &str) -> u32 {
    match column(table, row, name) {
        Value::Integer(number) => number,
        other => panic!("{name}: {other:?}"),
    }
}

fn digits(table: &Table, row: &Row, name: &str) -> i64 {
    match column(table, row, name) {
        Value::Decimal(decimal) => decimal.digits,
        other => panic!("{name}: {other:?}"),
    }
}

fn place(table: &Table, row: &Row, prefix: &str) -> Place {
    let of = |name| integer(table, row, &format!("{prefix}{name}"));
    (of("w_id"), of("d_id"))
}

/// The initial tables.
#[derive(Clone)]
struct Tables {
    warehouses: Vec<(u32, i64)>,
    districts: Vec<District>,
    payments: Vec<Payment>,
    rows: HashMap<Place, DistrictRows>,
}

impl Tables {
    fn new() -> Self {
        let mut found: HashMap<Place, DistrictRows> = HashMap::new();
        for row in rows(&CUSTOMER, SMALL) {
            let Value::Float(paid) = column(&CUSTOMER, &row, "c_ytd_payment") else {
                panic!("{row:?}");
            };
            let district = found.entry(place(&CUSTOMER, &row, "c_")).or_default();
            district.customers.push(Customer {
                id: integer(&CUSTOMER, &row, "c_id"),
                balance: digits(&CUSTOMER, &row, "c_balance"),
                paid: (paid * 100.0) as i64,
            });
        }
        for row in rows(&OORDER, SMALL) {
            let carrier = match column(&OORDER, &row, "o_carrier_id") {
                Value::Integer(carrier) => Some(carrier),
                _ => None,
            };
            let district = found.get_mut(&place(&OORDER, &row, "o_")).unwrap();
            district.orders.push(Order {
                id: integer(&OORDER, &row, "o_id"),
                customer: integer(&OORDER, &row, "o_c_id"),
                carrier,
                lines: digits(&OORDER, &row, "o_ol_cnt"),
            });
        }
        for row in rows(&NEW_ORDER, SMALL) {
            let district = found.get_mut(&place(&NEW_ORDER, &row, "no_")).unwrap();
            district.pending.push(integer(&NEW_ORDER, &row, "no_o_id"));
        }
        for row in rows(&ORDER_LINE, SMALL) {
            let district = found.get_mut(&place(&ORDER_LINE, &row, "ol_")).unwrap();
            district.lines.push(Line {
                order: integer(&ORDER_LINE, &row, "ol_o_id"),
                cents: digits(&ORDER_LINE, &row, "ol_amount"),
                delivered: column(&ORDER_LINE, &row, "ol_delivery_d") != Value::Null,
            });
        }
        Self {
            warehouses: rows(&WAREHOUSE, SMALL)
                .map(|row| {
                    let ytd = digits(&WAREHOUSE, &row, "w_ytd");
                    (integer(&WAREHOUSE, &row, "w_id"), ytd)
                })
                .collect(),
            districts: rows(&DISTRICT, SMALL)
                .map(|row| District {
                    place: (
                        integer(&DISTRICT, &row, "d_w_id"),
                        integer(&DISTRICT, &row, "d_id"),
                    ),
                    ytd: digits(&DISTRICT, &row, "d_ytd"),
                    next_order: integer(&DISTRICT, &row, "d_next_o_id"),
                })
                .collect(),
            payments: rows(&HISTORY, SMALL)
                .map(|row| Payment {
                    place: place(&HISTORY, &row, "h_"),
                    customer_place: place(&HISTORY, &row, "h_c_"),
                    customer: integer(&HISTORY, &row, "h_c_id"),
                    cents: digits(&HISTORY, &row, "h_amount"),
                })
                .collect(),
            rows: found,
        }
    }

    fn inspect(&self, acknowledged: Acknowledged) -> Result<(), Violation> {
        let (warehouses, districts) = (&self.warehouses, &self.districts);
        let mut inspector =
            Inspector::begin(SMALL, acknowledged, warehouses, districts, &self.payments)?;
        for place in inspector.places() {
            inspector.district(place, &self.rows[&place])?;
        }
        inspector.end()
    }

    fn at(&mut self, place: Place) -> &mut DistrictRows {
        self.rows.get_mut(&place).unwrap()
    }
}

#[test]
fn the_first_rows_are_consistent() {
    Tables::new().inspect(Acknowledged::default()).unwrap();
}

type Damage = fn(&mut Tables);

#[test]
fn each_broken_condition_is_found() {
    let tables = Tables::new();
    let damages: [(u8, Damage); 13] = [
        (1, |tables| tables.warehouses[0].1 += 1),
        (2, |tables| tables.districts[3].next_order += 1),
        (3, |tables| {
            tables.at((1, 2)).pending.remove(1);
        }),
        (4, |tables| tables.at((1, 2)).orders[4].lines += 1),
        (5, |tables| tables.at((2, 2)).orders[4].carrier = None),
        (6, |tables| {
            let orders = &mut tables.at((1, 2)).orders;
            orders[0].lines += 1;
            orders[1].lines -= 1;
        }),
        (7, |tables| tables.at((1, 2)).lines[0].delivered = false),
        (8, |tables| {
            tables.warehouses[1].1 += 1;
            let own = |district: &&mut District| district.place == (2, 1);
            tables.districts.iter_mut().find(own).unwrap().ytd += 1;
        }),
        (9, |tables| {
            tables.districts[0].ytd += 1;
            tables.districts[1].ytd -= 1;
        }),
        (10, |tables| tables.at((1, 1)).customers[2].balance += 1),
        (11, |tables| {
            // A delivery that was committed but not acknowledged.
            let rows = tables.at((1, 1));
            let order = rows.pending.remove(0);
            rows.orders[order as usize - 1].carrier = Some(1);
            let own = |line: &&mut Line| line.order == order;
            rows.lines.iter_mut().filter(own).for_each(|line| {
                line.delivered = true;
                line.cents = 0;
            });
        }),
        (12, |tables| tables.at((1, 1)).customers[2].paid += 1),
        (13, |tables| {
            tables.payments.pop();
        }),
    ];
    for (condition, damage) in damages {
        let mut tables = tables.clone();
        damage(&mut tables);
        let violation = tables.inspect(Acknowledged::default()).unwrap_err();
        assert_eq!(violation.condition, condition, "{violation}");
    }
}

#[test]
fn a_lost_commit_is_found() {
    let tables = Tables::new();
    for (condition, acknowledged) in [
        (
            13,
            Acknowledged {
                orders: 1,
                ..Acknowledged::default()
            },
        ),
        (
            13,
            Acknowledged {
                payments: 1,
                ..Acknowledged::default()
            },
        ),
        (
            11,
            Acknowledged {
                deliveries: 1,
                ..Acknowledged::default()
            },
        ),
    ] {
        let violation = tables.inspect(acknowledged).unwrap_err();
        assert_eq!(violation.condition, condition, "{violation}");
    }
}

#[test]
fn rows_have_the_specified_count_fit_their_columns_and_are_the_same_each_time() {
    let counts = [2, 100, 200, 20, 600, 600, 600, 180];
    for (table, count) in TABLES.iter().zip(counts) {
        assert_eq!(rows(table, SMALL).count(), count, "{}", table.name);
    }
    for table in &TABLES {
        assert!(rows(table, SMALL).eq(rows(table, SMALL)), "{}", table.name);
        for row in rows(table, SMALL) {
            assert_eq!(row.len(), table.columns.len());
            for ((name, kind), value) in table.columns.iter().zip(&row) {
                fits(name, kind, value);
            }
        }
    }
    // At full size.
    let one = Sizes::of_scale(1);
    let counts = TABLES.map(|table| match table.name {
        "item" | "stock" => 100_000,
        "customer" | "history" | "oorder" => 30_000,
        "new_order" => 9000,
        "district" => 10,
        _ => 1,
    });
    for (table, count) in TABLES
        .iter()
        .zip(counts)
        .filter(|pair| *pair.0 != ORDER_LINE)
    {
        assert_eq!(rows(table, one).count(), count, "{}", table.name);
    }
    let lines = rows(&ORDER_LINE, one).count();
    assert!((298_000..302_000).contains(&lines), "{lines}");
}

fn fits(name: &str, kind: &str, value: &Value<'_>) {
    let bounds = kind
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'));
    let bounds = bounds.map_or("", |(bounds, _)| bounds);
    match value {
        Value::Null => assert!(!kind.contains("NOT NULL"), "{name}"),
        Value::Integer(_) => assert!(kind.starts_with("int"), "{name}"),
        Value::Float(_) => assert!(kind.starts_with("float"), "{name}"),
        Value::Timestamp(_) => assert!(kind.starts_with("timestamp"), "{name}"),
        Value::Decimal(decimal) => {
            let (precision, scale) = bounds.split_once(", ").unwrap();
            assert_eq!(scale.parse(), Ok(decimal.scale), "{name}");
            let most = 10i64.pow(precision.parse().unwrap());
            assert!(decimal.digits.abs() < most, "{name}: {decimal}");
        }
        Value::Text(text) if kind.starts_with("char") => {
            assert_eq!(bounds.parse(), Ok(text.len()), "{name}: {text}");
        }
        Value::Text(text) => {
            assert!(text.len() <= bounds.parse().unwrap(), "{name}: {text}");
        }
    }
}

fn drawn(sizes: Sizes) -> impl Iterator<Item = Transaction> {
    (0..8u32).flat_map(move |terminal| {
        (0..10_000).map(move |number| transaction(sizes, 2, terminal, number))
    })
}

fn about(found: usize, expected: usize, what: &str) {
    let tolerance = expected / 10 + 30;
    assert!(
        found.abs_diff(expected) < tolerance,
        "{what}: {found} instead of {expected}"
    );
}

#[test]
fn transactions_are_mixed_by_their_weights_and_the_same_each_time() {
    let sizes = Sizes::of_scale(3);
    let mut counts: HashMap<Kind, usize> = HashMap::new();
    for (one, again) in drawn(sizes).zip(drawn(sizes)) {
        assert_eq!(one, again);
        *counts.entry(one.kind()).or_default() += 1;
    }
    for kind in Kind::ALL {
        about(counts[&kind], kind.weight() as usize * 800, kind.name());
    }
    assert_ne!(transaction(sizes, 2, 0, 0), transaction(sizes, 3, 0, 0));
    assert_eq!(Kind::ALL.map(Kind::weight).iter().sum::<u32>(), 100);
}

#[test]
fn orders_are_as_the_specification_says() {
    let sizes = Sizes::of_scale(3);
    let (mut orders, mut lines, mut remote, mut rolled_back) = (0, 0, 0, 0);
    for transaction in drawn(sizes) {
        let Transaction::NewOrder(order) = transaction else {
            continue;
        };
        orders += 1;
        lines += order.lines.len();
        assert!((5..=15).contains(&order.lines.len()));
        assert!((1..=10).contains(&order.district) && order.customer <= 3000);
        let is_missing = |item: u32| item == sizes.items + 1;
        rolled_back += usize::from(is_missing(order.lines.last().unwrap().item));
        for (line, place) in order.lines.iter().zip(1..) {
            assert!(line.item <= sizes.items || place == order.lines.len());
            assert!((1..=3).contains(&line.supplier) && (1..=10).contains(&line.quantity));
            remote += usize::from(line.supplier != order.warehouse);
        }
        let mut items: Vec<u32> = order.lines.iter().map(|line| line.item).collect();
        items.sort_unstable();
        items.dedup();
        assert_eq!(items.len(), order.lines.len());
    }
    about(lines, 10 * orders, "lines");
    about(remote, lines / 100, "lines of another warehouse");
    about(rolled_back, orders / 100, "orders with an unknown item");
}

#[test]
fn payments_are_as_the_specification_says() {
    let sizes = Sizes::of_scale(3);
    let (mut payments, mut remote, mut by_name) = (0, 0, 0);
    for transaction in drawn(sizes) {
        let Transaction::Payment(payment) = transaction else {
            continue;
        };
        payments += 1;
        let customer = payment.customer;
        let is_remote = customer.warehouse != payment.warehouse;
        remote += usize::from(is_remote);
        assert!(is_remote || customer.district == payment.district);
        by_name += usize::from(matches!(customer.who, Who::LastName(_)));
        assert!((100..=500_000).contains(&payment.cents));
    }
    about(
        remote,
        payments * 15 / 100,
        "payments of another warehouse's customers",
    );
    about(by_name, payments * 60 / 100, "customers by name");
}

/// With one warehouse there is no other; a customer searched for by name always exists.
#[test]
fn transactions_refer_only_to_existing_rows() {
    let one = Sizes {
        warehouses: 1,
        ..SMALL
    };
    let names: Vec<Value<'static>> = rows(&CUSTOMER, one)
        .filter(|row| place(&CUSTOMER, row, "c_") == (1, 1))
        .map(|row| column(&CUSTOMER, &row, "c_last"))
        .collect();
    for transaction in drawn(one) {
        match transaction {
            Transaction::NewOrder(order) => {
                assert!(order.lines.iter().all(|line| line.supplier == 1));
            }
            Transaction::Payment(payment) => {
                assert_eq!(payment.customer.warehouse, 1);
                if let Who::LastName(name) = payment.customer.who {
                    assert!(names.contains(&Value::text(name)));
                }
            }
            _ => {}
        }
    }
}
