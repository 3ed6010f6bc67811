//! What is read of the answers of servers.

use super::*;

#[test]
fn types_of_the_server_are_those_of_rules() {
    for (declared, wanted) in [
        ("bigint(20)", Some(LogicalType::BigInt)),
        ("int", Some(LogicalType::Integer)),
        ("tinyint(1)", Some(LogicalType::Whole(WholeType::Flag))),
        (
            "int(10) unsigned",
            Some(LogicalType::Whole(WholeType::UnsignedInteger)),
        ),
        (
            "bigint unsigned",
            Some(LogicalType::Whole(WholeType::UnsignedBig)),
        ),
        ("tinyint(1) unsigned", None),
        ("year(4)", Some(LogicalType::Whole(WholeType::Year))),
        ("year", Some(LogicalType::Whole(WholeType::Year))),
        ("year(2)", None),
        ("decimal(10,2)", Some(LogicalType::Numeric(Some((10, 2))))),
        ("decimal(65,30)", Some(LogicalType::Numeric(Some((65, 30))))),
        ("decimal(40,31)", None),
        ("varchar(20)", Some(LogicalType::Varchar(Some(20)))),
        ("LONGTEXT", Some(LogicalType::Text)),
        ("datetime", Some(LogicalType::Timestamp(Some(0)))),
        ("datetime(6)", Some(LogicalType::Timestamp(Some(6)))),
        ("timestamp(3)", Some(LogicalType::TimestampTz(Some(3)))),
        ("enum('b','A')", "enum('b','A')".parse().ok()),
        ("enum('ä')", None),
        ("set('b','A')", "set('b','A')".parse().ok()),
        ("set('a''b')", None),
        ("bit(9)", Some(LogicalType::Bits(9))),
        ("time(3)", Some(LogicalType::SignedTime(3))),
        ("float(7,2)", None),
        ("varbinary(8)", None),
    ] {
        assert_eq!(logical_of(declared), wanted, "{declared}");
    }
}

#[test]
fn columns_are_found_in_expressions_as_words() {
    assert!(mentions("`born` > '2000-01-01'", "born"));
    assert!(mentions("SET NEW.Born = 1", "born"));
    assert!(!mentions("reborn > unborn", "born"));
}
