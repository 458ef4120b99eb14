# What to type. The work is done by cargo and by scripts/.

.PHONY: test
test: ## formatting, lints and all tests; fetches what the tests need
	@scripts/test

.PHONY: test-long
test-long: ## slow tests, on an idle machine, PART=verdict: 46 limits made on purpose, PART=memory: ten minutes at a rate, PART=statistics: simulated comparisons, PART=coverage: intervals of percentiles on windows of long trials (LENGTH_S=30: a try), PART=capacity: searches for a capacity, PART=simulation: a million simulated schedules, PART=hostile: servers that break the protocol, PART=deny: licences, sources and known vulnerabilities of what is built in, PART=store: the commands on a notebook on a server, PART=points: a failure at every point, PART=kill: kill -9 at 50 moments of each command, PART=generators: several generators of one trial, PART=size: notebooks of many trials, PART=serve: what viewers in the browser cost, PART=faults: faults of real servers under 100 clients, PART=balancing: what balancers cost and hide, PART=disturb: twenty controls of a disturbance, PART=isolation: the checkers against definitions on half a million histories, PART=migrate: the table of locks on all versions, PART=disturbances: each of those that are built in, PART=parquet: tables from Parquet files, PART=analysis: a notebook read with DuckDB, PART=failover: standbys of all versions and failovers, PART=standbys: staleness beside delays set on purpose, and in the laboratory, PART=pages: pages of real experiments and comparisons in Chromium, PART=packages: packages built, installed and run, PART=sysbench: statements beside sysbench itself, PART=wired: pgdyno ci on recorded blocks and on a slowed server, PART=instructions: instructions of a transaction the dashboard on a Prometheus the examples
	@scripts/test-long $(PART) $(if $(filter coverage,$(PART)),$(if $(LENGTH_S),--seconds $(LENGTH_S)))

.PHONY: bench
bench: ## pgdyno beside its peers in turn, and its report with a long trial; writes bench/RESULTS.md, bench/PAGE.md (bench/README.md tells how to read them)
	@scripts/bench

.PHONY: bench-growth
bench-growth: ## what pgdyno costs as connections, statements, rows, trials … grow, beside pgbench; writes bench/GROWTH.md; OPTIONS='--quick', '--axis NAME', '--large' (bench/README.md)
	@scripts/bench growth $(OPTIONS)

.PHONY: bench-watching
bench-watching: ## what pgdyno's observers cost the server, by its own CPU time, beside runs without them; writes bench/WATCHING.md
	@scripts/bench watching $(OPTIONS)

.PHONY: bench-instructions
bench-instructions: ## instructions (callgrind) and system calls (strace) of a transaction; writes bench/INSTRUCTIONS.md
	@scripts/bench-instructions

.PHONY: bench-guided
bench-guided: ## what profile guidance brings a packaged build, in instructions of a transaction; writes bench/GUIDED.md
	@scripts/bench-guided

.PHONY: conformance
conformance: ## PostgreSQL's own tests of pgbench, with pgdyno called by that name; fetches them
	@scripts/conformance

.PHONY: fuzz-pgbench
fuzz-pgbench: ## random command lines and scripts on pgbench and on pgdyno by that name; N=3000 cases, SEED= to run one again
	@scripts/fuzz-pgbench "$(N)" "$(SEED)"

.PHONY: fuzz
fuzz: ## looks for inputs that break a parser; MINUTES=1 of each target, TARGET= one of them; fuzz/README.md
	@scripts/fuzz "$(or $(MINUTES),1)" "$(TARGET)"
