//! Whether a query depends on the order of texts by the rules of the database's locale, for servers
//! whose rules have another version than those of this machine.
//!
//! The server itself says so: it tells the tree of each query that it has analysed
//! (`debug_print_parse`), where each operator has the collation that it compares by.

use std::collections::HashSet;

use session_core::StatementError;

use crate::tree::Tree;

/// Collations that compare bytes: none at all, `C` and `POSIX` (`pg_collation.dat`).
const BYTES: [&str; 3] = ["0", "950", "951"];

/// What compares for order, for the superuser.
pub(crate) const QUERIES: [&str; 3] = [
    "SELECT amopopr::oid FROM pg_amop WHERE amoppurpose = 's' AND amopstrategy <> 3 AND amopmethod \
     = (SELECT oid FROM pg_am WHERE amname = 'btree')",
    "SELECT oid FROM pg_operator WHERE oprleft = 'record'::regtype",
    "SELECT aggfnoid::oid FROM pg_aggregate WHERE aggsortop <> 0",
];

/// What compares for order, by numbers in the catalogue, and versions of the rules.
#[derive(Debug)]
pub(crate) struct OrderCheck {
    operators: HashSet<String>,
    /// Operators that compare rows, column by column.
    row_operators: HashSet<String>,
    aggregates: HashSet<String>,
    error: StatementError,
}

impl OrderCheck {
    /// A check by what the [`QUERIES`] return, which are a column each.
    pub(crate) fn new(answers: [HashSet<String>; 3], servers: &str, own: Option<&str>) -> Self {
        let [operators, row_operators, aggregates] = answers;
        let own = own.unwrap_or("none");
        let error = StatementError::unsupported(format!(
            "the query sorts texts by the database's locale, of which the server has version \
             {servers}, and the proxy's machine version {own}: these may sort differently"
        ));
        Self {
            operators,
            row_operators,
            aggregates,
            error: error.hint(
                "Sort and compare by COLLATE \"C\", or install the server's version of the locale \
                 on the proxy's machine.",
            ),
        }
    }

    /// Looks into the tree of a query.
    ///
    /// # Errors
    /// It depends on the order, or its tree is not known.
    pub(crate) fn check(&self, tree: Option<&str>) -> Result<(), StatementError> {
        match tree
            .and_then(Tree::parse)
            .is_some_and(|tree| !self.depends(&tree, &[]))
        {
            true => Ok(()),
            false => Err(self.error.clone()),
        }
    }

    /// Whether a part of a tree compares texts for order. `targets` are what sort clauses refer to.
    fn depends(&self, tree: &Tree, targets: &[Tree]) -> bool {
        let (name, fields) = match tree {
            Tree::Word(_) => return false,
            Tree::List(parts) => return parts.iter().any(|part| self.depends(part, targets)),
            Tree::Node(name, fields) => (name.as_str(), fields),
        };
        let is_by_locale = || !BYTES.contains(&tree.word("inputcollid"));
        let compares = match name {
            "OPEXPR" | "SCALARARRAYOPEXPR" => {
                let operator = tree.word("opno");
                let is_order = self.operators.contains(operator);
                is_order && (is_by_locale() || self.row_operators.contains(operator))
            }
            "MINMAXEXPR" => is_by_locale(),
            "AGGREF" | "WINDOWFUNC" => {
                let function = tree.word(if name == "AGGREF" {
                    "aggfnoid"
                } else {
                    "winfnoid"
                });
                self.aggregates.contains(function) && is_by_locale()
            }
            "ROWCOMPAREEXPR" => match tree.field("inputcollids") {
                [Tree::List(words)] => words.iter().skip(1).any(|word| !is_of_bytes(word)),
                _ => true,
            },
            _ => false,
        };
        let own = match name {
            "QUERY" => tree.field("targetList"),
            "AGGREF" => tree.field("args"),
            _ => &[],
        };
        let own = match own {
            [Tree::List(entries)] => entries,
            _ => targets,
        };
        let sorts = ["sortClause", "aggorder", "orderClause"];
        let mut clauses = sorts.iter().flat_map(|field| tree.field(field));
        compares
            || clauses.any(|clause| self.sorts(clause, own))
            || fields
                .iter()
                .any(|(_, parts)| parts.iter().any(|part| self.depends(part, own)))
    }

    /// Whether a list of sort clauses sorts by texts.
    fn sorts(&self, clause: &Tree, targets: &[Tree]) -> bool {
        let Tree::List(keys) = clause else {
            return false;
        };
        keys.iter().any(|key| {
            let reference = key.word("tleSortGroupRef");
            let mut entries = targets.iter();
            let target = entries.find(|entry| entry.word("ressortgroupref") == reference);
            let Some([expression]) = target.map(|target| target.field("expr")) else {
                return true;
            };
            self.row_operators.contains(key.word("sortop")) || !sorts_by_bytes(expression)
        })
    }
}

fn is_of_bytes(word: &Tree) -> bool {
    matches!(word, Tree::Word(word) if BYTES.contains(&word.as_str()))
}

/// Whether the values of an expression have a collation that compares bytes, or none.
fn sorts_by_bytes(tree: &Tree) -> bool {
    let Tree::Node(_, fields) = tree else {
        return false;
    };
    let is_own =
        |name: &str| (name.ends_with("collid") && name != "inputcollid") || name == "collOid";
    let own = fields.iter().find(|(name, _)| is_own(name));
    match own {
        Some((_, parts)) => matches!(parts.as_slice(), [word] if is_of_bytes(word)),
        // Truths have none.
        None => matches!(tree, Tree::Node(name, _) if is_of_truth(name)),
    }
}

fn is_of_truth(name: &str) -> bool {
    ["BOOLEXPR", "NULLTEST", "BOOLEANTEST", "ROWCOMPAREEXPR"].contains(&name)
}
