//! What a command that disturbs a trial finds in its environment: where the database is, so that psql
//! and other programs find it without a word.

use pgdyno_database::open::Target;
use pgdyno_model::document::Facts;
use pgdyno_wire::{Addr, Candidate};

/// Names and values (docs/disturb.md): `PGHOST`, `PGPORT`, `PGUSER`, `PGDATABASE` and, where one is
/// known, `PGPASSWORD` of the first endpoint; `PGDYNO_ENDPOINTS`, all of them as `HOST:PORT` with
/// spaces between; `PGDYNO_URL`, the first without its password; `PGDYNO_DATA`, the data directory of
/// a server that says so. On a private server they lead in as its administrator: who has the command run may.
pub fn surroundings(target: &Target, facts: &Facts) -> Vec<(String, String)> {
    let target = target.administration();
    let mut all = Vec::new();
    let mut add = |name: &str, value: String| all.push((name.to_owned(), value));
    let candidates = target.endpoints.iter();
    let candidates = candidates.flat_map(|endpoint| &endpoint.candidates);
    let mut places: Vec<String> = Vec::new();
    for candidate in candidates {
        let (host, port) = place(candidate);
        let place = format!("{host}:{port}");
        if !places.contains(&place) {
            places.push(place);
        }
    }
    add("PGDYNO_ENDPOINTS", places.join(" "));
    let first = target.endpoints.first();
    if let Some(candidate) = first.and_then(|endpoint| endpoint.candidates.first()) {
        let (host, port) = place(candidate);
        let login = &candidate.login;
        let database = login.parameters.iter().find(|(name, _)| name == "database");
        let database = database.map_or_else(|| login.user.clone(), |(_, value)| value.clone());
        // A directory has slashes, which stand in the query's part of a URL.
        let url = if host.starts_with('/') {
            format!("postgresql://{}@:{port}/{database}?host={host}", login.user)
        } else {
            format!("postgresql://{}@{host}:{port}/{database}", login.user)
        };
        add("PGDYNO_URL", url);
        if let Some(password) = &login.password {
            add("PGPASSWORD", password.expose().to_owned());
        }
        add("PGHOST", host);
        add("PGPORT", port.to_string());
        add("PGUSER", login.user.clone());
        add("PGDATABASE", database);
    }
    if let Some(directory) = facts.data_directory.known() {
        add("PGDYNO_DATA", directory.display().to_string());
    }
    all
}

/// Its host, as libpq gets it, and its port.
fn place(candidate: &Candidate) -> (String, u16) {
    match &candidate.addr {
        Addr::Tcp(addr) => (candidate.host.clone(), addr.port()),
        Addr::Unix(path) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let port = name.rsplit('.').next().and_then(|port| port.parse().ok());
            let folder = path.parent().unwrap_or(path);
            (folder.display().to_string(), port.unwrap_or(5432))
        }
    }
}
