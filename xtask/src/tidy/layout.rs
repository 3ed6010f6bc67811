//! The document of the page format and the code must have the same offsets.
//!
//! A table in the document belongs to the comment `<!-- layout: NAME -->` before it; its first
//! three columns are offset, size and name.

use super::Violation;

pub const PATH: &str = "docs/page-format.md";

/// Offset, size and name of each field of a named structure.
pub type Layouts<'a> = &'a [(&'a str, &'a [(usize, usize, &'a str)])];

type Field = (usize, usize, String);

#[derive(Debug)]
struct Table {
    name: String,
    line: usize,
    fields: Vec<Field>,
}

pub fn check(document: Option<&str>, layouts: Layouts) -> Vec<Violation> {
    let Some(document) = document else {
        return vec![Violation::new(
            PATH,
            0,
            "is missing: the format has no document",
        )];
    };
    let (tables, mut violations) = read(document);
    for (name, fields) in layouts {
        let same_name: Vec<_> = tables.iter().filter(|table| table.name == *name).collect();
        match same_name.as_slice() {
            [] => violations.push(Violation::new(PATH, 0, format!("no table `{name}`"))),
            [table] => violations.extend(compare(table, fields)),
            [_, second, ..] => {
                let message = format!("a second table `{name}`");
                violations.push(Violation::new(PATH, second.line, message));
            }
        }
    }
    for table in &tables {
        if !layouts.iter().any(|(name, _)| *name == table.name) {
            let message = format!("the code has no layout `{}`", table.name);
            violations.push(Violation::new(PATH, table.line, message));
        }
    }
    violations
}

fn compare(table: &Table, fields: &[(usize, usize, &str)]) -> Vec<Violation> {
    let violation = |message| Violation::new(PATH, table.line, message);
    let of_code: Vec<Field> = fields
        .iter()
        .map(|&(offset, size, name)| (offset, size, name.to_owned()))
        .collect();
    let only_code = of_code.iter().filter(|field| !table.fields.contains(field));
    let only_document = table.fields.iter().filter(|field| !of_code.contains(field));
    let mut violations: Vec<Violation> = only_code
        .map(|field| {
            violation(format!(
                "`{}`: only the code has {}",
                table.name,
                show(field)
            ))
        })
        .chain(only_document.map(|field| {
            violation(format!(
                "`{}`: only the document has {}",
                table.name,
                show(field)
            ))
        }))
        .collect();
    if violations.is_empty() && of_code != table.fields {
        violations.push(violation(format!(
            "`{}`: rows in another order or twice",
            table.name
        )));
    }
    violations
}

fn show((offset, size, name): &Field) -> String {
    format!("`{name}` ({size} bytes at {offset})")
}

/// Tables that follow a layout comment. A row that cannot be parsed is a violation, since otherwise
/// its field would not be compared.
fn read(document: &str) -> (Vec<Table>, Vec<Violation>) {
    let mut tables: Vec<Table> = Vec::new();
    let mut violations = Vec::new();
    let mut open = false;
    for (index, line) in document.lines().enumerate() {
        let line = line.trim();
        let number = index + 1;
        if let Some(name) = layout_name(line) {
            tables.push(Table {
                name: name.to_owned(),
                line: number,
                fields: Vec::new(),
            });
            open = true;
        } else if let (true, true, Some(table)) = (open, line.starts_with('|'), tables.last_mut()) {
            match row(line) {
                Some(Row::Field(field)) => table.fields.push(field),
                Some(Row::Head) => {}
                None => {
                    let message = format!("not `| offset | size | name |`: {line}");
                    violations.push(Violation::new(PATH, number, message));
                }
            }
        } else if open && tables.last().is_some_and(|table| !table.fields.is_empty()) {
            open = false;
        }
    }
    (tables, violations)
}

fn layout_name(line: &str) -> Option<&str> {
    let name = line.strip_prefix("<!-- layout:")?.strip_suffix("-->")?;
    Some(name.trim())
}

enum Row {
    Head,
    Field(Field),
}

fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line
        .trim_matches('|')
        .split('|')
        .map(|cell| cell.trim().trim_matches('`'))
        .collect();
    let [offset, size, name, ..] = cells.as_slice() else {
        return None;
    };
    let rule = |cell: &str| !cell.is_empty() && cell.chars().all(|sign| matches!(sign, '-' | ':'));
    if offset.eq_ignore_ascii_case("offset") || rule(offset) {
        return Some(Row::Head);
    }
    let field = (offset.parse().ok()?, size.parse().ok()?, (*name).to_owned());
    Some(Row::Field(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUTS: Layouts = &[("head", &[(0, 16, "magic"), (16, 2, "version")])];

    const DOCUMENT: &str = "# Format\n\n<!-- layout: head -->\n\n\
        | offset | size | name | meaning |\n|---:|---:|---|---|\n| 0 | 16 | `magic` | a word |\n\
        | 16 | 2 | version | 1 |\n\nText.\n\n\
        | another | table |\n|---|---|\n| x | y |\n";

    fn found(document: &str, layouts: Layouts) -> Vec<String> {
        let violations = check(Some(document), layouts);
        violations
            .into_iter()
            .map(|violation| violation.message)
            .collect()
    }

    #[test]
    fn equal_tables_pass_and_other_tables_are_left_alone() {
        assert_eq!(found(DOCUMENT, LAYOUTS), [""; 0]);
    }

    #[test]
    fn a_moved_field_is_told_from_both_sides() {
        let moved = DOCUMENT.replace("| 16 | 2 |", "| 18 | 2 |");
        let expected = [
            "`head`: only the code has `version` (2 bytes at 16)",
            "`head`: only the document has `version` (2 bytes at 18)",
        ];
        assert_eq!(found(&moved, LAYOUTS), expected);
    }

    #[test]
    fn a_missing_or_further_field_is_found() {
        assert_eq!(found(DOCUMENT, &[("head", &[(0, 16, "magic")])]).len(), 1);
        let further: Layouts = &[(
            "head",
            &[(0, 16, "magic"), (16, 2, "version"), (18, 1, "x")],
        )];
        assert_eq!(found(DOCUMENT, further).len(), 1);
    }

    #[test]
    fn missing_and_unknown_tables_are_found() {
        let other: Layouts = &[("tail", &[])];
        assert_eq!(
            found(DOCUMENT, other),
            ["no table `tail`", "the code has no layout `head`"]
        );
        assert_eq!(check(None, LAYOUTS).len(), 1);
    }

    #[test]
    fn a_row_that_is_not_understood_is_found() {
        let odd = DOCUMENT.replace("| 16 | 2 |", "| 16 | two |");
        assert!(found(&odd, LAYOUTS)[0].starts_with("not `| offset"));
    }

    #[test]
    fn a_row_twice_and_a_table_twice_are_found() {
        let row = "| 16 | 2 | version | 1 |\n";
        let twice = DOCUMENT.replace(row, &row.repeat(2));
        assert_eq!(
            found(&twice, LAYOUTS),
            ["`head`: rows in another order or twice"]
        );
        assert_eq!(
            found(&DOCUMENT.repeat(2), LAYOUTS),
            ["a second table `head`"]
        );
    }
}
