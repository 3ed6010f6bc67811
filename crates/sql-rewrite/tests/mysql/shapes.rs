//! Plans that texts share which differ in constants alone: filled, they are the plans of the texts.

use sql_rewrite::mysql::shape::Shape;
use sql_rewrite::{Schema, plan};

use super::{people, servers};

const STATEMENTS: &str = include_str!("../golden/mysql-statements.txt");

/// Constants that are put in the places of others.
const TEXTS: [&str; 8] = [
    "CANARY",
    "",
    "x y",
    "2024-02-30",
    "2024-02-28 10:11:12",
    "person",
    "grün",
    "a text that is longer than most of the columns may have letters",
];
const NUMBERS: [&str; 8] = [
    "0",
    "7",
    "41",
    "2024",
    "1.5",
    "99999.9999",
    "12345678901234567890",
    "007",
];

/// The text with other constants: texts in simple quotes, and numbers that stand alone.
fn varied(text: &str, turn: usize) -> String {
    let mut out = String::new();
    let mut rest = text;
    let mut count = turn;
    let is_word = |letter: char| letter.is_alphanumeric() || "_`.@$'\"".contains(letter);
    while let Some(first) = rest.chars().next() {
        let is_behind_word = out.ends_with(is_word);
        let quoted = rest.strip_prefix('\'').filter(|_| !is_behind_word);
        if let Some((inside, behind)) = quoted.and_then(|rest| rest.split_once('\''))
            && !inside.contains('\\')
            && !behind.starts_with('\'')
        {
            count += 1;
            out.push_str(&format!("'{}'", TEXTS[count % TEXTS.len()]));
            rest = behind;
            continue;
        }
        let digits = rest
            .find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(rest.len());
        if digits > 0 && !is_behind_word && !rest[digits..].starts_with(is_word) {
            count += 1;
            out.push_str(NUMBERS[count % NUMBERS.len()]);
            rest = &rest[digits..];
            continue;
        }
        out.push(first);
        rest = &rest[first.len_utf8()..];
    }
    out
}

/// Compares the plan of each variant with that of the shape, filled. Returns how many were filled.
fn compare(text: &str, schema: &Schema) -> usize {
    let (Some(shape), Ok(own)) = (Shape::of(text, schema), plan(text, schema)) else {
        return 0;
    };
    let shared = plan(&shape.text, schema).unwrap_or_default();
    if shape.fits(&shared, &own, schema) != Some(true) {
        return 0;
    }
    let mut count = 0;
    for turn in 0..TEXTS.len() {
        let other = varied(text, turn);
        let Some(like) = Shape::of(&other, schema).filter(|like| like.key == shape.key) else {
            continue;
        };
        let Some(filled) = like.fill(&shared, schema) else {
            continue;
        };
        let planned = plan(&other, schema);
        let planned = planned.unwrap_or_else(|refusal| panic!("{other}: {}", refusal.message));
        assert_eq!(planned, [filled], "{other}");
        count += 1;
    }
    count
}

#[test]
fn a_text_has_the_plan_of_its_shape() {
    let mut counts = Vec::new();
    for own in servers() {
        let schema = people(own);
        let texts = STATEMENTS.lines().map(|line| {
            let line = line
                .replace("\\n", "\n")
                .replace("\\r", "\r")
                .replace("\\t", "\t");
            line.replace("\\\\", "\\")
        });
        counts.push(texts.map(|text| compare(&text, &schema)).sum::<usize>());
    }
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

#[test]
fn constants_are_taken_out_where_they_are_values() {
    let [own, ..] = servers();
    let schema = people(own);
    for (text, shape) in [
        (
            "SELECT name FROM person WHERE number = 5 AND id = '4' LIMIT 3",
            Some("SELECT name FROM person WHERE number = ? AND id = ? LIMIT 3"),
        ),
        (
            "INSERT INTO person (id, name) VALUES (1, 'x'), (-2, \"y\")",
            Some("INSERT INTO person (id, name) VALUES (?, ?), (?, ?)"),
        ),
        (
            "UPDATE person SET name = 'x', id = 2 WHERE id IN (1, 2)",
            Some("UPDATE person SET name = ?, id = ? WHERE id IN (?, ?)"),
        ),
        ("SELECT name FROM person ORDER BY 1", None),
        ("SELECT 'x', 5 FROM person GROUP BY 1", None),
        ("SELECT name FROM person WHERE id = 5 + 1", None),
        ("SELECT name FROM person WHERE name = 'a' 'b'", None),
        (
            "SELECT name FROM person WHERE name = 'a' COLLATE utf8mb4_bin",
            None,
        ),
        ("SELECT name FROM person WHERE name = 'it''s'", None),
        ("SELECT name FROM person WHERE name LIKE 'a%'", None),
        ("SELECT @a := 5", None),
        ("SET sql_mode = 'ANSI_QUOTES'", None),
        ("SELECT name FROM person WHERE id = ?", None),
        ("SELECT name FROM person WHERE id = 5; SELECT 1", None),
        ("SELECT name FROM person WHERE id = 1e3", None),
        (
            "SELECT name FROM person ORDER BY id IN (1, 2), (1)",
            Some("SELECT name FROM person ORDER BY id IN (?, ?), (1)"),
        ),
        (
            "SELECT column_type FROM information_schema.columns WHERE table_name = 'person'",
            None,
        ),
    ] {
        let found = Shape::of(text, &schema).map(|own| own.text);
        assert_eq!(found.as_deref(), shape, "{text}");
    }
}

#[test]
fn a_text_that_is_sealed_and_sent_is_planned_by_itself() {
    let [own, ..] = servers();
    let schema = people(own);
    let of = |text: &str| Shape::of(text, &schema).expect("a shape");
    let insert =
        |name: &str, id: &str| format!("INSERT INTO person (name, id) VALUES ('{name}', '{id}')");
    let first = insert("CANARY", "5");
    let shape = of(&first);
    let shared = plan(&shape.text, &schema).expect("a plan");
    let own = plan(&first, &schema).expect("a plan");
    assert_eq!(shape.fits(&shared, &own, &schema), Some(true));
    assert!(of(&insert("CANARY", "6")).fill(&shared, &schema).is_some());
    assert!(of(&insert("6", "6")).fill(&shared, &schema).is_none());
    // It does not fit its column.
    assert!(
        of(&insert("a name of more than twenty letters", "6"))
            .fill(&shared, &schema)
            .is_none()
    );
}

#[test]
fn a_text_that_the_proxy_computes_with_is_not_sent_either() {
    let [own, ..] = servers();
    let schema = people(own);
    let text =
        |sent: &str| format!("SELECT id FROM person WHERE number = '77' + 1 AND 'a' < '{sent}'");
    let first = Shape::of(&text("b"), &schema).expect("a shape");
    let shared = plan(&first.text, &schema).expect("a plan");
    let other = Shape::of(&text("77"), &schema).expect("a shape");
    assert_eq!(other.key, first.key);
    assert!(plan(&text("77"), &schema).is_err());
    assert!(other.fill(&shared, &schema).is_none());
}
