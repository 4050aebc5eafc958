# dpproxy: a Postgres proxy that enforces differential-privacy budgets.
# "make help" lists the targets.

GO ?= go
BIN := bin/dpproxy
TOOL := $(GO) tool -modfile=tools/go.mod
# "go test", and in the end what was skipped and why
TESTS := $(GO) tool -modfile=tools/test/go.mod gotestsum --format standard-quiet --

.DEFAULT_GOAL := help
.PHONY: help setup setup-test build demo test ahead race shape lint fmt golden nafld accuracy truth corpora limits local bench bench-noise bench-ledger bench-tpch bench-plain bench-clinic growth fuzz faults clock property groups splicing soak life generate clients versions bare

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what building and the demo need (Debian packages; safe to repeat)
	@scripts/setup.sh base

setup-test: ## install what the tests need as well
	@scripts/setup.sh base test

build: setup ## build bin/dpproxy
	@mkdir -p bin
	$(GO) build -o $(BIN) ./cmd/dpproxy

demo: build ## play a conversation with a demo database, then stop
	@$(BIN) demo --play

test: setup-test ## run all tests (under 10 minutes); list those skipped
	$(GO) vet ./...
	$(TESTS) -vet=off -ldflags=-w -p $$(($$(nproc) + 1)) -parallel 4 -timeout 20m ./... # vetted above; no debugger reads them; more than processors, as many wait rather than work

AHEAD ?= 400
ahead: setup-test ## run all tests with the clocks of their databases days ahead: make ahead AHEAD=400
	lib=$$(mktemp -d) && trap "rm -r $$lib" EXIT && chmod 755 $$lib && $(CC) -shared -fPIC -o $$lib/ahead.so scripts/ahead.c && \
	DPPROXY_PG_ENVIRONMENT="LD_PRELOAD=$$lib/ahead.so DPPROXY_AHEAD=$$((86400 * $(AHEAD)))" \
		$(TESTS) -count=1 -vet=off -parallel 4 -timeout 60m ./...

bare: ## prove on a bare Debian 12 what README.md says, as root and as a user with sudo
	scripts/bare.sh scripts/two-minutes.sh
	scripts/bare.sh --user scripts/two-minutes.sh

clients: setup-test ## drive every client, and run the suites of pgx and lib/pq (15 minutes)
	@scripts/setup.sh clients
	npm ci --prefix integration/clients/node --no-audit --no-fund --ignore-scripts
	$(GO) test -count=1 -timeout 40m -v ./integration/clients -args -clients

ONLY ?=
SUITES ?=
PAIRS_EACH ?= 1000
versions: setup-test ## run the tests on Postgres 13 to 18 (hours): make versions ONLY=13/18,18/15 SUITES=mirror,reader
	@scripts/setup.sh versions
	npm ci --prefix integration/versions --no-audit --no-fund --ignore-scripts
	@for p in integration/versions/node_modules/postgres*; do (cd "$$p" && node scripts/hydrate-symlinks.js); done
	DPPROXY_PAIRS=$(PAIRS_EACH) $(GO) test -count=1 -timeout 0 -run '^TestVersions$$' -v ./integration/versions -args -versions -only '$(ONLY)' -suites '$(SUITES)'

race: setup-test ## run the tests of concurrent packages under the race detector
	$(GO) test -race -timeout 15m ./accountant/... ./wire/... ./proxy/... ./mechanisms/...

FOR ?= 10m
soak: setup-test ## let 200 clients do all that clients do for long: make soak FOR=1h
	$(GO) test -count=1 -timeout 0 -run '^TestSoak$$' -v ./integration/faults -args -soak $(FOR)

life: setup-test ## restart, crash, alter and restore databases and the ledger while 20 clients ask; print what they saw
	$(GO) test -count=1 -timeout 20m -run '^(TestLife|TestPromotion|TestMaintenance|Test(Data|Mirror|Client)Gone)$$' -v ./integration/faults -args -life

shape: ## measure packages: circles of files, wide types, long functions, unreachable code, words
	@$(GO) run ./internal/shape/print $(TOOL) deadcode ./cmd/dpproxy

lint: ## check style (builds the pinned tools at first)
	$(TOOL) golangci-lint fmt --diff
	$(TOOL) golangci-lint run ./...
	scripts/unreachable.sh $(TOOL) deadcode

fmt: ## format the source
	$(TOOL) golangci-lint fmt

golden: setup-test ## rewrite the golden files; read the diff
	$(GO) test ./parser ./parser/repair ./planner ./planner/scalar ./planner/source ./planner/sqltext ./mirror -rewrite
	$(GO) test ./integration/attacks -run 'TestAttacks$$' -rewrite
	$(GO) test ./integration/protocol -run 'TestConversations$$' -rewrite
	$(GO) test ./integration/corpora -rewrite
	$(GO) test ./wire -rewrite
	$(GO) test ./integration/clients -run TestIntrospection -rewrite
	$(GO) test ./config -update
	$(GO) test ./internal/archtest -run TestPicture -rewrite

nafld: setup-test ## ask ten questions about a real study; print answers beside the truth
	@scripts/setup.sh nafld
	$(GO) test -count=1 -run '^TestNAFLD$$' -v ./integration/bench

accuracy: setup-test ## print what an error costs, and how often stated errors hold (10 minutes)
	@scripts/setup.sh nafld
	$(GO) test -count=1 -run '^TestCoverage$$' -v ./proxy/release
	$(GO) test -count=1 -timeout 60m -run '^TestAccuracy' -v ./integration/bench -args -accuracy

DRAWS ?= 40
ROUNDS ?= 1
truth: setup-test ## compare answers with the truth (half an hour; for the record: make truth DRAWS=200 ROUNDS=3)
	@scripts/setup.sh nafld
	$(GO) test -count=1 -timeout 0 -run '^TestTruth$$|^TestNothingIsSilentlyWrong$$|^TestReplayedErrors$$|^TestCostOfReplays$$' -v ./integration/truth -args -cost -draws $(DRAWS) -rounds $(ROUNDS) -scale $(SF)

board: setup-test ## look at a board of twenty tiles with and without published tables (4 minutes)
	$(GO) test -count=1 -timeout 20m -run '^TestBoard$$' -v ./integration/bench -args -board

PEOPLE ?= 3000
corpora: setup-test ## ask what business tools, cohorts and star queries ask, and what hints suggest; compare with the truth (a minute)
	$(GO) test -count=1 -timeout 20m -run '^TestCorpora$$|^TestRefusals$$' -v ./integration/corpora -args -people $(PEOPLE)

limits: ## print how limits do on tables that their constants have not seen (15 minutes)
	$(GO) test -count=1 -timeout 60m -run '^TestStudy|^TestIntervalsWithAnEnd$$' -v ./contribution -args -study

local: ## measure the local model: questions that one object answers, coverage of estimates, 10,000,000 objects (20 minutes)
	$(GO) test -count=1 -timeout 30m -run '^TestMany$$' -v ./survey -args -objects 1000000
	$(GO) test -count=1 -timeout 30m -run '^TestMany$$' -v ./survey -args -objects 1 -surveys 200
	$(GO) test -count=1 -timeout 60m -run '^TestAcceptedQuestions$$|^TestRegressions$$' -v ./accountant/realized -args -runs 200
	$(GO) test -count=1 -timeout 60m -run '^TestCoverage$$' -v ./estimate/population -args -populations 1000
	$(GO) test -count=1 -timeout 60m -run '^TestMany$$' -v ./integration/local -args -people 10000000

generate: ## regenerate docs/errors.md
	$(GO) generate ./pgerr

bench: setup-test ## measure dpproxy against Postgres and pgbouncer on this machine
	@scripts/setup.sh bench
	$(GO) test -run '^$$' -bench . -benchtime 1s ./planner ./parser ./mechanisms ./accountant/logledger
	$(GO) test -count=1 -timeout 20m -run '^TestBench' -v ./integration/bench -args -bench

bench-noise: ## measure the noise beside Google's library, a module of its own
	cd bench && $(GO) test -count=1 -v -run '^TestTable$$' -benchtime 100ms .

bench-ledger: setup-test ## compare the ledgers with raw fsynced appends and a bare Redis
	DPPROXY_SPEED=10000 $(GO) test -count=1 -timeout 30m -run '^TestSpeed$$' -v ./accountant/redisledger

SF ?= 0.1
bench-tpch: setup-test ## ask TPC-H-derived queries of dpproxy and of Postgres: make bench-tpch SF=1
	$(GO) test -count=1 -timeout 60m -run '^TestBenchTPCH$$' -v ./integration/bench -args -tpch $(SF)

bench-plain: setup-test ## compare times with plain Postgres on 5,000,000 rows
	$(GO) test -count=1 -timeout 60m -run '^TestBenchPlainTime$$' -v ./integration/bench -args -plaintime 5000000

STATEMENTS ?= 1000000
bench-clinic: setup-test ## compare times of 35 statements with plain Postgres: make bench-clinic STATEMENTS=10000000
	$(GO) test -count=1 -timeout 120m -run '^TestBenchClinic$$' -v ./integration/bench -args -clinic $(STATEMENTS)

GROWTH ?= 10000000
growth: setup-test ## measure time and memory of reads of more and more rows, people and groups (half an hour)
	$(GO) test -count=1 -timeout 120m -run '^TestGrowth$$' -v ./integration/bench -args -growth $(GROWTH)

T ?= FuzzParse
P ?= ./parser
fuzz: setup-test ## fuzz one target: make fuzz P=./parser T=FuzzParse
	$(GO) test -run '^$$' -fuzz '^$(T)$$' -fuzztime 60s $(P)

SEED ?= 1
faults: setup-test ## break a shared ledger for long: make faults SEED=17
	$(GO) test -count=1 -timeout 20m -v ./accountant/faulttest -args -seed $(SEED) -seeds 5 -duration 15s -cuts 150

PAIRS ?= 20000
property: setup-test ## compare many random databases, plans for cliffs in time, and noise with its law: make property SEED=17 PAIRS=20000
	DPPROXY_SEED=$(SEED) DPPROXY_PAIRS=$(PAIRS) $(GO) test -count=1 -timeout 120m -v -run 'TestSensitivity|TestEquivalence|TestQuestions|TestNoCliff' ./integration/property
	DPPROXY_SEED=$(SEED) DPPROXY_PROOFS=100 $(GO) test -count=1 -timeout 60m -v -run '^TestProofs$$' ./planner/source
	DPPROXY_DRAWS=20000 $(GO) test -count=1 -timeout 20m -v -run '^(TestLaw|TestClockOfPairs)$$' ./integration/privacy -args -clock 20

GROUPS ?= 20000
groups: setup-test ## compare the public groups of many random statements with those of all rows that there can be: make groups SEED=17 GROUPS=20000
	DPPROXY_SEED=$(SEED) DPPROXY_GROUPS=$(GROUPS) $(GO) test -count=1 -timeout 0 -v -run '^TestRandomGroups$$' ./planner

CLOCK ?= 40
clock: setup-test ## measure what an attribute of one person adds to the time of joins (10 minutes; for the record, an hour: make clock CLOCK=200)
	$(GO) test -count=1 -timeout 60m -v -run '^TestClockOfPairs$$|^TestClockOfAskings$$' ./integration/privacy -args -clock $(CLOCK)

VARIANTS ?= 100000
splicing: setup-test ## compare random statements with plain Postgres: make splicing SEED=17 VARIANTS=100000
	DPPROXY_SEED=$(SEED) DPPROXY_VARIANTS=$(VARIANTS) $(GO) test -count=1 -timeout 120m -v -run TestSplicing ./integration/splicing
