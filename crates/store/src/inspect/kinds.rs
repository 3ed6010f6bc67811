//! The purpose of each page of an open database.

use crate::verify::{begin, end};
use rusqlite::Connection;
use serde::Serialize;
use std::collections::HashSet;
use std::fmt;

/// The purpose of a page (<https://www.sqlite.org/fileformat2.html>, section 1.6 and before).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A page of the schema's b-tree, for example page 1.
    Schema,
    /// Rows of a table.
    TableLeaf,
    /// Interior page of a table's b-tree.
    TableInterior,
    /// Leaf of an index, or of a table without rowids.
    IndexLeaf,
    /// Interior page of such a b-tree.
    IndexInterior,
    /// The rest of a long row or entry.
    Overflow,
    /// A page on the freelist.
    Free,
    /// A page of the pointer map, which `auto_vacuum` uses to find who refers to a page.
    PointerMap,
    /// The page that SQLite leaves unused for its locks.
    Lock,
    /// In no b-tree and on no list.
    Lost,
    /// In the file, beyond the end of the database.
    BehindTheEnd,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Kind::Schema => "schema",
            Kind::TableLeaf => "table leaf",
            Kind::TableInterior => "table interior",
            Kind::IndexLeaf => "index leaf",
            Kind::IndexInterior => "index interior",
            Kind::Overflow => "overflow",
            Kind::Free => "free",
            Kind::PointerMap => "pointer map",
            Kind::Lock => "lock page",
            Kind::Lost => "lost",
            Kind::BehindTheEnd => "behind the end",
        })
    }
}

/// The kind of each page of the database, including the log, starting from page 1.
pub(super) fn kinds(connection: &Connection) -> rusqlite::Result<Vec<Kind>> {
    begin(connection)?;
    let kinds = in_transaction(connection);
    end(connection);
    kinds
}

fn in_transaction(connection: &Connection) -> rusqlite::Result<Vec<Kind>> {
    let number = |name: &str| {
        let sql = format!("PRAGMA {name}");
        connection.query_row(&sql, [], |row| row.get::<_, i64>(0))
    };
    let number = |name: &str| number(name).map(|number| usize::try_from(number).unwrap_or(0));
    let (pages, page_size) = (number("page_count")?, number("page_size")?);
    let (free, auto_vacuum) = (number("freelist_count")?, number("auto_vacuum")?);
    let mut kinds: Vec<Option<Kind>> = vec![None; pages];
    for (page, kind) in pages_of_trees(connection)? {
        if let Some(place) = kinds.get_mut(page.wrapping_sub(1)) {
            *place = Some(kind);
        }
    }
    let lock_page = LOCK_BYTE / page_size.max(1) + 1;
    if auto_vacuum != 0 {
        pointer_maps(pages, page_size, lock_page)
            .for_each(|page| kinds[page - 1] = Some(Kind::PointerMap));
    }
    if let Some(place) = kinds.get_mut(lock_page - 1) {
        *place = Some(Kind::Lock);
    }
    // If the number of remaining pages equals the freelist's length, they are the free pages;
    // otherwise it is unknown which of them are.
    let others = kinds.iter().filter(|kind| kind.is_none()).count();
    let other = if others == free {
        Kind::Free
    } else {
        Kind::Lost
    };
    Ok(kinds
        .into_iter()
        .map(|kind| kind.unwrap_or(other))
        .collect())
}

/// sqlite.org/fileformat2.html, section 1.5.
const LOCK_BYTE: usize = 0x4000_0000;

/// sqlite.org/fileformat2.html, section 1.8: page 2, and then one after every run of pages that
/// fills it with entries of 5 bytes; one that would be the lock page comes after it.
fn pointer_maps(pages: usize, page_size: usize, lock_page: usize) -> impl Iterator<Item = usize> {
    let entries = page_size.saturating_sub(page_codec::page::TRAILER_SIZE) / 5;
    let maps = (2..=pages).step_by(entries + 1);
    let place = move |page| if page == lock_page { page + 1 } else { page };
    maps.map(place).filter(move |page| *page <= pages)
}

fn pages_of_trees(connection: &Connection) -> rusqlite::Result<Vec<(usize, Kind)>> {
    // Tables without rowids are stored like indexes.
    let mut names = connection.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'index'
         UNION SELECT name FROM pragma_table_list WHERE schema = 'main' AND wr",
    )?;
    let of_index: HashSet<String> = names
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut pages = connection.prepare("SELECT pageno, pagetype, name FROM dbstat")?;
    pages
        .query_map([], |row| {
            let (page, what): (i64, String) = (row.get(0)?, row.get(1)?);
            let name: String = row.get(2)?;
            let kind = match (what.as_str(), of_index.contains(&name)) {
                ("overflow", _) => Kind::Overflow,
                ("leaf" | "internal", _) if is_schema(&name) => Kind::Schema,
                ("leaf", false) => Kind::TableLeaf,
                ("internal", false) => Kind::TableInterior,
                ("leaf", true) => Kind::IndexLeaf,
                ("internal", true) => Kind::IndexInterior,
                _ => Kind::Lost,
            };
            Ok((usize::try_from(page).unwrap_or(0), kind))
        })?
        .collect()
}

fn is_schema(name: &str) -> bool {
    name == "sqlite_schema" || name == "sqlite_master"
}
