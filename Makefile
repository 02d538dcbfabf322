# Builds, tests and installs pcp, prm and libpfu. GNU make, nothing to configure: `make help` lists the targets.
#
# Objects of each variant (plain, DEBUG=1, SANITIZE=...) have a directory of their own below build/, so switching back
# and forth compiles nothing twice; bin/, lib/ and build/tests/ always hold the variant that was asked for last.

VERSION        := 0.1.0

PREFIX         ?= /usr/local
PROGRAM_PREFIX ?=
bindir         ?= $(PREFIX)/bin
libdir         ?= $(PREFIX)/lib
includedir     ?= $(PREFIX)/include
datadir        ?= $(PREFIX)/share
mandir         ?= $(datadir)/man
# Where each shell looks for completions by itself.
bashcompdir    ?= $(datadir)/bash-completion/completions
zshcompdir     ?= $(datadir)/zsh/site-functions
fishcompdir    ?= $(datadir)/fish/vendor_completions.d

SANITIZE       ?=
DEBUG          ?=
WERROR         ?=

PKG_CONFIG     ?= pkg-config
CLANG_TIDY     ?= clang-tidy
CLANG_FORMAT   ?= clang-format
INSTALL        ?= install
# How many command tests run side by side, and for how many seconds each differential test, and each of faults, goes on trying.
TEST_JOBS      ?= $(shell nproc)
DIFF_SECONDS   ?= 60
FAULT_SECONDS  ?= 30
# How long `make fuzz` tries each target.
FUZZ_SECONDS   ?= 60
FUZZ_CC        ?= clang
# `make check-cmd T="tests/cmd/links.t"` runs a selection. Without one, those that say `# sanitizers: no` (they measure time,
# memory or system calls, or take long) are left out where a sanitizer is in.
T              ?= $(if $(SANITIZE),$(shell grep -L '^\# sanitizers: no' tests/cmd/*.t),$(wildcard tests/cmd/*.t))
D              ?= $(wildcard tests/diff/*.t)

.DEFAULT_GOAL  := all
.DELETE_ON_ERROR:
MAKEFLAGS      += --no-builtin-rules
.SUFFIXES:

# V=1 shows whole commands; otherwise a short line stands for each.
V              ?=
short           = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)';)

comma          := ,
empty          :=
space          := $(empty) $(empty)

# --- The variant ----------------------------------------------------------------------------------------------------

BUILD_VARIANT := $(or $(subst $(comma),-,$(subst $(space),,$(SANITIZE))),plain)$(if $(DEBUG),-debug)
O       := build/obj-$(BUILD_VARIANT)

# What the compiler and the machine offer, found out once for each compiler.
PROBE := build/probe-$(subst /,_,$(subst $(space),_,$(CC))).mk
NO_BUILD_GOALS := clean help deps format
ifneq ($(filter-out $(NO_BUILD_GOALS),$(or $(MAKECMDGOALS),all)),)
-include $(PROBE)
endif

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wvla -Wformat=2 \
	-Wundef -Wpointer-arith -Wwrite-strings -Wcast-qual -Wnull-dereference -Wimplicit-fallthrough
WARNINGS += $(if $(WERROR),-Werror)

ifneq ($(SANITIZE),)
OPTIMIZE := -O1 -g -fno-omit-frame-pointer -fsanitize=$(SANITIZE) -fno-sanitize-recover=all
LINK     := -fsanitize=$(SANITIZE)
else ifneq ($(DEBUG),)
OPTIMIZE := -Og -g3 -fno-omit-frame-pointer $(PROBED_HARDEN)
else
OPTIMIZE := -O2 -g $(PROBED_FORTIFY) $(PROBED_HARDEN)
endif
ifneq ($(DEBUG),)
OPTIMIZE += -DPFU_DEBUG=1
endif

CPPFLAGS_ALL = -D_GNU_SOURCE= -D_FILE_OFFSET_BITS=64 -DPFU_VERSION='"$(VERSION)"' \
	-Iinclude -Isrc -Isrc/lib $(CPPFLAGS)
CFLAGS_ALL   = -std=gnu11 $(OPTIMIZE) -pthread -fPIE $(WARNINGS) $(CFLAGS)
LDFLAGS_ALL  = $(LINK) -pthread $(PROBED_LDFLAGS) $(LDFLAGS)
COMPILE      = $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL)

# --- What there is to build -----------------------------------------------------------------------------------------

LIB_SRC    := $(sort $(wildcard src/lib/*.c))
MAIN_SRC   := $(sort $(wildcard src/pcp.c src/prm.c))
SHARED_SRC := $(sort $(filter-out $(MAIN_SRC),$(wildcard src/*.c)))
UNIT_SRC   := $(sort $(wildcard tests/unit/*.c))
SHIM_SRC   := $(sort $(wildcard tests/tools/*shim.c))
TOOL_SRC   := $(sort $(filter-out $(SHIM_SRC),$(wildcard tests/tools/*.c)))
FUZZ_SRC   := $(sort $(filter-out %/driver.c,$(wildcard tests/fuzz/*.c)))
# fsbench is one program of several sources; what else is in bench/ is a program each.
FSBENCH_SRC := $(sort $(wildcard bench/fsbench*.c))
BENCH_SRC  := $(sort $(filter-out $(FSBENCH_SRC),$(wildcard bench/*.c)))
HEADERS    := $(sort $(wildcard include/pfu/*.h))

PROGRAMS   := $(MAIN_SRC:src/%.c=bin/%)
LIBRARY    := lib/libpfu.a
UNIT       := $(UNIT_SRC:tests/unit/%.c=build/tests/unit/%)
FUZZ       := $(FUZZ_SRC:tests/fuzz/%.c=build/tests/fuzz/%)
SHIMS      := $(SHIM_SRC:tests/tools/%.c=build/tests/%.so)
TOOLS      := $(TOOL_SRC:tests/tools/%.c=build/tests/%)
BENCH      := $(BENCH_SRC:bench/%.c=build/bench/%)
FSBENCH    := $(if $(FSBENCH_SRC),build/bench/fsbench)

# A test tool or benchmark that includes a header of libfuse is built with it, and left out where there is none.
FUSE_SRC := $(if $(TOOL_SRC)$(BENCH_SRC),$(shell grep -l '^\#include <fuse' $(TOOL_SRC) $(BENCH_SRC)))
ifeq ($(PROBED_FUSE_LIBS),)
TOOLS := $(filter-out $(FUSE_SRC:tests/tools/%.c=build/tests/%),$(TOOLS))
BENCH := $(filter-out $(FUSE_SRC:bench/%.c=build/bench/%),$(BENCH))
endif

# fsbench's back end for libcephfs is left out where there is no libcephfs.
ifeq ($(PROBED_CEPHFS_LIBS),)
FSBENCH_SRC := $(filter-out bench/fsbench-cephfs.c,$(FSBENCH_SRC))
endif

objects = $(patsubst %.c,$(O)/%.o,$(1))
ALL_OBJ := $(call objects,$(LIB_SRC) $(MAIN_SRC) $(SHARED_SRC) $(UNIT_SRC) $(TOOL_SRC) $(BENCH_SRC) $(FSBENCH_SRC) $(FUZZ_SRC) tests/fuzz/driver.c)

# (private: what these need is not to reach their prerequisites, such as the flags stamp.)
$(call objects,$(FUSE_SRC)): private OWN_CFLAGS = $(PROBED_FUSE_CFLAGS)
$(FUSE_SRC:tests/tools/%.c=$(O)/build/tests/%) $(FUSE_SRC:bench/%.c=$(O)/build/bench/%): private OWN_LIBS = $(PROBED_FUSE_LIBS)
$(call objects,src/lib/sums.c): private OWN_CFLAGS = $(PROBED_XXHASH_CFLAGS)
$(call objects,$(UNIT_SRC)): private OWN_CFLAGS = $(PROBED_CMOCKA_CFLAGS)
$(UNIT:%=$(O)/%): private OWN_LIBS = $(PROBED_CMOCKA_LIBS)
$(call objects,$(FSBENCH_SRC)): private OWN_CFLAGS = $(PROBED_CEPHFS_CFLAGS)
$(FSBENCH:%=$(O)/%): private OWN_LIBS = $(PROBED_CEPHFS_LIBS) -lm
# Its arithmetic has a unit test.
$(filter %/fsbench,$(UNIT:%=$(O)/%)): private OWN_LIBS = $(PROBED_CMOCKA_LIBS) -lm
$(filter %/fsbench,$(UNIT:%=$(O)/%)): $(O)/bench/fsbench-stats.o

.PHONY: all programs library tests-build bench-build bench-tools
all: programs library
programs: $(PROGRAMS)
library: $(LIBRARY)
tests-build: need-cmocka $(UNIT) $(FUZZ) $(TOOLS) $(SHIMS) $(BENCH) $(FSBENCH)
bench-build: $(BENCH) $(TOOLS) $(FSBENCH)
bench-tools: $(FSBENCH)

.PHONY: need-cmocka
need-cmocka:
	$(if $(UNIT_SRC),$(if $(PROBED_CMOCKA_LIBS),@:,@echo 'make: the unit tests need cmocka; `make deps` installs it' >&2; exit 1),@:)

# --- Stamps: files that change only when what they hold does ---------------------------------------------------------

.PHONY: FORCE
FORCE:

# stamp(TEXT): writes TEXT into the target unless it holds it already.
stamp = @mkdir -p $(@D); printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(1))' >$@

build/variant: FORCE
	$(call stamp,$(BUILD_VARIANT))
$(O)/flags: FORCE
	$(call stamp,$(COMPILE) $(PROBED_XXHASH_CFLAGS) | $(LDFLAGS_ALL) $(LIBS))
$(O)/lib-sources: FORCE
	$(call stamp,$(LIB_SRC))

# probe(NAME, TEXT): sets NAME to the flags TEXT in the probe file if the compiler and the linker take them in silence.
probe = @printf 'int main(void) { return 0; }\n' >$@.c; \
	if $(CC) -Werror -O2 $(2) -o $@.out $@.c >/dev/null 2>&1; then printf '%s += %s\n' '$(1)' '$(2)' >>$@.new; fi
# probe_pkg(NAME, PACKAGE): sets NAME_CFLAGS and NAME_LIBS if pkg-config knows PACKAGE.
probe_pkg = @if $(PKG_CONFIG) --exists $(2) 2>/dev/null; then \
	printf '%s_CFLAGS := %s\n%s_LIBS := %s\n' $(1) "$$($(PKG_CONFIG) --cflags $(2))" \
		$(1) "$$($(PKG_CONFIG) --libs $(2))" >>$@.new; fi
# Installed since the probe: look again. (The directories in which pkg-config finds its files change then.)
PKG_DIRS := $(wildcard $(subst :, ,$(shell $(PKG_CONFIG) --variable pc_path pkg-config 2>/dev/null)))

# libcephfs has no file there: its header says whether it is installed.
PKG_DIRS += $(wildcard /usr/include /usr/include/cephfs)

$(PROBE): Makefile $(PKG_DIRS)
	@mkdir -p $(@D)
	@printf '# Made by make: what %s and this machine offer.\n' '$(CC)' >$@.new
	$(call probe,PROBED_HARDEN,-fstack-protector-strong)
	$(call probe,PROBED_HARDEN,-fstack-clash-protection)
	$(call probe,PROBED_HARDEN,-fcf-protection)
	@printf '#include <stdio.h>\nint main(void) { return 0; }\n' >$@.c; for level in 3 2; do \
		if $(CC) -Werror -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$$level -o $@.out $@.c >/dev/null 2>&1; then \
			echo "PROBED_FORTIFY := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$$level" >>$@.new; break; \
		fi; done
	$(call probe,PROBED_LDFLAGS,-pie)
	$(call probe,PROBED_LDFLAGS,-Wl$(comma)-z$(comma)relro -Wl$(comma)-z$(comma)now)
	$(call probe,PROBED_LDFLAGS,-Wl$(comma)-z$(comma)noexecstack)
	$(call probe,PROBED_LDFLAGS,-Wl$(comma)--as-needed)
	$(call probe_pkg,PROBED_CMOCKA,cmocka)
	$(call probe_pkg,PROBED_FUSE,fuse3)
	@printf '#include <xxhash.h>\nint main(void) { return XXH_VERSION_NUMBER < 800; }\n' >$@.c; \
	flags="$$($(PKG_CONFIG) --cflags libxxhash 2>/dev/null)"; \
	if $(CC) -DXXH_INLINE_ALL $$flags -o $@.out $@.c >/dev/null 2>&1 && ./$@.out; then \
		printf 'PROBED_XXHASH_CFLAGS := -DPFU_XXHASH=1 %s\n' "$$flags" >>$@.new; fi
	@printf '#include <cephfs/libcephfs.h>\nint main(void) { return ceph_version(0, 0, 0) != 0; }\n' >$@.c; \
	if $(CC) -D_FILE_OFFSET_BITS=64 -o $@.out $@.c -lcephfs >/dev/null 2>&1; then \
		printf 'PROBED_CEPHFS_CFLAGS := -DHAVE_LIBCEPHFS\nPROBED_CEPHFS_LIBS := -lcephfs\n' >>$@.new; fi
	@rm -f $@.c $@.out; mv -f $@.new $@

.PHONY: config
config: $(PROBE)
	@echo 'version     $(VERSION)'
	@echo 'variant     $(BUILD_VARIANT)'
	@echo 'compiler    $(CC), $(shell $(CC) -dumpfullversion 2>/dev/null || $(CC) -dumpversion)'
	@echo 'compile     $(subst ','\'',$(CPPFLAGS_ALL) $(CFLAGS_ALL))'
	@echo 'link        $(LDFLAGS_ALL) $(LIBS)'
	@echo 'unit tests  $(if $(PROBED_CMOCKA_LIBS),yes (cmocka),no (libcmocka-dev is not installed))'
	@echo 'xxHash      $(if $(PROBED_XXHASH_CFLAGS),yes (pcp --verify; compiled in, no library is needed),no (libxxhash-dev is not installed))'
	@echo 'libcephfs   $(if $(PROBED_CEPHFS_LIBS),yes (fsbench --backend=cephfs),no (libcephfs-dev is not installed))'
	@echo 'FUSE tools  $(if $(PROBED_FUSE_LIBS),yes (libfuse3),no (libfuse3-dev is not installed))'

# --- Rules ----------------------------------------------------------------------------------------------------------

$(ALL_OBJ): $(O)/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(call short,CC,$<) $(COMPILE) $(OWN_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/$(LIBRARY): $(call objects,$(LIB_SRC)) $(O)/lib-sources
	@mkdir -p $(@D) && rm -f $@.new
	$(call short,AR,$(LIBRARY)) $(AR) rcsD $@.new $(filter %.o,$^) && mv -f $@.new $@

# link: the objects first, then the library, then what those need.
link = $(call short,LD,$(@:$(O)/%=%)) $(CC) $(filter-out -fPIE $(WARNINGS),$(CFLAGS_ALL)) $(LDFLAGS_ALL) -o $@ \
	$(filter %.o,$^) $(filter %.a,$^) $(OWN_LIBS) $(LIBS)

$(PROGRAMS:%=$(O)/%): $(O)/bin/%: $(O)/src/%.o $(call objects,$(SHARED_SRC)) $(O)/$(LIBRARY)
	@mkdir -p $(@D)
	$(link)
$(UNIT:%=$(O)/%): $(O)/build/tests/unit/%: $(O)/tests/unit/%.o $(call objects,$(SHARED_SRC)) $(O)/$(LIBRARY)
	@mkdir -p $(@D)
	$(link)
# A fuzz target has libFuzzer's main(), or else the driver's. Those that run a whole program keep it from ending (options.h).
LIBFUZZER := $(findstring fuzzer,$(SANITIZE))
$(FUZZ:%=$(O)/%): private OWN_LIBS = $(if $(LIBFUZZER),-fsanitize=fuzzer)
$(filter %-options,$(FUZZ:%=$(O)/%)): private OWN_LIBS = $(if $(LIBFUZZER),-fsanitize=fuzzer) \
	$(addprefix -Wl$(comma)--wrap=,exit atexit fopen64 fclose pfu_filter_new)
$(FUZZ:%=$(O)/%): $(O)/build/tests/fuzz/%: $(O)/tests/fuzz/%.o $(if $(LIBFUZZER),,$(O)/tests/fuzz/driver.o) \
		$(call objects,$(SHARED_SRC)) $(O)/$(LIBRARY)
	@mkdir -p $(@D)
	$(link)
$(TOOLS:%=$(O)/%): $(O)/build/tests/%: $(O)/tests/tools/%.o $(O)/$(LIBRARY)
	@mkdir -p $(@D)
	$(link)
$(BENCH:%=$(O)/%): $(O)/build/bench/%: $(O)/bench/%.o $(O)/$(LIBRARY)
	@mkdir -p $(@D)
	$(link)
$(FSBENCH:%=$(O)/%): $(call objects,$(FSBENCH_SRC)) $(O)/$(LIBRARY)
	@mkdir -p $(@D)
	$(link)

# The products of the variant at hand take their public places. Put in place by a rename: they may be running.
publish = @mkdir -p $(@D) && cp -f $< $@.new && mv -f $@.new $@
$(PROGRAMS) $(LIBRARY) $(UNIT) $(FUZZ) $(TOOLS) $(BENCH) $(FSBENCH): %: $(O)/% build/variant
	$(publish)

# A shim is loaded into whatever runs, so it never has a sanitizer of its own.
$(SHIMS): build/tests/%.so: tests/tools/%.c $(O)/flags
	@mkdir -p $(@D)
	$(call short,CC,$<) $(CC) $(CPPFLAGS_ALL) -std=gnu11 -O2 -g -pthread $(WARNINGS) -fPIC -shared -MMD -MP -MF $@.d -o $@ $< -ldl

-include $(wildcard $(ALL_OBJ:.o=.d) $(SHIMS:=.d))

# --- Tests ----------------------------------------------------------------------------------------------------------

# Tests ask this to know which figures or tools make no sense under a sanitizer.
export SANITIZE
export DIFF_SECONDS FAULT_SECONDS
# An error found by a sanitizer must not look like an exit status of cp or rm.
export ASAN_OPTIONS  ?= exitcode=99:detect_stack_use_after_return=1:verify_asan_link_order=0
export TSAN_OPTIONS  ?= suppressions=$(CURDIR)/tests/tsan.supp:print_suppressions=0:exitcode=99:halt_on_error=0:second_deadlock_stack=1
export UBSAN_OPTIONS ?= print_stacktrace=1:exitcode=99
# ThreadSanitizer of older compilers knows no layout with more than 28 random bits.
run = $(if $(findstring thread,$(SANITIZE)),$(shell bits=$$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0); \
	[ "$$bits" -le 28 ] || echo setarch -R))

.PHONY: check check-unit check-cmd check-diff check-faults-sample check-faults check-gnu check-cephfs
check: all tests-build
	@rc=0; for part in check-unit check-cmd check-diff check-faults-sample; do \
		echo "== $$part"; $(MAKE) --no-print-directory $$part || rc=1; done; exit $$rc

check-unit: all tests-build
	@failed=; for test in $(UNIT); do $(run) $$test || failed="$$failed $${test##*/}"; done; \
	if [ -n "$$failed" ]; then echo "make: unit tests failed:$$failed" >&2; exit 1; fi

check-cmd: all tests-build
	$(if $(T),$(run) prove -j $(TEST_JOBS) --timer $(T),@echo 'make: there are no command tests')

check-diff: all tests-build
	$(if $(D),$(run) prove -j $(TEST_JOBS) --timer $(D),@echo 'make: there are no differential tests')

# Each call failing in each way: some of it, and all; as root, also as a user.
check-faults-sample: all tests-build
	$(run) prove -j $(TEST_JOBS) --timer tests/faults/*.t

check-faults: all tests-build
	@rc=0; tests/faults/sweep || rc=1; [ "$$(id -u)" != 0 ] || tests/faults/sweep --user || rc=1; exit $$rc

# Each target for FUZZ_SECONDS, on from what it found before (build/fuzz); a finding is kept there, and ends it.
.PHONY: fuzz fuzz-build
fuzz:
	@command -v $(FUZZ_CC) >/dev/null || { echo 'make: fuzz wants clang and its libFuzzer (libclang-rt-dev)' >&2; exit 1; }
	+@$(MAKE) --no-print-directory CC=$(FUZZ_CC) SANITIZE=fuzzer-no-link,address,undefined fuzz-build
	tests/fuzz/run build/obj-fuzzer-no-link-address-undefined/build/tests/fuzz $(FUZZ_SECONDS)
fuzz-build: $(FUZZ:%=$(O)/%)

check-gnu: programs
	tests/gnu/run

# On the cluster that CEPH_CONF names.
check-cephfs: all bench-tools
	@[ -n "$$CEPH_CONF" ] || { echo 'make: check-cephfs wants CEPH_CONF=/etc/ceph/ceph.conf or the like' >&2; exit 1; }
	@$(if $(PROBED_CEPHFS_LIBS),:,echo 'make: check-cephfs wants libcephfs-dev' >&2; exit 1)
	prove --timer tests/cephfs/*.t

.PHONY: deps
deps:
	.ci/deps

.PHONY: bench bench-network bench-cephfs plots
bench: all bench-build
	bench/bench-local.sh
	bench/bench-limit.sh
bench-network: all bench-build
	bench/bench-network.sh
# The README's table and picture, from what is kept in bench/results.
plots:
	bench/plot.sh
bench-cephfs: all bench-build
	bench/bench-cephfs.sh

# --- Lint and format ------------------------------------------------------------------------------------------------

C_FILES     := $(LIB_SRC) $(MAIN_SRC) $(SHARED_SRC) $(UNIT_SRC) $(wildcard tests/fuzz/*.c) $(TOOL_SRC) $(SHIM_SRC) $(BENCH_SRC) \
	$(sort $(FSBENCH_SRC) $(wildcard bench/fsbench*.c))
C_HEADERS   := $(HEADERS) $(sort $(wildcard src/*.h src/lib/*.h tests/unit/*.h tests/fuzz/*.h tests/tools/*.h bench/*.h))
# Whatever git knows of that is a shell script, by its first line.
SHELL_FILES  = $(shell git ls-files -co --exclude-standard | xargs awk \
	'FNR == 1 && /^\#!.*[\/ ](ba|da)?sh|^\# shellcheck shell=/ { print FILENAME } { nextfile }')

.PHONY: lint lint-c lint-sh format
lint: lint-c lint-sh
ifneq ($(shell sh -c 'command -v $(CLANG_TIDY)'),)
# One target a source, so that -j applies. What clang-tidy says of a source in which all is well is left out.
TIDY := $(addprefix tidy-,$(LIB_SRC) $(MAIN_SRC) $(SHARED_SRC) $(FSBENCH_SRC))
.PHONY: $(TIDY)
lint-c: $(TIDY)
$(TIDY): tidy-%: $(PROBE)
	@echo '  TIDY    $*'; \
	out=$$($(CLANG_TIDY) --quiet $* -- -std=gnu11 $(CPPFLAGS_ALL) $(if $(findstring fsbench,$*),$(PROBED_CEPHFS_CFLAGS)) $(if $(findstring lib/sums,$*),$(PROBED_XXHASH_CFLAGS)) 2>&1) || { printf '%s\n' "$$out"; exit 1; }
else
lint-c: $(PROBE)
	@command -v cppcheck >/dev/null || \
		{ echo 'make: lint needs clang-tidy or cppcheck; `make deps` installs it' >&2; exit 1; }
	cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr -j $(TEST_JOBS) \
		--enable=warning,performance,portability $(CPPFLAGS_ALL) src $(FSBENCH_SRC)
endif
lint-sh:
	@command -v shellcheck >/dev/null || { echo 'make: lint needs shellcheck; `make deps` installs it' >&2; exit 1; }
	$(if $(strip $(SHELL_FILES)),shellcheck $(sort $(SHELL_FILES)))

format:
	$(if $(C_FILES)$(C_HEADERS),$(CLANG_FORMAT) -i $(C_FILES) $(C_HEADERS))

# --- Installation ---------------------------------------------------------------------------------------------------

.PHONY: install install-programs install-lib install-bench uninstall
install: install-programs install-lib

# The manual pages speak of the programs by the names that they are installed under.
RENAME = $(if $(PROGRAM_PREFIX),-e 's/\<p\(cp\|rm\)\>/$(PROGRAM_PREFIX)p\1/g' -e '/^\.TH/s/\<P\(CP\|RM\)\>/\U$(PROGRAM_PREFIX)P\1/',-e '')

install-programs: programs
	$(INSTALL) -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(mandir)/man1' '$(DESTDIR)$(mandir)/man7'
	for name in pcp prm; do \
		$(INSTALL) -m 755 bin/$$name '$(DESTDIR)$(bindir)/$(PROGRAM_PREFIX)'$$name && \
		sed $(RENAME) man/$$name.1 >build/$$name.1 && \
		$(INSTALL) -m 644 build/$$name.1 '$(DESTDIR)$(mandir)/man1/$(PROGRAM_PREFIX)'$$name.1 || exit 1; \
	done
	sed -e '/ tests\//b' $(RENAME) man/pfu-promises.7 >build/pfu-promises.7 # (not the names of tests)
	$(INSTALL) -m 644 build/pfu-promises.7 '$(DESTDIR)$(mandir)/man7/pfu-promises.7'
	$(call install_completions,bash,$(bashcompdir)/)
	$(call install_completions,zsh,$(zshcompdir)/_)
	$(call install_completions,fish,$(fishcompdir)/,.fish)

# install_completions(SHELL, DIRECTORY/ and what goes before the program's name, what goes behind it)
install_completions = $(INSTALL) -d '$(DESTDIR)$(dir $(2))' && for name in pcp prm; do \
		completions/generate $(1) bin/$$name '$(PROGRAM_PREFIX)'$$name >build/$$name.$(1) && \
		$(INSTALL) -m 644 build/$$name.$(1) '$(DESTDIR)$(2)$(PROGRAM_PREFIX)'$$name$(3) || exit 1; \
	done

install-lib: library
	$(INSTALL) -d '$(DESTDIR)$(libdir)/pkgconfig' '$(DESTDIR)$(includedir)/pfu'
	$(INSTALL) -m 644 $(LIBRARY) '$(DESTDIR)$(libdir)/libpfu.a'
	$(INSTALL) -m 644 $(HEADERS) '$(DESTDIR)$(includedir)/pfu'
	printf '%s\n' 'Name: libpfu' 'Description: parallel copy and removal of file trees' 'Version: $(VERSION)' \
		'Cflags: -I"$(includedir)" -pthread' 'Libs: -L"$(libdir)" -lpfu -pthread' \
		>'$(DESTDIR)$(libdir)/pkgconfig/libpfu.pc'

install-bench: bench-tools
	$(INSTALL) -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(mandir)/man1'
	$(INSTALL) -m 755 $(FSBENCH) '$(DESTDIR)$(bindir)/$(PROGRAM_PREFIX)fsbench'
	$(INSTALL) -m 644 man/fsbench.1 '$(DESTDIR)$(mandir)/man1/$(PROGRAM_PREFIX)fsbench.1'

# Directories in which this leaves nothing go too, but not those that are there on every machine.
INSTALL_DIRS = $(bindir) $(mandir)/man1 $(mandir)/man7 $(bashcompdir) $(zshcompdir) $(fishcompdir) $(libdir)/pkgconfig $(includedir)/pfu
KEEP_DIRS    = /|/usr|/usr/local|/usr/local/bin|/usr/local/include|/usr/local/lib|/usr/local/share|/usr/local/share/man
uninstall:
	for name in pcp prm fsbench; do \
		rm -f '$(DESTDIR)$(bindir)/$(PROGRAM_PREFIX)'$$name '$(DESTDIR)$(mandir)/man1/$(PROGRAM_PREFIX)'$$name.1 \
			'$(DESTDIR)$(bashcompdir)/$(PROGRAM_PREFIX)'$$name '$(DESTDIR)$(zshcompdir)/_$(PROGRAM_PREFIX)'$$name \
			'$(DESTDIR)$(fishcompdir)/$(PROGRAM_PREFIX)'$$name.fish; \
	done
	rm -f '$(DESTDIR)$(mandir)/man7/pfu-promises.7'
	rm -f '$(DESTDIR)$(libdir)/libpfu.a' '$(DESTDIR)$(libdir)/pkgconfig/libpfu.pc'
	for name in $(notdir $(HEADERS)); do rm -f '$(DESTDIR)$(includedir)/pfu/'$$name; done
	for dir in $(INSTALL_DIRS:%='$(DESTDIR)%'); do \
		while case $$dir in $(KEEP_DIRS)|'$(DESTDIR)') false ;; esac && \
			{ rmdir "$$dir" 2>/dev/null || [ ! -e "$$dir" ]; }; do \
			case $$dir in '$(PREFIX)') break ;; esac; \
			dir=$${dir%/*}; \
		done; \
	done

# --- Packages -------------------------------------------------------------------------------------------------------

# What is committed, and nothing else: the same bytes on each machine. (git gives all files the commit's time, and root.)
DIST := pcp-$(VERSION)
.PHONY: dist deb
dist:
	@git rev-parse --git-dir >/dev/null 2>&1 || { echo 'make: dist packs what git has; this is no clone' >&2; exit 1; }
	@git diff --quiet HEAD || echo 'make: dist leaves out what is not committed' >&2
	@mkdir -p build
	git -c tar.umask=0022 archive --format=tar --prefix=$(DIST)/ HEAD | gzip -9n >build/$(DIST).tar.gz

# The same as a Debian package, in build/deb. `make deb-deps` installs what that takes.
deb: dist
	@command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null || \
		{ echo 'make: deb needs dpkg-dev and debhelper; `make deb-deps` installs them' >&2; exit 1; }
	rm -rf build/deb && mkdir -p build/deb
	tar -C build/deb -xzf build/$(DIST).tar.gz
	cd build/deb/$(DIST) && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u MAKEOVERRIDES dpkg-buildpackage -us -uc -b
	@echo 'Made:' build/deb/*.deb
.PHONY: deb-deps
deb-deps:
	.ci/deps deb

.PHONY: clean help
clean:
	rm -rf bin lib build

help:
	@echo 'all (default)    bin/pcp, bin/prm, lib/libpfu.a'
	@echo 'config           what the build found and uses'
	@echo 'deps             install what tests and benchmarks need (apt-get)'
	@echo 'check            all tests of this repository: check-unit, check-cmd, check-diff, check-faults-sample'
	@echo 'check-faults     each system call failing in each way: tens of thousands of runs, some minutes'
	@echo 'fuzz             the parsers on made-up input, with clang, each for FUZZ_SECONDS=60'
	@echo 'check-gnu        the tests of GNU coreutils, fetched, with pcp and prm in the place of cp and rm'
	@echo 'check-cephfs     fsbench through libcephfs, on the Ceph cluster of the configuration CEPH_CONF'
	@echo 'bench            against cp and rm, and what fsbench reaches, in BENCH_DIR; bench-network: on slow ones'
	@echo 'bench-cephfs     against cp and rm on a CephFS, which is brought up on this machine (as root)'
	@echo 'plots            the picture and the table in the README, from bench/results'
	@echo 'bench-build      latencyfs and what else benchmarks need'
	@echo 'bench-tools      build/bench/fsbench: what a file system gives; install-bench installs it'
	@echo 'lint, format     clang-tidy or cppcheck, and shellcheck; clang-format'
	@echo 'install          programs, manual pages, completions, library; also install-programs, install-lib, uninstall'
	@echo '                 PREFIX=/usr/local DESTDIR= PROGRAM_PREFIX='
	@echo 'dist, deb        a tarball of what is committed; a Debian package of it (deb-deps installs what that takes)'
	@echo 'clean            remove bin/, lib/, build/'
	@echo
	@echo 'Variants: DEBUG=1, SANITIZE=address,undefined, SANITIZE=thread, WERROR=1; V=1 shows the commands'
	@echo 'Selections: T="tests/cmd/NAME.t ..." for check-cmd, D= for check-diff, TEST_JOBS=N, DIFF_SECONDS=N, FAULT_SECONDS=N'
