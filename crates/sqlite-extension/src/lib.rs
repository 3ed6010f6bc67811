//! Entry point: the VFS as a loadable extension for any SQLite.
