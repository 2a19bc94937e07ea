# Heddle's few commands. `make demo` and `make test` work on a fresh Debian machine: they install what is missing.

PREFIX ?= /usr/local
CARGO_PATH := $(HOME)/.cargo/bin
export PATH := $(PATH):$(CARGO_PATH)

.PHONY: all setup build demo test loom bench install

all: build

setup: ; @scripts/setup

# The command and, beside it, the static library that `heddle build` links into programs.
build: setup
	cargo build --release --workspace

# A tour of what Heddle does, on an example.
demo: build
	@scripts/demo

test:
	@scripts/setup tests
	@scripts/test

# The runtime's protocol under a model checker: every order of steps, some minutes.
loom: setup
	CARGO_TARGET_DIR=target/loom RUSTFLAGS="--cfg loom" cargo test --package heddle-rt --lib --release

bench: build
	cargo run --release --package heddle-bench --

install: build
	@scripts/install "$(PREFIX)"
