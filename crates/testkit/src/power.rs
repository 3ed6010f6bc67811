//! The possible states of a disk after a power failure.
//!
//! The guarantees of a device on which SQLite relies (sqlite.org/atomiccommit.html, sections 2 and
//! 9):
//!
//! - Everything synced is there.
//! - Of what was written since, any part may be there, in any order within and between files, split
//!   anywhere between two units of 512 or 4,096 bytes. A change of a file's size is such a part.
//! - For each name created or deleted since the last sync of the directory, the state is that of
//!   some point in time since, independently of other names. The unix VFS syncs the directory when
//!   a new journal or log is first synced, and when SQLite requests it with a deletion.
//! - A file is not truncated before earlier creations and deletions of names have happened: file
//!   systems keep the order of such changes. SQLite relies on this: with synchronous=FULL it
//!   truncates a database that auto_vacuum has made smaller after it has deleted the journal,
//!   without a sync in between.
//! - If the device does not guarantee `SQLITE_IOCAP_POWERSAFE_OVERWRITE`, a sector that was being
//!   written may contain anything, even outside of what was written.

use std::collections::{BTreeMap, BTreeSet};

use crate::disk::{Device, Effect, Image};
use crate::random::Random;

/// Replays a log of effects and computes, at each point, what a power cut may leave.
pub struct Replay<'a> {
    log: &'a [Effect],
    device: Device,
    position: usize,
    /// The durable content of files.
    durable: BTreeMap<usize, Vec<u8>>,
    /// Effects on a file's content since, as indices into the log.
    pending: BTreeMap<usize, Vec<usize>>,
    /// The durable names.
    names: BTreeMap<String, usize>,
    /// Effects on names since.
    pending_names: Vec<usize>,
}

/// How much of the unsynced data is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remains {
    /// None of it.
    Nothing,
    /// All of it, with the last write torn.
    AllButTheEnd,
    /// All data of some files, and none of the others.
    WholeFiles,
    /// This many sixteenths of the pieces, in order.
    Some(u64),
    /// The same share, in any order.
    Shuffled(u64),
}

impl<'a> Replay<'a> {
    /// Starts before the first effect, with these files on the disk.
    pub fn new(device: Device, image: &Image, log: &'a [Effect]) -> Self {
        // Existing files have the numbers that `Disk::with` gave them.
        let files = image.files.iter().enumerate();
        Replay {
            log,
            device,
            position: 0,
            durable: files
                .clone()
                .map(|(file, (_, bytes))| (file, bytes.clone()))
                .collect(),
            pending: BTreeMap::new(),
            names: files
                .map(|(file, (name, _))| (name.clone(), file))
                .collect(),
            pending_names: Vec::new(),
        }
    }

    /// The number of effects replayed.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Replays one effect; returns false at the end.
    pub fn advance(&mut self) -> bool {
        let Some(effect) = self.log.get(self.position) else {
            return false;
        };
        match effect {
            Effect::Create { file, .. } => {
                self.durable.insert(*file, Vec::new());
                self.pending_names.push(self.position);
            }
            Effect::Delete { .. } => self.pending_names.push(self.position),
            Effect::Write { file, .. } | Effect::Truncate { file, .. } => {
                self.pending.entry(*file).or_default().push(self.position);
            }
            Effect::Sync { file } => {
                let content = self.durable.entry(*file).or_default();
                for place in self.pending.remove(file).unwrap_or_default() {
                    apply(content, &self.log[place]);
                    if let Effect::Truncate { .. } = self.log[place] {
                        // In order, as described at the head of this module.
                        let earlier = self.pending_names.partition_point(|name| *name < place);
                        for name in self.pending_names.drain(..earlier) {
                            rename(&mut self.names, &self.log[name]);
                        }
                    }
                }
            }
            Effect::SyncDirectory => {
                for place in std::mem::take(&mut self.pending_names) {
                    rename(&mut self.names, &self.log[place]);
                }
            }
        }
        self.position += 1;
        true
    }

    /// One of the disks that a power cut at this point may leave.
    pub fn image(&self, random: &mut Random) -> Image {
        let remains = match random.below(8) {
            0 => Remains::Nothing,
            1 => Remains::AllButTheEnd,
            2 => Remains::WholeFiles,
            3 => Remains::Some(15),
            4 | 5 => Remains::Some(random.below(16)),
            _ => Remains::Shuffled(random.below(16)),
        };
        let (names, in_order) = self.names_left(remains, random);
        let wanted: BTreeSet<usize> = names.values().copied().collect();
        let left = |place: &usize| {
            let cuts = matches!(self.log[*place], Effect::Truncate { .. });
            !cuts || *place < in_order
        };
        let mut contents = BTreeMap::new();
        for file in wanted {
            let places = self.pending.get(&file).into_iter().flatten().copied();
            let places: Vec<usize> = places.filter(left).collect();
            contents.insert(file, self.content_left(remains, file, &places, random));
        }
        let files = names.into_iter().map(|(name, file)| {
            let content = contents.remove(&file).unwrap_or_default();
            (name, content)
        });
        Image {
            files: files.collect(),
        }
    }

    /// The names, and the index in the log up to which all changes of names are there.
    fn names_left(
        &self,
        remains: Remains,
        random: &mut Random,
    ) -> (BTreeMap<String, usize>, usize) {
        let mut names = self.names.clone();
        let mut in_order = self.position;
        let mut stopped: BTreeSet<&str> = BTreeSet::new();
        for place in &self.pending_names {
            let effect = &self.log[*place];
            let (Effect::Create { name, .. } | Effect::Delete { name }) = effect else {
                continue;
            };
            let happened = match remains {
                Remains::Nothing => false,
                Remains::AllButTheEnd => true,
                Remains::WholeFiles => random.once_in(2),
                Remains::Some(share) | Remains::Shuffled(share) => random.below(16) <= share,
            };
            // Changes of one name happen in order.
            if happened && !stopped.contains(name.as_str()) {
                rename(&mut names, effect);
            } else {
                stopped.insert(name);
                in_order = in_order.min(*place);
            }
        }
        (names, in_order)
    }

    /// A file with its synced content, and what remains of these later effects.
    fn content_left(
        &self,
        remains: Remains,
        file: usize,
        places: &[usize],
        random: &mut Random,
    ) -> Vec<u8> {
        let newest = self
            .pending
            .values()
            .filter_map(|places| places.last())
            .max();
        let mut content = self.durable.get(&file).cloned().unwrap_or_default();
        let unit = random.pick(&[512, 4096]);
        match remains {
            Remains::Nothing => return content,
            Remains::AllButTheEnd => {
                for place in places {
                    if Some(place) == newest {
                        let mut pieces = pieces(&self.log[*place], unit);
                        pieces.truncate(random.below(pieces.len() as u64 + 1) as usize);
                        pieces.iter().for_each(|piece| piece.apply(&mut content));
                    } else {
                        apply(&mut content, &self.log[*place]);
                    }
                }
            }
            Remains::WholeFiles => {
                if random.once_in(2) {
                    let all = places.iter();
                    all.for_each(|place| apply(&mut content, &self.log[*place]));
                }
            }
            Remains::Some(share) | Remains::Shuffled(share) => {
                let all = places.iter();
                let mut all: Vec<Piece> = all
                    .flat_map(|place| pieces(&self.log[*place], unit))
                    .collect();
                all.retain(|_| random.below(16) <= share);
                if let Remains::Shuffled(_) = remains {
                    for index in (1..all.len()).rev() {
                        all.swap(index, random.below(index as u64 + 1) as usize);
                    }
                }
                all.iter().for_each(|piece| piece.apply(&mut content));
            }
        }
        if !self.device.powersafe_overwrite {
            self.trash(&mut content, places, random);
        }
        content
    }

    /// Fills some of the sectors that were being written with arbitrary bytes.
    fn trash(&self, content: &mut [u8], places: &[usize], random: &mut Random) {
        let chance = 1 + random.below(16);
        let size = self.device.sector_size;
        for place in places {
            let Effect::Write { offset, bytes, .. } = &self.log[*place] else {
                continue;
            };
            for sector in offset / size..(offset + bytes.len()).div_ceil(size) {
                let end = ((sector + 1) * size).min(content.len());
                if sector * size < end && random.once_in(chance) {
                    random.fill(&mut content[sector * size..end]);
                }
            }
        }
    }
}

/// A part that is applied completely or not at all.
enum Piece<'a> {
    Bytes(usize, &'a [u8]),
    Size(usize),
}

impl Piece<'_> {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Piece::Bytes(offset, bytes) => put(content, *offset, bytes),
            Piece::Size(size) => content.resize(*size, 0),
        }
    }
}

/// An effect on content, split at multiples of `unit`.
fn pieces(effect: &Effect, unit: usize) -> Vec<Piece<'_>> {
    match effect {
        Effect::Write { offset, bytes, .. } => {
            let first = (unit - offset % unit).min(bytes.len());
            let (head, rest) = bytes.split_at(first);
            let mut all = vec![Piece::Bytes(*offset, head)];
            let chunks = rest.chunks(unit).enumerate();
            all.extend(
                chunks.map(|(index, chunk)| Piece::Bytes(offset + first + index * unit, chunk)),
            );
            all
        }
        Effect::Truncate { size, .. } => vec![Piece::Size(*size)],
        Effect::Create { .. } | Effect::Sync { .. } | Effect::Delete { .. } => Vec::new(),
        Effect::SyncDirectory => Vec::new(),
    }
}

fn apply(content: &mut Vec<u8>, effect: &Effect) {
    match effect {
        Effect::Write { offset, bytes, .. } => put(content, *offset, bytes),
        Effect::Truncate { size, .. } => content.resize(*size, 0),
        Effect::Create { .. } | Effect::Sync { .. } | Effect::Delete { .. } => {}
        Effect::SyncDirectory => {}
    }
}

fn put(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(bytes);
}

fn rename(names: &mut BTreeMap<String, usize>, effect: &Effect) {
    match effect {
        Effect::Create { file, name } => drop(names.insert(name.clone(), *file)),
        Effect::Delete { name } => drop(names.remove(name)),
        Effect::Write { .. } | Effect::Truncate { .. } | Effect::Sync { .. } => {}
        Effect::SyncDirectory => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(file: usize, offset: usize, byte: u8, size: usize) -> Effect {
        Effect::Write {
            file,
            offset,
            bytes: vec![byte; size].into(),
        }
    }

    fn create(file: usize, name: &str) -> Effect {
        Effect::Create {
            file,
            name: name.to_owned(),
        }
    }

    /// All disks that many seeds produce from this log, cut after its end.
    fn images(device: Device, log: &[Effect]) -> Vec<Image> {
        let mut replay = Replay::new(device, &Image::default(), log);
        while replay.advance() {}
        (0..2000)
            .map(|seed| replay.image(&mut Random::new(seed)))
            .collect()
    }

    fn contents(images: &[Image], name: &str) -> BTreeSet<Option<Vec<u8>>> {
        images
            .iter()
            .map(|image| image.files.get(name).cloned())
            .collect()
    }

    #[test]
    fn synced_data_is_there_and_names_need_a_separate_sync() {
        let log = [
            create(0, "/a"),
            write(0, 0, 1, 600),
            Effect::Sync { file: 0 },
        ];
        let found = contents(&images(Device::UNIX, &log), "/a");
        assert_eq!(found, BTreeSet::from([None, Some(vec![1; 600])]));
        let log = [&log[..], &[Effect::SyncDirectory]].concat();
        let found = contents(&images(Device::UNIX, &log), "/a");
        assert_eq!(found, BTreeSet::from([Some(vec![1; 600])]));
    }

    #[test]
    fn writes_since_are_there_in_any_part_and_order() {
        let log = [
            create(0, "/a"),
            Effect::SyncDirectory,
            write(0, 0, 1, 1024),
            Effect::Sync { file: 0 },
            write(0, 0, 2, 1024),
            write(0, 512, 3, 512),
        ];
        let halves = |content: &Option<Vec<u8>>| {
            let content = content.as_ref().expect("there");
            assert_eq!(content.len(), 1024);
            assert!(content[..512].iter().all(|byte| *byte == content[0]));
            assert!(content[512..].iter().all(|byte| *byte == content[512]));
            (content[0], content[512])
        };
        let found: BTreeSet<_> = contents(&images(Device::UNIX, &log), "/a")
            .iter()
            .map(halves)
            .collect();
        let all = [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)];
        assert_eq!(found, BTreeSet::from(all));
    }

    #[test]
    fn a_deletion_and_a_new_file_of_the_name_come_in_order() {
        let log = [
            create(0, "/a"),
            write(0, 0, 1, 10),
            Effect::Sync { file: 0 },
            Effect::SyncDirectory,
            Effect::Delete {
                name: "/a".to_owned(),
            },
            create(1, "/a"),
        ];
        let found = contents(&images(Device::UNIX, &log), "/a");
        assert_eq!(
            found,
            BTreeSet::from([None, Some(vec![1; 10]), Some(vec![])])
        );
    }

    #[test]
    fn a_sector_loses_unwritten_bytes_only_without_powersafe_overwrite() {
        let log = [
            create(0, "/a"),
            Effect::SyncDirectory,
            write(0, 0, 1, 1024),
            Effect::Sync { file: 0 },
            write(0, 512, 2, 100),
        ];
        let harmed = |device| {
            let images = images(device, &log);
            let found = contents(&images, "/a");
            let outside = |content: &Option<Vec<u8>>| {
                let content = content.as_ref().expect("there");
                assert!(content[..512].iter().all(|byte| *byte == 1));
                content[612..].iter().any(|byte| *byte != 1)
            };
            found.iter().any(outside)
        };
        assert!(!harmed(Device::UNIX));
        assert!(harmed(Device {
            sector_size: 512,
            powersafe_overwrite: false,
            map: false
        }));
    }
}
