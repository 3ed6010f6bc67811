//! The sets of rules of the engines behind `strongroom proxy`.

/// A set of rules, and whether tables get the guard that a proxy adds by default.
pub(crate) struct Variant {
    /// Suffix of the engine's name after the family.
    pub suffix: &'static str,
    pub rules: Option<&'static str>,
    pub guards: bool,
    /// What clients and server speak.
    pub protocol: &'static str,
    /// What the rules protect, in words.
    pub words: &'static str,
}

const ALL_COLUMNS: &str = include_str!("../../../../examples/tpcc-columns/100.toml");

pub(crate) const VARIANTS: [Variant; 8] = [
    Variant {
        suffix: "",
        rules: None,
        guards: true,
        protocol: "postgres",
        words: "without rules",
    },
    Variant {
        suffix: "-20",
        rules: Some(include_str!("../../../../examples/tpcc-columns/20.toml")),
        guards: true,
        protocol: "postgres",
        words: "20 % of TPC-C's columns encrypted: keys and ids first",
    },
    Variant {
        suffix: "-50",
        rules: Some(include_str!("../../../../examples/tpcc-columns/50.toml")),
        guards: true,
        protocol: "postgres",
        words: "50 % of TPC-C's columns encrypted",
    },
    Variant {
        suffix: "-100",
        rules: Some(ALL_COLUMNS),
        guards: true,
        protocol: "postgres",
        words: "all of TPC-C's columns encrypted",
    },
    Variant {
        suffix: "-100-unguarded",
        rules: Some(ALL_COLUMNS),
        guards: false,
        protocol: "postgres",
        words: "all of TPC-C's columns encrypted, tables without a guard",
    },
    Variant {
        suffix: "-100-compact",
        rules: Some(include_str!(
            "../../../../examples/tpcc-columns/100-compact.toml"
        )),
        guards: true,
        protocol: "postgres",
        words: "all of TPC-C's columns encrypted, keys and ids in compact equality",
    },
    Variant {
        suffix: "-100-groups",
        rules: Some(include_str!(
            "../../../../examples/tpcc-columns/100-groups.toml"
        )),
        guards: true,
        protocol: "postgres",
        words: "all of TPC-C's columns encrypted, keys and ids in compact equality, columns that \
                are written once sealed together",
    },
    Variant {
        suffix: "-20-sensitive",
        rules: Some(include_str!(
            "../../../../examples/tpcc-columns/sensitive.toml"
        )),
        guards: true,
        protocol: "postgres",
        words: "what TPC-C knows of a customer encrypted, 20 % of the columns",
    },
];

/// The same before MariaDB and MySQL.
pub(crate) const VARIANTS_OF_MYSQL: [Variant; 6] = [
    Variant {
        suffix: "-proxy",
        rules: None,
        guards: true,
        protocol: "mysql",
        words: "without rules",
    },
    Variant {
        suffix: "-20",
        rules: Some(include_str!(
            "../../../../examples/tpcc-columns/mysql/20.toml"
        )),
        guards: true,
        protocol: "mysql",
        words: "20 % of TPC-C's columns encrypted: keys and ids first",
    },
    Variant {
        suffix: "-50",
        rules: Some(include_str!(
            "../../../../examples/tpcc-columns/mysql/50.toml"
        )),
        guards: true,
        protocol: "mysql",
        words: "50 % of TPC-C's columns encrypted",
    },
    Variant {
        suffix: "-100",
        rules: Some(include_str!(
            "../../../../examples/tpcc-columns/mysql/100.toml"
        )),
        guards: true,
        protocol: "mysql",
        words: "all of TPC-C's columns encrypted",
    },
    Variant {
        suffix: "-100-compact",
        rules: Some(include_str!(
            "../../../../examples/tpcc-columns/mysql/100-compact.toml"
        )),
        guards: true,
        protocol: "mysql",
        words: "all of TPC-C's columns encrypted, keys and ids in compact equality",
    },
    Variant {
        suffix: "-100-groups",
        rules: Some(include_str!(
            "../../../../examples/tpcc-columns/mysql/100-groups.toml"
        )),
        guards: true,
        protocol: "mysql",
        words: "all of TPC-C's columns encrypted, keys and ids in compact equality, columns that \
                are written together sealed together",
    },
];
