# `make demo` shows what it does; `make test` runs every check.

CARGO ?= cargo
OUT ?= out/demo

.PHONY: demo test bench reproduce

demo:
	$(CARGO) run --release --locked --quiet -- run scenarios/demo.toml --out $(OUT)

test:
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) test --workspace --locked
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --quiet

# Minutes each, so apart from the tests.
bench:
	$(CARGO) run --release --locked -p dovetail-bench

reproduce:
	$(CARGO) run --release --locked -- reproduce --out out/reproduce
