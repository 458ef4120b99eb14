# What to type. The work is done by cargo and by scripts/.

.PHONY: test
test: ## formatting, lints and all tests; fetches what the tests need
	@scripts/test
