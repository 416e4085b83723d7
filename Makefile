PREFIX     ?= /usr/local
LIBEXECDIR ?= $(PREFIX)/libexec
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
ZSHDIR     ?= $(DATADIR)/zsh/site-functions
BOOTDIR    ?= $(PREFIX)/lib
DESTDIR    ?=

MODULE   := github.com/riverlytech/art
BIN      ?= .build/bin
PROGRAMS ?= ./cmd/...
RACE     ?=
VERSION  := $(shell internal/packaging/version)
STRIP    ?=
LDFLAGS  := $(STRIP) -X $(MODULE)/internal/version.Version=$(VERSION) -X $(MODULE)/libexec.Dir=$(LIBEXECDIR)/art

# Tools have a module of their own, since art needs none of the hundreds that they are made of.
TOOL := go tool -modfile=internal/tools/go.mod

# One C-free, relocatable build for every target; only the race detector needs C.
export CGO_ENABLED := 0

.PHONY: build demo test test-long tested test-agents test-clients test-otel test-s3 load test-container test-arm64 fuzz cover lint bench install packages clean help

build: ## Build the programs into .build/bin (static)
	@mkdir -p $(BIN)
	go build $(RACE) -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $(BIN)/ $(PROGRAMS)

demo: build ## Run a short overlay session and show what it did
	@internal/packaging/deps demo
	@internal/packaging/demo $(BIN)

# Where the programs under test and the compiled tests are. They know no installed helpers. In race, those programs
# that have many goroutines are built for the race detector.
TESTED := .build/test
# SQLite is C that was translated to Go: under the race detector it takes fifteen times as long, and shows it nothing, since
# a connection is one goroutine's at a time. Neither does what one goroutine does alone.
RACE_DETECTOR := -race -gcflags=github.com/ncruces/go-sqlite3-wasm/v6=-race=false
ALONE := Repair|Hostile|Refused|Check|Making|Patterns|Fuzz|Damaged|Layout|Migration|Snapshot|Model|SDK|LastName|Random|EndsWithin|Killed|NoEdit|Aspect|Errors|Deep|Like|Large|PowerCuts|Stories
# Packages with goroutines, or with something for those of others.
CONCURRENT = $(shell grep -rlE '^\s*go [a-z]|\<(sync|atomic)\.[A-Z]' --include='*.go' --exclude='*_test.go' cmd fs internal sqlvfs trace | xargs -n 1 dirname | sort -u | grep -vE '^internal/(bench|e2e|packaging)' | sed 's|^|$(MODULE)/|')
test: tested ## Run every test once: of packages with goroutines under the race detector, and stories as three users
	CGO_ENABLED=1 go test $(RACE_DETECTOR) -timeout 40m -short -vet=off -skip '$(ALONE)' $(CONCURRENT)
	go test -timeout 40m -short -vet=off -run '$(ALONE)' $(CONCURRENT)
	go test -timeout 40m -short -vet=off $$(go list ./... | grep -v '/internal/e2e$$' | grep -vxF "$$(printf '%s\n' $(CONCURRENT))")
	internal/packaging/passes $(TESTED)

test-long: tested ## Run also what takes long, and all stories as each user (under an hour; nightly)
	CGO_ENABLED=1 go test $(RACE_DETECTOR) -timeout 40m -short -vet=off -skip '$(ALONE)' $(CONCURRENT)
	ART_TEST_BIN=$(CURDIR)/$(TESTED)/bin go test -p 1 -timeout 30m -vet=off ./...
	ART_TEST_LONG=1 internal/packaging/passes $(TESTED)

tested:
	internal/packaging/deps test
	rm -rf $(TESTED)
	$(MAKE) --no-print-directory build BIN=$(TESTED)/bin PREFIX=/nonexistent
	cp -r $(TESTED)/bin $(TESTED)/race
	$(MAKE) --no-print-directory build BIN=$(TESTED)/race PREFIX=/nonexistent CGO_ENABLED=1 RACE='$(RACE_DETECTOR)' PROGRAMS='./cmd/art-fuse ./cmd/art-sync'
	go test -c -o $(TESTED)/ ./internal/e2e ./internal/posix ./fs ./fs/wire

# The agents take 3 GiB, and network to come from. AGENTS_RUNS=5 gives better times.
AGENTS      ?= $(CURDIR)/.build/agents
AGENTS_RUNS ?= 1
test-agents: ## Install six real agents below .build/agents, and run each in art, without their models
	internal/packaging/deps agents
	$(MAKE) --no-print-directory build BIN=$(TESTED)/bin PREFIX=/nonexistent
	internal/e2e/agents/install '$(AGENTS)'
	ART_TEST_BIN=$(CURDIR)/$(TESTED)/bin ART_TEST_AGENTS='$(AGENTS)' ART_TEST_AGENTS_RUNS=$(AGENTS_RUNS) go test -count 1 -v -timeout 60m ./internal/e2e/agents

test-clients: ## Run twelve network programs, from curl to Chromium, in sessions that may reach one name, and look at a page (as root)
	internal/packaging/deps clients
	$(MAKE) --no-print-directory build BIN=$(TESTED)/bin PREFIX=/nonexistent
	ART_TEST_BIN=$(CURDIR)/$(TESTED)/bin ART_TEST_CLIENTS=1 go test -count 1 -v $(if $(BENCH),-run '^$$' -bench '$(BENCH)' -benchtime 5x) ./internal/e2e/clients

test-otel: ## Build a collector of OpenTelemetry, and send it what happens in a session, as docs/examples/otel does
	internal/packaging/deps demo
	$(MAKE) --no-print-directory build BIN=$(TESTED)/bin PREFIX=/nonexistent
	ART_TEST_BIN=$(CURDIR)/$(TESTED)/bin ART_TEST_OTEL=1 go test -count 1 -v ./internal/e2e/otel

test-s3: ## Build a store that speaks S3, and copy databases to it while it comes and goes
	internal/packaging/deps demo
	$(MAKE) --no-print-directory build BIN=$(TESTED)/bin PREFIX=/nonexistent
	ART_TEST_BIN=$(CURDIR)/$(TESTED)/bin ART_TEST_S3=1 go test -count 1 -v ./internal/e2e/store

# LOAD='-n 12 -at-once 4' is a short one, and LOAD=-help tells what else there is.
LOAD ?=
load: build ## Run 200 sessions, 50 at once, whose databases are copied to one store, and measure them (10 minutes; as root it sees most)
	internal/packaging/deps demo
	cd internal/e2e/store/gateway && go build -o $(CURDIR)/.build/versitygw github.com/versity/versitygw/cmd/versitygw
	go run ./internal/exercise/load -bin $(BIN) -gateway .build/versitygw $(LOAD)

test-container: ## Run sessions in a container of podman, as docs/examples/Containerfile says (as root)
	internal/packaging/deps container
	$(MAKE) --no-print-directory build BIN=$(TESTED)/bin PREFIX=/nonexistent
	ART_TEST_BIN=$(CURDIR)/$(TESTED)/bin ART_TEST_CONTAINER=1 go test -count 1 -v ./internal/e2e/container

# qemu-user stands in for a machine, but neither for its kernel (version 7 knows no
# openat2, and nothing of ptrace or seccomp) nor for programs that a test starts. What differs
# between architectures, the numbers and arguments of system calls, is among these.
ON_ARM64 := ./libexec ./internal/cli ./internal/config ./internal/dotenv ./internal/seccomp ./internal/control \
	./internal/reconcile/held ./internal/reconcile/patch ./internal/quote ./internal/syscalls \
	./trace/decode ./trace/policy $(addprefix ./internal/trace/,output redact report)
NOT_ON_ARM64 := Binds|OpenHost|ReadWorkspace|Trust|Strace|TestInstall|TestServe|TestTable|TestKernels|TestInterrupted
test-arm64: ## Vet for arm64, and run the tests that qemu-user can
	internal/packaging/deps arm64
	GOARCH=arm64 go vet ./...
	GOARCH=arm64 go test -short -vet=off -exec qemu-aarch64 -skip '$(NOT_ON_ARM64)' $(ON_ARM64)
	GOARCH=arm64 go test -vet=off -exec qemu-aarch64 -run '^TestClone$$' ./internal/spawn

FUZZTIME ?= 10s
fuzz: ## Run each fuzz test for FUZZTIME (10s)
	@grep -rE '^func Fuzz' --include='*_test.go' . | sed 's|/[^/]*:func \(Fuzz[A-Za-z]*\).*| \1|' | sort | while read -r package target; do \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package || exit 1; \
	done

# Programs that start themselves warn, when they are built for this, where their
# tests allow no word more.
NOT_COVERED := /internal/(e2e|posix)$$|/cmd/art(-sync)?$$
cover: ## Measure what the unit tests run; .build/cover.html shows it
	@mkdir -p .build
	go test -short -coverpkg ./... -coverprofile .build/cover.out $$(go list ./... | grep -vE '$(NOT_COVERED)')
	go tool cover -html .build/cover.out -o .build/cover.html
	go tool cover -func .build/cover.out | tail -n 1

# .golangci.yml says what, among it vet and staticcheck, and what not, each with its reason. The tool is built the first
# time, which takes some minutes.
lint: ## Check formatting, and what golangci-lint finds
	@unformatted=$$(gofmt -l cmd fs internal libexec sqlvfs trace); if [ -n "$$unformatted" ]; then echo "gofmt needed:"; echo "$$unformatted"; exit 1; fi
	$(TOOL) golangci-lint run ./...

# BENCH=-help tells what else can be asked for, such as BENCH='-run git -n 1'. docs/speed.md shows .build/bench.svg, and
# internal/bench/results.txt is .build/results.txt.
BENCH ?=
bench: build ## Measure art against the host's file system and other overlays; then single parts (25 minutes)
	@internal/packaging/deps bench
	@rm -f .build/bench.txt
	go run ./internal/bench -bin $(BIN) -o .build/bench.txt -svg .build/bench.svg $(BENCH)
	@[ ! -s .build/bench.txt ] || $(TOOL) benchstat -confidence 0.9 -col '/system@(overlayfs host fuse-overlayfs libfuse libfuse-device art art-device)' .build/bench.txt | tee .build/results.txt
	go test -p 1 -run '^$$' -bench . $$(grep -lr '^func Benchmark' --include='*_test.go' . | xargs -n 1 dirname | sort -u)

# The helpers are art's own, so they go where a shell does not look; those that
# people use by themselves too are linked into bin. sudo often drops Go from
# PATH: then what `make build` left is installed.
HELPERS := art-fuse art-sync art-trace
HIDDEN := art-net art-replicate
install: ## Install under PREFIX (/usr/local), honours DESTDIR, LIBEXECDIR, MANDIR and BOOTDIR
	@if command -v go >/dev/null; then $(MAKE) --no-print-directory build; \
	elif [ ! -x $(BIN)/art ]; then echo "make: nothing is built and go is not in PATH: run make build first" >&2; exit 1; fi
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(LIBEXECDIR)/art'
	install -m 755 $(BIN)/art '$(DESTDIR)$(PREFIX)/bin/art'
	install -m 755 $(HELPERS:%=$(BIN)/%) $(HIDDEN:%=$(BIN)/%) '$(DESTDIR)$(LIBEXECDIR)/art/'
	ln -srf $(HELPERS:%='$(DESTDIR)$(LIBEXECDIR)/art/%') '$(DESTDIR)$(PREFIX)/bin/'
	internal/packaging/data '$(DESTDIR)$(DATADIR)' '$(DESTDIR)$(MANDIR)' '$(DESTDIR)$(ZSHDIR)' '$(DESTDIR)$(BOOTDIR)'

packages: ## Make .deb, .rpm and .tar.gz for amd64 and arm64, with checksums, in .build/packages
	internal/packaging/packages .build/packages

clean: ## Remove what was built
	rm -rf .build

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
