# usage: work.sh ROUND SECONDS
#
# Works in three ways at once, and says on standard output what must be there
# from then on, whatever happens: it is durable. A line goes out in one write.
round=$1

# Write a file, sync it, rename it; and again. Every few files, the name too.
storm() (
	set -e
	mkdir "storm$round"
	cd "storm$round"
	exec 9>open # which has no name soon, and must not be left in the database
	rm open
	i=0
	while :; do
		i=$((i + 1))
		echo "$i $i $i" >tmp
		sync tmp
		mv tmp "$i"
		head -c 5000 /dev/zero >&9
		if [ $((i % 4)) = 0 ]; then
			sync "$i"
			echo "storm $i"
		fi
	done
)

# Commit to a repository that syncs all that it writes. Git renames a reference
# after it has synced its content, and leaves that to the file system.
commit() (
	set -e
	git init -q repo
	rm -f repo/.git/*.lock repo/.git/refs/heads/*.lock # of a git that was killed
	cd repo
	git config core.fsync all
	git config gc.auto 0
	git config user.name agent
	git config user.email agent@localhost
	i=0
	while :; do
		i=$((i + 1))
		echo "$round $i" >"file$((i % 7))"
		git add .
		git commit -q -m "round $round, commit $i"
		head=$(git rev-parse HEAD)
		sync .git/HEAD
		echo "git $head"
	done
)

# Insert rows. EXTRA syncs the directory after the journal is gone, which is the
# commit (https://sqlite.org/pragma.html#pragma_synchronous). But it is content
# with a directory that cannot be opened (unixDelete in os_unix.c), as when the
# server has just been killed; so the file is synced once more.
insert() (
	set -e
	while :; do
		id=$(sqlite3 app.db 'PRAGMA synchronous=EXTRA;
			CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, x);
			INSERT INTO t (x) VALUES (hex(randomblob(500))) RETURNING id')
		sync app.db
		echo "sqlite $id"
	done
)

storm 2>/dev/null &
commit 2>/dev/null &
insert 2>/dev/null &
sleep "$2"
kill $! 2>/dev/null
