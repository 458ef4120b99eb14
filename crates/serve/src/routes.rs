//! Which request gets what.

use std::sync::Arc;

use pgdyno_model::document::page::Query;
use pgdyno_report::page;
use pgdyno_spec::{Exit, Failure};
use serde_json::Value;

use crate::actions::Action;
use crate::answer::Answer;
use crate::feed::Hub;
use crate::gate::Gate;
use crate::http::Reply;
use crate::pages::{Pages, Subject};
use crate::request::Request;

/// Viewers of the feed at the same time: the other connections are for pages and actions.
pub const VIEWERS_MAX: usize = 100;

/// No list has so many pages: the first trial of a page is counted in 64 bits.
const PAGES_MAX: u64 = 1 << 32;

pub struct Routes {
    pub gate: Gate,
    pub pages: Arc<Pages>,
    pub hub: Arc<Hub>,
}

enum Route {
    Page(NamedPage),
    Events(NamedPage),
    Compare,
    Act { trial: String, action: String },
}

/// What is asked for, as a person calls it.
enum NamedPage {
    Notebook,
    Trial(String),
    Together(String),
    Experiment(String),
}

impl Route {
    fn of(request: &Request) -> Option<Self> {
        let parts = request.parts();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let trial = |called: &str| NamedPage::Trial(called.to_owned());
        let experiment = |called: &str| NamedPage::Experiment(called.to_owned());
        Some(match parts[..] {
            [""] => Self::Page(NamedPage::Notebook),
            ["events"] => Self::Events(NamedPage::Notebook),
            ["compare"] => Self::Compare,
            ["trial", called] => Self::Page(trial(called)),
            ["trial", called, "events"] => Self::Events(trial(called)),
            ["trial", called, "together"] => Self::Page(NamedPage::Together(called.to_owned())),
            ["trial", called, "together", "events"] => {
                Self::Events(NamedPage::Together(called.to_owned()))
            }
            ["experiment", called] => Self::Page(experiment(called)),
            ["experiment", called, "events"] => Self::Events(experiment(called)),
            ["trial", called, action] if Action::is_known(action) => Self::Act {
                trial: called.to_owned(),
                action: action.to_owned(),
            },
            _ => return None,
        })
    }

    fn method(&self) -> &'static str {
        match self {
            Self::Act { .. } => "POST",
            _ => "GET",
        }
    }
}

impl Routes {
    pub fn reply(&self, request: &Request) -> Reply {
        let as_json = request.method == "POST";
        let route = Route::of(request);
        let is_guarded = as_json || matches!(route, Some(Route::Events(_) | Route::Act { .. }));
        // Before anything else: who may not come in does not learn what there is.
        if let Err(answer) = self.gate.check(request, is_guarded) {
            return Reply::Answer(if as_json { answer.in_json() } else { answer });
        }
        let Some(route) = route else {
            let text = format!("there is nothing at {}", request.path);
            let hints = ["/ has the list of trials".to_owned()];
            return Reply::Answer(Answer::error(404, &text, &hints, as_json));
        };
        if request.method != route.method() {
            let text = format!("{} takes only {}", request.path, route.method());
            let answer = Answer::error(405, &text, &[], as_json);
            return Reply::Answer(answer.with("Allow", route.method()));
        }
        match route {
            Route::Page(named) => {
                let subject = self.subject(named, request);
                Reply::Answer(shown(subject.and_then(|of| self.pages.document(&of))))
            }
            Route::Compare => Reply::Answer(shown(self.comparison(request))),
            Route::Events(named) => self.events(named, request),
            Route::Act { trial, action } => Reply::Answer(self.act(&trial, &action, request)),
        }
    }

    fn subject(&self, named: NamedPage, request: &Request) -> Result<Subject, Failure> {
        match named {
            NamedPage::Notebook => query(request).map(Subject::Notebook),
            NamedPage::Trial(called) => self.number(&called).map(Subject::Trial),
            NamedPage::Together(called) => self.number(&called).map(Subject::Together),
            NamedPage::Experiment(called) => {
                let row = self.pages.notebooks.with(|store| store.experiment(&called));
                row.map(|row| Subject::Experiment(row.uuid))
            }
        }
    }

    fn number(&self, called: &str) -> Result<i64, Failure> {
        let notebooks = &self.pages.notebooks;
        notebooks.with(|store| store.trial_number(called))
    }

    fn comparison(&self, request: &Request) -> Result<Value, Failure> {
        let side = |name| {
            request.parameter(name).ok_or_else(|| {
                Failure::with(Exit::Usage, "a comparison needs two sides")
                    .hint("/compare?a=3-8&b=9-14, named as for pgdyno compare")
            })
        };
        let is_paired = request.parameter("paired").is_some();
        self.pages.comparison(side("a")?, side("b")?, is_paired)
    }

    fn events(&self, named: NamedPage, request: &Request) -> Reply {
        if self.hub.viewers() >= VIEWERS_MAX {
            let text =
                format!("{VIEWERS_MAX} viewers are connected, which is the most there can be");
            let answer = Answer::error(503, &text, &["close a tab".to_owned()], false);
            return Reply::Answer(answer.with("Retry-After", "10"));
        }
        let subject = self.subject(named, request);
        match subject.and_then(|of| self.hub.watch(&of)) {
            Ok(viewer) => Reply::Events(viewer),
            Err(failure) => Reply::Answer(Answer::failed(&failure, false)),
        }
    }

    fn act(&self, trial: &str, action: &str, request: &Request) -> Answer {
        if !self.pages.may_change {
            let hint = "it was started with --read-only".to_owned();
            return Answer::error(403, "this server changes nothing", &[hint], true);
        }
        let kind = request.header("content-type").unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            let text = "an action is JSON: Content-Type: application/json";
            return Answer::error(415, text, &[], true);
        }
        match Action::read(action, &request.body) {
            Ok(action) => action.carry_out(&self.pages.notebooks, trial),
            Err(why) => Answer::error(400, &why, &[], true),
        }
    }
}

/// A page with its data, or why there is none.
fn shown(document: Result<Value, Failure>) -> Answer {
    let page = document.and_then(|document| {
        page::served(&document).map_err(|e| Failure::new(format!("a page without JSON: {e}")))
    });
    match page {
        Ok((html, policy)) => Answer::page(html, policy),
        Err(failure) => Answer::failed(&failure, false),
    }
}

/// What a list is asked for.
fn query(request: &Request) -> Result<Query, Failure> {
    let given = |name: &str| request.parameter(name).map(str::to_owned);
    let page = given("page").map_or(Ok(1), |text| text.parse());
    Ok(Query {
        q: given("q"),
        workload: given("workload"),
        tag: given("tag"),
        state: given("state"),
        experiment: given("experiment"),
        page: page
            .map(|page: u64| page.clamp(1, PAGES_MAX))
            .map_err(|_| Failure::with(Exit::Usage, "page is a number from 1"))?,
    })
}
