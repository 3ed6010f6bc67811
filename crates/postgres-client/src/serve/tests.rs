//! Which servers drivers can be served by.

use super::*;

fn server(text: &str) -> Result<Place, ServerError> {
    let config = text.parse().expect("a connection string");
    Server::new(config).map(|server| server.place)
}

fn tcp(name: &str, address: Option<&str>, port: u16) -> Place {
    Place::Tcp {
        name: name.to_owned(),
        address: address.map(|text| text.parse().expect("an address")),
        port,
    }
}

#[test]
fn one_server_is_named() {
    assert_eq!(server("host=db"), Ok(tcp("db", None, 5432)));
    assert_eq!(
        server("host=db port=7 sslmode=require"),
        Ok(tcp("db", None, 7))
    );
    let known = tcp("db", Some("10.0.0.1"), 5432);
    assert_eq!(server("host=db hostaddr=10.0.0.1"), Ok(known));
    let nameless = tcp("::1", Some("::1"), 5432);
    assert_eq!(server("hostaddr=::1"), Ok(nameless));
    for (folder, port, path) in [
        ("/run/postgresql", "5433", "/run/postgresql/.s.PGSQL.5433"),
        ("/run/.s.PGSQL.9", "5432", "/run/.s.PGSQL.9"),
    ] {
        let place = Place::Local(path.into());
        assert_eq!(server(&format!("host={folder} port={port}")), Ok(place));
    }
}

#[test]
fn what_would_be_left_unread_is_refused() {
    for text in [
        "",
        "host=a,b",
        "host=a,/run",
        "host=a port=1,2",
        "hostaddr=::1,::2",
        "host=/run hostaddr=::1",
    ] {
        assert_eq!(server(text), Err(ServerError::Hosts), "{text}");
    }
    for more in [
        "user=ann",
        "password=x",
        "dbname=shop",
        "options=x",
        "application_name=x",
    ] {
        let text = format!("host=a {more}");
        assert_eq!(server(&text), Err(ServerError::Login), "{text}");
    }
    let text = "host=a target_session_attrs=read-write";
    assert_eq!(server(text), Err(ServerError::Target));
}
