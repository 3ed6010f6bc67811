//! The configuration file and what it refers to: rules, limits, keys, passwords, certificates.
//!
//! The proxy and the library for Rust programs read the same file, so what reads it is a crate
//! below both: a program that links no listener must still know every field of `[proxy]`, since
//! unknown ones are errors. Sessions know nothing of files; they are given what is made here.
#![forbid(unsafe_code)]

mod clock;
mod end_point;
mod file;
mod keys;
mod tls;
mod upstreams;

pub use clock::now;
pub use end_point::end_point;
pub use file::{
    ClientTls, Config, ConfigError, FinishConfig, FinishEngine, MonitorConfig, Parts, Protocol,
    ProxyConfig, SelfSignedTls, ServerTls, WatchConfig, read_toml,
};
pub use keys::{KeysConfig, KeysError, PasswordConfig, warn_if_exposed};
pub use tls::{TlsError, certificates, client_config};
pub use upstreams::{
    TargetSessionAttrs, Upstream, UpstreamError, UpstreamServer, Upstreams, socket_path,
};
