# Lockproof. `make help` lists the targets.

GO          ?= go
ON          ?= virtual
ARGS        ?=
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GOTESTSUM   := gotest.tools/gotestsum@v1.13.0
FUZZTIME    ?= 20s
COUNT       ?= 6

# One package at a time: tests in real time must not hold each other up.
TESTFLAGS   ?= -p 1 -timeout 20m

.DEFAULT_GOAL := help
.PHONY: help build run test race fuzz bench gobench lint fmt clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo '  make run ON=local            on real redis-server processes'
	@echo '  make run ARGS="late-release" one scenario; see bin/lockproof run --help'

build: bin/lockproof ## build bin/lockproof

.PHONY: bin/lockproof
bin/lockproof:
	@CGO_ENABLED=0 $(GO) build -o $@ ./cmd/lockproof

run: build ## run the catalogue in virtual time, or ON=local or ON=docker
	@bin/lockproof run --on $(ON) $(ARGS)

test: ## run all tests, and say what was skipped
	@command -v redis-server >/dev/null || echo 'redis-server is not installed: tests on real Redis are skipped (Debian: apt-get install redis-server)'
	$(GO) run $(GOTESTSUM) --format pkgname -- $(TESTFLAGS) ./...

race: ## run the tests under the race detector
	$(GO) test -race $(TESTFLAGS) ./...

fuzz: ## fuzz each parser for FUZZTIME
	@for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$package || exit 1; \
		done; \
	done

bench: ## measure side by side, print one table, write it to out/bench
	@CGO_ENABLED=0 $(GO) build -o bin/bench ./bench
	@bin/bench $(ARGS)

gobench: ## run the benchmarks in Go's format, for benchstat
	$(GO) test -run '^$$' -bench . -benchmem -count $(COUNT) ./...

lint: ## check format, vet, staticcheck and the example workflows
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'not gofmt-ed: run make fmt'; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) run $(ACTIONLINT) docs/ci/github.yml docs/ci/own-lock.yml

fmt: ## format the code
	gofmt -w .

clean: build ## end what killed runs left behind, and remove what was built
	bin/lockproof clean
	rm -rf bin out
