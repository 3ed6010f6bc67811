//! The rollback journal: its cursor alone, and a hot journal through SQLite's rollback.

use page_codec::journal::{Cursor, HEADER_FIELDS_SIZE, Header, MAGIC, Part, store_start};
use page_codec::page::{PagePlace, TRAILER_SIZE, trailer_nonce};

use crate::files::{Room, Template, assert_same, assert_verifies, choose, work};
use crate::input::Input;
use crate::sealed::{self, Sealer};

/// Takes a list of writes and reads. What is not an image or a checksum must be able to go out in
/// clear: page numbers, headers, names, never as many bytes as a page in an order that SQLite has
/// not announced.
pub fn run_cursor(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let page_size: u32 = if input.byte() & 7 == 0 {
        0
    } else {
        512 << (input.byte() % 8)
    };
    let (mut writer, mut reader) = (Cursor::default(), Cursor::default());
    let mut offset = 0;
    let mut announced = None;
    while !input.is_empty() {
        let how = input.byte();
        let size = match how & 7 {
            0 | 1 => 4,
            2 | 3 => page_size as usize,
            4 => HEADER_FIELDS_SIZE,
            _ => input.below(70_000),
        };
        let mut data = vec![how; size];
        let given = input.take(size.min(8));
        data[..given.len()].copy_from_slice(given);
        if how & 8 != 0 && size >= MAGIC.len() {
            data[..MAGIC.len()].copy_from_slice(&MAGIC);
        }
        if how & 0x10 != 0 {
            offset += u64::from(input.u16());
        }
        let part = writer.write(offset, &data, page_size);
        if let Some(Part::Image(number)) = part {
            assert_eq!(
                announced,
                Some((offset, number)),
                "an image nobody announced"
            );
            assert_eq!(data.len(), page_size as usize);
        }
        if data.len() > HEADER_FIELDS_SIZE && matches!(part, Some(Part::Clear | Part::Header)) {
            let is_header = data[HEADER_FIELDS_SIZE..].iter().all(|byte| *byte == 0);
            let was_announced = announced.is_some_and(|(at, _)| at == offset);
            assert!(is_header || was_announced, "content in clear");
        }
        announced = <[u8; 4]>::try_from(&data[..])
            .ok()
            .map(|number| (offset + 4, u32::from_be_bytes(number)));
        // No number, one, or a read of it that fails.
        let number = match how & 0x60 {
            0x60 => Err("the device fails"),
            0x20 => Ok(Some(input.u32())),
            _ => Ok(None),
        };
        let part = reader.read(offset, size, page_size, || number);
        if let Ok(Part::Image(page)) = part {
            assert_eq!((Ok(Some(page)), size), (number, page_size as usize));
        }
        offset += size as u64;
    }
}

/// Takes a hot journal, each record sealed as its owner would or not, then what is done with the
/// database; stock SQLite answers the same on the same journal.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (cipher, template) = choose(&mut input);
    let mut sealer = Sealer::new(cipher);
    let mut journal = Journal {
        sealed: Vec::new(),
        plain: Vec::new(),
        checksum_seed: 0,
        comparable: true,
    };
    for _ in 0..1 + input.byte() % 3 {
        journal.segment(&mut input, template, &mut sealer);
    }
    let room = Room::new();
    let header = sealed::header(cipher, template.page_size);
    room.write("x.db", &sealer.database(&header, &template.image));
    room.write("plain.db", &template.image);
    room.write("x.db-journal", &journal.sealed);
    room.write("plain.db-journal", &journal.plain);
    let operations = input.rest();
    let Ok(connection) = room.open("x.db") else {
        return;
    };
    let said = work(&connection, &mut Input::new(operations));
    assert_verifies(&connection);
    if journal.comparable {
        let plain = room.open_plain("plain.db").expect("opens");
        assert_same(&said, &work(&plain, &mut Input::new(operations)));
    }
}

struct Journal {
    sealed: Vec<u8>,
    plain: Vec<u8>,
    checksum_seed: u32,
    /// Whether stock SQLite must answer the same.
    comparable: bool,
}

impl Journal {
    fn segment(&mut self, input: &mut Input<'_>, template: &Template, sealer: &mut Sealer) {
        let how = input.byte();
        let sector_size = 512_usize << (how >> 6);
        let records = usize::from(input.byte() % 6);
        self.checksum_seed = input.u32();
        let count = match how & 3 {
            0 => u32::MAX,
            1 => u32::from(input.byte()),
            _ => records as u32,
        };
        let pages = match how & 0x0c {
            0x0c => u32::from(input.byte()) % 100,
            _ => template.pages() as u32,
        };
        self.comparable &= pages <= template.pages() as u32;
        let mut header = MAGIC.to_vec();
        for field in [
            count,
            self.checksum_seed,
            pages,
            sector_size as u32,
            template.page_size,
        ] {
            header.extend(field.to_be_bytes());
        }
        if how & 0x10 != 0 {
            input.patch(&mut header[..16]);
        }
        let start = self.sealed.len().next_multiple_of(sector_size);
        header.resize(sector_size, 0);
        let mut sealed_header = header.clone();
        if let Some(fields) = Header::of(&header) {
            let seal = sealer.codec.seal_journal_header(start as u64, &fields);
            sealed_header[HEADER_FIELDS_SIZE..][..seal.len()].copy_from_slice(&seal);
        }
        if how & 0x30 == 0x30 {
            input.patch(&mut sealed_header[16..]);
            self.comparable = false;
        }
        if start == 0 {
            // A magic that lacks its first byte is whole on the disk of an encrypted database.
            self.comparable &= header[0] != 0;
            store_start(&mut sealed_header);
        }
        for (file, header) in [
            (&mut self.sealed, &sealed_header),
            (&mut self.plain, &header),
        ] {
            file.resize(start, 0);
            file.extend_from_slice(header);
        }
        for _ in 0..records {
            self.record(input, template, sealer);
        }
    }

    fn record(&mut self, input: &mut Input<'_>, template: &Template, sealer: &mut Sealer) {
        let how = input.byte();
        let number = u32::from(input.byte()) % 120;
        let page_size = template.page_size as usize;
        let mut page = match number {
            1 => template.page(0),
            _ => template.page(usize::from(input.byte())),
        }
        .to_vec();
        input.patch(&mut page);
        if number == 1 {
            page[16..24].copy_from_slice(&template.image[16..24]);
        }
        page[page_size - TRAILER_SIZE..].fill(0);
        let mut checksum = checksum(self.checksum_seed, &page);
        if how & 7 == 7 {
            checksum ^= input.u32();
        }
        let offset = self.sealed.len() as u64 + 4;
        let elsewhere = if how & 0x38 == 0x38 {
            u64::from(input.byte())
        } else {
            0
        };
        let sealed = sealer.seal(PagePlace::journal(number, offset + elsewhere), &page);
        let word = sealer.codec.mask().word(&trailer_nonce(&sealed), number);
        // An image that does not open ends the journal, as a checksum that is wrong does.
        let told = if elsewhere == 0 { checksum } else { !checksum };
        self.comparable &= elsewhere == 0 && number != 0;
        for (file, page, checksum) in [
            (&mut self.sealed, &sealed, checksum ^ word),
            (&mut self.plain, &page, told),
        ] {
            file.extend(number.to_be_bytes());
            file.extend_from_slice(page);
            file.extend(checksum.to_be_bytes());
        }
    }
}

/// sqlite.org/fileformat2.html, section 3: the checksum of a page image in a rollback journal.
fn checksum(seed: u32, page: &[u8]) -> u32 {
    let offsets = (1..).map_while(|step| page.len().checked_sub(200 * step));
    offsets
        .filter(|offset| *offset > 0)
        .fold(seed, |sum, offset| sum.wrapping_add(page[offset].into()))
}
