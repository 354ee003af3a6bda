# The commands of this project. `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
# Built tools, images and the folders of clusters: outside the checkout, so that a fresh clone on this machine builds nothing twice.
BANLIEUE_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/banlieue
export BANLIEUE_CACHE
CARGO_DENY_VERSION := 0.20.2
CARGO_DENY := $(BANLIEUE_CACHE)/cargo-deny-$(CARGO_DENY_VERSION)/bin/cargo-deny
MDBOOK_VERSION := 0.5.4
MDBOOK := $(BANLIEUE_CACHE)/mdbook-$(MDBOOK_VERSION)/bin/mdbook
CARGO_MUTANTS_VERSION := 27.1.0
CARGO_MUTANTS := $(BANLIEUE_CACHE)/cargo-mutants-$(CARGO_MUTANTS_VERSION)/bin/cargo-mutants
# Optimised, without the link-time optimisation that the product is made small with: for what is built here and runs long.
QUICK := CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL

##@ Two commands
.PHONY: demo demo-down
demo: ## A cluster with two backends on it, from nothing; run it again as you like
	@trap 'echo " interrupted: make demo goes on from here, make demo-down takes away what there is" >&2; exit 0' INT; $(CARGO) build --package banlieue-e2e --bin e2e; $(E2E) demo
demo-down: ## Take the demo away, and leave nothing but the cache
	@$(E2E) down --name demo

.PHONY: test
test: ## Everything below, live tests included (about 20 minutes; the first time builds Kubernetes: 10 more)
	@$(call stages,format tools)
	@$(MAKE) --no-print-directory --jobs 2 checks program
	@$(call stages,live)

# Runs parts one after another, and says how long each took.
stages = for stage in $(1); do \
	  began=$$SECONDS; printf '\n== %s\n' "$$stage"; \
	  MAKEFLAGS= $(MAKE) --no-print-directory "$$stage" || { printf '== %s FAILED after %d s\n' "$$stage" $$((SECONDS - began)) >&2; exit 1; }; \
	  printf '== %s passed in %d s\n' "$$stage" $$((SECONDS - began)); \
	done

##@ Parts of the test
.PHONY: format tools clippy features lint checks deny unit book program live test-long machine-long mutants
format: ## Is the code formatted?
	$(CARGO) fmt --all --check
tools: ## Packages, Kubernetes, etcd and the simulator, where they are missing
	@$(E2E) tools
checks:
	@$(call stages,clippy features deny unit book)
clippy: ## Is there nothing to warn of?
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
features: ## Does it build with each backend alone, and with none?
	@for one in vsphere libvirt proxmox ''; do \
	  $(CARGO) clippy --quiet --package banlieue --lib --locked --no-default-features --features "$$one" -- -D warnings; \
	done
lint: format clippy ## Format and clippy
deny: $(CARGO_DENY) ## Licences, banned and doubled crates, sources
	$(CARGO_DENY) --all-features check --hide-inclusion-graph licenses bans sources
unit: ## Tests that need no cluster (seconds)
	$(CARGO) test --package banlieue --locked
	$(CARGO) test --package banlieue-e2e --locked --lib --bins --test closure
book: $(MDBOOK) ## The pages of docs/ as a book, in target/book
	$(MDBOOK) build docs
# Beside the checks: it takes minutes, most of them on one core. The program built above, as cargo would wait for the checks.
program:
	@MAKEFLAGS= $(or $(CARGO_TARGET_DIR),target)/debug/e2e image 2>&1 | sed -u 's/^/program: /'
live: tools ## Tests on local clusters, which they start and stop themselves (root); two suites at a time
	$(CARGO) test --package banlieue-e2e --locked --no-run --test '*'
	@$(MAKE) --no-print-directory --jobs 2 --keep-going $(SUITES:%=live-%) live-from-deploy
# The longest first. Each line says whose it is.
SUITES := installer lifecycle main_job backend_pods cluster_lifecycle rights fence api_server backends
# The product as deploy/ installs it; in main_job it is as the installer does.
live-from-deploy:
	@MAKEFLAGS= CLUSTER=local INSTALL=deploy $(E2E_SUITE) main_job -- $(E2E_SLOW) 2>&1 | sed -u 's/^/from deploy: /'
live-%:
	@MAKEFLAGS= CLUSTER=local $(CARGO) test --quiet --package banlieue-e2e --locked --test $* 2>&1 | sed -u 's/^/$*: /'
test-long: machine-long mutants ## All of it: every observation and interleaving, mutants, the oldest supported line, the long live forms (hours)
	@K8S=1.34 $(MAKE) --no-print-directory live
	$(CARGO) test --package banlieue-e2e --locked --no-fail-fast --test lifecycle --test main_job --test rights --test api_server -- --ignored
machine-long: ## Every observation, interleaving and kill point, counted, and what a step costs (minutes)
	$(QUICK)=3 $(CARGO) test --package banlieue-machine --locked --release --lib -- --include-ignored --nocapture
	$(QUICK)=3 $(CARGO) bench --package banlieue-machine --locked --bench step
MUTANTS_OUT := target/mutants
mutants: $(CARGO_MUTANTS) ## Changes the core and its hands, one by one: does a test notice? Ends with the counts (an hour)
	@mkdir -p $(MUTANTS_OUT)
	$(CARGO_MUTANTS) mutants --package banlieue-machine --jobs 1 --no-shuffle --output $(MUTANTS_OUT) $(MUTANTS)

# No optimisation to speak of: they run for a second, or wait for others, and build in a third of the time.
$(CARGO_DENY):
	$(QUICK)=1 $(CARGO) install --locked --root $(BANLIEUE_CACHE)/cargo-deny-$(CARGO_DENY_VERSION) cargo-deny@$(CARGO_DENY_VERSION)
$(MDBOOK):
	$(QUICK)=1 $(CARGO) install --locked --root $(BANLIEUE_CACHE)/mdbook-$(MDBOOK_VERSION) --no-default-features mdbook@$(MDBOOK_VERSION)
$(CARGO_MUTANTS):
	$(QUICK)=1 $(CARGO) install --locked --root $(BANLIEUE_CACHE)/cargo-mutants-$(CARGO_MUTANTS_VERSION) cargo-mutants@$(CARGO_MUTANTS_VERSION)

##@ Build
.PHONY: build fmt manifests image size
build: ## The debug build of everything
	$(CARGO) build --workspace --locked
fmt: ## Format the code
	$(CARGO) fmt --all

manifests: ## The files under deploy/, from the binary
	$(CARGO) run --quiet --locked --package banlieue -- manifests deploy

image: ## The static program and its image as an OCI archive; prints where they are
	@$(E2E) image
size: ## The size of the stripped release program
	@$(E2E) image | grep '^program:'

##@ Help
.PHONY: help
help: ## This list
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ The local cluster
include e2e/cluster.mk
