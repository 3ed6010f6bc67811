//! Engine trait, schedule, workers, results file, statistics.
