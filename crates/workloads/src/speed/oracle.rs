//! What the two tables hold after some of the tests.
//!
//! Read from SQLite 3.40.1, PostgreSQL 15 and MariaDB 10.11, which ran the scripts unmodified and
//! agreed (tests 11 and 12: from SQLite alone).

use crate::Fact;

/// Rows, sum of `a`, sum of `b`, sum of the lengths of `c`.
type State = [i64; 4];

const T1_QUERY: &str = "SELECT count(*), sum(a), sum(b), sum(length(c)) FROM t1";
const T2_QUERY: &str = "SELECT count(*), sum(a), sum(b), sum(length(c)) FROM t2";

const T1_FILLED: State = [1000, 500_500, 49_889_774, 40_118];
const T1_DOUBLED: State = [1000, 500_500, 99_779_548, 40_118];
const T1_GROWN: State = [26_000, 313_013_000, 6_369_952_828, 1_299_563];
const T1_REFILLED: State = [3000, 4_501_500, 149_748_557, 120_101];

const T2_FILLED: State = [25_000, 312_512_500, 6_242_727_547, 1_259_359];
const T2_UPDATED: State = [25_000, 312_512_500, 6_270_173_280, 1_259_445];
const T2_GROWN: State = [51_000, 625_525_500, 12_640_126_108, 2_559_008];
const T2_WITHOUT_FIFTY: State = [41_336, 505_818_130, 10_250_923_900, 2_073_815];
const T2_THINNED: State = [8105, 181_998_766, 2_057_379_604, 408_604];
const T2_REFILLED: State = [34_105, 495_011_766, 8_427_332_432, 1_708_167];

/// The facts known after that test.
pub(super) fn after(test: u32) -> Vec<Fact> {
    let both = |t1: State, t2: State| {
        vec![
            Fact {
                query: T1_QUERY.to_owned(),
                row: t1.to_vec(),
            },
            Fact {
                query: T2_QUERY.to_owned(),
                row: t2.to_vec(),
            },
        ]
    };
    match test {
        2 => both(T1_FILLED, T2_FILLED),
        7 => vec![Fact {
            query: T1_QUERY.to_owned(),
            row: T1_DOUBLED.to_vec(),
        }],
        9 => both(T1_DOUBLED, T2_UPDATED),
        10 => both(T1_GROWN, T2_GROWN),
        11 => both(T1_GROWN, T2_WITHOUT_FIFTY),
        12 => both(T1_GROWN, T2_THINNED),
        13 => both(T1_GROWN, T2_REFILLED),
        14 => both(T1_REFILLED, T2_REFILLED),
        _ => Vec::new(),
    }
}
