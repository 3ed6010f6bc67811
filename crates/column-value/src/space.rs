//! White space, as PostgreSQL's readers of values skip it.

/// What C calls a space.
pub fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}
