# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# What all set-up scripts share. Source it; it defines functions and three variables and prints
# nothing.
#
#   VT_ROOT   the source tree        VT_CACHE  where things built or downloaded once are kept
#   VT_NAME   the calling script, the prefix of its messages

VT_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VT_CACHE=${VTRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/vtrace}
VT_NAME=$(basename "$0")

# Messages go to stderr: stdout carries results only.
vt_say() { echo "$VT_NAME: $*" >&2; }

vt_die() {
	vt_say "$@"
	exit 1
}

vt_usage() {
	vt_say "$1 (see the head of scripts/$VT_NAME)"
	exit 2
}

# For an argument that the script does not know; the help is the head of the script.
vt_unknown() {
	case $1 in
	--help | -h)
		sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"
		exit 0
		;;
	esac
	vt_usage "unknown argument $1"
}

# How many jobs to run at once: a machine with many cores has not always the memory for as many.
vt_jobs() {
	local cores
	cores=$(nproc)
	echo $((cores < 8 ? cores : 8))
}

# Hold the lock of one thing in the cache until the script ends; a second caller waits for the
# first.
vt_lock() {
	if ! mkdir -p "$(dirname "$1")" || ! (: >>"$1.lock"); then
		vt_die "cannot write in $(dirname "$1"); set VTRACE_CACHE to another folder"
	fi
	exec 9>>"$1.lock"
	flock 9
}
