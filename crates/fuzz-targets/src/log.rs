//! A whole write-ahead log through SQLite's recovery: any headers and frames, each sealed and
//! checksummed as its owner would, or not; with the answers of stock SQLite on the same log.

use page_codec::page::TRAILER_SIZE;
use page_codec::wal::{self, FRAME_HEADER_SIZE, LogHeader};

use crate::files::{Room, Template, assert_same, assert_verifies, choose, work};
use crate::input::Input;
use crate::sealed::{self, Sealer};

/// Takes changes to a log, then what is done with the database.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (cipher, template) = choose(&mut input);
    let page_size = template.page_size as usize;
    let mut image = template.image.clone();
    // sqlite.org/fileformat2.html 1.3.2: both version numbers are 2 with a write-ahead log.
    image[18..20].fill(2);
    let mut log = Log::new(&mut input, template.page_size);
    let mut sealer = Sealer::new(cipher);
    for _ in 0..input.byte() % 12 {
        log.frame(&mut input, template, &image[..page_size], &mut sealer);
    }
    let room = Room::new();
    let header = sealed::header(cipher, template.page_size);
    room.write("x.db", &sealer.database(&header, &image));
    room.write("plain.db", &image);
    room.write("x.db-wal", &log.sealed);
    room.write("plain.db-wal", &log.plain);
    let operations = input.rest();
    let Ok(connection) = room.open("x.db") else {
        return;
    };
    let said = work(&connection, &mut Input::new(operations));
    assert_verifies(&connection);
    if log.comparable {
        let plain = room.open_plain("plain.db").expect("opens");
        assert_same(&said, &work(&plain, &mut Input::new(operations)));
    }
}

struct Log {
    sealed: Vec<u8>,
    plain: Vec<u8>,
    big_endian: bool,
    salts: [u8; 8],
    sums: (u32, u32),
    frames: u64,
    /// Whether stock SQLite must answer the same.
    comparable: bool,
}

impl Log {
    fn new(input: &mut Input<'_>, page_size: u32) -> Self {
        let how = input.byte();
        let salts = input.array();
        let mut header = Vec::new();
        header.extend((0x377f_0682_u32 | u32::from(how & 1)).to_be_bytes());
        header.extend(3_007_000_u32.to_be_bytes());
        header.extend(page_size.to_be_bytes());
        header.extend(u32::from(input.byte()).to_be_bytes());
        header.extend(salts);
        if how & 2 != 0 {
            input.patch(&mut header[..16]);
        }
        let big_endian = header[3] & 1 == 1;
        let sums = checksum(big_endian, (0, 0), &header);
        header.extend(sums.0.to_be_bytes());
        header.extend(sums.1.to_be_bytes());
        if how & 4 != 0 {
            input.patch(&mut header);
        }
        let written = LogHeader::try_from(&header[..]).ok();
        let stored = written.as_ref().and_then(wal::store_log_header);
        Log {
            sealed: stored.map_or(header.clone(), |stored| stored.to_vec()),
            plain: header.clone(),
            big_endian,
            salts,
            sums,
            frames: 0,
            // Without a valid header both go to disk alike, and a stored version would be read.
            comparable: stored.is_some() || header[4..8] != *b"Str1",
        }
    }

    fn frame(
        &mut self,
        input: &mut Input<'_>,
        template: &Template,
        page_one: &[u8],
        sealer: &mut Sealer,
    ) {
        const PAGES_MAX: u32 = 200;
        let how = input.byte();
        let number = u32::from(input.byte()) % PAGES_MAX;
        let commit_size = match how & 3 {
            0 => 0,
            1 | 2 => template.pages() as u32,
            _ => u32::from(input.byte()) % PAGES_MAX,
        };
        let page_size = template.page_size as usize;
        let mut page = if number == 1 {
            page_one.to_vec()
        } else {
            template.page(usize::from(input.byte())).to_vec()
        };
        input.patch(&mut page);
        if number == 1 {
            // The form of the file is the header's to say; `database` changes it.
            page[16..24].copy_from_slice(&page_one[16..24]);
        }
        page[page_size - TRAILER_SIZE..].fill(0);
        // What is behind the end of both file and log reads as zeros in stock SQLite.
        self.comparable &= commit_size <= template.pages() as u32 && number != 0;
        let mut header = [0; FRAME_HEADER_SIZE];
        header[..4].copy_from_slice(&number.to_be_bytes());
        header[4..8].copy_from_slice(&commit_size.to_be_bytes());
        header[8..16].copy_from_slice(&self.salts);
        self.sums = checksum(self.big_endian, self.sums, &header[..8]);
        self.sums = checksum(self.big_endian, self.sums, &page);
        header[16..20].copy_from_slice(&self.sums.0.to_be_bytes());
        header[20..].copy_from_slice(&self.sums.1.to_be_bytes());
        if how & 0x30 == 0x30 {
            // Salts or checksums that are not the log's.
            input.patch(&mut header[8..]);
        }
        let elsewhere = if how & 0xc0 == 0xc0 {
            u64::from(input.byte() % 3)
        } else {
            0
        };
        let mut frame = sealer.frame(self.frames + elsewhere, header, &page);
        if how & 0x0c == 0x0c {
            input.patch(&mut frame);
            self.comparable = false;
        }
        if elsewhere != 0 {
            // A frame of another place ends the log, as one with other salts does.
            header[8..16].copy_from_slice(&self.salts.map(|byte| !byte));
        }
        self.sealed.extend(frame);
        self.plain.extend(header);
        self.plain.extend(page);
        self.frames += 1;
    }
}

/// sqlite.org/fileformat2.html, section 4.2.
fn checksum(big_endian: bool, start: (u32, u32), bytes: &[u8]) -> (u32, u32) {
    let word = |bytes: [u8; 4]| {
        if big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        }
    };
    let (pairs, _) = bytes.as_chunks::<8>();
    pairs.iter().fold(start, |(one, two), pair| {
        let [a, b, c, d, e, f, g, h] = *pair;
        let one = one.wrapping_add(word([a, b, c, d])).wrapping_add(two);
        (one, two.wrapping_add(word([e, f, g, h])).wrapping_add(one))
    })
}

const _: () = assert!(
    wal::HEADER_SIZE == 32,
    "the header above is written by hand"
);
