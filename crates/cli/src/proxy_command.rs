//! `strongroom proxy`: the proxy before PostgreSQL, until a signal ends it.

use std::io;
use std::path::PathBuf;

use anyhow::Context;
use clap::ValueEnum;
use proxy::{Config, Server};
use tracing_subscriber::filter::LevelFilter;

/// Encrypt columns of a PostgreSQL server: a proxy before it.
///
/// Ends by SIGTERM or SIGINT: sessions may finish their transactions first.
#[derive(clap::Args)]
pub struct Args {
    /// The configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// How the log on standard error is written
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    /// What is logged
    #[arg(long, value_enum, default_value_t = LogLevel::Info)]
    log_level: LogLevel,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    start_log(&args);
    let config = Config::read(&args.config)?;
    if let Some(exposure) = keyring::source::changeable(&args.config) {
        // Who writes it names the server, the key, and what is encrypted.
        tracing::warn!("the configuration {} {exposure}", args.config.display());
    }
    let server = Server::start(&config)?;
    let address = server.address().context("the listener has no address")?;
    let (socket, metrics) = (server.socket(), server.metrics_address());
    let columns = config.columns.count();
    tracing::info!(%address, ?socket, ?metrics, columns, "listening");
    server.run(proxy::stop_signal());
    Ok(())
}

fn start_log(args: &Args) {
    let level = match args.log_level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(|| OneLine(io::stderr()))
        .with_target(false);
    match args.log_format {
        LogFormat::Text => log.with_ansi(false).init(),
        LogFormat::Json => log.json().init(),
    }
}

/// Keeps each event of the log on a line of its own: names of users and texts of the server come
/// from outside, and an end of line in one of them would forge the next event.
struct OneLine<W>(W);

impl<W: io::Write> io::Write for OneLine<W> {
    /// Takes one event, which ends with the end of its line.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let (text, end) = match event.strip_suffix(b"\n") {
            Some(text) => (text, &b"\n"[..]),
            None => (event, &b""[..]),
        };
        let mut line = Vec::with_capacity(event.len());
        for byte in text {
            match byte {
                0..0x20 | 0x7f => line.extend(byte.escape_ascii()),
                _ => line.push(*byte),
            }
        }
        line.extend_from_slice(end);
        self.0.write_all(&line)?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn an_event_of_the_log_is_one_line() {
        let mut log = OneLine(Vec::new());
        let event = "INFO login of a\nERROR forged\x1b[2J \u{e9}\n";
        log.write_all(event.as_bytes()).expect("written");
        let line = "INFO login of a\\nERROR forged\\x1b[2J \u{e9}\n";
        assert_eq!(String::from_utf8_lossy(&log.0), line);
    }
}
