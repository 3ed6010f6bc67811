//! Finishers of the installed MariaDB and MySQL, and questions to them.

mod answers;
mod common;
mod lifetime;
