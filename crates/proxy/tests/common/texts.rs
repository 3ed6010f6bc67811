//! Values as texts, whatever their types.

use postgres::error::SqlState;
use postgres::types::private::BytesMut;
use postgres::types::{Format, IsNull, ToSql, Type};
use postgres::{Client, Error, IsolationLevel, SimpleQueryMessage};

/// A parameter that is sent as text, of whatever type it is asked for.
#[derive(Debug)]
pub struct Text<'a>(pub &'a str);

impl ToSql for Text<'_> {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    postgres::types::to_sql_checked!();
}

/// Rows of a statement, each as texts with `|` between them.
pub fn answer(client: &mut Client, statement: &str) -> Result<Vec<String>, Error> {
    let messages = client.simple_query(statement)?;
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            let values = (0..row.len()).map(|index| row.get(index).unwrap_or("NULL"));
            Some(values.collect::<Vec<_>>().join("|"))
        }
        _ => None,
    });
    Ok(rows.collect())
}

/// Rows of a statement that is done, as [`answer`] has them.
#[track_caller]
pub fn ask(client: &mut Client, text: &str) -> Vec<String> {
    answer(client, text).expect(text)
}

/// Statements that are done.
#[track_caller]
pub fn run(client: &mut Client, text: &str) {
    if let Err(error) = client.batch_execute(text) {
        panic!("{text}: {error:?}");
    }
}

/// The proxy does not do it.
#[track_caller]
pub fn assert_refused(client: &mut Client, text: &str) {
    let error = answer(client, text).expect_err(text);
    let code = error.code();
    assert_eq!(
        code,
        Some(&SqlState::FEATURE_NOT_SUPPORTED),
        "{text}: {error:?}"
    );
}

/// The SQLSTATE of an error; none: it does not come from the proxy or the server.
pub fn code(error: &Error) -> &str {
    error.code().map_or("none", SqlState::code)
}

/// A statement of a transaction whose snapshot is older than what another session has written fails
/// with 40001.
#[track_caller]
pub fn assert_not_visible(
    writer: &mut Client,
    other: &mut Client,
    statement: &str,
    parameters: &[&(dyn ToSql + Sync)],
) {
    let mut transaction = other
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .start()
        .expect("begun");
    transaction.query("SELECT 1", &[]).expect("a snapshot");
    writer.execute(statement, parameters).expect("written");
    let error = transaction
        .execute(statement, parameters)
        .expect_err("not visible");
    assert_eq!(code(&error), "40001");
}
