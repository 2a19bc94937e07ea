# Heddle's few commands. `make demo` and `make test` work on a fresh Debian machine: they install what is missing.

PREFIX ?= /usr/local
CARGO_PATH := $(HOME)/.cargo/bin
export PATH := $(PATH):$(CARGO_PATH)

.PHONY: all setup build demo test loom rt-soak rt-tsan bench bench-enumerate bench-compare headline real soak install package

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

# The runtime's own programs, each 10,000 times under random delays, with conformance checked: half an hour on two idle cores.
rt-soak: setup
	HEDDLE_RT_RUNS=10000 cargo test --release --package heddle-rt --tests -- --test-threads=1

# The runtime and its programs under ThreadSanitizer, which knows neither C11 threads nor, here, the standard library.
rt-tsan: setup
	RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" \
	    cargo build --package heddle-rt --target x86_64-unknown-linux-gnu --target-dir target/tsan
	HEDDLE_RT_LIBRARY=$(CURDIR)/target/tsan/x86_64-unknown-linux-gnu/debug/libheddle_rt.a HEDDLE_RT_CFLAGS=-fsanitize=thread \
	    cargo test --package heddle-rt --test order --test primitives --test decisions --test timeouts -- --skip c11

# Every table that we claim anything from, in under 15 minutes on two idle cores: text here, page and JSON in bench/out.
# Subsets: make bench NAMES="blocklu radixtree" (programs, sources or classes), make bench ONLY=13 (tables by number).
NAMES ?=
ONLY ?=
bench: build
	target/release/heddle-bench tables $(NAMES) $(if $(ONLY),--only $(ONLY))

# The enumeration's own table: published figures, our bar, ours; then every archive enforced on 50 inputs under random delays.
bench-enumerate: build
	target/release/heddle-bench enumerate $(NAMES)

# What moved between two runs beyond noise: make bench-compare A=... B=..., files or beginnings of commits.
bench-compare: build
	target/release/heddle-bench compare $(A) $(B)

# The README's headline table from the newest run of `make bench`.
headline: build
	target/release/heddle-bench headline

# The road on projects of yours: HEDDLE_REAL is a folder of them, each with a heddle.toml (bench/src/tables/real.rs says what is in it).
real: build
	@test -n "$(HEDDLE_REAL)" || { echo "make real: set HEDDLE_REAL to a folder of projects, each with a heddle.toml"; exit 2; }
	target/release/heddle-bench real "$(HEDDLE_REAL)" $(NAMES)

# Generated programs with fresh seeds; failing ones are left in soak-failures/, made small.
MINUTES ?= 10
soak: build
	target/release/heddle-bench engine --programs 2000
	target/release/heddle-bench engine --paths --programs 200
	target/release/heddle-bench soak --minutes $(MINUTES)

install: build
	@scripts/install "$(PREFIX)"

# target/package/heddle_VERSION_amd64.deb
package: build
	@scripts/package target/package
