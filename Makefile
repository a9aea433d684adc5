# make            set up .venv and build the sample run: every table and figure of every study, on generated text
# make test       checks and tests: no network, no GPU, no corpora needed
# make test-all   the same, the tests that take long and rarely fail, and the rehearsal
# make rehearse   every rule of the run paper on generated stand-ins of its corpora and models, in results/rehearsal-files
# make test-real  the laptop run and tests on real corpora; ATLAS_DATA names a mirror folder, else they are downloaded
# make test-slurm the sample run on a real Slurm, also with failing jobs and nodes; LOCAL_SLURM names the command that starts Slurm
# make check      what RUN=paper (or another) needs, and what is missing; status 1 where the run cannot be built as it is
#                 CORPUS names a file or a folder: which readers accept it, and which artefacts can be built from it (MODEL: its tokenizer is used)
# make lock       resolve the hub's models and data sets again, and record their commits in config/lock.yaml; MODEL=, CORPUS= for one;
# ARGS="--configfile mine.yaml"  for check, lock and results: an overlay; results also takes
#                 the --config entries that the run was started with: ARGS="--config missing=skip"
# make bench      benchmarks: ratios against a stated reference, side by side in one run
# make atlas      the atlas of any model: MODEL names a folder or a model on the hub; opens the page
#                 PATTERN="relation:nsubj>head my_patterns.py:same_letter": pairs of tokens that heads are measured on too
#                 MODEL="a b c" several models side by side; MODEL="folder/step*" or "name@step1 name@step2" a series of checkpoints
#                 TEXT=my.txt shows these sentences: one on each line, or CoNLL-U, whose trees the heads are then measured on
# make results    results/$(RUN)/results.md: verdicts on published values and claims of a run that is built, and the code that made it
#                 PARTIAL=yes: if some jobs failed, only the studies that are built
#                 PUBLISH=yes: also docs/results/$(RUN), its tables and figures as pages of the site
# make report     results/$(RUN)/report.zip: every figure and table with its caption
# make sync       rewrite envs/*.yaml and the generated parts of pyproject.toml and the Slurm profile
# make clean      remove results and caches (not .venv)

PYTHON ?= python3
CORES ?= all
RUN ?= sample
MODEL ?=
PATTERN ?=
TEXT ?=
PARTIAL ?=
PUBLISH ?=
CORPUS ?=
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
SNAKEMAKE := $(BIN)/snakemake --workflow-profile workflow/profiles/local --cores $(CORES)

# An option where a variable is yes; none where it is empty or no; anything else is an error.
yes = $(if $(filter-out yes no,$($(1))),$(error $(1)=$($(1)): write $(1)=yes, or leave it out),$(if $(filter yes,$($(1))),$(2)))

# Hundreds of short jobs start from the same modules: what Python compiles is kept, also where the environment says not to.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: all setup test test-all test-long rehearse lint test-real test-slurm slurm-packages chromium check lock bench atlas results report docs sync clean

all: setup
	$(SNAKEMAKE)

setup: $(VENV)/.ready

$(VENV)/.ready: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --disable-pip-version-check --quiet --requirement requirements.txt
	touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow/rules tests/workflow/new_study
	$(BIN)/snakemake --lint
	$(BIN)/python tools/sync.py --check

test: lint
	$(BIN)/pytest --numprocesses 2 --dist loadfile -m "not long"

test-long: setup
	$(BIN)/pytest --numprocesses 2 --dist loadfile -m long

test-all: test test-long rehearse

rehearse: setup
	$(BIN)/python tools/rehearse.py --cores $(CORES)

test-real: setup
	$(SNAKEMAKE) --config 'targets=[laptop]'
	$(BIN)/pytest -rs -s tests/real

test-slurm: setup
	$(BIN)/pytest -rs tests/slurm

chromium:
	apt-get update
	apt-get install --yes --no-install-recommends chromium

slurm-packages:
	apt-get update
	apt-get install --yes --no-install-recommends slurmctld slurmd slurm-client munge

check: setup
	$(BIN)/python tools/check.py $(if $(CORPUS),corpus "$(CORPUS)" --model "$(or $(MODEL),minilm)",run $(RUN)) $(ARGS)

lock: setup
	$(BIN)/python tools/lock.py $(if $(MODEL),--model "$(MODEL)") $(if $(CORPUS),--corpus "$(CORPUS)") $(ARGS)

bench: setup
	$(BIN)/python -m benchmarks

atlas: setup
	@test -n "$(MODEL)" || { echo "Name a model: make atlas MODEL=folder, or a name on the hub"; exit 1; }
	$(BIN)/python tools/atlas.py "$(MODEL)" $(if $(TEXT),--text "$(TEXT)") --cores $(CORES) $(foreach pattern,$(PATTERN),--pattern "$(pattern)")

results: setup
	$(BIN)/python tools/results.py $(RUN) $(call yes,PARTIAL,--partial) $(ARGS)
	$(call yes,PUBLISH,$(BIN)/python tools/publish.py $(RUN) $(ARGS))

report: all
	$(SNAKEMAKE) --config 'targets=[$(RUN)]' --report results/$(RUN)/report.zip

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "The documentation is in site/index.html."

sync: setup
	$(BIN)/python tools/sync.py

clean:
	rm -rf results/* build site workflow/lib/*.egg-info .snakemake .pytest_cache .ruff_cache .mypy_cache .hypothesis
