package main

import "fmt"

const readAll = `find src -type f -exec cat {} + >/dev/null`

const (
	find     = `find src -printf '%s %T@\n' >/dev/null`
	grep     = `grep -rq 'no line is like this one' src || test $? = 1`
	status   = `git -C repo status --short`
	goBuild  = `cd art; go build -o /dev/null ./internal/cli`
	readBig  = `cat big >/dev/null`
	readSome = `"$WORKER" random -n 20000 big`
)

// workloads are in the order in which they are shown. What one step leaves behind, the next one works
// on: so less has to be set up. Cold steps come after those that want the host's pages in memory.
var workloads = []workload{
	{fixture: "go", setup: `mkdir out; cat go-src.tar >/dev/null`, steps: []step{
		{name: "untar Go's source", script: `tar --no-same-owner -xf go-src.tar -C out`},
		{name: "rm -rf, just written", script: `rm -rf out`},
	}},
	{fixture: "go", setup: readAll, steps: []step{
		{name: "cp -r", script: `cp -r src copy`},
		{name: "git add and commit", prepare: `mkdir repo; mv copy repo/src; git init -q repo`, script: `cd repo; git add -A; git commit -q -m all`},
	}},
	{fixture: "go", steps: []step{{name: "rm -rf, of the base", script: `rm -rf src`}}},
	{fixture: "go", steps: []step{
		{name: "find and stat all", script: find, cache: cold},
		{name: "find and stat all", script: find, cache: warm},
		{name: "grep -r", script: grep, cache: cold},
		{name: "grep -r", script: grep, cache: warm},
	}},
	{fixture: "git", setup: status + ` >/dev/null`, steps: []step{
		{name: "git clone", script: `git clone -q repo clone`},
		{name: "git status", script: status, cache: cold},
		{name: "git status", script: status, cache: warm},
	}},
	{fixture: "git", setup: status + ` >/dev/null`, steps: []step{
		{name: "git checkout", script: `git -C repo checkout -q old; git -C repo checkout -q new`},
	}},
	{fixture: "art", steps: []step{
		{name: "go build, empty cache", script: goBuild},
		{name: "go build, full cache", script: goBuild, prepare: goBuild},
	}},
	{fixture: "npm", steps: []step{{name: "npm ci", script: `cd app; npm ci --offline --ignore-scripts --no-audit --no-fund --loglevel=error`}}},
	{fixture: "python", steps: []step{{name: "python3 -m compileall", script: `python3 -m compileall -q lib`}}},
	{fixture: "c", steps: []step{{name: "make -j2", script: `cd lua; make -j2 -C src linux >/dev/null`}}},
	{fixture: "empty", steps: []step{
		{name: "write 1 GiB", script: `"$WORKER" write -size 1073741824 big`},
		{name: "read 1 GiB", script: readBig, cache: cold},
		{name: "read 1 GiB", script: readBig, cache: warm},
	}},
	{fixture: "empty", setup: `"$WORKER" write -size 134217728 big`, steps: []step{
		{name: "random 4 KiB writes", script: `"$WORKER" random -write -n 20000 big`},
		{name: "random 4 KiB reads", script: readSome, cache: cold},
		{name: "random 4 KiB reads", script: readSome, cache: warm},
	}},
	smallFiles("1", " small files, 1 thread"),
	smallFiles("4", " small files, 4 threads"),
	{fixture: "empty", steps: []step{{name: "SQLite, 1,000 commits", script: sqliteCommits}}},
	{fixture: "empty", steps: []step{{name: "append and fsync, 1,000 times", script: `"$WORKER" append -n 1000 log`}}},
	million(),
}

const sqliteCommits = `python3 -c '
import sqlite3
db = sqlite3.connect("app.db", isolation_level=None)
db.execute("PRAGMA synchronous=FULL")
db.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")
for i in range(1000):
    db.execute("INSERT INTO t (v) VALUES (?)", ("value %d" % i,))
'`

// million makes 1,000,000 files in one session, whose rate and memory should be the same from first to last.
func million() workload {
	w := workload{fixture: "empty", alone: true}
	for i := range 10 {
		w.steps = append(w.steps, step{
			name:   fmt.Sprintf("1,000,000 files, tenth %d", i+1),
			script: fmt.Sprintf(`"$WORKER" files -n 100000 create many/%d`, i),
			atOnce: i > 0,
		})
	}
	return w
}

// smallFiles makes, reads and deletes 5,000 files of 1 KiB.
func smallFiles(threads, suffix string) workload {
	w := workload{fixture: "empty"}
	for _, what := range []string{"create", "read", "delete"} {
		w.steps = append(w.steps, step{name: what + suffix, script: `"$WORKER" files -threads ` + threads + ` -n 5000 ` + what + ` small`})
	}
	return w
}
