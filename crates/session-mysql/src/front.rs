//! What client and server see of one another until the client has sent its login.

use wire_mysql::Capabilities;
use wire_mysql::greeting::Greeting;
use wire_mysql::login::Login;

use crate::refusal::{Reason, Refusal};

/// The largest packet of a login. Attributes of clients have 64 KiB, answers of methods less.
pub const LOGIN_SIZE_MAX: usize = 128 * 1024;

/// The method that clients are greeted with in place of one by which they might say their password
/// before TLS is settled. The server asks for its own method then.
const HARMLESS: &[u8] = b"mysql_native_password";

/// Flags that are known, and under which packets are what a session takes them for. All others are
/// hidden: compression, files of the client, query attributes, definitions that are left out,
/// several factors, and of MariaDB progress and cached definitions. Files of the client are shown
/// where there are rules: their statements are read there.
const KEPT: Capabilities = Capabilities::new(ALL_UP_TO_DEPRECATE_EOF & !HIDDEN, OF_MARIADB);

const ALL_UP_TO_DEPRECATE_EOF: u32 = (1 << 25) - 1;
/// `COMPRESS`, `LOCAL_FILES`, and `TLS`, which each leg settles for itself.
const HIDDEN: u32 = 1 << 5 | 1 << 7 | 1 << 11;
/// `BULK`, `EXTENDED_METADATA`, which is only more words in a definition, and `BULK_RESULTS`.
const OF_MARIADB: u32 = 1 << 2 | 1 << 3 | 1 << 5;

/// The server's greeting as the client gets it. Nonce and number of the connection are the
/// server's own: so its users can log in without that the proxy knows a password, and `KILL`
/// means whom it says.
///
/// With rules, definitions of columns are written anew, in the form that both servers have.
pub fn for_client<'a>(greeting: &Greeting<'a>, offers_tls: bool, has_rules: bool) -> Greeting<'a> {
    let mut shown = greeting.clone();
    shown.capabilities = greeting.capabilities & KEPT;
    if has_rules {
        let files = greeting.capabilities & Capabilities::LOCAL_FILES;
        shown.capabilities = with_rules(shown.capabilities | files);
    }
    if offers_tls {
        shown.capabilities = shown.capabilities | Capabilities::TLS;
    }
    if !answers_by_proof(greeting.plugin) {
        shown.plugin = HARMLESS;
    }
    shown
}

/// Whether the first answer of a method proves that the client knows the password, and does not
/// give it away.
pub fn answers_by_proof(plugin: &[u8]) -> bool {
    matches!(
        plugin,
        b"mysql_native_password" | b"caching_sha2_password" | b"client_ed25519" | b"parsec"
    )
}

/// What the server is told that the client takes: if its own leg has TLS, and if there are rules.
pub fn capabilities_for_server(
    client: Capabilities,
    server: Capabilities,
    (server_tls, has_rules): (bool, bool),
) -> Capabilities {
    // A client may clear the lowest flag or not, whatever the server is.
    let offered = server | Capabilities::MYSQL;
    let mut taken = client & offered & KEPT;
    if has_rules {
        taken = with_rules(taken | (client & offered & Capabilities::LOCAL_FILES));
    }
    match server_tls {
        true => taken | Capabilities::TLS,
        false => taken,
    }
}

/// The client's login as the server gets it.
///
/// # Errors
/// It has parts that the server cannot read.
pub fn login_for_server<'a>(
    login: &Login<'a>,
    greeting: &Greeting<'_>,
    (server_tls, has_rules): (bool, bool),
) -> Result<Login<'a>, Refusal> {
    let client = login.head.capabilities;
    let leg = (server_tls, has_rules);
    let mut taken = capabilities_for_server(client, greeting.capabilities, leg);
    if login.database.is_none() {
        // With the flag and without a database, the next part would be taken for it.
        taken = taken & !Capabilities::CONNECT_WITH_DB;
    }
    let is_short = login.answer.len() <= usize::from(u8::MAX);
    let needed = Capabilities::SECURE_CONNECTION | Capabilities::PROTOCOL_41;
    if !taken.has(needed) || !(is_short || taken.has(Capabilities::LONG_LOGIN_ANSWER)) {
        let message = "the client's login is of a protocol before version 4.1, or has an answer \
                       that the server cannot read";
        return Err(Refusal::new(Reason::NotSupported, message));
    }
    Ok(login.with_capabilities(taken))
}

/// What a client without TLS is told where it must have it.
pub fn needs_tls() -> Refusal {
    let message = "the proxy takes connections by TLS only; connect with --ssl (MariaDB), \
                   --ssl-mode=REQUIRED (MySQL) or what turns TLS on in the program's driver";
    Refusal::new(Reason::InsecureTransport, message)
}

/// MariaDB says more of columns to those who ask for it: definitions are read, and written anew.
/// A bulk execution has one result, which the proxy can tell for several statements.
fn with_rules(capabilities: Capabilities) -> Capabilities {
    capabilities & !(Capabilities::EXTENDED_METADATA | Capabilities::BULK_RESULTS)
}

#[cfg(test)]
mod tests {
    use wire_mysql::capabilities::Status;
    use wire_mysql::login::{First, Head};

    use super::*;

    fn greeting(plugin: &'static [u8], capabilities: Capabilities) -> Greeting<'static> {
        Greeting {
            version: b"8.0.15",
            connection: 7,
            nonce: *b"abcdefghijklmnopqrst",
            capabilities,
            collation: 255,
            status: Status(Status::AUTOCOMMIT),
            plugin,
        }
    }

    const ALL: Capabilities = Capabilities::new(u32::MAX, u32::MAX);

    #[test]
    fn what_a_session_does_not_know_is_hidden_from_both_sides() {
        let hidden = [
            Capabilities::COMPRESS,
            Capabilities::LOCAL_FILES,
            Capabilities::OPTIONAL_METADATA,
            Capabilities::ZSTD,
            Capabilities::QUERY_ATTRIBUTES,
            Capabilities::SEVERAL_FACTORS,
            Capabilities::PROGRESS,
            Capabilities::CACHED_METADATA,
            Capabilities::new(1 << 31, 0),
        ];
        let shown = for_client(&greeting(b"client_ed25519", ALL), false, false).capabilities;
        let taken = capabilities_for_server(ALL, ALL, (false, false));
        for flag in hidden {
            assert!(!shown.has(flag), "{flag:?}");
            assert!(!taken.has(flag), "{flag:?}");
        }
        // Files of the client are read where there are rules.
        let files = Capabilities::LOCAL_FILES;
        let shown_with_rules = for_client(&greeting(b"client_ed25519", ALL), false, true);
        assert!(shown_with_rules.capabilities.has(files));
        assert!(capabilities_for_server(ALL, ALL, (false, true)).has(files));
        assert!(!capabilities_for_server(ALL, ALL & !files, (false, true)).has(files));
        let kept = Capabilities::DEPRECATE_EOF | Capabilities::SESSION_TRACK | Capabilities::BULK;
        assert!(shown.has(kept) && taken.has(kept) && shown_with_rules.capabilities.has(kept));
        let results = Capabilities::BULK_RESULTS;
        assert!(shown.has(results) && !shown_with_rules.capabilities.has(results));
        assert!(!capabilities_for_server(ALL, ALL, (false, true)).has(results));
        // A flag that the server does not offer is not taken, either.
        let taken = capabilities_for_server(ALL, Capabilities::PROTOCOL_41, (false, false));
        assert_eq!(taken, Capabilities::PROTOCOL_41 | Capabilities::MYSQL);
    }

    #[test]
    fn each_leg_has_tls_by_itself() {
        let without = ALL & !Capabilities::TLS;
        for (server, is_offered) in [(ALL, true), (ALL, false), (without, true)] {
            let shown = for_client(&greeting(b"parsec", server), is_offered, true);
            assert_eq!(shown.capabilities.has(Capabilities::TLS), is_offered);
        }
        assert!(!capabilities_for_server(ALL, ALL, (false, false)).has(Capabilities::TLS));
        assert!(capabilities_for_server(without, ALL, (true, false)).has(Capabilities::TLS));
    }

    #[test]
    fn no_client_is_greeted_with_a_method_that_says_passwords() {
        for (plugin, shown) in [
            (&b"sha256_password"[..], HARMLESS),
            (b"mysql_clear_password", HARMLESS),
            (b"dialog", HARMLESS),
            (b"auth_socket", HARMLESS),
            (b"caching_sha2_password", b"caching_sha2_password"),
        ] {
            assert_eq!(
                for_client(&greeting(plugin, ALL), true, false).plugin,
                shown
            );
        }
    }

    #[test]
    fn a_database_that_is_not_named_is_not_promised() {
        let flags =
            Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION | Capabilities::PLUGIN_AUTH;
        let head = Head {
            capabilities: flags | Capabilities::CONNECT_WITH_DB,
            packet_size_max: 1 << 24,
            collation: 45,
        };
        let mut payload = Vec::new();
        head.write_tls_request(&mut payload);
        payload.extend_from_slice(b"anna\0\x02xy");
        let Ok(First::Login(login)) = First::read(&payload) else {
            panic!("no login");
        };
        let sent =
            login_for_server(&login, &greeting(b"parsec", ALL), (false, false)).expect("it fits");
        assert!(!sent.head.capabilities.has(Capabilities::CONNECT_WITH_DB));
        let old = greeting(b"parsec", Capabilities::PROTOCOL_41);
        let error = login_for_server(&login, &old, (false, false)).expect_err("it is too old");
        assert_eq!(error.reason, Reason::NotSupported);
    }
}
