//! `strongroom proxy`: runs the proxy for PostgreSQL until a signal ends it.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use configuration::Config;
use proxy::{Server, process};
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
    /// Let debuggers and core dumps at the process and its keys: to look for a fault, or to measure
    #[arg(long)]
    allow_dumps: bool,
    /// Where the key is read from that came in a variable of the environment
    #[arg(long, hide = true, value_name = "NUMBER")]
    key_descriptor: Option<i32>,
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

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    start_log(&args);
    if !args.allow_dumps {
        process::forbid_dumps();
    }
    let mut config = Config::read(&args.config)?;
    take_key_out_of_environment(&mut config, &args);
    process::lock_memory();
    if let Some(exposure) = keyring::source::changeable(&args.config) {
        // Whoever can write it chooses the server, the key, and what is encrypted.
        tracing::warn!("the configuration {} {exposure}", args.config.display());
    }
    let logins = config.proxy.logins.as_deref();
    if let Some((path, exposure)) =
        logins.and_then(|path| Some((path, keyring::source::reachable(path)?)))
    {
        // Whoever can read it can impersonate the server towards those users; whoever can write it
        // can log in as them.
        tracing::warn!("the file of logins {} {exposure}", path.display());
    }
    let server = Server::start(&config)?;
    let address = server.address().context("the listener has no address")?;
    let (socket, metrics) = (server.socket(), server.metrics_address());
    let columns = config.columns.count();
    tracing::info!(%address, ?socket, ?metrics, columns, "listening");
    server.look_for_servers();
    server.run(proxy::stop_signal());
    Ok(ExitCode::SUCCESS)
}

/// Moves a key from an environment variable to a descriptor, and restarts the program without the
/// variable.
fn take_key_out_of_environment(config: &mut Config, args: &Args) {
    let Some(keys) = &mut config.keys else {
        return;
    };
    if args.key_descriptor.is_some() {
        keys.descriptor = args.key_descriptor;
        return;
    }
    // The error is reported later, where the key is needed.
    let (Some(name), Ok(source)) = (&keys.environment, keys.source()) else {
        return;
    };
    let Ok(key) = source.read_raw_key() else {
        return;
    };
    let more = |descriptor: i32| vec!["--key-descriptor".into(), descriptor.to_string().into()];
    let error = process::start_without(name, &key, more);
    tracing::warn!(
        %error,
        "the key stays in the environment of the process, where root and, below /proc, what may \
         trace it can read it: name a file or a command in [keys]"
    );
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

/// Keeps each event of the log on one line: user names and texts from the server are untrusted, and
/// a newline in one of them would forge the next event.
struct OneLine<W>(W);

impl<W: io::Write> io::Write for OneLine<W> {
    /// Writes one event, which ends with a newline.
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
