//! What sessions share, published and forgotten.

use crypto::secret::Key;
use sql_rewrite::TemporaryNames;

use super::*;

fn protection() -> Protection {
    let root = Root::new(Key::from_bytes([7; 32]));
    let protection = Protection::new(Rules::default(), root, || 0);
    publish(&protection);
    protection
}

fn publish(protection: &Protection) {
    publish_as(protection, "1");
}

fn publish_as(protection: &Protection, fingerprint: &str) {
    let reading = Reading {
        schema: Schema::default(),
        fingerprint: Some(fingerprint.to_owned()),
        forgets: protection.forgets("base"),
    };
    let entered = protection.enter("base", reading, true);
    assert!(entered.is_ok_and(|loaded| loaded.is_some()));
}

fn session(path: &str, temporary: &[&str]) -> SessionFacts {
    SessionFacts {
        search_path: vec![path.to_owned()],
        temporary: TemporaryNames {
            relations: temporary.iter().map(|&name| name.to_owned()).collect(),
            ..TemporaryNames::default()
        },
        ..SessionFacts::default()
    }
}

fn adopt(
    protection: &Protection,
    session: &SessionFacts,
    own: Option<&Arc<Loaded>>,
) -> Arc<Loaded> {
    let adopted = protection.adopt("base", session, own);
    adopted.expect("it is published")
}

#[test]
fn a_session_keeps_its_schema_while_it_is_unchanged() {
    let protection = protection();
    for facts in [session("a", &["t"]), session("last", &[])] {
        for number in 0..PATHS_MAX {
            let crowd = session(&number.to_string(), &[]);
            adopt(&protection, &crowd, None);
        }
        let own = adopt(&protection, &facts, None);
        assert!(Arc::ptr_eq(&own, &adopt(&protection, &facts, Some(&own))));
        let other = adopt(&protection, &session("b", &["t"]), Some(&own));
        assert!(!Arc::ptr_eq(&own, &other), "another path");
        let other = adopt(&protection, &session("a", &["t", "u"]), Some(&own));
        assert!(!Arc::ptr_eq(&own, &other), "another table");
        protection.forget("base");
        assert!(protection.adopt("base", &facts, Some(&own)).is_none());
        publish(&protection);
        let other = adopt(&protection, &facts, Some(&own));
        assert!(!Arc::ptr_eq(&own, &other), "another state of the database");
    }
}

#[test]
fn a_change_made_directly_at_the_server_invalidates_the_schema() {
    let protection = protection();
    let published = protection.generation("base");
    let forgets = protection.forgets("base");
    protection.compare("base", "1", forgets);
    assert_eq!(protection.generation("base"), published, "nothing changed");
    protection.compare("other", "2", 0);
    assert_eq!(protection.generation("base"), published, "another database");
    protection.compare("base", "2", forgets);
    assert_eq!(protection.generation("base"), None);
    publish_as(&protection, "2");
    let published = protection.generation("base");
    // Somebody looked before that was read, and says so only now.
    protection.compare("base", "1", forgets);
    assert_eq!(protection.generation("base"), published);
}

#[test]
fn sessions_with_different_search_paths_share_relations() {
    let protection = protection();
    let one = adopt(&protection, &session("a", &["t"]), None);
    let other = adopt(&protection, &session("b", &["u"]), None);
    assert!(std::ptr::eq(&*one.schema.tables, &*other.schema.tables));
}

#[test]
fn plans_do_not_keep_an_unused_schema_alive() {
    let protection = protection();
    let plan = |loaded: &Arc<Loaded>, text: &str| {
        protection.plan(loaded, text).expect("it is planned");
    };
    let shared = adopt(&protection, &session("a", &[]), None);
    plan(&shared, "SELECT 1");
    protection.release(&shared);
    assert_eq!(protection.plans_cached(), 1, "others have it");
    for _ in 0..10 {
        let own = adopt(&protection, &session("a", &["t"]), None);
        plan(&own, "SELECT 1");
        plan(&own, "SELECT 2");
        assert_eq!(protection.plans_cached(), 3);
        protection.release(&own);
        assert_eq!(protection.plans_cached(), 1);
        // One that was made before comes late.
        plan(&own, "SELECT 3");
        assert_eq!(Arc::strong_count(&own), 1);
    }
    protection.forget("base");
    assert_eq!(protection.plans_cached(), 0);
    plan(&shared, "SELECT 1");
    assert_eq!(Arc::strong_count(&shared), 1);
    publish(&protection);
    let before = adopt(&protection, &session("a", &[]), None);
    plan(&before, "SELECT 1");
    // Two sessions have read it at once.
    publish(&protection);
    assert_eq!(Arc::strong_count(&before), 1);
}

#[test]
fn a_change_of_all_databases_outdates_readings_of_each() {
    let protection = protection();
    // Nothing is known of it yet, and its reading has begun.
    let forgets = protection.forgets("other");
    protection.forget_all();
    let facts = SessionFacts::default();
    assert!(protection.adopt("base", &facts, None).is_none());
    let reading = Reading {
        schema: Schema::default(),
        fingerprint: None,
        forgets,
    };
    let entered = protection.enter("other", reading, true);
    assert!(matches!(entered, Ok(None)));
    publish(&protection);
    assert!(protection.adopt("base", &facts, None).is_some());
}

#[test]
fn names_that_no_session_has_are_dropped() {
    let protection = protection().with_check_interval(Duration::from_secs(1));
    let used = protection.freshness("used").expect("there are checks");
    let forgets = protection.forgets("used");
    let reading = protection.forgets("base");
    for number in 0..3 * DATABASES_MAX {
        protection.forgets(&number.to_string());
        assert!(protection.lock().by_name.len() <= DATABASES_MAX);
    }
    assert_eq!(protection.forgets("used"), forgets);
    let again = protection.freshness("used").expect("there are checks");
    assert!(Arc::ptr_eq(&used, &again));
    // What was read before is not taken for the schema of a name that is known anew.
    assert!(protection.generation("base").is_none());
    assert_ne!(protection.forgets("base"), reading);
}
