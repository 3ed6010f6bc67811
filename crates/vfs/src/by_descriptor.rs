//! Names that mean a file in an open folder, whatever happens to the name of the folder.

/// Linux names each descriptor of a process (proc_pid_fd(5)). SQLite would resolve such a name to
/// what the folder is called at that moment, and open that.
const PREFIX: &[u8] = b"/proc/self/fd/";

/// Whether a name is to be used as it is.
pub(crate) fn is_final(name: &[u8]) -> bool {
    cfg!(target_os = "linux") && name.starts_with(PREFIX)
}
