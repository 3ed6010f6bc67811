//! Operations on whole files: encrypt, decrypt, import, verify, keys, inspect, doctor.
//!
//! This crate never prompts, prints or decides for the user: credentials are passed in as
//! [`KeyToken`]s, progress is reported through [`progress::Progress`], and each error says what to
//! do.
#![forbid(unsafe_code)]

pub mod backup;
pub mod convert;
pub mod database;
pub mod doctor;
mod first_bytes;
mod folder;
pub mod import;
pub mod inspect;
pub mod key_file;
pub mod keys;
pub mod progress;
mod replace;
pub mod rotate;
pub mod system_error;
mod uri;
pub mod verify;

pub use sqlite_linked::KeyToken;
