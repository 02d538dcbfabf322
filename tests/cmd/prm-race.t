#!/usr/bin/env bash
# r5: while prm removes a tree, somebody else swaps directories of it for symbolic links to a victim
# outside, and back, as fast as can be.  The victim must keep every file.  RACE_SECONDS (3) is how long
# that goes on for each number of workers.
# sanitizers: no (takes long)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
tmpdir tmpfs
under_test prm

# Makes the victim; then, until the time is over, makes a tree, starts the program on it, and exchanges
# directories of the tree, at every depth, with links to the victim and to what is in it.
# Prints "rounds swaps", or what is wrong.
racer=$(cat <<'END'
use strict;
use POSIX ":sys_wait_h";
my ($seconds, @command) = @ARGV;
my $renameat2 = (POSIX::uname())[4] =~ /^(aarch64|riscv|loongarch)/ ? 276 : 316;
my ($cwd, $exchange) = (-100, 2);
my ($rounds, $swaps, $width) = (0, 0, 5);
my $here = POSIX::getcwd();
my @pairs;

sub fill {
	my ($top) = @_;
	my @dirs = ($top);
	for my $one (1 .. $width) {
		push @dirs, "$top/$one", map { "$top/$one/$_" } 1 .. $width;
	}
	for my $dir (@dirs) {
		mkdir $dir;
		for (qw(a b c d e f)) {
			open my $file, ">", "$dir/$_";
		}
	}
}

sub count {
	my ($dir) = @_;
	opendir my $list, $dir or return 0;
	my $sum = 0;
	for (grep { !/^\.\.?$/ } readdir $list) {
		$sum += 1 + (-d "$dir/$_" ? count("$dir/$_") : 0);
	}
	return $sum;
}

fill("victim");
my $whole = count("victim");
mkdir "links";
for my $one (1 .. $width) {
	symlink "$here/victim", "links/$one";
	push @pairs, ["tree/$one", "links/$one"];
	for (1 .. $width) {
		symlink "$here/victim/$one", "links/$one-$_";
		push @pairs, ["tree/$one/$_", "links/$one-$_"];
	}
}
my $end = time + $seconds;
while (time < $end) {
	system "rm", "-rf", "tree";
	fill("tree");
	my $pid = fork;
	exec @command, "tree" or exit 127 if $pid == 0;
	while (waitpid($pid, WNOHANG) == 0) {
		for my $pair (@pairs) {
			# Away and back: for a moment the directory is a link.
			for (1, 2) {
				$swaps++ if syscall($renameat2, $cwd, $$pair[0], $cwd, $$pair[1], $exchange) == 0;
			}
		}
	}
	my $status = $?;
	$rounds++;
	if ($status != 0 && $status != 256) {
		print "wait status $status\n";
		exit;
	}
	if (count("victim") != $whole) {
		print "the victim has lost files\n";
		exit;
	}
	# What is still a directory below links/ (the program got the link): make the link again.
	for my $pair (@pairs) {
		my $name = $$pair[1];
		next if -l $name;
		system "rm", "-rf", $name;
		symlink $name =~ m{links/(\d+)-} ? "$here/victim/$1" : "$here/victim", $name;
	}
}
print "$rounds $swaps\n";
END
)

variants=('-j 1' '-j 20' '-j 20 -c 1')
[ -z "$gnu" ] || variants=('')

swapped() {
	local rounds swaps
	LIMIT=$((${RACE_SECONDS:-3} + 60)) run perl -e "$racer" "${RACE_SECONDS:-3}" prm "${jc[@]}" -rf
	status 0 'r5: the race itself'
	like "$(cat "$out")" '^[0-9]+ [0-9]+$' 'r5: directories swapped for links to a victim' || return
	read -r rounds swaps _ <"$out"
	ok 'r5: some were swapped meanwhile' test "${swaps:-0}" -gt "${rounds:-0}"
	diag "$rounds rounds, $swaps swaps"
}
run_each swapped

done_testing
