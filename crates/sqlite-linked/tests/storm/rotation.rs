//! Rotation of the data key within a schedule: begun by one worker, continued by others.

use std::path::Path;

use page_codec::header::{HeaderRegion, REGION_SIZE};
use page_codec::page::trailer_epoch;
use page_codec::wal;
use rusqlite::Connection;

use crate::common::images::with_suffix;
use crate::common::text;
use crate::schedule::Schedule;

impl Schedule {
    /// Begins a rotation, or continues one for a few pages or to its end.
    pub fn rotate(&mut self, index: usize) {
        let mut value = self
            .random
            .pick(&["", "='start'", "='start'", "='1'", "='5'", "='40'", "='40'"]);
        if value.is_empty() && !self.others_are_out_of_the_way(index) {
            // Running to the end would wait for the others.
            value = "='start'";
        }
        let answer = self.ask(index, &format!("sql PRAGMA strongroom_rotate{value}"));
        self.agree(index, &answer);
        if answer.is_ok() && answer.said.contains("\"finished\"") {
            self.assert_one_epoch();
        }
    }

    /// Nobody else has the database open.
    pub fn finish_rotation(&mut self, connection: &Connection) {
        let mut said = String::new();
        for _ in 0..3 {
            said = text(connection, "PRAGMA strongroom_rotate='1000000'");
            if said.contains("\"finished\"") {
                return self.assert_one_epoch();
            }
            text(connection, "PRAGMA wal_checkpoint(TRUNCATE)");
            text(connection, "SELECT count(*) FROM sqlite_schema");
        }
        panic!("the rotation does not end: {said}");
    }

    /// A rotation has ended: nothing in the file or its log is under any epoch but the current one.
    fn assert_one_epoch(&mut self) {
        self.tally.rotations += 1;
        let path = self.room.path("storm.db");
        let (current, found) = epochs(&path, self.page_size);
        let others: Vec<_> = found
            .into_iter()
            .filter(|(_, epoch)| *epoch != current)
            .collect();
        assert!(others.is_empty(), "epoch {current}, but {others:?}");
    }
}

/// The current epoch, and that of each page and frame, by name.
pub fn epochs(path: &Path, page_size: usize) -> (u32, Vec<(String, u32)>) {
    let file = std::fs::read(path).expect("readable");
    let (region, pages) = file.split_at(REGION_SIZE);
    let header = HeaderRegion::parse(region).expect("a header").header;
    let pages = pages.chunks_exact(page_size).enumerate();
    let mut found: Vec<_> = pages
        .map(|(index, page)| (format!("page {}", index + 1), trailer_epoch(page)))
        .collect();
    let log = std::fs::read(with_suffix(path, "-wal")).unwrap_or_default();
    let frame_size = wal::frame_size(page_size as u32) as usize;
    let frames = log.get(wal::HEADER_SIZE as usize..).unwrap_or_default();
    let frames = frames.chunks_exact(frame_size).enumerate();
    found.extend(frames.map(|(index, frame)| (format!("frame {index}"), trailer_epoch(frame))));
    (header.current_epoch, found)
}
