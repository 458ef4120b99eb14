#!/bin/sh
# From PostgreSQL 17 to 18, or from any programs to any others: versions.sh BASE HEAD [options of pgdyno ci]
#
#   examples/versions.sh /usr/lib/postgresql/17/bin /usr/lib/postgresql/18/bin
#   pgdyno report versions -o versions.html
#
# Both run as private servers and take turns in short trials, until pgdyno knows whether the new one is more than 5 % slower,
# for at most 15 minutes. --pg-set shared_buffers=4GB gives both a setting. For servers that already run: instances.toml.
set -eu

base=${1:?"usage: versions.sh BASE HEAD [options of pgdyno ci]"}
head=${2:?"usage: versions.sh BASE HEAD [options of pgdyno ci]"}
shift 2

exec "${PGDYNO:-pgdyno}" ci --name versions --base "$base" --head "$head" \
    --fail-unless 'goodput > -5%' "$@"
