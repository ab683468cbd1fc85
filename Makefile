PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

unexport PYTHONDONTWRITEBYTECODE  # tests start hundreds of processes, each of which would compile the tree again
# The tests keep every core busy: more threads of scikit-learn would only wait for each other.
export OMP_NUM_THREADS ?= 1
# DuckDB plans the thousands of small queries of the tests in a twelfth less time if glibc keeps more freed blocks at hand.
export GLIBC_TUNABLES ?= glibc.malloc.tcache_count=2000

.PHONY: demo studio test types compiled suite nightly docs format notebooks snapshots clean

demo: $(VENV)/.installed  ## a table before and after
	@$(BIN)/sqlanon demo

studio: $(VENV)/.studio  ## the web page, on the sample data
	@$(BIN)/sqlanon studio --demo --out build/studio

test: $(VENV)/.developing  ## lint, types, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(MAKE) --no-print-directory --jobs 2 types compiled
	@$(MAKE) --no-print-directory suite

types: $(VENV)/.developing
	@typed=$$(mktemp -d) && mkdir -p $$typed/sqlanon/udfs && (ln -s $(CURDIR)/sqlanon/* $$typed/sqlanon/ 2>/dev/null; \
		ln -s $(CURDIR)/udfs/* $(CURDIR)/sqlanon/udfs/__init__.py $$typed/sqlanon/udfs/; cd $$typed && \
		$(CURDIR)/$(BIN)/mypy --config-file $(CURDIR)/pyproject.toml --cache-dir $(CURDIR)/.mypy_cache -p sqlanon); \
		found=$$?; rm -r $$typed; exit $$found  # links to the tree, laid out as in a wheel

compiled: $(VENV)/.developing  # bytecode and machine code, once: without it every worker begins by making its own
	@$(BIN)/python -m pytest -m compiles --no-header --no-summary -p no:cacheprovider

suite: $(VENV)/.developing
	$(BIN)/python -m pytest -n auto --dist worksteal  # leaves files whole where it can

nightly: $(VENV)/.developing  ## kills at a hundred moments each, 20,000 fuzzed cases, all worlds of 5,000 tables, the whole sweeps that make test draws from, Spark itself and Spark Connect: an hour or two
	$(BIN)/python tests/robust/kill.py --moments 100
	$(BIN)/python tests/robust/fuzz.py --cases 20000
	$(BIN)/python tests/helpers/worlds.py --tables 5000
	SQLANON_SWEEP=whole $(BIN)/python -m pytest -n auto --dist worksteal
	$(PYTHON) -m venv build/spark
	build/spark/bin/python -m pip install --quiet --editable '.[spark]' 'pyspark[connect]' pytest 'pandas<3'
	build/spark/bin/python -m pytest tests/spark -p no:cacheprovider
	SPARK_REMOTE='local[2,3]' build/spark/bin/python -m pytest tests/spark -p no:cacheprovider

docs: $(VENV)/.developing  ## the documentation, as pages that need no network, in build/site
	$(BIN)/python docs/make_reference.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: $(VENV)/.developing
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

notebooks: $(VENV)/.developing  ## run examples/*.ipynb again and store what they show
	$(BIN)/python tests/project/test_notebooks.py

snapshots: $(VENV)/.developing  ## plan the queries of tests/pipeline/snapshots anew; git diff then shows what a change does to them
	$(BIN)/python tests/pipeline/test_snapshots.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.studio: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[studio]'
	@touch $@ $(VENV)/.installed

$(VENV)/.developing: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	$(BIN)/python -m pip install --quiet --no-deps 'pycanon>=1.3'  # with what it pins, nothing else could be new
	@touch $@ $(VENV)/.installed
