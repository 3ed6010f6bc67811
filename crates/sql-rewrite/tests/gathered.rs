//! Aggregates of protected columns within another query: the server gathers the values, the proxy
//! aggregates them, and any other use is refused.

use crate::common::{assert_refused, assert_starts};

#[test]
fn an_aggregate_of_an_inner_query_is_gathered() {
    assert_starts(
        "SELECT born FROM (SELECT born, sum(salary) AS total FROM person GROUP BY born) t \
         WHERE total > 5",
        "fetch: SELECT total, born FROM (SELECT born, pg_catalog.array_agg(salary) AS total \
         FROM \"public\".person GROUP BY born) t\n  outputs: Sum of salary, born\nfilter: (#0 > ",
    );
    assert_starts(
        "SELECT count(*) FROM (SELECT id, (SELECT sum(salary) FROM person o WHERE o.born = p.born) \
         FROM person p) t WHERE sum > 5",
        "fetch: SELECT sum FROM (SELECT id, (SELECT pg_catalog.array_agg(salary) AS \"sum\" \
         FROM \"public\".person o WHERE o.born = p.born) AS \"sum\" FROM \"public\".person p) t\n",
    );
}

#[test]
fn other_uses_of_gathered_values_are_refused() {
    let totals = "(SELECT born, sum(salary) AS total FROM person GROUP BY born) t";
    for query in [
        "SELECT name FROM person WHERE salary IN (SELECT total FROM {t})",
        "SELECT amount FROM plain WHERE amount = (SELECT total FROM {t} LIMIT 1)",
        "SELECT amount FROM plain WHERE amount > ALL (SELECT total FROM {t})",
        "SELECT x FROM (SELECT DISTINCT total AS x FROM {t}) u",
        "SELECT x FROM (SELECT total AS x FROM {t} ORDER BY total LIMIT 1) u",
        "SELECT x FROM (SELECT total AS x FROM {t} ORDER BY 1) u",
        "SELECT x FROM (SELECT total AS x, count(*) FROM {t} GROUP BY total) u",
        "SELECT x FROM (SELECT total AS x FROM {t} WHERE total > 1) u",
        "SELECT x FROM (SELECT total + 1 AS x FROM {t}) u",
        "SELECT x FROM (SELECT sum(total) AS x FROM {t}) u",
        "SELECT x FROM (SELECT count(DISTINCT total) AS x FROM {t}) u",
        "SELECT x FROM (SELECT total AS x FROM {t} UNION SELECT total FROM {t}) u",
        "SELECT x FROM (SELECT total AS x FROM {t} UNION ALL SELECT amount FROM plain) u",
        "SELECT x FROM (SELECT row_number() OVER (ORDER BY total) AS x FROM {t}) u",
        "SELECT x FROM (SELECT CASE WHEN true THEN total END AS x FROM {t}) u",
        "SELECT x FROM (SELECT t AS x FROM {t}) u",
        "SELECT x FROM (SELECT to_json(t) AS x FROM {t}) u",
        "SELECT 1 FROM plain JOIN (SELECT sum(salary) AS amount FROM person) t USING (amount)",
        "SELECT plain.id FROM plain NATURAL JOIN (SELECT sum(salary) AS amount FROM person) t",
        "SELECT plain.id FROM plain LEFT JOIN {t} ON amount = total",
        "SELECT x FROM (SELECT total AS x FROM {t}, LATERAL (SELECT total + 1) u) v",
        "INSERT INTO plain (amount) SELECT total FROM {t}",
        "UPDATE plain SET amount = (SELECT total FROM {t} LIMIT 1)",
        "DELETE FROM plain WHERE amount = (SELECT sum(salary) FROM person)",
        "COPY (SELECT total FROM {t}) TO STDOUT",
        "CREATE VIEW v AS SELECT total FROM {t}",
        "WITH RECURSIVE r AS (SELECT total FROM {t} UNION ALL SELECT total FROM r) \
         SELECT total FROM r",
    ] {
        assert_refused(&query.replace("{t}", totals));
    }
}

#[test]
fn only_plain_aggregates_of_protected_columns_are_gathered() {
    for query in [
        "SELECT x FROM (SELECT sum(DISTINCT salary) AS x FROM person) t WHERE x > 1",
        "SELECT x FROM (SELECT sum(salary) OVER () AS x FROM person) t WHERE x > 1",
        "SELECT x FROM (SELECT sum(salary * 2) AS x FROM person) t WHERE x > 1",
        "SELECT x FROM (SELECT sum(name) AS x FROM person) t WHERE x > 1",
        "SELECT x FROM (SELECT sum(salary) + 1 AS x FROM person) t WHERE x > 1",
        "SELECT x FROM (SELECT other.sum(salary) AS x FROM person) t WHERE x > 1",
        "SELECT x FROM (SELECT stddev(salary) AS x FROM person) t WHERE x > 1",
        // An aggregate over columns of the query around it belongs to that.
        "SELECT x FROM (SELECT (SELECT sum(p.salary)) AS x FROM person p) t WHERE x > 1",
    ] {
        assert_refused(query);
    }
}

#[test]
fn the_order_of_a_joined_derived_table_is_dropped() {
    assert_starts(
        "SELECT n FROM visit v JOIN (SELECT id, count(*) AS n FROM person GROUP BY id ORDER BY id) \
         t ON t.id = v.person_id",
        "one: SELECT n FROM \"public\".visit v JOIN (SELECT id, count(*) AS n FROM \
         \"public\".person GROUP BY id) t ON",
    );
    for query in [
        "SELECT n FROM (SELECT id, count(*) AS n FROM person GROUP BY id ORDER BY id) t",
        "SELECT v.note FROM visit v, (SELECT id FROM person ORDER BY id LIMIT 1) t",
        "SELECT 1 FROM visit, (SELECT DISTINCT ON (born) id FROM person ORDER BY born, id) t",
    ] {
        assert_refused(query);
    }
}

#[test]
fn nested_queries_are_analysed_once() {
    let mut value = "sum(salary)".to_owned();
    let mut from = "(SELECT id FROM person ORDER BY id) t0".to_owned();
    for level in 1..20 {
        if level < 15 {
            value = format!("(SELECT {value} FROM person)");
        }
        from = format!(
            "(SELECT t{}.id FROM plain, {from} ORDER BY id) t{level}",
            level - 1
        );
    }
    assert_starts(
        &format!("SELECT x FROM (SELECT {value} AS x FROM person) t WHERE x > 1"),
        "fetch: ",
    );
    let plain = format!("SELECT 1 FROM plain, {from}");
    assert_starts(&plain, "one: ");
}
