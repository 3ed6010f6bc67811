//! The published benchmark of a database that encrypts query results: its page of 2026.
//!
//! That system keeps plain text in the server's memory and on its disks, and encrypts columns of
//! results on their way to a driver that decrypts them. So its figures are the price of less
//! protection than that of the columns measured here.

/// Transactions per second by number of terminals, for each variant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Number of terminals.
    pub terminals: u32,
    /// Nothing encrypted.
    pub plain: f64,
    /// 20 % of the columns.
    pub fifth: f64,
    /// 50 % of the columns.
    pub half: f64,
    /// All columns.
    pub all: f64,
}

/// Scale 1, SERIALIZABLE, a minute each, mean of three; client with 8 cores, server with 64.
pub const FIGURES: [Figures; 4] = [
    Figures {
        terminals: 8,
        plain: 260.55,
        fifth: 237.64,
        half: 221.01,
        all: 201.62,
    },
    Figures {
        terminals: 16,
        plain: 302.78,
        fifth: 280.28,
        half: 256.64,
        all: 238.45,
    },
    Figures {
        terminals: 24,
        plain: 330.04,
        fifth: 298.03,
        half: 273.53,
        all: 256.36,
    },
    Figures {
        terminals: 32,
        plain: 343.65,
        fifth: 315.25,
        half: 293.65,
        all: 267.92,
    },
];

/// The share of encrypted columns of an engine in per cent, if there is a published figure for it.
/// The published 20 % start with keys and identifiers, so engines with another choice of 20 %, such
/// as `proxy-20-sensitive`, have no figure.
fn share(engine: &str) -> Option<u32> {
    let families = ["proxy-", "in-process-", "mariadb-", "mysql-"];
    let share = families
        .iter()
        .find_map(|family| engine.strip_prefix(family))?;
    share.parse().ok()
}

/// The published transactions per second for that number of terminals and an engine, and the loss
/// against plain text.
pub fn figure(engine: &str, terminals: u32) -> Option<(f64, f64)> {
    let figures = FIGURES.iter().find(|row| row.terminals == terminals)?;
    let rate = match share(engine)? {
        20 => figures.fifth,
        50 => figures.half,
        100 => figures.all,
        _ => return None,
    };
    Some((rate, 1.0 - rate / figures.plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The losses as the page prints them, in per cent.
    #[test]
    fn losses_are_those_of_the_page() {
        let losses = [
            (8, [8.79, 15.18, 22.62]),
            (16, [7.43, 15.24, 21.25]),
            (24, [9.70, 17.12, 22.32]),
            (32, [8.26, 14.55, 22.04]),
        ];
        for (terminals, losses) in losses {
            let names = ["proxy-20", "proxy-50", "proxy-100"];
            for (name, published) in names.into_iter().zip(losses) {
                let (_, loss) = figure(name, terminals).unwrap();
                assert!(
                    (loss * 100.0 - published).abs() < 0.02,
                    "{name} {terminals} {loss}"
                );
            }
        }
        for name in ["in-process-50", "mariadb-50", "mysql-50"] {
            assert_eq!(figure(name, 8), figure("proxy-50", 8), "{name}");
        }
        assert_eq!(figure("proxy", 8), None);
        assert_eq!(figure("in-process", 8), None);
        assert_eq!(figure("postgres", 8), None);
        assert_eq!(figure("mysql-proxy", 8), None);
        assert_eq!(figure("mysql-100-compact", 8), None);
        assert_eq!(figure("proxy-20", 9), None);
        assert_eq!(figure("proxy-20-sensitive", 8), None);
        assert_eq!(figure("in-process-20-sensitive", 8), None);
    }
}
