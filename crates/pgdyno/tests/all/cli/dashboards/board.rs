//! A dashboard as its file has it: panels with their queries, and variables.

use serde_json::Value;

/// A query of a panel.
#[derive(Debug, Clone)]
pub struct Query {
    pub panel: String,
    /// In the data source's language, with what Grafana replaces.
    pub text: String,
    /// Asked at a moment, not over a range.
    pub is_instant: bool,
}

pub struct Board {
    document: Value,
}

impl Board {
    pub fn shipped(name: &str) -> Board {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../examples/grafana/dashboards/"
        );
        let text = std::fs::read_to_string(format!("{folder}{name}.json")).unwrap();
        let document = serde_json::from_str(&text).unwrap();
        Board { document }
    }

    fn panels(&self) -> impl Iterator<Item = &Value> {
        let panels = self.document["panels"].as_array().unwrap().iter();
        panels.filter(|panel| panel["type"] != "row")
    }

    /// The queries of all panels.
    pub fn queries(&self) -> Vec<Query> {
        let of_panel = |panel: &Value| {
            let targets = panel["targets"].as_array().unwrap().clone();
            let title = panel["title"].as_str().unwrap().to_owned();
            targets.into_iter().map(move |target| Query {
                panel: title.clone(),
                text: { target["expr"].as_str() }
                    .or(target["rawSql"].as_str())
                    .unwrap()
                    .to_owned(),
                is_instant: target["instant"] == true,
            })
        };
        let queries: Vec<Query> = self.panels().flat_map(of_panel).collect();
        assert!(queries.len() > 15, "{queries:?}");
        queries
    }

    /// Variables but the data source: name, query, and what is chosen at first.
    pub fn variables(&self) -> Vec<(String, String, Vec<String>)> {
        let all = self.document["templating"]["list"].as_array().unwrap();
        let all = all.iter().filter(|variable| variable["type"] == "query");
        let variable = |variable: &Value| {
            let query = &variable["query"];
            let query = query["query"].as_str().or(query.as_str()).unwrap();
            let chosen = variable["current"]["value"].as_array();
            let chosen = chosen.into_iter().flatten();
            (
                variable["name"].as_str().unwrap().to_owned(),
                query.to_owned(),
                chosen.map(|c| c.as_str().unwrap().to_owned()).collect(),
            )
        };
        all.map(variable).collect()
    }

    /// What a dashboard must have to be of use, and lacks.
    pub fn lacks(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        let mut ids = std::collections::BTreeSet::new();
        for panel in self.panels() {
            let title = panel["title"].as_str().unwrap_or_default();
            let is_empty = |value: &Value| value.as_str().unwrap_or_default().is_empty();
            if title.is_empty() {
                lacks.push(format!("panel {} has no title", panel["id"]));
            }
            if is_empty(&panel["description"]) {
                lacks.push(format!("{title}: no description"));
            }
            if is_empty(&panel["fieldConfig"]["defaults"]["unit"]) {
                lacks.push(format!("{title}: no unit"));
            }
            if panel["datasource"]["uid"] != "${datasource}" {
                lacks.push(format!("{title}: not the data source that is chosen"));
            }
            if !ids.insert(panel["id"].as_u64()) {
                lacks.push(format!("{title}: its id is another panel's"));
            }
        }
        lacks
    }
}

#[test]
fn each_panel_has_a_title_a_description_a_unit_and_the_chosen_data_source() {
    for name in ["pgdyno-metrics", "pgdyno-notebook"] {
        let lacks = Board::shipped(name).lacks();
        assert!(lacks.is_empty(), "{name}: {lacks:#?}");
    }
    let document = serde_json::json!({"panels": [
        {"id": 1, "type": "row"},
        {"id": 2, "type": "stat", "title": "a", "datasource": {"uid": "x"}, "fieldConfig": {}},
        {"id": 2, "type": "stat", "title": "", "description": "b", "datasource": {"uid": "${datasource}"},
         "fieldConfig": {"defaults": {"unit": "s"}}},
    ]});
    assert_eq!(
        Board { document }.lacks(),
        [
            "a: no description",
            "a: no unit",
            "a: not the data source that is chosen",
            "panel 2 has no title",
            ": its id is another panel's",
        ]
    );
}
