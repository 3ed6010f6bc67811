//! The sealer of the product: the root key, the codec, and buffered randomness.

use std::cell::RefCell;

use column_codec::{Codec, ColumnSpec, SealError, SpecError, VALUE_NONCE_SIZE, ValueNonce};
use column_value::{Value, ValueError};
use crypto::secret::Key;
use sql_plan::{ColumnId, Purpose};
use sql_rewrite::ProtectedColumn;

/// The key that all others are derived from.
pub struct Root(Key);

impl Root {
    /// Takes a key.
    pub fn new(key: Key) -> Self {
        Self(key)
    }

    /// What seals and opens the values of these columns.
    ///
    /// # Errors
    /// A rule that cannot be kept.
    pub fn sealer(&self, columns: &[ProtectedColumn]) -> Result<Sealer, SpecError> {
        let specs: Vec<ColumnSpec> = columns.iter().map(spec).collect();
        let codec = Codec::new(&self.0, &specs)?;
        Ok(Sealer { codec })
    }
}

fn spec(column: &ProtectedColumn) -> ColumnSpec {
    // A column without a domain of a rule has one with a colon, which is its own.
    let own = format!(
        "column:{}.{}.{}",
        column.schema, column.table, column.column
    );
    let layout = column.layout();
    ColumnSpec {
        table: format!("{}.{}", column.schema, column.table),
        column: column.column.clone(),
        domain: (column.domain != own).then(|| column.domain.clone()),
        logical: column.logical,
        mode: layout.mode,
        bits: layout.bits,
        pad: layout.pad,
        equality: layout.equality,
    }
}

/// Seals and opens values of the columns of one schema. Holds keys.
pub struct Sealer {
    codec: Codec,
}

impl Sealer {
    /// Appends the sealed value.
    ///
    /// # Errors
    /// A value that the column cannot have.
    #[inline]
    pub fn seal(
        &self,
        column: ColumnId,
        purpose: Purpose,
        value: &Value,
        out: &mut Vec<u8>,
    ) -> Result<(), ValueError> {
        let index = column.0 as usize;
        let sealed = match purpose {
            Purpose::Store => self.codec.seal_store(index, value, fresh_nonce, out),
            Purpose::Match => self.codec.seal_match(index, value, out),
            Purpose::Bound => self.codec.seal_bound(index, value, out),
        };
        sealed.map_err(|error: SealError| ValueError {
            sqlstate: error.sqlstate(),
            message: error.to_string(),
        })
    }

    /// Opens a sealed value. None: the bytes were not sealed for this column.
    #[inline]
    pub fn open(&self, column: ColumnId, sealed: &[u8]) -> Option<Value> {
        self.codec.open(column.0 as usize, sealed).ok()
    }
}

/// The message about a value that does not open.
pub fn unopened(column: &ProtectedColumn) -> String {
    format!(
        "a value of {}.{}.{} does not open: it was changed, moved, or sealed by another key",
        column.schema, column.table, column.column
    )
}

/// Randomness that is drawn from the system at once: a call for each value would cost more than
/// sealing it.
const NONCES_SIZE: usize = 128 * VALUE_NONCE_SIZE;

thread_local! {
    static NONCES: RefCell<(usize, [u8; NONCES_SIZE])> =
        const { RefCell::new((NONCES_SIZE, [0; NONCES_SIZE])) };
}

fn fresh_nonce() -> ValueNonce {
    NONCES.with_borrow_mut(|(used, bytes)| {
        if *used == NONCES_SIZE {
            getrandom::fill(bytes).expect("the system gave randomness when the session began");
            *used = 0;
        }
        let nonce = bytes[*used..][..VALUE_NONCE_SIZE].first_chunk();
        *used += VALUE_NONCE_SIZE;
        *nonce.expect("the size of all is a multiple of that of one")
    })
}
