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
