//! The input of each transaction (revision 5.11, 2.4.1 to 2.8.1 and 5.2.3).

use serde::{Deserialize, Serialize};

use super::population::{DISTRICTS, Sizes};
use super::random::{Random, last_name};

/// The five transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A customer orders 5 to 15 items.
    NewOrder,
    /// A customer pays.
    Payment,
    /// Status of a customer's last order.
    OrderStatus,
    /// Delivers the oldest order of each district.
    Delivery,
    /// Counts recently ordered items with low stock.
    StockLevel,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::NewOrder,
        Self::Payment,
        Self::OrderStatus,
        Self::Delivery,
        Self::StockLevel,
    ];

    /// Share in per cent: the weights of the published test.
    pub fn weight(self) -> u32 {
        match self {
            Self::NewOrder => 45,
            Self::Payment => 43,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 4,
        }
    }

    /// Its name in the specification.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "New-Order",
            Self::Payment => "Payment",
            Self::OrderStatus => "Order-Status",
            Self::Delivery => "Delivery",
            Self::StockLevel => "Stock-Level",
        }
    }
}

/// A transaction with all its random input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transaction {
    /// See [`Kind::NewOrder`].
    NewOrder(NewOrder),
    /// See [`Kind::Payment`].
    Payment(Payment),
    /// See [`Kind::OrderStatus`].
    OrderStatus(Customer),
    /// See [`Kind::Delivery`].
    Delivery {
        /// The warehouse.
        warehouse: u32,
        /// The carrier.
        carrier: u32,
    },
    /// See [`Kind::StockLevel`].
    StockLevel {
        /// The warehouse.
        warehouse: u32,
        /// The district.
        district: u32,
        /// The threshold for low stock.
        threshold: u32,
    },
}

impl Transaction {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::NewOrder(_) => Kind::NewOrder,
            Self::Payment(_) => Kind::Payment,
            Self::OrderStatus(_) => Kind::OrderStatus,
            Self::Delivery { .. } => Kind::Delivery,
            Self::StockLevel { .. } => Kind::StockLevel,
        }
    }
}

/// A new order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOrder {
    /// The warehouse.
    pub warehouse: u32,
    /// The district.
    pub district: u32,
    /// The customer.
    pub customer: u32,
    /// The order's lines. One in 100 orders ends with an item that does not exist and is rolled
    /// back.
    pub lines: Vec<Line>,
}

/// A line of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// The item.
    pub item: u32,
    /// The supplying warehouse.
    pub supplier: u32,
    /// The quantity.
    pub quantity: u32,
}

/// A payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// The warehouse that is paid.
    pub warehouse: u32,
    /// The district that is paid.
    pub district: u32,
    /// The paying customer.
    pub customer: Customer,
    /// The amount, in cents.
    pub cents: i64,
}

/// A customer as identified at the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Customer {
    /// Its warehouse.
    pub warehouse: u32,
    /// Its district.
    pub district: u32,
    /// How the customer is identified in that district.
    pub who: Who,
}

/// How a customer is identified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// By its number.
    Id(u32),
    /// By last name; if several customers share it, the middle one is used.
    LastName(String),
}

/// The transaction with that number, from 0, of a terminal, from 0, in a test with that number. It
/// depends on nothing else, so every engine gets the same transactions.
pub fn transaction(sizes: Sizes, test: u32, terminal: u32, number: u64) -> Transaction {
    let mut random = Random::at(&[TERMINALS, test.into(), terminal.into(), number]);
    let home = terminal % sizes.warehouses + 1;
    let mut drawn = random.within(1, 100);
    let kind = Kind::ALL.into_iter().find(|kind| {
        let found = drawn <= kind.weight();
        drawn = drawn.saturating_sub(kind.weight());
        found
    });
    match kind.unwrap_or(Kind::StockLevel) {
        Kind::NewOrder => Transaction::NewOrder(new_order(sizes, home, &mut random)),
        Kind::Payment => Transaction::Payment(payment(sizes, home, &mut random)),
        Kind::OrderStatus => {
            let district = random.within(1, DISTRICTS);
            Transaction::OrderStatus(customer(sizes, home, district, &mut random))
        }
        Kind::Delivery => Transaction::Delivery {
            warehouse: home,
            carrier: random.within(1, 10),
        },
        Kind::StockLevel => Transaction::StockLevel {
            warehouse: home,
            // Each terminal has a fixed district (2.8.1.1).
            district: terminal / sizes.warehouses % DISTRICTS + 1,
            threshold: random.within(10, 20),
        },
    }
}

/// Keeps the random streams of terminals apart from those of the tables.
const TERMINALS: u64 = 1000;

fn other_warehouse(sizes: Sizes, home: u32, random: &mut Random) -> u32 {
    if sizes.warehouses == 1 {
        return home;
    }
    let other = random.within(1, sizes.warehouses - 1);
    if other >= home { other + 1 } else { other }
}

fn new_order(sizes: Sizes, home: u32, random: &mut Random) -> NewOrder {
    let district = random.within(1, DISTRICTS);
    let customer = random.customer(sizes.customers);
    let count = random.within(5, 15);
    let rolls_back = random.chance(1);
    let mut lines: Vec<Line> = Vec::with_capacity(count as usize);
    while lines.len() < count as usize {
        let item = random.item(sizes.items);
        // An order updates each stock row at most once; the specification leaves this open.
        if lines.iter().any(|line| line.item == item) {
            continue;
        }
        let supplier = if random.chance(1) {
            other_warehouse(sizes, home, random)
        } else {
            home
        };
        let quantity = random.within(1, 10);
        lines.push(Line {
            item,
            supplier,
            quantity,
        });
    }
    if let Some(last) = lines.last_mut().filter(|_| rolls_back) {
        last.item = sizes.items + 1;
    }
    NewOrder {
        warehouse: home,
        district,
        customer,
        lines,
    }
}

fn payment(sizes: Sizes, home: u32, random: &mut Random) -> Payment {
    let district = random.within(1, DISTRICTS);
    let (of_warehouse, of_district) = if random.chance(15) {
        let other = other_warehouse(sizes, home, random);
        (other, random.within(1, DISTRICTS))
    } else {
        (home, district)
    };
    Payment {
        warehouse: home,
        district,
        customer: customer(sizes, of_warehouse, of_district, random),
        cents: random.within(100, 500_000).into(),
    }
}

fn customer(sizes: Sizes, warehouse: u32, district: u32, random: &mut Random) -> Customer {
    let who = if random.chance(60) {
        Who::LastName(last_name(random.name_asked_for(sizes.names())))
    } else {
        Who::Id(random.customer(sizes.customers))
    };
    Customer {
        warehouse,
        district,
        who,
    }
}
