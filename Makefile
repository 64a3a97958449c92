# Berth. `make help` lists the targets. Everything that is built goes to bin/; tools come from the modules under tools/.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
TEMPORAL_VERSION := $(shell awk '$$1 == "github.com/temporalio/cli" { sub("^v", "", $$2); print $$2 }' tools/go.mod)
# Arguments of a target's program: `make demo ARGS=--once`, `make e2e ARGS='-run TestDeploy -v'`.
ARGS ?=

GOTEST := go test -race -shuffle=on -count=1
UNIT = $$(go list ./... | grep -v '/berth/tests/')

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)


.PHONY: demo
demo: ## Bring up a fleet with a container and a virtual machine on it, until Ctrl-C; ARGS=--once removes both and ends
	@deploy/demo.sh $(ARGS)

.PHONY: dev
dev: runtimes tools-run build ## Run a fleet on this machine: Temporal, server and one agent; ARGS go to `berth dev`
	@bin/berth dev $(ARGS)

.PHONY: runtimes
runtimes: ## Install what is missing of Docker, libvirt and QEMU, and start what does not run
	@deploy/host/install.sh
	@deploy/host/start.sh

.PHONY: images
images: ## Build the demo images: a container in the Docker engine, a guest under /var/lib/berth/demo
	@deploy/images/container.sh
	@deploy/images/guest.sh /var/lib/berth/demo/guest.qcow2


.PHONY: build
build: ## Build bin/berth
	@go build -trimpath -ldflags '$(LDFLAGS)' -o bin/berth ./cmd/berth

.PHONY: build-faults
build-faults: ## Build bin/berth-faults, with failpoints for the fault tests
	@go build -trimpath -tags failpoints -ldflags '$(LDFLAGS)' -o bin/berth-faults ./cmd/berth

.PHONY: tools
tools: tools-run bin/golangci-lint bin/gofumpt bin/workflowcheck ## Build the Temporal CLI and all tools

.PHONY: tools-run
tools-run: bin/temporal ## Build only the tool that running needs, the Temporal CLI (some minutes, once)

bin/temporal: tools/go.mod tools/go.sum
	@echo 'building the Temporal CLI $(TEMPORAL_VERSION): some minutes, once'
	@go -C tools build -ldflags '-s -w -X github.com/temporalio/cli/temporalcli.Version=$(TEMPORAL_VERSION)' \
	  -o ../bin/temporal github.com/temporalio/cli/cmd/temporal

# A Temporal server as in production, for the tests on PostgreSQL, in a module of its own.
bin/temporal-server bin/temporal-sql-tool: tools/postgres/go.mod tools/postgres/go.sum
	@echo 'building $(@F): some minutes, once'
	@go -C tools/postgres build -ldflags '-s -w' -o ../../$@ \
	  go.temporal.io/server/cmd/$(if $(findstring sql,$@),tools/sql,server)

bin/golangci-lint: tools/lint/go.mod tools/lint/go.sum
	@go -C tools/lint build -ldflags '-s -w' -o ../../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

bin/gofumpt: tools/code/go.mod tools/code/go.sum
	@go -C tools/code build -o ../../$@ mvdan.cc/gofumpt

bin/workflowcheck: tools/code/go.mod tools/code/go.sum
	@go -C tools/code build -o ../../$@ go.temporal.io/sdk/contrib/tools/workflowcheck


.PHONY: test
test: ## Run every test, with all that it needs installed, started and stopped again
	@tools/test.sh

.PHONY: unit
unit: ## Run the tests beside the code; those of drivers need the runtimes
	@$(GOTEST) $(ARGS) $(UNIT)

.PHONY: e2e
e2e: runtimes tools-run build build-faults ## Run the end-to-end tests: real Temporal, Docker, libvirt
	@$(GOTEST) -timeout 45m $(ARGS) ./tests/e2e/...

.PHONY: test-postgres
test-postgres: ## Run the end-to-end tests against Temporal on PostgreSQL (long); ARGS='-run TestTheLastSlot' for the race alone
	@tools/postgres/test.sh $(ARGS)

.PHONY: replay
replay: ## Replay the recorded histories against the workflows of today
	@$(GOTEST) $(ARGS) ./tests/replay/...

.PHONY: histories
histories: runtimes tools-run build ## Record histories for the replay tests (see tests/replay)
	@go test -tags record -count=1 -timeout 10m -run TestRecord ./tests/replay

.PHONY: faults
faults: runtimes tools-run build build-faults ## Run the whole matrix of failpoints and faults with real durations (long)
	@BERTH_FAULTS=full $(GOTEST) -timeout 6h $(ARGS) ./tests/faults/...

.PHONY: bench
bench: runtimes tools-run build ## Measure what Berth adds to the bare runtimes
	@go test -tags bench -count=1 -v -timeout 1h $(ARGS) ./tests/bench/...

.PHONY: load
load: runtimes tools-run build ## Measure synthetic hosts under many workloads (BERTH_LOAD=full: 200 and 5,000), and the beats of a busy real one
	@go test -tags load -count=1 -v -timeout 3h $(ARGS) ./tests/load/...

.PHONY: check
check: bin/gofumpt bin/workflowcheck ## Quick checks: format, vet, determinism of workflows, syntax of scripts
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | grep -v '\.gen\.go$$' | xargs bin/gofumpt -l); \
	if [ -n "$$unformatted" ]; then echo "not formatted (make fmt):"; echo "$$unformatted"; exit 1; fi
	@go vet ./...
	@go vet -tags failpoints,bench,load,record ./...
	@bin/workflowcheck -config tools/workflowcheck.yaml ./workflows/...
	@git ls-files -co --exclude-standard '*.sh' .ci/run | xargs -n 1 bash -n

.PHONY: lint
lint: bin/golangci-lint bin/workflowcheck ## Run golangci-lint and workflowcheck
	@bin/golangci-lint run $(ARGS) ./...
	@bin/workflowcheck -config tools/workflowcheck.yaml ./workflows/...

.PHONY: fmt
fmt: bin/golangci-lint ## Format the code: gofumpt, and imports in groups
	@bin/golangci-lint fmt ./...

.PHONY: generate
generate: ## Tidy the modules: nothing else is generated, api/openapi.yaml is held against the code by tests
	@go mod tidy

.PHONY: check-generated
check-generated: ## Fail if go.mod is not what `make generate` makes
	@go mod tidy -diff

.PHONY: clean
clean: ## Remove what was built here
	@rm -rf bin
