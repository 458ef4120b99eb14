//! What pgdyno's language has more than pgbench's: texts, keys, counters, loops, `\error`.

use std::sync::Arc;

use pgdyno_script::{
    Counters, Draws, Language, Names, Observation, Op, Operand, Prng, Units, Value, Vars,
};

/// A client of one script, and what it would send.
struct Client {
    vars: Vars,
    names: Names,
    prng: Prng,
    draws: Draws,
}

/// Runs a script's meta commands; gives the statements as the simple protocol has them, or what is
/// wrong.
fn run(text: &str, given: &[(&str, &str)]) -> Result<Vec<String>, String> {
    run_with(text, given, |_| {})
}

fn run_with(
    text: &str,
    given: &[(&str, &str)],
    see: impl FnOnce(&mut Client),
) -> Result<Vec<String>, String> {
    let mut names = Names::new();
    let script = Language::Pgdyno
        .parse("s.sql", text, &mut names)
        .map_err(|error| error.to_string())?;
    let mut client = Client {
        vars: Vars::new(&names),
        prng: Prng::seed(1),
        draws: Draws::new(Counters::new(&names)),
        names,
    };
    for (name, text) in given {
        let slot = client.names.intern(name);
        client.vars.set_text(slot, text);
    }
    let mut sent = Vec::new();
    let (mut at, mut jumped) = (0, false);
    while let Some(command) = script.commands.get(at) {
        let Client {
            vars, prng, draws, ..
        } = &mut client;
        let mut eval = |expr: &pgdyno_script::Expr, vars: &mut Vars| {
            expr.eval(vars, prng, draws, &mut |_| {})
                .map_err(|error| error.to_string())
        };
        let mut to = None;
        match &command.op {
            Op::Sql(sql) => {
                sql.check_simple(vars).map_err(|error| error.to_string())?;
                let mut out = Vec::new();
                sql.write_simple(vars, &mut out);
                sent.push(String::from_utf8(out).unwrap());
            }
            Op::Set { slot, expr } => {
                let value = eval(expr, vars)?;
                vars.assign("set", *slot, value).unwrap();
            }
            Op::If { cond, on_false } => {
                to = (!eval(cond, vars)?.is_true()).then_some(*on_false);
            }
            Op::Elif { cond, on_false, .. } if jumped => {
                to = (!eval(cond, vars)?.is_true()).then_some(*on_false);
            }
            Op::Elif { end, .. } | Op::Else { end } => to = Some(*end),
            Op::For(its) => {
                let begun = its.begin(vars, prng, draws, &mut |_| {});
                to = (!begun.map_err(|error| error.to_string())?).then_some(its.end);
            }
            Op::EndFor { begin } => {
                let Op::For(its) = &script.commands[*begin].op else {
                    panic!("no \\for at {begin}");
                };
                to = its.step(vars).then_some(begin + 1);
            }
            Op::Error { message } => {
                let value = eval(message, vars)?;
                let mut out = b"invariant: ".to_vec();
                vars.write_value(value, &mut out);
                return Err(String::from_utf8(out).unwrap());
            }
            _ => {}
        }
        jumped = to.is_some();
        at = to.unwrap_or(at + 1);
    }
    see(&mut client);
    Ok(sent)
}

/// What `debug()` says of an expression, with some variables from outside.
fn value(expression: &str) -> String {
    let mut names = Names::new();
    let script = Language::Pgdyno
        .parse("s.sql", &format!("\\set x {expression}\n"), &mut names)
        .unwrap_or_else(|error| panic!("{error}"));
    let mut vars = Vars::new(&names);
    for (name, text) in [
        ("padded", "007"),
        ("word", "it's"),
        ("empty", ""),
        ("t", "t"),
        ("big", "18446744073709551615"),
        ("seven", "7"),
        ("latin", "caf\u{e9}s"),
    ] {
        let slot = names.intern(name);
        vars.set_text(slot, text);
    }
    let Op::Set { expr, .. } = &script.commands[0].op else {
        panic!("not \\set");
    };
    let mut draws = Draws::new(Counters::new(&names));
    match expr.eval(&mut vars, &mut Prng::seed(1), &mut draws, &mut |_| {}) {
        Ok(value) => {
            let mut out = Vec::new();
            vars.write_value(value, &mut out);
            format!("{} {}", value.type_name(), String::from_utf8(out).unwrap())
        }
        Err(error) => format!("error: {error}"),
    }
}

#[rustfmt::skip]
const VALUES: &[(&str, &str)] = &[
    ("'a'", "text a"),
    ("''", "text "),
    ("'it''s'", "text it's"),
    ("'a;b :x -- c'", "text a;b :x -- c"),
    ("'a' || 'b' || 'c'", "text abc"),
    ("'n' || 1 + 2", "text n3"),
    ("'n' || 2 * 3 || 0.5", "text n60.5"),
    ("1 || 2", "text 12"),
    ("'a' || null", "null NULL"),
    ("'a' || (1 = 1)", "text atrue"),
    ("('a' || 1) = 'a1'", "boolean true"),
    ("'a' || 1 = 'a1'", "boolean true"),
    ("case when 'a' < 'b' then 'x' || 'y' else 'z' end", "text xy"),
    // As it came, where a text is wanted; else what it looks like.
    (":padded", "int 7"),
    ("text(:padded)", "text 007"),
    ("'a' || :padded", "text a007"),
    (":padded || ''", "text 007"),
    ("length(:padded)", "int 3"),
    (":padded + 1", "int 8"),
    ("lpad(:padded, 5, :padded)", "text 00007"),
    (":word", "text it's"),
    (":word || '!'", "text it's!"),
    (":padded = '007'", "boolean true"),
    (":padded = '7'", "boolean false"),
    ("'006' < :padded", "boolean true"),
    ("'006' > :padded", "boolean false"),
    (":t = 't'", "boolean true"),
    (":seven = '7' and :seven = 7", "boolean true"),
    (":padded = text(7)", "boolean true"),
    (":empty", "text "),
    ("length(:empty)", "int 0"),
    (":empty = ''", "boolean true"),
    (":t", "boolean true"),
    ("text(:t)", "text t"),
    (":big", "text 18446744073709551615"),
    ("text(5)", "text 5"),
    ("text(text(5))", "text 5"),
    ("text(2.50)", "text 2.5"),
    ("text(null)", "null NULL"),
    ("int('42') + 1", "int 43"),
    ("int(' -7')", "int -7"),
    ("int('7.6')", "int 8"),
    ("double('1e2')", "double 100"),
    ("int(substring('user0042', 5))", "int 42"),
    ("int('x')", "error: \"x\" is not a number"),
    ("double('')", "error: \"\" is not a number"),
    ("int('9223372036854775808')", "error: \"9223372036854775808\" is not a number"),
    ("'a' = 'a'", "boolean true"),
    ("'a' <> 'b'", "boolean true"),
    ("'b' > 'a'", "boolean true"),
    ("'a' >= 'b'", "boolean false"),
    ("'10' < '9'", "boolean true"),
    ("10 = '10'", "boolean true"),
    ("null = 'a'", "null NULL"),
    ("'a' is null", "boolean false"),
    ("'a' + 1", "error: cannot coerce text to int"),
    ("1 + 'a'", "error: cannot coerce text to int"),
    ("1.5 * '2'", "error: cannot coerce text to int"),
    ("-'a'", "error: cannot coerce text to int"),
    ("~'a'", "error: cannot coerce text to int"),
    ("not 'a'", "error: cannot coerce text to boolean"),
    ("'a' and true", "error: cannot coerce text to boolean"),
    ("case when 'a' then 1 end", "error: cannot coerce text to boolean"),
    ("random('a', 5)", "error: cannot coerce text to int"),
    ("abs('a')", "error: cannot coerce text to double"),
    ("least(1, 'a')", "error: cannot coerce text to int"),
    ("debug('a')", "text a"),
    ("length('abc')", "int 3"),
    ("length('é€')", "int 2"),
    ("length(12345)", "int 5"),
    ("length(random_string(0))", "int 0"),
    ("length(random_string(-3))", "int 0"),
    ("length(random_string(1234))", "int 1234"),
    ("random_string(1048577)", "error: a text may have at most 1048576 bytes"),
    ("length(random_mask('##-@@'))", "int 5"),
    ("random_mask('an é, none')", "text an é, none"),
    ("random_mask(42)", "text 42"),
    ("random_mask('##') >= '00' and random_mask('##') <= '99'", "boolean true"),
    ("random_mask('@') >= 'a' and random_mask('@') <= 'z'", "boolean true"),
    ("sysbench_gaussian(5, 5, 12) + sysbench_special(5, 5, 12, 1, 75) + sysbench_pareto(5, 5, 0.2)", "int 15"),
    ("sysbench_special(1, 9, 1, 100, 100) <= 9 and sysbench_pareto(1, 9, 1) <= 9", "boolean true"),
    ("sysbench_gaussian(2, 1, 12)", "error: empty range given to random"),
    ("sysbench_gaussian(1, 9, 0)", "error: a number is the mean of 1 to 1000 draws (not 0)"),
    ("sysbench_special(1, 9, 1001, 1, 75)", "error: a number is the mean of 1 to 1000 draws (not 1001)"),
    ("sysbench_special(1, 9, 12, 101, 75)", "error: the part that is preferred must be between 0 and 100 percent (not 101.000000)"),
    ("sysbench_special(1, 9, 12, 1, -1)", "error: how often it is drawn from must be between 0 and 100 percent (not -1.000000)"),
    ("sysbench_pareto(1, 9, 2)", "error: the shape of pareto must be between 0 and 1 (not 2.000000)"),
    ("lpad('x', 5)", "text     x"),
    ("lpad(42, 6, '0')", "text 000042"),
    ("lpad('12345', 3, '0')", "text 123"),
    ("lpad('é', 4, '€u')", "text €u€é"),
    ("lpad('abc', 5, '')", "text abc"),
    ("lpad('abc', -1, 'x')", "text "),
    ("rpad('ab', 5, 'xy')", "text abxyx"),
    ("rpad('abcdef', 2, 'x')", "text ab"),
    ("lpad('a', 1048577)", "error: a text may have at most 1048576 bytes"),
    ("lpad('a', 1048576, '€')", "error: a text may have at most 1048576 bytes"),
    ("elt(1, 'BAR', 'OUGHT')", "text BAR"),
    ("elt(2, 'BAR', 7)", "int 7"),
    ("elt(0, 'BAR')", "null NULL"),
    ("elt(3, 'BAR', 'OUGHT')", "null NULL"),
    ("elt(-1, 'BAR')", "null NULL"),
    ("zero_pad(42, 6)", "text 000042"),
    ("zero_pad(-42, 6)", "text -00042"),
    ("zero_pad(1234567, 3)", "text 1234567"),
    ("zero_pad(5, 0)", "text 5"),
    ("zero_pad(unsigned(-1), 22)", "text 0018446744073709551615"),
    ("substring('abcdef', 3)", "text cdef"),
    ("substring('abcdef', 3, 2)", "text cd"),
    ("substring('abcdef', -1, 4)", "text ab"),
    ("substring('abcdef', 10)", "text "),
    ("substring('abcdef', 3, 0)", "text "),
    ("substring('aé€b', 2, 2)", "text é€"),
    ("substr('abc', 2, 9223372036854775807)", "text bc"),
    ("substring('abc', -9223372036854775807 - 1, 5)", "text "),
    ("substring('abc', 1, -1)", "error: the count of substring must not be negative (not -1)"),
    ("unsigned(-1)", "text 18446744073709551615"),
    ("unsigned(0)", "text 0"),
    ("unsigned(9223372036854775807)", "text 9223372036854775807"),
    ("unsigned(-9223372036854775807 - 1)", "text 9223372036854775808"),
    // The same numbers that keys are made of.
    ("abs(fnv1a(0))", "int 6284781860667377211"),
    ("abs(fnv1a(1, 'little'))", "int 8517097267634966620"),
    ("abs(fnv1a(1, 'big'))", "int 6284782960179005422"),
    ("unsigned(fnv1(1, 'uvarint8'))", "text 16390143479181108970"),
    ("unsigned(fnv1(1, 'uvarint10'))", "text 15449794709565471098"),
    ("unsigned(fnv1a('foobar'))", "text 9625390261332436968"),
    ("unsigned(fnv1(text(:padded)))", "text 15673514169586253120"),
    ("fnv1a(1, 'middle')", "error: fnv1a does not know \"middle\", but little, big, uvarint8 and uvarint10"),
    ("fnv1(-1, 'uvarint8')", "error: -1 is too large for uvarint8, whose limit is 2^56"),
    // As OpenSSL's `sha1sum` has them of the same octets.
    ("sha1(0, 1)", "int -8617536109860315868"),
    ("sha1(1, 1)", "int 1464797858451214926"),
    ("sha1(-1, 42)", "int -8610604298048788670"),
    ("sha1(7)", "int -5854833444676262409"),
    ("sha1('a')", "error: cannot coerce text to int"),
    ("zipfian(1, 1000, 1.1, 7) = zipfian(1, 1000, 1.1, 7)", "boolean true"),
    ("ycsb_key(0, 'java')", "text user6284781860667377211"),
    ("ycsb_key(1, 'java')", "text user8517097267634966620"),
    ("ycsb_key(1, 'go-ycsb')", "text user6284782960179005422"),
    ("ycsb_key(1, 'crdb-old')", "text user16390143479181108970"),
    ("ycsb_key(1, 'crdb')", "text user15449794709565471098"),
    ("ycsb_key(:seven, 'ordered')", "text user7"),
    ("ycsb_key(42, 'ordered', 8)", "text user00000042"),
    ("ycsb_key(0, 'ordered', 3)", "text user000"),
    ("ycsb_key(1, 'crdb', 25)", "text user0000015449794709565471098"),
    ("ycsb_key(9223372036854775807, 'ordered')", "text user9223372036854775807"),
    ("ycsb_key(-1, 'java')", "error: a key number must not be negative (not -1)"),
    ("ycsb_key(72057594037927936, 'crdb-old')", "error: 72057594037927936 is too large for crdb-old, whose limit is 2^56"),
    ("ycsb_key(1, 'perl')", "error: ycsb_key does not know \"perl\", but java, go-ycsb, crdb-old, crdb and ordered"),
    ("ycsb_value('a', 'b', 11)", "text a:b:2948561"),
    ("ycsb_value('user' || 1, 'field' || 0, 14)", "text user1:field0:-"),
    // Draws whose bounds are wrong.
    ("uniform(2, 1)", "error: empty range given to random"),
    ("zipfian(1, 9, 0)", "error: theta must be greater than 0 and at most 1000 (not 0.000000)"),
    ("zipfian(1, 9, 1.0 / 0)", "error: theta must be greater than 0 and at most 1000 (not Infinity)"),
    ("latest(1, 9, -1)", "error: theta must be greater than 0 and at most 1000 (not -1.000000)"),
    ("scrambled_zipfian(0, 9, 0.99, -1)", "error: 10000 draws gave no key up to -1: the table has none yet (was it loaded?)"),
    ("hotspot(1, 9, 1.1, 0.5)", "error: the fraction of the data must be between 0 and 1 (not 1.100000)"),
    ("hotspot(1, 9, 0.5, 0.0 / 0)", "error: the fraction of the operations must be between 0 and 1 (not NaN)"),
    ("exponential(1, 9, 100, 0.5)", "error: percentile must be greater than 0 and less than 100 (not 100.000000)"),
    ("exponential(1, 9, 95, -1)", "error: the fraction of the data must be between 0 and 1 (not -1.000000)"),
    ("uniform(-9223372036854775807, 9223372036854775807)", "error: random range is too large"),
    ("zipfian(5, 5, 0.99) + latest(5, 5) + hotspot(5, 5, 0, 1) + exponential(5, 5, 95, 0)", "int 20"),
    ("ycsb_zipfian(5, 5) + ycsb_latest(5, 5, 0) + ycsb_latest(6, 7, 0) + exponential(5, 5, 95, 0, -1)", "int 22"),
    ("ycsb_zipfian(2, 1)", "error: empty range given to random"),
    ("ycsb_latest(0, -1, 5)", "error: empty range given to random"),
    // Counters.
    ("next_key('k', 100)", "int 100"),
    ("fresh('k', 5) * 100 + fresh('k', 5) * 10 + acknowledged('k', 5)", "int 566"),
    ("fresh('k', 9223372036854775807) + fresh('k', 9223372036854775807)", "error: bigint add out of range"),
    ("next_key('k', 5) * 100 + next_key('k', 5) * 10 + next_key('other', 5)", "int 565"),
    ("acknowledged('k', 100)", "int 99"),
    ("readable('k', 100, 100) + readable('k', 100, 107) + readable('k', 100, 99)", "int 306"),
    ("readable('k', -9223372036854775807, 9223372036854775807)", "int 9223372036854775807"),
    ("next_key('k', 100, 0)", "error: all 0 numbers of counter \"k\" are drawn"),
    ("next_key('it''s', 1, -1)", "error: all -1 numbers of counter \"it's\" are drawn"),
    ("next_key('k', 9223372036854775807) + next_key('k', 9223372036854775807)", "error: bigint add out of range"),
    ("acknowledged('k', -9223372036854775807 - 1)", "error: bigint add out of range"),
    ("sequential('s', 1, 2) * 100 + sequential('s', 1, 2) * 10 + sequential('s', 1, 2)", "int 121"),
];

#[test]
fn texts_keys_and_draws_are_what_they_are_documented_to_be() {
    let wrong: Vec<_> = VALUES
        .iter()
        .filter(|(expression, expected)| value(expression).trim_end() != expected.trim_end())
        .map(|(expression, expected)| {
            format!("{expression}: is {}, not {expected}", value(expression))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[rustfmt::skip]
const REFUSED: &[(&str, &str)] = &[
    ("\\set x 'a\n",
     "s.sql:1: unterminated text ('a) in command \"set\"\n\\set x 'a\n        ^ error found here"),
    ("\\set x 'a' 'b'\n",
     "s.sql:1: syntax error in command \"set\"\n\\set x 'a' 'b'\n             ^ error found here"),
    ("\\set x lpad('a')\n",
     "s.sql:1: unexpected number of arguments (lpad) in command \"set\"\n\\set x lpad('a')\n               ^ error found here"),
    ("\\set x next_key(:name, 1)\n",
     "s.sql:1: expected the name of a counter in quotes (next_key) in command \"set\"\n\\set x next_key(:name, 1)\n                    ^ error found here"),
    ("\\set x fresh('n')\n",
     "s.sql:1: unexpected number of arguments (fresh) in command \"set\"\n\\set x fresh('n')\n                ^ error found here"),
    ("\\set x next_key('n')\n",
     "s.sql:1: unexpected number of arguments (next_key) in command \"set\"\n\\set x next_key('n')\n                   ^ error found here"),
    ("\\set x acknowledged('n', 1, 2)\n",
     "s.sql:1: unexpected number of arguments (acknowledged) in command \"set\"\n\\set x acknowledged('n', 1, 2)\n                             ^ error found here"),
    ("\\for\n",
     "s.sql:1: missing argument in command \"for\""),
    ("\\for 1x 1 2\n",
     "s.sql:1: invalid variable name (1x) in command \"for\"\n\\for 1x\n     ^ error found here"),
    ("\\for i 1\n",
     "s.sql:1: syntax error in command \"for\"\n\\for i 1\n        ^ error found here"),
    ("\\for i 1 2 3\n",
     "s.sql:1: syntax error in command \"for\"\n\\for i 1 2 3\n           ^ error found here"),
    ("\\for i 1 foo(2)\n",
     "s.sql:1: unexpected function name (foo: pgdyno help scripts lists them) in command \"for\"\n\\for i 1 foo(2)\n           ^ error found here"),
    ("\\endfor 1\n",
     "s.sql:1: unexpected argument in command \"endfor\"\n\\endfor 1"),
    ("SELECT 1;\n\\for i 1 2\n\\if 1\n\\endif\n",
     "s.sql:2: \\for without matching \\endfor in command \"for\"\n\\for i 1 2"),
    ("SELECT 1;\n\\endfor\n",
     "s.sql:2: \\endfor without matching \\for in command \"endfor\"\n\\endfor"),
    ("\\for i 1 2\n\\if 1\n\\endfor\n\\endif\n",
     "s.sql:3: \\endif is missing before it in command \"endfor\"\n\\endfor"),
    ("\\if 1\n\\for i 1 2\n\\endif\n\\endfor\n",
     "s.sql:3: \\endfor is missing before it in command \"endif\"\n\\endif"),
    ("\\if 1\n\\for i 1 2\n\\else\n\\endfor\n\\endif\n",
     "s.sql:3: \\endfor is missing before it in command \"else\"\n\\else"),
    ("\\if 1\n\\for i 1 2\n\\elif 2\n\\endfor\n\\endif\n",
     "s.sql:3: \\endfor is missing before it in command \"elif\"\n\\elif 2"),
    ("\\error\n",
     "s.sql:1: syntax error in command \"error\"\n\\error\n      ^ error found here"),
    ("\\if 'a'\n\\endif\n",
     "cannot coerce text to boolean"),
    ("\\if 0\n\\elif 'a'\n\\endif\n",
     "cannot coerce text to boolean"),
    ("\\for i 1 'a'\n\\endfor\n",
     "cannot coerce text to int"),
    ("\\for i 1 1000001\n\\endfor\n",
     "a loop may have at most 1000000 steps (not from 1 to 1000001)"),
    ("\\for i -9223372036854775807 9223372036854775807\n\\endfor\n",
     "a loop may have at most 1000000 steps (not from -9223372036854775807 to 9223372036854775807)"),
    ("\\set t 'a'\nSELECT ':t';\n",
     "variable \"t\" holds a text, which cannot be inside quotes or a comment: write :t without quotes, pgdyno quotes it"),
    ("\\set n 3\n\\error 'only ' || :n || ' rows'\n",
     "invariant: only 3 rows"),
    ("\\error :x\n", "undefined variable \"x\""),
    ("\\think\n",
     "s.sql:1: syntax error in command \"think\"\n\\think\n      ^ error found here"),
    ("SELECT 1;\n\\think 1\n",
     "s.sql:2: it must stand before the first SQL command in command \"think\"\n\\think 1"),
];

#[test]
fn mistakes_are_named_with_their_place() {
    let wrong: Vec<_> = REFUSED
        .iter()
        .filter(|(script, expected)| run(script, &[]).err().as_deref() != Some(*expected))
        .map(|(script, expected)| format!("{script}: is {:?}, not {expected}", run(script, &[])))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pgbench_goes_on_refusing_what_it_does_not_know() {
    for (script, message) in [
        ("\\set x 'a'\n", "unexpected character"),
        ("\\set x 1 || 2\n", "syntax error"),
        (
            "\\set x uniform(1, 2)\n",
            "unexpected function name (uniform)",
        ),
        ("\\set x text(1)\n", "unexpected function name (text)"),
        ("\\for i 1 2\n", "invalid command in command \"for\""),
        ("\\endfor\n", "invalid command in command \"endfor\""),
        ("\\error 'a'\n", "invalid command in command \"error\""),
        ("\\think 1\n", "invalid command in command \"think\""),
    ] {
        let error = pgdyno_script::parse("s.sql", script, &mut Names::new()).unwrap_err();
        assert!(error.to_string().contains(message), "{script}: {error}");
    }
}

#[test]
fn loops_count_from_one_bound_to_the_other() {
    let sent = |text: &str| run(text, &[]).unwrap().concat();
    assert_eq!(
        sent("\\for i 1 3\nSELECT :i;\n\\endfor\n"),
        "SELECT 1;SELECT 2;SELECT 3;"
    );
    assert_eq!(sent("\\for i 3 2\nSELECT :i;\n\\endfor\nEND;"), "END;");
    assert_eq!(sent("\\for i 0 0\nSELECT :i;\n\\endfor\n"), "SELECT 0;");
    assert_eq!(
        sent("\\set n 2\n\\for i :n - 1 :n\n\\for j :i 3\n:i:j;\n\\endfor\n:i;\n\\endfor\n"),
        "11;12;13;1;22;23;2;"
    );
    // Its variable is the script's to change; how often it runs is not.
    assert_eq!(
        sent("\\for i 1 2\n\\set i :i * 10\n\\for i 7 7\n\\endfor\n:i;\n\\endfor\n"),
        "7;7;"
    );
    assert_eq!(
        sent("\\for i 9223372036854775806 9223372036854775807\nx;\n\\endfor\n"),
        "x;x;"
    );
    // Side by side, and with conditions in and around them.
    assert_eq!(
        sent(
            "\\if 1 = 1\n\\for i 1 3\n\\if :i = 2\ntwo;\n\\elif :i = 3\nthree;\n\\else\none;\n\
             \\endif\n\\endfor\n\\for i 5 5\n:i;\n\\endfor\n\\else\nnever;\n\\endif\n"
        ),
        "one;two;three;5;"
    );
    assert_eq!(sent("\\for i 1 (-1)\nx;\n\\endfor\ny;\n"), "y;");
}

#[test]
fn a_text_keeps_what_it_is_from_one_command_to_the_next() {
    let sent = run(
        "\\set a 'x' || :given\n\\set b :a\n\\set a :a || :b\n\\set a :a\n\\set b 'changed'\n\
         SELECT :a, :b, :given, :raw;\n\\set raw text(:raw)\nSELECT :raw;\n",
        &[("given", "007"), ("raw", "it's")],
    );
    assert_eq!(
        sent.unwrap(),
        [
            "SELECT 'x007x007', 'changed', 007, it's;",
            "SELECT 'it''s';"
        ]
    );
}

#[test]
fn a_text_goes_as_it_is_where_values_are_parameters() {
    let see = |client: &mut Client| {
        let slot = client.names.get("t").unwrap();
        let mut out = Vec::new();
        assert!(client.vars.write_text(slot, &mut out));
        assert_eq!(out, b"it's \\");
    };
    run_with("\\set t 'it''s \\'\nSELECT :t;\n", &[], see).unwrap();
}

#[test]
fn random_strings_are_of_their_alphabet_and_each_character_is_as_likely() {
    let mut names = Names::new();
    let text = "\\set x random_string(1003)\n";
    let script = Language::Pgdyno.parse("s.sql", text, &mut names).unwrap();
    let Op::Set { expr, .. } = &script.commands[0].op else {
        panic!("not \\set");
    };
    let (mut vars, mut prng) = (Vars::new(&names), Prng::seed(11));
    let mut seen = [0_u64; 256];
    for _ in 0..1000 {
        let value = expr.eval(&mut vars, &mut prng, &mut Draws::default(), &mut |_| {});
        let Ok(Value::Text(text)) = value else {
            panic!("{value:?}");
        };
        vars.bytes(text)
            .iter()
            .for_each(|byte| seen[usize::from(*byte)] += 1);
    }
    let is_ours = |byte: usize| {
        let byte = byte as u8;
        byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
    };
    let expected = 1_003_000.0 / 64.0;
    let mut chi_square = 0.0;
    for (byte, &count) in seen.iter().enumerate() {
        if is_ours(byte) {
            chi_square += (count as f64 - expected).powi(2) / expected;
        } else {
            assert_eq!(count, 0, "{byte}");
        }
    }
    // 63 degrees of freedom; the 0.999 quantile is 103.4.
    assert!(chi_square < 103.4, "{chi_square}");
}

#[test]
fn pgbenchs_draws_are_the_same_in_both_languages() {
    let text =
        "\\set a random(1, 1000) * 31 + random_zipfian(1, 99, 1.3) + random_gaussian(1, 99, 3)\n";
    let drawn = |language: Language| -> Vec<Value> {
        let mut names = Names::new();
        let script = language.parse("s.sql", text, &mut names).unwrap();
        let Op::Set { expr, .. } = &script.commands[0].op else {
            panic!("not \\set");
        };
        let (mut vars, mut prng) = (Vars::new(&names), Prng::seed(5));
        let mut draw = || expr.eval(&mut vars, &mut prng, &mut Draws::default(), &mut |_| {});
        (0..100).map(|_| draw().unwrap()).collect()
    };
    assert_eq!(drawn(Language::Pgbench), drawn(Language::Pgdyno));
}

#[test]
fn clients_share_a_counter_and_read_what_is_settled() {
    let mut names = Names::new();
    let text =
        "\\set key next_key('rows', :start, :count)\n\\set last acknowledged('rows', :start)\n";
    let script = Language::Pgdyno.parse("s.sql", text, &mut names).unwrap();
    let counters = Counters::new(&names);
    let slot = |name: &str| names.get(name).unwrap();
    let run = |draws: &mut Draws| -> Result<(Value, Value), String> {
        let (mut vars, mut prng) = (Vars::new(&names), Prng::seed(1));
        vars.set(slot("start"), Value::Int(1000));
        vars.set(slot("count"), Value::Int(3));
        let mut values = Vec::new();
        for command in &script.commands {
            let Op::Set { expr, .. } = &command.op else {
                panic!("not \\set");
            };
            let value = expr.eval(&mut vars, &mut prng, draws, &mut |_| {});
            values.push(value.map_err(|error| error.to_string())?);
        }
        Ok((values[0], values[1]))
    };
    let (mut one, mut two) = (
        Draws::new(Arc::clone(&counters)),
        Draws::new(Arc::clone(&counters)),
    );
    let pair = |key, last| Ok((Value::Int(key), Value::Int(last)));
    assert_eq!(run(&mut one), pair(1000, 999));
    assert_eq!(run(&mut two), pair(1001, 999));
    // The second one commits first; the first one is tried again and keeps its number.
    two.end();
    one.restart();
    assert_eq!(run(&mut one), pair(1000, 999));
    one.end();
    assert_eq!(run(&mut one), pair(1002, 1001));
    assert_eq!(
        run(&mut two),
        Err("all 3 numbers of counter \"rows\" are drawn".to_owned())
    );
    assert_eq!(counters.find("rows").unwrap().settled(), 2);
    assert!(counters.find("cols").is_none());
}

#[test]
fn work_units_belong_to_the_statement_before_them() {
    let parse = |text: &str| {
        let mut names = Names::new();
        Language::Pgdyno.parse("s.sql", text, &mut names)
    };
    let script = parse("SELECT 1 \\unit read\nCALL x() \\units read write\nSELECT 2;\n").unwrap();
    let units = script.commands.iter().map(|command| match &command.op {
        Op::Sql(sql) => (sql.units.clone(), sql.gset.is_some()),
        other => panic!("{other:?}"),
    });
    let reported = vec!["read".to_owned(), "write".to_owned()];
    assert_eq!(
        units.collect::<Vec<_>>(),
        [
            (Some(Units::One("read".to_owned())), false),
            (Some(Units::Reported(reported)), true),
            (None, false),
        ]
    );
    for (text, want) in [
        ("SELECT 1 \\unit\n", "missing argument in command \"unit\""),
        (
            "SELECT 1 \\units\n",
            "missing argument in command \"units\"",
        ),
        ("SELECT 1 \\unit a b\n", "too many arguments"),
        (
            "SELECT 1 \\units a b-c\n",
            "invalid name of an operation (b-c)",
        ),
        ("\\unit a\n", "it must follow an SQL command"),
        (
            "SELECT 1 \\gset\n\\units a\n",
            "it must follow an SQL command",
        ),
        (
            "SELECT 1 \\unit a\n\\unit b\n",
            "it must follow an SQL command",
        ),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(want), "{text}: {error}");
        // To pgbench there is no such command.
        let error = pgdyno_script::parse("s.sql", text, &mut Names::new()).unwrap_err();
        assert!(error.to_string().contains("invalid command"), "{error}");
    }
}

#[test]
fn what_a_statement_observes_belongs_to_it_and_mistakes_are_pointed_at() {
    let parse = |text: &str| {
        let mut names = Names::new();
        Language::Pgdyno.parse("s.sql", text, &mut names)
    };
    let script = parse("SELECT 1, 2;\n\\observe list :k\n\\observe read -7\n").unwrap();
    let Op::Sql(sql) = &script.commands[0].op else {
        panic!("a statement")
    };
    let observed: Vec<Observation> = sql.observed.iter().map(|one| one.what).collect();
    assert_eq!(observed, [Observation::List, Observation::Read]);
    assert!(matches!(sql.observed[0].key, Operand::Var(_)));
    assert_eq!(sql.observed[1].key, Operand::Int(-7));
    for (words, want, caret) in [
        ("", "missing argument", None),
        (
            "see 1",
            "it is one of append, write, insert, list, read and rows (see)",
            Some(9),
        ),
        ("append 1", "missing argument", None),
        ("read 1 2", "too many arguments (2)", Some(16)),
        (
            "read x",
            "it must be a whole number or :variable (x)",
            Some(14),
        ),
        (
            "append :k 1.5",
            "it must be a whole number or :variable (1.5)",
            Some(19),
        ),
        (
            "rows 1",
            "a statement that reads rows reads nothing else (rows)",
            Some(9),
        ),
    ] {
        let text = format!("SELECT 1;\n\\observe read 1\n\\observe {words}\n");
        let error = parse(&text).unwrap_err().to_string();
        let first = error.lines().next().unwrap_or_default();
        assert_eq!(first, format!("s.sql:3: {want} in command \"observe\""));
        let pointed = error.lines().find_map(|line| line.find('^'));
        assert_eq!(pointed, caret, "{error}");
    }
    let error = parse("\\set x 1\n\\observe read 1\n").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("s.sql:2: it must follow an SQL command")
    );
    // pgbench knows no such command.
    let mut names = Names::new();
    let error = Language::Pgbench.parse("s.sql", "SELECT 1;\n\\observe read 1\n", &mut names);
    assert!(error.unwrap_err().to_string().contains("invalid command"));
}
