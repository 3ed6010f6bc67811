//! Units of the former page size, in a temporary file that is sealed under a key in memory.

use crypto::cipher::Cipher;

use crate::abi::SQLITE_IOERR_READ;
use crate::base_vfs::SideFile;
use crate::error::{Code, Outcome};
use crate::temporary_file::TemporaryFile;

/// Marks a unit that is not in the temporary file.
const ABSENT: u32 = u32::MAX;

/// Units of the former page size, written by SQLite for a database with a new page size.
pub(crate) struct DivertedUnits {
    units: TemporaryFile,
    /// Dropped, and so closed, after `units`.
    _file: SideFile,
    /// For each unit, its position in the temporary file.
    positions: Vec<u32>,
    used: u32,
    /// The size of the database as SQLite sees it.
    size: u64,
}

impl DivertedUnits {
    /// No units yet, for a database of this size.
    pub fn new(file: SideFile, cipher: Cipher, size: u64) -> Outcome<Self> {
        Ok(DivertedUnits {
            units: TemporaryFile::new(file.base(), cipher)?,
            _file: file,
            positions: Vec::new(),
            used: 0,
            size,
        })
    }

    /// The size of the database as SQLite sees it.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The number of units, up to the last one that was diverted.
    pub fn count(&self) -> u64 {
        self.positions.len() as u64
    }

    fn position(&self, index: u64) -> Option<u64> {
        let position = *self.positions.get(usize::try_from(index).ok()?)?;
        (position != ABSENT).then_some(position.into())
    }

    /// Reads a unit. Returns whether it was diverted.
    pub fn read(&mut self, index: u64, out: &mut [u8]) -> Outcome<bool> {
        match self.position(index) {
            Some(position) => {
                let offset = position * out.len() as u64;
                self.units.read(out, offset).map(|()| true)
            }
            None => Ok(false),
        }
    }

    /// Stores a unit.
    pub fn write(&mut self, index: u64, unit: &[u8]) -> Outcome {
        let position = match self.position(index) {
            Some(position) => position,
            None => {
                let at = usize::try_from(index).map_err(|_| Code(SQLITE_IOERR_READ))?;
                if at >= self.positions.len() {
                    self.positions.resize(at + 1, ABSENT);
                }
                self.positions[at] = self.used;
                self.used += 1;
                u64::from(self.positions[at])
            }
        };
        let size = unit.len() as u64;
        self.units.write(unit, position * size)?;
        self.size = self.size.max((index + 1) * size);
        Ok(())
    }

    /// Truncates the database to `size`.
    pub fn cut(&mut self, size: u64, unit_size: u64) {
        let units = usize::try_from(size.div_ceil(unit_size)).unwrap_or(usize::MAX);
        self.positions.truncate(units);
        self.size = size;
    }
}
