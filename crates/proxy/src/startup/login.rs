//! A login by SCRAM that the proxy speaks with both sides, for users whose verifier it has.

use std::io;

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
    pub verifier: &'a Verifier,
    pub user: &'a str,
    pub client_end_point: Option<&'a [u8]>,
    pub server_end_point: Option<&'a [u8]>,
}

/// What the server said next.
enum Said {
    /// What the mechanism says.
    Scram(Vec<u8>),
    /// Another message: the session passes it on.
    Other(Vec<u8>),
}

impl Login<'_> {
    /// Logs in on both sides. Gives what the server said that the session shall take: nothing, when
    /// the login is done; else the server asks for something else than SCRAM, or refuses.
    pub(super) async fn run(mut self) -> Result<Vec<u8>, StartError> {
        let offers_binding = match self.offer().await? {
            Ok(offers_binding) => offers_binding,
            Err(said) => return Ok(said),
        };
        let mut client = self.greet_client().await?;
        let nonce = nonce()?;
        let (mut server, mechanism, first) =
            ServerSide::begin(offers_binding, self.server_end_point, nonce);
        let mut out = Vec::new();
        frontend::write_sasl_initial(mechanism, first.as_bytes(), &mut out);
        send_server(self.server, &out).await?;
        let challenge = match self.server_says().await? {
            Said::Scram(challenge) => challenge,
            Said::Other(said) => return Ok(said),
        };
        let taken = server.take_challenge(&challenge, self.verifier);
        self.check(taken)?;

        out.clear();
        backend::write_sasl_continue(client.challenge(self.verifier).as_bytes(), &mut out);
        send_client(self.client, &out).await?;
        let message = read_password(self.client).await?;
        let finished = client.finish(&message[HEADER_SIZE..], self.verifier);
        let (key, last_to_client) = self.check(finished)?;

        let (last, proven) = self.check(server.prove(&key, self.verifier))?;
        out.clear();
        frontend::write_sasl_response(last.as_bytes(), &mut out);
        send_server(self.server, &out).await?;
        let signature = match self.server_says().await? {
            Said::Scram(signature) => signature,
            Said::Other(said) => return Ok(said),
        };
        self.check(proven.check(&signature))?;
        out.clear();
        backend::write_sasl_final(last_to_client.as_bytes(), &mut out);
        send_client(self.client, &out).await?;
        Ok(Vec::new())
    }

    fn check<T>(&self, result: Result<T, ScramError>) -> Result<T, StartError> {
        result.map_err(|error| StartError::Refused(error.failure(self.user)))
    }

    /// Waits for the server's offer: whether it offers channel binding; as an error, what it says
    /// instead.
    async fn offer(&mut self) -> Result<Result<bool, Vec<u8>>, StartError> {
        let mut said = Vec::new();
        loop {
            let message = read(self.server).await.map_err(StartError::Server)?;
            let body = &message[HEADER_SIZE..];
            if message[0] == backend::kind::AUTHENTICATION
                && let Ok(Authentication::Sasl(mechanisms)) = Authentication::read(body)
                && mechanisms.contains(&SCRAM)
            {
                let offers_binding = mechanisms.contains(&SCRAM_PLUS);
                send_client(self.client, &said).await?;
                return Ok(Ok(offers_binding));
            }
            let goes_on = matches!(
                message[0],
                backend::kind::NEGOTIATE_VERSION | backend::kind::NOTICE
            );
            said.extend_from_slice(&message);
            if !goes_on || said.len() > MESSAGE_SIZE_MAX {
                return Ok(Err(said));
            }
        }
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

    async fn server_says(&mut self) -> Result<Said, StartError> {
        let message = read(self.server).await.map_err(StartError::Server)?;
        if message[0] == backend::kind::AUTHENTICATION {
            match Authentication::read(&message[HEADER_SIZE..]) {
                Ok(Authentication::SaslContinue(said) | Authentication::SaslFinal(said)) => {
                    return Ok(Said::Scram(said.to_vec()));
                }
                // A server that lets the client in without its proof is none.
                _ => return self.check(Err(ScramError::WrongServer)),
            }
        }
        Ok(Said::Other(message))
    }
}

fn nonce() -> Result<String, StartError> {
    use base64::Engine as _;

    let mut bytes = [0; NONCE_SIZE];
    getrandom::fill(&mut bytes)
        .map_err(|error| StartError::Server(io::Error::other(error.to_string())))?;
    Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
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
