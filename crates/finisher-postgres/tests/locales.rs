//! Texts are sorted as the client's server sorts them.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use finisher_postgres::Finishers;
use session_postgres::finisher::{FinisherAnswer, FinisherKind};
use sqlstate::SqlState;

use crate::common::{failure, finishers, kind, options, place, question, rows};

const SORTED: &str = "SELECT string_agg(a, '' ORDER BY a) FROM unnest($1::text[]) AS t(a)";
const LETTERS: &[&str] = &["{z,ä,B,a}"];

#[tokio::test]
async fn a_locale_that_is_not_installed_is_named() {
    let Some(finishers) = finishers() else {
        return;
    };
    let kind = FinisherKind {
        collate: "xx_YY.UTF-8".to_owned(),
        ctype: "xx_YY.UTF-8".to_owned(),
        ..kind(&finishers)
    };
    // The second one gets what is known of the first.
    for _ in 0..2 {
        let error = failure(&finishers, question(&kind, "SELECT 1", &[])).await;
        assert_eq!(error.sqlstate, SqlState::FEATURE_NOT_SUPPORTED);
        let hint = error.hint.expect("a hint");
        assert!(hint.contains("xx_YY.UTF-8"), "{hint}");
    }
    let other = FinisherKind {
        locale_provider: "z".to_owned(),
        ..kind
    };
    let error = failure(&finishers, question(&other, "SELECT 1", &[])).await;
    assert_eq!(error.sqlstate, SqlState::FEATURE_NOT_SUPPORTED);
    assert_eq!(finishers.collation_version(&Arc::new(other)).await, None);
}

#[tokio::test]
async fn each_locale_sorts_by_its_own_rules() {
    let Some(mut options) = options() else {
        return;
    };
    let locales = place();
    if !compile(locales.path()) {
        return;
    }
    options.locales = Some(locales.path().to_owned());
    let finishers = Finishers::new(options);
    let plain = kind(&finishers);
    let german = FinisherKind {
        collate: "de_DE.UTF-8".to_owned(),
        ctype: "de_DE.UTF-8".to_owned(),
        ..plain.clone()
    };
    for _ in 0..2 {
        let sorted = rows(&finishers, question(&plain, SORTED, LETTERS)).await;
        assert_eq!(sorted, ["Bazä"]);
        let sorted = rows(&finishers, question(&german, SORTED, LETTERS)).await;
        assert_eq!(sorted, ["aäBz"]);
    }
    assert_eq!(finishers.collation_version(&Arc::new(plain)).await, None);
    let version = finishers.collation_version(&Arc::new(german)).await;
    assert!(version.is_some());
}

#[tokio::test]
async fn icu_sorts_by_its_own_rules() {
    let Some(finishers) = finishers() else {
        return;
    };
    let kind = FinisherKind {
        locale_provider: "i".to_owned(),
        icu_locale: "de".to_owned(),
        ..kind(&finishers)
    };
    let first = finishers.ask(question(&kind, "SELECT 1", &[])).await;
    if let FinisherAnswer::Failed(error) = first {
        // An old version, or one that was built without ICU.
        assert_eq!(error.sqlstate, SqlState::FEATURE_NOT_SUPPORTED);
        return;
    }
    let sorted = rows(&finishers, question(&kind, SORTED, LETTERS)).await;
    assert_eq!(sorted, ["aäBz"]);
    let version = finishers.collation_version(&Arc::new(kind)).await;
    assert!(version.is_some());
}

/// Compiles a locale, where the system has its source.
fn compile(folder: &Path) -> bool {
    let compiled = Command::new("localedef")
        .args(["--no-archive", "-i", "de_DE", "-f", "UTF-8"])
        .arg(folder.join("de_DE.UTF-8"))
        .output();
    compiled.is_ok_and(|compiled| compiled.status.success())
}

/// Whether a query depends on the order of texts by the locale.
const QUERIES: &[(bool, &str)] = &[
    (true, "SELECT a FROM t ORDER BY a"),
    (true, "SELECT string_agg(a, '' ORDER BY a) FROM t"),
    (true, "SELECT a FROM t WHERE a < 'b'"),
    (true, "SELECT a FROM t WHERE a < ANY (ARRAY['b', 'c'])"),
    (true, "SELECT max(a) FROM t"),
    (true, "SELECT min(a) OVER () FROM t"),
    (true, "SELECT greatest(a, 'b') FROM t"),
    (true, "SELECT row_number() OVER (ORDER BY lower(a)) FROM t"),
    (true, "SELECT (a, 1) < ('b', 2) FROM t"),
    (true, "SELECT ROW(a, 1) AS r FROM t ORDER BY 1"),
    (true, "SELECT ARRAY[a] < ARRAY['b'] FROM t"),
    (
        true,
        "SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM t AS u WHERE u.a > t.a)",
    ),
    (
        true,
        "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY a) FROM t",
    ),
    (true, "SELECT a FROM t UNION SELECT 'x' ORDER BY 1"),
    (true, "SELECT DISTINCT ON (a) a FROM t ORDER BY a"),
    (true, "SELECT a FROM t WHERE a BETWEEN 'a' AND 'b'"),
    (
        false,
        "SELECT a FROM t WHERE a = 'b' AND a IN ('b', 'c') AND a LIKE 'b%'",
    ),
    (false, "SELECT a FROM t ORDER BY a COLLATE \"C\""),
    (
        false,
        "SELECT a FROM t WHERE a COLLATE \"C\" < 'b' ORDER BY length(a), a = 'x'",
    ),
    (false, "SELECT a, count(*) FROM t GROUP BY a"),
    (false, "SELECT DISTINCT upper(a) FROM t"),
    (false, "SELECT max(length(a)), max(a COLLATE \"C\") FROM t"),
    (
        false,
        "SELECT row_number() OVER (PARTITION BY a ORDER BY length(a)) FROM t",
    ),
    (false, "SELECT a AS \"} ( {\" FROM t ORDER BY ascii(a)"),
];

#[tokio::test]
async fn rules_of_another_version_sort_nothing() {
    let Some(finishers) = finishers() else {
        return;
    };
    let same = FinisherKind {
        locale_provider: "i".to_owned(),
        icu_locale: "de".to_owned(),
        ..kind(&finishers)
    };
    let first = finishers.ask(question(&same, "SELECT 1", &[])).await;
    if matches!(first, FinisherAnswer::Failed(_)) {
        // An old version, or one that was built without ICU.
        return;
    }
    let own = finishers.collation_version(&Arc::new(same.clone())).await;
    let own = own.expect("ICU has a version");
    let same = FinisherKind {
        collation_version: own.clone(),
        ..same
    };
    let other = FinisherKind {
        collation_version: "1.2-other".to_owned(),
        ..same.clone()
    };
    let from = "FROM unnest($1::text[]) AS t(a)";
    for (sorts, query) in QUERIES {
        let query = query.replacen("FROM t", from, 1);
        let query = match query.contains("FROM t AS u") {
            true => query.replace("FROM t AS u", "FROM (SELECT 'k') AS u(a)"),
            false => query,
        };
        for _ in 0..2 {
            rows(&finishers, question(&same, &query, &["{z,B,a}"])).await;
            let request = question(&other, &query, &["{z,B,a}"]);
            match *sorts {
                false => drop(rows(&finishers, request).await),
                true => {
                    let error = failure(&finishers, request).await;
                    assert_eq!(error.sqlstate, SqlState::FEATURE_NOT_SUPPORTED, "{query}");
                    let names_both =
                        error.message.contains("1.2-other") && error.message.contains(&own);
                    assert!(names_both, "{}", error.message);
                }
            }
        }
    }
}
