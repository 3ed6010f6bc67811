//! One unit, sealed and opened: at its place it opens as it was, anywhere else it does not.

use crypto::cipher::Cipher;
use page_codec::page::{PageError, PagePlace, TRAILER_SIZE, trailer_nonce};
use page_codec::wal;

use crate::input::Input;
use crate::sealed::{EPOCH, codec};

/// Takes cipher, two places, a nonce, a change and the content of a unit.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let cipher = input.one_of(&Cipher::ALL);
    let (place, other_place) = (place(&mut input), place(&mut input));
    let nonce = input.array();
    let (offset, change) = (input.u16(), input.byte());
    frame_header(&mut input, cipher);
    let content = input.rest();
    let size = 512 << (usize::from(offset) & 3);
    let mut page = vec![0; size];
    for (byte, given) in page.iter_mut().zip(content.iter().cycle()) {
        *byte = *given;
    }
    let mut codec = codec(cipher);
    let (mut sealed, mut out) = (vec![0; size], vec![0xa5; size]);
    let outcome = codec.seal(place, &nonce, &page, &mut sealed);
    if page[size - TRAILER_SIZE..].iter().any(|byte| *byte != 0) {
        assert_eq!(outcome, Err(PageError::TrailerInUse));
        page[size - TRAILER_SIZE..].fill(0);
        codec
            .seal(place, &nonce, &page, &mut sealed)
            .expect("the trailer's place was cleared");
    }
    assert_eq!(trailer_nonce(&sealed), nonce);
    codec.open(place, &sealed, &mut out).expect("opens");
    assert_eq!(out, page);
    if other_place != place {
        refuses(&mut codec, other_place, &sealed);
    }
    let mut altered = sealed.clone();
    altered[usize::from(offset) % size] ^= change.max(1);
    refuses(&mut codec, place, &altered);
}

fn refuses(codec: &mut page_codec::page::PageCodec, place: PagePlace, sealed: &[u8]) {
    let mut out = vec![0; sealed.len()];
    let error = codec.open(place, sealed, &mut out).expect_err("opened");
    assert!(out.iter().all(|byte| *byte == 0), "no plaintext is left");
    if let PageError::UnknownEpoch(epoch) = error {
        assert_ne!(epoch, EPOCH);
        assert!(codec.mask_of(sealed).is_err());
    }
}

fn place(input: &mut Input<'_>) -> PagePlace {
    match input.byte() % 4 {
        0 => PagePlace::main(input.u32()),
        1 => PagePlace::wal(input.u32(), input.u64(), input.array()),
        2 => PagePlace::journal(input.u32(), input.u64()),
        _ => PagePlace::temporary(input.u64()),
    }
}

/// The header of a frame comes back; offsets of a log lead to the frame that they are in.
fn frame_header(input: &mut Input<'_>, cipher: Cipher) {
    let header = input.array();
    let index = input.u64();
    let codec = codec(cipher);
    let mut masked = header;
    wal::mask(codec.mask(), index, &mut masked);
    assert_eq!(masked[..8], header[..8]);
    wal::unmask(codec.mask(), index, &mut masked);
    assert_eq!(masked, header);
    let (index, page_size) = (index >> 20, 512 << (index & 7));
    let offset = wal::frame_offset(index, page_size);
    assert_eq!(
        wal::region(offset, page_size),
        wal::Region::FrameHeader(index)
    );
    assert_eq!(
        wal::region(offset + 24, page_size),
        wal::Region::Page(index)
    );
    let inside = 25 + u64::from(input.u16()) % (u64::from(page_size) - 1);
    let region = wal::region(offset + inside, page_size);
    assert_eq!(region, wal::Region::Inside(index, inside));
}
