//! Where a key comes from: a file, a descriptor, the environment, a command.
