//! An in-memory disk that logs every effect on it, in order.
//!
//! Invariants:
//!
//! 1. Every change of a named file's content, size or name is in the log, with its bytes.
//! 2. Unnamed files, and those that are deleted on close, are not in the log: after a power cut
//!    nobody looks for them.
//! 3. All calls of a connection come from one thread; several connections of one thread share a
//!    disk and its locks as processes would.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use libsqlite3_sys as c;

use crate::fault::{Call, Fault, Gate, Kind};

/// The properties that the device reports and has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Bytes that are written as a unit; a torn write can damage this much.
    pub sector_size: usize,
    /// A torn write damages nothing outside its range (`SQLITE_IOCAP_POWERSAFE_OVERWRITE`).
    pub powersafe_overwrite: bool,
    /// Whether files can be mapped. Only for users that release a map before the next write.
    pub map: bool,
}

impl Device {
    /// The properties that the unix VFS reports for every file.
    pub const UNIX: Device = Device {
        sector_size: 4096,
        powersafe_overwrite: true,
        map: false,
    };
}

/// A change of the disk, or a sync.
#[derive(Clone, Debug)]
pub enum Effect {
    /// A name was created, for a new and empty file.
    Create {
        /// The new file.
        file: usize,
        /// Its name.
        name: String,
    },
    /// Bytes were written.
    Write {
        /// To this file.
        file: usize,
        /// At this offset.
        offset: usize,
        /// The bytes.
        bytes: Box<[u8]>,
    },
    /// A file was truncated or extended.
    Truncate {
        /// The file.
        file: usize,
        /// The new size.
        size: usize,
    },
    /// Everything written to a file before is durable.
    Sync {
        /// The file.
        file: usize,
    },
    /// A name was deleted.
    Delete {
        /// The name.
        name: String,
    },
    /// All names created or deleted before are durable.
    SyncDirectory,
}

/// Files by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Name and content.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Shared memory of a write-ahead log.
#[derive(Default)]
pub(crate) struct SharedMemory {
    /// Eight-byte words, which provide the alignment that SQLite needs.
    pub regions: Vec<Box<[u64]>>,
    pub users: usize,
    /// Holders of each of SQLite's eight locks: -1 means one exclusive holder.
    pub locks: [i32; 8],
}

/// A file.
#[derive(Default)]
pub(crate) struct Node {
    pub bytes: Vec<u8>,
    /// Whether effects on it are in the log.
    pub logged: bool,
    /// Whether a write has not been synced yet.
    pub unsynced: bool,
    /// Whether the next sync also makes its name durable, as the unix VFS does for new journals.
    pub sync_directory: bool,
    /// Lock levels, by handle.
    pub levels: BTreeMap<u64, c_int>,
    pub shared_memory: SharedMemory,
    /// Pointers into `bytes` that are in use.
    pub mapped: usize,
}

pub(crate) struct State {
    pub device: Device,
    pub nodes: Vec<Node>,
    pub names: BTreeMap<String, usize>,
    pub log: Vec<Effect>,
    pub gate: Gate,
    pub handles: u64,
    pub open: usize,
    /// How often a file was mapped.
    pub maps: u64,
    /// How often a file's size was queried while a write to it was not synced.
    pub sizes_before_sync: u64,
}

/// A disk. Clones share the same disk.
#[derive(Clone)]
pub struct Disk(Arc<Mutex<State>>);

thread_local! {
    static CURRENT: RefCell<Option<Disk>> = const { RefCell::new(None) };
}

impl Disk {
    /// An empty disk.
    pub fn new(device: Device) -> Self {
        Disk::with(device, &Image::default())
    }

    /// A disk with these files on it, all of them durable.
    pub fn with(device: Device, image: &Image) -> Self {
        let mut state = State {
            device,
            nodes: Vec::new(),
            names: BTreeMap::new(),
            log: Vec::new(),
            gate: Gate::default(),
            handles: 0,
            open: 0,
            maps: 0,
            sizes_before_sync: 0,
        };
        for (name, bytes) in &image.files {
            state.names.insert(name.clone(), state.nodes.len());
            state.nodes.push(Node {
                bytes: bytes.clone(),
                logged: true,
                ..Node::default()
            });
        }
        Disk(Arc::new(Mutex::new(state)))
    }

    /// Makes this the disk of all files that this thread opens.
    pub fn enter(&self) {
        CURRENT.with(|current| current.replace(Some(self.clone())));
    }

    pub(crate) fn current() -> Option<Disk> {
        CURRENT.with(|current| current.borrow().clone())
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of effects so far.
    pub fn effects(&self) -> usize {
        self.state().log.len()
    }

    /// Takes the log of effects.
    pub fn take_log(&self) -> Vec<Effect> {
        std::mem::take(&mut self.state().log)
    }

    /// The current files: what is left if all processes die and the machine keeps running.
    pub fn image(&self) -> Image {
        let state = self.state();
        let files = state.names.iter();
        Image {
            files: files
                .map(|(name, node)| (name.clone(), state.nodes[*node].bytes.clone()))
                .collect(),
        }
    }

    /// Sets or clears the fault to inject.
    pub fn set_fault(&self, fault: Option<Fault>) {
        self.state().gate.set(fault);
    }

    /// How many calls have failed since the fault was set.
    pub fn struck(&self) -> u64 {
        self.state().gate.struck()
    }

    /// How many files are open.
    pub fn open_files(&self) -> usize {
        self.state().open
    }

    /// How often a file's size was queried between a write and its sync. Linux (6.13 and later)
    /// then updates the file's times again with the next write, which the sync has to write out.
    pub fn sizes_before_sync(&self) -> u64 {
        self.state().sizes_before_sync
    }

    /// How often a file was mapped: a real system then faults in each page again.
    pub fn maps(&self) -> u64 {
        self.state().maps
    }
}

impl State {
    pub fn create(&mut self, name: &str, sync_directory: bool) -> usize {
        let file = self.nodes.len();
        self.nodes.push(Node {
            logged: true,
            sync_directory,
            ..Node::default()
        });
        self.names.insert(name.to_owned(), file);
        self.log.push(Effect::Create {
            file,
            name: name.to_owned(),
        });
        file
    }

    pub fn create_nameless(&mut self) -> usize {
        self.nodes.push(Node::default());
        self.nodes.len() - 1
    }

    pub fn delete(&mut self, name: &str) {
        if let Some(node) = self.names.remove(name)
            && self.nodes[node].logged
        {
            self.log.push(Effect::Delete {
                name: name.to_owned(),
            });
        }
    }

    pub fn write(&mut self, file: usize, offset: usize, bytes: &[u8]) -> Result<(), c_int> {
        let passed = self.gate.pass(Call::Write);
        let bytes = match passed {
            Ok(()) => bytes,
            Err(_) => &bytes[..bytes.len() / 2],
        };
        let node = &mut self.nodes[file];
        let end = offset + bytes.len();
        if node.bytes.len() < end {
            assert_eq!(node.mapped, 0, "a file grows under a map of it");
            node.bytes.resize(end, 0);
        }
        node.bytes[offset..end].copy_from_slice(bytes);
        node.unsynced = true;
        if node.logged && !bytes.is_empty() {
            self.log.push(Effect::Write {
                file,
                offset,
                bytes: bytes.into(),
            });
        }
        passed.map_err(|(code, _)| code)
    }

    pub fn read(&mut self, file: usize, offset: usize, out: &mut [u8]) -> Result<(), c_int> {
        let node = &self.nodes[file];
        let mut there = node.bytes.len().saturating_sub(offset).min(out.len());
        match self.gate.pass(Call::Read) {
            Ok(()) => {}
            Err((_, Kind::ShortRead)) => there /= 2,
            Err((code, _)) => return Err(code),
        }
        out[there..].fill(0);
        if there > 0 {
            out[..there].copy_from_slice(&node.bytes[offset..offset + there]);
        }
        if there == out.len() {
            Ok(())
        } else {
            Err(c::SQLITE_IOERR_SHORT_READ)
        }
    }

    pub fn truncate(&mut self, file: usize, size: usize) {
        let node = &mut self.nodes[file];
        assert_eq!(node.mapped, 0, "a file changes its size under a map of it");
        if node.bytes.len() != size {
            node.bytes.resize(size, 0);
            if node.logged {
                self.log.push(Effect::Truncate { file, size });
            }
        }
    }

    pub fn sync(&mut self, file: usize) {
        let node = &mut self.nodes[file];
        node.unsynced = false;
        if node.logged {
            self.log.push(Effect::Sync { file });
            if std::mem::take(&mut node.sync_directory) {
                self.log.push(Effect::SyncDirectory);
            }
        }
    }

    /// Acquires or upgrades a lock (sqlite.org/lockingv3.html).
    pub fn lock(&mut self, file: usize, handle: u64, level: c_int) -> Result<(), c_int> {
        let levels = &mut self.nodes[file].levels;
        let held = levels.get(&handle).copied().unwrap_or(0);
        if held >= level {
            return Ok(());
        }
        let others = levels.iter().filter(|(other, _)| **other != handle);
        let highest = others.map(|(_, level)| *level).max().unwrap_or(0);
        let reached = match level {
            c::SQLITE_LOCK_SHARED if highest >= c::SQLITE_LOCK_PENDING => held,
            c::SQLITE_LOCK_SHARED => level,
            _ if highest >= c::SQLITE_LOCK_RESERVED => held,
            c::SQLITE_LOCK_RESERVED => level,
            _ if highest >= c::SQLITE_LOCK_SHARED => c::SQLITE_LOCK_PENDING,
            _ => level,
        };
        levels.insert(handle, reached);
        if reached == level {
            Ok(())
        } else {
            Err(c::SQLITE_BUSY)
        }
    }

    pub fn unlock(&mut self, file: usize, handle: u64, level: c_int) {
        let levels = &mut self.nodes[file].levels;
        match levels.get_mut(&handle) {
            Some(own) if level > 0 => *own = level.min(*own),
            Some(_) | None => drop(levels.remove(&handle)),
        }
    }
}
