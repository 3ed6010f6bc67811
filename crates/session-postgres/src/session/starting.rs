//! From the first word of the server until it is ready: who the client is.

use sqlstate::SqlState;
use wire_postgres::Malformed;
use wire_postgres::backend::{self, Authentication, BackendKeyData, Failure};
use wire_postgres::frontend::SaslInitialResponse;

use super::{End, Phase, ServerKey, Session, Side};

impl Session {
    /// The server has not let the client in, and shall not any more.
    pub fn start_timed_out(&mut self) {
        if self.phase != Phase::Ended {
            // PostgreSQL's own words.
            let message = "canceling authentication due to timeout";
            self.end(&Failure::fatal(SqlState::QUERY_CANCELED, message));
        }
    }

    pub(super) fn read_authentication(&mut self, body: &[u8], message: &[u8]) -> Result<(), End> {
        let Phase::Authenticating {
            offer_was_cut,
            sasl_begins,
            was_asked,
        } = self.phase
        else {
            return Err(Malformed.into());
        };
        match Authentication::read(body)? {
            Authentication::Ok if self.terms.must_be_asked && !was_asked => {
                let message = "the server would let this client in as the user of the proxy's \
                               process: it does not ask for a password on its socket";
                let hint = "Let `local` lines of pg_hba.conf ask for scram-sha-256 in place of \
                            peer, ident or trust, or connect the proxy by a port; or say \
                            accept_peer = true below [proxy].";
                return Err(End(Failure::fatal(
                    SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                    message,
                )
                .hint(hint)));
            }
            Authentication::Ok => {
                self.phase = Phase::Starting;
                self.pass(Side::Server, message);
            }
            Authentication::Sasl(mechanisms) => {
                // Binding to a channel that ends here would bind to the wrong one, but where both
                // look the same (RFC 5929, section 4).
                let is_shared = self.terms.certificate_is_shared;
                let binds = |mechanism: &&[u8]| mechanism.ends_with(b"-PLUS") && !is_shared;
                let offer: Vec<&[u8]> = mechanisms
                    .iter()
                    .copied()
                    .filter(|mechanism| !binds(mechanism))
                    .collect();
                self.phase = Phase::Authenticating {
                    offer_was_cut: offer.len() < mechanisms.len(),
                    sasl_begins: true,
                    was_asked: true,
                };
                backend::write_sasl(&offer, &mut self.to_client.bytes);
            }
            Authentication::SaslContinue(_)
            | Authentication::SaslFinal(_)
            | Authentication::Other(_) => {
                self.phase = Phase::Authenticating {
                    offer_was_cut,
                    sasl_begins,
                    was_asked: true,
                };
                self.pass(Side::Server, message);
            }
        }
        Ok(())
    }

    /// The client's choice of a mechanism. Where both sides speak TLS, a client that could bind to
    /// the channel says so ("y"), and the server, which offered just that, takes it for an attack.
    pub(super) fn read_sasl_choice(&mut self, body: &[u8]) -> Result<(), End> {
        let choice = SaslInitialResponse::read(body)?;
        let Phase::Authenticating {
            offer_was_cut,
            was_asked,
            ..
        } = self.phase
        else {
            return Ok(());
        };
        self.phase = Phase::Authenticating {
            offer_was_cut,
            sasl_begins: false,
            was_asked,
        };
        if offer_was_cut && choice.message.first() == Some(&b'y') {
            let message = "SCRAM with channel binding cannot pass a proxy that ends TLS";
            let hint = "Set logins in the configuration of the proxy, or connect with \
                        channel_binding=disable (PGCHANNELBINDING=disable).";
            return Err(End(Failure::fatal(
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                message,
            )
            .hint(hint)));
        }
        Ok(())
    }

    /// A setting that the server reports.
    pub(super) fn read_setting(&mut self, body: &[u8]) -> Result<(), End> {
        let (name, value) = backend::read_parameter_status(body)?;
        self.terms.facts.note(name, value);
        if let Some(protected) = &mut self.protected {
            protected.note_setting(name, value);
        }
        Ok(())
    }

    /// Before the client is told that the session has begun: whether it may be on this server.
    pub(super) fn check_server(&self) -> Result<(), End> {
        match self.has_begun() {
            true => Ok(()),
            false => self.terms.target.check(self.terms.facts).map_err(End),
        }
    }

    pub(super) fn read_key(&mut self, body: &[u8]) -> Result<(), End> {
        let data = BackendKeyData::read(body)?;
        let key = match &self.terms.cancel_key {
            Some(own) => &own[..data.key.len().min(own.len())],
            None => data.key,
        };
        backend::write_key_data(data.process_id, key, &mut self.to_client.bytes);
        self.server_key = Some(ServerKey {
            process_id: data.process_id,
            key: data.key.to_vec(),
        });
        Ok(())
    }
}
