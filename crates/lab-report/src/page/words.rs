//! Sentences as HTML: text between back ticks becomes code, and numbers are kept on one line.

use minijinja::HtmlEscape;
use minijinja::value::Value;

/// Units that belong to the number before them.
const UNITS: [&str; 12] = [
    "%", "×", "s", "ms", "µs", "KiB", "MiB", "GiB", "TiB", "MHz", "times", "UTC",
];

/// Text as HTML; parts between back ticks become code.
pub(super) fn code(text: &str) -> Value {
    let parts = text.split('`').enumerate();
    let html: String = parts
        .map(|(place, part)| match place % 2 {
            0 => numbers(part),
            _ => format!("<code>{}</code>", HtmlEscape(part)),
        })
        .collect();
    Value::from_safe_string(html)
}

/// Text as HTML without line breaks within an interval or a date, or between a number and its unit.
fn numbers(text: &str) -> String {
    let mut html = String::new();
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        let mut kept = word.to_owned();
        let is_number = word
            .trim_start_matches('(')
            .starts_with(|letter: char| letter.is_ascii_digit());
        if is_number {
            while let Some(unit) = words.next_if(|next| is_unit(next)) {
                kept = format!("{kept} {unit}");
            }
        }
        let breaks = is_number && kept.contains([' ', '–', '-']);
        html += &match breaks {
            true => format!("<span class=\"n\">{}</span>", HtmlEscape(&kept)),
            false => HtmlEscape(&kept).to_string(),
        };
        if words.peek().is_some() {
            html.push(' ');
        }
    }
    html
}

/// Text as HTML that may break after a comma or a slash: settings and paths contain no spaces.
pub(super) fn breaking(text: &str) -> Value {
    let html = HtmlEscape(text).to_string();
    Value::from_safe_string(html.replace(',', ",<wbr>").replace("&#x2f;", "/<wbr>"))
}

fn is_unit(word: &str) -> bool {
    let bare = word.trim_end_matches(['.', ',', ';', ':', ')']);
    UNITS.contains(&bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_units_and_intervals_together() {
        let html = |text: &str| code(text).to_string();
        assert_eq!(
            html("took 5 % (0.9–1.1), `a <b>` & 2 rounds"),
            "took <span class=\"n\">5 %</span> <span class=\"n\">(0.9–1.1),</span> \
             <code>a &lt;b&gt;</code> &amp; 2 rounds"
        );
        assert_eq!(
            html("2026-11-21 06:08 UTC"),
            "<span class=\"n\">2026-11-21</span> <span class=\"n\">06:08 UTC</span>"
        );
        assert_eq!(
            html("strongroom-nosync, sqlite3 % x"),
            "strongroom-nosync, sqlite3 % x"
        );
    }

    #[test]
    fn settings_and_paths_break_where_their_parts_end() {
        assert_eq!(breaking("a,1 <b/c").to_string(), "a,<wbr>1 &lt;b/<wbr>c");
    }
}
