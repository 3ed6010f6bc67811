//! Rules that must be refused, and rules that must not.

use column_value::{EqualityForm, LogicalType};

use crate::{Literal, Mode, Rules, RulesError};

fn problems(text: &str) -> Vec<String> {
    match Rules::from_toml(text) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(RulesError::to_string).collect(),
    }
}

#[track_caller]
fn refused(text: &str, part: &str) {
    let problems = problems(text);
    assert!(
        problems.iter().any(|problem| problem.contains(part)),
        "{text}\nis not refused with {part:?} but {problems:#?}"
    );
}

#[track_caller]
fn accepted(text: &str) {
    assert_eq!(problems(text), Vec::<String>::new(), "{text}");
}

#[test]
fn the_tpcc_examples_are_accepted() {
    for (text, columns) in [
        (
            include_str!("../../../../examples/tpcc-columns/20.toml"),
            19,
        ),
        (
            include_str!("../../../../examples/tpcc-columns/50.toml"),
            46,
        ),
        (
            include_str!("../../../../examples/tpcc-columns/100.toml"),
            92,
        ),
        (
            include_str!("../../../../examples/tpcc-columns/100-compact.toml"),
            92,
        ),
        (
            include_str!("../../../../examples/tpcc-columns/100-groups.toml"),
            92,
        ),
        (
            include_str!("../../../../examples/tpcc-columns/sensitive.toml"),
            19,
        ),
    ] {
        let rules = Rules::from_toml(text).expect("an example is right");
        let count: usize = rules.tables.values().map(|columns| columns.len()).sum();
        assert_eq!(count, columns);
    }
}

#[test]
fn the_compact_tpcc_example_is_the_other_with_compact_keys() {
    let all = Rules::from_toml(include_str!("../../../../examples/tpcc-columns/100.toml"));
    let compact = Rules::from_toml(include_str!(
        "../../../../examples/tpcc-columns/100-compact.toml"
    ));
    let (mut all, compact) = (all.expect("right"), compact.expect("right"));
    for rule in all.tables.values_mut().flat_map(|own| own.values_mut()) {
        if rule.mode == Mode::Equality && rule.logical == LogicalType::Integer {
            rule.equality = Some(EqualityForm::Compact);
        }
    }
    assert_eq!(compact, all);
}

#[test]
fn the_grouped_tpcc_example_is_the_compact_one_with_groups() {
    let compact = Rules::from_toml(include_str!(
        "../../../../examples/tpcc-columns/100-compact.toml"
    ));
    let grouped = Rules::from_toml(include_str!(
        "../../../../examples/tpcc-columns/100-groups.toml"
    ));
    let (compact, mut grouped) = (compact.expect("right"), grouped.expect("right"));
    for rule in grouped.tables.values_mut().flat_map(|own| own.values_mut()) {
        assert_eq!(rule.not_null, rule.group.take().is_some());
        rule.not_null = false;
    }
    assert_eq!(grouped, compact);
}

#[test]
fn the_grouped_tpcc_example_for_mysql_is_the_compact_one_with_groups() {
    let compact = Rules::from_toml(include_str!(
        "../../../../examples/tpcc-columns/mysql/100-compact.toml"
    ));
    let grouped = Rules::from_toml(include_str!(
        "../../../../examples/tpcc-columns/mysql/100-groups.toml"
    ));
    let (compact, mut grouped) = (compact.expect("right"), grouped.expect("right"));
    for rule in grouped.tables.values_mut().flat_map(|own| own.values_mut()) {
        assert_eq!(rule.not_null, rule.group.take().is_some());
        (rule.not_null, rule.pad) = (false, None);
    }
    assert_eq!(grouped, compact);
}

#[test]
fn only_numbers_in_mode_equality_are_compact() {
    let rule = |logical: &str, rest: &str| {
        format!("[columns.t]\na = {{ type = \"{logical}\", equality = \"compact\", {rest} }}")
    };
    for logical in ["smallint", "bigint", "date", "time(3)", "timestamptz"] {
        accepted(&rule(logical, "mode = \"equality\""));
    }
    for logical in ["text", "numeric(4,0)", "uuid", "double precision", "bytea"] {
        refused(
            &rule(logical, "mode = \"equality\""),
            "for integers, dates and times",
        );
    }
    refused(&rule("integer", "mode = \"order\""), "belongs to mode");
    refused(&rule("integer", "mode = \"random\""), "belongs to mode");
    refused(
        &rule(
            "integer",
            "mode = \"equality\", checks = { above = \"a > 0\" }",
        ),
        "no room for the mark",
    );
    refused(
        "[columns.t]\na = { type = \"integer\", mode = \"equality\", domain = \"d\", equality = \
         \"compact\" }\nb = { type = \"integer\", mode = \"equality\", domain = \"d\" }",
        "another form of equality",
    );
}

#[test]
fn other_sections_of_the_file_are_ignored() {
    accepted("[proxy]\nlisten = \"x\"\n[columns.t]\na = { type = \"text\" }");
    accepted("");
}

#[test]
fn misspelt_fields_are_named() {
    refused(
        "[columns.t]\na = { type = \"text\", modus = \"order\" }",
        "modus",
    );
    refused("[columns.t]\na = { type = \"money\" }", "money");
    refused("[columns.t]\na = { type = \"person[]\" }", "person");
    refused(
        "[columns.t]\na = { type = \"text\", mode = \"ordered\" }",
        "ordered",
    );
}

#[test]
fn types_that_are_kept_unread_have_mode_random_only() {
    for logical in ["jsonb", "interval(3)", "inet", "int4range", "text[]"] {
        let rule =
            |mode: &str| format!("[columns.t]\na = {{ type = \"{logical}\", mode = \"{mode}\" }}");
        accepted(&rule("random"));
        refused(&rule("equality"), "different bytes");
        refused(&rule("order"), "no mode \"order\"");
    }
}

#[test]
fn order_needs_a_type_with_an_order() {
    for logical in [
        "boolean",
        "text",
        "varchar(9)",
        "char(9)",
        "bytea",
        "uuid",
        "json",
    ] {
        refused(
            &format!("[columns.t]\na = {{ type = \"{logical}\", mode = \"order\" }}"),
            "has no mode \"order\"",
        );
    }
    for logical in [
        "smallint",
        "bigint",
        "numeric(12,2)",
        "date",
        "timestamptz",
        "real",
    ] {
        accepted(&format!(
            "[columns.t]\na = {{ type = \"{logical}\", mode = \"order\" }}"
        ));
    }
    refused(
        "[columns.t]\na = { type = \"numeric\", mode = \"order\" }",
        "at most 18 digits",
    );
}

#[test]
fn json_has_no_equality() {
    refused(
        "[columns.t]\na = { type = \"json\", mode = \"equality\" }",
        "no equality",
    );
}

#[test]
fn columns_with_few_values_need_accept_leakage() {
    for column in [
        "type = \"boolean\", mode = \"equality\"",
        "type = \"char\", mode = \"equality\"",
        "type = \"varchar(2)\", mode = \"equality\"",
        "type = \"numeric(3,1)\", mode = \"equality\"",
        "type = \"numeric(3,1)\", mode = \"order\"",
        "type = \"integer\", mode = \"order\", bits = 8",
    ] {
        refused(
            &format!("[columns.t]\na = {{ {column} }}"),
            "accept_leakage",
        );
        accepted(&format!(
            "[columns.t]\na = {{ {column}, accept_leakage = true }}"
        ));
    }
    accepted("[columns.t]\na = { type = \"boolean\" }");
}

#[test]
fn bits_belong_to_order_and_fit_the_type() {
    refused(
        "[columns.t]\na = { type = \"integer\", bits = 9 }",
        "belongs to mode",
    );
    for (logical, bits) in [("integer", 32), ("smallint", 16), ("integer", 0)] {
        refused(
            &format!(
                "[columns.t]\na = {{ type = \"{logical}\", mode = \"order\", bits = {bits} }}"
            ),
            "is from 1 to",
        );
    }
    refused(
        "[columns.t]\na = { type = \"real\", mode = \"order\", bits = 9 }",
        "cannot be cut",
    );
    refused(
        "[columns.t]\na = { type = \"date\", mode = \"order\", bits = 16 }",
        "cannot be cut",
    );
}

#[test]
fn a_domain_is_of_one_mode_one_width_one_kind() {
    let domain = |first: &str, second: &str| {
        format!(
            "[columns.t]\na = {{ domain = \"d\", {first} }}\nb = {{ domain = \"d\", {second} }}"
        )
    };
    refused(
        &domain(
            "type = \"integer\", mode = \"equality\"",
            "type = \"integer\", mode = \"order\"",
        ),
        "another mode at t.a",
    );
    refused(
        &domain(
            "type = \"integer\", mode = \"order\", bits = 20",
            "type = \"integer\", mode = \"order\", bits = 24",
        ),
        "other bits at t.a",
    );
    refused(
        &domain(
            "type = \"text\", mode = \"equality\"",
            "type = \"text\", mode = \"equality\", pad = 64",
        ),
        "another pad at t.a",
    );
    accepted(&domain(
        "type = \"text\", mode = \"equality\"",
        "type = \"text\", mode = \"equality\", pad = 16",
    ));
    for (first, second) in [
        ("integer", "text"),
        ("text", "char(9)"),
        ("date", "timestamp"),
        ("timestamp(3)", "timestamptz(3)"),
    ] {
        refused(
            &domain(
                &format!("type = \"{first}\", mode = \"equality\""),
                &format!("type = \"{second}\", mode = \"equality\""),
            ),
            "cannot be compared",
        );
    }
    for (first, second) in [
        ("integer", "bigint"),
        ("text", "varchar(9)"),
        ("char(9)", "char(5)"),
        ("numeric(9,2)", "numeric(12,4)"),
        ("timestamp(3)", "timestamp"),
        ("time(0)", "time(6)"),
    ] {
        accepted(&domain(
            &format!("type = \"{first}\", mode = \"equality\""),
            &format!("type = \"{second}\", mode = \"equality\""),
        ));
    }
    refused(
        &domain(
            "type = \"numeric(9,2)\", mode = \"order\"",
            "type = \"numeric(9,3)\", mode = \"order\"",
        ),
        "cannot be compared",
    );
}

#[test]
fn only_what_has_a_length_is_padded() {
    for (logical, pad) in [
        ("text", "\"none\""),
        ("char(9)", "4096"),
        ("json", "16"),
        ("bytea", "32"),
        ("jsonb", "\"none\""),
    ] {
        accepted(&format!(
            "[columns.t]\na = {{ type = \"{logical}\", pad = {pad} }}"
        ));
    }
    for (logical, pad, problem) in [
        ("integer", "16", "remove `pad`"),
        ("interval", "\"none\"", "remove `pad`"),
        ("text", "24", "a power of two"),
        ("text", "-16", "a power of two"),
        ("text", "8192", "a power of two"),
        ("text", "\"some\"", "a power of two"),
    ] {
        refused(
            &format!("[columns.t]\na = {{ type = \"{logical}\", pad = {pad} }}"),
            problem,
        );
    }
}

#[test]
fn whole_numbers_of_mysql_share_domains_where_they_have_one_form() {
    let domain = |first: &str, second: &str| {
        format!(
            "[columns.t]\na = {{ domain = \"d\", mode = \"equality\", type = \"{first}\" }}\n\
             b = {{ domain = \"d\", mode = \"equality\", type = \"{second}\" }}"
        )
    };
    accepted(&domain("int unsigned", "mediumint"));
    accepted(&domain("smallint unsigned", "bigint"));
    accepted(&domain("bigint unsigned", "bigint unsigned"));
    refused(&domain("bigint unsigned", "bigint"), "cannot be compared");
    refused(
        &domain("int unsigned", "bigint unsigned"),
        "cannot be compared",
    );
    for logical in ["tinyint", "tinyint(1)", "tinyint unsigned"] {
        refused(&domain(logical, "integer"), "few values");
    }
}

#[test]
fn an_order_is_of_numbers_of_one_width() {
    let domain = |first: &str, second: &str, bits: &str| {
        format!(
            "[columns.t]\na = {{ domain = \"d\", mode = \"order\", type = \"{first}\"{bits} }}\n\
             b = {{ domain = \"d\", mode = \"order\", type = \"{second}\"{bits} }}"
        )
    };
    for (first, second) in [
        ("integer", "bigint"),
        ("int unsigned", "integer"),
        ("numeric(6,2)", "numeric(8,2)"),
    ] {
        refused(&domain(first, second, ""), "cannot be compared");
        accepted(&domain(first, second, ", bits = 20"));
    }
    refused(
        &domain("numeric(6,2)", "numeric(6,1)", ", bits = 20"),
        "cannot be compared",
    );
    refused(
        &domain("integer", "numeric(6,0)", ", bits = 20"),
        "cannot be compared",
    );
}

#[test]
fn a_domain_needs_a_comparable_column_and_a_valid_name() {
    refused(
        "[columns.t]\na = { type = \"text\", domain = \"d\" }",
        "compares nothing",
    );
    for name in ["", "a b", "col:x", "ä"] {
        refused(
            &format!(
                "[columns.t]\na = {{ type = \"text\", mode = \"equality\", domain = \"{name}\" }}"
            ),
            "a domain's name",
        );
    }
}

#[test]
fn names_are_those_that_a_table_can_have() {
    refused("[columns.\"\"]\na = { type = \"text\" }", "empty");
    refused(
        "[columns.\"a.b.c\"]\na = { type = \"text\" }",
        "more than one dot",
    );
    refused(
        "[columns.\"pg_catalog.t\"]\na = { type = \"text\" }",
        "belongs to the server",
    );
    refused("[columns.t]\nctid = { type = \"text\" }", "server's own");
    refused(
        &format!("[columns.t]\n{} = {{ type = \"text\" }}", "x".repeat(64)),
        "63 bytes",
    );
    refused(
        "[columns.t]\na = { type = \"text\" }\n[columns.\"public.t\"]\nb = { type = \"text\" }",
        "same table",
    );
    refused("[columns.t]", "no column");
    accepted("[columns.\"app.Order Lines\"]\n\"Name\" = { type = \"text\" }");
}

#[test]
fn defaults_are_constants_of_the_type() {
    let with = |logical: &str, default: &str| {
        format!("[columns.t]\na = {{ type = \"{logical}\", default = \"{default}\" }}")
    };
    for (logical, default) in [
        ("timestamp", "CURRENT_TIMESTAMP"),
        ("date", "current_date"),
        ("integer", "-5"),
        ("numeric(4,2)", "1.25"),
        ("text", "'it''s'"),
        ("boolean", "TRUE"),
        ("text", "NULL"),
        ("integer", "'5'"),
    ] {
        accepted(&with(logical, default));
    }
    refused(&with("integer", "CURRENT_TIMESTAMP"), "is a time");
    refused(&with("text", "5"), "no value of type text");
    refused(&with("integer", "TRUE"), "no value of type integer");
    refused(&with("integer", "'five'"), "no value of type integer");
    refused(&with("smallint", "40000"), "no value of type smallint");
    refused(&with("varchar(3)", "'four'"), "no value of type");
    refused(&with("date", "'2020-02-30'"), "no value of type date");
    accepted(&with("numeric(4,1)", "1.25"));
    accepted(&with("date", "'2020-02-29'"));
    accepted(&with("integer", "nextval('s')"));
    refused(&with("text", "nextval('s')"), "no values of type text");
    for default in ["unquoted", "'a' || 'b'", "inf", "1; DROP TABLE t", "''' "] {
        refused(&with("text", default), "neither a number");
    }
}

#[test]
fn a_default_is_read_as_it_is_written() {
    let read = |text| super::parse_default(text, column_value::LogicalType::Text);
    assert_eq!(read(" 'it''s' "), Ok(Literal::Text("it's".into())));
    assert_eq!(read("''"), Ok(Literal::Text(String::new())));
    assert_eq!(read("null"), Ok(Literal::Null));
}

#[test]
fn no_message_repeats_a_default() {
    let text = "[columns.t]\na = { type = \"text\", default = \"hunter2()\" }";
    assert!(
        problems(text)
            .iter()
            .all(|problem| !problem.contains("hunter2"))
    );
}

#[test]
fn a_rule_is_found_with_and_without_schema() {
    let rules = Rules::from_toml(
        "[columns.t]\na = { type = \"text\" }\n[columns.\"app.u\"]\nb = { type = \"text\" }",
    )
    .expect("right rules");
    assert!(rules.column("public", "t", "a").is_some());
    assert!(rules.column("app", "u", "b").is_some());
    for (schema, table, column) in [
        ("app", "t", "a"),
        ("public", "u", "b"),
        ("public", "t", "b"),
    ] {
        assert!(
            rules.column(schema, table, column).is_none(),
            "{schema}.{table}.{column}"
        );
    }
}

#[test]
fn groups_are_of_columns_that_are_sealed_at_random() {
    accepted(
        "[columns.t]
         a = { type = \"text\", group = \"profile\", not_null = true }
         b = { type = \"integer\", group = \"profile\", default = \"7\" }
         c = { type = \"integer\" }",
    );
    let with = |more: &str| {
        format!(
            "[columns.t]
             a = {{ type = \"text\", group = \"profile\" }}
             b = {{ {more} }}"
        )
    };
    for (more, part) in [
        ("type = \"text\"", "t.a]: is alone in group"),
        (
            "type = \"text\", group = \"other\"",
            "t.b]: is alone in group",
        ),
        ("type = \"text\", group = \"\"", "a group's name"),
        ("type = \"text\", not_null = true", "columns with a group"),
        (
            "type = \"text\", group = \"profile\", mode = \"equality\"",
            "mode \"random\"",
        ),
        ("type = \"jsonb\", group = \"profile\"", "kept unread"),
        (
            "type = \"text\", group = \"profile\", checks = { c = \"b <> ''\" }",
            "check constraints",
        ),
        (
            "type = \"integer\", group = \"profile\", default = \"serial\"",
            "sequence",
        ),
    ] {
        refused(&with(more), part);
    }
}
