//! Description of the machine that produced the samples, as far as Linux provides it.
//!
//! Everything here is informational, for the reader of a report; what the system does not provide
//! stays unknown.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The machine and the disk of the results folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's model.
    pub cpu: String,
    /// Processors available to this program.
    pub cores: usize,
    /// Main memory, bytes.
    pub memory_bytes: Option<u64>,
    /// The operating system's name.
    pub operating_system: String,
    /// The kernel's version.
    pub kernel: String,
    /// The frequency governor of the processors, if known.
    pub governor: Option<String>,
    /// The disk with the databases.
    pub disk: Disk,
}

/// The file system under a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// Kind of file system.
    pub file_system: String,
    /// The mounted device or source.
    pub device: String,
}

/// The governor of the first processor; virtual machines often have none.
const GOVERNOR: &str = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";

const UNKNOWN: &str = "unknown";

impl Machine {
    /// Describes this machine; `folder` will contain the databases.
    pub fn describe(folder: &Path) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        Self {
            cpu: labelled(&read("/proc/cpuinfo"), "model name").unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: labelled(&read("/proc/meminfo"), "MemTotal")
                .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
                .map(|kibibytes| kibibytes * 1024),
            operating_system: os_name(&read("/etc/os-release")).unwrap_or_else(unknown),
            kernel: Some(read("/proc/sys/kernel/osrelease").trim().to_owned())
                .filter(|version| !version.is_empty())
                .unwrap_or_else(unknown),
            governor: Some(read(GOVERNOR).trim().to_owned()).filter(|name| !name.is_empty()),
            disk: disk_of(&read("/proc/self/mountinfo"), &folder),
        }
    }
}

fn unknown() -> String {
    UNKNOWN.to_owned()
}

/// Load average of the last minute.
pub fn load_one_minute() -> Option<f64> {
    fs::read_to_string("/proc/loadavg")
        .ok()?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// Current mean clock of the processors, MHz, if the system provides it.
pub fn clock_mhz() -> Option<f64> {
    mean_clock_mhz(&fs::read_to_string("/proc/cpuinfo").ok()?)
}

fn mean_clock_mhz(text: &str) -> Option<f64> {
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    let clocks = fields.filter(|(name, _)| name.trim() == "cpu MHz");
    let clocks: Vec<f64> = clocks
        .filter_map(|(_, clock)| clock.trim().parse().ok())
        .collect();
    (!clocks.is_empty()).then(|| clocks.iter().sum::<f64>() / clocks.len() as f64)
}

/// Processor ticks of all processors since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    total: u64,
    stolen: u64,
}

impl Ticks {
    /// Reads the counters.
    pub fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// First line of `/proc/stat`: user nice system idle iowait irq softirq steal.
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks = line
            .split_whitespace()
            .take(8)
            .map(|word| word.parse().ok())
            .collect::<Option<Vec<u64>>>()?;
        Some(Self {
            total: ticks.iter().sum(),
            stolen: *ticks.get(7)?,
        })
    }

    /// The share of processor time that the hypervisor gave to other guests between two readings.
    pub fn stolen_share_since(self, before: Self) -> Option<f64> {
        let total = self
            .total
            .checked_sub(before.total)
            .filter(|&ticks| ticks > 0)?;
        Some(self.stolen.saturating_sub(before.stolen) as f64 / total as f64)
    }
}

/// The value after the first `label   : value`.
fn labelled(text: &str, label: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == label).then(|| value.trim().to_owned())
    })
}

fn os_name(text: &str) -> Option<String> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches('"').to_owned())
}

/// The deepest mount point above the folder (format: proc(5), `mountinfo`).
fn disk_of(mounts: &str, folder: &Path) -> Disk {
    let mut best = Disk {
        file_system: unknown(),
        device: unknown(),
    };
    let mut depth = 0;
    for line in mounts.lines() {
        let Some((left, right)) = line.split_once(" - ") else {
            continue;
        };
        let Some(point) = left.split(' ').nth(4) else {
            continue;
        };
        let mut right = right.split(' ');
        let (Some(kind), Some(source)) = (right.next(), right.next()) else {
            continue;
        };
        let point = Path::new(point);
        let point_depth = point.components().count();
        if folder.starts_with(point) && point_depth >= depth {
            depth = point_depth;
            best = Disk {
                file_system: kind.to_owned(),
                device: source.to_owned(),
            };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_mount_wins() {
        let mounts = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
                      30 22 0:26 / /home rw - btrfs /dev/sdb2 rw\n\
                      31 22 0:27 / /homes rw - xfs /dev/sdc rw\n";
        let disk = |folder| disk_of(mounts, Path::new(folder));
        assert_eq!(disk("/home/anna").file_system, "btrfs");
        assert_eq!(disk("/homestead").device, "/dev/sda1");
        assert_eq!(disk_of("", Path::new("/")).file_system, UNKNOWN);
    }

    #[test]
    fn stolen_time_is_a_share() {
        let before = Ticks::parse("cpu  10 0 10 70 0 0 0 10 5 5\n").unwrap();
        let after = Ticks::parse("cpu  60 0 10 70 0 0 0 60 5 5\n").unwrap();
        assert_eq!(after.stolen_share_since(before), Some(0.5));
        assert_eq!(before.stolen_share_since(before), None);
        assert_eq!(Ticks::parse("intr 5"), None);
    }

    #[test]
    fn the_clock_is_the_mean_of_the_processors() {
        let text = "processor\t: 0\ncpu MHz\t\t: 2800.5\n\nprocessor\t: 1\ncpu MHz\t\t: 3000.5\n";
        assert_eq!(mean_clock_mhz(text), Some(2900.5));
        assert_eq!(mean_clock_mhz("processor : 0\nBogoMIPS : 50.00\n"), None);
    }

    #[test]
    fn names_are_read_from_their_files() {
        assert_eq!(
            labelled("processor : 0\nmodel name\t: X 9\n", "model name").unwrap(),
            "X 9"
        );
        assert_eq!(os_name("ID=x\nPRETTY_NAME=\"X 12\"\n").unwrap(), "X 12");
    }
}
