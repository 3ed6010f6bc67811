//! Where a configuration leads, and that no configuration leads past the session.

use super::*;

fn config(text: &str) -> Config {
    text.parse().expect("a configuration")
}

#[test]
fn every_configuration_goes_through_the_session() {
    for text in [
        "host=a sslmode=disable",
        "host=a sslmode=prefer",
        "host=a",
        "hostaddr=10.0.0.1 sslmode=disable sslnegotiation=direct",
    ] {
        let sealed = through_session(&config(text));
        assert_eq!(sealed.get_ssl_mode(), SslMode::Require, "{text}");
        assert_eq!(sealed.get_ssl_negotiation(), SslNegotiation::Direct);
    }
}

#[test]
fn an_address_without_a_name_is_its_own_name() {
    let sealed = through_session(&config("hostaddr=10.0.0.1,::1"));
    let names = ["10.0.0.1", "::1"].map(|name| Host::Tcp(name.to_owned()));
    assert_eq!(sealed.get_hosts(), names);
    let named = through_session(&config("host=a hostaddr=10.0.0.1"));
    assert_eq!(named.get_hosts(), [Host::Tcp("a".to_owned())]);
}

#[test]
fn a_folder_is_a_socket_and_the_only_host() {
    let target = |text| match Target::of(&config(text)) {
        Target::Tcp => "tcp".to_owned(),
        Target::Local(path) => path.display().to_string(),
        Target::Refused(error) => error.to_string(),
    };
    assert_eq!(target("host=/run/x"), "/run/x/.s.PGSQL.5432");
    assert_eq!(target("host=/run/x port=7"), "/run/x/.s.PGSQL.7");
    assert_eq!(target("host=a,b"), "tcp");
    assert_eq!(target("hostaddr=10.0.0.1"), "tcp");
    for mixed in [
        "host=/run/x,a",
        "host=/run/x,/run/y",
        "host=/run/x hostaddr=10.0.0.1",
    ] {
        assert_eq!(target(mixed), WireError::Mixed.to_string(), "{mixed}");
    }
    assert_eq!(
        target("host=/run/x target_session_attrs=read-write"),
        WireError::Target.to_string()
    );
}
