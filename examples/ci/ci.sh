#!/bin/sh
# Whether a change makes the database slower: ci.sh BASE HEAD [options of pgdyno ci]
#
# BASE and HEAD are PostgreSQL's program directories, URLs, settings files or schemas (pgdyno ci --help). The answer is
# written to pgdyno-ci/: comment.md for the pull request, junit.xml for the CI server, ci.json for programs, and the
# notebook with all trials, which pgdyno report and pgdyno compare read.
#
# PGDYNO  the program [default: pgdyno]
# GATE    what is required [default: goodput > -5%]
set -eu

base=${1:?"usage: ci.sh BASE HEAD [options of pgdyno ci]"}
head=${2:?"usage: ci.sh BASE HEAD [options of pgdyno ci]"}
shift 2

mkdir -p pgdyno-ci
# A machine that is too busy to tell does not stop a merge here: change --cannot-tell if it should.
exec "${PGDYNO:-pgdyno}" ci --base "$base" --head "$head" \
    --fail-unless "${GATE:-goodput > -5%}" --cannot-tell pass --time-budget 15m \
    --markdown pgdyno-ci/comment.md --junit pgdyno-ci/junit.xml --json=pgdyno-ci/ci.json \
    --store "${PGDYNO_STORE:-pgdyno-ci/notebook.sqlite}" "$@"
