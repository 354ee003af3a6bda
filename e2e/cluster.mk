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
