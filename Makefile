# Commands of the project; `make help` lists them. Needs Python >= 3.11, make and a package index, nothing else.
CORES ?= all
SUITE ?= quick
PORT ?= 5000
MESSAGE ?=
ONLY ?=
DROP ?=
# Further packages: slurm, postgres, dask, arena. Each has a lock of its own, requirements-<extra>.lock.
EXTRAS ?=

VENV := .venv
BIN := $(VENV)/bin
PYTHON := $(BIN)/python
STAMP := $(VENV)/.installed
# The first interpreter that is new enough; `make PYTHON3=/path/to/python3.12 setup` names another. It is looked for once,
# where it is needed. (`command -v` is not enough: version managers put stubs on the PATH that cannot run.)
ifndef PYTHON3
PYTHON3 = $(eval PYTHON3 := $(shell for name in python3 python3.13 python3.12 python3.11 python; do \
    $$name -c 'import sys; sys.exit(not sys.version_info >= (3, 11))' 2>/dev/null && echo $$name && break; done))$(PYTHON3)
endif
UV := $(shell command -v uv 2>/dev/null)

# Inside the environment: jobs that Snakemake starts find the same python.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PYTHONNOUSERSITE := 1
export MLFLOW_DISABLE_TELEMETRY := true
# Containers often set it. Each of some hundred processes would then compile what it imports, which takes longer than
# all the rest of it.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run docs test test-fast test-faults test-slurm lint unit coverage smoke ui check accept restore report list leaderboard \
  lock sync unlock clean vulnerabilities

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

LOCKED_EXTRAS := $(sort $(patsubst requirements-%.lock,%,$(wildcard requirements-*.lock)))
$(foreach extra,$(filter-out $(LOCKED_EXTRAS),$(EXTRAS)),$(error EXTRAS names '$(extra)'; there are $(LOCKED_EXTRAS)))

setup: $(STAMP) $(EXTRAS:%=$(VENV)/.extra-%) ## .venv from requirements.lock; EXTRAS='slurm postgres dask arena'

# The environment is made anew when the lock changed, and only then: .venv is in use while a workflow runs.
$(VENV)/.locked: requirements.lock
	@test -n "$(PYTHON3)" || { echo "cascadeforest needs Python >= 3.11; none of python3, python3.13, python3.12, python3.11" \
	  "on the PATH is. Install one, or name it: make PYTHON3=/path/to/python3.12 $(MAKECMDGOALS)"; exit 2; }
	@rm -rf $(VENV)
	@echo "Installing the locked packages into $(VENV), once: about two minutes, half a minute with uv."
ifdef UV
	@$(UV) venv --quiet --python "$$($(PYTHON3) -c 'import sys; print(sys.executable)')" $(VENV)
	@$(UV) pip install --quiet --python $(PYTHON) --require-hashes --compile-bytecode -r requirements.lock
else
	@$(PYTHON3) -m venv $(VENV)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.lock
# pip would compile on one core. Two files are templates, in which it fails, as pip does without a word.
	@$(PYTHON) -m compileall -qq -j 0 $(VENV)/lib || true
endif
	@touch $@

# The compiler of the kernels is in the lock too: no second environment is made to build in.
$(STAMP): $(VENV)/.locked pyproject.toml setup.py $(wildcard src/cascadeforest/kernels/*.[ch]) src/cascadeforest/kernels/build.py
	@echo "Compiling the kernels: about ten seconds."
ifdef UV
	@$(UV) pip install --quiet --python $(PYTHON) --no-build-isolation --no-deps -e .
else
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
endif
	@touch $@

# The versions agree with requirements.lock (`make lock`), so nothing that is installed is replaced.
$(VENV)/.extra-%: requirements-%.lock $(STAMP)
ifdef UV
	@$(UV) pip install --quiet --python $(PYTHON) --require-hashes --no-deps --compile-bytecode -r $<
else
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $<
endif
	@touch $@

run: $(STAMP) ## everything of one suite: results/$(SUITE)/index.html (SUITE=quick, CORES=all, ONLY='some experiments')
ifdef VERBOSE
	$(BIN)/snakemake $(ONLY) --cores $(CORES) --config suite=$(SUITE)
else
	@$(PYTHON) -m cascadeforest.experiments suite --suite $(SUITE) --cores $(CORES) $(if $(ONLY),--only $(ONLY))
endif

# The generator is no part of requirements.lock: `make run` does not need it.
$(VENV)/.docs: docs/requirements.lock $(STAMP)
ifdef UV
	@$(UV) pip install --quiet --python $(PYTHON) --require-hashes -r docs/requirements.lock
else
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r docs/requirements.lock
endif
	@touch $@

docs: $(VENV)/.docs ## the documentation as a site, with the page of `standard`: site/docs/index.html; about three minutes
	@rm -rf site docs/gallery
	@$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -c docs . site
	@$(PYTHON) -m cascadeforest.reports render --suite standard
	@cp -r results/standard/stored site/standard
	@$(PYTHON) docs/check_site.py site docs/index.html

test: lint unit smoke ## lint, tests, smoke suite, regression check

lint: $(STAMP) ## ruff, mypy, snakefmt, codespell, clang-format, snakemake --lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/codespell
	$(BIN)/clang-format --dry-run --Werror src/cascadeforest/kernels/*.[ch]
	$(BIN)/snakemake --lint --config suite=smoke

# A file is run by one process, and slow files first: tests/conftest.py.
PYTEST := pytest -n auto --dist loadfile --no-loadscope-reorder

unit: $(STAMP) ## unit, contract and workflow tests
	$(PYTHON) -m $(PYTEST)

test-fast: $(STAMP) ## unit tests without the slow ones, while working: two minutes on two cores
	$(PYTHON) -m $(PYTEST) -m "not slow"

test-faults: $(STAMP) ## every fault of tests/workflow/faults.py; an hour; goes on where it was stopped (FRESH=1: from the start)
	$(if $(FRESH),rm -rf results/faults)
	$(PYTHON) -m pytest -v --log-cli-level=INFO --faults -rs tests/workflow/test_faults.py

test-slurm: $(STAMP) $(VENV)/.extra-slurm ## a small workflow through a Slurm on this machine; minutes
	$(PYTHON) -m pytest --slurm -rs tests/workflow/test_slurm.py

coverage: $(STAMP) ## lines of each package that the unit tests run; compiled kernels count as not run
	$(BIN)/coverage erase
	$(BIN)/coverage run -m $(PYTEST)
	$(BIN)/coverage combine --quiet
	@for package in src/cascadeforest/*/__init__.py; do package=$${package%/__init__.py}; \
	  echo "$$($(BIN)/coverage report --format=total --include="$$package/*") % $$package"; done
	@echo "$$($(BIN)/coverage report --format=total) % in all"

smoke: $(STAMP) ## the smoke suite end to end, and the check of its stored tables
	$(PYTHON) -m cascadeforest.experiments suite --suite smoke --cores $(CORES)
	$(PYTHON) -m cascadeforest.reports check --suite smoke

ui: $(STAMP) ## MLflow on 127.0.0.1:$(PORT), with the results of $(SUITE), or the accepted ones if it did not run
	@$(PYTHON) -m cascadeforest.reports ui --suite $(SUITE) --port $(PORT)

check: $(STAMP) ## results/$(SUITE) against the stored reports/$(SUITE); ONLY='some', ONLY='a-table:row'
	$(PYTHON) -m cascadeforest.reports check --suite $(SUITE) $(if $(ONLY),--only $(ONLY))

accept: $(STAMP) ## store results/$(SUITE) as reports/$(SUITE), with provenance; MESSAGE='why', ONLY='some', DROP='others'
	$(PYTHON) -m cascadeforest.reports accept --suite $(SUITE) --message "$(MESSAGE)" $(if $(ONLY),--only $(ONLY)) $(if $(DROP),--drop $(DROP))

restore: $(STAMP) ## before the first run of $(SUITE): let it take accepted fits, and compute only what is missing or differs
	$(PYTHON) -m cascadeforest.experiments restore --suite $(SUITE)

report: $(STAMP) ## draw everything of $(SUITE) from its stored cells, without training: results/$(SUITE)/stored/index.html
	$(PYTHON) -m cascadeforest.reports render --suite $(SUITE)

list: $(STAMP) ## every experiment of $(SUITE): what runs, what is missing and why; COST=1: hours of each
	$(PYTHON) -m cascadeforest.experiments list --suite $(SUITE) $(if $(COST),--cost)

leaderboard: $(STAMP) $(VENV)/.extra-arena ## Elo and win rates of the arena's models, from the accepted results of $(SUITE)
	$(PYTHON) tools/leaderboard.py --suite $(SUITE)

sync: $(STAMP) ## bring the MLflow store up to date with all results
	$(PYTHON) -m cascadeforest.experiments track

COMPILE = $(UV) pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11
# What `make lock` gives uv: the packages of one extra.
EXTRA_LINES = import sys, tomllib; \
  print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"][sys.argv[1]], sep="\n")

lock: ## renew requirements.lock, and the locks of the extras and of docs, from pyproject.toml (needs uv)
	@test -n "$(UV)" || { echo "'make lock' needs uv: pip install uv"; exit 2; }
	$(COMPILE) --extra workflow --extra baselines --extra dev pyproject.toml -o requirements.lock
	$(COMPILE) --extra docs --constraints requirements.lock pyproject.toml -o docs/requirements.lock
	@for extra in $(LOCKED_EXTRAS); do $(PYTHON3) -c '$(EXTRA_LINES)' $$extra | \
	  $(COMPILE) --no-annotate -c requirements.lock - -o requirements-$$extra.lock || exit; done

vulnerabilities: $(STAMP) ## licences, and known vulnerabilities of the lock (status 1: some, 3: could not be checked)
	$(PYTHON) tools/vulnerabilities.py

unlock: $(STAMP) ## after a killed Snakemake: release its lock on this folder
	$(BIN)/snakemake --unlock

clean: ## remove results, processed data and the site (keeps downloads, .venv and stored reports)
	rm -rf results data/processed site docs/gallery
