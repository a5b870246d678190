# Every target sets up what it needs; nothing is installed or built twice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
NATIVE := CMakeLists.txt $(wildcard */native/*.hpp */native/*.cpp)
PACKAGES := lattices fstmetrics decoding

# bytecode is kept: commands and tests start hundreds of interpreters, and each would compile us again
unexport PYTHONDONTWRITEBYTECODE

# the C++ compiler: CXX if it is set, else what the machine has, else zig's from PyPI
ifeq ($(origin CXX),default)
CXX := $(firstword $(foreach each,c++ g++ clang++,$(shell command -v $(each) 2>/dev/null)))
endif
ifeq ($(strip $(CXX)),)
ZIG := ziglang
TOOLS := $(abspath $(VENV))/zig
BUILD := CXX=$(TOOLS)/c++ CMAKE_ARGS="-DCMAKE_AR=$(TOOLS)/ar -DCMAKE_RANLIB=$(TOOLS)/ranlib -DFSTMETRICS_DISPATCH=OFF"
else
BUILD := CXX="$(CXX)"
endif
BUILD += PATH="$(abspath $(BIN)):$$PATH"

.PHONY: demo test lint browser bench oracle-bench conformance baseline baseline-long soak peers doors examples docs \
	drawings try paper stopwatch fuzz sanitize dist fresh platforms stubs clean

demo: $(VENV)/.built
	$(BIN)/fstmetrics demo

test: lint
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/.dev $(VENV)/.built
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(filter-out CMakeLists.txt,$(NATIVE))
	$(BUILD) cmake -S . -B build/lint -G Ninja -DCMAKE_BUILD_TYPE=Debug -DFSTMETRICS_WERROR=ON \
		-DPython_EXECUTABLE=$(abspath $(BIN))/python > build/lint.log || (cat build/lint.log; false)
	$(BUILD) cmake --build build/lint
	$(BIN)/mypy

# the report page in a real browser, which must be there, and the pictures of it in the documentation
browser: $(VENV)/.dev $(VENV)/.built
	FSTMETRICS_BROWSER=required FSTMETRICS_PICTURES=docs/images \
		$(BIN)/python -m pytest -p no:cacheprovider tests/decoding/report/test_browser.py

# all of it, or make bench SECTIONS="starting memory"
SECTIONS ?=
bench: $(VENV)/.dev $(VENV)/.built
	$(BIN)/python -m benchmarks $(SECTIONS)

# the oracle bench: spaces of up to so many arcs, answers of what is installed, and their check
MOST ?= 1000
oracle-bench: $(VENV)/.dev $(VENV)/.built
	$(BIN)/python benchmarks/oracle-bench/make.py build/oracle-bench --most $(MOST)
	$(BIN)/python benchmarks/oracle-bench/run.py build/oracle-bench -o build/oracle-bench/answers --most $(MOST) \
		> build/oracle-bench/table.tsv
	$(BIN)/python benchmarks/oracle-bench/compare.py build/oracle-bench build/oracle-bench/answers \
		build/oracle-bench/table.tsv
	for tool in build/oracle-bench/answers-*.tsv; do \
		$(BIN)/python benchmarks/oracle-bench/check.py build/oracle-bench $$tool || exit 1; done

# the files of the interchange format, read by the library and by the reader in JavaScript
conformance: $(VENV)/.dev $(VENV)/.built
	$(BIN)/python -m pytest tests/lattices/formats/test_conformance.py

# the last version with numba, in an environment of its own, for `make bench` to measure beside
baseline: $(VENV)/.dev $(VENV)/.built
	$(BIN)/python -m benchmarks.versions --install

# the version before long lattices, for the section `long` to measure beside
baseline-long: $(VENV)/.dev $(VENV)/.built
	$(BIN)/python -m benchmarks.long_spaces --install

# mixed calls on four threads: memory must stay flat, and answers the same; SECONDS=60 for a try
SECONDS ?= 1800
soak: $(VENV)/.dev $(VENV)/.built
	$(BIN)/python -m tests.soak --seconds $(SECONDS)

# other tools, in an environment of their own; mbrs is measured, too, but brings several GB of torch
PEERS ?= fastchrf
peers: $(VENV)/.dev $(VENV)/.built
	$(BIN)/python -m benchmarks.mbr --install $(PEERS)

# tests with the objects of real decoders, in an environment over the first that has them all: several GB.
# There a test that is skipped has failed; other files are not even collected, since numpy is another
doors: $(VENV)/.built $(VENV)-doors/.installed
	FSTMETRICS_NO_SKIPS=1 $(VENV)-doors/bin/python -m pytest -p no:cacheprovider -m door \
		$$(grep -rl --include='test_*.py' 'mark\.door' tests)

$(VENV)-doors/.installed: $(VENV)/.dev
	$(PYTHON) -m venv $(VENV)-doors
	$(BIN)/python -c "import sysconfig; print('import site; site.addsitedir(%r)' % sysconfig.get_path('purelib'))" \
		> $$($(VENV)-doors/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/base.pth
	$(BIN)/python -c "import sys; toml = __import__('tomllib' if sys.version_info > (3, 11) else 'tomli'); \
		print(*toml.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['doors'], sep='\n')" \
		> $(VENV)-doors/requirements.txt
	$(VENV)-doors/bin/python -m pip install --quiet --disable-pip-version-check -r $(VENV)-doors/requirements.txt
	touch $@

# in an environment beside the first that sees its packages; make examples EXAMPLES=translation is
# one more, which brings several GB of torch
EXAMPLES ?= ctc kaldi speech distributed
examples: $(VENV)/.dev $(VENV)/.built
	@[ -d $(VENV)-examples ] || $(PYTHON) -m venv $(VENV)-examples
	@$(BIN)/python -c "import sysconfig; print('import site; site.addsitedir(%r)' % sysconfig.get_path('purelib'))" \
		> $$($(VENV)-examples/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/base.pth
	@for each in $(EXAMPLES); do \
		needs=examples/$$each/requirements.txt; \
		if [ -f $$needs ] && ! $(VENV)-examples/bin/python -m pip install --quiet \
			--disable-pip-version-check -r $$needs; then \
			echo "== $$each: left out, its packages do not install here"; continue; fi; \
		echo "== $$each"; mkdir -p build/examples; \
		(cd build/examples && $(abspath $(VENV))-examples/bin/python ../../examples/$$each/run.py) || exit 1; \
	done

# pages are written by hand, tutorials are run, pictures are drawn; a warning is an error
docs: $(VENV)/.docs $(VENV)/.built
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# the drawings that README and docs show
drawings: $(VENV)/.built
	$(BIN)/python docs/make/drawings.py

# the page on which lattices are tried in the browser; its search is compiled by zig for WebAssembly
try: $(VENV)/.built
	$(PIP) ziglang
	$(BIN)/python docs/make/try/build.py

# the technical report, with the numbers of the experiment pages
paper: $(VENV)/.built
	$(PIP) typst pypandoc_binary
	$(BIN)/python docs/paper/build.py build/paper/report.pdf

# the quick start, typed as it stands in a fresh environment with the wheel of `make dist`
stopwatch: dist
	$(PYTHON) docs/make/stopwatch.py dist/*.whl

# for each format, and for references and symbol tables
SECONDS ?= 10
FORMATS ?=

fuzz: $(VENV)/.fuzz $(VENV)/.built
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(FORMATS)

# the types of the native functions, for mypy; a test says when they are stale
stubs: $(VENV)/.built
	for package in $(PACKAGES); do \
		$(BIN)/python -m nanobind.stubgen -q -m $$package._native -o $$package/_native.pyi; done

# address and undefined-behaviour sanitizers, in an environment beside the first that shares its packages
SANITIZED := tests/laws tests/lattices tests/fstmetrics tests/golden
sanitize: $(VENV)/.dev $(VENV)/.built
	$(PYTHON) -m venv --without-pip $(VENV)-sanitize
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
		> $$($(VENV)-sanitize/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/base.pth
	$(BUILD) $(VENV)-sanitize/bin/python -m pip install --quiet --disable-pip-version-check \
		--no-build-isolation --no-deps --editable . -C build-dir=build/sanitize \
		-C cmake.define.FSTMETRICS_SANITIZE=ON -C cmake.define.FSTMETRICS_DISPATCH=OFF
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
		$(VENV)-sanitize/bin/python -m pytest -n 2 -p no:cacheprovider $(SANITIZED)

# the wheel is built from the sdist; no development packages are needed
dist: $(VENV)/.tools
	rm -rf dist
	$(PIP) 'build>=1.0' 'twine>=5.1'
	$(BUILD) $(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m twine check --strict dist/*

# the wheel in an environment of its own, read-only and without a home; writes docs/experiments/install.md
fresh: dist $(VENV)/.built
	$(BIN)/python -m benchmarks.install

# a wheel for each Python that this machine has or debootstrap can bring (as root; arm64 under qemu),
# installed and tested; ONLY="3.13 arm64": some places; PART=tests: all tests
ONLY ?=
PART ?=
platforms: $(VENV)/.built
	$(BIN)/python -m benchmarks.platforms $(if $(ONLY),--only $(ONLY)) $(if $(PART),--part $(PART))

clean:
	rm -rf $(VENV) $(VENV)-sanitize $(VENV)-b8e52fd $(VENV)-peers $(VENV)-examples $(VENV)-doors site build dist *.egg-info

# the environment, and what building needs
$(VENV)/.tools: pyproject.toml
	@$(PYTHON) -c "import os, sys, sysconfig as s; p = os.path.join(s.get_path('include'), 'Python.h'); \
		os.path.exists(p) or sys.exit(p + ' is missing: install the headers of Python ' \
		'(python3-dev on Debian and Ubuntu, python3-devel on Fedora)')"
	$(PYTHON) -m venv $(VENV)
	$(PIP) 'scikit-build-core>=0.10' 'nanobind>=2.4' cmake ninja $(ZIG)
	@if [ -n "$(ZIG)" ]; then mkdir -p $(VENV)/zig; for tool in c++ ar ranlib; do \
		flags=; [ $$tool != c++ ] || flags=-mcpu=baseline; \
		printf '#!/bin/sh\nexec "%s" -m ziglang %s %s "$$@"\n' "$(abspath $(BIN))/python" $$tool $$flags > $(VENV)/zig/$$tool; \
		chmod +x $(VENV)/zig/$$tool; done; fi
	touch $@

# the package with what it needs to run; built again when a native source has changed
$(VENV)/.built: $(VENV)/.tools $(NATIVE)
	$(BUILD) $(PIP) --no-build-isolation --editable .
	touch $@

$(VENV)/.dev $(VENV)/.docs $(VENV)/.fuzz: $(VENV)/.%: $(VENV)/.tools
	$(BUILD) $(PIP) --no-build-isolation --editable '.[dev,$*]'
	touch $@ $(VENV)/.built
