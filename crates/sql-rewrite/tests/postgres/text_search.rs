//! Text search configurations of a server that nobody has altered.

use super::{build, rules};

#[test]
fn all_configurations_of_the_server_are_known() {
    let Some((_server, mut client)) = server_testkit::connected() else {
        return;
    };
    let schema = build(&mut client, &rules("")).expect("a schema");
    let text_search = &schema.catalogue.finisher.text_search;
    let names = client
        .query("SELECT cfgname::text FROM pg_catalog.pg_ts_config", &[])
        .expect("names");
    let names: Vec<String> = names.iter().map(|row| row.get(0)).collect();
    let unknown: Vec<_> = names
        .iter()
        .filter(|name| !text_search.known.contains(*name))
        .collect();
    assert!(unknown.is_empty(), "have another digest: {unknown:?}");
    assert!(text_search.is_all && names.len() > 20);
}
