# usage: verify.sh ROUND STORM COMMIT ROW
#
# Proves that what work.sh said is there, and that the rest is whole. 0, or -,
# stands for what it did not get to.
round=$1 storm=$2 commit=$3 row=$4
fail() {
	echo "$*"
	exit 1
}

n=0
while [ -e "storm$round/$((n + 1))" ]; do
	n=$((n + 1))
	[ "$(cat "storm$round/$n")" = "$n $n $n" ] || fail "storm$round/$n is not whole"
done
[ "$n" -ge "$storm" ] || fail "file $storm was durable, and $n is the last one"
[ ! -d "storm$round" ] || [ "$(ls "storm$round" | grep -vcxe tmp -e open)" = "$n" ] || fail "files of storm$round are missing in between"
[ ! -e "storm$round/open" ] || [ "$n" = 0 ] || fail "a file has its name back"

# git init may not have got to its end.
if git -C repo rev-parse -q --verify HEAD >/dev/null 2>&1; then
	git -C repo fsck --full >fsck 2>&1 || fail "git fsck: $(cat fsck)"
	rm -f fsck
fi
[ "$commit" = - ] || git -C repo merge-base --is-ancestor "$commit" HEAD || fail "commit $commit is lost"

if [ -s app.db ]; then
	[ "$(sqlite3 app.db 'PRAGMA integrity_check')" = ok ] || fail "app.db is damaged"
	# There is no table if the first transaction was rolled back just now.
	n=$(sqlite3 app.db 'SELECT count(*) FROM t WHERE length(x) = 1000' 2>/dev/null) || n=0
	[ "$n" -ge "$row" ] || fail "row $row was durable, and there are $n"
elif [ "$row" != 0 ]; then
	fail "app.db is lost"
fi
