//! Types and values of SQL columns, and which values a type can hold.
//!
//! A protected column is `bytea` in the server, so the server no longer checks what goes in. This
//! crate defines what a value is and which range a type has. Another crate for each server holds
//! what the server computes with values and how it reads and writes their texts: PostgreSQL's is
//! `semantics-postgres`. This crate knows no protocol and no key.
//!
//! The names of types and their ranges are PostgreSQL's, and an error carries its SQLSTATE.
//!
//! | to | use |
//! |---|---|
//! | name a type | [`LogicalType`] |
//! | hold a value | [`Value`], [`NumericSpecial`] |
//! | say how far a text is padded before it is sealed | [`Pad`] |
//! | say in which form equality is kept | [`EqualityForm`] |
//! | say which texts are equal before MySQL | [`Collation`] |
//! | check a range | [`limits`], [`Value::date`], [`Value::time`], [`Value::timestamp`] |
//! | count days | [`civil`] |
//! | round a number, or turn it into another kind by its text | [`numeric`], [`floats`] |
//!
//! The texts of numbers are here, and no others: `column-codec` compares a number with a column of
//! another type by its digits.
#![forbid(unsafe_code)]

pub mod civil;
mod collation;
mod equality;
pub mod floats;
mod labels;
pub mod limits;
mod logical;
pub mod numeric;
mod opaque;
mod pad;
mod space;
mod value;
mod whole;

pub use collation::Collation;
pub use equality::EqualityForm;
pub use labels::{EnumType, SetType};
pub use logical::{LogicalType, TypeNameError};
pub use opaque::{ExtensionType, KnownType, NamedKind, NamedType, OpaqueType};
pub use pad::Pad;
pub use space::is_space;
pub use value::{NumericSpecial, Value, ValueError};
pub use whole::WholeType;
