//! Entry point: the VFS with the SQLite that is linked into the program.
