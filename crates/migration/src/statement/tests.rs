use super::*;
use crate::forms::Form;

fn read_of(text: &str) -> Vec<Action> {
    actions(text, 18, &mut |_, _| None, &mut Proofs::default())
}

/// `table:orders` for each relation.
fn locks(actions: &[Action]) -> Vec<String> {
    let all = actions.iter().flat_map(|action| &action.locks);
    all.map(|lock| format!("{}:{}", lock.role.words(), lock.name))
        .collect()
}

#[test]
fn each_statement_is_its_form_on_its_relations() {
    let cases: &[(&str, &[&Form], &[&str])] = &[
        (
            "alter table only s.\"T\" add column if not exists a int default 5",
            &[&forms::ADD_COLUMN],
            &["table:s.\"T\""],
        ),
        // As goose sends them.
        (
            "ALTER TABLE t ADD a int; ALTER TABLE u ALTER a DROP DEFAULT;",
            &[&forms::ADD_COLUMN, &forms::SET_DEFAULT],
            &["table:t", "table:u"],
        ),
        (
            "ALTER TABLE t ADD a timestamptz NOT NULL DEFAULT now()",
            &[&forms::ADD_COLUMN],
            &["table:t"],
        ),
        (
            "ALTER TABLE t ADD a uuid DEFAULT gen_random_uuid()",
            &[&forms::ADD_COLUMN_REWRITE],
            &["table:t"],
        ),
        (
            "ALTER TABLE t ADD a numeric(5, 2) DEFAULT 1::numeric(5, 2)",
            &[&forms::ADD_COLUMN],
            &["table:t"],
        ),
        (
            "ALTER TABLE t ADD a int DEFAULT mine(1)",
            &[&forms::ADD_COLUMN_DEFAULT_UNKNOWN],
            &["table:t"],
        ),
        (
            "ALTER TABLE t ADD id bigserial",
            &[&forms::ADD_COLUMN_REWRITE],
            &["table:t"],
        ),
        (
            "ALTER TABLE t ADD a int GENERATED ALWAYS AS (b + 1) STORED",
            &[&forms::ADD_COLUMN_REWRITE],
            &["table:t"],
        ),
        (
            "ALTER TABLE t ADD a int GENERATED ALWAYS AS (b + 1)",
            &[&forms::ADD_COLUMN_VIRTUAL],
            &["table:t"],
        ),
        (
            "ALTER TABLE t ADD r_id int REFERENCES r (id) ON DELETE CASCADE, DROP COLUMN b",
            &[
                &forms::ADD_COLUMN,
                &forms::ADD_COLUMN_REFERENCES,
                &forms::DROP_COLUMN,
            ],
            &["table:t", "table:t", "referenced table:r", "table:t"],
        ),
        (
            "ALTER TABLE t ALTER a TYPE bigint USING a * 2",
            &[&forms::SET_TYPE_REWRITE],
            &["table:t"],
        ),
        (
            "ALTER TABLE t ALTER a SET DATA TYPE bigint USING a::bigint",
            &[&forms::SET_TYPE],
            &["table:t"],
        ),
        (
            "ALTER TABLE t SET (fillfactor = 90, user_catalog_table = true)",
            &[&forms::SET_CATALOG_PARAMETER],
            &["table:t"],
        ),
        (
            "ALTER TABLE p ATTACH PARTITION q FOR VALUES FROM (1) TO (2)",
            &[&forms::ATTACH],
            &["parent:p", "partition:q"],
        ),
        (
            "CREATE INDEX ON ONLY s.t (a)",
            &[&forms::CREATE_INDEX],
            &["table:s.t"],
        ),
        (
            "CREATE TABLE t (a int REFERENCES t, b int REFERENCES \"R\" (x), CHECK (a > 0))",
            &[&forms::CREATE_TABLE, &forms::CREATE_TABLE_REFERENCES],
            &["referenced table:\"R\""],
        ),
        (
            "CREATE TEMP TABLE a AS SELECT * FROM b JOIN c USING (x), generate_series(1, 2)",
            &[&forms::CREATE_TABLE, &forms::CREATE_TABLE_AS],
            &["table that is read:b", "table that is read:c"],
        ),
        (
            "CREATE TABLE a (LIKE b INCLUDING ALL) INHERITS (c, d)",
            &[
                &forms::CREATE_TABLE,
                &forms::CREATE_TABLE_INHERITS,
                &forms::CREATE_TABLE_INHERITS,
                &forms::CREATE_TABLE_LIKE,
            ],
            &["parent:c", "parent:d", "table that is read:b"],
        ),
        (
            "TRUNCATE a, ONLY b CASCADE",
            &[&forms::TRUNCATE, &forms::TRUNCATE],
            &["table:a", "table:b"],
        ),
        (
            "VACUUM (FULL, ANALYZE) a (x), b",
            &[&forms::VACUUM_FULL, &forms::VACUUM_FULL],
            &["table:a", "table:b"],
        ),
        ("VACUUM", &[&forms::VACUUM], &[]),
        (
            "DROP TRIGGER IF EXISTS x ON a",
            &[&forms::DROP_TRIGGER],
            &["table:a"],
        ),
        (
            "COMMENT ON COLUMN s.t.a IS 'b'",
            &[&forms::COMMENT],
            &["table:s.t"],
        ),
        (
            "WITH x AS (DELETE FROM a RETURNING *) INSERT INTO b SELECT * FROM x",
            &[&forms::READS, &forms::WRITES, &forms::WRITES],
            &["table that is read:a", "table:b", "table:a"],
        ),
        (
            "SELECT extract(epoch FROM b) FROM a WHERE c IS DISTINCT FROM d FOR UPDATE",
            &[&forms::READS_TO_LOCK],
            &["table that is read:a"],
        ),
        ("SET lock_timeout = '1s'", &[&forms::SESSION], &[]),
        (
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 FROM a $$",
            &[&forms::NO_TABLE],
            &[],
        ),
    ];
    for (text, want, on) in cases {
        let found = read_of(text);
        let names: Vec<_> = found
            .iter()
            .map(|it| it.form.map(|form| form.name))
            .collect();
        let want: Vec<_> = want.iter().map(|form| Some(form.name)).collect();
        assert_eq!(
            (names, locks(&found)),
            (want, on.iter().map(|on| (*on).to_owned()).collect()),
            "{text}"
        );
    }
}

#[test]
fn what_the_table_does_not_have_is_not_known() {
    for text in [
        "DO $$ BEGIN EXECUTE 'DROP TABLE a'; END $$",
        "CALL p()",
        "DROP SCHEMA s CASCADE",
        "DROP TYPE e CASCADE",
        "ALTER TABLE t FROBNICATE",
        "ALTER TABLE",
        "ALTER TABLE ALL IN TABLESPACE a SET TABLESPACE b",
        "CREATE EXTENSION postgis",
        "ALTER TYPE c ADD ATTRIBUTE a int",
        "REINDEX SCHEMA s",
        "LOCK TABLE t IN NO MODE",
        "(SELECT 1)",
    ] {
        assert!(
            read_of(text).iter().any(|action| action.form.is_none()),
            "{text}"
        );
    }
}

#[test]
fn a_known_old_type_and_a_valid_check_decide() {
    let mut proofs = Proofs::default();
    let mut of = |text: &str| {
        let mut known = |_: &str, _: &str| Some("character varying(10)".to_owned());
        actions(text, 18, &mut known, &mut proofs)
            .remove(0)
            .form
            .unwrap()
            .name
    };
    assert_eq!(
        of("ALTER TABLE t ALTER a TYPE varchar(20)"),
        forms::SET_TYPE_COERCIBLE.name
    );
    assert_eq!(
        of("ALTER TABLE t ALTER a TYPE int USING a::int"),
        forms::SET_TYPE_REWRITE.name
    );
    of("ALTER TABLE t ADD CONSTRAINT c CHECK (a IS NOT NULL) NOT VALID");
    assert_eq!(
        of("ALTER TABLE t ALTER a SET NOT NULL"),
        forms::SET_NOT_NULL.name
    );
    of("ALTER TABLE T VALIDATE CONSTRAINT C");
    assert_eq!(
        of("ALTER TABLE t ALTER a SET NOT NULL"),
        forms::SET_NOT_NULL_PROVED.name
    );
    assert_eq!(
        of("ALTER TABLE u ALTER a SET NOT NULL"),
        forms::SET_NOT_NULL.name
    );
}
