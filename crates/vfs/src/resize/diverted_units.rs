//! Units of the former page size, in a temporary file that is sealed under a key in memory.

use crypto::cipher::Cipher;

use crate::abi::SQLITE_IOERR_READ;
use crate::base_vfs::SideFile;
use crate::error::{Code, Outcome};
use crate::temporary_file::TemporaryFile;

/// Stands for a unit that is not in the temporary file.
const ABSENT: u32 = u32::MAX;

/// Units of the former page size on their way to a database of another one.
pub(crate) struct DivertedUnits {
    units: TemporaryFile,
    /// Closed behind `units`.
    _file: SideFile,
    /// For each unit its place in the temporary file.
    places: Vec<u32>,
    used: u32,
    /// The size of the database as SQLite sees it.
    size: u64,
}

impl DivertedUnits {
    /// No unit yet, of a database of this size.
    pub fn new(file: SideFile, cipher: Cipher, size: u64) -> Outcome<Self> {
        Ok(DivertedUnits {
            units: TemporaryFile::new(file.base(), cipher)?,
            _file: file,
            places: Vec::new(),
            used: 0,
            size,
        })
    }

    /// The size of the database as SQLite sees it.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How many units there may be: one behind the last that was diverted.
    pub fn count(&self) -> u64 {
        self.places.len() as u64
    }

    fn place(&self, index: u64) -> Option<u64> {
        let place = *self.places.get(usize::try_from(index).ok()?)?;
        (place != ABSENT).then_some(place.into())
    }

    /// Reads a unit; tells whether it was diverted.
    pub fn read(&mut self, index: u64, out: &mut [u8]) -> Outcome<bool> {
        match self.place(index) {
            Some(place) => {
                let offset = place * out.len() as u64;
                self.units.read(out, offset).map(|()| true)
            }
            None => Ok(false),
        }
    }

    /// Takes a unit.
    pub fn write(&mut self, index: u64, unit: &[u8]) -> Outcome {
        let place = match self.place(index) {
            Some(place) => place,
            None => {
                let at = usize::try_from(index).map_err(|_| Code(SQLITE_IOERR_READ))?;
                if at >= self.places.len() {
                    self.places.resize(at + 1, ABSENT);
                }
                self.places[at] = self.used;
                self.used += 1;
                u64::from(self.places[at])
            }
        };
        let size = unit.len() as u64;
        self.units.write(unit, place * size)?;
        self.size = self.size.max((index + 1) * size);
        Ok(())
    }

    /// The database ends here.
    pub fn cut(&mut self, size: u64, unit_size: u64) {
        let units = usize::try_from(size.div_ceil(unit_size)).unwrap_or(usize::MAX);
        self.places.truncate(units);
        self.size = size;
    }
}
