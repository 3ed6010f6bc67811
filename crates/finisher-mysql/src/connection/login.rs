//! The login: a user of the server's, by `mysql_native_password`.

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use session_core::StatementError;
use wire_mysql::answer::ERR;
use wire_mysql::greeting::{Greeting, NONCE_SIZE};
use wire_mysql::login::{Head, Login, SWITCH, Switch};
use wire_mysql::packet;

use super::{CAPABILITIES, Connection, Failure, WORD_SIZE_MAX, refused, unreadable};

const PLUGIN: &[u8] = b"mysql_native_password";
/// `utf8mb4_general_ci`
const COLLATION: u8 = 45;

impl Connection {
    pub(super) async fn log_in(&mut self, user: &str, password: &str) -> Result<(), Failure> {
        let said = self.next(WORD_SIZE_MAX).await?;
        if said.first() == Some(&ERR) {
            return Err(Failure::Last(refused(&said)));
        }
        let greeting = Greeting::read(&said).map_err(unreadable)?;
        let head = Head {
            capabilities: CAPABILITIES,
            packet_size_max: 1 << 30,
            collation: COLLATION,
        };
        let proof = proof(password, &greeting.nonce);
        let mut sequence = 1;
        let login = Login::new(head, user.as_bytes(), (PLUGIN, &proof));
        packet::write(&mut sequence, &mut self.output, |out| login.write(out));
        self.send().await?;
        let said = self.next(WORD_SIZE_MAX).await?;
        match said.first() {
            Some(&ERR) => Err(Failure::Last(refused(&said))),
            Some(&SWITCH) => {
                let switch = Switch::read(&said).map_err(unreadable)?;
                let nonce = switch.nonce().filter(|_| switch.plugin == Some(PLUGIN));
                let nonce = nonce.ok_or_else(|| {
                    let message = "the finisher asks for another method of login";
                    Failure::Last(StatementError::defect(message))
                })?;
                let mut sequence = 3;
                packet::write_bytes(
                    &self::proof(password, &nonce),
                    &mut sequence,
                    &mut self.output,
                );
                self.send().await?;
                self.word().await.map(drop)
            }
            _ => Ok(()),
        }
    }
}

/// `SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password)))`
fn proof(password: &str, nonce: &[u8; NONCE_SIZE]) -> Vec<u8> {
    let hash = |parts: &[&[u8]]| {
        let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
        for part in parts {
            context.update(part);
        }
        context.finish()
    };
    let first = hash(&[password.as_bytes()]);
    let second = hash(&[first.as_ref()]);
    let mask = hash(&[nonce, second.as_ref()]);
    let both = first.as_ref().iter().zip(mask.as_ref());
    both.map(|(one, other)| one ^ other).collect()
}
