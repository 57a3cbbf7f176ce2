# Two commands do all: `make quickstart` shows the main job on real data, `make test` runs every test.
# Build products go to a cache folder outside the checkout, so that a fresh clone does not start cold.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

export BSDB_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/benostreamdb
export CARGO_TARGET_DIR ?= $(BSDB_CACHE)/target
export CARGO_TERM_COLOR ?= never
export BSDB_SHARED ?= $(CURDIR)/../shared

.PHONY: build connectors quickstart test test-long lint bench setup help

help: ## Lists the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

setup: ## Installs what is missing, or says what that is
	@scripts/setup.sh

build: setup ## Builds the command line, the native library and the Spark JAR
	@scripts/build.sh

connectors: ## Puts the JARs and the native library in connector-artifacts/
	@./build-connectors.sh

quickstart: build ## Writes, indexes, searches and merges real data in Spark
	@scripts/quickstart.sh

test: setup ## Runs all tests and prints one total
	@scripts/test.sh

test-long: setup ## The same tests with 20 times the random cases
	@BSDB_TEST_SCALE=20 scripts/test.sh

lint: setup ## Formats, lints and licence checks, without tests
	@scripts/lint.sh

bench: build ## Compares with the named peers; writes bench/results/
	@scripts/bench.sh
