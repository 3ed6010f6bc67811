//! The dialect of PostgreSQL.

mod binding;
pub(crate) mod calls;
pub mod catalogue;
pub mod ddl;
pub(crate) mod effects;
pub(crate) mod extensions;
pub(crate) mod finisher;
pub(crate) mod forms;
pub(crate) mod functions;
pub(crate) mod leading;
pub(crate) mod lexer;
pub(crate) mod named_types;
pub(crate) mod names;
pub(crate) mod objects;
mod operators;
pub(crate) mod output_names;
pub(crate) mod parse;
mod pure_functions;
pub(crate) mod queries;
pub(crate) mod spelled;
pub(crate) mod table_checks;
pub(crate) mod table_guard;
pub(crate) mod text_search;
pub(crate) mod utility;
