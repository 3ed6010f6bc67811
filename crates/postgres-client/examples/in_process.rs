//! A program whose customers' names never reach the server in clear.
//!
//! ```sh
//! strongroom columns create-key crates/postgres-client/examples/columns.key
//! cargo run -p strongroom-postgres --example in_process -- \
//!     crates/postgres-client/examples/in_process.toml "host=localhost user=postgres"
//! ```
//!
//! It makes the table `in_process_customer`, fills it, asks it, shows what the server has, and
//! removes it.

use std::path::Path;

use strongroom_postgres::tokio_postgres::{Client, Config, NoTls};
use strongroom_postgres::{Connector, Options};

const CREATE: &str = "CREATE TABLE in_process_customer (id integer PRIMARY KEY, \
                      name varchar(60) NOT NULL, city text, since date)";

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, server] = &*arguments else {
        return Err("usage: in_process CONFIGURATION CONNECTION_STRING".into());
    };
    for line in run(Path::new(file), server).await? {
        println!("{line}");
    }
    Ok(())
}

pub(crate) async fn run(file: &Path, server: &str) -> Outcome<Vec<String>> {
    let config: Config = server.parse()?;
    // One connector for the whole program: all its connections share what it knows.
    let connector = Connector::new(Options::read(file)?)?;
    let mut client = connect(&connector, &config).await?;

    client.batch_execute(CREATE).await?;
    fill(&mut client).await?;
    let mut lines = ask(&client).await?;
    let seen = look_without_the_key(&config).await;
    client
        .batch_execute("DROP TABLE in_process_customer")
        .await?;
    lines.extend(seen?);
    Ok(lines)
}

async fn connect(connector: &Connector, config: &Config) -> Outcome<Client> {
    let (client, connection) = connector.connect(config).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            eprintln!("the connection is lost: {error}");
        }
    });
    Ok(client)
}

/// Parameters are values of the types that the rules say.
async fn fill(client: &mut Client) -> Outcome<()> {
    let transaction = client.transaction().await?;
    let insert = "INSERT INTO in_process_customer (id, name, city) VALUES ($1, $2, $3)";
    let insert = transaction.prepare(insert).await?;
    for (id, name, city) in [
        (1, "Ada Lovelace", "London"),
        (2, "Emmy Noether", "Erlangen"),
        (3, "Mary Somerville", "London"),
    ] {
        transaction.execute(&insert, &[&id, &name, &city]).await?;
    }
    transaction.commit().await?;
    Ok(())
}

/// The server finds rows by columns of mode `equality`, without knowing what they hold.
async fn ask(client: &Client) -> Outcome<Vec<String>> {
    let select = "SELECT id, name FROM in_process_customer WHERE city = $1";
    let mut lines = Vec::new();
    for row in client.query(select, &[&"London"]).await? {
        let (id, name): (i32, &str) = (row.get(0), row.get(1));
        lines.push(format!("{id} {name}"));
    }
    Ok(lines)
}

/// What everybody else sees, the server among them.
async fn look_without_the_key(config: &Config) -> Outcome<Vec<String>> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    let select = "SELECT name FROM in_process_customer WHERE octet_length(name) > 0";
    let mut lines = Vec::new();
    for row in client.query(select, &[]).await? {
        let name: &[u8] = row.get(0);
        let start = &name[..8];
        lines.push(format!(
            "the server has {} bytes: {start:02x?}…",
            name.len()
        ));
    }
    Ok(lines)
}
