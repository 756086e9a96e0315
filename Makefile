# `make` alone lists the targets. Every target prepares what it needs: nothing else has to be typed first.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PYTHONS ?= python3.12 python3.13
QUICK ?= $(addprefix tests/,architecture accounting adjacency continual engine estimators events exact guarantees mechanisms noise \
	pairs sensitivity testing workloads) src
QUICKLY := not nightly and not slow and not property and not statistical and not contract
TOPICS ?= noise accounting mechanisms accuracy groupby engines growth adaptive audit sql guidance continual service ledger start
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Tests start many processes, and each would compile the library again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo docs claims browser test check bench versions nightly

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' Makefile

setup: $(READY) ## create .venv and install everything (quick when nothing changed)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) setuptools
	$(PIP) --no-build-isolation -e '.[dev]'
	@touch $@

demo: setup ## show what there is on a million invented hospital visits, in seconds; files in build/demo
	@$(BIN)/dither demo --folder build/demo

docs: setup ## build the documentation as a site in build/site/html, with all its pictures
	@$(BIN)/python -m docs.site --redraw

claims: setup ## check every theorem of the lectures and write docs/claims.md
	@$(BIN)/dither claims
	@$(BIN)/dither claims --markdown > docs/claims.md

browser: ## the browser that the tests open reports in; installed by itself only as root with CI=true
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null && exit 0; \
	if [ "$$CI" = true ] && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium chromium-driver >/dev/null; \
	else \
		echo "The tests in a browser are skipped. For them: apt-get install chromium chromium-driver."; \
	fi

test: setup browser ## run the tests and every documentation example
	$(BIN)/python -m pytest -n auto --dist loadgroup

check: setup ## formatting, lint, types, import order, then `make test`
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(MAKE) --no-print-directory test

bench: setup ## measure ours and the peers side by side, topic by topic
	@for topic in $(TOPICS); do $(BIN)/python -m bench $$topic || exit 1; done
	@$(BIN)/python -m bench.figures

versions: ## the quick tests on other interpreters, each in a throw-away environment: PYTHONS="python3.12 python3.13"
	@for python in $(PYTHONS); do \
		folder=$$(mktemp -d) && $$python -m venv $$folder && \
		$$folder/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' && \
		$$folder/bin/python -m pytest -q -m "$(QUICKLY)" -p no:cacheprovider $(QUICK) || exit 1; \
		rm -r $$folder; \
	done

nightly: setup browser ## the long tests and a wider random search, for NIGHT_HOURS=2; run again, it goes on where it stopped
	@$(BIN)/python -m tests.nightly
