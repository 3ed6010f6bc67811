//! Workloads by name, with their parameters.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::concurrent::Arrivals;
use crate::tpcc::Isolation;
use crate::{Dialect, Workload, concurrent, pinger, speed, speedtest, tpcc};

/// A workload with its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Spec {
    /// The 15 published speed tests.
    Speed {
        /// Multiple of the published work, see [`speed::SCALES`].
        scale: u32,
    },
    /// SQLite's standard performance test.
    Speedtest {
        /// Relative size, see [`speedtest::SIZES`].
        size: u32,
        /// Whether each test of single queries is one transaction.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        big_transactions: bool,
    },
    /// The published PingER comparison.
    Pinger,
    /// Several connections at once.
    Concurrent {
        /// Rate of open steps in operations per second, see [`concurrent::RATES`].
        rate: u32,
        /// The arrival process.
        #[serde(default = "Arrivals::of_older_runs")]
        arrivals: Arrivals,
        /// Seconds of a step, see [`concurrent::SECONDS`].
        seconds: u32,
    },
    /// The transactions of TPC-C.
    Tpcc {
        /// Warehouses, see [`tpcc::SCALES`].
        scale: u32,
        /// Terminals of each step, see [`tpcc::TERMINALS`].
        terminals: Vec<u32>,
        /// The isolation level.
        isolation: Isolation,
        /// Seconds of a step, see [`concurrent::SECONDS`].
        seconds: u32,
    },
    /// A user-defined workload.
    Custom {
        /// The folder they are read from.
        folder: String,
        /// The expected [`Workload::sha256`], if any.
        #[serde(default)]
        sha256: Option<String>,
    },
}

/// Parameters from a command line; each is valid for some workloads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Relative size of `speedtest`.
    pub size: Option<u32>,
    /// Big transactions of `speedtest`.
    pub big_transactions: bool,
    /// Scale of `speed` and `tpcc`.
    pub scale: Option<u32>,
    /// Operations per second of `concurrent`.
    pub rate: Option<u32>,
    /// The arrival process of `concurrent`.
    pub arrivals: Option<Arrivals>,
    /// Seconds of a step of `concurrent` and `tpcc`.
    pub seconds: Option<u32>,
    /// Terminals of the steps of `tpcc`.
    pub terminals: Option<Vec<u32>>,
    /// Isolation of `tpcc`.
    pub isolation: Option<Isolation>,
}

/// Why a workload cannot be built.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BuildError {
    /// Unknown name.
    #[error("there is no workload `{name}`; there are: {known}, and any folder, as ./{name}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The workload does not have this parameter.
    #[error("workload `{workload}` has no parameter {parameter}; leave it out")]
    Parameter {
        /// The workload.
        workload: String,
        /// The parameter, as on the command line.
        parameter: &'static str,
    },
    /// A parameter out of range.
    #[error("{parameter} {value} of workload `{workload}` is not within {least} to {most}")]
    Range {
        /// The workload.
        workload: String,
        /// The parameter, as on the command line.
        parameter: &'static str,
        /// What was asked for.
        value: u32,
        /// The smallest value.
        least: u32,
        /// The largest value.
        most: u32,
    },
    /// A user-defined workload is built from texts, see [`crate::custom::workload`].
    #[error("the files in {folder} have not been read")]
    Texts {
        /// The folder.
        folder: String,
    },
    /// The workload is not available in this dialect.
    #[error(
        "workload `{workload}` is {}'s SQL: an engine that speaks {} cannot run it; \
         leave the engine out or choose another workload",
        .language.name(), .dialect.name()
    )]
    Dialect {
        /// The workload.
        workload: String,
        /// The dialect it is available in.
        language: Dialect,
        /// The requested dialect.
        dialect: Dialect,
    },
}

impl Spec {
    /// The workload of that name with default parameters.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn named(name: &str) -> Result<Self, BuildError> {
        Self::parse(name, &Parameters::default())
    }

    /// The workload of that name with these parameters.
    ///
    /// # Errors
    ///
    /// If there is none, or it does not have a parameter, or one is out of range.
    pub fn parse(name: &str, parameters: &Parameters) -> Result<Self, BuildError> {
        let spec = match name {
            "speed" => Self::Speed {
                scale: parameters.scale.unwrap_or(1),
            },
            "speedtest" => Self::Speedtest {
                size: parameters.size.unwrap_or(speedtest::DEFAULT_SIZE),
                big_transactions: parameters.big_transactions,
            },
            "pinger" => Self::Pinger,
            "concurrent" => Self::Concurrent {
                rate: parameters.rate.unwrap_or(concurrent::DEFAULT_RATE),
                arrivals: parameters.arrivals.unwrap_or_default(),
                seconds: parameters.seconds.unwrap_or(concurrent::DEFAULT_SECONDS),
            },
            "tpcc" => Self::Tpcc {
                scale: parameters.scale.unwrap_or(1),
                terminals: parameters
                    .terminals
                    .clone()
                    .unwrap_or(tpcc::DEFAULT_TERMINALS.to_vec()),
                isolation: parameters.isolation.unwrap_or_default(),
                seconds: parameters.seconds.unwrap_or(tpcc::DEFAULT_SECONDS),
            },
            folder if folder.contains(['/', '\\']) || folder == "." || folder == ".." => {
                Self::Custom {
                    folder: folder.to_owned(),
                    sha256: None,
                }
            }
            _ => {
                return Err(BuildError::Unknown {
                    name: name.to_owned(),
                    known: CATALOGUE.map(|(name, _)| name).join(", "),
                });
            }
        };
        spec.check_given(name, parameters)?;
        spec.check_bounds()?;
        Ok(spec)
    }

    /// Checks that each given parameter is valid for the workload.
    fn check_given(&self, name: &str, parameters: &Parameters) -> Result<(), BuildError> {
        let given: [(&str, bool, &[&str]); 8] = [
            ("--size", parameters.size.is_some(), &["speedtest"]),
            (
                "--big-transactions",
                parameters.big_transactions,
                &["speedtest"],
            ),
            ("--scale", parameters.scale.is_some(), &["speed", "tpcc"]),
            ("--rate", parameters.rate.is_some(), &["concurrent"]),
            ("--arrivals", parameters.arrivals.is_some(), &["concurrent"]),
            (
                "--seconds",
                parameters.seconds.is_some(),
                &["concurrent", "tpcc"],
            ),
            ("--terminals", parameters.terminals.is_some(), &["tpcc"]),
            ("--isolation", parameters.isolation.is_some(), &["tpcc"]),
        ];
        for (parameter, is_given, owners) in given {
            if is_given && !owners.contains(&self.name()) {
                return Err(BuildError::Parameter {
                    workload: name.to_owned(),
                    parameter,
                });
            }
        }
        Ok(())
    }

    /// Checks whether the workload can be built in that dialect, without building it.
    ///
    /// # Errors
    ///
    /// If it is not available, or a parameter is out of range.
    pub fn check(&self, dialect: Dialect) -> Result<(), BuildError> {
        self.check_bounds()?;
        let language = match self {
            Self::Speedtest { .. } => Dialect::Sqlite,
            // Each kind of server has its own declarations of the tables.
            Self::Tpcc { .. } if dialect == Dialect::Mysql => return Ok(()),
            Self::Tpcc { .. } => Dialect::Postgres,
            _ => return Ok(()),
        };
        if language != dialect {
            return Err(BuildError::Dialect {
                workload: self.name().to_owned(),
                language,
                dialect,
            });
        }
        Ok(())
    }

    /// The name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Speed { .. } => "speed",
            Self::Speedtest { .. } => "speedtest",
            Self::Pinger => "pinger",
            Self::Concurrent { .. } => "concurrent",
            Self::Tpcc { .. } => "tpcc",
            Self::Custom { .. } => "custom",
        }
    }

    /// The command-line arguments after `--workload` that select it.
    pub fn arguments(&self) -> String {
        match self {
            Self::Speed { scale: 1 } | Self::Pinger => self.name().to_owned(),
            Self::Speed { scale } => format!("speed --scale {scale}"),
            Self::Speedtest {
                size,
                big_transactions,
            } => {
                let big = if *big_transactions {
                    " --big-transactions"
                } else {
                    ""
                };
                format!("speedtest --size {size}{big}")
            }
            Self::Concurrent {
                rate,
                arrivals,
                seconds,
            } => {
                let arrivals = arrivals.name();
                format!("concurrent --rate {rate} --arrivals {arrivals} --seconds {seconds}")
            }
            Self::Tpcc {
                scale,
                terminals,
                isolation,
                seconds,
            } => {
                let terminals: Vec<String> = terminals.iter().map(u32::to_string).collect();
                format!(
                    "tpcc --scale {scale} --terminals {} --isolation {} --seconds {seconds}",
                    terminals.join(","),
                    isolation.word()
                )
            }
            Self::Custom { folder, .. } => folder.clone(),
        }
    }

    fn check_bounds(&self) -> Result<(), BuildError> {
        let within = |parameter, value: u32, range: RangeInclusive<u32>| {
            if range.contains(&value) {
                return Ok(());
            }
            Err(BuildError::Range {
                workload: self.name().to_owned(),
                parameter,
                value,
                least: *range.start(),
                most: *range.end(),
            })
        };
        match self {
            Self::Speed { scale } => within("--scale", *scale, speed::SCALES),
            Self::Speedtest { size, .. } => within("--size", *size, speedtest::SIZES),
            Self::Concurrent { rate, seconds, .. } => {
                within("--rate", *rate, concurrent::RATES)?;
                within("--seconds", *seconds, concurrent::SECONDS)
            }
            Self::Tpcc {
                scale,
                terminals,
                seconds,
                ..
            } => {
                within("--scale", *scale, tpcc::SCALES)?;
                for &terminals in terminals {
                    within("--terminals", terminals, tpcc::TERMINALS)?;
                }
                within("--seconds", *seconds, concurrent::SECONDS)
            }
            Self::Pinger | Self::Custom { .. } => Ok(()),
        }
    }
}

/// All workloads: name, and a one-sentence description.
pub const CATALOGUE: [(&str, &str); 5] = [
    ("speed", speed::DESCRIPTION),
    ("speedtest", speedtest::DESCRIPTION),
    ("pinger", pinger::DESCRIPTION),
    ("concurrent", concurrent::DESCRIPTION),
    ("tpcc", tpcc::DESCRIPTION),
];

/// Builds a workload for engines of that dialect.
///
/// # Errors
///
/// If it is not available in that dialect, or a parameter is out of range.
pub fn build(spec: &Spec, dialect: Dialect) -> Result<Workload, BuildError> {
    spec.check(dialect)?;
    Ok(match spec {
        // The text is the same in all dialects: in the published comparison, too, the servers ran
        // it unmodified.
        Spec::Speed { scale } => speed::scaled(*scale),
        Spec::Speedtest {
            size,
            big_transactions,
        } => speedtest::workload(*size, *big_transactions),
        Spec::Pinger => pinger::workload(dialect),
        Spec::Concurrent {
            rate,
            arrivals,
            seconds,
        } => concurrent::workload(*rate, *arrivals, *seconds),
        Spec::Tpcc {
            scale,
            terminals,
            isolation,
            seconds,
        } => tpcc::workload(&tpcc::Wish {
            scale: *scale,
            terminals,
            isolation: *isolation,
            seconds: *seconds,
        }),
        Spec::Custom { folder, .. } => {
            return Err(BuildError::Texts {
                folder: folder.clone(),
            });
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_of_the_catalogue_can_be_built() {
        for (name, description) in CATALOGUE {
            let spec = Spec::named(name).unwrap();
            assert_eq!(spec.name(), name);
            let dialect = match name {
                "tpcc" => Dialect::Postgres,
                _ => Dialect::Sqlite,
            };
            let workload = build(&spec, dialect).unwrap();
            assert_eq!(
                (workload.name.as_str(), workload.description.as_str()),
                (name, description)
            );
            assert!(!workload.tests.is_empty());
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_names_there_are() {
        let error = Spec::named("sped").unwrap_err().to_string();
        assert!(
            error.contains("`sped`") && error.contains("speed"),
            "{error}"
        );
    }

    #[test]
    fn parameters_that_do_not_fit_are_refused() {
        let size = |size| Parameters {
            size: Some(size),
            ..Parameters::default()
        };
        assert_eq!(
            Spec::parse("speedtest", &size(5)).unwrap(),
            Spec::Speedtest {
                size: 5,
                big_transactions: false
            }
        );
        let error = Spec::parse("pinger", &size(5)).unwrap_err().to_string();
        assert_eq!(
            error,
            "workload `pinger` has no parameter --size; leave it out"
        );
        for wrong in [0, 1001] {
            let error = Spec::parse("speedtest", &size(wrong)).unwrap_err();
            assert!(
                error.to_string().contains("not within 1 to 1000"),
                "{error}"
            );
            let spec = Spec::Speedtest {
                size: wrong,
                big_transactions: false,
            };
            assert_eq!(build(&spec, Dialect::Sqlite).unwrap_err(), error);
        }
    }

    #[test]
    fn sql_of_one_engine_is_not_handed_to_another() {
        let spec = Spec::named("speedtest").unwrap();
        let error = build(&spec, Dialect::Mysql).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("SQLite") && text.contains("MySQL"), "{text}");
    }

    #[test]
    fn a_spec_survives_being_written_down() {
        for spec in [
            Spec::Speed { scale: 2 },
            Spec::Speedtest {
                size: 7,
                big_transactions: true,
            },
            Spec::Pinger,
            Spec::Concurrent {
                rate: 9,
                arrivals: Arrivals::Poisson,
                seconds: 1,
            },
            Spec::named("tpcc").unwrap(),
            Spec::Custom {
                folder: "./x".to_owned(),
                sha256: None,
            },
        ] {
            let text = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<Spec>(&text).unwrap(), spec);
        }
    }

    #[test]
    fn big_transactions_are_an_option_and_reported() {
        let parameters = Parameters {
            size: Some(2),
            big_transactions: true,
            ..Parameters::default()
        };
        let spec = Spec::parse("speedtest", &parameters).unwrap();
        assert_eq!(spec.arguments(), "speedtest --size 2 --big-transactions");
        let error = Spec::parse("pinger", &parameters).unwrap_err();
        assert!(error.to_string().contains("has no parameter"), "{error}");
        let older: Spec = serde_json::from_str(r#"{"name":"speedtest","size":7}"#).unwrap();
        assert_eq!(older.arguments(), "speedtest --size 7");
        let text = serde_json::to_string(&older).unwrap();
        assert_eq!(text, r#"{"name":"speedtest","size":7}"#);
    }

    #[test]
    fn runs_of_before_there_was_a_choice_had_even_arrivals() {
        let older = r#"{"name":"concurrent","rate":9,"seconds":1}"#;
        let spec: Spec = serde_json::from_str(older).unwrap();
        assert_eq!(
            spec.arguments(),
            "concurrent --rate 9 --arrivals even --seconds 1"
        );
    }
}
