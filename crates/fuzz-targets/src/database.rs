//! A changed plaintext, sealed as its owner would, under SQLite: no crash, every page stays
//! authentic, and the answers are those of stock SQLite on the same plaintext.

use crate::files::{Room, answer, assert_same, assert_verifies, choose, work};
use crate::input::Input;
use crate::sealed::{self, Sealer};
use page_codec::page::TRAILER_SIZE;

/// Takes changes to a database, then what is done with it.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (cipher, template) = choose(&mut input);
    let page_size = template.page_size as usize;
    let how = input.byte();
    let mut image = template.image.clone();
    for _ in 0..how % 4 {
        let index = input.below(template.pages());
        input.patch(&mut image[index * page_size..][..page_size]);
    }
    let (mut lost, mut trailing) = (0, 0);
    if how & 0x10 != 0 {
        lost = input.below(template.pages());
        image.truncate((template.pages() - lost) * page_size);
        trailing = input.below(page_size);
    }
    clear_trailers(&mut image, page_size);
    let is_whole = image == template.image;
    let same_form = image.get(16..24) == template.image.get(16..24);
    let room = Room::new();
    let mut file =
        Sealer::new(cipher).database(&sealed::header(cipher, template.page_size), &image);
    file.extend(std::iter::repeat_n(0x5a, trailing));
    room.write("x.db", &file);
    room.write("plain.db", &image);
    let operations = input.rest();
    let Ok(connection) = room.open("x.db") else {
        return;
    };
    let said = work(&connection, &mut Input::new(operations));
    if trailing == 0 {
        assert_verifies(&connection);
    }
    if is_whole {
        let answer = answer(&connection, "PRAGMA integrity_check");
        assert!(
            answer.ends_with(": ok|\n") || answer.contains("error"),
            "{answer}"
        );
    }
    // Where the plaintext has another page size, or less room, than the header says, or where
    // pages were cut off, the two rightly differ.
    if same_form && lost == 0 && trailing == 0 {
        let plain = room.open_plain("plain.db").expect("opens");
        assert_same(&said, &work(&plain, &mut Input::new(operations)));
    }
}

/// SQLite sees zeros where the trailers stand.
pub fn clear_trailers(image: &mut [u8], page_size: usize) {
    for page in image.chunks_exact_mut(page_size) {
        page[page_size - TRAILER_SIZE..].fill(0);
    }
}
