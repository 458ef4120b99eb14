//! The commands of a script that only compute, in the form in which a client executes them between two
//! statements: `\set` and `\if` whose expressions have one of the frequent forms. Whatever else there is, and
//! what a form declines, is executed command by command from [`crate::Op`].

use crate::conditions::leads_to_elif;
use crate::expr::quick::{Quick, Truth};
use crate::{Command, Draws, Op, Prng, Slot, Value, Vars};

/// What can be computed of a script; its commands have the script's numbers.
#[derive(Debug, Clone)]
pub struct Computing {
    /// By command: what begins with it.
    begins: Box<[Begins]>,
    sets: Box<[Set]>,
    /// By command: where all others lead.
    jumps: Box<[Jump]>,
}

/// What begins with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begins {
    /// Nothing that is executed here.
    Nothing,
    /// Draws between constants, with which many scripts begin.
    Draws,
    Forms,
}

/// What a command sets, if it is a `\set` with a form.
#[derive(Debug, Clone)]
struct Set {
    slot: Slot,
    quick: Quick,
}

/// Where a command that sets nothing leads.
#[derive(Debug, Clone, PartialEq)]
enum Jump {
    /// Nowhere: it is to be executed from its [`Op`].
    None,
    /// An `\if` with all of its `\elif`s: the first condition that holds says where.
    Branch {
        conditions: Box<[(Truth, usize)]>,
        otherwise: usize,
    },
    /// The end of a branch.
    To(usize),
}

impl Computing {
    pub fn of(commands: &[Command]) -> Self {
        let leads = leads_to_elif(commands);
        let set = |command: &Command| match &command.op {
            Op::Set { slot, expr } => Set {
                slot: *slot,
                quick: expr.quick(),
            },
            _ => Set {
                slot: Slot(0),
                quick: Quick::None,
            },
        };
        let sets: Box<[_]> = commands.iter().map(set).collect();
        let jump = |number| jump(commands, number, &leads).unwrap_or(Jump::None);
        let jumps: Box<[_]> = (0..commands.len()).map(jump).collect();
        let both = sets.iter().zip(&jumps);
        let begins = both.map(|(set, jump)| match (&set.quick, jump) {
            (Quick::None, Jump::None) => Begins::Nothing,
            (Quick::Between(..), _) => Begins::Draws,
            _ => Begins::Forms,
        });
        Self {
            begins: begins.collect(),
            sets,
            jumps,
        }
    }

    /// Whether a command may be executed here.
    #[inline]
    pub fn may_begin(&self, command: usize) -> bool {
        !matches!(self.begins.get(command), None | Some(Begins::Nothing))
    }

    /// Executes a `\set`; false if it is none, or declines, and nothing has happened.
    pub fn set(&self, command: usize, vars: &mut Vars, prng: &mut Prng, draws: &mut Draws) -> bool {
        let set = self.sets.get(command);
        set.and_then(|set| set.quick.set(set.slot, vars, prng, draws))
            .is_some()
    }

    /// Executes commands from this one on; says which is the first that is left. Nothing has happened of
    /// that one.
    #[inline]
    pub fn run(&self, from: usize, vars: &mut Vars, prng: &mut Prng, draws: &mut Draws) -> usize {
        let at = match self.begins.get(from) {
            Some(Begins::Draws) => self.draw(from, vars, prng),
            _ => from,
        };
        if self.may_begin(at) {
            self.run_all(at, vars, prng, draws)
        } else {
            at
        }
    }

    /// The same of draws between constants.
    #[inline(never)]
    fn draw(&self, from: usize, vars: &mut Vars, prng: &mut Prng) -> usize {
        let mut at = from;
        while let Some(Set {
            slot,
            quick: Quick::Between(low, high),
            ..
        }) = self.sets.get(at)
            && let Some(variable) = vars.to_be_set(*slot)
            && let Some(number) = prng.range_of_integers(*low, *high)
        {
            variable.set(Value::Int(number));
            at += 1;
        }
        at
    }

    /// The same of all forms. Apart: it has much to save on the stack.
    #[inline(never)]
    fn run_all(&self, from: usize, vars: &mut Vars, prng: &mut Prng, draws: &mut Draws) -> usize {
        let mut at = from;
        // Jumps lead forward only: this ends.
        loop {
            while let Some(set) = self.sets.get(at)
                && let Some(()) = set.quick.set(set.slot, vars, prng, draws)
            {
                at += 1;
            }
            let next = match self.jumps.get(at) {
                None | Some(Jump::None) => None,
                Some(Jump::To(next)) => Some(*next),
                Some(Jump::Branch {
                    conditions,
                    otherwise,
                }) => choose(conditions, *otherwise, vars),
            };
            match next {
                Some(next) => at = next,
                None => return at,
            }
        }
    }
}

#[inline]
fn choose(conditions: &[(Truth, usize)], otherwise: usize, vars: &Vars) -> Option<usize> {
    for (condition, next) in conditions {
        if condition.evaluate(vars)? {
            return Some(*next);
        }
    }
    Some(otherwise)
}

/// Where a command leads; `leads`: of [`leads_to_elif`].
fn jump(commands: &[Command], number: usize, leads: &[bool]) -> Option<Jump> {
    match &commands[number].op {
        Op::If { .. } => branch(commands, number, leads),
        // Not as a condition: a branch that was taken ends with it.
        Op::Elif { end, .. } | Op::Else { end } => Some(Jump::To(*end)),
        Op::EndIf => Some(Jump::To(number + 1)),
        _ => None,
    }
}

fn branch(commands: &[Command], number: usize, leads: &[bool]) -> Option<Jump> {
    let (mut conditions, mut at) = (Vec::new(), number);
    loop {
        let (Op::If { cond, on_false } | Op::Elif { cond, on_false, .. }) = &commands[at].op else {
            return None;
        };
        conditions.push((cond.quick().condition()?, at + 1));
        if !leads[at] {
            return Some(Jump::Branch {
                conditions: conditions.into(),
                otherwise: *on_false,
            });
        }
        at = *on_false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counters, Language, Names, Script};

    /// Writes commands that set x, in branches of branches.
    fn write(prng: &mut Prng, depth: u32, out: &mut String) {
        for _ in 0..prng.range(0, 3) {
            // What has no form is among them, and what declines.
            let number = prng.range(1, 9);
            match prng.range(0, 9) {
                0 => *out += "\\set x :x / 0.5\n",
                1 => *out += "SELECT :x;\n",
                _ => *out += &format!("\\set x (:x * 7 + {number}) % 1009\n"),
            }
            if depth == 0 {
                continue;
            }
            let condition = |prng: &mut Prng| match prng.range(0, 5) {
                0 => ":x is null".to_owned(),
                1 => ":x".to_owned(),
                _ => format!(":x % {} < 2", prng.range(2, 6)),
            };
            *out += &format!("\\if {}\n", condition(prng));
            write(prng, depth - 1, out);
            for _ in 0..prng.range(0, 2) {
                *out += &format!("\\elif {}\n", condition(prng));
                write(prng, depth - 1, out);
            }
            if prng.range(0, 1) == 0 {
                *out += "\\else\n";
                write(prng, depth - 1, out);
            }
            *out += "\\endif\n";
        }
    }

    /// One client, and which commands it has executed one by one.
    struct Client {
        vars: Vars,
        prng: Prng,
        draws: Draws,
        trace: Vec<(usize, String)>,
    }

    impl Client {
        fn x(&self, x: Slot) -> String {
            format!("{:?}", self.vars.value(x))
        }

        /// Executes a script as its description says; with `computing` first what that can do.
        fn run(&mut self, script: &Script, x: Slot, computing: Option<&Computing>) {
            let leads = leads_to_elif(&script.commands);
            let mut at = 0;
            loop {
                let Client {
                    vars, prng, draws, ..
                } = self;
                if let Some(computing) = computing.filter(|computing| computing.may_begin(at)) {
                    at = computing.run(at, vars, prng, draws);
                }
                let Some(command) = script.commands.get(at) else {
                    break;
                };
                let mut eval = |expr: &crate::Expr, vars: &mut Vars| {
                    expr.eval(vars, prng, draws, &mut |_| {}).unwrap()
                };
                match &command.op {
                    Op::Set { slot, expr } => {
                        let value = eval(expr, vars);
                        vars.set(*slot, value);
                        at += 1;
                    }
                    Op::If { .. } => loop {
                        let (Op::If { cond, on_false } | Op::Elif { cond, on_false, .. }) =
                            &script.commands[at].op
                        else {
                            panic!("no condition at {at}");
                        };
                        if eval(cond, vars).is_true() {
                            at += 1;
                            break;
                        }
                        let is_over = !leads[at];
                        at = *on_false;
                        if is_over {
                            break;
                        }
                    },
                    Op::Elif { end, .. } | Op::Else { end } => at = *end,
                    Op::EndIf => at += 1,
                    _ => {
                        let x = self.x(x);
                        self.trace.push((at, x));
                        at += 1;
                    }
                }
            }
            let x = self.x(x);
            self.trace.push((at, x));
        }
    }

    #[test]
    fn branches_lead_where_those_of_the_commands_do() {
        let mut writer = Prng::seed(20_261_127);
        let mut computed = 0;
        for case in 0..2000 {
            let mut text = String::from("SELECT :x;\n");
            write(&mut writer, 3, &mut text);
            let mut names = Names::new();
            let script = Language::Pgdyno.parse("s", &text, &mut names);
            let script = script.expect(&text);
            let x = names.intern("x");
            let mut clients = [(); 2].map(|()| Client {
                vars: Vars::new(&names),
                prng: Prng::seed(1),
                draws: Draws::new(Counters::new(&names)),
                trace: Vec::new(),
            });
            for client in &mut clients {
                client.vars.set(x, Value::Int(case));
            }
            let computing = Computing::of(&script.commands);
            let begin = (0..script.commands.len()).filter(|at| computing.may_begin(*at));
            computed += begin.count();
            let [by_commands, by_forms] = &mut clients;
            by_commands.run(&script, x, None);
            by_forms.run(&script, x, Some(&computing));
            assert_eq!(by_commands.trace, by_forms.trace, "{text}");
        }
        assert!(computed > 10_000, "{computed} commands can be computed");
    }

    #[test]
    fn what_cannot_be_computed_is_left_with_nothing_done() {
        let text = "\\set x 1\n\\set y random(1, 1000000)\n\\set x :t + 1\n\\if :t\n\\endif\n";
        let mut names = Names::new();
        let script = Language::Pgdyno.parse("s", text, &mut names).unwrap();
        let computing = Computing::of(&script.commands);
        let [x, y, t] = ["x", "y", "t"].map(|name| names.intern(name));
        let (mut vars, mut prng) = (Vars::new(&names), Prng::seed(1));
        let mut draws = Draws::new(Counters::new(&names));
        let before = prng.clone();
        // A variable that has no value may have a name that cannot be set.
        assert_eq!(computing.run(0, &mut vars, &mut prng, &mut draws), 0);
        assert_eq!(computing.run(1, &mut vars, &mut prng, &mut draws), 1);
        assert!(!computing.set(1, &mut vars, &mut prng, &mut draws));
        assert_eq!(prng, before);
        vars.set(x, Value::Int(0));
        vars.set(y, Value::Int(0));
        assert!(computing.set(1, &mut vars, &mut prng, &mut draws));
        assert_ne!(prng, before);
        vars.set_text(t, "no number");
        assert_eq!(computing.run(0, &mut vars, &mut prng, &mut draws), 2);
        assert_eq!(computing.run(3, &mut vars, &mut prng, &mut draws), 3);
        vars.set(t, Value::Int(1));
        assert_eq!(computing.run(0, &mut vars, &mut prng, &mut draws), 5);
        assert_eq!(vars.value(x), Ok(Value::Int(2)));
        // Behind the last one there is nothing.
        assert!(!computing.may_begin(5));
        assert_eq!(computing.run(5, &mut vars, &mut prng, &mut draws), 5);
        assert!(!computing.set(5, &mut vars, &mut prng, &mut draws));
    }
}
