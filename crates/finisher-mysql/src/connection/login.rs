//! The login: a user of the server's, by the plugin of the product.

use aws_lc_rs::digest::{Algorithm, Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use session_core::StatementError;
use wire_mysql::answer::ERR;
use wire_mysql::greeting::{Greeting, NONCE_SIZE};
use wire_mysql::login::{Head, Login, SWITCH, Switch};
use wire_mysql::packet;
use zeroize::Zeroizing;

use super::{CAPABILITIES, Connection, Failure, WORD_SIZE_MAX, refused, unreadable};
use crate::product::Product;

/// What `caching_sha2_password` says before the end of a login, and that it wants the password.
const MORE: u8 = 1;
const FULL: u8 = 4;
/// `utf8mb4_general_ci`
const COLLATION: u8 = 45;

impl Connection {
    pub(super) async fn log_in(
        &mut self,
        product: Product,
        user: &str,
        password: &str,
    ) -> Result<(), Failure> {
        let plugin = product.plugin().as_bytes();
        let said = self.next(WORD_SIZE_MAX).await?;
        if said.first() == Some(&ERR) {
            return Err(Failure::Last(refused(&said)));
        }
        let greeting = Greeting::read(&said).map_err(unreadable)?;
        self.number = greeting.connection;
        let head = Head {
            capabilities: CAPABILITIES,
            packet_size_max: 1 << 30,
            collation: COLLATION,
        };
        let proof = proof(product, password, &greeting.nonce);
        let mut sequence = 1;
        let login = Login::new(head, user.as_bytes(), (plugin, &proof));
        packet::write(&mut sequence, &mut self.output, |out| login.write(out));
        self.send().await?;
        let said = self.next(WORD_SIZE_MAX).await?;
        match said.first() {
            Some(&ERR) => Err(Failure::Last(refused(&said))),
            Some(&SWITCH) => {
                let switch = Switch::read(&said).map_err(unreadable)?;
                let nonce = switch.nonce().filter(|_| switch.plugin == Some(plugin));
                let nonce = nonce.ok_or_else(|| {
                    let message = "the finisher asks for another method of login";
                    Failure::Last(StatementError::defect(message))
                })?;
                let mut sequence = 3;
                packet::write_bytes(
                    &self::proof(product, password, &nonce),
                    &mut sequence,
                    &mut self.output,
                );
                self.send().await?;
                let said = self.next(WORD_SIZE_MAX).await?;
                self.end_login(&said, password, 5).await
            }
            _ => self.end_login(&said, password, 3).await,
        }
    }

    /// Goes on behind the proof. A server that has not heard the password of a user before asks
    /// for it: the socket is private.
    async fn end_login(
        &mut self,
        said: &[u8],
        password: &str,
        mut sequence: u8,
    ) -> Result<(), Failure> {
        match said {
            [ERR, ..] => Err(Failure::Last(refused(said))),
            [MORE, FULL] => {
                let clear = Zeroizing::new([password.as_bytes(), b"\0"].concat());
                packet::write_bytes(&clear, &mut sequence, &mut self.output);
                self.send().await?;
                self.word().await.map(drop)
            }
            [MORE, ..] => self.word().await.map(drop),
            _ => Ok(()),
        }
    }
}

/// `SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password)))`; with SHA-256 the nonce comes last.
fn proof(product: Product, password: &str, nonce: &[u8; NONCE_SIZE]) -> Vec<u8> {
    let algorithm: &'static Algorithm = match product {
        Product::MariaDb => &SHA1_FOR_LEGACY_USE_ONLY,
        Product::MySql => &SHA256,
    };
    let hash = |parts: &[&[u8]]| {
        let mut context = Context::new(algorithm);
        for part in parts {
            context.update(part);
        }
        context.finish()
    };
    let first = hash(&[password.as_bytes()]);
    let second = hash(&[first.as_ref()]);
    let mask = match product {
        Product::MariaDb => hash(&[nonce, second.as_ref()]),
        Product::MySql => hash(&[second.as_ref(), nonce]),
    };
    let both = first.as_ref().iter().zip(mask.as_ref());
    both.map(|(one, other)| one ^ other).collect()
}
