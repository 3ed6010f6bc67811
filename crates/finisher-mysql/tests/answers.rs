//! Answers, and that nothing of a question is left for the next one.

use std::time::Duration;

use finisher_mysql::Finishers;
use session_mysql::finisher::{FinisherAnswer, FinisherKind, FinisherStatement, is_mariadb};
use wire_mysql::answer::ErrorPacket;
use wire_mysql::column::{Column, flag};
use wire_mysql::row::TextRow;

use crate::common::{each, options, question, rows};

const PERSON: [&str; 2] = [
    "CREATE TEMPORARY TABLE shop.person (id bigint unsigned NOT NULL PRIMARY KEY, name varchar(40) \
     COLLATE utf8mb4_general_ci)",
    "INSERT INTO shop.person VALUES ('1', _utf8mb4 x'4cc3a96f'), ('18446744073709551615', NULL)",
];

#[tokio::test]
async fn each_product_answers_and_forgets() {
    for (finishers, kind) in each(&options()) {
        a_text_is_answered_over_the_tables_of_its_question_alone(&finishers, kind).await;
        warnings_come_with_the_rows_and_errors_as_the_server_says_them(&finishers, kind).await;
        prepared_texts_are_described_and_executed(&finishers, kind).await;
        questions_can_do_nothing_but_compute(&finishers, kind).await;
        finishers.end().await;
    }
}

async fn a_text_is_answered_over_the_tables_of_its_question_alone(
    finishers: &Finishers,
    kind: FinisherKind,
) {
    // MySQL reads no temporary table twice.
    let query = match is_mariadb(kind.series) {
        true => {
            "SELECT p.id, q.name FROM person p LEFT JOIN shop.person q ON q.id = p.id AND q.name \
             LIKE 'LEO' ORDER BY p.id"
        }
        false => {
            "SELECT p.id, shop.p.name FROM shop.person p WHERE \
             name LIKE 'LEO' OR name IS NULL ORDER BY id"
        }
    };
    let request = question(kind, &PERSON, query);
    let answer = rows(finishers, request.clone()).await;
    assert_eq!(answer, ["1|Léo", "18446744073709551615|-"]);
    let FinisherAnswer::Rows(answer) = finishers.ask(request).await else {
        panic!("no rows");
    };
    let id = Column::read(&answer.columns[0]).expect("a definition");
    assert_eq!(
        (id.schema, id.table, id.original_table),
        (&b"shop"[..], &b"p"[..], &b"person"[..])
    );
    let wanted = flag::NOT_NULL | flag::PRI_KEY | flag::UNSIGNED;
    assert_eq!(id.flags & wanted, wanted);
    // The tables, settings and variables of a question are gone with it.
    let gone = question(kind, &[], "SELECT * FROM person");
    let FinisherAnswer::Refused(error) = finishers.ask(gone).await else {
        panic!("there is a table");
    };
    // Who may read nothing but temporary tables is not told whether there is another.
    assert_eq!(ErrorPacket::read(&error).expect("an error").code, 1142);
    let setting = question(kind, &[], "SELECT @@sql_mode, @@time_zone, @x");
    assert_eq!(
        rows(finishers, setting).await,
        ["STRICT_TRANS_TABLES|+00:00|-"]
    );
}

async fn warnings_come_with_the_rows_and_errors_as_the_server_says_them(
    finishers: &Finishers,
    kind: FinisherKind,
) {
    let request = question(kind, &[], "SELECT CAST('12x' AS SIGNED)");
    let FinisherAnswer::Rows(answer) = finishers.ask(request).await else {
        panic!("no rows");
    };
    assert_eq!((answer.warning_count, answer.warnings.len()), (1, 1));
    let warning = TextRow::read(&answer.warnings[0], 3).expect("a row");
    let texts: Vec<_> = warning.iter().flatten().collect();
    assert_eq!(texts[1], b"1292");
    let request = question(kind, &[], "SELECT (SELECT 1 UNION SELECT 2)");
    let FinisherAnswer::Refused(error) = finishers.ask(request).await else {
        panic!("an answer");
    };
    assert_eq!(ErrorPacket::read(&error).expect("an error").code, 1242);
    let mut request = question(kind, &PERSON, "SELECT REPEAT('x', 1000) FROM person");
    request.answer_size_max = 1500;
    let FinisherAnswer::Failed(error) = finishers.ask(request).await else {
        panic!("an answer");
    };
    assert!(error.message.contains("1500 bytes"), "{error:?}");
}

async fn prepared_texts_are_described_and_executed(finishers: &Finishers, kind: FinisherKind) {
    let text = b"SELECT ? + 1 AS n FROM person WHERE id = 1".to_vec();
    let mut request = question(kind, &PERSON, "");
    request.statement = FinisherStatement::Described(text.clone().into());
    let FinisherAnswer::Described(definitions) = finishers.ask(request.clone()).await else {
        panic!("no definitions");
    };
    assert_eq!(
        (definitions.parameters.len(), definitions.columns.len()),
        (1, 1)
    );
    // COM_STMT_EXECUTE of no statement, with the parameter 41 as a LONGLONG.
    let mut command = vec![0x17, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0];
    command.extend_from_slice(&41_u64.to_le_bytes());
    request.statement = FinisherStatement::Executed {
        text: text.into(),
        command: command.into(),
    };
    let FinisherAnswer::Rows(answer) = finishers.ask(request).await else {
        panic!("no rows");
    };
    assert_eq!(*answer.rows[0], [0, 0, 42, 0, 0, 0, 0, 0, 0, 0]);
}

async fn questions_can_do_nothing_but_compute(finishers: &Finishers, kind: FinisherKind) {
    for (query, code) in [
        ("SELECT 1 INTO OUTFILE '/tmp/strongroom'", 1045),
        ("SELECT * FROM mysql.global_priv", 1142),
        ("CREATE TABLE shop.kept (a int)", 1142),
        ("SET GLOBAL general_log = 1", 1227),
        ("CREATE USER somebody", 1227),
        ("DROP DATABASE shop", 1044),
    ] {
        let FinisherAnswer::Refused(error) = finishers.ask(question(kind, &PERSON, query)).await
        else {
            panic!("{query} is answered");
        };
        let found = ErrorPacket::read(&error).expect("an error").code;
        assert!(found == code || found == 1227, "{query}: {found}");
    }
    let file = question(kind, &[], "SELECT LOAD_FILE('/etc/passwd')");
    assert_eq!(rows(finishers, file).await, ["-"]);
    // Those who ask at the same time see nothing of each other.
    let slow = question(kind, &PERSON, "SELECT SLEEP(2), 'secret'");
    let look = "SELECT COUNT(*), SUM(INFO LIKE '%secr%') FROM information_schema.PROCESSLIST";
    let (slow, seen) = tokio::join!(rows(finishers, slow), async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        rows(finishers, question(kind, &PERSON, look)).await
    });
    // The one that is seen is this question itself.
    assert_eq!(
        (&slow[..], &seen[..]),
        (&["0|secret".to_owned()][..], &["1|1".to_owned()][..])
    );
}
