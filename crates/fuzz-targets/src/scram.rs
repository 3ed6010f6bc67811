//! The messages of a login by SCRAM, from both sides. The first byte says what is offered; then
//! come a message of the client, its last one, and two of the server, a line each. `%` stands for
//! the nonce that the other side must repeat.

use proxy::scram::{ClientSide, SCRAM, SCRAM_PLUS, ServerSide, Verifier};

const VERIFIER: &str = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$\
                        WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
                        wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";
const NONCE: &str = "fresh";

/// Nobody gets in without the password, and no server passes without the verifier.
pub fn run(bytes: &[u8]) {
    let Some((&offer, rest)) = bytes.split_first() else {
        return;
    };
    // Whatever it is: no crash.
    let _ = String::from_utf8_lossy(rest).parse::<Verifier>();
    let verifier: Verifier = VERIFIER.parse().expect("a verifier");
    let mut lines = rest.split(|&byte| byte == b'\n');
    let mut next = |nonce: &str| {
        let line = lines.next().unwrap_or_default();
        let mut message = Vec::new();
        for &byte in line {
            match byte {
                b'%' => message.extend_from_slice(nonce.as_bytes()),
                byte => message.push(byte),
            }
        }
        message
    };
    let end_point = (offer & 1 > 0).then_some(&b"a certificate"[..]);
    let mechanism = if offer & 2 > 0 { SCRAM_PLUS } else { SCRAM };
    let first = next("");
    if let Ok(mut client) = ClientSide::begin((mechanism, &first), end_point, NONCE) {
        let challenge = client.challenge(&verifier).to_owned();
        let nonce = challenge
            .strip_prefix("r=")
            .and_then(|rest| rest.split(',').next());
        let last = next(nonce.expect("a challenge begins with the nonce"));
        assert!(
            client.finish(&last, &verifier).is_err(),
            "a forged proof passes"
        );
    }
    let (mut server, _, _) = ServerSide::begin(offer & 4 > 0, end_point, NONCE.to_owned());
    let challenge = next(NONCE);
    let _ = server.take_challenge(&challenge, &verifier);
}
