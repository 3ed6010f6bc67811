//! What is wrong with rules, and the checks among them, without a server.

use sql_plan::RulesError;

use crate::Rules;
use crate::dialect::postgres::table_checks;

/// Finds rules that contradict themselves or each other, and checks that cannot be evaluated.
///
/// # Errors
/// All of them.
pub fn check_rules(rules: &Rules, has_finisher: bool) -> Result<(), Vec<RulesError>> {
    rules.check()?;
    let mut errors = Vec::new();
    for (table, columns) in &rules.tables {
        for (column, rule) in columns {
            if rule.collation.is_some() {
                errors.push(RulesError::Column {
                    table: table.clone(),
                    column: column.clone(),
                    problem: "has a collation, which only rules before MySQL and MariaDB have: \
                              remove it; PostgreSQL's equality is that of bytes"
                        .to_owned(),
                });
                continue;
            }
            if rule.logical.is_of_mysql() {
                errors.push(RulesError::Column {
                    table: table.clone(),
                    column: column.clone(),
                    problem: format!(
                        "has the type {}, which only MySQL and MariaDB have",
                        rule.logical
                    ),
                });
                continue;
            }
            let problem = match table_checks::read_all(column, rule.logical, &rule.checks) {
                Err(wrong) => wrong,
                Ok(checks) if checks.is_empty() || has_finisher => continue,
                Ok(_) => "has checks, which only a finisher evaluates: set [finish] engine = \
                          \"postgres\", or remove them"
                    .to_owned(),
            };
            errors.push(RulesError::Column {
                table: table.clone(),
                column: column.clone(),
                problem,
            });
        }
    }
    match errors.is_empty() {
        true => Ok(()),
        false => Err(errors),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_mysql_alone_are_refused() {
        for logical in ["tinyint", "mediumint", "bigint unsigned"] {
            let text = format!("[columns.t]\na = {{ type = \"{logical}\" }}");
            let rules = Rules::from_toml(&text).expect("rules");
            let errors = check_rules(&rules, true).expect_err(logical);
            assert!(errors[0].to_string().contains("only MySQL"), "{errors:?}");
        }
    }
}
