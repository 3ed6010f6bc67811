//! Bytes of an input, taken from the front; zeros when there are none left.

/// Longer statements find nothing more, and take long.
const STATEMENT_SIZE_MAX: usize = 16 << 10;

/// The statement that bytes stand for: themselves, or behind a byte 1 numbers of words. None: it
/// is too long.
pub fn statement(bytes: &[u8], words: &[&str]) -> Option<String> {
    let text = match bytes.split_first() {
        Some((1, numbers)) => {
            let mut input = Input::new(numbers);
            let mut found = Vec::new();
            while !input.is_empty() {
                found.push(input.one_of(words));
            }
            found.join(" ")
        }
        _ => String::from_utf8_lossy(bytes).into_owned(),
    };
    (text.len() <= STATEMENT_SIZE_MAX).then_some(text)
}

/// The rest of an input.
pub struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Input { rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// As many bytes as asked for, or those that are left.
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    pub fn rest(&mut self) -> &'a [u8] {
        self.take(usize::MAX)
    }

    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        let taken = self.take(N);
        out[..taken.len()].copy_from_slice(taken);
        out
    }

    pub fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.u16()) % limit.max(1)
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.byte()) % choices.len()]
    }

    /// Changes to a region of bytes: how many, then of each offset, length and content.
    pub fn patch(&mut self, target: &mut [u8]) {
        for _ in 0..self.byte() % 8 {
            let offset = self.below(target.len());
            let count = usize::from(self.byte() % 64);
            let bytes = self.take(count);
            let end = target.len().min(offset + bytes.len());
            target[offset..end].copy_from_slice(&bytes[..end - offset]);
        }
    }
}
