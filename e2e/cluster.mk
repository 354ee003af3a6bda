# The local cluster: see e2e/. Another kind of cluster: CLUSTER=kind. The oldest supported line: K8S=1.34.
E2E ?= cargo run --quiet --package banlieue-e2e --bin e2e --

.PHONY: cluster cluster-load cluster-down cluster-logs

cluster: ## Start the local cluster, or find it healthy; print its KUBECONFIG and versions
	@$(E2E) up

cluster-load: ## Build the static image and load it into the cluster
	@$(E2E) load

cluster-down: ## End the cluster and all that it left
	@$(E2E) down

cluster-logs: ## Show the end of each log, and put everything into one folder
	@$(E2E) logs

# The paths of an installation from end to end. CLUSTER=kind takes kind where Docker answers, with the tests that need no part of the local cluster.
.PHONY: kind-e2e kind-e2e-bootstrap kind-e2e-ci kind-e2e-logs
E2E_SUITE = $(CARGO) test --quiet --package banlieue-e2e --locked --test
# What measures, or needs more than an API server and a node.
E2E_SLOW := --skip figures:: --skip latency:: --skip host::

kind-e2e: ## The fast loop: installs from deploy/ and runs the suite
	@$(E2E) where
	INSTALL=deploy $(E2E_SUITE) main_job -- $(E2E_SLOW)

kind-e2e-bootstrap: ## Installs by the installer and runs both suites, each from an empty cluster
	@$(E2E) where
	INSTALL=bootstrap $(E2E_SUITE) main_job
	$(E2E_SUITE) installer

kind-e2e-ci: ## What CI runs of it: the installer's path, diagnostics after a failure, nothing left
	@$(MAKE) --no-print-directory kind-e2e-bootstrap || { $(MAKE) --no-print-directory kind-e2e-logs; $(E2E) sweep; exit 1; }
	@$(E2E) sweep

kind-e2e-logs: ## What the last suite that failed left behind: objects, Events, the product's pods
	@$(E2E) logs --last
