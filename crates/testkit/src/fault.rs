//! Fault injection: which call of the base VFS fails, and how.

use std::ffi::c_int;

use libsqlite3_sys as c;

/// A call of the base VFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `xOpen`
    Open,
    /// `xDelete`
    Delete,
    /// `xAccess`
    Access,
    /// `xRead`
    Read,
    /// `xWrite`
    Write,
    /// `xTruncate`
    Truncate,
    /// `xSync`
    Sync,
    /// `xFileSize`
    Size,
    /// `xLock`
    Lock,
    /// `xCheckReservedLock`
    CheckReservedLock,
    /// `xShmMap`
    ShmMap,
    /// `xShmLock`, to take a lock
    ShmLock,
}

impl Call {
    /// Every call that can fail.
    pub const ALL: [Call; 12] = [
        Call::Open,
        Call::Delete,
        Call::Access,
        Call::Read,
        Call::Write,
        Call::Truncate,
        Call::Sync,
        Call::Size,
        Call::Lock,
        Call::CheckReservedLock,
        Call::ShmMap,
        Call::ShmLock,
    ];

    /// The error code of the unix VFS for this call (sqlite.org/rescode.html).
    fn error(self) -> c_int {
        match self {
            Call::Open => c::SQLITE_CANTOPEN,
            Call::Delete => c::SQLITE_IOERR_DELETE,
            Call::Access => c::SQLITE_IOERR_ACCESS,
            Call::Read => c::SQLITE_IOERR_READ,
            Call::Write => c::SQLITE_IOERR_WRITE,
            Call::Truncate => c::SQLITE_IOERR_TRUNCATE,
            Call::Sync => c::SQLITE_IOERR_FSYNC,
            Call::Size => c::SQLITE_IOERR_FSTAT,
            Call::Lock => c::SQLITE_IOERR_LOCK,
            Call::CheckReservedLock => c::SQLITE_IOERR_CHECKRESERVEDLOCK,
            Call::ShmMap => c::SQLITE_IOERR_SHMMAP,
            Call::ShmLock => c::SQLITE_IOERR_SHMLOCK,
        }
    }
}

/// The kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The device fails. A write has changed the first half of its range.
    Device,
    /// The disk is full. A write has written the first half of its bytes.
    Full,
    /// Memory is exhausted. Only calls in which VFSes allocate fail this way: SQLite does not
    /// expect it of a write, and would not treat it as a failure of the file.
    NoMemory,
    /// A read returns fewer bytes than there are, and zeros for the rest.
    ShortRead,
}

impl Kind {
    /// The result code of this call for this kind of failure; `None` if the call cannot fail this
    /// way.
    pub fn code(self, call: Call) -> Option<c_int> {
        match (self, call) {
            (Kind::Device, call) => Some(call.error()),
            (Kind::Full, Call::Write | Call::ShmMap) => Some(c::SQLITE_FULL),
            (Kind::Full, Call::Open) => Some(c::SQLITE_CANTOPEN),
            (Kind::NoMemory, Call::Open | Call::Access | Call::ShmMap) => Some(c::SQLITE_NOMEM),
            (Kind::ShortRead, Call::Read) => Some(c::SQLITE_IOERR_SHORT_READ),
            (Kind::Full | Kind::ShortRead | Kind::NoMemory, _) => None,
        }
    }
}

/// A fault to inject.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What goes wrong.
    pub kind: Kind,
    /// The calls that are counted; `None` for all that this kind can affect.
    pub call: Option<Call>,
    /// The number of the failing call, from 1.
    pub number: u64,
    /// Whether all later calls fail too.
    pub lasting: bool,
}

/// Counts calls and decides which of them fail.
#[derive(Debug, Default)]
pub struct Gate {
    fault: Option<Fault>,
    seen: u64,
    struck: u64,
}

impl Gate {
    /// Sets or clears the fault, and restarts counting.
    pub fn set(&mut self, fault: Option<Fault>) {
        *self = Gate {
            fault,
            ..Gate::default()
        };
    }

    /// How many calls have failed.
    pub fn struck(&self) -> u64 {
        self.struck
    }

    /// Fails, with result code and kind, if a fault is due for this call.
    pub fn pass(&mut self, call: Call) -> Result<(), (c_int, Kind)> {
        let Some(fault) = self.fault else {
            return Ok(());
        };
        if fault.call.is_some_and(|only| only != call) {
            return Ok(());
        }
        let Some(code) = fault.kind.code(call) else {
            return Ok(());
        };
        self.seen += 1;
        if self.seen == fault.number || (fault.lasting && self.seen > fault.number) {
            self.struck += 1;
            return Err((code, fault.kind));
        }
        Ok(())
    }
}
