//! What PostgreSQL does with values: the texts it reads and writes, its casts, comparison,
//! arithmetic and aggregates.
//!
//! A protected column is `bytea` in the server, so the server no longer checks what goes in:
//! length, scale, range. This crate is the one home of those rules, and of the errors that the
//! server would have given. It knows no protocol (formats on the wire are with `wire-postgres`)
//! and no key. `column-value` defines what a value is.
//!
//! | to | use |
//! |---|---|
//! | read and write texts | [`ValueText`] with a [`TextContext`] |
//! | read texts of arrays | [`array_elements`] |
//! | store a value in a column | [`assign`] |
//! | read and write values that only PostgreSQL knows | [`OpaqueForms`], the answers of one |
//! | store values of sequences | [`Drawn`] |
//! | compute | [`cast`], [`compare`], [`Arithmetic`], [`negate`], [`Accumulator`], [`Like`] |
//!
//! Texts compare by their bytes (collation "C"); dates are written in ISO style.
#![forbid(unsafe_code)]

mod aggregate;
mod arithmetic;
mod array;
mod bytes;
mod cast;
mod compare;
mod context;
mod datetime;
mod datetime_text;
mod drawn;
mod fields;
mod letters;
mod like;
mod noted;
mod numeric;
mod opaque;
mod text;
mod tokens;
mod words;
mod zone;

pub use aggregate::{Accumulator, Aggregation};
pub use arithmetic::{Arithmetic, negate};
pub use array::array_elements;
pub use cast::{assign, cast, check_assignment};
pub use compare::{compare, compare_char};
pub use context::{DateOrder, TextContext};
pub use drawn::Drawn;
pub use letters::Letters;
pub use like::Like;
pub use noted::{NOTED_START, NotedValues};
pub use opaque::{CheckOf, Conversion, OpaqueForms, Wanted};
pub use text::ValueText;
pub use zone::TimeZone;
