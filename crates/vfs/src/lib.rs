//! SQLite's C ABI and the encrypting shim over a base VFS.
