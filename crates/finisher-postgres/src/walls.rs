//! What keeps a query from anything but computing: settings of the server, and privileges in each
//! database.
//!
//! The planner lets only queries through whose functions it knows. This is the second wall, for
//! what it may have missed.
//!
//! 1. Rows are in no file and no log: no statement, no value and no error is logged, and nothing is
//!    written but temporary files, and these only in memory.
//! 2. The role of queries may read no table, write nothing, and execute no function that is
//!    volatile or looks at the server.

use std::collections::HashSet;

use session_core::StatementError;
use session_postgres::finisher::FinisherKind;
use sql_rewrite::{FAILING_FUNCTION, FAILING_SCHEMA};
use sqlstate::SqlState;

use crate::connection::{Connection, Failure};
use crate::error::FinisherError;
use crate::options::FinisherOptions;
use crate::order;

/// The superuser, who sets up databases. `keeper` has its name, too.
pub(crate) const OWNER: &str = "strongroom_owner";
/// The role of queries.
pub(crate) const QUERIES: &str = "strongroom_queries";
/// The map of users in `pg_ident.conf`.
const MAP: &str = "strongroom";

/// Connections beside those of questions: one that sets up, and those that were dropped and have
/// not noticed yet.
const CONNECTIONS_SPARE: usize = 16;

/// Lines of `pg_hba.conf`: everything that is not named here is refused.
pub(crate) fn access() -> String {
    format!("local all {OWNER},{QUERIES} peer map={MAP}\n")
}

/// Lines of `pg_ident.conf`: only the user of the proxy comes in.
pub(crate) fn identities(user: &str) -> String {
    let user = user.replace('"', "\"\"");
    format!("{MAP} \"{user}\" {OWNER}\n{MAP} \"{user}\" {QUERIES}\n")
}

/// Settings of a server.
pub(crate) fn settings(
    major: u16,
    options: &FinisherOptions,
    is_memory: bool,
) -> Vec<(&'static str, String)> {
    let memory = options.memory;
    let temporary_kib = match is_memory {
        true => u64::from(memory.temporary_files_mib) << 10,
        false => 0,
    };
    let connections = options.connections_max.max(1) + CONNECTIONS_SPARE;
    let mut settings = vec![
        ("shared_buffers", format!("{}MB", memory.shared_buffers_mib)),
        ("work_mem", format!("{}MB", memory.work_mem_mib)),
        ("temp_file_limit", format!("{temporary_kib}kB")),
        ("max_connections", connections.to_string()),
        (
            "statement_timeout",
            format!("{}ms", options.statement_timeout.as_millis()),
        ),
    ];
    let fixed = SETTINGS.iter().copied();
    let newer = SETTINGS_SINCE_14.iter().copied();
    let newer = newer.filter(|_| major >= 14);
    settings.extend(
        fixed
            .chain(newer)
            .map(|(name, value)| (name, value.to_owned())),
    );
    settings
}

const SETTINGS: &[(&str, &str)] = &[
    ("listen_addresses", ""),
    ("unix_socket_permissions", "0700"),
    ("port", "5432"),
    // Nothing outlives the server.
    ("fsync", "off"),
    ("synchronous_commit", "off"),
    ("full_page_writes", "off"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("min_wal_size", "2MB"),
    ("max_wal_size", "8MB"),
    ("checkpoint_timeout", "1d"),
    ("bgwriter_lru_maxpages", "0"),
    ("wal_writer_delay", "10s"),
    ("autovacuum", "off"),
    ("track_counts", "off"),
    // Neither others nor `ps` see queries.
    ("track_activities", "off"),
    ("update_process_title", "off"),
    ("log_destination", "stderr"),
    ("logging_collector", "off"),
    ("log_min_messages", "fatal"),
    ("log_min_error_statement", "panic"),
    ("log_error_verbosity", "terse"),
    ("log_statement", "none"),
    ("log_duration", "off"),
    ("log_min_duration_statement", "-1"),
    ("log_parameter_max_length", "0"),
    ("log_parameter_max_length_on_error", "0"),
    ("log_temp_files", "-1"),
    ("log_lock_waits", "off"),
    ("lc_messages", "C"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    ("max_worker_processes", "0"),
    ("max_parallel_workers", "0"),
    ("max_parallel_workers_per_gather", "0"),
    ("max_logical_replication_workers", "0"),
    ("superuser_reserved_connections", "2"),
    // A file in the server's folder, which goes with that.
    ("dynamic_shared_memory_type", "mmap"),
    ("huge_pages", "off"),
    ("jit", "off"),
    // A plan that is kept expects few rows of each array; only such loops are slow when they are
    // many.
    ("enable_nestloop", "off"),
    ("default_transaction_read_only", "on"),
    ("idle_in_transaction_session_timeout", "10s"),
];

const SETTINGS_SINCE_14: &[(&str, &str)] = &[
    ("client_connection_check_interval", "1s"),
    ("idle_session_timeout", "10min"),
    ("compute_query_id", "off"),
];

/// Parameters of a connection of the superuser. Those of questions have the server's own limits.
pub(crate) fn owner_parameters(database: &str) -> [(&str, &str); 4] {
    [
        ("user", OWNER),
        ("database", database),
        ("default_transaction_read_only", "off"),
        ("statement_timeout", "0"),
    ]
}

/// Parameters of a connection for questions.
pub(crate) fn query_parameters(database: &str) -> [(&str, &str); 3] {
    [
        ("user", QUERIES),
        ("database", database),
        ("client_encoding", "UTF8"),
    ]
}

/// Sets up a server, on a connection of the superuser to `template1`.
pub(crate) async fn set_up_server(owner: &mut Connection) -> Result<(), FinisherError> {
    let role = format!(
        "CREATE ROLE {QUERIES} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION \
         NOBYPASSRLS"
    );
    // Nobody needs it, and it takes memory.
    let drop = "DROP DATABASE postgres".to_owned();
    let revoke = "REVOKE ALL ON DATABASE template1 FROM PUBLIC".to_owned();
    for sql in [role, drop, revoke] {
        owner.simple(&sql).await.map_err(refused)?;
    }
    Ok(())
}

/// Creates the database of a kind, on a connection of the superuser to another one.
pub(crate) async fn create_database(
    owner: &mut Connection,
    name: &str,
    kind: &FinisherKind,
) -> Result<(), FinisherError> {
    let locale = locale_clauses(kind)?;
    let sql = format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' {locale}");
    match owner.simple(&sql).await {
        Ok(_) => {}
        Err(Failure::Query(error)) if is_of_locale(error.sqlstate) => {
            return Err(FinisherError::Locale {
                locale: locale_name(kind),
                said: error.message,
            });
        }
        Err(failure) => return Err(refused(failure)),
    }
    let sql = format!(
        "REVOKE ALL ON DATABASE {name} FROM PUBLIC; GRANT CONNECT ON DATABASE {name} TO {QUERIES}"
    );
    owner.simple(&sql).await.map_err(refused)?;
    Ok(())
}

/// Whether `CREATE DATABASE` fails so where the machine lacks the locale, it has another encoding,
/// or the server was built without ICU.
fn is_of_locale(code: SqlState) -> bool {
    [
        SqlState::WRONG_OBJECT_TYPE,
        SqlState::INVALID_PARAMETER_VALUE,
        SqlState::FEATURE_NOT_SUPPORTED,
    ]
    .contains(&code)
}

/// How people call the locale of a kind.
fn locale_name(kind: &FinisherKind) -> String {
    match kind.locale_provider.as_str() {
        "i" | "b" => kind.icu_locale.clone(),
        _ if kind.collate == kind.ctype => kind.collate.clone(),
        _ => format!("{} (LC_CTYPE {})", kind.collate, kind.ctype),
    }
}

fn locale_clauses(kind: &FinisherKind) -> Result<String, FinisherError> {
    let locale = literal(&kind.icu_locale);
    let provider = match (kind.locale_provider.as_str(), kind.major) {
        ("c" | "", ..15) => String::new(),
        ("c" | "", _) => "LOCALE_PROVIDER libc".to_owned(),
        ("i", 15..) => format!("LOCALE_PROVIDER icu ICU_LOCALE {locale}"),
        ("b", 17..) => format!("LOCALE_PROVIDER builtin BUILTIN_LOCALE {locale}"),
        (provider, major) => {
            let provider = provider.to_owned();
            return Err(FinisherError::Provider { major, provider });
        }
    };
    let (collate, ctype) = (literal(&kind.collate), literal(&kind.ctype));
    Ok(format!("LC_COLLATE {collate} LC_CTYPE {ctype} {provider}"))
}

pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name in quotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Takes from everybody what is no computing, on a connection of the superuser to the database.
pub(crate) async fn wall_in(owner: &mut Connection) -> Result<(), FinisherError> {
    let sql = "REVOKE ALL ON SCHEMA public, information_schema FROM PUBLIC; \
               REVOKE ALL ON ALL TABLES IN SCHEMA pg_catalog, information_schema FROM PUBLIC; \
               REVOKE ALL ON LANGUAGE sql FROM PUBLIC; \
               DROP EXTENSION plpgsql";
    owner.simple(sql).await.map_err(refused)?;
    let functions = owner.simple(FORBIDDEN).await.map_err(refused)?;
    let functions: Vec<String> = functions.into_iter().flatten().flatten().collect();
    let functions = functions.join(", ");
    let sql = format!("REVOKE EXECUTE ON ROUTINE {functions} FROM PUBLIC");
    owner.simple(&sql).await.map_err(refused)?;
    Ok(())
}

/// Creates what stands in queries for calls that nobody may make here, on a connection of the
/// superuser to the database.
pub(crate) async fn create_failing_function(owner: &mut Connection) -> Result<(), FinisherError> {
    let sql = format!("{FAILING_FUNCTION}; GRANT USAGE ON SCHEMA {FAILING_SCHEMA} TO {QUERIES}");
    owner.simple(&sql).await.map_err(refused)?;
    Ok(())
}

/// The functions that no query may call: those that are volatile, that read tables or settings, or
/// that tell of the server. Not those that give chance alone, nor those behind types, operators and
/// casts, all of which compute.
const FORBIDDEN: &str = r"
SELECT p.oid::regprocedure FROM pg_proc p
WHERE p.pronamespace = 'pg_catalog'::regnamespace
  AND (p.provolatile = 'v'
    OR p.provolatile = 's' AND p.proname ~ '^(pg_|has_|inet_|txid_|acl|to_reg|current|session_)'
    OR p.proname ~ '_to_xml(schema|_and_xmlschema)?$'
    OR p.proname ~ '^(lo_|pg_stat_|pg_ls_|pg_read_|binary_upgrade_|row_security_)'
    OR p.proname IN ('col_description', 'obj_description', 'shobj_description', 'version',
      'getdatabaseencoding', 'getpgusername', 'mxid_age', 'ts_debug'))
  AND p.proname NOT IN ('pg_typeof', 'pg_collation_for', 'pg_column_size', 'pg_size_pretty',
    'pg_input_is_valid', 'pg_input_error_info', 'pg_basetype', 'random',
    'gen_random_uuid')
  AND NOT EXISTS (SELECT FROM pg_type t WHERE p.oid IN (t.typinput, t.typoutput, t.typreceive,
    t.typsend, t.typmodin, t.typmodout, t.typanalyze))
  AND NOT EXISTS (SELECT FROM pg_operator o WHERE p.oid IN (o.oprcode, o.oprrest, o.oprjoin))
  AND NOT EXISTS (SELECT FROM pg_cast c WHERE p.oid = c.castfunc)
  AND NOT EXISTS (SELECT FROM pg_amproc a WHERE p.oid = a.amproc)
";

/// What compares for order in a database, on a connection of the superuser to it.
pub(crate) async fn orders(
    owner: &mut Connection,
) -> Result<[HashSet<String>; order::QUERIES.len()], FinisherError> {
    let mut answers = [const { None }; order::QUERIES.len()];
    for (answer, sql) in answers.iter_mut().zip(order::QUERIES) {
        let rows = owner.simple(sql).await.map_err(refused)?;
        *answer = Some(rows.into_iter().flatten().flatten().collect());
    }
    Ok(answers.map(Option::unwrap_or_default))
}

/// The version of the rules by which a database sorts texts, on a connection of the superuser to
/// it. None: the rules have no version, as those of C.
pub(crate) async fn collation_version(
    owner: &mut Connection,
    major: u16,
) -> Result<Option<String>, FinisherError> {
    let sql = match major {
        15.. => {
            "SELECT pg_database_collation_actual_version(oid) FROM pg_database \
             WHERE datname = current_database()"
        }
        // These know versions of collations only: one by the same rules is the answer.
        _ => {
            "SELECT pg_collation_actual_version(c.oid) FROM pg_collation c, pg_database d \
             WHERE d.datname = current_database() AND c.collprovider = 'c' \
             AND c.collcollate = d.datcollate LIMIT 1"
        }
    };
    let rows = owner.simple(sql).await.map_err(refused)?;
    Ok(rows.into_iter().flatten().flatten().next())
}

/// The server refuses a statement of the set-up.
pub(crate) fn refused(failure: Failure) -> FinisherError {
    match failure {
        Failure::Query(error) | Failure::Last(error) => FinisherError::SetUp(error),
        Failure::Gone(error) => FinisherError::Connection(error),
    }
}

/// Whether a server refuses a connection for now: it is starting, or has too many.
pub(crate) fn is_for_now(error: &StatementError) -> bool {
    [SqlState::CANNOT_CONNECT_NOW, SqlState::TOO_MANY_CONNECTIONS].contains(&error.sqlstate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_are_those_of_the_version() {
        let kind = |major, provider: &str| FinisherKind {
            major,
            locale_provider: provider.to_owned(),
            collate: "C".to_owned(),
            ctype: "a'b".to_owned(),
            icu_locale: "de-x".to_owned(),
            collation_version: String::new(),
            named_types: Vec::new(),
            extensions: Vec::new(),
            search_path: Vec::new(),
        };
        let clauses = |major, provider| locale_clauses(&kind(major, provider)).ok();
        let of = |text: &str| Some(format!("LC_COLLATE 'C' LC_CTYPE 'a''b' {text}"));
        assert_eq!(clauses(14, "c"), of(""));
        assert_eq!(clauses(15, "c"), of("LOCALE_PROVIDER libc"));
        let icu = of("LOCALE_PROVIDER icu ICU_LOCALE 'de-x'");
        assert_eq!(clauses(15, "i"), icu);
        assert_eq!(clauses(14, "i"), None);
        let builtin = of("LOCALE_PROVIDER builtin BUILTIN_LOCALE 'de-x'");
        assert_eq!(clauses(17, "b"), builtin);
        assert_eq!(clauses(16, "b"), None);
        assert_eq!(clauses(17, "z"), None);
    }
}
