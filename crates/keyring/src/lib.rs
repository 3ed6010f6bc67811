//! Key slots and where keys come from.
