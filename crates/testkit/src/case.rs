//! A case of the power-cut harness, written as one word that reproduces it.

use std::fmt;
use std::str::FromStr;

use crate::database::Side;
use crate::disk::Device;
use crate::workload::{
    Shape, Step, steps, steps_with_keys, steps_with_page_sizes, steps_with_rotation,
};

/// What a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scenario {
    /// Transactions on one database.
    Plain,
    /// Transactions over two attached databases, with super-journals.
    Attached,
    /// The journal mode changes during the run.
    Switching,
    /// The keys change during the run.
    Keys,
    /// The data key is rotated repeatedly during the run.
    Rotation,
    /// VACUUM changes the page size during the run.
    PageSizes,
}

/// The parameters of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Stock SQLite or Strongroom.
    pub side: Side,
    /// The initial journal mode.
    pub mode: &'static str,
    /// `PRAGMA synchronous`.
    pub synchronous: &'static str,
    /// Page size of the database.
    pub page_size: usize,
    /// The name of a device.
    pub device: &'static str,
    /// What the run does.
    pub scenario: Scenario,
    /// The random seed.
    pub seed: u64,
}

/// Journal modes that survive a power cut.
pub const MODES: [&str; 4] = ["delete", "truncate", "persist", "wal"];
/// Values of `PRAGMA synchronous` that guarantee something.
pub const SYNCHRONOUS: [&str; 3] = ["normal", "full", "extra"];
/// Page sizes of the runs.
pub const PAGE_SIZES: [usize; 3] = [512, 4096, 65536];

const DEVICES: [(&str, Device); 4] = [
    ("unix", Device::UNIX),
    (
        "map",
        Device {
            map: true,
            ..Device::UNIX
        },
    ),
    (
        "bare512",
        Device {
            sector_size: 512,
            powersafe_overwrite: false,
            map: false,
        },
    ),
    (
        "bare4096",
        Device {
            sector_size: 4096,
            powersafe_overwrite: false,
            map: false,
        },
    ),
];

const SIDES: [(&str, Side); 2] = [("stock", Side::Stock), ("strongroom", Side::Strongroom)];
const SCENARIOS: [(&str, Scenario); 6] = [
    ("plain", Scenario::Plain),
    ("attached", Scenario::Attached),
    ("switching", Scenario::Switching),
    ("keys", Scenario::Keys),
    ("rotation", Scenario::Rotation),
    ("page-sizes", Scenario::PageSizes),
];

impl Case {
    /// The device.
    pub fn device(&self) -> Device {
        let found = DEVICES.iter().find(|(name, _)| *name == self.device);
        found.map_or(Device::UNIX, |(_, device)| *device)
    }

    /// Which databases the connection has.
    pub fn schemas(&self) -> &'static [&'static str] {
        match self.scenario {
            Scenario::Attached => &["main", "other"],
            Scenario::Plain
            | Scenario::Switching
            | Scenario::Keys
            | Scenario::Rotation
            | Scenario::PageSizes => &["main"],
        }
    }

    /// The steps of the run.
    pub fn steps(&self) -> Vec<Step> {
        let shape = Shape {
            page_size: self.page_size,
            auto_vacuum: self.seed / 2 % 3,
            log: self.mode == "wal" && self.scenario != Scenario::Switching,
            attached: self.scenario == Scenario::Attached,
            switches: self.scenario == Scenario::Switching,
            steps: if self.page_size > 4096 { 12 } else { 24 },
        };
        match self.scenario {
            Scenario::Keys => steps_with_keys(shape, self.seed),
            Scenario::Rotation => steps_with_rotation(shape, self.seed),
            Scenario::PageSizes => steps_with_page_sizes(shape, self.seed),
            Scenario::Plain | Scenario::Attached | Scenario::Switching => steps(shape, self.seed),
        }
    }

    /// Pragmas for a new connection.
    pub fn settings(&self) -> String {
        let Case {
            mode,
            synchronous,
            page_size,
            ..
        } = self;
        let auto_vacuum = self.seed / 2 % 3;
        let cache_size = [4, 12, 2000][(self.seed % 3) as usize];
        let frames = [0, 8, 40][(self.seed / 3 % 3) as usize];
        let schemas = self.schemas().iter();
        let per_schema: String = schemas
            .map(|schema| {
                format!(
                    "PRAGMA {schema}.page_size={page_size};
                     PRAGMA {schema}.auto_vacuum={auto_vacuum};
                     PRAGMA {schema}.journal_mode={mode};
                     PRAGMA {schema}.synchronous={synchronous};
                     PRAGMA {schema}.cache_size={cache_size};"
                )
            })
            .collect();
        format!("{per_schema} PRAGMA wal_autocheckpoint={frames}")
    }

    /// The name of this kind of run in the table of results.
    pub fn kind(&self) -> String {
        let scenario = name_of(&SCENARIOS, &self.scenario);
        format!("{} {} {scenario}", self.mode, self.synchronous)
    }
}

fn name_of<T: PartialEq>(table: &[(&'static str, T)], value: &T) -> &'static str {
    let found = table.iter().find(|(_, other)| other == value);
    found.map_or("", |(name, _)| name)
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}/{}/{}/{}/{}/{}/{}",
            name_of(&SIDES, &self.side),
            self.mode,
            self.synchronous,
            self.page_size,
            self.device,
            name_of(&SCENARIOS, &self.scenario),
            self.seed
        )
    }
}

impl FromStr for Case {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let parts: Vec<&str> = word.split('/').collect();
        let [side, mode, synchronous, page_size, device, scenario, seed] = parts[..] else {
            return Err(format!("{word} is not a case: it has seven parts"));
        };
        fn one<T: Copy>(
            table: &[(&'static str, T)],
            name: &str,
        ) -> Result<(&'static str, T), String> {
            let found = table.iter().find(|(other, _)| *other == name);
            found.copied().ok_or_else(|| format!("{name} is not known"))
        }
        fn word_of(table: &[&'static str], name: &str) -> Result<&'static str, String> {
            let found = table.iter().find(|other| **other == name);
            found.copied().ok_or_else(|| format!("{name} is not known"))
        }
        let number = |text: &str| text.parse().map_err(|_| format!("{text} is not a number"));
        Ok(Case {
            side: one(&SIDES, side)?.1,
            mode: word_of(&MODES, mode)?,
            synchronous: word_of(&SYNCHRONOUS, synchronous)?,
            page_size: number(page_size)? as usize,
            device: one(&DEVICES, device)?.0,
            scenario: one(&SCENARIOS, scenario)?.1,
            seed: number(seed)?,
        })
    }
}
