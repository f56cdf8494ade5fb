# Lockproof. `make help` lists the targets.

GO          ?= go
ON          ?= virtual
ARGS        ?=
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
MUTATE      ?= ./redlock ./checker ./checker/traffic ./nemesis ./validate/settings
FUZZTIME    ?= 20s
COUNT       ?= 6
EXPLORE     ?= 10m
PART        ?= 1/1

# make lint vets.
TESTFLAGS   ?= -timeout 40m -vet=off

# There is no C in it, and the program that tests run is built without: with one way
# to build, each package is compiled once.
export CGO_ENABLED := 0
# Nor does a binary depend on its folder: clones and worktrees share what is compiled.
export GOFLAGS += -trimpath

# The modules of this repository that are built, checked and tested with it. The
# league's tests are those of make league.
MODULES     := tools bench .
# Those of make test: the packages that bench is compared with are built for it alone.
QUICK       := tools .

# The systems that it is built for. Nothing here depends on the processor, so that
# make cross takes one for each system that is not this one.
PLATFORMS   := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
CROSS       ?= darwin/arm64 windows/amd64

.DEFAULT_GOAL := help
.PHONY: help build run setup test test-all race fuzz mutate bench gobench league lint cross dist site image rename fmt clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo '  make run ON=local            on real redis-server processes'
	@echo '  make run ARGS="late-release" one scenario; see bin/lockproof run --help'

build: bin/lockproof ## build bin/lockproof

.PHONY: bin/lockproof
bin/lockproof:
	@$(GO) build -buildvcs=auto -o $@ ./cmd/lockproof

run: build ## run the catalogue in virtual time, or ON=local or ON=docker
	@bin/lockproof run --on $(ON) $(ARGS)

setup: ## install all that tests use and Debian has
	@.ci/setup

test: bin/runtests ## run the quick tests, and say what was skipped; ARGS=--cost says what each package costs
	@bin/runtests -modules '$(QUICK)' -flags '-short $(TESTFLAGS)' $(ARGS) ./...

test-all: bin/runtests ## run all tests, the long ones too; PART=2/3 runs the second of three parts
	@bin/runtests -modules '$(MODULES)' -part $(PART) -flags '$(TESTFLAGS)' $(ARGS) ./...

.PHONY: bin/runtests
bin/runtests:
	@$(GO) -C tools build -o ../$@ ./runtests

race: export CGO_ENABLED = 1
race: ## run the tests under the race detector, one package at a time
	@for module in $(MODULES); do $(GO) -C $$module test -race -p 1 $(TESTFLAGS) ./... || exit 1; done

fuzz: ## fuzz each parser for FUZZTIME
	@for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$package || exit 1; \
		done; \
	done

mutate: ## change MUTATE's code an operator at a time, and say what no test notices; takes an hour
	@$(GO) -C tools build -o ../bin/mutate ./mutate
	@bin/mutate $(ARGS) $(MUTATE)

bench: ## measure side by side, print one table, write it to bench/out
	@$(GO) -C bench build -o ../bin/bench .
	@bin/bench $(ARGS)

gobench: ## run the benchmarks in Go's format, for benchstat
	@for module in bench .; do $(GO) -C $$module test -run '^$$' -bench . -benchmem -count $(COUNT) ./... || exit 1; done

# LEAGUE_REDLOCK_PHP and LEAGUE_REDLOCK_RB name checkouts of locks that are no packages: without them their rows stay as they are.
league: build ## put other people's locks to the test, explore each for EXPLORE, write docs/locks.md
	@mkdir -p out/league
	@echo 'Two to three hours with EXPLORE=10m; what is done is in out/league, and is not done again: broken off, it goes on.'
	@echo 'the catalogue, in virtual time where a lock can: a lock that breaks is no failure here'
	-@LOCKPROOF_RESULTS=$(CURDIR)/out/league/catalogue bin/lockproof test -C league -count=1 -timeout 0 -run TestLeague . >>out/league/catalogue.log 2>&1
	@echo 'what was found, on real servers, ten times'
	-@LOCKPROOF_RESULTS=$(CURDIR)/out/league/confirmed $(GO) -C league test -count=1 -timeout 0 -run TestConfirmed . >>out/league/confirmed.log 2>&1
	@echo 'what each costs, side by side'
	@test -e out/league/costs.json || $(GO) -C league run ./costs -out $(CURDIR)/out/league/costs.json 2>out/league/costs.log
	@echo 'schedules that nobody scripted, two locks at a time'
	-@LOCKPROOF_RESULTS=$(CURDIR)/out/league/explored nice -n 19 bin/lockproof test -C league -count=1 -timeout 0 -cpu 1 -parallel 2 \
		-run TestExplored . -explore $(EXPLORE) >>out/league/explored.log 2>&1
	@echo 'defects that were mended: the old releases and the new'
	@$(GO) -C league/record test -count=1 ./...
	@$(GO) -C league run ./page -results $(CURDIR)/out/league -root ..

lint: ## check format, vet, staticcheck and the example workflows
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'not gofmt-ed: run make fmt'; exit 1; }
	@for module in $(MODULES) league league/record; do \
		echo "vet and staticcheck: $$module"; \
		(cd $$module && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./...) || exit 1; \
	done
	$(GO) run $(ACTIONLINT) .github/workflows/ci.yml docs/ci/github.yml docs/ci/own-lock.yml
	$(GO) -C examples/kubernetes test ./...

cross: ## check the types of everything for the other systems
	@$(GO) -C tools build -o ../bin/typecheck ./typecheck
	@bin/typecheck . $(CROSS)

dist: ## make archives for every system, with checksums, in dist/
	@$(GO) -C tools build -o ../bin/dist ./dist
	@bin/dist -version $$(git describe --always --dirty) $(PLATFORMS)

site: ## make the lab, the guide and the stories as a folder of pages, out/site, for any web server or none
	@$(GO) run ./site/static

image: ## make the container image lockproof, for runs in virtual time
	@GOOS=linux $(GO) build -buildvcs=auto -o bin/image/lockproof ./cmd/lockproof
	docker build --quiet --tag lockproof --file Dockerfile bin/image

rename: ## give the module another path everywhere: MODULE=github.com/you/lockproof
	@$(GO) -C tools build -o ../bin/rename ./rename
	@bin/rename $(MODULE)

fmt: ## format the code
	gofmt -w .

clean: build ## end what killed runs left behind, and remove what was built
	bin/lockproof clean
	rm -rf bin out dist
