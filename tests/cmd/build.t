#!/usr/bin/env bash
# What the Makefile promises: install and uninstall, build variants, hardening; and what the library promises to other
# programs: headers that can be used alone, from C and C++, names of its own, and no state of its own.
# All of it happens in copies of the tree, so that bin/ stays as it is for other tests.
# sanitizers: no
. "$(dirname "$0")/../lib.sh"
tmpdir

# From here on make is one that nobody called; CC and the like are handed on by the environment.
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES T
CC=${CC:-cc}

# What the build needs and what it has made, for the cases that install. (Times are kept, so that make finds nothing to do.)
mkdir "$tmp/copy"
/bin/cp -a "$top"/{Makefile,include,src,man,completions,bench,bin,lib,build} "$tmp/copy/"

# quiet_make ARGUMENT...: in the directory tree.
quiet_make() {
	run make -s -C tree "$@"
	status 0 "make $*"
}

installed() {
	(cd "$1" && find . ! -type d | sort)
}

install_and_uninstall() {
	local headers
	ln -s "$tmp/copy" tree
	headers=$(cd "$top/include" && printf './opt/x/include/%s\n' pfu/*.h)
	quiet_make install "DESTDIR=$PWD/root" PREFIX=/opt/x PROGRAM_PREFIX=fast-
	is "$(installed root)" "$(sort <<-END
		./opt/x/bin/fast-pcp
		./opt/x/bin/fast-prm
		$headers
		./opt/x/lib/libpfu.a
		./opt/x/lib/pkgconfig/libpfu.pc
		./opt/x/share/bash-completion/completions/fast-pcp
		./opt/x/share/bash-completion/completions/fast-prm
		./opt/x/share/fish/vendor_completions.d/fast-pcp.fish
		./opt/x/share/fish/vendor_completions.d/fast-prm.fish
		./opt/x/share/man/man1/fast-pcp.1
		./opt/x/share/man/man1/fast-prm.1
		./opt/x/share/man/man7/pfu-promises.7
		./opt/x/share/zsh/site-functions/_fast-pcp
		./opt/x/share/zsh/site-functions/_fast-prm
	END
	)" 'install puts the files where PREFIX, DESTDIR and PROGRAM_PREFIX say'
	ok 'what is installed runs' root/opt/x/bin/fast-pcp --version
	ok 'and its page speaks of it by that name' grep -q '^fast-pcp \\- copy' root/opt/x/share/man/man1/fast-pcp.1
	ok 'and so do its completions' grep -q '^#compdef fast-pcp' root/opt/x/share/zsh/site-functions/_fast-pcp
	ok 'a page can be read by anyone' test "$(stat -c %a root/opt/x/share/man/man1/fast-pcp.1)" = 644

	touch root/opt/x/include/pfu/theirs.h root/opt/x/bin/pcp
	quiet_make uninstall "DESTDIR=$PWD/root" PREFIX=/opt/x PROGRAM_PREFIX=fast-
	is "$(installed root)" $'./opt/x/bin/pcp\n./opt/x/include/pfu/theirs.h' \
		"uninstall removes what install put there, and nothing of others'"
	is "$(find root -mindepth 1 -type d | sort)" \
		$'root/opt\nroot/opt/x\nroot/opt/x/bin\nroot/opt/x/include\nroot/opt/x/include/pfu' \
		'of directories it leaves those that are not empty'
	rm root/opt/x/include/pfu/theirs.h root/opt/x/bin/pcp
	quiet_make uninstall "DESTDIR=$PWD/root" PREFIX=/opt/x PROGRAM_PREFIX=fast-
	is "$(find root)" root 'then nothing'

	quiet_make install-bench "DESTDIR=$PWD/bench" PREFIX=/opt/x PROGRAM_PREFIX=fast-
	is "$(installed bench)" $'./opt/x/bin/fast-fsbench\n./opt/x/share/man/man1/fast-fsbench.1' \
		'install-bench puts the benchmark and its page there'
	ok 'and it runs' bench/opt/x/bin/fast-fsbench --help
	quiet_make uninstall "DESTDIR=$PWD/bench" PREFIX=/opt/x PROGRAM_PREFIX=fast-
	is "$(installed bench)" '' 'uninstall removes them too'

	mkdir -p at/home/bin
	quiet_make install "PREFIX=$PWD/at/home"
	quiet_make uninstall "PREFIX=$PWD/at/home"
	is "$(find at)" at 'without DESTDIR it goes no higher than PREFIX'

	quiet_make install "DESTDIR=$PWD/plain"
	ok 'the default is /usr/local' test -x plain/usr/local/bin/pcp
	ok 'with a completion' test -s plain/usr/local/share/bash-completion/completions/pcp
}

headers_alone() {
	local header
	need_command 'headers in C++' g++ || return
	for header in "$top"/include/pfu/*.h; do
		ok "${header##*/} alone in C" \
			"$CC" -std=c11 -Wall -Wextra -Werror -fsyntax-only -I "$top/include" -x c "$header"
		ok "${header##*/} alone in C++" \
			g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I "$top/include" -x c++ "$header"
	done
}

# A program of somebody else's, against the installed library, with what pkg-config says.
foreign_program() {
	local flags
	need_command 'a foreign program' pkg-config || return
	ln -s "$tmp/copy" tree
	quiet_make install-lib "PREFIX=$PWD/prefix"
	cat >foreign.c <<-'END'
		#include <pfu/copy.h>
		#include <stdio.h>

		/* More than the address is not needed: it has to compile, and to find all that the library itself needs. */
		int main(void)
		{
			printf("%s\n", pfu_copy ? "linked" : "");
			return 0;
		}
	END
	flags=$(PKG_CONFIG_PATH=$PWD/prefix/lib/pkgconfig pkg-config --cflags --libs libpfu)
	# shellcheck disable=SC2086 # a list of words
	ok 'a foreign program links' "$CC" -Wno-address -o foreign foreign.c $flags
	is "$(./foreign 2>&1)" linked 'a foreign program runs'
}

names_and_state() {
	is "$(nm -g --defined-only "$top/lib/libpfu.a" | awk 'NF == 3 { print $3 }' | grep -v '^pfu_')" '' \
		'every name that the library defines begins with pfu_'
	is "$(size -A "$top/lib/libpfu.a" | awk '$1 ~ /^\.(data|bss)$/ && $2 > 0')" '' \
		'the library has no variables that runs or threads share'
}

hardening() {
	local program elf
	for program in pcp prm; do
		elf=$(readelf -W -h -l -d "$top/bin/$program")
		like "$elf" 'Type: +DYN' "$program can be loaded anywhere"
		like "$elf" 'GNU_RELRO' "$program: relocations are read-only"
		like "$elf" 'BIND_NOW|Flags: NOW' "$program: bound at start"
		like "$elf" 'GNU_STACK .* RW ' "$program: no executable stack"
	done
}

# The mechanics of the Makefile, on a tree small enough to be built many times.
variants() {
	mkdir -p tree/src/lib tree/include/pfu
	/bin/cp "$top/Makefile" tree/
	echo 'int pfu_one(void);' >tree/include/pfu/one.h
	printf '#include <pfu/one.h>\nint pfu_one(void)\n{\n\treturn 1;\n}\n' >tree/src/lib/one.c
	cat >tree/src/pcp.c <<-'END'
		#include <pfu/one.h>
		#include <stdio.h>
		int main(void)
		{
		#if defined(__SANITIZE_THREAD__)
			puts("thread");
		#elif defined(PFU_DEBUG)
			puts("debug");
		#else
			printf("plain %d\n", pfu_one());
		#endif
			return 0;
		}
	END
	unset SANITIZE DEBUG WERROR
	quiet_make -j4
	is "$(tree/bin/pcp)" 'plain 1' 'plain'
	is "$(make -s -C tree)" '' 'a second make has nothing to do'
	quiet_make DEBUG=1
	is "$(tree/bin/pcp)" debug 'DEBUG=1'
	quiet_make SANITIZE=thread
	is "$(nm tree/bin/pcp | grep -c '__tsan_init$')" 1 'SANITIZE=thread'
	quiet_make
	is "$(tree/bin/pcp)" 'plain 1' 'plain again'

	sleep 0.01
	printf '#include <pfu/one.h>\nint pfu_one(void)\n{\n\treturn 2;\n}\n' >tree/src/lib/one.c
	quiet_make
	is "$(tree/bin/pcp)" 'plain 2' 'a changed source of the library reaches the program'
	printf 'int pfu_one(void);\n#error "seen"\n' >tree/include/pfu/one.h
	run make -s -C tree
	status 2 'a changed header is seen'
	echo 'int pfu_one(void);' >tree/include/pfu/one.h
	quiet_make CPPFLAGS=-DPFU_DEBUG
	is "$(tree/bin/pcp)" debug 'other flags compile anew'

	printf 'int unused(void)\n{\n\treturn 1;\n}\n' >>tree/src/pcp.c
	quiet_make
	run make -s -C tree WERROR=1
	status 2 'WERROR=1 makes a warning a failure'
	quiet_make clean
	is "$(cd tree && echo ./*)" './Makefile ./include ./src' 'clean leaves the sources'
}

ok 'bin/pcp is there' test -x "$PCP"
for case in install_and_uninstall headers_alone foreign_program names_and_state hardening variants; do
	run_once "$case"
done

done_testing
