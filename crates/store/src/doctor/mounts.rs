//! The file system that a file is on.

use std::path::{Path, PathBuf};

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// Its type, as the system names it.
    pub kind: String,
    /// Its mount point.
    pub place: PathBuf,
}

/// The file system of a file, if it is a network file system; `None` also if the system does not
/// say.
pub(super) fn network_mount(path: &Path) -> Option<Mount> {
    let path = std::fs::canonicalize(path).ok()?;
    let table = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    mount_of(&table, &path).filter(|mount| is_network(&mount.kind))
}

/// Types of file systems whose content is on another machine.
fn is_network(kind: &str) -> bool {
    const KINDS: [&str; 15] = [
        "9p",
        "afs",
        "ceph",
        "cifs",
        "coda",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
    ];
    KINDS.contains(&kind)
}

/// The mount with the longest mount point that is a prefix of the path; of several equal ones the
/// last covers the others. The table has the format of proc_pid_mountinfo(5).
fn mount_of(table: &str, path: &Path) -> Option<Mount> {
    let mounts = table.lines().filter_map(mount);
    let around = mounts.filter(|mount| path.starts_with(&mount.place));
    around.max_by_key(|mount| mount.place.components().count())
}

fn mount(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    Some(Mount {
        kind: after.split(' ').next()?.to_owned(),
        place: unescaped(before.split(' ').nth(4)?).into(),
    })
}

/// Decodes white space and backslashes in a mount point, which are escaped as octal numbers.
fn unescaped(place: &str) -> String {
    let escapes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    let replace = |text: String, (number, character): (&str, &str)| text.replace(number, character);
    escapes.into_iter().fold(place.to_owned(), replace)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
        21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
        30 21 0:40 / /mnt/share rw - nfs4 server:/export rw\n\
        31 21 0:41 /x /mnt/my\\040disk rw master:2 - cifs //server/x rw\n\
        32 30 8:2 / /mnt/share/local rw - xfs /dev/sdb1 rw\n";

    #[test]
    fn the_nearest_mount_counts() {
        let kind = |path: &str| mount_of(TABLE, Path::new(path)).map(|mount| mount.kind);
        assert_eq!(kind("/home/a.db").as_deref(), Some("ext4"));
        assert_eq!(kind("/mnt/share/a.db").as_deref(), Some("nfs4"));
        assert_eq!(kind("/mnt/shared/a.db").as_deref(), Some("ext4"));
        assert_eq!(kind("/mnt/share/local/a.db").as_deref(), Some("xfs"));
        let mount = mount_of(TABLE, Path::new("/mnt/my disk/a.db")).unwrap();
        assert_eq!(mount.place, Path::new("/mnt/my disk"));
        assert!(is_network(&mount.kind) && is_network("nfs4") && !is_network("ext4"));
        assert_eq!(mount_of("", Path::new("/")), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_table_of_this_system_is_understood() {
        let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(
            mount_of(&table, Path::new("/proc/self")).is_some_and(|mount| mount.kind == "proc")
        );
    }
}
