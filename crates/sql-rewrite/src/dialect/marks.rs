//! Names in the tree that stand for syntax that the parser does not know. A dialect writes them
//! into the text for the parser, and removes them from the text for the server.

use sqlparser::ast::{Expr, Ident, ObjectName, ObjectNamePart};

/// Begins the names that stand for a form. A text of a client that has it is refused.
pub(crate) const MARK: char = '\u{2}';

/// The first part of the name of a relation after `ONLY`.
pub(crate) const ONLY: &str = "\u{2}only";

/// The first part of the name of a view that is made `WITH NO DATA`.
pub(crate) const NO_DATA: &str = "\u{2}no data";

/// The first part of the name of a table whose rows come with `OVERRIDING SYSTEM VALUE`.
pub(crate) const OVERRIDING_SYSTEM: &str = "\u{2}overriding system";

/// The same for `OVERRIDING USER VALUE`.
pub(crate) const OVERRIDING_USER: &str = "\u{2}overriding user";

/// The function around the lower bound of `BETWEEN SYMMETRIC`.
pub(crate) const SYMMETRIC: &str = "\u{2}symmetric";

/// Begins the name of an operator that the parser does not know as one.
pub(crate) const OPERATOR: &str = "\u{2}operator ";

/// An operator as the tree has it in `OPERATOR()`, without the mark.
pub(crate) fn operator(name: &str) -> &str {
    let own = name.strip_prefix('"').and_then(|own| own.strip_suffix('"'));
    own.and_then(|own| own.strip_prefix(OPERATOR))
        .unwrap_or(name)
}

/// The option of an index that is made in a tablespace.
pub(crate) const TABLESPACE: &str = "\u{2}tablespace";

/// Whether an option is the mark of a tablespace.
pub(crate) fn is_tablespace(option: &Expr) -> bool {
    matches!(option, Expr::BinaryOp { left, .. }
        if matches!(&**left, Expr::Identifier(name) if name.value == TABLESPACE))
}

/// Whether the first part of a name is a mark.
pub(crate) fn is_marked(name: &ObjectName) -> bool {
    let first = name.0.first().and_then(ObjectNamePart::as_ident);
    name.0.len() > 1 && first.is_some_and(|first| first.value.starts_with(MARK))
}

/// Whether a name has the mark of `ONLY`.
pub(crate) fn has_only(name: &ObjectName) -> bool {
    name.0.len() > 1 && is_only(&name.0[0])
}

/// Takes the mark of `ONLY` from a name; whether it had one.
pub(crate) fn take_only(name: &mut ObjectName) -> bool {
    let is_marked = has_only(name);
    if is_marked {
        name.0.remove(0);
    }
    is_marked
}

/// The mark of `OVERRIDING` in a name.
pub(crate) fn overriding(name: &ObjectName) -> Option<&'static str> {
    let first = name.0.first().and_then(ObjectNamePart::as_ident);
    let first = first.filter(|_| name.0.len() > 1)?;
    let mut marks = [OVERRIDING_SYSTEM, OVERRIDING_USER].into_iter();
    marks.find(|mark| first.value == *mark)
}

/// Gives a name the mark of `OVERRIDING` that another one had.
pub(crate) fn put_overriding(name: &mut ObjectName, mark: Option<&'static str>) {
    if let Some(mark) = mark
        && overriding(name).is_none()
    {
        let mark = Ident::with_quote('"', mark);
        name.0.insert(0, ObjectNamePart::Identifier(mark));
    }
}

/// Gives a name the mark of `ONLY`.
pub(crate) fn put_only(name: &mut ObjectName) {
    let mark = Ident::with_quote('"', ONLY);
    name.0.insert(0, ObjectNamePart::Identifier(mark));
}

/// Whether a part of a name is the mark of `ONLY`.
pub(crate) fn is_only(part: &ObjectNamePart) -> bool {
    part.as_ident().is_some_and(|ident| ident.value == ONLY)
}

/// Whether a bound of a window's frame is a mark, which stands for one without an offset.
pub(crate) fn is_marked_bound(offset: &Expr) -> bool {
    matches!(offset, Expr::Identifier(name) if name.value.starts_with(MARK))
}
