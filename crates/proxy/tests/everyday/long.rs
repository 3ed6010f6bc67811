//! Statements so long or so deep that they meet a limit.

use super::{Way, run, simple, start};

#[test]
fn long_lists_are_answered_or_refused_and_the_session_goes_on() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let list = |count: u32| {
        let numbers: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
        numbers.join(", ")
    };
    for column in ["id", "score"] {
        let text = format!(
            "SELECT count(*) FROM account WHERE {column} IN ({})",
            list(10_000)
        );
        let simple = simple(&mut client, &text).expect("answered").rows;
        let count: i64 = client.query_one(&text, &[]).expect("answered").get(0);
        assert_eq!(simple, [[Some(count.to_string())]]);
        assert_eq!(count, if column == "id" { 5 } else { 3 });
        let numbers: Vec<i32> = (1..=100_000).collect();
        let text = format!("SELECT count(*) FROM account WHERE {column} = ANY($1)");
        let by_array: i64 = client
            .query_one(&text, &[&numbers])
            .expect("answered")
            .get(0);
        assert_eq!(by_array, count);
        let numbers: Vec<i32> = (1..=100_001).collect();
        let error = client.query_one(&text, &[&numbers]).expect_err("too many");
        assert_eq!(error.code().map(|code| code.code()), Some("54000"));
    }
    let text = format!("SELECT id FROM account WHERE id IN ({})", list(70_000));
    assert_eq!(simple(&mut client, &text).expect("answered").rows.len(), 5);
    let error = client
        .query(&text, &[])
        .expect_err("more than Bind can carry");
    assert_eq!(error.code().map(|code| code.code()), Some("54000"));
    client.batch_execute("SELECT 1").expect("the session lives");
}

#[test]
fn deep_expressions_are_answered_or_refused_and_never_too_deep_for_the_stack() {
    let Some(setup) = start() else { return };
    let mut client = setup.connect();
    let mut run = |condition: String| {
        let answer = run(
            &mut client,
            &format!("SELECT count(*) FROM account WHERE {condition}"),
            &[],
            Way::Simple,
        );
        answer.map(|outcome| outcome.rows).map_err(|(code, _)| code)
    };
    let five = Ok(vec![vec![Some("5".to_owned())]]);
    for column in ["plain", "id", "score"] {
        let is = format!("({column} IS NULL OR {column} < 100)").replace("id < ", "id <> ");
        for (deep, operator) in [("AND", "AND"), ("OR", "OR")] {
            let chain = |count: usize| vec![is.as_str(); count].join(&format!(" {operator} "));
            assert_eq!(run(chain(300)), five, "{column} {deep}");
            assert_eq!(
                run(chain(10_000)),
                Err("54001".to_owned()),
                "{column} {deep}"
            );
        }
        let nested = |count: usize| format!("{}{is}{}", "(".repeat(count), ")".repeat(count));
        assert_eq!(run(nested(40)), five, "{column}");
        assert_eq!(run(nested(10_000)), Err("54001".to_owned()), "{column}");
        let negated = |count: usize| format!("{}{is}", "NOT ".repeat(count));
        assert_eq!(run(negated(40)), five, "{column}");
        assert_eq!(run(negated(10_000)), Err("54001".to_owned()), "{column}");
        let sum = |count: usize| format!("{} IS NOT NULL OR TRUE", vec![column; count].join(" + "));
        if column == "score" {
            assert_eq!(run(sum(450)), Err("54001".to_owned()));
        }
        if column != "id" {
            assert_eq!(run(sum(60)), five, "{column}");
        }
        assert_eq!(run(sum(10_000)), Err("54001".to_owned()), "{column}");
    }
    let rows: Vec<String> = (0..10_000).map(|number| format!("({number}, 5)")).collect();
    let one = Ok(vec![vec![Some("2".to_owned())]]);
    assert_eq!(run(format!("(id, score) IN ({})", rows.join(", "))), one);
}
