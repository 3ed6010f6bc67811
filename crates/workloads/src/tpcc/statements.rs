//! The statements of the five transactions, and those of the consistency checks.
//!
//! They are BenchBase's, with two additional locks: Delivery locks the order it delivers, and at
//! READ COMMITTED Payment locks the customer whose balance it writes. Without these, two terminals
//! could do the same work twice.

use super::value::Type;

/// A statement with parameters, written as `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text {
    /// The SQL.
    pub sql: &'static str,
    /// Types of its parameters.
    pub parameters: &'static [Type],
    /// Types of the columns of its rows.
    pub results: &'static [Type],
}

use Type::{Count as N, Decimal as D, Float as F, Integer as I, Text as T, Timestamp as S};

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident: $sql:expr, $parameters:expr => $results:expr;)*) => {
        /// The name of a statement.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Statement {
            $($(#[$doc])* $name,)*
        }

        impl Statement {
            /// All statements, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its text.
            pub const fn text(self) -> Text {
                match self {
                    $(Self::$name => Text {
                        sql: $sql,
                        parameters: &$parameters,
                        results: &$results,
                    },)*
                }
            }
        }
    };
}

/// Columns of a customer selected by number.
const CUSTOMER_BY_ID: [Type; 16] = [T, T, T, T, T, T, T, T, T, T, D, D, D, F, I, S];
/// Columns of a customer selected by name: the number replaces the name.
const CUSTOMER_BY_NAME: [Type; 16] = [T, T, I, T, T, T, T, T, T, T, D, D, D, F, I, S];

/// The statement with and without a lock.
macro_rules! customer_by_id {
    ($end:literal) => {
        concat!(
            "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, ",
            "c_phone, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, ",
            "c_payment_cnt, c_since FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            $end
        )
    };
}

macro_rules! customer_by_name {
    ($end:literal) => {
        concat!(
            "SELECT c_first, c_middle, c_id, c_street_1, c_street_2, c_city, c_state, c_zip, ",
            "c_phone, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, ",
            "c_payment_cnt, c_since FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ",
            "ORDER BY c_first",
            $end
        )
    };
}

statements! {
    /// NewOrder: the customer.
    NewOrderCustomer: "SELECT c_discount, c_last, c_credit FROM customer \
        WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", [I, I, I] => [D, T, T];
    /// NewOrder: the warehouse.
    NewOrderWarehouse: "SELECT w_tax FROM warehouse WHERE w_id = ?", [I] => [D];
    /// NewOrder: the district, locked.
    NewOrderDistrict: "SELECT d_next_o_id, d_tax FROM district \
        WHERE d_w_id = ? AND d_id = ? FOR UPDATE", [I, I] => [I, D];
    /// NewOrder: the next number of an order.
    NewOrderNumber: "UPDATE district SET d_next_o_id = d_next_o_id + 1 \
        WHERE d_w_id = ? AND d_id = ?", [I, I] => [];
    /// NewOrder: the order.
    NewOrderInsert: "INSERT INTO oorder (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, \
        o_all_local) VALUES (?, ?, ?, ?, ?, ?, ?)", [I, I, I, I, S, D, D] => [];
    /// NewOrder: the order's entry as undelivered.
    NewOrderPending: "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
        [I, I, I] => [];
    /// NewOrder: an item.
    NewOrderItem: "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?", [I] => [D, T, T];
    /// NewOrder: the stock of an item, locked.
    NewOrderStock: "SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, \
        s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10 FROM stock \
        WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
        [I, I] => [D, T, T, T, T, T, T, T, T, T, T, T];
    /// NewOrder: the new stock.
    NewOrderTake: "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, \
        s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? \
        WHERE s_i_id = ? AND s_w_id = ?", [D, D, I, I, I] => [];
    /// NewOrder: a line.
    NewOrderLine: "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, \
        ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) \
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [I, I, I, I, I, I, D, D, T] => [];
    /// Payment: to the warehouse.
    PaymentWarehouse: "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?", [D, I] => [];
    /// Payment: the warehouse's address.
    PaymentWarehouseAddress: "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name \
        FROM warehouse WHERE w_id = ?", [I] => [T, T, T, T, T, T];
    /// Payment: to the district.
    PaymentDistrict: "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
        [D, I, I] => [];
    /// Payment: the district's address.
    PaymentDistrictAddress: "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name \
        FROM district WHERE d_w_id = ? AND d_id = ?", [I, I] => [T, T, T, T, T, T];
    /// A customer by its number.
    CustomerById: customer_by_id!(""), [I, I, I] => CUSTOMER_BY_ID;
    /// The same, locked.
    CustomerByIdLocked: customer_by_id!(" FOR UPDATE"), [I, I, I] => CUSTOMER_BY_ID;
    /// Customers by their name.
    CustomersByName: customer_by_name!(""), [I, I, T] => CUSTOMER_BY_NAME;
    /// The same, locked.
    CustomersByNameLocked: customer_by_name!(" FOR UPDATE"), [I, I, T] => CUSTOMER_BY_NAME;
    /// Payment: data about a customer with bad credit.
    PaymentCustomerData: "SELECT c_data FROM customer \
        WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", [I, I, I] => [T];
    /// Payment: the payment of a customer with bad credit.
    PaymentCustomerBad: "UPDATE customer SET c_balance = ?, c_ytd_payment = ?, \
        c_payment_cnt = ?, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        [D, F, I, T, I, I, I] => [];
    /// Payment: the payment of another customer.
    PaymentCustomer: "UPDATE customer SET c_balance = ?, c_ytd_payment = ?, c_payment_cnt = ? \
        WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", [D, F, I, I, I, I] => [];
    /// Payment: the history entry.
    PaymentHistory: "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, \
        h_amount, h_data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [I, I, I, I, I, S, D, T] => [];
    /// OrderStatus: the last order.
    OrderStatusOrder: "SELECT o_id, o_carrier_id, o_entry_d FROM oorder \
        WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
        [I, I, I] => [I, I, S];
    /// OrderStatus: its lines.
    OrderStatusLines: "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
        FROM order_line WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?",
        [I, I, I] => [I, I, D, D, S];
    /// Delivery: the oldest undelivered order, locked.
    DeliveryOrder: "SELECT no_o_id FROM new_order WHERE no_d_id = ? AND no_w_id = ? \
        ORDER BY no_o_id ASC LIMIT 1 FOR UPDATE", [I, I] => [I];
    /// Delivery: removes it from the undelivered orders.
    DeliveryDone: "DELETE FROM new_order WHERE no_o_id = ? AND no_d_id = ? AND no_w_id = ?",
        [I, I, I] => [];
    /// Delivery: its customer.
    DeliveryCustomer: "SELECT o_c_id FROM oorder WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?",
        [I, I, I] => [I];
    /// Delivery: its carrier.
    DeliveryCarrier: "UPDATE oorder SET o_carrier_id = ? \
        WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?", [I, I, I, I] => [];
    /// Delivery: the delivery date.
    DeliveryDate: "UPDATE order_line SET ol_delivery_d = ? \
        WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?", [S, I, I, I] => [];
    /// Delivery: its total.
    DeliverySum: "SELECT SUM(ol_amount) AS ol_total FROM order_line \
        WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?", [I, I, I] => [D];
    /// Delivery: adds the total to the customer's balance.
    DeliveryBalance: "UPDATE customer SET c_balance = c_balance + ?, \
        c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        [D, I, I, I] => [];
    /// StockLevel: the next number of an order.
    StockLevelDistrict: "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?",
        [I, I] => [I];
    /// StockLevel: items of the last orders with low stock.
    StockLevelCount: "SELECT COUNT(DISTINCT (s_i_id)) AS stock_count FROM order_line, stock \
        WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ? AND s_w_id = ? \
        AND s_i_id = ol_i_id AND s_quantity < ?", [I, I, I, I, I, D] => [N];
    /// Consistency: warehouses.
    CheckWarehouses: "SELECT w_id, w_ytd FROM warehouse", [] => [I, D];
    /// Consistency: districts.
    CheckDistricts: "SELECT d_w_id, d_id, d_ytd, d_next_o_id FROM district",
        [] => [I, I, D, I];
    /// Consistency: customers of a district.
    CheckCustomers: "SELECT c_id, c_balance, c_ytd_payment FROM customer \
        WHERE c_w_id = ? AND c_d_id = ?", [I, I] => [I, D, F];
    /// Consistency: payments.
    CheckHistory: "SELECT h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, h_amount FROM history",
        [] => [I, I, I, I, I, D];
    /// Consistency: orders of a district.
    CheckOrders: "SELECT o_id, o_c_id, o_carrier_id, o_ol_cnt FROM oorder \
        WHERE o_w_id = ? AND o_d_id = ?", [I, I] => [I, I, I, D];
    /// Consistency: undelivered orders of a district.
    CheckPending: "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ?",
        [I, I] => [I];
    /// Consistency: lines of a district.
    CheckLines: "SELECT ol_o_id, ol_amount, ol_delivery_d FROM order_line \
        WHERE ol_w_id = ? AND ol_d_id = ?", [I, I] => [I, D, S];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_has_a_type_and_every_statement_its_place() {
        for (place, statement) in Statement::ALL.iter().enumerate() {
            let Text {
                sql,
                parameters,
                results,
            } = statement.text();
            assert_eq!(sql.matches('?').count(), parameters.len(), "{sql}");
            assert_eq!(*statement as usize, place);
            assert_eq!(sql.starts_with("SELECT"), !results.is_empty(), "{sql}");
            assert!(!sql.contains("  "), "{sql}");
        }
    }
}
