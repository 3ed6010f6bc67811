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
        .with_writer(io::stderr)
        .with_target(false);
    match args.log_format {
        LogFormat::Text => log.with_ansi(false).init(),
        LogFormat::Json => log.json().init(),
    }
}
