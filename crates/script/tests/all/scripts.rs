//! What reaches the server: scripts are run here as the engine does it, but nothing is sent.

use pgdyno_script::{Command, Draws, Names, Op, Piece, Prng, Script, Value, Vars, parse};

/// Whether in simple mode (else extended), a script, and the statements that pgbench 18.6 sent for
/// it as it says with `--debug`, with `v` set to ":v" and `é` to 8. It stops at the first that the
/// server refuses, so that ours may go on.
#[rustfmt::skip]
const SENT: &[(bool, &str, &[&str])] = &[
    (true, "SELECT 1;\n",
     &["SELECT 1;"]),
    (false, "SELECT 1;\n",
     &["SELECT 1;"]),
    (true, "SELECT 1",
     &["SELECT 1"]),
    (false, "SELECT 1",
     &["SELECT 1"]),
    (true, "SELECT 1\n",
     &["SELECT 1"]),
    (false, "SELECT 1\n",
     &["SELECT 1"]),
    (true, "SELECT 1;SELECT 2;\n",
     &["SELECT 1;", "SELECT 2;"]),
    (false, "SELECT 1;SELECT 2;\n",
     &["SELECT 1;", "SELECT 2;"]),
    (true, "SELECT 1\\;SELECT 2;\n",
     &["SELECT 1;SELECT 2;"]),
    (false, "SELECT 1\\;SELECT 2;\n",
     &["SELECT 1;SELECT 2;"]),
    (true, "SELECT ':'\\:;\n",
     &["SELECT ':':;"]),
    (false, "SELECT ':'\\:;\n",
     &["SELECT ':':;"]),
    (true, "-- c\nSELECT 1 -- d\n;\n/* x */ SELECT /* ; */ 2;\n/* end */\n",
     &["SELECT 1 -- d\n;", "/* x */ SELECT /* ; */ 2;", "/* end */"]),
    (false, "-- c\nSELECT 1 -- d\n;\n/* x */ SELECT /* ; */ 2;\n/* end */\n",
     &["SELECT 1 -- d\n;", "/* x */ SELECT /* ; */ 2;", "/* end */"]),
    (true, "SELECT 'a;b', E'a\\';b', $$;$$, $x$;$$;$x$, \";\" FROM (VALUES (1)) AS t(\";\");\n",
     &["SELECT 'a;b', E'a\\';b', $$;$$, $x$;$$;$x$, \";\" FROM (VALUES (1)) AS t(\";\");"]),
    (false, "SELECT 'a;b', E'a\\';b', $$;$$, $x$;$$;$x$, \";\" FROM (VALUES (1)) AS t(\";\");\n",
     &["SELECT 'a;b', E'a\\';b', $$;$$, $x$;$$;$x$, \";\" FROM (VALUES (1)) AS t(\";\");"]),
    (true, "SELECT (1\n\\set x 1\n);\nSELECT 2;\n",
     &["SELECT (1"]),
    (false, "SELECT (1\n\\set x 1\n);\nSELECT 2;\n",
     &["SELECT (1"]),
    (true, "SELECT 1 \\set x 1\nSELECT :x;\n",
     &["SELECT 1 ", "SELECT 1;"]),
    (false, "SELECT 1 \\set x 1\nSELECT :x;\n",
     &["SELECT 1 ", "SELECT $1;"]),
    (true, "SELECT :{?x}, ':x', :x::int;\n",
     &["SELECT FALSE, ':x', :x::int;"]),
    (false, "SELECT :{?x}, ':x', :x::int;\n",
     &["SELECT FALSE, '$1', $2::int;"]),
    (true, "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT case when true then 2 end; END;\nSELECT 3;\n",
     &["CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT case when true then 2 end; END;", "SELECT 3;"]),
    (false, "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT case when true then 2 end; END;\nSELECT 3;\n",
     &["CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT case when true then 2 end; END;", "SELECT 3;"]),
    (true, "SELECT 'a' -- c\n 'b;';\n",
     &["SELECT 'a' -- c\n 'b;';"]),
    (false, "SELECT 'a' -- c\n 'b;';\n",
     &["SELECT 'a' -- c\n 'b;';"]),
    (true, "SELECT E'a' \n '\\';';\n",
     &["SELECT E'a' \n '\\';';"]),
    (false, "SELECT E'a' \n '\\';';\n",
     &["SELECT E'a' \n '\\';';"]),
    (true, "SELECT N'a;', U&'\\0061;', B'1', x'1f';SELECT 1;\n",
     &["SELECT N'a;', U&'\\0061;', B'1', x'1f';", "SELECT 1;"]),
    (false, "SELECT N'a;', U&'\\0061;', B'1', x'1f';SELECT 1;\n",
     &["SELECT N'a;', U&'\\0061;', B'1', x'1f';", "SELECT 1;"]),
    (true, "SELECT 1e--2;\n;\nSELECT 5;\n",
     &["SELECT 1e--2;"]),
    (false, "SELECT 1e--2;\n;\nSELECT 5;\n",
     &["SELECT 1e--2;"]),
    (true, ";;SELECT 1;\n",
     &[";", ";", "SELECT 1;"]),
    (false, ";;SELECT 1;\n",
     &[";", ";", "SELECT 1;"]),
    (true, "SELECT 1 AS a$b$;SELECT $$x$$;\n",
     &["SELECT 1 AS a$b$;", "SELECT $$x$$;"]),
    (false, "SELECT 1 AS a$b$;SELECT $$x$$;\n",
     &["SELECT 1 AS a$b$;", "SELECT $$x$$;"]),
    (true, "SELECT 1\r\n;\r\nSELECT 2;\r\n",
     &["SELECT 1\r\n;", "SELECT 2;"]),
    (false, "SELECT 1\r\n;\r\nSELECT 2;\r\n",
     &["SELECT 1\r\n;", "SELECT 2;"]),
    (true, "SELECT 1 \\gset\nSELECT 2 AS y \\gset p_\nSELECT :p_y, :p_y;\n",
     &["SELECT 1 "]),
    (false, "SELECT 1 \\gset\nSELECT 2 AS y \\gset p_\nSELECT :p_y, :p_y;\n",
     &["SELECT 1 "]),
    (true, "\\set x 1.50\n\\set y true\n\\set z null\n\\set w 1e20\nSELECT :x, :y, :z, :w, ':w:x', :unset, :x1;\n",
     &["SELECT 1.5, true, NULL, 1e+20, '1e+201.5', :unset, :x1;"]),
    (false, "\\set x 1.50\n\\set y true\n\\set z null\n\\set w 1e20\nSELECT :x, :y, :z, :w, ':w:x', :unset, :x1;\n",
     &["SELECT $1, $2, $3, $4, '$5$6', $7, $8;"]),
    (true, "SELECT ':v' || :v;\n",
     &["SELECT ':v' || :v;"]),
    (false, "SELECT ':v' || :v;\n",
     &["SELECT '$1' || $2;"]),
    (true, "SELECT :é, 'é:é';\n",
     &["SELECT 8, 'é8';"]),
    (false, "SELECT :é, 'é:é';\n",
     &["SELECT $1, 'é$2';"]),
    (true, "\\if true\nSELECT 1;\n\\elif 1/0 = 1\nSELECT 2;\n\\else\nSELECT 3;\n\\endif\nSELECT 4;\n",
     &["SELECT 1;", "SELECT 4;"]),
    (false, "\\if true\nSELECT 1;\n\\elif 1/0 = 1\nSELECT 2;\n\\else\nSELECT 3;\n\\endif\nSELECT 4;\n",
     &["SELECT 1;", "SELECT 4;"]),
    (true, "\\if false\nSELECT 1;\n\\if 1/0=1\n\\elif 1/0=1\n\\else\n\\endif\n\\elif null\nSELECT 2;\n\\elif 3\nSELECT 5;\n\\elif 1/0=1\n\\else\nSELECT 3;\n\\endif\nSELECT 4;\n",
     &["SELECT 5;", "SELECT 4;"]),
    (false, "\\if false\nSELECT 1;\n\\if 1/0=1\n\\elif 1/0=1\n\\else\n\\endif\n\\elif null\nSELECT 2;\n\\elif 3\nSELECT 5;\n\\elif 1/0=1\n\\else\nSELECT 3;\n\\endif\nSELECT 4;\n",
     &["SELECT 5;", "SELECT 4;"]),
    (true, "\\if 0\nSELECT 1;\n\\else\n\\if 0\nSELECT 7;\n\\elif 0\nSELECT 8;\n\\endif\nSELECT 3;\n\\endif\nSELECT 4;\n",
     &["SELECT 3;", "SELECT 4;"]),
    (false, "\\if 0\nSELECT 1;\n\\else\n\\if 0\nSELECT 7;\n\\elif 0\nSELECT 8;\n\\endif\nSELECT 3;\n\\endif\nSELECT 4;\n",
     &["SELECT 3;", "SELECT 4;"]),
    (true, "SELECT $1$;$1$;\nSELECT 1;\n",
     &["SELECT $1$;"]),
    (false, "SELECT $1$;$1$;\nSELECT 1;\n",
     &["SELECT $1$;"]),
    (true, "SELECT 'un;closed\n;",
     &["SELECT 'un;closed\n;"]),
    (false, "SELECT 'un;closed\n;",
     &["SELECT 'un;closed\n;"]),
    (true, "/* un;closed /* */ ;\n",
     &["/* un;closed /* */ ;"]),
    (false, "/* un;closed /* */ ;\n",
     &["/* un;closed /* */ ;"]),
    (true, "SELECT 1 \\; SELECT 2 \\aset\nSELECT 3 :v:v :::v ::v : v;\n",
     &["SELECT 1 ; SELECT 2 "]),
    (false, "SELECT 1 \\; SELECT 2 \\aset\nSELECT 3 :v:v :::v ::v : v;\n",
     &["SELECT 1 ; SELECT 2 "]),
    (true, "\\set a 1 \\\n + 2\nSELECT :a;\n",
     &["SELECT 3;"]),
    (false, "\\set a 1 \\\n + 2\nSELECT :a;\n",
     &["SELECT $1;"]),
    (true, "\\SET A 5\nSELECT :A, :a;\n",
     &["SELECT 5, :a;"]),
    (false, "\\SET A 5\nSELECT :A, :a;\n",
     &["SELECT $1, $2;"]),
    (true, "BEGIN;\nSELECT 1;\nEND;\n",
     &["BEGIN;", "SELECT 1;", "END;"]),
    (false, "BEGIN;\nSELECT 1;\nEND;\n",
     &["BEGIN;", "SELECT 1;", "END;"]),
    (true, "SELECT 1;\\set q 3\nSELECT :q;\\set q 4\nSELECT :q;",
     &["SELECT 1;", "SELECT 3;", "SELECT 4;"]),
    (false, "SELECT 1;\\set q 3\nSELECT :q;\\set q 4\nSELECT :q;",
     &["SELECT 1;", "SELECT $1;", "SELECT $1;"]),
];

/// Executes a script's meta commands and calls `send` with its SQL commands.
fn run(script: &Script, vars: &mut Vars, mut send: impl FnMut(&Command, &Vars)) {
    let mut prng = Prng::seed(1);
    let mut at = 0;
    let mut jumped = false;
    while let Some(command) = script.commands.get(at) {
        let mut eval = |expr: &pgdyno_script::Expr, vars: &mut Vars| {
            expr.eval(vars, &mut prng, &mut Draws::default(), &mut |_| {})
                .unwrap()
        };
        let mut target = None;
        match &command.op {
            Op::Sql(_) => send(command, vars),
            Op::Set { slot, expr } => {
                let value = eval(expr, vars);
                vars.assign(&command.words[0], *slot, value).unwrap();
            }
            Op::If { cond, on_false } => {
                target = (!eval(cond, vars).is_true()).then_some(*on_false);
            }
            Op::Elif { cond, on_false, .. } if jumped => {
                target = (!eval(cond, vars).is_true()).then_some(*on_false);
            }
            Op::Elif { end, .. } | Op::Else { end } => target = Some(*end),
            _ => {}
        }
        jumped = target.is_some();
        at = target.unwrap_or(at + 1);
    }
}

fn sent(simple: bool, text: &str) -> Vec<String> {
    let mut names = Names::new();
    let slots = [names.intern("v"), names.intern("é")];
    let script = parse("sent.sql", text, &mut names).unwrap();
    let mut vars = Vars::new(&names);
    vars.set_text(slots[0], ":v");
    vars.set_text(slots[1], "8");
    let mut all = Vec::new();
    run(&script, &mut vars, |command, vars| {
        let Op::Sql(sql) = &command.op else { return };
        let mut out = Vec::new();
        sql.write_simple(vars, &mut out);
        all.push(if simple {
            String::from_utf8(out).unwrap()
        } else {
            String::from_utf8(sql.numbered().unwrap().0).unwrap()
        });
    });
    all
}

#[test]
fn statements_are_those_that_pgbench_sends() {
    let mut wrong = Vec::new();
    for (simple, script, expected) in SENT {
        let ours = sent(*simple, script);
        // Its log cuts newlines off the end.
        let ours: Vec<_> = ours.iter().map(|sql| sql.trim_end_matches('\n')).collect();
        if expected.is_empty() || !ours.starts_with(expected) {
            wrong.push(format!("{script:?}\n  is {ours:?}\n  not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn commands(text: &str) -> Vec<Command> {
    parse("a.sql", text, &mut Names::new()).unwrap().commands
}

#[test]
fn commands_have_the_texts_and_lines_of_reports() {
    let script = "-- tpcb\n\\set aid random(1, 10)\n\n  UPDATE a\n SET b = 1\n;\n\\sleep \\\n 1 ms\r\n\
                  SELECT 1; SELECT 2 \\gset p_\n";
    let all: Vec<_> = commands(script)
        .into_iter()
        .map(|command| (command.line, command.text))
        .collect();
    let expected = [
        (2, "\\set aid random(1, 10)"),
        (4, "UPDATE a"),
        (7, "\\sleep \\\n 1 ms"),
        (9, "SELECT 1;"),
        (9, "SELECT 2 "),
    ];
    let expected: Vec<_> = expected.map(|(line, text)| (line, text.to_owned())).into();
    assert_eq!(all, expected);
}

#[test]
fn texts_of_statements_are_cut_at_127_bytes() {
    let text = |script: String| commands(&script)[0].text.clone();
    assert_eq!(text("x".repeat(127)), "x".repeat(127));
    assert_eq!(text("x".repeat(128)), "x".repeat(127));
    // Not in the middle of a character.
    assert_eq!(text("x".repeat(126) + "é"), "x".repeat(126));
}

#[test]
fn words_of_meta_commands_are_kept_as_written() {
    let words = |script: &str| commands(script)[0].words.clone();
    assert_eq!(words("\\SET x 1"), ["SET", "x"]);
    assert_eq!(
        words("\\shell echo :x\\\n  1\\"),
        ["shell", "echo", ":x", "1\\"]
    );
    assert_eq!(words("SELECT 1"), Vec::<String>::new());
}

#[test]
fn a_gset_belongs_to_the_statement_before_it() {
    let all = commands("SELECT 1 \\gset\nSELECT 2 \\; SELECT 3 \\aset p_\nSELECT 4;");
    let gsets: Vec<_> = all
        .iter()
        .map(|command| match &command.op {
            Op::Sql(sql) => sql.gset.as_ref().map(|gset| (gset.name(), &*gset.prefix)),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(gsets, [Some(("gset", "")), Some(("aset", "p_")), None]);
}

#[test]
fn jumps_lead_to_the_next_elif_past_the_else_or_past_the_endif() {
    let script = "\\if 1\nSELECT 1;\n\\elif 2\n\\if 3\n\\endif\n\\else\nSELECT 2;\n\\endif\n";
    let all = commands(script);
    let jumps: Vec<_> = all
        .iter()
        .map(|command| match command.op {
            Op::If { on_false, .. } => (Some(on_false), None),
            Op::Elif { on_false, end, .. } => (Some(on_false), Some(end)),
            Op::Else { end } => (None, Some(end)),
            _ => (None, None),
        })
        .collect();
    assert_eq!(
        jumps,
        [
            (Some(2), None),
            (None, None),
            (Some(6), Some(8)),
            (Some(5), None),
            (None, None),
            (None, Some(8)),
            (None, None),
            (None, None),
        ]
    );
}

#[test]
fn pieces_name_the_slots_of_the_shared_interner() {
    let mut names = Names::new();
    let first = parse("a.sql", "SELECT :x, :y", &mut names).unwrap();
    let second = parse("b.sql", "\\set y 1\nSELECT :y", &mut names).unwrap();
    let y = names.get("y").unwrap();
    let Op::Sql(sql) = &first.commands[0].op else {
        panic!("not SQL");
    };
    assert_eq!(sql.pieces[3], Piece::Var(y));
    assert!(matches!(second.commands[0].op, Op::Set { slot, .. } if slot == y));
    assert_eq!(first.source, "SELECT :x, :y");
}

#[test]
fn an_expression_of_many_terms_needs_no_deep_stack() {
    let script = format!("\\set x 1{}\nSELECT :x", " + 1".repeat(100_000));
    let deep = format!(
        "\\set x {}1{}\nSELECT :x",
        "1 + (".repeat(190),
        ")".repeat(190)
    );
    assert_eq!(sent(true, &script), ["SELECT 100001"]);
    assert_eq!(sent(true, &deep), ["SELECT 191"]);
}

#[test]
fn a_name_that_no_variable_can_have_fails_when_it_is_assigned() {
    let mut names = Names::new();
    let script = parse("a.sql", "\\set 1x 5\nSELECT :1x;", &mut names).unwrap();
    let mut vars = Vars::new(&names);
    let Op::Set { slot, .. } = script.commands[0].op else {
        panic!("not \\set");
    };
    let error = vars.assign("set", slot, Value::Int(5)).unwrap_err();
    // As pgbench 18.6 says it.
    assert_eq!(error.to_string(), "set: invalid variable name: \"1x\"");
}
