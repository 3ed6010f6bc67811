//! SCRAM-SHA-256 (RFC 5802, RFC 7677) with a verifier and no password: the proxy is the server of
//! its client, and a client of its server.
//!
//! A verifier is what PostgreSQL keeps of a password. By it the proxy checks the client's proof;
//! the proof shows it the client's key (RFC 5802, section 3: ClientKey := ClientProof XOR
//! ClientSignature), and with that it proves to the server, which has the same verifier, that the
//! client knows the password. The password itself, and what it could be tried out with elsewhere,
//! is never known here. Each side may bind the login to its own channel.
//!
//! No I/O happens here, and no randomness is asked for.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use crypto::mac;
use crypto::secret::{KEY_SIZE, Key};
use sqlstate::SqlState;
use wire_postgres::backend::Failure;

/// The mechanism without channel binding.
pub const SCRAM: &[u8] = b"SCRAM-SHA-256";
/// The mechanism that binds to the channel.
pub const SCRAM_PLUS: &[u8] = b"SCRAM-SHA-256-PLUS";

/// Of the client's first message: it binds to the certificate of the other side (RFC 5929, 4).
const BINDS: &str = "p=tls-server-end-point";

/// What a server keeps of a password, in PostgreSQL's form:
/// `SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY`.
pub struct Verifier {
    iterations: u32,
    /// In base64, as it is sent.
    salt: String,
    stored_key: Key,
    server_key: Key,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Verifier(..)")
    }
}

/// A text that is no verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no verifier of SCRAM-SHA-256, as PostgreSQL keeps it in pg_authid.rolpassword")]
pub struct NoVerifier;

impl FromStr for Verifier {
    type Err = NoVerifier;

    fn from_str(text: &str) -> Result<Self, NoVerifier> {
        let parts = || {
            let (method, rest) = text.split_once('$')?;
            let (parameters, keys) = rest.split_once('$')?;
            let (iterations, salt) = parameters.split_once(':')?;
            let (stored_key, server_key) = keys.split_once(':')?;
            (method.as_bytes() == SCRAM).then_some(())?;
            BASE64.decode(salt).ok()?;
            Some(Self {
                iterations: iterations.parse().ok().filter(|count| *count > 0)?,
                salt: salt.to_owned(),
                stored_key: key(stored_key)?,
                server_key: key(server_key)?,
            })
        };
        parts().ok_or(NoVerifier)
    }
}

impl Verifier {
    /// A verifier that no password has, with the salt and the count of a server's challenge: who
    /// logs in by it cannot tell that the proxy does not know the user. `keys` are random.
    ///
    /// # Errors
    /// The challenge is malformed.
    pub fn of_nobody(challenge: &[u8], keys: [Key; 2]) -> Result<Self, ScramError> {
        let (_, salt, iterations) = parts_of(text(challenge)?)?;
        let [stored_key, server_key] = keys;
        Ok(Self {
            iterations: iterations.parse().map_err(|_| ScramError::Malformed)?,
            salt: salt.to_owned(),
            stored_key,
            server_key,
        })
    }
}

/// Nonce, salt and count of iterations of a server's challenge.
fn parts_of(challenge: &str) -> Result<(&str, &str, &str), ScramError> {
    let (nonce, rest) = attribute(challenge, 'r')?;
    let (salt, rest) = attribute(rest, 's')?;
    let (iterations, _) = attribute(rest, 'i')?;
    Ok((nonce, salt, iterations))
}

/// A login that fails, and how the client is told.
#[derive(Debug, thiserror::Error)]
pub enum ScramError {
    /// A message that is none of SCRAM's.
    #[error("malformed SCRAM message")]
    Malformed,
    /// The client could bind to the channel and believes that the other side cannot, although that
    /// was offered: somebody between them took the offer away.
    #[error("SCRAM channel binding negotiation error")]
    Downgrade,
    /// The client sees another certificate than the proxy shows.
    #[error("SCRAM channel binding check failed")]
    OtherChannel,
    /// The password is wrong.
    #[error("password authentication failed")]
    WrongPassword,
    /// The server has another verifier than the file of logins.
    #[error("the server has another verifier for this user than the file of logins")]
    OtherVerifier,
    /// The server asks for something else, or for nothing.
    #[error("the server does not ask this user for SCRAM-SHA-256")]
    OtherMethod,
    /// The server does not know the verifier that it claims to have.
    #[error("the server does not prove that it knows the user")]
    WrongServer,
}

impl ScramError {
    /// What the client is told.
    pub fn failure(&self, user: &str) -> Failure {
        match self {
            Self::Malformed => Failure::fatal(SqlState::PROTOCOL_VIOLATION, self.to_string()),
            // PostgreSQL's own words.
            Self::WrongPassword => {
                let message = format!("password authentication failed for user \"{user}\"");
                Failure::fatal(SqlState::INVALID_PASSWORD, message)
            }
            Self::Downgrade | Self::OtherChannel | Self::WrongServer => Failure::fatal(
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                self.to_string(),
            ),
            Self::OtherMethod => Failure::fatal(
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                self.to_string(),
            )
            .hint(
                "The proxy has a verifier of the user in its file of logins, so that it knows the \
                 server by it: have pg_hba.conf of the server ask for scram-sha-256, or take the \
                 user out of the file.",
            ),
            Self::OtherVerifier => Failure::fatal(
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                self.to_string(),
            )
            .hint("The password was changed: write the file of logins of the proxy anew."),
        }
    }
}

fn key(text: &str) -> Option<Key> {
    let mut bytes = BASE64.decode(text).ok()?;
    let key = Key::from_slice(&bytes);
    zeroize::Zeroize::zeroize(&mut bytes);
    key
}

fn text(message: &[u8]) -> Result<&str, ScramError> {
    std::str::from_utf8(message).map_err(|_| ScramError::Malformed)
}

/// The value of the attribute that a message begins with, and what comes behind its comma.
fn attribute(message: &str, name: char) -> Result<(&str, &str), ScramError> {
    let value = message
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('='))
        .ok_or(ScramError::Malformed)?;
    Ok(value.split_once(',').unwrap_or((value, "")))
}

fn is_nonce(text: &str) -> bool {
    // RFC 5802, section 7: printable, and no comma, which ended it.
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn xor(left: &[u8; KEY_SIZE], right: &[u8; KEY_SIZE]) -> Key {
    let mut both = *left;
    for (one, other) in both.iter_mut().zip(right) {
        *one ^= other;
    }
    let key = Key::from_bytes(both);
    zeroize::Zeroize::zeroize(&mut both);
    key
}

/// The proxy as the server of its client: what the client's first message said.
#[derive(Debug)]
pub struct ClientSide {
    /// What the client's last message must repeat of the first: its header, and the channel's data.
    channel: Vec<u8>,
    /// The client's first message without its header.
    first: String,
    /// The client's nonce and the proxy's.
    nonce: String,
    /// The proxy's first answer.
    answer: String,
}

impl ClientSide {
    /// Takes the client's first message and the mechanism that it chose. `end_point` is what the
    /// proxy offered to bind to, if it did; `nonce` is fresh.
    ///
    /// # Errors
    /// The message is malformed, or its choice does not fit the offer.
    pub fn begin(
        (mechanism, message): (&[u8], &[u8]),
        end_point: Option<&[u8]>,
        nonce: &str,
    ) -> Result<Self, ScramError> {
        let message = text(message)?;
        // gs2-header: the flag, and the name of whom to act for, which PostgreSQL does not take.
        let (flag, rest) = message.split_once(',').ok_or(ScramError::Malformed)?;
        let first = rest.strip_prefix(',').ok_or(ScramError::Malformed)?;
        let header = &message[..message.len() - first.len()];
        let bound = match (mechanism, flag, end_point) {
            (SCRAM_PLUS, BINDS, Some(end_point)) => end_point,
            (SCRAM, "n", _) | (SCRAM, "y", None) => &[],
            (SCRAM, "y", Some(_)) => return Err(ScramError::Downgrade),
            _ => return Err(ScramError::Malformed),
        };
        // The name is the startup packet's, as with PostgreSQL.
        let (_, rest) = attribute(first, 'n')?;
        let (client_nonce, _) = attribute(rest, 'r')?;
        if !is_nonce(client_nonce) {
            return Err(ScramError::Malformed);
        }
        Ok(Self {
            channel: [header.as_bytes(), bound].concat(),
            first: first.to_owned(),
            nonce: format!("{client_nonce}{nonce}"),
            answer: String::new(),
        })
    }

    /// The proxy's answer to the first message.
    pub fn challenge(&mut self, verifier: &Verifier) -> &str {
        let Verifier {
            salt, iterations, ..
        } = verifier;
        self.answer = format!("r={},s={salt},i={iterations}", self.nonce);
        &self.answer
    }

    /// Takes the client's last message. Gives the client's key, and the proxy's last message.
    ///
    /// # Errors
    /// The proof is wrong, or the message.
    pub fn finish(
        &self,
        message: &[u8],
        verifier: &Verifier,
    ) -> Result<(ClientKey, String), ScramError> {
        let message = text(message)?;
        let (without_proof, proof) = message.rsplit_once(",p=").ok_or(ScramError::Malformed)?;
        let (channel, rest) = attribute(without_proof, 'c')?;
        let (nonce, _) = attribute(rest, 'r')?;
        let channel = BASE64.decode(channel).map_err(|_| ScramError::Malformed)?;
        if nonce != self.nonce {
            return Err(ScramError::Malformed);
        }
        if channel != self.channel {
            return Err(ScramError::OtherChannel);
        }
        let proof = key(proof).ok_or(ScramError::Malformed)?;
        let exchange = format!("{},{},{without_proof}", self.first, self.answer);
        let signature = mac::authenticate(&verifier.stored_key, exchange.as_bytes());
        let client_key = xor(proof.expose(), &signature);
        let stored_key = Key::from_bytes(mac::checksum(client_key.expose()));
        if !stored_key.constant_time_eq(&verifier.stored_key) {
            return Err(ScramError::WrongPassword);
        }
        let signature = mac::authenticate(&verifier.server_key, exchange.as_bytes());
        let last = format!("v={}", BASE64.encode(signature));
        Ok((ClientKey(client_key), last))
    }
}

/// What a client proves its knowledge of the password with.
pub struct ClientKey(Key);

/// The proxy as a client of its server.
#[derive(Debug)]
pub struct ServerSide {
    /// The flag, what the header says else, and the channel's data: in base64, as it is sent.
    channel: String,
    /// The proxy's first message without its header.
    first: String,
    nonce: String,
    /// What the server answers by.
    challenge: Option<(String, String)>,
}

impl ServerSide {
    /// Begins, and gives mechanism and first message. `offers_binding`: the server does so.
    /// `end_point` is what the login is bound to; None where there is no TLS, or the certificate
    /// has no such thing.
    pub fn begin(
        offers_binding: bool,
        end_point: Option<&[u8]>,
        nonce: String,
    ) -> (Self, &'static [u8], String) {
        let (mechanism, flag, bound) = match end_point {
            Some(end_point) if offers_binding => (SCRAM_PLUS, BINDS, end_point),
            Some(_) => (SCRAM, "y", &[][..]),
            None => (SCRAM, "n", &[][..]),
        };
        // PostgreSQL takes the name of the startup packet.
        let first = format!("n=,r={nonce}");
        let message = format!("{flag},,{first}");
        let channel = [flag.as_bytes(), b",,", bound].concat();
        let side = Self {
            channel: BASE64.encode(channel),
            first,
            nonce,
            challenge: None,
        };
        (side, mechanism, message)
    }

    /// Takes the server's answer to the first message. Gives whether it is that of a verifier.
    ///
    /// # Errors
    /// The message is malformed.
    pub fn take_challenge(
        &mut self,
        message: &[u8],
        verifier: &Verifier,
    ) -> Result<bool, ScramError> {
        let message = text(message)?;
        let (nonce, salt, iterations) = parts_of(message)?;
        let is_longer = nonce.len() > self.nonce.len() && nonce.starts_with(&self.nonce);
        if !is_longer || !is_nonce(nonce) {
            return Err(ScramError::Malformed);
        }
        self.challenge = Some((nonce.to_owned(), message.to_owned()));
        Ok(salt == verifier.salt && iterations.parse() == Ok(verifier.iterations))
    }

    /// A last message that proves nothing, so that the server refuses the login in its own words.
    ///
    /// # Errors
    /// There was no challenge.
    pub fn fail(&self, proof: &Key) -> Result<String, ScramError> {
        let (nonce, _) = self.challenge.as_ref().ok_or(ScramError::Malformed)?;
        let proof = BASE64.encode(proof.expose());
        Ok(format!("c={},r={nonce},p={proof}", self.channel))
    }

    /// The proxy's last message, and what the server's last one must be.
    ///
    /// # Errors
    /// There was no challenge.
    pub fn prove(
        &self,
        key: &ClientKey,
        verifier: &Verifier,
    ) -> Result<(String, Proven), ScramError> {
        let (nonce, challenge) = self.challenge.as_ref().ok_or(ScramError::Malformed)?;
        let without_proof = format!("c={},r={nonce}", self.channel);
        let exchange = format!("{},{challenge},{without_proof}", self.first);
        let signature = mac::authenticate(&verifier.stored_key, exchange.as_bytes());
        let proof = xor(key.0.expose(), &signature);
        let message = format!("{without_proof},p={}", BASE64.encode(proof.expose()));
        let signature = mac::authenticate(&verifier.server_key, exchange.as_bytes());
        Ok((message, Proven(signature)))
    }
}

/// What the server has to answer to the proof.
#[derive(Debug)]
pub struct Proven([u8; KEY_SIZE]);

impl Proven {
    /// Takes the server's last message.
    ///
    /// # Errors
    /// The server does not know the verifier.
    pub fn check(&self, message: &[u8]) -> Result<(), ScramError> {
        let (signature, _) = attribute(text(message)?, 'v')?;
        let signature = key(signature).ok_or(ScramError::Malformed)?;
        let wanted = Key::from_bytes(self.0);
        if signature.constant_time_eq(&wanted) {
            Ok(())
        } else {
            Err(ScramError::WrongServer)
        }
    }
}

#[cfg(test)]
mod tests;
