//! Random scripts that need not be right: expressions of any types, meta-commands in any order, and
//! scripts that were right until a letter of them was changed.

use crate::pgbench::generator::{self, Dice};

/// Lines that are a script's, whatever is before and after them.
const LINES: [&str; 44] = [
    "SELECT 1;",
    "SELECT 1\\; SELECT 2;",
    "SELECT 1/0;",
    "SELECT nosuch;",
    "SELECT 1 AS a, 2 AS b \\gset",
    "SELECT 1 AS a \\gset p_",
    "SELECT 1 AS \"a b\" \\gset",
    "SELECT 1 AS a WHERE false \\gset",
    "SELECT 1 AS a FROM generate_series(1, 2) \\gset",
    "SELECT 5 AS a FROM generate_series(1, 2)\\; SELECT 6 AS b \\aset",
    "SELECT 1 AS a WHERE false \\aset",
    "\\gset",
    "\\aset x y",
    "SELECT :a;",
    "SELECT :nosuch;",
    "SELECT ':x', :x::int;",
    "BEGIN;",
    "END;",
    "ROLLBACK;",
    "DO $$ BEGIN RAISE 'again' USING ERRCODE = '40001'; END $$;",
    "DO $$ BEGIN RAISE 'dead' USING ERRCODE = '40P01'; END $$;",
    "DO $$ BEGIN RAISE NOTICE 'hello'; END $$;",
    "\\startpipeline",
    "\\startpipeline",
    "\\syncpipeline",
    "\\endpipeline",
    "\\endpipeline",
    "\\if 1",
    "\\if :x",
    "\\if false",
    "\\elif true",
    "\\else",
    "\\endif",
    "\\endif",
    "\\sleep 1 us",
    "\\sleep x",
    "\\sleep :nosuch us",
    "\\shell true",
    "\\shell exit 3",
    "\\setshell a echo 5",
    "\\setshell a echo five",
    "\\nosuch 1 2",
    "-- a remark",
    "COPY (SELECT 1) TO STDOUT;",
];

const LEAVES: [&str; 16] = [
    "0",
    "1",
    "-1",
    "7",
    "1.5",
    ".5",
    "1e3",
    "2",
    "true",
    "false",
    "null",
    ":x",
    ":y",
    "pi()",
    "(1 < 2)",
    "random(1, 5)",
];

/// Those that end a script.
const WRONG: [&str; 7] = [
    "1e400",
    "9223372036854775807",
    "9223372036854775808",
    ":nosuch",
    "random(5, 1)",
    "on",
    "'text'",
];

const BINARY: [&str; 18] = [
    "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "=", "<>", "!=", "&", "|", "#", "<<", "and",
    "or",
];

const UNARY: [&str; 4] = ["-", "+", "not ", "~"];

/// Functions, each with how many arguments it takes.
const FUNCTIONS: [(&str, i64); 19] = [
    ("abs", 1),
    ("ABS", 1),
    ("abs", 1),
    ("int", 1),
    ("double", 1),
    ("sqrt", 1),
    ("ln", 1),
    ("exp", 1),
    ("least", 2),
    ("greatest", 3),
    ("mod", 2),
    ("pow", 2),
    ("hash", 1),
    ("hash_fnv1a", 2),
    ("permute", 2),
    ("debug", 1),
    ("random", 2),
    ("random_gaussian", 3),
    ("random_exponential", 3),
];

/// What a letter of a script may become.
const LETTERS: &[u8] = b"()+-*/<>=:;,'\"\\ \t0123456789.%abcx|&#~!$@";

/// A script in which there may be any mistake.
pub fn script(dice: &mut Dice) -> String {
    let mut text = match dice.below(10) {
        0..=3 => expressions(dice),
        4..=6 => lines(dice),
        7 => generator::script(dice.roll(), true),
        _ => {
            let right = generator::script(dice.roll(), true);
            changed(dice, &right)
        }
    };
    // pgbench reads past the end of a script that ends in a variable.
    text.push_str("\nSELECT 1;\n");
    text
}

fn expressions(dice: &mut Dice) -> String {
    let mut text = String::from("\\set x 5\n\\set y 0.5\n");
    for name in ["y", "x", "z", "y"] {
        let depth = dice.between(1, 3) as usize;
        let (value, is_shown) = (expression(dice, depth), dice.below(3) > 0);
        text += &if is_shown {
            format!("\\set {name} debug({value})\n")
        } else {
            format!("\\set {name} {value}\n")
        };
        if dice.once_in(4) {
            let condition = expression(dice, 2);
            text += &format!("\\if {condition}\nSELECT 1;\n\\else\nSELECT 2;\n\\endif\n");
        }
    }
    text + "SELECT :x, :y;\n"
}

fn expression(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 || dice.once_in(6) {
        return if dice.once_in(25) {
            dice.pick(&WRONG).to_owned()
        } else {
            dice.pick(&LEAVES).to_owned()
        };
    }
    let less = depth - 1;
    match dice.below(10) {
        0..=3 => {
            let (left, right) = (expression(dice, less), expression(dice, less));
            format!("({left}) {} ({right})", dice.pick(&BINARY))
        }
        4 => format!("{}{}", dice.pick(&UNARY), expression(dice, less)),
        5 => {
            let test = dice.pick(&[
                "is null",
                "is not null",
                "isnull",
                "notnull",
                "is true",
                "is not false",
            ]);
            format!("({}) {test}", expression(dice, less))
        }
        6 => {
            let [a, b, c] = [(); 3].map(|()| expression(dice, less));
            format!("case when {a} then {b} else {c} end")
        }
        _ => {
            let (name, takes) = FUNCTIONS[dice.below(FUNCTIONS.len())];
            let count = if dice.once_in(15) {
                dice.between(0, 4)
            } else {
                takes
            };
            let arguments: Vec<String> = (0..count).map(|_| expression(dice, less)).collect();
            format!("{name}({})", arguments.join(", "))
        }
    }
}

fn lines(dice: &mut Dice) -> String {
    let mut text = String::from("\\set x 1\n");
    for _ in 0..dice.between(1, 6) {
        text += dice.pick(&LINES);
        text.push('\n');
    }
    text
}

/// The script with a few letters or lines changed. Lines that sleep or call the shell stay as they
/// are.
fn changed(dice: &mut Dice, script: &str) -> String {
    let mut lines: Vec<Vec<u8>> = script
        .lines()
        .map(|line| line.as_bytes().to_vec())
        .collect();
    for _ in 0..dice.between(1, 3) {
        let at = dice.below(lines.len());
        let is_plain = |line: &[u8]| {
            let text = String::from_utf8_lossy(line);
            text.is_ascii() && !["sleep", "shell"].iter().any(|word| text.contains(word))
        };
        if lines[at].is_empty() || !is_plain(&lines[at]) {
            continue;
        }
        let column = dice.below(lines[at].len());
        match dice.below(7) {
            0 => drop(lines[at].remove(column)),
            1 => {
                let letter = lines[at][column];
                lines[at].insert(column, letter);
            }
            2 | 3 => lines[at][column] = LETTERS[dice.below(LETTERS.len())],
            4 => lines[at].insert(column, LETTERS[dice.below(LETTERS.len())]),
            5 if lines.len() > 1 => drop(lines.remove(at)),
            _ => {
                let line = lines[at].clone();
                lines.insert(at, line);
            }
        }
    }
    let lines: Vec<_> = lines
        .iter()
        .map(|line| String::from_utf8_lossy(line))
        .collect();
    lines.join("\n")
}
