# `make demo` and `make test` need nothing but Python 3.11 or newer: they make the environment themselves.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo system test known-room test-room test-all lint pictures bench coverage recipes recipe-tables experiments theorems clean help

help:            ## what can be made here
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

# torch first and alone: any other order lets a dependency choose another build.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,test,lint]'
	touch $@

# What Python cannot install: the browser that the tests of pages run in, and LaTeX. Without them `make test` says what it left out.
SYSTEM := chromium fonts-dejavu-core texlive-latex-base lmodern poppler-utils
system:          ## Debian's Chromium and LaTeX, for the tests of pages and papers; asks for root
	dpkg -s $(SYSTEM) >/dev/null 2>&1 || { apt-get -qq update && \
	apt-get -qq install -y --no-install-recommends $(SYSTEM) >/dev/null; } || { command -v chromium && command -v pdflatex; }

demo: $(STAMP)   ## the main job, end to end, printed
	$(BIN)/python -m examples.demo

test: $(STAMP)   ## the tests, about a quarter of an hour on two cores
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" --by-room

# A room is a folder of src/glyptic, or a file. An unknown one is refused first, before anything is installed.
IN_ROOM = $(wildcard tests/$(ROOM) tests/test_$(ROOM).py src/glyptic/$(ROOM) src/glyptic/$(ROOM).py)
known-room:
	@test -n "$(ROOM)" -a -n "$(IN_ROOM)" || { echo "no room '$(ROOM)' in src/glyptic; say make test-room ROOM=prove" >&2; exit 2; }

test-room: known-room $(STAMP) ## those of one room and of its docstrings: make test-room ROOM=prove
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" --by-room $(IN_ROOM)

test-all: $(STAMP) ## the slow ones too
	$(BIN)/python -m pytest -n 2 --dist worksteal

coverage: $(STAMP) ## lines of the exact core that the tests run
	$(BIN)/python -m pytest -n 2 -m "not slow" --cov --cov-report=term-missing --cov-fail-under=95 tests/numbers tests/exact

lint: $(STAMP)   ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/mypy

pictures: $(STAMP) ## docs/look/: every page, in both languages and lights
	$(BIN)/python -m examples.pictures docs/look

bench: $(STAMP)  ## ratios against peers and the machine's limit, into benchmarks/results/
	$(BIN)/python -m benchmarks

# Both are run, whatever the first says, and the status tells of either; Ctrl-C ends both.
recipes: $(STAMP) ## every recipe in full, those of recipes/distill too, into runs/: whether it reaches what it should
	status=0; \
	$(BIN)/glyptic recipes recipes --out runs || status=$$?; \
	test $$status -lt 128 || exit $$status; \
	$(BIN)/glyptic distill recipes/distill --format-steps 400 --out runs/distill || status=$$?; \
	exit $$status

recipe-tables: $(STAMP) ## what the recipes say they reached, into docs/tasks.md and docs/tasks.es.md
	$(BIN)/python -c "from pathlib import Path as P; from glyptic.train.recipes import renew_tables as r; r(P('recipes'), [P('docs/tasks.md'), P('docs/tasks.es.md')])"

experiments: $(STAMP) ## the claims that docs/tasks.md tries, into docs/figures/training/
	for name in chain norms places positions; do $(BIN)/glyptic experiment $$name --out docs/figures/training || exit 1; done

theorems: $(STAMP) ## docs/theorems.md, going on where it was; THEOREM=zero.at renews that one alone
	$(BIN)/python -m glyptic.theorems.page docs/theorems.md .theorems.json $(if $(THEOREM),--theorem "$(THEOREM)")

clean:           ## the environment and every cache
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-out
	find src -name '*.nb[ic]' -delete
