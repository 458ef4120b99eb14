//! No text, however mangled, makes the parser panic, and what it accepts can be run.

use pgdyno_script::{Counters, Draws, Language, Names, Op, Prng, ScriptError, Value, Vars};

const CASES: usize = 20_000;

const GOOD: &[&str] = &[
    "\\set aid random(1, 100000 * :scale)\nBEGIN;\nUPDATE a SET b = b + :d WHERE aid = :aid;\nEND;\n",
    "\\if :x > 1 and not :y is null\nSELECT 'a;''b' \\gset p_\n\\elif case when 1 then 2 else 3.5e2 end\n\
     \\sleep :x ms\n\\else\n\\shell echo :x ::y\n\\endif\n",
    "SELECT $a$;$a$, E'\\'', U&\"d\\00e9\" /* /* */ */ -- c\n \\; SELECT :{?x} \\aset\n\\setshell z echo 1 \\\n 2\n",
    "CREATE FUNCTION f() BEGIN ATOMIC SELECT 1; END;\n\\startpipeline\nSELECT (:é);\n\\syncpipeline\n\\endpipeline\n",
    "\\set r random_zipfian(1, 10, 1.5) + random_gaussian(1, 10, 2.5) * random_exponential(1, 9, 3)\n\
     \\set h hash(:r) % 7 # permute(3, 10) << 2 | ~5 & -9223372036854775808\n\\set n null isnull or false\n",
    "\\for i 1 :scale\n\\set k 'user' || lpad(:i, 5, 'é') || substring(:k, -1, :x)\nSELECT :k, ':i';\n\\endfor\n\
     \\if :k = 'it''s'\n\\error 'broken: ' || text(:k)\n\\endif\n",
    "\\set a next_key('k', :x, 100) + acknowledged('k', :x) + sequential('s', 1, 3)\n\\set l latest(1, 9) + hotspot(1, 9, 0.5, 0.5)\n\
     \\set s random_string(12) || ycsb_key(:l, 'crdb') || unsigned(-:a)\n\\set z scrambled_zipfian(1, 100, 0.9, 50) + exponential(1, 5, 95, 0.8)\n",
];

const BITS: &[&str] = &[
    "\\",
    "\\set ",
    "\\if ",
    "\\endif\n",
    "\\gset",
    ";",
    ":",
    "::",
    "'",
    "\"",
    "$$",
    "$a$",
    "/*",
    "*/",
    "--",
    "\n",
    "\r\n",
    "\\\n",
    "(",
    ")",
    "é",
    "\u{10ffff}",
    "\0",
    "9223372036854775808",
    "1e999",
    ".",
    "not ",
    "case when ",
    " end",
    "E'",
    "b'",
    "U&'",
    ":{?x}",
    "\t",
    " ",
    "<",
    ">=",
    "is ",
    ",",
    "least(",
    "'a' || ",
    "'",
    "\\for i 1 3\n",
    "\\endfor\n",
    "\\error ",
    "lpad(:x, 5, '0')",
    "next_key('n', 1)",
    "latest(1, :x)",
    "ycsb_latest(1, :x, 5)",
    "ycsb_key(:x, 'java')",
];

fn pick<'a>(prng: &mut Prng, of: &[&'a str]) -> &'a str {
    of[prng.range(0, of.len() as i64 - 1) as usize]
}

fn place(prng: &mut Prng, text: &str) -> usize {
    text.floor_char_boundary(prng.range(0, text.len() as i64) as usize)
}

fn mutated(prng: &mut Prng) -> String {
    let mut text = pick(prng, GOOD).to_owned();
    for _ in 0..prng.range(1, 6) {
        let (a, b) = (place(prng, &text), place(prng, &text));
        let (from, to) = (a.min(b), a.max(b));
        match prng.range(0, 3) {
            0 => text.insert_str(from, pick(prng, BITS)),
            1 if to - from < 20 => text.replace_range(from..to, ""),
            2 => text.truncate(to),
            _ => text.extend_from_within(from..to),
        }
    }
    text
}

fn noise(prng: &mut Prng) -> String {
    let length = prng.range(0, 60);
    if prng.range(0, 1) == 0 {
        return (0..length).map(|_| pick(prng, BITS)).collect();
    }
    let bytes: Vec<u8> = (0..length).map(|_| prng.range(0, 255) as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Parses a script and evaluates all there is in it; its jumps must lead somewhere.
fn exercise(language: Language, text: &str) -> Result<(), ScriptError> {
    let mut names = Names::new();
    let script = language.parse("fuzz.sql", text, &mut names)?;
    let count = script.commands.len();
    let mut vars = Vars::new(&names);
    for (name, value) in [("x", 2), ("scale", 1), ("default_seed", 5)] {
        if let Some(slot) = names.get(name) {
            vars.set(slot, Value::Int(value));
        }
    }
    let mut prng = Prng::seed(3);
    let mut draws = Draws::new(Counters::new(&names));
    let mut out = Vec::new();
    for (at, command) in script.commands.iter().enumerate() {
        assert!(command.line >= 1);
        match &command.op {
            Op::Sql(sql) => {
                let _ = sql.check_simple(&vars);
                sql.write_simple(&vars, &mut out);
                sql.numbered().unwrap();
            }
            Op::Set { slot, expr } => {
                if let Ok(value) = expr.eval(&mut vars, &mut prng, &mut draws, &mut |_| {}) {
                    let _ = vars.assign(&command.words[0], *slot, value);
                }
            }
            Op::If { cond, on_false } | Op::Elif { cond, on_false, .. } => {
                let _ = cond.eval(&mut vars, &mut prng, &mut draws, &mut |_| {});
                assert!(at < *on_false && *on_false <= count);
            }
            Op::Else { end } => assert!(at < *end && *end <= count),
            Op::For(its) => {
                let begun = its.begin(&mut vars, &mut prng, &mut draws, &mut |_| {});
                while begun == Ok(true) && its.step(&mut vars) {}
                assert!(at < its.end && its.end <= count);
            }
            Op::EndFor { begin } => assert!(*begin < at),
            Op::Error { message: expr } | Op::Think { seconds: expr } => {
                let _ = expr.eval(&mut vars, &mut prng, &mut draws, &mut |_| {});
            }
            Op::Sleep(sleep) => drop(sleep.duration_us(&vars)),
            Op::Shell { args } | Op::SetShell { args, .. } => drop(args.command_line(&vars)),
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn no_text_makes_the_parser_panic() {
    let mut prng = Prng::seed(20_240_601);
    let mut accepted = 0;
    for case in 0..CASES {
        let text = if case % 4 == 0 {
            noise(&mut prng)
        } else {
            mutated(&mut prng)
        };
        let language = [Language::Pgbench, Language::Pgdyno][case % 2];
        match exercise(language, &text) {
            Ok(()) => accepted += 1,
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    // The mutations are mild enough that both happen.
    assert!(
        (CASES / 10..CASES * 9 / 10).contains(&accepted),
        "{accepted}"
    );
}

#[test]
fn the_scripts_that_are_mutated_are_good() {
    for script in GOOD {
        exercise(Language::Pgdyno, script).unwrap();
    }
    for script in &GOOD[..5] {
        exercise(Language::Pgbench, script).unwrap();
    }
}
