//! Finishers of the installed MariaDB, and questions to them.

mod answers;
mod common;
mod lifetime;
