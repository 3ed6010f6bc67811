//! The newest stamp of each page that a connection has seen.

use page_codec::page::Stamp;

/// Stamps are stored in chunks of this many neighbouring pages.
const CHUNK: usize = 256;

/// The newest known stamp of each page.
#[derive(Default)]
pub(crate) struct Stamps {
    chunks: Vec<Option<Box<[Stamp; CHUNK]>>>,
    /// Lower bound for the stamps of all pages.
    floor: Stamp,
}

impl Stamps {
    /// The stamp of a page; zero if unknown.
    #[inline]
    pub fn of(&self, index: u64) -> Stamp {
        let (chunk, inside) = position(index);
        match self.chunks.get(chunk) {
            Some(Some(stamps)) => stamps[inside],
            Some(None) | None => self.floor,
        }
    }

    /// Records a stamp unless it is older than the known one. Returns whether it was recorded.
    #[inline]
    pub fn note(&mut self, index: u64, stamp: Stamp) -> bool {
        let known = self.known(index);
        let is_fresh = stamp >= *known;
        if is_fresh {
            *known = stamp;
        }
        is_fresh
    }

    /// Whether nothing is known about a page beyond the floor.
    pub fn is_at_floor(&self, index: u64) -> bool {
        self.of(index) == self.floor
    }

    /// Sets the stamp of a page, even to an older one.
    pub fn take(&mut self, index: u64, stamp: Stamp) {
        *self.known(index) = stamp;
    }

    /// The stored stamp of a page.
    #[inline]
    fn known(&mut self, index: u64) -> &mut Stamp {
        let (chunk, inside) = position(index);
        if chunk >= self.chunks.len() {
            self.chunks.resize_with(chunk + 1, || None);
        }
        let floor = self.floor;
        &mut self.chunks[chunk].get_or_insert_with(|| Box::new([floor; CHUNK]))[inside]
    }

    /// Forgets the pages from `pages` on, which were truncated.
    pub fn cut(&mut self, pages: u64) {
        let (chunk, inside) = position(pages);
        if let Some(Some(stamps)) = self.chunks.get_mut(chunk) {
            stamps[inside..].fill(self.floor);
        }
        self.chunks.truncate(chunk + 1);
    }

    /// Forgets all stamps: the content on disk may be older than what was recorded.
    pub fn clear(&mut self) {
        self.chunks.clear();
        self.floor = Stamp::default();
    }

    /// The newest stamp of any page.
    pub fn newest(&self) -> Stamp {
        let known = self.chunks.iter().flatten().flat_map(|chunk| chunk.iter());
        known.copied().max().unwrap_or_default().max(self.floor)
    }

    /// Forgets all pages: they were replaced, and all new ones are newer than `floor`.
    pub fn begin_at(&mut self, floor: Stamp) {
        self.chunks.clear();
        self.floor = floor;
    }
}

fn position(index: u64) -> (usize, usize) {
    let chunk = usize::try_from(index / CHUNK as u64).unwrap_or(usize::MAX);
    (chunk, (index % CHUNK as u64) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(epoch: u32, version: u64) -> Stamp {
        Stamp { epoch, version }
    }

    #[test]
    fn an_older_stamp_is_refused_and_not_remembered() {
        let mut stamps = Stamps::default();
        assert!(stamps.note(700, stamp(1, 5)));
        assert!(stamps.note(700, stamp(1, 5)));
        assert!(!stamps.note(700, stamp(1, 4)));
        assert!(stamps.note(700, stamp(2, 0)), "a later epoch comes first");
        assert!(!stamps.note(700, stamp(1, 9)));
        assert_eq!(stamps.of(700), stamp(2, 0));
        assert_eq!(stamps.of(699), Stamp::default());
        assert_eq!(stamps.of(1 << 20), Stamp::default());
    }

    #[test]
    fn pages_cut_off_are_forgotten() {
        let mut stamps = Stamps::default();
        for index in [10, 300, 301, 900] {
            stamps.note(index, stamp(1, 5));
        }
        stamps.cut(301);
        let left = [10, 300, 301, 900].map(|index| stamps.of(index).version);
        assert_eq!(left, [5, 5, 0, 0]);
    }
}
