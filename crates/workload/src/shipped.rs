//! The packs inside the binary: the folder /workloads as it was when pgdyno was built. They go
//! through the same checks as a user's folder and have no privileges.

use include_dir::{Dir, include_dir};

use super::manifest::ManifestError;
use super::pack::Pack;
use pgdyno_spec::suggest::nearest;

static WORKLOADS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../workloads");

/// The names of all shipped packs, sorted.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = WORKLOADS
        .dirs()
        .filter_map(|d| d.path().file_name()?.to_str())
        .collect();
    names.sort_unstable();
    names
}

/// Whether a shipped pack has this name.
pub fn exists(name: &str) -> bool {
    names().contains(&name)
}

/// What is said of a name that no shipped pack has.
fn unknown(name: &str) -> String {
    if name.starts_with("oltp_") {
        return format!("unknown pack; it is a script of sysbench's: pgdyno sysbench {name} …");
    }
    if let Some(mix) = name.strip_prefix("workload").filter(|mix| mix.len() == 1) {
        return format!(
            "unknown pack; YCSB's workloads are mixes: pgdyno run ycsb --mix {mix}, or with its properties \
             pgdyno ycsb run jdbc -P FILE"
        );
    }
    if name.ends_with(".sql") {
        return format!(
            "unknown pack; a script has no tables of its own to load: pgdyno run {name}; a pack has \
             (pgdyno pack new mine)"
        );
    }
    let meant = match name {
        "bench" | "pgbench" | "default" | "tpcb-like" => Some("tpcb"),
        _ => nearest(name, names()),
    };
    match meant {
        Some(meant) => format!(
            "unknown pack; did you mean {meant}? pgdyno pack list shows all; a folder is named by its \
             path: ./{name}"
        ),
        None => format!(
            "unknown pack; pgdyno pack list shows those that there are; a folder is named by its path: \
             ./{name}"
        ),
    }
}

/// The shipped pack of this name.
pub fn find(name: &str) -> Result<Pack, ManifestError> {
    let Some(dir) = names()
        .contains(&name)
        .then(|| WORKLOADS.get_dir(name))
        .flatten()
    else {
        return Err(ManifestError {
            file: name.to_owned(),
            line: None,
            message: unknown(name),
        });
    };
    let files = dir
        .files()
        .filter_map(|f| {
            let name = f.path().file_name()?.to_str()?;
            Some((name.to_owned(), f.contents_utf8()?.to_owned()))
        })
        .collect();
    Pack::new(name.to_owned(), files, find)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;
    use crate::recipe::Recipe;

    #[test]
    fn every_shipped_pack_is_sound_and_named_like_its_folder() {
        let names = names();
        for want in [
            "bank",
            "insert",
            "insert-size",
            "kv",
            "nobranch",
            "select-only",
            "simple-update",
            "tpcb",
            "update",
        ] {
            assert!(names.contains(&want), "{want} is not shipped");
        }
        for name in names {
            let pack = find(name).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(pack.name(), name);
            let values = Params::values_of(&pack, None).unwrap();
            assert!(!pack.scripts(None, &values).unwrap().is_empty());
            assert!(
                !pack.manifest.description.is_empty(),
                "{name} needs a description"
            );
        }
    }

    #[test]
    fn a_pack_that_uses_another_has_its_tables_and_parameters() {
        let pack = find("select-only").unwrap();
        assert_eq!(pack.tables_pack().name(), "tpcb");
        assert_eq!(pack.tables().len(), 4);
        assert!(pack.param("scale").is_some());
        assert_ne!(pack.content_hash(), find("tpcb").unwrap().content_hash());
    }

    #[test]
    fn ybio_has_its_tablets_on_yugabytedb_and_its_table_by_number() {
        let pack = find("ybio").unwrap();
        let given = [
            "tab_num=12",
            "tab_rows=10500",
            "tab_tablets=4",
            "ind_tablets=3",
        ];
        let given = given.map(str::to_owned);
        let params = Params::parse(&pack, None, &given).unwrap();
        let made = |dialect: &str, params: Params| {
            let values = params.on(&pack, dialect).or_defaults(&pack);
            let recipe = Recipe::new(&pack, dialect, &values).unwrap();
            assert_eq!(recipe.tables[0].name, "bench0012");
            assert_eq!(recipe.tables[0].rows, 10_000);
            let texts = [recipe.schema().unwrap(), recipe.after_load().unwrap()];
            texts.concat().join("\n")
        };
        let yugabytedb = made("yugabytedb", params.clone());
        assert!(yugabytedb.contains("SPLIT INTO 4 TABLETS"), "{yugabytedb}");
        let index = "ON bench0012 (mykey ASC) SPLIT AT VALUES ((3500), (7000))";
        assert!(yugabytedb.contains(index), "{yugabytedb}");
        let postgresql = made("postgresql", params);
        assert!(!postgresql.contains("SPLIT"), "{postgresql}");
    }

    #[test]
    fn slob_has_a_form_for_each_product() {
        let pack = find("slob").unwrap();
        let given = [
            "num_schemas=2",
            "scan_blocks=7",
            "ind_tablets=3",
            "tab_tablets=4",
        ];
        let given = given.map(str::to_owned);
        let params = Params::parse(&pack, None, &given).unwrap();
        let made = |dialect: &str| {
            let values = params.clone().on(&pack, dialect).or_defaults(&pack);
            let recipe = Recipe::new(&pack, dialect, &values).unwrap();
            let tables: Vec<(String, u64)> = recipe
                .tables
                .iter()
                .map(|t| (t.name.clone(), t.rows))
                .collect();
            assert_eq!(
                tables,
                [("slob1", 16_384), ("slob2", 16_384), ("slob_scan", 7)]
                    .map(|(name, rows)| (name.to_owned(), rows))
            );
            let procedures = &pack.manifest.procedures;
            let procedures = pack.made_procedures(procedures, dialect, &values).unwrap();
            assert_eq!(procedures[1].0, "pgdyno_slob2");
            (
                recipe.schema().unwrap().join("\n"),
                recipe.after_load().unwrap().join("\n"),
                procedures[1].1.clone(),
                values["loop"].clone(),
            )
        };
        let (schema, keys, procedure, loop_in) = made("postgresql");
        assert!(schema.contains("slob2 (mykey bigint") && schema.contains("fillfactor = 10"));
        assert!(
            keys.ends_with("CREATE INDEX slob2_mykey ON slob2 (mykey);"),
            "{keys}"
        );
        assert!(procedure.contains("<> 'read committed';") && !procedure.contains("{{"));
        assert!(procedure.contains("FROM slob1 WHERE") && procedure.contains("FROM slob2 WHERE"));
        assert_eq!(loop_in, "server");

        let (schema, keys, procedure, loop_in) = made("yugabytedb");
        assert!(schema.contains("SPLIT INTO 4 TABLETS") && !schema.contains("fillfactor"));
        let ranges = "ON slob2 (mykey ASC) SPLIT AT VALUES ((5462), (10923));";
        assert!(keys.ends_with(ranges), "{keys}");
        assert!(procedure.contains("is_protected CONSTANT boolean := true;"));
        assert_eq!(loop_in, "server");

        let (schema, keys, _, loop_in) = made("cockroachdb");
        assert!(
            schema.contains("INDEX slob2_mykey (mykey)") && keys.is_empty(),
            "{schema}"
        );
        assert_eq!(loop_in, "client");
        let settings = |dialect: &str| {
            let values = params.clone().on(&pack, dialect).or_defaults(&pack);
            pack.session_settings(dialect, &values).unwrap()
        };
        let on = settings("postgresql");
        assert_eq!(on["plan_cache_mode"], "force_generic_plan");
        assert_eq!(on.len(), 4);
        for elsewhere in ["cockroachdb", "yugabytedb"] {
            assert!(settings(elsewhere).is_empty(), "{elsewhere}");
        }
        let planner = Params::parse(&pack, None, &["plan=planner".to_owned()]).unwrap();
        let planner = pack.session_settings("postgresql", &planner.or_defaults(&pack));
        assert!(planner.unwrap().is_empty());
    }

    #[test]
    fn kv_and_bank_are_cockroachs_tables_and_statements_for_each_product() {
        let made = |name: &str, dialect: &str, given: &[&str]| {
            let pack = find(name).unwrap();
            let given: Vec<String> = given.iter().map(|g| (*g).to_owned()).collect();
            let params = Params::parse(&pack, None, &given).unwrap();
            let values = params.on(&pack, dialect).or_defaults(&pack);
            let recipe = Recipe::new(&pack, dialect, &values).unwrap();
            let scripts = pack.scripts(None, &values).unwrap();
            let texts = scripts.iter().map(|script| script.text.clone());
            (
                recipe.schema().unwrap().join("\n"),
                recipe.after_load().unwrap().join("\n"),
                texts.collect::<Vec<_>>().join("\n"),
            )
        };
        let (schema, keys, writes) = made("kv", "postgresql", &["secondary_index=true", "batch=2"]);
        assert_eq!(
            schema,
            "CREATE TABLE kv (k bigint NOT NULL, v bytea NOT NULL);"
        );
        assert!(keys.ends_with("CREATE INDEX kv_v_idx ON kv (v);"), "{keys}");
        let insert =
            "INSERT INTO kv (k, v) VALUES (:k0, :v0), (:k1, :v1) ON CONFLICT (k) DO UPDATE";
        assert!(
            writes.contains(insert) && !writes.contains("UPSERT"),
            "{writes}"
        );
        let (schema, keys, writes) = made(
            "kv",
            "cockroachdb",
            &["secondary_index=true", "splits=3", "keys=sequential"],
        );
        assert!(schema.contains("INDEX (v)") && keys.is_empty(), "{schema}");
        let at = "ALTER TABLE kv SPLIT AT VALUES (-4611686018427387905);";
        assert!(schema.contains(at), "{schema}");
        assert!(writes.contains("UPSERT INTO kv (k, v) VALUES (:k0, :v0);"));
        let (schema, ..) = made("bank", "cockroachdb", &["rows=20", "ranges=4"]);
        assert_eq!(
            schema.matches("SPLIT AT VALUES").count(),
            3,
            "one less than ranges"
        );
        assert!(schema.contains("FAMILY (id, balance, payload)"));
        assert!(schema.contains("SPLIT AT VALUES (15)"), "{schema}");
        let (schema, keys, transfer) = made("bank", "postgresql", &["tables=2"]);
        assert!(schema.contains("CREATE TABLE bank_1 (id bigint NOT NULL"));
        assert!(keys.contains("ALTER TABLE bank_0 ADD PRIMARY KEY (id);"));
        assert!(
            transfer.contains("UPDATE bank_1 SET balance = CASE id"),
            "{transfer}"
        );
        // Without names and in this order the server names them as those of `cockroach workload init`:
        // fam_0_ycsb_key, fam_1_field0 … (measured on 19.1: SHOW CREATE TABLE has the same text).
        let (schema, ..) = made("ycsb", "cockroachdb", &["families=true", "fieldcount=2"]);
        let families = ", FAMILY (ycsb_key), FAMILY (field0), FAMILY (field1))";
        assert!(schema.contains(families), "{schema}");
    }

    #[test]
    fn an_unknown_name_lists_the_packs() {
        let e = find("tbcp").unwrap_err().to_string();
        assert!(e.contains("tpcb") && e.contains("./tbcp"), "{e}");
    }
}
