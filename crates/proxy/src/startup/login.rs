//! A login by SCRAM that the proxy speaks with both sides, for users whose verifier it has.
//!
//! For them nothing else will do: whoever stands in the server's place and does not know the
//! verifier gets an error. He cannot ask for a password, nor let the client in.

use std::io;

use crypto::secret::Key;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use wire_postgres::backend::{self, Authentication};
use wire_postgres::frontend::{self, SaslInitialResponse};
use wire_postgres::{HEADER_SIZE, Header};

use super::{StartError, malformed};
use crate::scram::{ClientSide, SCRAM, SCRAM_PLUS, ScramError, ServerSide, Verifier};
use crate::stream::Stream;

/// Far more than SCRAM and the first messages of a server have.
const MESSAGE_SIZE_MAX: usize = 64 * 1024;
/// Random bytes of a nonce, as PostgreSQL has (`SCRAM_RAW_NONCE_LEN`).
const NONCE_SIZE: usize = 18;

/// Both sides of a login, and what each can be bound to.
pub(super) struct Login<'a> {
    pub client: &'a mut Stream,
    pub server: &'a mut Stream,
    /// What the server has said already.
    pub heard: Vec<u8>,
    /// None: the proxy has none of this user, who may not log in, and shall not learn why.
    pub verifier: Option<&'a Verifier>,
    pub user: &'a str,
    pub client_end_point: Option<&'a [u8]>,
    pub server_end_point: Option<&'a [u8]>,
    /// Of the server, for the client.
    pub said: Vec<u8>,
}

/// What a login waits for.
enum Wanted {
    /// The offer of mechanisms.
    Offer,
    /// The answer to the first message.
    Challenge,
    /// The server's signature.
    Signature,
    /// The word that the client is let in.
    Ok,
}

/// What the server said, as it was waited for.
#[derive(Default)]
struct Said {
    /// Of an offer.
    has_binding: bool,
    /// Of a challenge and a signature: what the mechanism says.
    text: Vec<u8>,
}

impl Login<'_> {
    /// Logs in on both sides. Gives what the server said that the session shall take: that the
    /// client is let in.
    pub(super) async fn run(mut self) -> Result<Vec<u8>, StartError> {
        let offers_binding = self.server_says(&Wanted::Offer).await?.has_binding;
        let said = std::mem::take(&mut self.said);
        send_client(self.client, &said).await?;
        let mut client = self.greet_client().await?;
        let nonce = nonce()?;
        let (mut server, mechanism, first) =
            ServerSide::begin(offers_binding, self.server_end_point, nonce);
        let mut out = Vec::new();
        frontend::write_sasl_initial(mechanism, first.as_bytes(), &mut out);
        send_server(self.server, &out).await?;
        let challenge = self.server_says(&Wanted::Challenge).await?.text;
        let nobody = self.check(Verifier::of_nobody(
            &challenge,
            [random_key()?, random_key()?],
        ))?;
        let verifier = self.verifier.unwrap_or(&nobody);
        let is_same = self.check(server.take_challenge(&challenge, verifier))?;

        out.clear();
        backend::write_sasl_continue(client.challenge(verifier).as_bytes(), &mut out);
        send_client(self.client, &out).await?;
        let message = read_password(self.client).await?;
        if !is_same {
            // For the log: only who knows a password is told what the file holds.
            tracing::warn!(user = self.user, error = %ScramError::OtherVerifier, "logins");
        }
        let (key, last_to_client) = match client.finish(&message[HEADER_SIZE..], verifier) {
            Err(ScramError::WrongPassword) => return self.fail(&server).await,
            finished => self.check(finished)?,
        };
        if !is_same {
            return self.check(Err(ScramError::OtherVerifier));
        }

        let (last, proven) = self.check(server.prove(&key, verifier))?;
        out.clear();
        frontend::write_sasl_response(last.as_bytes(), &mut out);
        send_server(self.server, &out).await?;
        let signature = self.server_says(&Wanted::Signature).await?.text;
        self.check(proven.check(&signature))?;
        out.clear();
        backend::write_sasl_final(last_to_client.as_bytes(), &mut out);
        send_client(self.client, &out).await?;
        self.server_says(&Wanted::Ok).await?;
        Ok(self.said)
    }

    /// Has the server refuse the login, so that it says of users whom the proxy knows what it says
    /// of all others.
    async fn fail(mut self, server: &ServerSide) -> Result<Vec<u8>, StartError> {
        let last = self.check(server.fail(&random_key()?))?;
        let mut out = Vec::new();
        frontend::write_sasl_response(last.as_bytes(), &mut out);
        send_server(self.server, &out).await?;
        self.server_says(&Wanted::Signature).await?;
        self.check(Err(ScramError::WrongPassword))
    }

    fn check<T>(&self, result: Result<T, ScramError>) -> Result<T, StartError> {
        result.map_err(|error| StartError::Refused(error.failure(self.user)))
    }

    /// Makes the proxy's offer to the client, and takes its choice.
    async fn greet_client(&mut self) -> Result<ClientSide, StartError> {
        let mechanisms: &[&[u8]] = match self.client_end_point {
            Some(_) => &[SCRAM_PLUS, SCRAM],
            None => &[SCRAM],
        };
        let mut out = Vec::new();
        backend::write_sasl(mechanisms, &mut out);
        send_client(self.client, &out).await?;
        let message = read_password(self.client).await?;
        let choice = SaslInitialResponse::read(&message[HEADER_SIZE..]).map_err(|_| malformed())?;
        let choice = (choice.mechanism, choice.message);
        self.check(ClientSide::begin(choice, self.client_end_point, &nonce()?))
    }

    async fn next_of_server(&mut self) -> Result<Vec<u8>, StartError> {
        let heard = Header::read(&self.heard, MESSAGE_SIZE_MAX);
        let heard = heard.map_err(|error| StartError::Server(io::Error::other(error)))?;
        match heard {
            Some(header) if header.size <= self.heard.len() => {
                Ok(self.heard.drain(..header.size).collect())
            }
            // What was heard ends where the server waits for an answer.
            _ => read(self.server).await.map_err(StartError::Server),
        }
    }

    /// Waits for a message of the server. Notices before it, and the last word of a login that
    /// succeeds, are kept for the client; a refusal goes to it at once.
    async fn server_says(&mut self, wanted: &Wanted) -> Result<Said, StartError> {
        loop {
            let message = self.next_of_server().await?;
            let is_offer = matches!(wanted, Wanted::Offer);
            match message[0] {
                backend::kind::AUTHENTICATION => {
                    let wrong = self.check(Err(ScramError::WrongServer));
                    let Ok(authentication) = Authentication::read(&message[HEADER_SIZE..]) else {
                        return wrong;
                    };
                    return match (wanted, authentication) {
                        (Wanted::Offer, Authentication::Sasl(mechanisms))
                            if mechanisms.contains(&SCRAM) =>
                        {
                            let has_binding = mechanisms.contains(&SCRAM_PLUS);
                            Ok(Said {
                                has_binding,
                                ..Said::default()
                            })
                        }
                        (Wanted::Challenge, Authentication::SaslContinue(said))
                        | (Wanted::Signature, Authentication::SaslFinal(said)) => Ok(Said {
                            text: said.to_vec(),
                            ..Said::default()
                        }),
                        (Wanted::Ok, Authentication::Ok) => {
                            self.said.extend_from_slice(&message);
                            Ok(Said::default())
                        }
                        (Wanted::Offer, _) => self.check(Err(ScramError::OtherMethod)),
                        _ => wrong,
                    };
                }
                backend::kind::ERROR => {
                    self.said.extend_from_slice(&message);
                    let said = std::mem::take(&mut self.said);
                    send_client(self.client, &said).await?;
                    return Err(StartError::Told);
                }
                backend::kind::NOTICE => {}
                backend::kind::NEGOTIATE_VERSION if is_offer => {}
                _ => return self.check(Err(ScramError::WrongServer)),
            }
            self.said.extend_from_slice(&message);
            if self.said.len() > MESSAGE_SIZE_MAX {
                return self.check(Err(ScramError::WrongServer));
            }
        }
    }
}

fn nonce() -> Result<String, StartError> {
    use base64::Engine as _;

    let bytes = random::<NONCE_SIZE>()?;
    Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// A key that nobody has.
fn random_key() -> Result<Key, StartError> {
    random().map(Key::from_bytes)
}

fn random<const SIZE: usize>() -> Result<[u8; SIZE], StartError> {
    let mut bytes = [0; SIZE];
    getrandom::fill(&mut bytes)
        .map_err(|error| StartError::Server(io::Error::other(error.to_string())))?;
    Ok(bytes)
}

async fn send_client(client: &mut Stream, bytes: &[u8]) -> Result<(), StartError> {
    client.write_all(bytes).await.map_err(StartError::Client)?;
    client.flush().await.map_err(StartError::Client)
}

async fn send_server(server: &mut Stream, bytes: &[u8]) -> Result<(), StartError> {
    server.write_all(bytes).await.map_err(StartError::Server)?;
    server.flush().await.map_err(StartError::Server)
}

async fn read_password(client: &mut Stream) -> Result<Vec<u8>, StartError> {
    let message = read(client).await.map_err(StartError::Client)?;
    match message[0] {
        frontend::kind::PASSWORD => Ok(message),
        _ => Err(malformed()),
    }
}

/// One message, and not a byte more.
async fn read(stream: &mut Stream) -> io::Result<Vec<u8>> {
    let mut message = vec![0; HEADER_SIZE];
    stream.read_exact(&mut message).await?;
    let header = Header::read(&message, MESSAGE_SIZE_MAX).map_err(io::Error::other)?;
    let size = header.map_or(HEADER_SIZE, |header| header.size);
    message.resize(size, 0);
    stream.read_exact(&mut message[HEADER_SIZE..]).await?;
    Ok(message)
}
