# Sourced by the benchmarks beside it: ratios of figures taken alternately in
# one run. Needs $tmp and $ROUNDS.

median() { sort -g | awk '{a[NR]=$1} END {print NR%2 ? a[(NR+1)/2] : (a[NR/2]+a[NR/2+1])/2}'; }
# verdict NAME RATIO at-least|at-most BOUND
verdict() {
	awk -v n="$1" -v r="$2" -v how="$3" -v b="$4" 'BEGIN {
		ok = how == "at-least" ? r >= b : r <= b
		printf "%-58s %7.2f  (%s %s)  %s\n", n, r, how, b, ok ? "met" : "NOT MET" }'
}

# pair NAME HOW BOUND OURS THEIRS: alternates the two commands.
pair() {
	local i a b
	: >"$tmp/ratios"
	for i in $(seq "$ROUNDS"); do
		a=$($4) b=$($5)
		awk -v a="$a" -v b="$b" 'BEGIN {print a/b}' >>"$tmp/ratios"
		printf '  %-40s ours %.4g  theirs %.4g\n' "$1" "$a" "$b" >&2
	done
	verdict "$1" "$(median <"$tmp/ratios")" "$2" "$3"
}
