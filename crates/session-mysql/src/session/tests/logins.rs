//! Logins over legs of every kind.

use super::*;

const OTHER_NONCE: [u8; NONCE_SIZE] = *b"ABCDEFGHIJKLMNOPQRST";
const PASSWORD: &[u8] = b"a secret\0";

/// The login that the server was sent: its number, method and answer.
fn login_sent(played: &mut Played) -> (u8, Vec<u8>, Vec<u8>) {
    let sent = played.sent();
    let [(sequence, packet)] = &sent[..] else {
        panic!("{sent:?}");
    };
    let Ok(First::Login(login)) = First::read(packet) else {
        panic!("no login");
    };
    assert_eq!(
        (login.user, login.database),
        (&b"anna"[..], Some(&b"shop"[..]))
    );
    (*sequence, login.plugin.to_vec(), login.answer.to_vec())
}

#[test]
fn a_proof_passes_and_each_leg_counts_for_itself() {
    for (ways, to_server, to_client) in [(CLEAR, 1, 2), (MIXED, 1, 3), (TLS, 2, 3)] {
        let mut played = Played::answering("caching_sha2_password", b"proof", ways);
        let (sequence, plugin, answer) = login_sent(&mut played);
        assert_eq!((sequence, &answer[..]), (to_server, &b"proof"[..]));
        assert_eq!(plugin, b"caching_sha2_password");
        played.server(to_server + 1, &[1, 3]);
        played.server(to_server + 2, &ok(0));
        let got = played.got();
        assert_eq!(got, [(to_client, vec![1, 3]), (to_client + 1, ok(0))]);
        assert!(played.session.has_begun());
        // Commands begin at 0 on both legs.
        played.client(0, b"\x0e");
        played.server(1, &ok(0));
        assert_eq!(played.sent(), [(0, b"\x0e".to_vec())]);
        assert_eq!(played.got(), [(1, ok(0))]);
    }
}

#[test]
fn another_method_is_passed_on_with_its_nonce() {
    let mut played = Played::answering("caching_sha2_password", b"proof", MIXED);
    played.sent();
    played.server(2, &switch("mysql_native_password", &OTHER_NONCE));
    let wanted = switch("mysql_native_password", &OTHER_NONCE);
    assert_eq!(played.got(), [(3, wanted)]);
    assert_eq!(played.session.nonce, OTHER_NONCE);
    played.client(4, b"another proof");
    assert_eq!(played.sent(), [(3, b"another proof".to_vec())]);
    played.server(4, &ok(0));
    assert_eq!(played.got(), [(5, ok(0))]);
}

#[test]
fn a_client_without_tls_is_never_asked_for_its_password() {
    // The server has forgotten the hash, or wants the password each time, or names a method that
    // is not known.
    for asking in [
        vec![1, 4],
        switch("sha256_password", &NONCE),
        switch("mysql_clear_password", b""),
        switch("dialog", b""),
        switch("mysql_old_password", b""),
        vec![SWITCH],
    ] {
        for server_tls in [false, true] {
            let ways = Ways {
                server_tls,
                ..CLEAR
            };
            let mut played = Played::answering("caching_sha2_password", b"proof", ways);
            let (sequence, ..) = login_sent(&mut played);
            played.server(sequence + 1, &asking);
            assert_eq!(played.session.to_server.waiting(), 0);
            let got = packets(&played.session.to_client.bytes);
            assert_eq!(got.len(), 1, "the question was passed on: {asking:?}");
            played.assert_refused(2, Reason::InsecureTransport);
        }
    }
}

#[test]
fn a_password_passes_where_both_legs_are_private() {
    for asking in [
        vec![1, 4],
        switch("sha256_password", &NONCE),
        switch("dialog", b""),
    ] {
        let mut played = Played::answering("caching_sha2_password", b"proof", TLS);
        played.sent();
        played.server(3, &asking);
        assert_eq!(played.got(), [(3, asking)]);
        played.client(4, PASSWORD);
        assert_eq!(played.sent(), [(4, PASSWORD.to_vec())]);
        played.server(5, &ok(0));
        assert_eq!(played.got(), [(5, ok(0))]);
    }
}

#[test]
fn towards_a_server_without_tls_a_password_is_encrypted() {
    use aws_lc_rs::encoding::AsDer as _;
    use aws_lc_rs::rsa::{
        KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey,
    };
    use base64::Engine as _;

    let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).expect("a key");
    let public = private.public_key().as_der().expect("its public half");
    let digits = base64::engine::general_purpose::STANDARD.encode(public.as_ref());
    let pem = format!("\x01-----BEGIN PUBLIC KEY-----\n{digits}\n-----END PUBLIC KEY-----\n");
    let private = OaepPrivateDecryptingKey::new(private).expect("the same key");
    let full = switch("sha256_password", &OTHER_NONCE);
    for (asking, request, nonce) in [(vec![1, 4], 2, NONCE), (full, 1, OTHER_NONCE)] {
        let mut played = Played::answering("caching_sha2_password", b"proof", MIXED);
        played.sent();
        played.server(2, &asking);
        assert_eq!(played.got(), [(3, asking)]);
        played.client(4, PASSWORD);
        assert_eq!(played.sent(), [(3, vec![request])], "the password was sent");
        played.server(4, pem.as_bytes());
        assert_eq!(played.got(), [], "the key is the proxy's affair");
        let sent = played.sent();
        assert_eq!(sent[0].0, 5);
        let mut opened = vec![0; private.min_output_size()];
        let opened = private.decrypt(&OAEP_SHA1_MGF1SHA1, &sent[0].1, &mut opened, None);
        let opened = opened.expect("it was encrypted with the key");
        let password = opened.iter().zip(nonce.iter().cycle());
        assert!(password.map(|(a, b)| a ^ b).eq(PASSWORD.iter().copied()));
        played.server(6, &ok(0));
        assert_eq!(played.got(), [(5, ok(0))]);
    }
}

#[test]
fn a_server_that_gives_no_key_gets_no_password() {
    for said in [&b"\x01no key"[..], b"\x01", b"\0"] {
        let mut played = Played::answering("caching_sha2_password", b"proof", MIXED);
        played.sent();
        played.server(2, &[1, 4]);
        played.client(4, PASSWORD);
        played.sent();
        played.server(4, said);
        assert_eq!(played.sent(), []);
        assert!(played.session.has_ended(), "{said:?}");
    }
}

#[test]
fn an_answer_that_may_be_a_password_is_kept_from_a_server_that_did_not_ask() {
    for (plugin, ways) in [
        ("sha256_password", MIXED),
        ("mysql_clear_password", TLS),
        ("mysql_clear_password", CLEAR),
        ("dialog", MIXED),
    ] {
        let mut played = Played::answering(plugin, PASSWORD, ways);
        let (_, plugin, answer) = login_sent(&mut played);
        assert_eq!((&plugin[..], &answer[..]), (NO_PLUGIN, &b""[..]));
    }
    // Whoever asks for the key does not say the password; the server would take the question for
    // the password if it came by TLS.
    let mut played = Played::answering("sha256_password", &[1], CLEAR);
    assert_eq!(login_sent(&mut played).2, [1]);
    played.server(2, b"\x01a key");
    assert_eq!(played.got(), [(2, b"\x01a key".to_vec())]);
    played.client(3, b"encrypted");
    assert_eq!(played.sent(), [(3, b"encrypted".to_vec())]);
    let half = Ways {
        server_tls: true,
        ..CLEAR
    };
    let mut played = Played::answering("sha256_password", &[1], half);
    assert_eq!(login_sent(&mut played).2, b"");
}

#[test]
fn a_server_that_may_take_the_client_for_the_proxy_must_ask() {
    let ways = Ways {
        must_ask: true,
        ..CLEAR
    };
    let mut played = Played::answering("mysql_native_password", b"proof", ways);
    let (_, plugin, answer) = login_sent(&mut played);
    assert_eq!((&plugin[..], &answer[..]), (NO_PLUGIN, &b""[..]));
    played.server(2, &ok(0));
    played.assert_refused(2, Reason::AccessDenied);

    let mut played = Played::answering("mysql_native_password", b"proof", ways);
    played.sent();
    played.server(2, &switch("mysql_native_password", &OTHER_NONCE));
    played.client(3, b"another proof");
    played.server(4, &ok(0));
    assert!(played.session.has_begun());
    played.sent();
    // A login anew must be asked, too.
    played.client(0, b"\x11berta\0\x05proof\0\x2d\0mysql_native_password\0");
    let sent = played.sent();
    let wanted = b"\x11berta\0\0\0\x2d\0strongroom\0".to_vec();
    assert_eq!(sent, [(0, wanted)]);
    played.got();
    played.server(1, &ok(0));
    played.assert_refused(1, Reason::AccessDenied);

    for plugin in ["auth_socket", "unix_socket"] {
        let mut played = Played::answering("mysql_native_password", b"proof", TLS);
        played.server(3, &switch(plugin, b""));
        played.assert_refused(3, Reason::AccessDenied);
    }
}

#[test]
fn what_the_server_says_of_a_login_that_fails_passes_and_is_the_last_word() {
    let mut played = Played::answering("mysql_native_password", b"proof", MIXED);
    played.server(2, &error(1045));
    assert_eq!(played.got(), [(3, error(1045))]);
    assert!(played.session.has_ended() && !played.session.has_begun());
    played.session.server_closed();
    assert_eq!(played.got(), []);
}

#[test]
fn packets_that_do_not_belong_to_a_login_end_it() {
    let begin = || Played::answering("mysql_native_password", b"proof", CLEAR);
    let mut played = begin();
    played.server(3, &ok(0));
    played.assert_refused(2, Reason::PacketsOutOfOrder);
    let mut played = begin();
    played.server(2, &[]);
    played.assert_refused(2, Reason::MalformedPacket);
    let mut played = begin();
    played.server(2, &[7, 7]);
    played.assert_refused(2, Reason::MalformedPacket);
    let mut played = begin();
    played.session.server_bytes(&[0xff, 0xff, 0xff, 2]);
    played.assert_refused(2, Reason::PacketTooLarge);
    let mut played = begin();
    played.session.server_closed();
    played.assert_refused(2, Reason::Server);
    let mut played = begin();
    played.session.start_timed_out();
    played.assert_refused(2, Reason::TimedOut);
    // What the client sends before it is asked waits.
    let mut played = begin();
    played.sent();
    played.client(0, b"\x0e");
    assert_eq!(played.sent(), []);
    played.server(2, &ok(0));
    assert_eq!(played.sent(), [(0, b"\x0e".to_vec())]);
}

#[test]
fn a_change_of_the_user_is_a_login_anew() {
    let mut played = Played::begun();
    let change = b"\x11berta\0\x05proof\0\x2d\0caching_sha2_password\0";
    // It waits for the answer to what was asked before.
    played.client(0, b"\x03select 1");
    played.client(0, change);
    assert_eq!(played.sent(), [(0, b"\x03select 1".to_vec())]);
    played.server(1, &ok(0));
    assert_eq!(played.sent(), [(0, change.to_vec())]);
    assert_eq!(played.got(), [(1, ok(0))]);
    played.server(1, &switch("client_ed25519", &OTHER_NONCE));
    played.client(2, b"a signature");
    assert_eq!(played.sent(), [(2, b"a signature".to_vec())]);
    played.server(3, &ok(0));
    played.got();
    played.client(0, b"\x0e");
    played.server(1, &ok(0));
    assert_eq!(played.got(), [(1, ok(0))]);
    // Nor is a password asked for here.
    played.client(0, change);
    played.server(1, &[1, 4]);
    played.assert_refused(1, Reason::InsecureTransport);
}
