//! Layout of `EXPLAIN` and `EXPLAIN QUERY PLAN`, like that of SQLite's own shell:
//! <https://www.sqlite.org/eqp.html>, <https://www.sqlite.org/opcode.html>.

use super::Renderer;
use rusqlite::types::ValueRef;
use std::collections::HashMap;
use std::io::{self, Write};

/// The steps of a plan as a tree.
#[derive(Default)]
pub(crate) struct Plan {
    steps: Vec<Step>,
}

struct Step {
    id: i64,
    parent: i64,
    detail: String,
}

impl Plan {
    fn draw(&self, output: &mut dyn Write, parent: i64, prefix: &str) -> io::Result<()> {
        let mut children = self.steps.iter().filter(|step| step.parent == parent);
        let mut next = children.next();
        while let Some(step) = next {
            next = children.next();
            let (branch, below) = match next {
                Some(_) => ("|--", "|  "),
                None => ("`--", "   "),
            };
            writeln!(output, "{prefix}{branch}{}", step.detail)?;
            // A step has a higher number than its parent, so this terminates.
            if step.id > parent {
                self.draw(output, step.id, &format!("{prefix}{below}"))?;
            }
        }
        Ok(())
    }
}

impl Renderer for Plan {
    fn begin(&mut self, _output: &mut dyn Write, _columns: &[String]) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, _output: &mut dyn Write, values: &[ValueRef<'_>]) -> io::Result<()> {
        // id, parent, not used, detail.
        self.steps.push(Step {
            id: integer(values.first()),
            parent: integer(values.get(1)),
            detail: text(values.get(3)),
        });
        Ok(())
    }

    fn finish(&mut self, output: &mut dyn Write) -> io::Result<()> {
        writeln!(output, "QUERY PLAN")?;
        self.draw(output, 0, "")
    }
}

/// Instructions of the virtual machine, with loops indented.
#[derive(Default)]
pub(crate) struct Program {
    instructions: Vec<Vec<String>>,
}

/// The columns, with their minimum widths.
const COLUMNS: [(&str, usize); 8] = [
    ("addr", 4),
    ("opcode", 13),
    ("p1", 4),
    ("p2", 4),
    ("p3", 4),
    ("p4", 13),
    ("p5", 2),
    ("comment", 13),
];

/// Instructions that jump back to the start of a loop, whose address is in `p2`.
const END_OF_LOOP: [&str; 5] = ["Next", "Prev", "SorterNext", "VNext", "VPrev"];
/// Instructions that start a loop if a `Goto` jumps back to them.
const BEGINNING_OF_LOOP: [&str; 5] = ["RowSetRead", "SeekGT", "SeekLT", "Rewind", "Yield"];

impl Program {
    fn field(&self, instruction: usize, column: usize) -> &str {
        &self.instructions[instruction][column]
    }

    /// The loop depth of each instruction.
    fn depths(&self) -> Vec<usize> {
        let addresses: HashMap<&str, usize> = (0..self.instructions.len())
            .map(|place| (self.field(place, 0), place))
            .collect();
        let mut depths = vec![0; self.instructions.len()];
        for place in 0..self.instructions.len() {
            let Some(&target) = addresses.get(self.field(place, 3)) else {
                continue;
            };
            let opcode = self.field(place, 1);
            let comes_back = END_OF_LOOP.contains(&opcode)
                || (opcode == "Goto"
                    && (BEGINNING_OF_LOOP.contains(&self.field(target, 1))
                        || self.field(place, 2) != "0"));
            if comes_back && target < place {
                depths[target..place]
                    .iter_mut()
                    .for_each(|depth| *depth += 1);
            }
        }
        depths
    }
}

impl Renderer for Program {
    fn begin(&mut self, _output: &mut dyn Write, _columns: &[String]) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, _output: &mut dyn Write, values: &[ValueRef<'_>]) -> io::Result<()> {
        let fields = (0..COLUMNS.len()).map(|column| text(values.get(column)));
        self.instructions.push(fields.collect());
        Ok(())
    }

    fn finish(&mut self, output: &mut dyn Write) -> io::Result<()> {
        write_line(output, COLUMNS.map(|(name, _)| name.to_owned()).iter())?;
        write_line(output, COLUMNS.map(|(_, width)| "-".repeat(width)).iter())?;
        for (fields, depth) in self.instructions.iter().zip(self.depths()) {
            let mut fields = fields.clone();
            fields[1].insert_str(0, &"  ".repeat(depth));
            write_line(output, fields.iter())?;
        }
        Ok(())
    }
}

fn write_line<'a>(
    output: &mut dyn Write,
    fields: impl Iterator<Item = &'a String>,
) -> io::Result<()> {
    let fields: Vec<String> = fields
        .zip(COLUMNS)
        .map(|(field, (_, width))| format!("{field:width$}"))
        .collect();
    writeln!(output, "{}", fields.join("  ").trim_end())
}

fn integer(value: Option<&ValueRef<'_>>) -> i64 {
    match value {
        Some(ValueRef::Integer(integer)) => *integer,
        _ => 0,
    }
}

fn text(value: Option<&ValueRef<'_>>) -> String {
    value.map_or_else(String::new, |value| {
        String::from_utf8_lossy(&super::plain(*value, "")).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_a_tree() {
        let mut plan = Plan::default();
        for (id, parent, detail) in [
            (2, 0, "A"),
            (5, 2, "B"),
            (9, 5, "C"),
            (12, 2, "D"),
            (20, 0, "E"),
        ] {
            let row = [
                ValueRef::Integer(id),
                ValueRef::Integer(parent),
                ValueRef::Integer(0),
                ValueRef::Text(str::as_bytes(detail)),
            ];
            plan.row(&mut Vec::new(), &row).unwrap();
        }
        let mut output = Vec::new();
        plan.finish(&mut output).unwrap();
        assert_eq!(
            String::from_utf8(output).unwrap(),
            "QUERY PLAN\n|--A\n|  |--B\n|  |  `--C\n|  `--D\n`--E\n"
        );
    }

    #[test]
    fn loops_of_a_program_are_indented() {
        let mut program = Program::default();
        let instructions = [
            (0, "Init", 4),
            (1, "Rewind", 4),
            (2, "Column", 0),
            (3, "Next", 2),
            (4, "Halt", 0),
        ];
        for (address, opcode, p2) in instructions {
            let mut row = [ValueRef::Integer(0); 8];
            row[0] = ValueRef::Integer(address);
            row[1] = ValueRef::Text(opcode.as_bytes());
            row[3] = ValueRef::Integer(p2);
            row[5] = ValueRef::Null;
            row[7] = ValueRef::Null;
            program.row(&mut Vec::new(), &row).unwrap();
        }
        let mut output = Vec::new();
        program.finish(&mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        let lines: Vec<&str> = output.lines().collect();
        assert_eq!(
            lines[0],
            "addr  opcode         p1    p2    p3    p4             p5  comment"
        );
        assert_eq!(
            lines[2],
            "0     Init           0     4     0                    0"
        );
        assert_eq!(
            lines[4],
            "2       Column       0     0     0                    0"
        );
        assert_eq!(
            lines[5],
            "3     Next           0     2     0                    0"
        );
        assert_eq!(lines.len(), 7);
    }
}
