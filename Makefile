# Everything runs from a virtual environment of its own; `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCK := tests/requirements.lock
STAMP := $(VENV)/.installed
NAME ?= default
WORKERS ?= 8
RERUNS ?= 1
N ?= 50
PARALLEL ?= 1
MODE ?= cascade
SECONDS ?= 600

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): $(LOCK) pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "error: Python 3.11 or later is needed; set PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "installing the Python packages into $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.PHONY: install
install: $(STAMP) ## Install everything that the other targets need into .venv

.PHONY: binaries
binaries: $(STAMP) ## Build the control plane's programs from Go modules (cached outside the tree)
	@$(BIN)/python -m controlplane build

.PHONY: demo
demo: $(STAMP) ## Bring an InferenceCluster with services up and down, with a live timeline (MODE=cascade or staged)
	@$(BIN)/python examples/demo/demo.py --mode $(MODE)

.PHONY: demo-api
demo-api: $(STAMP) ## Delete a release through the API and watch it stay listed until its pods are gone
	@$(BIN)/python examples/demo_api/demo.py

.PHONY: render
render: $(STAMP) ## Print what `crossplane render` composes for every example
	@$(BIN)/python -m support.render $(ARGS)

.PHONY: check
check: $(STAMP) ## Check style, types and the direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy function operator/llm_operator operator/release_api operator/modelctl package tests examples
	@$(BIN)/lint-imports --no-cache

# On real servers a test can miss its moment: it may be repeated, at most three in a run, and what happened is shown.
# What is pure is never repeated.
AGAIN = --reruns $(RERUNS) --max-suite-reruns 3 --rerun-show-tracebacks \
	$(addprefix --rerun-exclude-path tests/,function render images)

.PHONY: test
test: check binaries ## Check everything and run all tests, on real servers where Kubernetes is concerned
	@$(BIN)/python -m pytest -n $(WORKERS) --dist load --maxschedchunk 1 $(AGAIN) $(ARGS)

.PHONY: soak
soak: $(STAMP) binaries ## Repeat the background delete (N=50, PARALLEL=1) and print each duration
	@$(BIN)/python -m support.soak --repeats $(N) --parallel $(PARALLEL)

.PHONY: test-e2e
test-e2e: $(STAMP) binaries ## Run the controller end to end: real helm, pods that kwok plays
	@$(BIN)/python -m pytest tests/operator/test_end_to_end.py -s

.PHONY: soak-controller
soak-controller: $(STAMP) binaries ## Kill the controller 200 times at random points of 50 teardowns
	@$(BIN)/python -m operator_harness.soak 200 50

.PHONY: bench-controller
bench-controller: $(STAMP) binaries ## Measure the controller against bare finalizer loops, 2,000 teardowns at once
	@$(BIN)/python -m operator_harness.bench 2000

.PHONY: soak-api
soak-api: $(STAMP) binaries ## Race 500 applies and deletes on 20 releases over two servers, kill a lock's holder
	@$(BIN)/python -m releases_harness.soak 500 20

.PHONY: bench-api
bench-api: $(STAMP) binaries ## Measure the release API: 2,000 releases, 200 uninstalls at once, memory (SECONDS=600)
	@$(BIN)/python -m releases_harness.bench --seconds $(SECONDS)

.PHONY: bench
bench: bench-function bench-policies ## Measure costs as ratios: those of the function and of the policies

.PHONY: bench-function
bench-function: $(STAMP) ## Measure the served function beside an echo, and Modelplane's where PEER=CHECKOUT is given
	@PYTHONPATH=.:tests PEER=$(PEER) $(BIN)/python -m function_bench $(ARGS)

.PHONY: bench-policies
bench-policies: $(STAMP) binaries ## Measure what the admission policies add to a DELETE
	@$(BIN)/python tests/policies/bench_latency.py

.PHONY: generate
generate: $(STAMP) binaries ## Write again what is generated: flat policies, CRD, roles, OpenAPI, orders, references
	@$(BIN)/python -m support.flatten
	@$(BIN)/python -m llm_operator.generate
	@$(BIN)/python -m release_api.generate
	@$(BIN)/python -m support.orders
	@$(BIN)/python -m support.monitoring
	@$(BIN)/python -m support.reference

.PHONY: record-peer
record-peer: $(STAMP) ## Record anew what Modelplane's function answers (PEER=CHECKOUT)
	@PEER="$(PEER)" $(BIN)/python -m support.peer

.PHONY: fix
fix: $(STAMP) ## Repair what can be repaired: formatting and imports
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: lock
lock: $(STAMP) ## Pin the dependencies of pyproject.toml anew
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--no-emit-index-url --extra dev pyproject.toml -o $(LOCK)
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--no-emit-index-url pyproject.toml -o package/requirements.lock
	@$(BIN)/python -m package.images requirements operator | \
		$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
		--no-emit-index-url --constraint $(LOCK) - -o package/operator-requirements.lock

.PHONY: lock-images
lock-images: $(STAMP) binaries ## Pin the images' Debian packages at what the mirror has now, and helm at its hash
	@$(BIN)/python -m package.images lock
	@$(BIN)/python -m support.packages record

.PHONY: packages
packages: $(STAMP) binaries ## Build packages, images and the controller's chart into build/ (REGISTRY=host/organisation, SETTINGS=file)
	@$(BIN)/python -m support.packages build --registry "$(REGISTRY)" $(if $(SETTINGS),--settings $(SETTINGS))

.PHONY: push
push: $(STAMP) binaries ## Build all of that and push it to your registry (REGISTRY=host/organisation)
	@$(BIN)/python -m support.packages push --registry "$(REGISTRY)" $(if $(SETTINGS),--settings $(SETTINGS))

.PHONY: install-from-registry
install-from-registry: $(STAMP) binaries ## Push to a local registry, install from there, bring a cluster up and down, shown live
	@$(BIN)/python -m support.from_registry

.PHONY: up
up: $(STAMP) ## Start a local control plane that stays up, bare or with this project (NAME=default INSTALL=1)
	@$(BIN)/python -m $(if $(INSTALL),support.up,controlplane up) --name $(NAME)

.PHONY: down
down: $(STAMP) ## Stop that control plane
	@$(BIN)/python -m controlplane down --name $(NAME)

.PHONY: kubeconfig
kubeconfig: $(STAMP) ## Print the path of its kubeconfig
	@$(BIN)/python -m controlplane kubeconfig --name $(NAME)

.PHONY: clean
clean: ## Remove the virtual environment and what tools left in the tree
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
