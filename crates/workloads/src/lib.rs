//! Workloads as pure generators of SQL.
