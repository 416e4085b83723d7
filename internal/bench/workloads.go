package main

const readAll = `find src -type f -exec cat {} + >/dev/null`

// workloads are in the order in which they are shown.
var workloads = concat(
	[]workload{
		{name: "untar Go's source", fixture: "go", setup: `mkdir out; cat go-src.tar >/dev/null`, step: `tar --no-same-owner -xf go-src.tar -C out`},
		{name: "cp -r", fixture: "go", setup: readAll, step: `cp -r src copy`},
		{name: "rm -rf, of the base", fixture: "go", step: `rm -rf src`},
		{name: "rm -rf, just written", fixture: "go", setup: `cp -r src copy`, step: `rm -rf copy`},
	},
	both(workload{name: "find and stat all", fixture: "go", step: `find src -printf '%s %T@\n' >/dev/null`}),
	both(workload{name: "grep -r", fixture: "go", step: `grep -rq 'no line is like this one' src || test $? = 1`}),
	[]workload{
		{name: "git clone", fixture: "git", setup: `git -C repo status >/dev/null`, step: `git clone -q repo clone`},
	},
	both(workload{name: "git status", fixture: "git", setup: `git -C repo status >/dev/null`, step: `git -C repo status --short`}),
	[]workload{
		{name: "git add and commit", fixture: "go", setup: `mkdir repo; cp -r src repo; git init -q repo`,
			step: `cd repo; git add -A; git commit -q -m all`},
		{name: "git checkout", fixture: "git", setup: `git -C repo status >/dev/null`, step: `git -C repo checkout -q old; git -C repo checkout -q new`},
		{name: "go build, empty cache", fixture: "art", step: `cd art; go build -o /dev/null ./...`},
		{name: "go build, full cache", fixture: "art", setup: `cp -r go-cache "$GOCACHE"; cd art; go build -o /dev/null ./...`,
			step: `cd art; go build -o /dev/null ./...`},
		{name: "npm ci", fixture: "npm", step: `cd app; npm ci --offline --ignore-scripts --no-audit --no-fund --loglevel=error`},
		{name: "python3 -m compileall", fixture: "python", step: `python3 -m compileall -q lib`},
		{name: "make -j2", fixture: "c", step: `cd lua; make -j2 -C src linux >/dev/null`},
		{name: "write 1 GiB", fixture: "empty", step: `"$WORKER" write -size 1073741824 big`},
	},
	both(workload{name: "read 1 GiB", fixture: "empty", setup: `"$WORKER" write -size 1073741824 big`, step: `cat big >/dev/null`}),
	[]workload{
		{name: "random 4 KiB writes", fixture: "empty", setup: `"$WORKER" write -size 268435456 big`,
			step: `"$WORKER" random -write -n 20000 big`},
	},
	both(workload{name: "random 4 KiB reads", fixture: "empty", setup: `"$WORKER" write -size 268435456 big`,
		step: `"$WORKER" random -n 20000 big`}),
	smallFiles("1"),
	smallFiles("4"),
	[]workload{
		{name: "SQLite, 1,000 commits", fixture: "empty", step: sqliteCommits},
	},
)

const sqliteCommits = `python3 -c '
import sqlite3
db = sqlite3.connect("app.db", isolation_level=None)
db.execute("PRAGMA synchronous=FULL")
db.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")
for i in range(1000):
    db.execute("INSERT INTO t (v) VALUES (?)", ("value %d" % i,))
'`

// smallFiles makes, reads and deletes 10,000 files of 1 KiB.
func smallFiles(threads string) []workload {
	run := func(what string) string { return `"$WORKER" files -threads ` + threads + ` ` + what + ` small` }
	suffix := " small files, " + threads + " threads"
	if threads == "1" {
		suffix = " small files, 1 thread"
	}
	return []workload{
		{name: "create" + suffix, fixture: "empty", step: run("create")},
		{name: "read" + suffix, fixture: "empty", setup: run("create"), step: run("read")},
		{name: "delete" + suffix, fixture: "empty", setup: run("create"), step: run("delete")},
	}
}

// both is a workload with cold caches and with warm ones.
func both(w workload) []workload {
	c, h := w, w
	c.cache, h.cache = cold, warm
	return []workload{c, h}
}

func concat(lists ...[]workload) []workload {
	var all []workload
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
