//! File names of the form `/proc/self/fd/N/…`, which keep pointing to the same file if its folder
//! is renamed.

/// Linux lists the descriptors of a process there (proc_pid_fd(5)). SQLite would resolve such a
/// name to the current path of the folder and open that path.
const PREFIX: &[u8] = b"/proc/self/fd/";

/// Whether SQLite must use a name unchanged, without resolving it.
pub(crate) fn is_final(name: &[u8]) -> bool {
    cfg!(target_os = "linux") && name.starts_with(PREFIX)
}
