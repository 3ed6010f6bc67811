//! The initial rows of the tables (revision 5.11, 4.3.3).

use super::random::{Random, last_name};
use super::schema::{
    CUSTOMER, DISTRICT, HISTORY, ITEM, NEW_ORDER, OORDER, ORDER_LINE, STOCK, TABLES, Table,
    WAREHOUSE,
};
use super::value::Value;

/// Districts of a warehouse.
pub const DISTRICTS: u32 = 10;

/// The creation time of all rows: 2026-01-01 00:00, in microseconds since 1970.
const MADE: i64 = 1_767_225_600_000_000;

/// What each customer has initially paid, in cents.
pub(super) const PAID_CENTS: i64 = 1000;

/// The sizes of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Warehouses.
    pub warehouses: u32,
    /// Items; each warehouse stocks all of them.
    pub items: u32,
    /// Customers per district; each initially has one order.
    pub customers: u32,
}

impl Sizes {
    /// The sizes at a scale: that many warehouses as specified, or, at scale 0, two small ones.
    pub fn of_scale(scale: u32) -> Self {
        match scale {
            0 => Self {
                warehouses: 2,
                items: 100,
                customers: 30,
            },
            warehouses => Self {
                warehouses,
                items: 100_000,
                customers: 3000,
            },
        }
    }

    /// Orders of a district that are initially delivered: 2100 of 3000.
    pub fn delivered(&self) -> u32 {
        self.customers / 10 * 7
    }

    /// The number of different last names.
    pub(super) fn names(&self) -> u32 {
        self.customers.min(1000)
    }
}

/// A row, with a value for each column.
pub type Row = Vec<Value<'static>>;

/// The rows of a table, in an order that satisfies its foreign keys.
pub fn rows(table: &Table, sizes: Sizes) -> Box<dyn Iterator<Item = Row>> {
    let place = TABLES.iter().position(|one| one == table);
    let number = place.map_or(0, |place| place as u64);
    let warehouses = 1..=sizes.warehouses;
    let districts = warehouses
        .clone()
        .flat_map(|w| (1..=DISTRICTS).map(move |d| (w, d)));
    let random = move |place: &[u64]| Random::at(&[&[number], place].concat());
    let at = move |(w, d): (u32, u32)| random(&[w.into(), d.into()]);
    if *table == WAREHOUSE {
        Box::new(warehouses.map(move |w| warehouse(w, sizes, random(&[w.into()]))))
    } else if *table == ITEM {
        Box::new((1..=sizes.items).map(move |i| item(i, random(&[i.into()]))))
    } else if *table == STOCK {
        let stocks = warehouses.flat_map(move |w| (1..=sizes.items).map(move |i| (w, i)));
        Box::new(stocks.map(move |(w, i)| stock(w, i, at((w, i)))))
    } else if *table == DISTRICT {
        Box::new(districts.map(move |place| district(place, sizes, at(place))))
    } else if *table == CUSTOMER {
        Box::new(districts.flat_map(move |place| {
            let mut random = at(place);
            (1..=sizes.customers).map(move |c| customer(place, c, sizes, &mut random))
        }))
    } else if *table == HISTORY {
        Box::new(districts.flat_map(move |place| {
            let mut random = at(place);
            (1..=sizes.customers).map(move |c| history(place, c, &mut random))
        }))
    } else {
        let pick: fn(&Order) -> Vec<Row> = if *table == OORDER {
            |order: &Order| vec![order.row()]
        } else if *table == NEW_ORDER {
            |order: &Order| order.new_order_row()
        } else {
            debug_assert_eq!(*table, ORDER_LINE);
            Order::line_rows
        };
        Box::new(
            districts
                .flat_map(move |place| orders(place, sizes).flat_map(move |order| pick(&order))),
        )
    }
}

fn address(random: &mut Random) -> [Value<'static>; 5] {
    [
        Value::text(random.text(10, 20)),
        Value::text(random.text(10, 20)),
        Value::text(random.text(10, 20)),
        Value::text(random.letters(2)),
        Value::text(random.zip()),
    ]
}

fn id(number: u32) -> Value<'static> {
    Value::Integer(number)
}

fn cents_of_customers(sizes: Sizes) -> i64 {
    PAID_CENTS * i64::from(sizes.customers)
}

fn warehouse(w: u32, sizes: Sizes, mut random: Random) -> Row {
    let paid = cents_of_customers(sizes) * i64::from(DISTRICTS);
    let mut row = vec![
        id(w),
        Value::cents(paid),
        Value::rate(random.within(0, 2000)),
        Value::text(random.text(6, 10)),
    ];
    row.extend(address(&mut random));
    row
}

fn item(i: u32, mut random: Random) -> Row {
    vec![
        id(i),
        Value::text(random.text(14, 24)),
        Value::cents(random.within(100, 10_000).into()),
        Value::text(random.data()),
        id(random.within(1, 10_000)),
    ]
}

fn stock(w: u32, i: u32, mut random: Random) -> Row {
    let mut row = vec![
        id(w),
        id(i),
        Value::whole(random.within(10, 100)),
        Value::cents(0),
        id(0),
        id(0),
        Value::text(random.data()),
    ];
    row.extend((0..DISTRICTS).map(|_| Value::text(random.text(24, 24))));
    row
}

fn district((w, d): (u32, u32), sizes: Sizes, mut random: Random) -> Row {
    let mut row = vec![
        id(w),
        id(d),
        Value::cents(cents_of_customers(sizes)),
        Value::rate(random.within(0, 2000)),
        id(sizes.customers + 1),
        Value::text(random.text(6, 10)),
    ];
    row.extend(address(&mut random));
    row
}

fn customer((w, d): (u32, u32), c: u32, sizes: Sizes, random: &mut Random) -> Row {
    let names = sizes.names();
    // Each name is used at least once.
    let name = if c <= names {
        c - 1
    } else {
        random.name_of_row(names)
    };
    let credit = if random.chance(10) { "BC" } else { "GC" };
    let mut row = vec![
        id(w),
        id(d),
        id(c),
        Value::rate(random.within(0, 5000)),
        Value::Text(credit.into()),
        Value::text(last_name(name)),
        Value::text(random.text(8, 16)),
        Value::cents(5_000_000),
        Value::cents(-PAID_CENTS),
        Value::Float(PAID_CENTS as f64 / 100.0),
        id(1),
        id(0),
    ];
    row.extend(address(random));
    row.extend([
        Value::text(random.digits(16)),
        Value::Timestamp(MADE),
        Value::Text("OE".into()),
        Value::text(random.text(300, 500)),
    ]);
    row
}

fn history((w, d): (u32, u32), c: u32, random: &mut Random) -> Row {
    vec![
        id(c),
        id(d),
        id(w),
        id(d),
        id(w),
        Value::Timestamp(MADE),
        Value::cents(PAID_CENTS),
        Value::text(random.text(12, 24)),
    ]
}

/// An initial order, which appears in three tables.
struct Order {
    place: (u32, u32),
    number: u32,
    customer: u32,
    delivered: bool,
    carrier: u32,
    lines: u32,
    sizes: Sizes,
}

/// The orders of a district. They are generated again for each table.
fn orders(place: (u32, u32), sizes: Sizes) -> impl Iterator<Item = Order> {
    const OWN: u64 = 100;
    let mut random = Random::at(&[OWN, place.0.into(), place.1.into()]);
    let customers = random.permutation(sizes.customers);
    (1..).zip(customers).map(move |(number, customer)| Order {
        place,
        number,
        customer,
        delivered: number <= sizes.delivered(),
        carrier: random.within(1, 10),
        lines: random.within(5, 15),
        sizes,
    })
}

impl Order {
    fn keys(&self) -> [Value<'static>; 3] {
        [id(self.place.0), id(self.place.1), id(self.number)]
    }

    fn row(&self) -> Row {
        let carrier = if self.delivered {
            id(self.carrier)
        } else {
            Value::Null
        };
        let mut row = self.keys().to_vec();
        row.extend([
            id(self.customer),
            carrier,
            Value::whole(self.lines),
            Value::whole(1),
            Value::Timestamp(MADE),
        ]);
        row
    }

    fn new_order_row(&self) -> Vec<Row> {
        if self.delivered {
            return vec![];
        }
        vec![self.keys().to_vec()]
    }

    fn line_rows(&self) -> Vec<Row> {
        const OWN: u64 = 101;
        let (w, d) = self.place;
        let mut random = Random::at(&[OWN, w.into(), d.into(), self.number.into()]);
        let line = |number| {
            let mut row = self.keys().to_vec();
            let (delivered, amount) = if self.delivered {
                (Value::Timestamp(MADE), 0)
            } else {
                (Value::Null, random.within(1, 999_999))
            };
            row.extend([
                id(number),
                id(random.within(1, self.sizes.items)),
                delivered,
                Value::cents(amount.into()),
                id(w),
                Value::whole(5),
                Value::text(random.text(24, 24)),
            ]);
            row
        };
        (1..=self.lines).map(line).collect()
    }
}
