//! The consistency conditions of TPC-C (revision 5.11, 3.3.2.1 to 3.3.2.12), and a check that every
//! acknowledged commit is there exactly once.
//!
//! Rows are fetched and summed up here, for all engines alike, since a server that stores
//! ciphertext cannot add. Condition 11 applies to the initial rows, which deliveries change, so
//! here it takes deliveries into account.

use std::collections::{BTreeMap, HashMap};

use super::population::{DISTRICTS, Sizes};

/// Transactions committed since the tables were created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// Orders placed.
    pub orders: u64,
    /// Payments made.
    pub payments: u64,
    /// Orders delivered, up to ten by a transaction.
    pub deliveries: u64,
}

/// The number of conditions: the twelve, and that no commit is lost.
pub const CONDITIONS: usize = 13;

/// A district: warehouse and number.
pub type Place = (u32, u32);

/// A row of `district`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct District {
    /// Warehouse and number.
    pub place: Place,
    /// The amount it was paid, cents.
    pub ytd: i64,
    /// The number of its next order.
    pub next_order: u32,
}

/// A row of `history`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payment {
    /// The district that was paid.
    pub place: Place,
    /// The district of the customer who paid.
    pub customer_place: Place,
    /// The customer.
    pub customer: u32,
    /// The amount, cents.
    pub cents: i64,
}

/// A row of `customer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Customer {
    /// Its number.
    pub id: u32,
    /// What the customer owes, cents.
    pub balance: i64,
    /// What the customer has paid, cents.
    pub paid: i64,
}

/// A row of `oorder`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Its number.
    pub id: u32,
    /// The customer.
    pub customer: u32,
    /// The carrier, if it was delivered.
    pub carrier: Option<u32>,
    /// Its number of lines, as stored in the order.
    pub lines: i64,
}

/// A row of `order_line`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Its order.
    pub order: u32,
    /// The price, cents.
    pub cents: i64,
    /// Whether it has a delivery date.
    pub delivered: bool,
}

/// The rows of a district.
#[derive(Debug, Clone, Default)]
pub struct DistrictRows {
    /// Of `customer`.
    pub customers: Vec<Customer>,
    /// Of `oorder`.
    pub orders: Vec<Order>,
    /// Of `new_order`.
    pub pending: Vec<u32>,
    /// Of `order_line`.
    pub lines: Vec<Line>,
}

/// A violated condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("consistency condition {condition} does not hold: {place}: {words}")]
pub struct Violation {
    /// 1 to 12 as in clause 3.3.2; 13 counts commits.
    pub condition: u8,
    /// The warehouse and district.
    place: String,
    /// What was found instead.
    words: String,
}

fn check<T: PartialEq + std::fmt::Debug>(
    condition: u8,
    place: impl std::fmt::Debug,
    what: &str,
    [found, expected]: [T; 2],
) -> Result<(), Violation> {
    if found == expected {
        return Ok(());
    }
    Err(Violation {
        condition,
        place: format!("{place:?}"),
        words: format!("{what}: {found:?} and {expected:?}"),
    })
}

/// Checks the tables, first as a whole and then district by district.
#[derive(Debug)]
pub struct Inspector {
    sizes: Sizes,
    acknowledged: Acknowledged,
    districts: BTreeMap<Place, District>,
    /// What customers paid, cents.
    paid: HashMap<(Place, u32), i64>,
    orders: u64,
    delivered: u64,
}

impl Inspector {
    /// Starts with the small tables and the payments.
    ///
    /// # Errors
    ///
    /// If condition 1, 8, 9 or 13 is violated.
    pub fn begin(
        sizes: Sizes,
        acknowledged: Acknowledged,
        warehouses: &[(u32, i64)],
        districts: &[District],
        payments: &[Payment],
    ) -> Result<Self, Violation> {
        let mut of_districts: HashMap<Place, i64> = HashMap::new();
        let mut paid = HashMap::new();
        for payment in payments {
            *of_districts.entry(payment.place).or_default() += payment.cents;
            let customer = (payment.customer_place, payment.customer);
            *paid.entry(customer).or_default() += payment.cents;
        }
        let count = |rows: usize| rows as u64;
        let places = u64::from(sizes.warehouses) * u64::from(DISTRICTS);
        check(
            13,
            "all",
            "warehouses",
            [count(warehouses.len()), sizes.warehouses.into()],
        )?;
        check(13, "all", "districts", [count(districts.len()), places])?;
        let known = places * u64::from(sizes.customers) + acknowledged.payments;
        check(
            13,
            "all",
            "payments and commits",
            [count(payments.len()), known],
        )?;
        for &(w, ytd) in warehouses {
            let own = districts.iter().filter(|district| district.place.0 == w);
            let sum: i64 = own.map(|district| district.ytd).sum();
            check(1, w, "w_ytd and the sum of d_ytd", [ytd, sum])?;
            let own = of_districts.iter().filter(|(place, _)| place.0 == w);
            let sum: i64 = own.map(|(_, cents)| cents).sum();
            check(8, w, "w_ytd and the sum of h_amount", [ytd, sum])?;
        }
        for district in districts {
            let sum = of_districts.get(&district.place).copied().unwrap_or(0);
            let what = "d_ytd and the sum of h_amount";
            check(9, district.place, what, [district.ytd, sum])?;
        }
        Ok(Self {
            sizes,
            acknowledged,
            districts: districts.iter().map(|one| (one.place, *one)).collect(),
            paid,
            orders: 0,
            delivered: 0,
        })
    }

    /// The districts whose rows are to be checked.
    pub fn places(&self) -> Vec<Place> {
        self.districts.keys().copied().collect()
    }

    /// Checks the rows of a district.
    ///
    /// # Errors
    ///
    /// If condition 2 to 7, 10 or 12 is violated.
    pub fn district(&mut self, place: Place, rows: &DistrictRows) -> Result<(), Violation> {
        let lines = self.numbers_and_counts(place, rows)?;
        // What customers owe for delivered orders, cents.
        let mut owed: HashMap<u32, i64> = HashMap::new();
        let pending: std::collections::HashSet<u32> = rows.pending.iter().copied().collect();
        for order in &rows.orders {
            let at = (place, order.id);
            let waits = [order.carrier.is_none(), pending.contains(&order.id)];
            check(5, at, "no carrier, and a row in new_order", waits)?;
            let order_lines = lines.get(&order.id).copied().unwrap_or_default();
            check(
                6,
                at,
                "o_ol_cnt and lines",
                [order.lines, order_lines.count],
            )?;
            let delivered = if order.carrier.is_some() {
                order_lines.count
            } else {
                0
            };
            check(7, at, "delivered lines", [order_lines.delivered, delivered])?;
            *owed.entry(order.customer).or_default() += order_lines.owed;
        }
        check(
            13,
            place,
            "customers",
            [rows.customers.len(), self.sizes.customers as usize],
        )?;
        for customer in &rows.customers {
            let at = (place, customer.id);
            let owed = owed.get(&customer.id).copied().unwrap_or(0);
            let paid = self.paid.get(&at).copied().unwrap_or(0);
            let what = "c_balance, and deliveries less payments";
            check(10, at, what, [customer.balance, owed - paid])?;
            let what = "c_balance with c_ytd_payment, and deliveries";
            check(12, at, what, [customer.balance + customer.paid, owed])?;
        }
        self.orders += rows.orders.len() as u64;
        self.delivered += (rows.orders.len() - rows.pending.len()) as u64;
        Ok(())
    }

    /// Conditions 2, 3 and 4; returns the lines of each order.
    fn numbers_and_counts(
        &self,
        place: Place,
        rows: &DistrictRows,
    ) -> Result<HashMap<u32, Lines>, Violation> {
        let next = self
            .districts
            .get(&place)
            .map_or(0, |district| district.next_order);
        let last = |numbers: &mut dyn Iterator<Item = u32>| numbers.max().map(|last| last + 1);
        let of_orders = last(&mut rows.orders.iter().map(|order| order.id));
        check(
            2,
            place,
            "d_next_o_id and the last o_id",
            [Some(next), of_orders],
        )?;
        let pending = || rows.pending.iter().copied();
        if let (Some(first), Some(last)) = (pending().min(), pending().max()) {
            check(
                2,
                place,
                "d_next_o_id and the last no_o_id",
                [next, last + 1],
            )?;
            let count = rows.pending.len() as u64;
            let what = "rows of new_order and their numbers";
            check(3, place, what, [count, u64::from(last - first) + 1])?;
        }
        let sum: i64 = rows.orders.iter().map(|order| order.lines).sum();
        let what = "the sum of o_ol_cnt and lines";
        check(4, place, what, [sum, rows.lines.len() as i64])?;
        let mut lines: HashMap<u32, Lines> = HashMap::new();
        for line in &rows.lines {
            let order_lines = lines.entry(line.order).or_default();
            order_lines.count += 1;
            if line.delivered {
                order_lines.delivered += 1;
                order_lines.owed += line.cents;
            }
        }
        Ok(lines)
    }

    /// Finishes with the totals over all districts.
    ///
    /// # Errors
    ///
    /// If condition 11 or 13 is violated.
    pub fn end(&self) -> Result<(), Violation> {
        let places = u64::from(self.sizes.warehouses) * u64::from(DISTRICTS);
        let Acknowledged {
            orders, deliveries, ..
        } = self.acknowledged;
        let known = places * u64::from(self.sizes.customers) + orders;
        check(13, "all", "orders and commits", [self.orders, known])?;
        let known = places * u64::from(self.sizes.delivered()) + deliveries;
        check(
            11,
            "all",
            "delivered orders and commits",
            [self.delivered, known],
        )
    }
}

/// The lines of an order.
#[derive(Debug, Clone, Copy, Default)]
struct Lines {
    count: i64,
    delivered: i64,
    /// The sum over delivered lines, cents.
    owed: i64,
}
