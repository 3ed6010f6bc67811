//! The figures of the two published pages: wall-clock seconds per test and engine.

/// One published comparison.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// The year of publication.
    pub year: u16,
    /// The machine it ran on.
    pub machine: &'static str,
    /// The engines, in the order of the columns of `seconds`.
    pub engines: &'static [PublishedEngine],
    /// Wall-clock seconds: a row per test, a column per engine.
    pub seconds: &'static [&'static [f64]],
}

/// An engine of a published comparison.
#[derive(Debug, Clone, Copy)]
pub struct PublishedEngine {
    /// Name and version.
    pub name: &'static str,
    /// Its durability according to the page.
    pub durability: &'static str,
}

impl Page {
    /// Seconds of one engine over seconds of another in one test, counted from 1.
    pub fn ratio(&self, test: u32, engine: usize, base: usize) -> Option<f64> {
        let row = self
            .seconds
            .get(usize::try_from(test).ok()?.checked_sub(1)?)?;
        Some(row.get(engine)? / row.get(base)?)
    }

    /// The geometric mean of those ratios over all tests.
    pub fn mean_ratio(&self, engine: usize, base: usize) -> Option<f64> {
        let logarithms = (1u32..)
            .zip(self.seconds)
            .map(|(test, _)| Some(self.ratio(test, engine, base)?.ln()))
            .collect::<Option<Vec<f64>>>()?;
        Some((logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
    }
}

/// SQLite 2.7.0 beside PostgreSQL and MySQL.
pub const SQLITE_2002: Page = Page {
    year: 2002,
    machine: "Athlon 1.6 GHz, 1 GB, IDE disk, RedHat Linux 7.2",
    engines: &[
        PublishedEngine {
            name: "SQLite 2.7.0",
            durability: "full synchronisation",
        },
        PublishedEngine {
            name: "SQLite 2.7.0 (nosync)",
            durability: "no synchronisation",
        },
        PublishedEngine {
            name: "PostgreSQL 7.1.3",
            durability: "full synchronisation",
        },
        PublishedEngine {
            name: "MySQL 3.23.41",
            durability: "no transactions",
        },
    ],
    seconds: &[
        &[8.672, 0.286, 3.613, 0.086],
        &[0.885, 0.753, 4.430, 2.025],
        &[5.585, 5.443, 3.274, 2.624],
        &[5.966, 5.918, 14.511, 4.616],
        &[0.779, 0.637, 0.483, 0.304],
        &[1.165, 1.144, 4.939, 1.335],
        &[0.817, 0.726, 1.536, 7.281],
        &[7.681, 7.852, 29.318, 7.514],
        &[5.346, 5.393, 50.020, 5.841],
        &[5.073, 2.085, 57.834, 1.335],
        &[5.418, 0.668, 0.733, 0.768],
        &[1.453, 0.745, 0.867, 2.068],
        &[4.029, 1.729, 66.099, 1.663],
        &[0.288, 0.155, 1.168, 0.866],
        &[0.572, 0.168, 0.100, 0.012],
    ],
};

/// Column of SQLite with full synchronisation in [`SQLITE_2002`].
pub const SQLITE_2002_SYNC: usize = 0;
/// Column of SQLite without synchronisation in [`SQLITE_2002`].
pub const SQLITE_2002_NOSYNC: usize = 1;

/// SQLcrypt beside the SQLite it is based on, and MySQL.
pub const SQLCRYPT_2004: Page = Page {
    year: 2004,
    machine: "Pentium III 833 MHz, 256 MB, IDE disk, Windows 98 SE2",
    engines: &[
        PublishedEngine {
            name: "SQLite 3.0.7",
            durability: "full synchronisation",
        },
        PublishedEngine {
            name: "SQLcrypt 3.0.7",
            durability: "full synchronisation",
        },
        PublishedEngine {
            name: "MySQL 4.1.7",
            durability: "not known",
        },
    ],
    seconds: &[
        &[3.741, 8.049, 1.400],
        &[2.734, 8.672, 17.099],
        &[9.100, 70.546, 6.174],
        &[13.416, 88.458, 8.644],
        &[1.427, 7.203, 3.838],
        &[3.628, 29.101, 6.154],
        &[1.266, 5.823, 4.410],
        &[6.954, 61.533, 24.721],
        &[5.047, 32.659, 25.484],
        &[4.470, 18.939, 8.060],
        &[2.921, 15.323, 4.066],
        &[1.989, 16.232, 4.758],
        &[3.530, 23.579, 3.330],
        &[0.785, 2.818, 3.695],
        &[2.155, 3.811, 0.415],
    ],
};

/// Column of plain SQLite in [`SQLCRYPT_2004`].
pub const SQLCRYPT_2004_PLAIN: usize = 0;
/// Column of the encrypting engine in [`SQLCRYPT_2004`].
pub const SQLCRYPT_2004_ENCRYPTED: usize = 1;
