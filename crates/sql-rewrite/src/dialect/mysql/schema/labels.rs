//! Collations of tables with enumerations and sets.

/// Those under which printable letters of ASCII are equal to none but themselves, and to the same
/// in the other case. In languages of some others `i` is `y`, or two letters are one.
const KNOWN: [&str; 14] = [
    "0900_ai_ci",
    "0900_as_ci",
    "0900_as_cs",
    "0900_bin",
    "bin",
    "general_ci",
    "general_nopad_ci",
    "nopad_bin",
    "uca1400_ai_ci",
    "uca1400_nopad_ai_ci",
    "unicode_520_ci",
    "unicode_520_nopad_ci",
    "unicode_ci",
    "unicode_nopad_ci",
];

/// Whether a collation is one of them.
pub(super) fn is_known(collation: &str) -> bool {
    let own = collation.to_ascii_lowercase();
    let parts = own.split_once('_');
    parts.is_some_and(|(_, rest)| KNOWN.contains(&rest)) || own == "latin1_swedish_ci"
}

#[cfg(test)]
mod tests {
    use super::is_known;

    #[test]
    fn collations_of_one_language_are_not_known() {
        for own in [
            "utf8mb4_general_ci",
            "utf8mb4_0900_ai_ci",
            "utf8mb3_bin",
            "latin1_swedish_ci",
        ] {
            assert!(is_known(own), "{own}");
        }
        for own in [
            "utf8mb4_latvian_ci",
            "utf8mb4_lt_0900_ai_ci",
            "utf8mb4_swedish_ci",
            "binary",
        ] {
            assert!(!is_known(own), "{own}");
        }
    }
}
