//! Which scripts of a trial go to which endpoints, and whether they can: a script that writes has nothing to
//! do on a standby.

use std::collections::BTreeSet;

use pgdyno_database::dialect::Product;
use pgdyno_database::open::Target;
use pgdyno_database::{admin, cluster, reach, trouble};
use pgdyno_drive::Script;
use pgdyno_model::Fact;
use pgdyno_model::document::Reached;
use pgdyno_spec::{EndpointRole, Exit, Failure, TrialSpec, roles::STANDBY};
use pgdyno_workload::mix::WeightedScript;
use pgdyno_workload::resolve::Workload;
use pgdyno_workload::sql_words;

/// The name of the role that a private standby has where staleness is asked for, and nothing else is said.
const READS: &str = "reads";

/// Why an endpoint with a role answers no query, with the way out.
fn refused(error: &pgdyno_session::Error, text: &str, asked: &TrialSpec) -> Failure {
    let failure = trouble::server(error, text);
    match asked.isolation {
        None => failure,
        Some(level) => failure.hint(format!(
            "it was asked for {}; another level: --isolation repeatable-read",
            level.name()
        )),
    }
}

/// The target with the roles that the trial asks for. Where it measures staleness on a private pair, the
/// standby has one without being asked.
///
/// # Errors
/// As [`Target::with_roles`]; staleness without an endpoint to read from.
pub fn given(target: Target, asked: &TrialSpec) -> Result<Target, Failure> {
    let roles = asked.roles.endpoints();
    if !roles.is_empty() && asked.errors.new_nodes {
        let text =
            "--endpoint-role: endpoints with roles do not go with nodes that join (--new-nodes)";
        return Err(Failure::with(Exit::Usage, text));
    }
    if !roles.is_empty() || asked.roles.staleness.is_none() {
        return target.with_roles(roles);
    }
    if target.pair().is_none() {
        let text = "--staleness: no endpoint has a role to read in";
        return Err(Failure::with(Exit::Usage, text).hint(
            "say which: --endpoint-role reads=HOST, or start a private pair: --pg-standby async",
        ));
    }
    target.with_roles(&[EndpointRole {
        role: READS.to_owned(),
        hosts: vec![STANDBY.to_owned()],
    }])
}

/// The role of a script in this trial: by the command line, or by its pack where an endpoint has it.
fn of<'a>(asked: &'a TrialSpec, target: &Target, script: &'a WeightedScript) -> Option<&'a str> {
    let by_pack = || {
        let role = script.role.as_deref()?;
        target
            .roles
            .iter()
            .any(|known| known.name == role)
            .then_some(role)
    };
    asked.roles.of_script(&script.name).or_else(by_pack)
}

/// Tells the engine where each script goes.
pub fn assign(
    asked: &TrialSpec,
    target: &Target,
    texts: &[WeightedScript],
    scripts: &mut [Script],
) {
    for (script, text) in scripts.iter_mut().zip(texts) {
        let role = of(asked, target, text);
        let known = target
            .roles
            .iter()
            .position(|known| Some(known.name.as_str()) == role);
        script.role = known.map_or(0, |number| number + 1);
    }
}

/// The isolation level in effect everywhere: that at the endpoints without a role, if it is the same at those
/// with one, each by its name.
pub fn one_level<'a>(
    elsewhere: Fact<String>,
    with_roles: impl IntoIterator<Item = (&'a str, &'a Fact<String>)>,
) -> Fact<String> {
    let Fact::Known(level) = &elsewhere else {
        return elsewhere;
    };
    for (name, other) in with_roles {
        match other {
            Fact::Known(other) if other == level => {}
            Fact::Known(other) => {
                let why = format!("transactions run at {other} at {name}, elsewhere at {level}");
                return Fact::Unknown(why);
            }
            Fact::Unknown(why) => return Fact::Unknown(format!("{name}: {why}")),
        }
    }
    elsewhere
}

/// Statements that begin a transaction as those of these scripts begin, each once.
///
/// # Errors
/// They set the isolation level in a way that only running them would tell.
pub fn begins_of<'a>(
    scripts: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<String>, &'static str> {
    let begins: Option<Vec<BTreeSet<String>>> =
        scripts.into_iter().map(sql_words::begins).collect();
    let begins = begins
        .ok_or("the scripts set the level themselves, in a way that cannot be read off them")?;
    let begins: BTreeSet<String> = begins.into_iter().flatten().collect();
    Ok(begins.into_iter().collect())
}

/// Connects once to each endpoint that has a role, and looks whether its scripts can run there.
///
/// Which endpoints were met, and which isolation level is in effect at each.
///
/// # Errors
/// An endpoint that cannot be reached or answers no query, a script that writes on a standby, a script or role
/// without its counterpart.
pub fn check(
    asked: &TrialSpec,
    target: &Target,
    product: &Product,
    workload: &Workload,
) -> Result<Vec<(Reached, Fact<String>)>, Failure> {
    let usage = |text: String| Failure::with(Exit::Usage, text);
    let scripts = &workload.scripts;
    for (name, _) in asked.roles.script_role.iter().flat_map(|roles| &roles.0) {
        if !scripts.iter().any(|script| script.name == *name) {
            let known: Vec<&str> = scripts.iter().map(|script| &*script.name).collect();
            let text = format!("--script-role: there is no script {name}");
            return Err(usage(text).hint(format!("there are: {}", known.join(", "))));
        }
    }
    let mut drawn = scripts.iter().filter(|script| script.weight > 0);
    if let Some(script) = drawn.find(|script| asked.receipts && of(asked, target, script).is_some())
    {
        let text = format!(
            "{} has a role, and would write a receipt where it reads",
            script.name
        );
        return Err(usage(text).hint("leave --receipts out; in a laboratory: --no-receipts"));
    }
    if asked.roles.client_stamps {
        let drawn = || scripts.iter().filter(|script| script.weight > 0);
        let stamps = drawn().any(|script| sql_words::writes(&script.text));
        let mut reads = drawn().filter(|script| !sql_words::writes(&script.text));
        if !stamps || !reads.any(|script| of(asked, target, script).is_some()) {
            let text = "--client-stamps: a client's session is judged where it writes and reads what it wrote at \
                        an endpoint of a role";
            return Err(usage(text.to_owned())
                .hint("run a script that writes, and one that reads with a role: --script-role SCRIPT=ROLE"));
        }
    }
    let mut all = Vec::new();
    for role in &target.roles {
        let drawn = scripts.iter().filter(|script| script.weight > 0);
        let mut own = drawn.filter(|script| of(asked, target, script) == Some(role.name.as_str()));
        let writer = own.clone().find(|script| sql_words::writes(&script.text));
        let begins = own.clone().map(|script| script.text.as_str());
        let begins = begins_of(begins);
        if own.next().is_none() && asked.roles.staleness.is_none() {
            let text = format!(
                "the role {} has endpoints, and no script goes there",
                role.name
            );
            return Err(usage(text)
                .hint(format!(
                    "say which does: --script-role SCRIPT={}",
                    role.name
                ))
                .hint("--staleness 5ms measures how stale reads are there"));
        }
        for endpoint in &role.endpoints {
            let mut session = endpoint.connect().map_err(|e| {
                let text = format!("{} has the role {}", endpoint.name, role.name);
                trouble::connect(&e, target.kind).detail(text)
            })?;
            let name = session.candidate().place();
            // A hot standby refuses every query of a session that is to be serializable.
            if let Err(e) = admin::run(&mut session, "SELECT 1") {
                let text = format!("{name} has the role {} and answers no query", role.name);
                return Err(refused(&e, &text, asked));
            }
            let reached = reach::by(&mut session, product, &name);
            let isolation = match &begins {
                Ok(begins) => cluster::isolation(&mut session, product.dialect, begins),
                Err(why) => Fact::Unknown((*why).to_owned()),
            };
            session.close();
            if let Some(writer) = writer.filter(|_| reached.is_standby == Some(true)) {
                let text = format!(
                    "{} writes, and has the role {}: {name} is a standby, which takes no writes",
                    writer.name, role.name
                );
                return Err(usage(text).hint("leave the script without a role"));
            }
            all.push((reached, isolation));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_only_known_if_it_is_the_same_wherever_transactions_run() {
        let known = |level: &str| Fact::Known(level.to_owned());
        let (same, other) = (known("read committed"), known("repeatable read"));
        let of = |other: &Fact<String>| one_level(known("read committed"), [("db2", other)]);
        assert_eq!(of(&same), same);
        let Fact::Unknown(why) = of(&other) else {
            panic!("two levels")
        };
        assert!(
            why.contains("repeatable read at db2, elsewhere at read committed"),
            "{why}"
        );
        let refused = Fact::Unknown("refused".to_owned());
        assert_eq!(of(&refused), Fact::Unknown("db2: refused".to_owned()));
    }

    #[test]
    fn a_script_that_sets_the_level_by_the_name_of_a_setting_is_not_guessed_at() {
        assert_eq!(
            begins_of(["BEGIN; SELECT 1; END;"]),
            Ok(vec!["BEGIN".to_owned()])
        );
        let set = "SELECT set_config('default_transaction_isolation', 'read committed', false);";
        assert!(begins_of([set]).is_err());
    }
}
