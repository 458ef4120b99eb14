//! The server's configuration file, written by pgdyno again at each start.
//!
//! It begins with what initdb wrote and differs from PostgreSQL's defaults in as little as
//! possible; nothing in it touches durability: fsync, synchronous_commit and full_page_writes
//! stay on unless the user sets them.

use std::path::Path;

use crate::address::Address;
use crate::setting::{Setting, line};

/// Where pgdyno's server differs from PostgreSQL's own defaults, each with its reason.
const DEFAULTS: [(&str, &str); 3] = [
    // 100 would refuse the client counts that people measure with. Costs a little shared memory.
    ("max_connections", "1000"),
    // Workloads run as a role that is no superuser (crate `database`): as many clients as connections.
    ("superuser_reserved_connections", "0"),
    // So that a list of processes tells whose server it is.
    ("cluster_name", "pgdyno"),
];

/// The text of the file: initdb's settings, pgdyno's own, then the user's, which win.
pub(crate) fn text(data_dir: &Path, address: &Address, settings: &[Setting]) -> String {
    let mut text = String::from("# Written by pgdyno at each start of the server.\n");
    // `include` takes no equals sign, but a value is quoted as any other.
    let initdbs = data_dir.join("postgresql.conf");
    text.push_str(&line("include", &initdbs.to_string_lossy()).replacen(" = ", " ", 1));
    let listen_addresses = if address.loopback { "127.0.0.1" } else { "" };
    text.push_str(&line("listen_addresses", listen_addresses));
    text.push_str(&line("port", &address.port.to_string()));
    // A list of directories, in which double quotes keep commas and spaces together.
    let socket_dir = address.socket_dir.to_string_lossy().replace('"', "\"\"");
    text.push_str(&line(
        "unix_socket_directories",
        &format!("\"{socket_dir}\""),
    ));
    for (name, value) in DEFAULTS {
        text.push_str(&line(name, value));
    }
    for setting in settings {
        text.push_str(&setting.line());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_settings_come_last_and_win() {
        let address = Address {
            socket_dir: "/s, \"t\"".into(),
            port: 5432,
            loopback: false,
        };
        let settings = ["max_connections=7".parse().expect("valid")];
        let text = text(Path::new("/d'/data"), &address, &settings);
        assert!(
            text.contains("include '/d''/data/postgresql.conf'\n"),
            "{text}"
        );
        assert!(text.contains("listen_addresses = ''\n"), "{text}");
        assert!(
            text.contains("unix_socket_directories = '\"/s, \"\"t\"\"\"'\n"),
            "{text}"
        );
        assert!(text.ends_with("max_connections = '7'\n"), "{text}");
    }

    #[test]
    fn no_default_touches_durability() {
        for (name, _) in DEFAULTS {
            assert!(
                ![
                    "fsync",
                    "synchronous_commit",
                    "full_page_writes",
                    "wal_level"
                ]
                .contains(&name)
            );
        }
    }
}
