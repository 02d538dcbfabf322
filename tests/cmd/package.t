#!/usr/bin/env bash
# What is handed to others: the tarball of `make dist`, which is the same each time and builds and installs by itself; and
# the Debian package of `make deb`, of which lintian finds no fault, and which does not get in the way of other packages.
# What is packed is what is committed.
# sanitizers: no
# shellcheck disable=SC2317 # (Cases are called by name.)
. "$(dirname "$0")/../lib.sh"
tmpdir disk

# From here on make is one that nobody called.
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES T SANITIZE DEBUG WERROR
jobs=-j$(nproc)

if ! git -C "$top" rev-parse HEAD >/dev/null 2>&1; then
	missing 'packages' 'clone of git'
	done_testing
fi
git clone -q "$top" "$tmp/tree"

tarball() {
	local packed
	run make -s -C "$tmp/tree" dist
	status 0 'make dist'
	packed=$(echo "$tmp"/tree/build/pcp-*.tar.gz)
	cp "$packed" first
	rm -rf "$tmp/tree/build"
	# (Another time, another umask.)
	sleep 1
	(umask 077 && make -s -C "$tmp/tree" dist)
	ok 'make dist makes the same bytes again' cmp first "$packed"
	is "$(tar -tvzf first | awk '$2 != "root/root"')" '' 'they are owned by root'
	tar -xzf first
	cd pcp-*/ || return
	is "$(find . -type f | wc -l)" "$(git -C "$top" ls-tree -r --name-only HEAD | wc -l)" 'all is in it'
	run make -s "$jobs" CFLAGS=-O0
	status 0 'the tarball builds'
	mkdir s
	echo hello >s/f
	ok 'what it built copies' bin/pcp -r s t
	ok 'and removes' bin/prm -r s
	is "$(cat t/f)" hello 'rightly'
	ok 'it installs' make -s install "DESTDIR=$PWD/root" PREFIX=/usr
	ok 'with its pages' test -s root/usr/share/man/man1/prm.1
	is "$(root/usr/bin/pcp --version)" "$(bin/pcp --version)" 'and runs'
	run make -s dist
	status 2 'it is no clone'
	says 'make: dist packs what git has; this is no clone
make: *** [Makefile:'"$(grep -n '^	@git rev-parse' Makefile | cut -d : -f 1)"': dist] Error 1' 'and says so'
}

deb() {
	local made
	need_command 'a Debian package' dpkg-buildpackage && need_command 'a Debian package' dh &&
		need_command 'a Debian package' lintian || return
	run env "DEB_BUILD_OPTIONS=parallel=$(nproc) noopt noautodbgsym" make -s -C "$tmp/tree" deb
	status 0 'make deb'
	made=$(echo "$tmp"/tree/build/deb/pfu-tools_*.deb)
	run lintian --allow-root --fail-on error "$tmp"/tree/build/deb/pfu_*.changes
	status 0 'lintian finds no error'
	is "$(cat "$out")" '' 'nor anything else'
	dpkg-deb -x "$made" root
	is "$(cd root && find . -name '*p[cr][pm]' ! -type d | sort)" "$(sort <<-END
		./usr/bin/fast-pcp
		./usr/bin/fast-prm
		./usr/lib/pfu/bin/pcp
		./usr/lib/pfu/bin/prm
		./usr/share/bash-completion/completions/fast-pcp
		./usr/share/bash-completion/completions/fast-prm
		./usr/share/zsh/vendor-completions/_fast-pcp
		./usr/share/zsh/vendor-completions/_fast-prm
	END
	)" "the commands, and their completions, have names of their own"
	echo hello >f
	ok 'the program in it runs' root/usr/bin/fast-pcp f g
	like "$(root/usr/bin/fast-pcp 2>&1)" '^fast-pcp: missing file operand' 'and knows its name'
	# As the README says.
	PATH=$PWD/root/usr/lib/pfu/bin:$PATH run pcp f
	says "pcp: missing destination file operand after 'f'
Try 'pcp --help' for more information." 'in /usr/lib/pfu/bin it is called pcp'
	is "$(gunzip -c root/usr/share/man/man1/fast-pcp.1.gz | grep -c '^fast-pcp \\- copy')" 1 'the page is called that, too'
	ok 'and found beside /usr/lib/pfu/bin' test -s root/usr/lib/pfu/share/man/man1/pcp.1.gz
}

run_once tarball
run_once deb
done_testing
