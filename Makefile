# `make demo` shows what it does; `make test` runs every check.

CARGO ?= cargo
OUT ?= out/demo
FUZZ_SECONDS ?= 600

.PHONY: demo test documents book search soak bench budget throughput ns2 others dummynet example reproduce pages \
	causes falsify breaks lab fuzz fuzz-merge rust c install-c

demo: rust
	@echo "Building takes some minutes the first time."
	$(CARGO) build --release --locked
	$(CARGO) run --release --locked --quiet -- run scenarios/demo.toml --out $(OUT)
	@echo
	@echo "The picture of it: $(OUT)/overview.svg. What it shows: README.md. Your own traffic: docs/tutorial/capture.md"

# What is missing on a machine without Rust, and the one command that helps.
rust:
	@command -v $(CARGO) >/dev/null || { \
	  echo "missing: Rust 1.95 or newer. One command installs it:"; \
	  echo "  on Debian 12: sudo apt install rustc-web cargo-web gcc"; \
	  echo "  elsewhere:    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"; \
	  echo "then repeat: make $(or $(firstword $(MAKECMDGOALS)),demo)"; exit 1; }

# The last line says how many tests ran, and why others did not.
test: rust
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy -p dovetail-cli --no-default-features --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --quiet
	$(CARGO) run --quiet --locked -p dovetail-checks

# The outputs and pictures that README and book show, written anew. The tests compare them.
documents: rust
	DOVETAIL_WRITE=1 $(CARGO) test --locked -p dovetail-cli --test documents commands_of_the_documents
	DOVETAIL_WRITE=1 $(CARGO) test --locked -p dovetail-python --test package

# The book, with index and search, in book/index.html.
book:
	@command -v mdbook >/dev/null || { echo "missing: cargo install mdbook --locked"; exit 1; }
	mdbook build docs
	@echo "open book/index.html"

# The schedulers for programs in C: libdovetail.a and libdovetail.so in target/release, also where cargo has another
# target folder, and crates/c/include/dovetail.h. Who installs them need not have cargo.
c: rust
	$(CARGO) build --release --locked -p dovetail-c --target-dir target

# What `make c` has built, for every program of this machine, which ldconfig tells of it: sudo make install-c
PREFIX ?= /usr/local
install-c:
	@test -f target/release/libdovetail.so || { echo "missing: make c"; exit 1; }
	install -d "$(DESTDIR)$(PREFIX)/include" "$(DESTDIR)$(PREFIX)/lib/pkgconfig"
	install -m 644 crates/c/include/dovetail.h "$(DESTDIR)$(PREFIX)/include"
	install -m 644 target/release/libdovetail.a "$(DESTDIR)$(PREFIX)/lib"
	install -m 755 target/release/libdovetail.so "$(DESTDIR)$(PREFIX)/lib/libdovetail.so.0"
	ln -sf libdovetail.so.0 "$(DESTDIR)$(PREFIX)/lib/libdovetail.so"
	sed 's|@PREFIX@|$(PREFIX)|' crates/c/dovetail.pc.in > "$(DESTDIR)$(PREFIX)/lib/pkgconfig/dovetail.pc"
	@test -n "$(DESTDIR)" || test "$$(id -u)" != 0 || ldconfig

# Minutes each, so apart from the tests.
# The bounds of MR3, GMR3 and drgps, held against millions of random and adversarial packets; what a flow can gain by
# playing, as a table of disciplines and strategies; and the longest call with a million flows, by steps, which only
# builds with debug assertions count.
search:
	$(CARGO) test --profile search --locked -p dovetail-testkit -- --ignored --nocapture --skip without_a_remedy
	$(CARGO) test --locked -p dovetail-testkit --test longest_call -- --ignored --nocapture

# Ten minutes of bad treatment of the live box, in network namespaces of its own; needs root.
soak:
	$(CARGO) run --release --locked -- lab soak

bench:
	$(CARGO) run --release --locked -p dovetail-bench
	$(CARGO) run --release --locked -p dovetail-bench -- --calls

# Instructions and misses per packet of every discipline, against crates/bench/budgets.txt. Five minutes.
budget:
	@command -v valgrind >/dev/null || { echo "missing: valgrind (Debian package valgrind)"; exit 1; }
	$(CARGO) build --release --locked -p dovetail-bench
	$(CARGO) run --release --locked --quiet -p dovetail-bench --bin budget

# Frames per second of the live box beside the kernel's router, and what each step costs. Needs root, and two
# processors with nothing else to do.
throughput:
	@[ "$$(id -u)" = 0 ] || { echo 'needs root, for namespaces: sudo env "PATH=$$PATH" make throughput'; exit 1; }
	@command -v ethtool >/dev/null || { echo "missing: ethtool (Debian package ethtool)"; exit 1; }
	$(CARGO) run --release --locked -p dovetail-dataplane --example throughput

# Beside ns-2 itself, which it installs where it can: the senders, the dumbbell over five seeds, and the speed.
ns2:
	@command -v ns >/dev/null || apt-get install -y ns2 || { echo "missing: ns-2 (Debian package ns2, installed by root)"; exit 1; }
	$(CARGO) test --release --locked -p dovetail-tcp --test ns2 -- --include-ignored --nocapture
	$(CARGO) test --release --locked -p dovetail-sim --test dumbbell -- --include-ignored --nocapture --test-threads 1
	$(CARGO) run --release --locked -p dovetail-bench --bin beside-ns2

# The crate with a discipline of its own, outside of the workspace: its tests, and all that builds on them.
example: rust
	$(CARGO) test --locked -p dovetail-cli --test outside -- --include-ignored

# Beside ns.py and ns-3, where they are installed.
others:
	$(CARGO) build --release --locked -p dovetail-cli
	python3 crates/bench/others/beside.py
	python3 crates/bench/others/causes.py

# dummynet's FIFO, DRR and QFQ in the loop of `make bench`: nanoseconds to hold it against.
DUMMYNET ?= dummynet
dummynet:
	sh crates/bench/others/dummynet.sh "$(DUMMYNET)"

reproduce:
	$(CARGO) run --release --locked -- reproduce --out out/reproduce

# The tables of claims in docs/reproductions, by what `make reproduce` has found.
pages:
	CHECKS=out/reproduce/checks.json $(CARGO) test --release --locked -p dovetail-papers --lib the_tables_are_written -- --ignored

# Why some numbers of the papers do not come out, by models that share nothing with ours.
causes:
	$(CARGO) test --release --locked -p dovetail-testkit --test shares_direct --test mixtures_direct --test reno_direct \
		--test sabrina_direct -- --include-ignored

# Every claim once under wrong disciplines, where it must fail or say why it cannot. CLAIMS="pcfq cbcs" is a part of them.
falsify:
	$(CARGO) test --release --locked -p dovetail-papers --lib under_wrong_disciplines -- --ignored

# Each remedy of crates/testkit/tests/breaks.toml taken away once, which its test must notice. BREAKS="drgps" is a part.
breaks:
	$(CARGO) test --locked -p dovetail-testkit --test breaks -- --include-ignored --nocapture

# The experiments on real packets, in network namespaces of their own: eight minutes, on two idle cores.
LAB = $(CARGO) run --release --locked --quiet -- lab run --name make
lab:
	@if [ "$$(id -u)" != 0 ]; then echo "skipped: the lab is made of network namespaces, which needs root: sudo make lab"; \
	else $(CARGO) build --release --locked && $(MAKE) --no-print-directory lab-run; fi

.PHONY: lab-run
lab-run:
	$(LAB) click --predict
	$(LAB) steer
	$(LAB) elephants --predict
	$(LAB) gateway --predict
	$(LAB) tcp-drq
	$(LAB) tcp-drq --set lab.ecn=false
	$(LAB) gateway-real
	$(CARGO) run --release --locked --quiet -- lab flood --name make

# Coverage-guided; needs a nightly compiler and cargo-fuzz, which nothing else does. New inputs go to fuzz/found.
FUZZ = cargo +nightly fuzz run --sanitizer none operations
fuzz fuzz-merge:
	@cargo +nightly --version >/dev/null 2>&1 || { echo "missing: rustup toolchain install nightly"; exit 1; }
	@cargo fuzz --version >/dev/null 2>&1 || { echo "missing: cargo install cargo-fuzz --locked"; exit 1; }
	mkdir -p fuzz/found
	$(FUZZ_COMMAND)

fuzz: FUZZ_COMMAND = $(FUZZ) fuzz/found fuzz/corpus/operations -- -max_total_time=$(FUZZ_SECONDS) -max_len=1200 -len_control=0
# Keep of what was found what covers something new.
fuzz-merge: FUZZ_COMMAND = $(FUZZ) fuzz/corpus/operations fuzz/found -- -merge=1
