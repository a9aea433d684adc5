# make help lists the targets. Variables: CORES, RUN (a run of config.yaml), ARGS (further options of a tool, such as
# ARGS="--configfile mine.yaml --config missing=skip"), and those that a target names.

PYTHON ?= python3
CORES ?= all
RUN ?= sample
VENV := .venv
BIN := $(VENV)/bin
# The options of the profile, one by one: given the profile, Snakemake prints its name at every start.
PROFILE := $(shell sed -E '/^\#|^cores|: false$$/d; s/: true$$//; s/[],[]//g; s/^/--/; s/: / /' workflow/profiles/local/profile.v9+.yaml)
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES) $(PROFILE)
PIP := $(BIN)/pip install --disable-pip-version-check --quiet --requirement
READY := $(VENV)/.ready
DEV := $(VENV)/.dev

# Hundreds of short jobs start from the same modules: what Python compiles is kept, also where the environment says not to.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: all test test-long test-real test-slurm rehearse check atlas report results docs bench clean help

all: $(READY) ## set up .venv and build the sample run: every table and figure of every study, on generated text
	@$(SNAKEMAKE)

$(READY): requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@echo "Packages are installed: some minutes without output."
	$(PIP) requirements.txt
	touch $@

$(DEV): requirements-dev.txt $(READY)
	@echo "Packages of tests and documentation are installed: a minute without output."
	$(PIP) requirements-dev.txt
	touch $@

test: $(DEV) ## checks and tests: no network, no GPU, no corpora needed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow/rules tests/workflow/new_study
	$(BIN)/snakemake --lint
	$(BIN)/python tools/sync.py --check
	$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder -m "not long"

test-long: $(DEV) ## tests that take long and rarely fail
	$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder -m long

test-real: $(DEV) ## the laptop run and tests on real corpora; ATLAS_DATA names a mirror folder, else they are downloaded
	$(SNAKEMAKE) --config 'targets=[laptop]'
	$(BIN)/pytest -rs -s tests/real

test-slurm: $(DEV) ## the sample run on a real Slurm, also with failing jobs and nodes; LOCAL_SLURM: the command that starts it
	$(BIN)/pytest -rs tests/slurm

rehearse: $(READY) ## every rule of the run paper on stand-ins of its corpora and models, in results/rehearsal-files
	$(BIN)/python tools/rehearse.py --cores $(CORES)

check: $(READY) ## what RUN needs and what is missing; CORPUS=file or folder: which readers accept it
	PYTHONPATH=workflow/lib $(BIN)/python -m attention_atlas.workflow.check $(RUN) $(if $(CORPUS),--corpus "$(CORPUS)") $(ARGS)

atlas: $(READY) ## the atlas of MODEL, a folder or a model on the hub; several names: side by side; TEXT=my.txt (docs/atlas.md)
	@test -n "$(MODEL)" || { echo "Name a model: make atlas MODEL=folder, or a name on the hub"; exit 1; }
	$(BIN)/python tools/atlas.py "$(MODEL)" $(if $(TEXT),--text "$(TEXT)") --cores $(CORES)

report: all ## results/RUN/report.zip: every figure and table with its caption
	$(SNAKEMAKE) --config 'targets=[$(RUN)]' --report results/$(RUN)/report.zip

results: $(READY) ## results/RUN/results.md: verdicts and claims; PUBLISH=yes: also docs/results/RUN
	$(BIN)/python tools/results.py $(RUN) $(ARGS)
	$(if $(filter yes,$(PUBLISH)),$(BIN)/python tools/publish.py $(RUN) $(ARGS))

docs: $(DEV) ## the documentation, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "The documentation is in site/index.html."

bench: $(READY) ## benchmarks: ratios against what a user would write, in one run
	$(BIN)/python -m benchmarks

clean: ## remove results and caches (not .venv)
	rm -rf results/* build site workflow/lib/*.egg-info .snakemake .pytest_cache .ruff_cache .mypy_cache .hypothesis

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1:/p' Makefile | while IFS=: read -r name text; do printf 'make %-11s %s\n' "$$name" "$$text"; done
