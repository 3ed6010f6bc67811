//! ChaCha20 (RFC 8439, 2.3), four blocks at a time: lane `i` of each vector belongs to block `i`.

use zeroize::Zeroizing;

use super::lanes::Lanes;

/// Size of four blocks.
pub const GROUP_SIZE: usize = 256;

/// "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// Index of the counter in the state.
const COUNTER: usize = 12;

/// Double rounds of a block.
const DOUBLE_ROUNDS: usize = 10;

/// Keystream of four blocks, in byte order.
pub type Group<L> = [L; 16];

/// Key and nonce, with the counter at zero.
pub struct Stream(Zeroizing<[u32; 16]>);

impl Stream {
    /// The nonce is four zeros and these 8 bytes, as in XChaCha20.
    pub fn new(key: &[u8; 32], nonce: &[u8; 8]) -> Self {
        let mut state = Zeroizing::new([0; 16]);
        state[..4].copy_from_slice(&CONSTANTS);
        let words = key
            .as_chunks()
            .0
            .iter()
            .map(|word| u32::from_le_bytes(*word));
        state[4..12]
            .iter_mut()
            .zip(words)
            .for_each(|(to, word)| *to = word);
        let words = nonce
            .as_chunks()
            .0
            .iter()
            .map(|word| u32::from_le_bytes(*word));
        state[14..]
            .iter_mut()
            .zip(words)
            .for_each(|(to, word)| *to = word);
        Self(state)
    }

    /// The keystream of four blocks, from block `counter` on.
    pub fn group<L: Lanes>(&self, counter: u32) -> Group<L> {
        self.group_beside(counter, |_| {})
    }

    /// Like `group`, with a part of other work after each of the ten double rounds; `work` gets the
    /// round's number. Multiplications cost almost nothing there, because the processor overlaps
    /// the two when they are interleaved this closely.
    #[inline(always)]
    pub fn group_beside<L: Lanes>(&self, counter: u32, mut work: impl FnMut(usize)) -> Group<L> {
        let mut start = self.0.map(|word| L::new([word; 4]));
        start[COUNTER] = L::new([counter, counter + 1, counter + 2, counter + 3]);
        let mut state = start;
        for round in 0..DOUBLE_ROUNDS {
            quarter(&mut state, [0, 4, 8, 12]);
            quarter(&mut state, [1, 5, 9, 13]);
            quarter(&mut state, [2, 6, 10, 14]);
            quarter(&mut state, [3, 7, 11, 15]);
            quarter(&mut state, [0, 5, 10, 15]);
            quarter(&mut state, [1, 6, 11, 12]);
            quarter(&mut state, [2, 7, 8, 13]);
            quarter(&mut state, [3, 4, 9, 14]);
            work(round);
        }
        let mut stream = start;
        for row in 0..4 {
            let rows = std::array::from_fn(|word| {
                let word = 4 * row + word;
                state[word].add(start[word])
            });
            // Four words of each of the four blocks.
            for (block, words) in L::transpose(rows).into_iter().enumerate() {
                stream[4 * block + row] = words;
            }
        }
        stream
    }
}

/// XORs content with keystream of the same length.
#[inline]
pub fn combine<L: Lanes>(content: &mut [u8], stream: &[L]) {
    let (whole, rest) = content.as_chunks_mut::<16>();
    for (piece, words) in whole.iter_mut().zip(stream) {
        L::load(piece).xor(*words).store(piece);
    }
    if !rest.is_empty() {
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        L::load(&last).xor(stream[whole.len()]).store(&mut last);
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

#[inline(always)]
fn quarter<L: Lanes>(state: &mut [L; 16], [a, b, c, d]: [usize; 4]) {
    state[a] = state[a].add(state[b]);
    state[d] = state[d].xor(state[a]).rotate_left_16();
    state[c] = state[c].add(state[d]);
    state[b] = state[b].xor(state[c]).rotate_left_12();
    state[a] = state[a].add(state[b]);
    state[d] = state[d].xor(state[a]).rotate_left_8();
    state[c] = state[c].add(state[d]);
    state[b] = state[b].xor(state[c]).rotate_left_7();
}
