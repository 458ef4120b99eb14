# What to type. The work is done by cargo and by scripts/.

.PHONY: test
test: ## formatting, lints and all tests; fetches what the tests need
	@scripts/test

.PHONY: test-long
test-long: ## the verdict on ten limits made on purpose: minutes, on a machine that nobody else uses
	@cargo test -p pgdyno --test verdict -- --ignored --nocapture

.PHONY: bench
bench: ## pgdyno beside its peers in turn, and its report with a long trial; writes bench/RESULTS.md, bench/PAGE.md (bench/README.md tells how to read them)
	@scripts/bench

.PHONY: conformance
conformance: ## PostgreSQL's own tests of pgbench, with pgdyno called by that name; fetches them
	@scripts/conformance
