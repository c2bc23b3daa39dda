# `make help` lists the targets. CI runs exactly `make test`.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT   ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
TOOLS    := $(CURDIR)/bin/tools
LINT     := $(TOOLS)/golangci-lint
LINT_VERSION := 2.8.0
HELM     := $(TOOLS)/helm
HELM_VERSION := 3.19.0

# Linters, tools and tests are built with the binary's own flags, so that each package is compiled once, and once more for the race
# detector. What vet says, it says once. Nobody debugs what is built here: leaving the debugger's tables out saves a tenth of compiling.
BUILD_FLAGS := -trimpath -vet=off -gcflags=all=-dwarf=false
export CGO_ENABLED := 0
export GOFLAGS     := $(filter-out $(BUILD_FLAGS),$(GOFLAGS)) $(BUILD_FLAGS)

# Black-box tests and benchmarks build the binary or start services; they run apart from the package tests.
UNIT_PACKAGES = $(shell $(GO) list ./... | grep -Ev '^fairlead/(test|bench)(/|$$)')

.PHONY: help run build web test check check-web fmt fmt-check vet lint unit unit-rest costs integration services blackbox fetch ahead deploy-check sdk browser screenshots bench bench-quick bench-log faults faults-table soak generate setup clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build everything and start the gateway with its embedded defaults
	./bin/fairlead serve

build: web ## build bin/fairlead, static, with the dashboard inside
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/fairlead ./cmd/fairlead

web: # the dashboard, when its source is there
	@if [ -f web/package.json ]; then scripts/build-web.sh; fi

# The quick part first, and beside it the dashboard and what comes over the network; then what needs services, and beside it what is
# compiled for later. The tests of the binary measure, and have the machine for themselves. The clients mostly wait, as browsers do.
test: ## everything CI runs
	@scripts/lanes.sh 'fmt-check vet lint unit-rest' 'setup check-web fetch'
	@scripts/lanes.sh services 'costs ahead'
	@scripts/lanes.sh 'build blackbox'
	@scripts/lanes.sh browser 'sdk deploy-check'

fetch: # the modules and packages of what is tested later
	$(GO) mod download
	test/sdk/setup.sh
	cd test/browser && . ./setup.sh

# Tests run beside it, and come first.
ahead: $(HELM) # what later steps would compile
	cd test/sdk/go && GOWORK=off nice $(GO) build -o /dev/null .

check: fmt-check vet lint unit check-web ## formatting, vet, lint and the package tests, of the dashboard too: no services needed

check-web:
	scripts/check-web.sh

fmt: $(LINT) ## format the Go files
	$(LINT) fmt

fmt-check: $(LINT)
	@$(LINT) fmt --diff || { echo 'fix: make fmt' >&2; exit 1; }

vet:
	$(GO) vet ./... ./test/...

# Half of what linting costs is collecting garbage; with more room it is rare.
lint: $(LINT) ## run the linters
	GOGC=400 GOMEMLIMIT=4GiB $(LINT) run ./... ./test/...

unit: ## package tests with the race detector
	scripts/race-test.sh $(UNIT_PACKAGES)

# Packages that use services run once, in full, with the services.
unit-rest: UNIT_PACKAGES = $(shell $(GO) list ./... | grep -Ev '^fairlead/(test|bench)(/|$$)' | grep -vxFf <(scripts/service-packages.sh; echo none))
unit-rest: unit

# Tests that measure CPU time, memory or allocations say nothing under the race detector.
costs: ## tests of CPU time, memory and timing, without the race detector
	$(GO) test -count=1 -run 'Cost|Memory|Allocates|TimeOfAKeyCheck' ./internal/gateway ./internal/account

integration: services blackbox ## store, limits and black-box tests with a real Postgres and Redis

services:
	scripts/with-services.sh scripts/service-tests.sh

blackbox: build
	scripts/with-services.sh scripts/blackbox.sh

deploy-check: $(HELM) ## image, systemd unit, compose file and chart: well-formed, pinned, without secrets, and naming settings that exist
	$(GO) test -count=1 ./test/deploy

sdk: build ## tests with the official client libraries
	FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead test/sdk/run.sh

browser: build ## dashboard tests in a real browser
	FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead test/browser/run.sh

screenshots: build ## pictures of every page of the dashboard, in test-results/screenshots
	test/browser/screenshots.sh

bench: build ## what a request costs, beside nginx in the same run; the hot steps alone; the log at size
	@scripts/setup-test.sh nginx
	$(GO) run ./bench
	$(GO) test -run '^$$' -bench . -benchmem ./internal/token ./internal/predict ./internal/policy ./internal/promptcache ./internal/route ./internal/replay ./internal/wire/chat ./internal/spool ./internal/store ./internal/ingress
	$(MAKE) bench-log

bench-quick: build ## what a request costs beside nginx, in a few minutes
	@scripts/setup-test.sh nginx
	$(GO) run ./bench -quick

bench-log: ## what the dashboard's pages ask of a million stored requests, on both databases
	$(GO) run ./bench/log -store sqlite
	scripts/with-services.sh $(GO) run ./bench/log -store postgres

faults: build ## the fault catalogue against the real binary, with real services; ONLY=F03,F21 for some of it
	$(GO) build -o bin/faults ./test/faults/run
	FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead scripts/with-services.sh bin/faults -only '$(ONLY)'

faults-table: ## put the table of the last make faults into docs/reliability.md
	scripts/faults-table.sh

soak: build ## half an hour of load, watching memory, goroutines and files; MINUTES=3 for less
	FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead FAIRLEAD_SOAK_MINUTES=$(or $(MINUTES),30) $(GO) test -v -count=1 -timeout 120m -run Soak ./test/soak

generate: ## write docs/openapi.json, docs/config.schema.json and what is made from them
	$(GO) test ./internal/admin -count=1 -run TestOpenAPIDocumentIsCurrent -update
	$(GO) test ./internal/config -count=1 -run TestSchemaDocumentIsCurrent -update
	@if [ -f web/package.json ]; then scripts/install-web.sh && cd web && npm run --if-present generate; fi

setup: # what the tests need besides Go and Node
	@scripts/setup-test.sh

clean: ## remove what was built
	rm -rf bin web/dist web/stub/dist

$(LINT):
	@mkdir -p $(TOOLS)
	@if command -v golangci-lint >/dev/null && golangci-lint version 2>/dev/null | grep -q 'version $(LINT_VERSION) '; then \
		ln -sf "$$(command -v golangci-lint)" $(LINT); \
	else \
		GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINT_VERSION); \
	fi

$(HELM):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) nice $(GO) install helm.sh/helm/v3/cmd/helm@v$(HELM_VERSION)
