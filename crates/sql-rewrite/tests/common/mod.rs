//! Schemas for tests, from few words.

use std::collections::BTreeMap;

use column_value::LogicalType;
use sql_plan::{ColumnId, ColumnRule, Plan, Refusal, Rules};
use sql_rewrite::{
    CatalogueFacts, Column, ProtectedColumn, RelationKind, Schema, SealedForm, Table, plan,
};

/// TPC-C: table, columns in their order, unique keys.
const TPCC: &[(&str, &str, &[&str])] = &[
    (
        "warehouse",
        "w_id w_ytd w_tax w_name w_street_1 w_street_2 w_city w_state w_zip",
        &["w_id"],
    ),
    ("item", "i_id i_name i_price i_data i_im_id", &["i_id"]),
    (
        "stock",
        "s_w_id s_i_id s_quantity s_ytd s_order_cnt s_remote_cnt s_data s_dist_01 s_dist_02 \
         s_dist_03 s_dist_04 s_dist_05 s_dist_06 s_dist_07 s_dist_08 s_dist_09 s_dist_10",
        &["s_w_id s_i_id"],
    ),
    (
        "district",
        "d_w_id d_id d_ytd d_tax d_next_o_id d_name d_street_1 d_street_2 d_city d_state d_zip",
        &["d_w_id d_id"],
    ),
    (
        "customer",
        "c_w_id c_d_id c_id c_discount c_credit c_last c_first c_credit_lim c_balance \
         c_ytd_payment c_payment_cnt c_delivery_cnt c_street_1 c_street_2 c_city c_state c_zip \
         c_phone c_since c_middle c_data",
        &["c_w_id c_d_id c_id"],
    ),
    (
        "history",
        "h_c_id h_c_d_id h_c_w_id h_d_id h_w_id h_date h_amount h_data",
        &[],
    ),
    (
        "oorder",
        "o_w_id o_d_id o_id o_c_id o_carrier_id o_ol_cnt o_all_local o_entry_d",
        &["o_w_id o_d_id o_id", "o_w_id o_d_id o_c_id o_id"],
    ),
    (
        "new_order",
        "no_w_id no_d_id no_o_id",
        &["no_w_id no_d_id no_o_id"],
    ),
    (
        "order_line",
        "ol_w_id ol_d_id ol_o_id ol_number ol_i_id ol_delivery_d ol_amount ol_supply_w_id \
         ol_quantity ol_dist_info",
        &["ol_w_id ol_d_id ol_o_id ol_number"],
    ),
];

#[derive(serde::Deserialize)]
struct Configuration {
    columns: Rules,
}

/// TPC-C under the rules for all of its columns.
pub fn tpcc() -> Schema {
    let text = include_str!("../../../../examples/tpcc-columns/100.toml");
    let configuration: Configuration = toml::from_str(text).expect("rules");
    build("public", &configuration.columns, TPCC)
}

/// Tables for everything else: `person` has protected columns of each mode, `plain` none; there is
/// another `person` in the schema `other`.
pub fn people() -> Schema {
    let rules = r#"
        [person]
        id = { type = "integer", mode = "equality", domain = "person" }
        name = { type = "varchar(20)" }
        mail = { type = "text", mode = "equality" }
        born = { type = "date", mode = "order" }
        salary = { type = "numeric(10,2)" }
        visits = { type = "integer", default = "0" }
        [visit]
        person_id = { type = "integer", mode = "equality", domain = "person" }
        note = { type = "text" }
        [document]
        content = { type = "json" }
    "#;
    let rules: Rules = toml::from_str(rules).expect("rules");
    let mut schema = build(
        "public",
        &rules,
        &[
            (
                "person",
                "id name mail born salary visits active",
                &["id", "mail"],
            ),
            ("visit", "visit_id person_id note at", &["visit_id"]),
            ("plain", "id name amount", &["id"]),
            ("document", "document_id content", &["document_id"]),
        ],
    );
    let other = build(
        "other",
        &Rules::default(),
        &[("person", "id name", &["id"])],
    );
    let others = other.tables.iter();
    let others = others.map(|(name, table)| (name.clone(), table.clone()));
    schema.tables.extend(others);
    schema
}

/// A schema of tables: name, columns in their order, unique keys.
pub fn build(name: &str, rules: &Rules, tables: &[(&str, &str, &[&str])]) -> Schema {
    let mut schema = Schema {
        search_path: vec!["public".to_owned()],
        catalogue: CatalogueFacts::default().into(),
        ..Schema::default()
    };
    let none = BTreeMap::new();
    for (number, (table, columns, keys)) in tables.iter().enumerate() {
        let rules = rules.tables.get(*table).unwrap_or(&none);
        let names: Vec<&str> = columns.split_whitespace().collect();
        let places = |key: &&str| {
            let place = |name| names.iter().position(|own| *own == name).expect("a column");
            key.split_whitespace().map(place).collect()
        };
        let columns = (1..).zip(&names).map(|(place, column)| Column {
            name: (*column).to_owned(),
            written: None,
            number: place,
            not_null: false,
            has_default: false,
            is_generated: false,
            protected: rules
                .get(*column)
                .map(|rule| protect(&mut schema, (name, table, column), rule)),
            physical: Some(LogicalType::Integer),
        });
        let columns = columns.collect();
        let made = Table {
            schema: name.to_owned(),
            name: (*table).to_owned(),
            oid: 16384 + u32::try_from(number).expect("few tables"),
            kind: RelationKind::Table,
            columns,
            unique_keys: keys.iter().map(places).collect(),
            has_primary_key: !keys.is_empty(),
            opaque: false,
            has_triggers: false,
            has_column_privileges: false,
            rows: sql_rewrite::RowRules::default(),
        };
        schema
            .tables
            .insert((name.to_owned(), (*table).to_owned()), made);
    }
    schema
}

fn protect(
    schema: &mut Schema,
    (name, table, column): (&str, &str, &str),
    rule: &ColumnRule,
) -> ColumnId {
    let id = ColumnId(u32::try_from(schema.protected.len()).expect("few columns"));
    let default = rule.default.as_ref().map(|text| match text.as_str() {
        "CURRENT_TIMESTAMP" => sql_plan::Literal::TransactionTime,
        number => sql_plan::Literal::Number(number.to_owned()),
    });
    let own = format!("column:{name}.{table}.{column}");
    schema.protected.push(ProtectedColumn {
        id,
        schema: name.to_owned(),
        table: table.to_owned(),
        column: column.to_owned(),
        logical: rule.logical,
        mode: rule.mode,
        domain: rule.domain.clone().unwrap_or(own),
        form: SealedForm::of(rule),
        default,
        draws: None,
        not_null: false,
        checks: Default::default(),
    });
    id
}

/// The plan of a single statement.
pub fn plan_one(text: &str, schema: &Schema) -> Result<Plan, Refusal> {
    let planned = plan(text, schema);
    if let Err(refusal) = &planned {
        let message = &refusal.message;
        assert!(
            !sql_rewrite::is_of_second_proof(message),
            "{text}: {message}"
        );
    }
    let mut planned = planned?;
    assert_eq!(planned.len(), 1, "{text}");
    Ok(planned.remove(0).plan)
}

/// The plan of a single statement as lines.
pub fn describe(text: &str, schema: &Schema) -> String {
    match plan_one(text, schema) {
        Ok(plan) => sql_rewrite::describe(&plan, schema),
        Err(refusal) => format!("refused {}: {}\n", refusal.sqlstate, refusal.message),
    }
}

/// What is done with a statement over [`people`].
#[track_caller]
pub fn assert_plan(statement: &str, expected: &str) {
    assert_eq!(
        describe(statement, &people()).trim_end(),
        expected.trim(),
        "{statement}"
    );
}

#[track_caller]
pub fn assert_refused(statement: &str) {
    assert_starts(statement, "refused");
}

#[track_caller]
pub fn assert_starts(statement: &str, start: &str) {
    let plan = describe(statement, &people());
    assert!(plan.starts_with(start), "{statement}\n{plan}");
}
