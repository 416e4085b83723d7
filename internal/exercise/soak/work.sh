# usage: work.sh SECONDS
#
# An agent's kinds of work, again and again, in a tree that stays as large as it is.
set -e
until=$(($(date +%s) + $1))
slot=0

work() {
	rm -rf "tree$slot" "moved$slot"
	cp -r /usr/include/linux "tree$slot"
	grep -r FUSE "tree$slot" >found || [ $? = 1 ]
	mv "tree$slot" "moved$slot"
	find "moved$slot" -name 'k*' -exec chmod 600 {} + -exec touch {} +
	ln -f "moved$slot/fs.h" "link$slot"

	tar cf "archive$slot" "moved$slot"
	rm -rf unpacked && mkdir unpacked && tar xf "archive$slot" -C unpacked
	head -c 8000000 /dev/urandom >"big$slot"
	truncate -s 1000000 "big$slot"

	[ -d repo ] || git init -q repo
	cp "moved$slot"/[a-f]*.h repo/
	echo "$(date)" >repo/now
	git -C repo add . && git -C repo -c user.name=a -c user.email=a@b commit -q --amend -m all 2>/dev/null ||
		git -C repo -c user.name=a -c user.email=a@b commit -q -m all
	git -C repo -c gc.reflogExpire=now reflog expire --expire=now --all
	git -C repo prune --expire=now

	sqlite3 app.db 'CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, x); BEGIN;
		INSERT INTO t (x) SELECT hex(randomblob(100)) FROM generate_series(1, 500); COMMIT;
		DELETE FROM t WHERE id <= (SELECT max(id) FROM t) - 2000'
	sync app.db
	echo again >host-file
}

while [ "$(date +%s)" -lt "$until" ]; do
	slot=$(((slot + 1) % 3))
	work
	echo done
done
