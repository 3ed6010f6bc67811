//! Several encryptions of blocks within one call of the cipher. The call chooses instructions by
//! the processor and loads the round keys, which costs as much as to encrypt a block.

use aes::Aes256;
use aes::cipher::common::BlockSizeUser;
use aes::cipher::consts::U16;
use aes::cipher::{Block, BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt};

/// A block whose bytes are in memory as the cipher takes them. A number becomes one by `to_be`.
pub(super) type Bytes = u128;

/// What is computed with encryptions. Those that do not need each other's results overlap in the
/// processor.
pub(super) trait Work {
    type Output: Default;

    fn run(self, encrypt: impl Fn(Bytes) -> Bytes) -> Self::Output;
}

/// Does the work with a cipher.
pub(super) fn with<W: Work>(cipher: &Aes256, work: W) -> W::Output {
    let mut output = W::Output::default();
    cipher.encrypt_with_backend(Call {
        work,
        output: &mut output,
    });
    output
}

struct Call<'a, W: Work> {
    work: W,
    output: &'a mut W::Output,
}

impl<W: Work> BlockSizeUser for Call<'_, W> {
    type BlockSize = U16;
}

impl<W: Work> BlockCipherEncClosure for Call<'_, W> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        *self.output = self.work.run(
            #[inline(always)]
            |block| {
                let mut block = Block::<Aes256>::from(block.to_ne_bytes());
                backend.encrypt_block_inplace(&mut block);
                u128::from_ne_bytes(block.into())
            },
        );
    }
}

/// One encryption.
pub(super) struct One(pub Bytes);

impl Work for One {
    type Output = Bytes;

    #[inline(always)]
    fn run(self, encrypt: impl Fn(Bytes) -> Bytes) -> Bytes {
        encrypt(self.0)
    }
}

/// CBC-MAC: each block is added to the encryption of those before it.
pub(super) struct Chain<'a> {
    /// The first blocks.
    pub head: &'a [[u8; 16]],
    /// Added to the last block of the head, if there is one.
    pub mask: Bytes,
    /// The last block.
    pub last: Bytes,
}

impl Work for Chain<'_> {
    type Output = Bytes;

    #[inline(always)]
    fn run(self, encrypt: impl Fn(Bytes) -> Bytes) -> Bytes {
        let mut state = 0;
        if let Some((masked, head)) = self.head.split_last() {
            for block in head {
                state = encrypt(state ^ u128::from_ne_bytes(*block));
            }
            state = encrypt(state ^ u128::from_ne_bytes(*masked) ^ self.mask);
        }
        encrypt(state ^ self.last)
    }
}

/// CTR mode: adds the encryptions of a counter to the content.
pub(super) struct Stream<'a> {
    pub counter: u128,
    pub content: &'a mut [u8],
}

impl Work for Stream<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, encrypt: impl Fn(Bytes) -> Bytes) {
        let mut counter = self.counter;
        let mut next = || {
            let pad = encrypt(counter.to_be());
            counter = counter.wrapping_add(1);
            pad
        };
        let (blocks, rest) = self.content.as_chunks_mut::<16>();
        for block in blocks {
            *block = (u128::from_ne_bytes(*block) ^ next()).to_ne_bytes();
        }
        if !rest.is_empty() {
            for (byte, pad) in rest.iter_mut().zip(next().to_ne_bytes()) {
                *byte ^= pad;
            }
        }
    }
}
