//! Cells of the catalogue's answers, which are all texts.

/// A text; empty where it is NULL or missing.
pub(crate) fn text(row: &[Option<String>], index: usize) -> String {
    row.get(index).cloned().flatten().unwrap_or_default()
}

/// A number of the catalogue; 0, which is no relation and no column, where there is none.
pub(crate) fn number<N: std::str::FromStr + Default>(row: &[Option<String>], index: usize) -> N {
    text(row, index).parse().unwrap_or_default()
}

/// Whether it is true.
pub(crate) fn truth(row: &[Option<String>], index: usize) -> bool {
    matches!(text(row, index).as_str(), "true" | "t")
}

/// Numbers with blanks between them.
pub(crate) fn numbers(row: &[Option<String>], index: usize) -> Vec<i16> {
    let list = text(row, index);
    list.split_whitespace()
        .map(|word| word.parse().unwrap_or_default())
        .collect()
}
