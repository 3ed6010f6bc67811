//! `strongroom workload`: prints the SQL of a test, exactly.

use std::borrow::Cow;
use std::io::{self, Write};

use anyhow::{Context, bail};
use clap::{Parser, ValueEnum};
use workloads::{Spec, Test, Workload, concurrent, speedtest, tpcc};

/// Print the SQL of a workload, byte for byte
#[derive(Debug, Parser)]
pub struct Args {
    /// The workload, or the folder of one of your own, as ./my-app
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    parameters: Parameters,

    /// The SQL that engines of this kind are given
    #[arg(long, value_enum, default_value_t = Dialect::Sqlite, value_name = "DIALECT")]
    dialect: Dialect,

    /// Print this test alone; those of `speedtest` have the numbers of the original too, 100 to 990
    #[arg(long, value_name = "N")]
    test: Option<u32>,
}

/// What a workload can be asked for with.
#[derive(Debug, clap::Args)]
pub struct Parameters {
    /// Relative size of `speedtest`, 1 to 1000 [default: 100]
    #[arg(long, value_name = "N")]
    size: Option<u32>,

    /// Put tests of single queries of `speedtest` into a transaction each, as the page on SQLite in
    /// browsers did
    #[arg(long)]
    big_transactions: bool,

    /// How many times the work of the published tests `speed` does, 1 to 100; warehouses of `tpcc`,
    /// 0 to 100, where 0 is two small ones [default: 1]
    #[arg(long, value_name = "N")]
    scale: Option<u32>,

    /// Operations per second that are due in the open steps of `concurrent`, 1 to 100000
    /// [default: 200]
    #[arg(long, value_name = "N")]
    rate: Option<u32>,

    /// How they come: at random as from many independent users (Poisson), or at equal intervals
    /// [default: poisson]
    #[arg(long, value_enum, value_name = "HOW")]
    arrivals: Option<Arrivals>,

    /// Seconds that count in a step of `concurrent` or `tpcc`, 1 to 600 [default: 3, or 60]
    #[arg(long, value_name = "N")]
    seconds: Option<u32>,

    /// Terminals of `tpcc` that work at once, a step for each number, 1 to 64 [default: 8,16,24,32]
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    terminals: Option<Vec<u32>>,

    /// What the server promises to the transactions of `tpcc` [default: serializable]
    #[arg(long, value_enum, value_name = "LEVEL")]
    isolation: Option<Isolation>,
}

impl Parameters {
    /// The workload of that name with these parameters.
    pub fn spec(&self, name: &str) -> anyhow::Result<Spec> {
        let parameters = workloads::Parameters {
            size: self.size,
            big_transactions: self.big_transactions,
            scale: self.scale,
            rate: self.rate,
            arrivals: self.arrivals.map(Into::into),
            seconds: self.seconds,
            terminals: self.terminals.clone(),
            isolation: self.isolation.map(Into::into),
        };
        Ok(Spec::parse(name, &parameters)?)
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Arrivals {
    Poisson,
    Even,
}

impl From<Arrivals> for concurrent::Arrivals {
    fn from(arrivals: Arrivals) -> Self {
        match arrivals {
            Arrivals::Poisson => Self::Poisson,
            Arrivals::Even => Self::Even,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Isolation {
    /// As if transactions ran one after the other
    Serializable,
    /// They see what was committed before each statement
    ReadCommitted,
}

impl From<Isolation> for workloads::tpcc::Isolation {
    fn from(isolation: Isolation) -> Self {
        match isolation {
            Isolation::Serializable => Self::Serializable,
            Isolation::ReadCommitted => Self::ReadCommitted,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Dialect {
    Sqlite,
    Postgres,
    /// MySQL and MariaDB
    Mysql,
}

impl From<Dialect> for workloads::Dialect {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Sqlite => Self::Sqlite,
            Dialect::Postgres => Self::Postgres,
            Dialect::Mysql => Self::Mysql,
        }
    }
}

/// Prints the SQL.
pub fn run(args: Args) -> anyhow::Result<()> {
    let spec = args.parameters.spec(&args.name)?;
    let workload = lab::custom::build(&spec, args.dialect.into())?;
    let is_speedtest = matches!(spec, Spec::Speedtest { .. });
    let Some(number) = args.test else {
        return if is_speedtest {
            print([speedtest::script(&workload.tests)])
        } else {
            print(workload.tests.iter().map(text))
        };
    };
    let found = workload.tests.iter().find(|test| {
        test.number == number
            || is_speedtest && speedtest::original_number(test) == number.to_string()
    });
    let Some(test) = found else {
        bail!("{}", no_such_test(&workload, is_speedtest, number));
    };
    if is_speedtest {
        print([speedtest::marked(test)])
    } else {
        print([text(test)])
    }
}

/// The statements of a test, or a preview of what its connections do.
fn text(test: &Test) -> Cow<'_, str> {
    let preview = concurrent::preview(test).or_else(|| tpcc::preview(test));
    preview.map_or(Cow::Borrowed(test.script.text()), Cow::Owned)
}

fn no_such_test(workload: &Workload, is_speedtest: bool, number: u32) -> String {
    let (name, count) = (&workload.name, workload.tests.len());
    if is_speedtest {
        let numbers: Vec<&str> = workload
            .tests
            .iter()
            .map(speedtest::original_number)
            .collect();
        format!(
            "workload `{name}` has no test {number}; it has {}, also called 1 to {count}",
            numbers.join(", ")
        )
    } else {
        format!("workload `{name}` has tests 1 to {count}, not {number}")
    }
}

/// Writes to standard output; a closed pipe is not an error.
fn print(texts: impl IntoIterator<Item: AsRef<str>>) -> anyhow::Result<()> {
    let mut output = io::stdout().lock();
    let written = texts
        .into_iter()
        .try_for_each(|text| output.write_all(text.as_ref().as_bytes()))
        .and_then(|()| output.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}
