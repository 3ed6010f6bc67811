//! The server has the same codes under the same names.

use sqlstate::ALL;

#[test]
fn the_server_has_each_code_under_its_name() {
    let Some((_server, mut client)) = server_testkit::connected() else {
        return;
    };
    client
        .batch_execute(
            "CREATE FUNCTION code_of(name text) RETURNS text LANGUAGE plpgsql AS $$
             BEGIN
                 RAISE EXCEPTION USING ERRCODE = name;
             EXCEPTION WHEN others OR query_canceled OR assert_failure THEN
                 RETURN SQLSTATE;
             END $$",
        )
        .unwrap();
    for (name, state) in ALL {
        let name = name.to_lowercase();
        let row = client.query_one("SELECT code_of($1)", &[&name]).unwrap();
        assert_eq!(row.get::<_, &str>(0), state.as_str(), "{name}");
    }
}
