//! What the server says of the moment and of the session. The finisher cannot know it: it is
//! fetched with the rows.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, Value,
    VisitorMut,
};

use super::super::names::{FUNCTION_WORDS, builtin};
use super::super::parse;
use super::SERVER_RELATION;
use crate::walk;

/// A function of the server without arguments: its name, the call, its type.
macro_rules! function {
    ($name:literal, $type_name:literal) => {
        ($name, concat!("pg_catalog.", $name, "()"), $type_name)
    };
}

/// Name, expression of the server, its type.
const OF_SERVER: &[(&str, &str, &str)] = &[
    // Whoever asks a clock twice may get the same time.
    function!("clock_timestamp", "timestamp with time zone"),
    ("current_catalog", "pg_catalog.current_database()", "name"),
    function!("current_database", "name"),
    ("current_date", "CURRENT_DATE", "date"),
    ("current_role", "CURRENT_USER", "name"),
    // Without quotes the parser takes it for the key word.
    ("current_schema", "pg_catalog.\"current_schema\"()", "name"),
    ("current_time", "CURRENT_TIME", "time with time zone"),
    (
        "current_timestamp",
        "pg_catalog.now()",
        "timestamp with time zone",
    ),
    ("current_user", "CURRENT_USER", "name"),
    function!("getdatabaseencoding", "name"),
    function!("inet_client_addr", "inet"),
    function!("inet_client_port", "integer"),
    function!("inet_server_addr", "inet"),
    function!("inet_server_port", "integer"),
    ("localtime", "LOCALTIME", "time without time zone"),
    (
        "localtimestamp",
        "LOCALTIMESTAMP",
        "timestamp without time zone",
    ),
    function!("now", "timestamp with time zone"),
    function!("pg_backend_pid", "integer"),
    function!("pg_client_encoding", "name"),
    function!("pg_conf_load_time", "timestamp with time zone"),
    function!("pg_current_xact_id", "xid8"),
    function!("pg_my_temp_schema", "oid"),
    function!("pg_postmaster_start_time", "timestamp with time zone"),
    function!("pg_trigger_depth", "integer"),
    ("session_user", "SESSION_USER", "name"),
    function!("statement_timestamp", "timestamp with time zone"),
    function!("transaction_timestamp", "timestamp with time zone"),
    function!("txid_current", "bigint"),
    ("user", "CURRENT_USER", "name"),
    function!("version", "text"),
    // What a statement is told of the server once, it may be told again.
    function!("getpgusername", "name"),
    function!("pg_current_snapshot", "pg_snapshot"),
    function!("pg_current_wal_flush_lsn", "pg_lsn"),
    function!("pg_current_wal_insert_lsn", "pg_lsn"),
    function!("pg_current_wal_lsn", "pg_lsn"),
    function!("pg_current_xact_id_if_assigned", "xid8"),
    function!("pg_is_in_recovery", "boolean"),
    function!("pg_jit_available", "boolean"),
    function!("pg_last_wal_receive_lsn", "pg_lsn"),
    function!("pg_last_wal_replay_lsn", "pg_lsn"),
    function!("pg_last_xact_replay_timestamp", "timestamp with time zone"),
    function!("pg_notification_queue_usage", "double precision"),
    function!("pg_stat_get_bgwriter_buf_written_checkpoints", "bigint"),
    function!("pg_stat_get_bgwriter_buf_written_clean", "bigint"),
    function!("pg_stat_get_bgwriter_maxwritten_clean", "bigint"),
    function!("pg_stat_get_bgwriter_requested_checkpoints", "bigint"),
    function!(
        "pg_stat_get_bgwriter_stat_reset_time",
        "timestamp with time zone"
    ),
    function!("pg_stat_get_bgwriter_timed_checkpoints", "bigint"),
    function!("pg_stat_get_buf_alloc", "bigint"),
    function!("pg_stat_get_buf_fsync_backend", "bigint"),
    function!("pg_stat_get_buf_written_backend", "bigint"),
    function!("pg_stat_get_checkpoint_sync_time", "double precision"),
    function!("pg_stat_get_checkpoint_write_time", "double precision"),
    function!("pg_stat_get_snapshot_timestamp", "timestamp with time zone"),
    function!("timeofday", "text"),
    function!("txid_current_if_assigned", "bigint"),
    function!("txid_current_snapshot", "txid_snapshot"),
];

/// What a query asks of the server's moment and session: names that [`of_server`] knows.
pub(crate) fn replace_server_calls(query: &mut Query) -> Vec<&'static str> {
    let mut calls = Calls { found: Vec::new() };
    let _: ControlFlow<()> = walk::visit_mut(query, &mut calls);
    calls.found
}

/// The expression and the type of what the server says.
pub(crate) fn of_server(name: &str) -> Option<(&'static str, &'static str)> {
    let found = OF_SERVER.iter().find(|(own, ..)| *own == name);
    found.map(|(_, expression, type_name)| (*expression, *type_name))
}

/// Times that may be asked for with fewer digits of the second: `CURRENT_TIMESTAMP(3)`.
const OF_DIGITS: [&str; 4] = [
    "current_time",
    "current_timestamp",
    "localtime",
    "localtimestamp",
];

/// The number of digits in `CURRENT_TIMESTAMP(3)`. More than six are cut with a warning, which only
/// the server gives.
fn digits(function: &Function) -> Option<u8> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] = list.args.as_slice()
    else {
        return None;
    };
    let Value::Number(number, false) = &value.value else {
        return None;
    };
    number.parse().ok().filter(|digits| *digits <= 6)
}

/// The name in [`OF_SERVER`] that an expression calls.
pub(super) fn called(expression: &Expr) -> Option<&'static str> {
    let name = match expression {
        Expr::Function(function) => {
            let has_none = match &function.args {
                FunctionArguments::None => true,
                FunctionArguments::List(list) => list.args.is_empty(),
                FunctionArguments::Subquery(_) => false,
            };
            let name = builtin(&function.name)?;
            let is_asked_so =
                has_none || (OF_DIGITS.contains(&name.as_str()) && digits(function).is_some());
            if !is_asked_so || function.over.is_some() {
                return None;
            }
            name
        }
        Expr::Identifier(Ident {
            value,
            quote_style: None,
            ..
        }) => Some(value.to_ascii_lowercase())
            .filter(|name| FUNCTION_WORDS.contains(&name.as_str()))?,
        _ => return None,
    };
    OF_SERVER
        .iter()
        .map(|(own, ..)| *own)
        .find(|own| *own == name)
}

/// Whether an expression asks for the server's moment or session.
pub(crate) fn is_of_moment(expression: &Expr) -> bool {
    called(expression).is_some()
}

struct Calls {
    found: Vec<&'static str>,
}

/// Writes out the date that `age(x)` counts from: `age(CURRENT_DATE, x)`
/// (postgresql.org/docs/current/functions-datetime.html).
fn complete_age(expression: &mut Expr) {
    let Expr::Function(function) = expression else {
        return;
    };
    let is_age = builtin(&function.name).is_some_and(|name| name == "age");
    let FunctionArguments::List(list) = &mut function.args else {
        return;
    };
    let has_one = matches!(
        list.args.as_slice(),
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(_))]
    );
    if let (true, true, Some(today)) = (is_age, has_one, parse::expression("CURRENT_DATE")) {
        let today = FunctionArg::Unnamed(FunctionArgExpr::Expr(today));
        list.args.insert(0, today);
    }
}

impl VisitorMut for Calls {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        complete_age(expression);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        let Some(name) = called(expression) else {
            return ControlFlow::Continue(());
        };
        let read = format!("(SELECT \"{name}\" FROM {SERVER_RELATION})");
        let digits = match expression {
            Expr::Function(function) => digits(function),
            _ => None,
        };
        let read = match (digits, of_server(name)) {
            (Some(digits), Some((_, type_name))) => {
                let (base, zone) = type_name.split_once(' ').unwrap_or((type_name, ""));
                format!("CAST({read} AS {base}({digits}) {zone})")
            }
            _ => read,
        };
        if let Some(read) = parse::expression(&read) {
            if !self.found.contains(&name) {
                self.found.push(name);
            }
            *expression = read;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_is_asked_reads_back() {
        for (name, expression, _) in OF_SERVER {
            let text = format!("SELECT {expression}");
            let statements = parse::statements(&text).expect(name);
            let [statement] = statements.as_slice() else {
                panic!("{name} is one statement");
            };
            assert!(parse::reads_back(&text, statement), "{name}");
        }
    }
}
