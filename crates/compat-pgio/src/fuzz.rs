//! For fuzz/targets: what must hold of any bytes where only this crate can look.

use pgdyno_session::{Env, Given, resolve};

use crate::assignments;
use crate::conf::Conf;

/// A pgio.conf. Its assignments, written with quotes, read back the same; its numbers stay within
/// their bounds; what it says of the server is taken or refused.
pub fn conf(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let environment = |name: &str| (name == "HOME").then(|| "/home/me".to_owned());
    if let Ok(read) = assignments::read(&text, &environment) {
        let mut printed = String::new();
        for assignment in &read {
            let quoted = assignment.value.replace('\'', "'\\''");
            printed += &format!("{}='{quoted}'\n", assignment.name);
        }
        let again = assignments::read(&printed, &environment);
        let again = again.unwrap_or_else(|e| panic!("{text:?} is printed as {printed:?}: {e}"));
        let pairs = |all: &[assignments::Assignment]| {
            let all = all.iter();
            all.map(|one| (one.name.clone(), one.value.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(pairs(&again), pairs(&read), "{text:?}");
    }
    let Ok((conf, _)) = Conf::read("pgio.conf", &text, &environment) else {
        return;
    };
    assert!(conf.tables > 0 && conf.threads > 0 && conf.sessions() <= 100_000);
    assert!(conf.work_unit < conf.scale.blocks && conf.update_work_unit < conf.scale.blocks);
    if let Ok(target) = conf.target()
        && !target.contains("passfile")
    {
        let _ = resolve(&Given::target(target), &Env::empty().with_os_user("me"));
    }
}
