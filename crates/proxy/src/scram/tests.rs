//! The exchange of RFC 7677, section 3, from both sides, and what must not pass.

use super::*;

/// User "user", password "pencil", salt and iterations of RFC 7677: computed with them by
/// PBKDF2-HMAC-SHA-256.
const VERIFIER: &str = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$\
                        WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
                        wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";
const CLIENT_NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
const SERVER_NONCE: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
const CHALLENGE: &str = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                         s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
const LAST: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
const SIGNATURE: &str = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

fn verifier() -> Verifier {
    VERIFIER.parse().expect("a verifier")
}

fn begun(flag: &str, mechanism: &[u8], end_point: Option<&[u8]>) -> Result<ClientSide, ScramError> {
    let message = format!("{flag},,n=user,r={CLIENT_NONCE}");
    ClientSide::begin((mechanism, message.as_bytes()), end_point, SERVER_NONCE)
}

#[test]
fn the_published_exchange_is_understood_by_the_side_of_the_server() {
    let verifier = verifier();
    let mut side = begun("n", SCRAM, None).expect("it is well formed");
    assert_eq!(side.challenge(&verifier), CHALLENGE);
    let (_, last) = side
        .finish(LAST.as_bytes(), &verifier)
        .expect("it is proven");
    assert_eq!(last, SIGNATURE);
}

#[test]
fn the_clients_key_serves_another_exchange_with_the_server() {
    let verifier = verifier();
    let mut client = begun("n", SCRAM, None).expect("it is well formed");
    client.challenge(&verifier);
    let (key, _) = client
        .finish(LAST.as_bytes(), &verifier)
        .expect("it is proven");
    for end_point in [None, Some(&b"hash of a certificate"[..])] {
        let (mut side, mechanism, first) =
            ServerSide::begin(end_point.is_some(), end_point, "ours".to_owned());
        // A server with the same verifier judges it.
        let mut server = ClientSide::begin((mechanism, first.as_bytes()), end_point, "theirs")
            .expect("it is well formed");
        let challenge = server.challenge(&verifier).to_owned();
        side.take_challenge(challenge.as_bytes(), &verifier)
            .expect("well formed");
        let (last, proven) = side.prove(&key, &verifier).expect("challenged");
        let (_, signature) = server
            .finish(last.as_bytes(), &verifier)
            .expect("the proof is right");
        proven
            .check(signature.as_bytes())
            .expect("the right server");
        assert!(matches!(
            proven.check(SIGNATURE.as_bytes()),
            Err(ScramError::WrongServer)
        ));
    }
}

#[test]
fn what_is_altered_does_not_pass() {
    let verifier = verifier();
    let mut side = begun("n", SCRAM, None).expect("it is well formed");
    side.challenge(&verifier);
    let finish = |message: &str| side.finish(message.as_bytes(), &verifier);
    assert!(matches!(
        finish(&LAST.replace("p=dH", "p=dG")),
        Err(ScramError::WrongPassword)
    ));
    assert!(matches!(
        finish(&LAST.replace("c=biws", "c=eSws")),
        Err(ScramError::OtherChannel)
    ));
    assert!(matches!(
        finish(&LAST.replace("hNlF", "hNlG")),
        Err(ScramError::Malformed)
    ));
    for message in ["", "c=biws", "c=biws,r=x", "p=", ",p=", "c=!,r=x,p=y"] {
        assert!(
            matches!(finish(message), Err(ScramError::Malformed)),
            "{message}"
        );
    }
}

#[test]
fn an_offer_that_was_taken_away_is_seen() {
    let end_point = Some(&b"hash"[..]);
    assert!(matches!(
        begun("y", SCRAM, end_point),
        Err(ScramError::Downgrade)
    ));
    assert!(begun("y", SCRAM, None).is_ok());
    assert!(begun("n", SCRAM, end_point).is_ok());
    assert!(begun(BINDS, SCRAM_PLUS, end_point).is_ok());
    for (flag, mechanism) in [
        (BINDS, SCRAM),
        ("n", SCRAM_PLUS),
        ("p=tls-unique", SCRAM_PLUS),
        ("n", b"PLAIN"),
        ("", SCRAM),
    ] {
        assert!(
            matches!(
                begun(flag, mechanism, end_point),
                Err(ScramError::Malformed)
            ),
            "{flag}"
        );
    }
    assert!(matches!(
        begun(BINDS, SCRAM_PLUS, None),
        Err(ScramError::Malformed)
    ));
}

#[test]
fn a_login_that_is_bound_to_another_certificate_does_not_pass() {
    let verifier = verifier();
    let (mut side, mechanism, first) =
        ServerSide::begin(true, Some(b"that of an attacker"), "ours".to_owned());
    let mut server = ClientSide::begin((mechanism, first.as_bytes()), Some(b"own"), "theirs")
        .expect("it is well formed");
    let challenge = server.challenge(&verifier).to_owned();
    side.take_challenge(challenge.as_bytes(), &verifier)
        .expect("well formed");
    let key = ClientKey(Key::from_bytes([1; 32]));
    let (last, _) = side.prove(&key, &verifier).expect("challenged");
    assert!(matches!(
        server.finish(last.as_bytes(), &verifier),
        Err(ScramError::OtherChannel)
    ));
}

#[test]
fn a_server_with_another_verifier_or_nonce_is_not_answered() {
    let verifier = verifier();
    let (mut side, _, _) = ServerSide::begin(false, None, CLIENT_NONCE.to_owned());
    let mut take = |challenge: &str| side.take_challenge(challenge.as_bytes(), &verifier);
    assert!(matches!(
        take(&CHALLENGE.replace("i=4096", "i=4097")),
        Ok(false)
    ));
    assert!(matches!(
        take(&CHALLENGE.replace("s=W2", "s=W3")),
        Ok(false)
    ));
    for challenge in [
        "r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        "r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        "m=x,r=y",
        "",
    ] {
        assert!(
            matches!(take(challenge), Err(ScramError::Malformed)),
            "{challenge}"
        );
    }
    assert!(take(CHALLENGE).is_ok());
}

#[test]
fn texts_that_are_no_verifiers_are_refused() {
    assert!(!format!("{:?}", verifier()).contains("W22Z"));
    for text in [
        "",
        "md5abc",
        "SCRAM-SHA-1$4096:W22ZaJ0SNY7soEsUEjb6gQ==$a:b",
        &VERIFIER.replace("4096", "0"),
        &VERIFIER.replace("4096", "many"),
        &VERIFIER.replace("W22Z", "!"),
        &VERIFIER[..VERIFIER.len() - 4],
        &format!("{VERIFIER}:more"),
    ] {
        assert_eq!(text.parse::<Verifier>().err(), Some(NoVerifier), "{text}");
    }
}
