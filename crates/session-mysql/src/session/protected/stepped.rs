//! The answers of the server to what has several steps.

use session_core::counters::add;
use wire_mysql::packet::{self, Header};

use super::modifying::Taken;
use super::{Protected, Reach, Work, loading};
use crate::refusal::Refusal;

impl Protected {
    /// Takes a payload of the server for what has several steps, or an answer of its own.
    pub(super) fn stepped(
        &mut self,
        packet: (Header, &[u8]),
        reach: &mut Reach<'_>,
    ) -> Result<(), Refusal> {
        let capabilities = reach.capabilities;
        match &mut self.work {
            Work::Modifying(_) => self.modify(packet, reach),
            Work::Finishing(finishing) => {
                let status = &mut *reach.status;
                let taken = finishing.take(packet, (capabilities, status), reach.to_client);
                if finishing.is_damaged {
                    add(&self.view.shared().counters().values_damaged, 1);
                }
                let sequence = finishing.sequence;
                match taken? {
                    None => {}
                    Some(Ok(())) => self.work = Work::Nothing,
                    Some(Err(refusal)) => self.refuse_as(refusal, sequence, reach),
                }
                Ok(())
            }
            Work::Describing(describing) => {
                let sequence = describing.sequence;
                match describing.take(packet, capabilities, reach.status)? {
                    None => {}
                    Some(Ok(shown)) => {
                        self.work = Work::Nothing;
                        reach.to_client.extend_from_slice(&shown);
                    }
                    Some(Err(error)) => self.refuse(&error, sequence, reach),
                }
                Ok(())
            }
            Work::Warned(warned) => {
                let status = &mut *reach.status;
                if warned.take(
                    packet,
                    (capabilities, status, &self.settings),
                    reach.to_client,
                )? {
                    self.work = Work::Nothing;
                }
                Ok(())
            }
            Work::Listing(listing) => {
                let status = &mut *reach.status;
                if listing.take(packet, (capabilities, status), reach.to_client)? {
                    self.work = Work::Nothing;
                }
                Ok(())
            }
            Work::Loading(loading) => {
                let status = &mut *reach.status;
                let taken = loading.take(packet.1, (capabilities, status), reach.to_client)?;
                self.loaded(taken, reach);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes a payload of the server for an `UPDATE` that the proxy computes for.
    fn modify(&mut self, packet: (Header, &[u8]), reach: &mut Reach<'_>) -> Result<(), Refusal> {
        let Work::Modifying(modifying) = &mut self.work else {
            return Ok(());
        };
        let answer = (reach.capabilities, &mut *reach.status);
        let taken = modifying.take(packet, answer, &self.settings);
        if modifying.is_damaged {
            add(&self.view.shared().counters().values_damaged, 1);
        }
        let sequence = modifying.sequence;
        match taken? {
            Taken::More => {}
            Taken::Sends(command) => self.send(|out| out.extend_from_slice(&command), reach),
            Taken::Answers(answer) => return self.modified(&answer, sequence, reach),
            Taken::Fails(refusal) => self.refuse_as(refusal, sequence, reach),
        }
        Ok(())
    }

    /// Whether the client sends a file.
    pub(in crate::session) fn reads_file(&self) -> bool {
        matches!(&self.work, Work::Loading(loading) if loading.is_reading())
    }

    /// Takes bytes of a file of the client. Gives how many they were.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(in crate::session) fn take_file(
        &mut self,
        bytes: &[u8],
        reach: &mut Reach<'_>,
    ) -> Result<usize, Refusal> {
        let Work::Loading(loading) = &mut self.work else {
            return Ok(0);
        };
        let to_server = (&mut self.sent.next_sequence, &mut *reach.to_server);
        let (size, taken) = loading.take_file(bytes, to_server)?;
        self.loaded(taken, reach);
        Ok(size)
    }

    /// Does what is to be done behind a packet of a file, or of the server about it.
    fn loaded(&mut self, taken: loading::Taken, reach: &mut Reach<'_>) {
        let mut sequence = self.sequence().unwrap_or(1);
        match taken {
            loading::Taken::More => {}
            loading::Taken::Answers(answer) => {
                packet::write_bytes(&answer, &mut sequence, reach.to_client);
                self.work = Work::Nothing;
            }
            loading::Taken::Fails(refusal) => self.refuse_as(refusal, sequence, reach),
        }
    }
}
