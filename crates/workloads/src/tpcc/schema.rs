//! The nine tables, as BenchBase declares them for PostgreSQL: 92 columns, all keys and foreign
//! keys.

use super::value::Type;

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Name and declaration of each column.
    pub columns: &'static [(&'static str, &'static str)],
    /// Constraints: keys and foreign keys.
    constraints: &'static [&'static str],
}

impl Table {
    /// The type of each column.
    pub fn types(&self) -> impl Iterator<Item = Type> {
        self.columns
            .iter()
            .map(|(_, kind)| match kind.split([' ', '(']).next() {
                Some("int") => Type::Integer,
                Some("decimal") => Type::Decimal,
                Some("float") => Type::Float,
                Some("timestamp") => Type::Timestamp,
                _ => Type::Text,
            })
    }

    /// The statement that creates it.
    pub fn ddl(&self) -> String {
        let columns = self
            .columns
            .iter()
            .map(|(name, kind)| format!("{name} {kind}"));
        let constraints = self.constraints.iter().map(|&text| text.to_owned());
        let lines: Vec<String> = columns.chain(constraints).collect();
        format!("CREATE TABLE {} ({})", self.name, lines.join(", "))
    }
}

impl Table {
    /// The statement that creates it in MySQL and MariaDB, with the index in addition to those of
    /// keys. Texts are compared by their letters, times have all digits and no default, and the
    /// floating-point number has double precision, so that tables with protected columns can have
    /// the same ones. The index leaves out the first name, which need not be one that the server
    /// compares.
    pub fn ddl_in_mysql(&self) -> String {
        let columns = self.columns.iter().map(|(name, kind)| {
            let kind = match *kind {
                "float NOT NULL" => "double NOT NULL",
                "timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP" => "datetime(6) NOT NULL",
                "timestamp NULL DEFAULT NULL" => "datetime(6) DEFAULT NULL",
                kind => kind,
            };
            format!("{name} {kind}")
        });
        let constraints = self.constraints.iter().map(|&text| text.to_owned());
        let index = (self.name == CUSTOMER.name)
            .then(|| "KEY idx_customer_name (c_w_id, c_d_id, c_last)".to_owned());
        let lines: Vec<String> = columns.chain(constraints).chain(index).collect();
        format!(
            "CREATE TABLE {} ({}) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
            self.name,
            lines.join(", ")
        )
    }
}

/// The index in addition to those of keys.
pub const INDEX: &str =
    "CREATE INDEX idx_customer_name ON customer (c_w_id, c_d_id, c_last, c_first)";

/// All tables; each refers only to those before it.
pub const TABLES: [Table; 9] = [
    WAREHOUSE, ITEM, STOCK, DISTRICT, CUSTOMER, HISTORY, OORDER, NEW_ORDER, ORDER_LINE,
];

/// Warehouses.
pub const WAREHOUSE: Table = Table {
    name: "warehouse",
    columns: &[
        ("w_id", "int NOT NULL"),
        ("w_ytd", "decimal(12, 2) NOT NULL"),
        ("w_tax", "decimal(4, 4) NOT NULL"),
        ("w_name", "varchar(10) NOT NULL"),
        ("w_street_1", "varchar(20) NOT NULL"),
        ("w_street_2", "varchar(20) NOT NULL"),
        ("w_city", "varchar(20) NOT NULL"),
        ("w_state", "char(2) NOT NULL"),
        ("w_zip", "char(9) NOT NULL"),
    ],
    constraints: &["PRIMARY KEY (w_id)"],
};

/// Items for sale.
pub const ITEM: Table = Table {
    name: "item",
    columns: &[
        ("i_id", "int NOT NULL"),
        ("i_name", "varchar(24) NOT NULL"),
        ("i_price", "decimal(5, 2) NOT NULL"),
        ("i_data", "varchar(50) NOT NULL"),
        ("i_im_id", "int NOT NULL"),
    ],
    constraints: &["PRIMARY KEY (i_id)"],
};

/// Stock of each item in a warehouse.
pub const STOCK: Table = Table {
    name: "stock",
    columns: &[
        ("s_w_id", "int NOT NULL"),
        ("s_i_id", "int NOT NULL"),
        ("s_quantity", "decimal(4, 0) NOT NULL"),
        ("s_ytd", "decimal(8, 2) NOT NULL"),
        ("s_order_cnt", "int NOT NULL"),
        ("s_remote_cnt", "int NOT NULL"),
        ("s_data", "varchar(50) NOT NULL"),
        ("s_dist_01", "char(24) NOT NULL"),
        ("s_dist_02", "char(24) NOT NULL"),
        ("s_dist_03", "char(24) NOT NULL"),
        ("s_dist_04", "char(24) NOT NULL"),
        ("s_dist_05", "char(24) NOT NULL"),
        ("s_dist_06", "char(24) NOT NULL"),
        ("s_dist_07", "char(24) NOT NULL"),
        ("s_dist_08", "char(24) NOT NULL"),
        ("s_dist_09", "char(24) NOT NULL"),
        ("s_dist_10", "char(24) NOT NULL"),
    ],
    constraints: &[
        "FOREIGN KEY (s_w_id) REFERENCES warehouse (w_id) ON DELETE CASCADE",
        "FOREIGN KEY (s_i_id) REFERENCES item (i_id) ON DELETE CASCADE",
        "PRIMARY KEY (s_w_id, s_i_id)",
    ],
};

/// Districts, ten per warehouse.
pub const DISTRICT: Table = Table {
    name: "district",
    columns: &[
        ("d_w_id", "int NOT NULL"),
        ("d_id", "int NOT NULL"),
        ("d_ytd", "decimal(12, 2) NOT NULL"),
        ("d_tax", "decimal(4, 4) NOT NULL"),
        ("d_next_o_id", "int NOT NULL"),
        ("d_name", "varchar(10) NOT NULL"),
        ("d_street_1", "varchar(20) NOT NULL"),
        ("d_street_2", "varchar(20) NOT NULL"),
        ("d_city", "varchar(20) NOT NULL"),
        ("d_state", "char(2) NOT NULL"),
        ("d_zip", "char(9) NOT NULL"),
    ],
    constraints: &[
        "FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id) ON DELETE CASCADE",
        "PRIMARY KEY (d_w_id, d_id)",
    ],
};

/// Customers of a district.
pub const CUSTOMER: Table = Table {
    name: "customer",
    columns: &[
        ("c_w_id", "int NOT NULL"),
        ("c_d_id", "int NOT NULL"),
        ("c_id", "int NOT NULL"),
        ("c_discount", "decimal(4, 4) NOT NULL"),
        ("c_credit", "char(2) NOT NULL"),
        ("c_last", "varchar(16) NOT NULL"),
        ("c_first", "varchar(16) NOT NULL"),
        ("c_credit_lim", "decimal(12, 2) NOT NULL"),
        ("c_balance", "decimal(12, 2) NOT NULL"),
        ("c_ytd_payment", "float NOT NULL"),
        ("c_payment_cnt", "int NOT NULL"),
        ("c_delivery_cnt", "int NOT NULL"),
        ("c_street_1", "varchar(20) NOT NULL"),
        ("c_street_2", "varchar(20) NOT NULL"),
        ("c_city", "varchar(20) NOT NULL"),
        ("c_state", "char(2) NOT NULL"),
        ("c_zip", "char(9) NOT NULL"),
        ("c_phone", "char(16) NOT NULL"),
        ("c_since", "timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP"),
        ("c_middle", "char(2) NOT NULL"),
        ("c_data", "varchar(500) NOT NULL"),
    ],
    constraints: &[
        "FOREIGN KEY (c_w_id, c_d_id) REFERENCES district (d_w_id, d_id) ON DELETE CASCADE",
        "PRIMARY KEY (c_w_id, c_d_id, c_id)",
    ],
};

/// Payments.
pub const HISTORY: Table = Table {
    name: "history",
    columns: &[
        ("h_c_id", "int NOT NULL"),
        ("h_c_d_id", "int NOT NULL"),
        ("h_c_w_id", "int NOT NULL"),
        ("h_d_id", "int NOT NULL"),
        ("h_w_id", "int NOT NULL"),
        ("h_date", "timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP"),
        ("h_amount", "decimal(6, 2) NOT NULL"),
        ("h_data", "varchar(24) NOT NULL"),
    ],
    constraints: &[
        "FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer (c_w_id, c_d_id, c_id) \
         ON DELETE CASCADE",
        "FOREIGN KEY (h_w_id, h_d_id) REFERENCES district (d_w_id, d_id) ON DELETE CASCADE",
    ],
};

/// Orders.
pub const OORDER: Table = Table {
    name: "oorder",
    columns: &[
        ("o_w_id", "int NOT NULL"),
        ("o_d_id", "int NOT NULL"),
        ("o_id", "int NOT NULL"),
        ("o_c_id", "int NOT NULL"),
        ("o_carrier_id", "int DEFAULT NULL"),
        ("o_ol_cnt", "decimal(2, 0) NOT NULL"),
        ("o_all_local", "decimal(1, 0) NOT NULL"),
        ("o_entry_d", "timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP"),
    ],
    constraints: &[
        "PRIMARY KEY (o_w_id, o_d_id, o_id)",
        "FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer (c_w_id, c_d_id, c_id) \
         ON DELETE CASCADE",
        "UNIQUE (o_w_id, o_d_id, o_c_id, o_id)",
    ],
};

/// Undelivered orders.
pub const NEW_ORDER: Table = Table {
    name: "new_order",
    columns: &[
        ("no_w_id", "int NOT NULL"),
        ("no_d_id", "int NOT NULL"),
        ("no_o_id", "int NOT NULL"),
    ],
    constraints: &[
        "FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES oorder (o_w_id, o_d_id, o_id) \
         ON DELETE CASCADE",
        "PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
    ],
};

/// Lines of orders.
pub const ORDER_LINE: Table = Table {
    name: "order_line",
    columns: &[
        ("ol_w_id", "int NOT NULL"),
        ("ol_d_id", "int NOT NULL"),
        ("ol_o_id", "int NOT NULL"),
        ("ol_number", "int NOT NULL"),
        ("ol_i_id", "int NOT NULL"),
        ("ol_delivery_d", "timestamp NULL DEFAULT NULL"),
        ("ol_amount", "decimal(6, 2) NOT NULL"),
        ("ol_supply_w_id", "int NOT NULL"),
        ("ol_quantity", "decimal(2, 0) NOT NULL"),
        ("ol_dist_info", "char(24) NOT NULL"),
    ],
    constraints: &[
        "FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES oorder (o_w_id, o_d_id, o_id) \
         ON DELETE CASCADE",
        "FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock (s_w_id, s_i_id) \
         ON DELETE CASCADE",
        "PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_92_columns_and_no_name_twice() {
        let mut names: Vec<&str> = TABLES
            .iter()
            .flat_map(|table| table.columns.iter().map(|column| column.0))
            .collect();
        assert_eq!(names.len(), 92);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 92);
    }

    #[test]
    fn a_table_refers_only_to_those_before_it() {
        for (place, table) in TABLES.iter().enumerate() {
            let ddl = table.ddl();
            let referred = ddl.split("REFERENCES ").skip(1);
            for name in referred.filter_map(|rest| rest.split(' ').next()) {
                assert!(TABLES[..place].iter().any(|one| one.name == name), "{ddl}");
            }
        }
    }
}
