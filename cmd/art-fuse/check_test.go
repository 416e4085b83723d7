package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/flags"
)

func TestCheck(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	store, err := openStore(db, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	check := func(want int, wantOut string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if got := run(append([]string{"check"}, args...), &out); got != want || out.String() != wantOut {
			t.Errorf("check %q: exit %d, %q; want %d, %q", args, got, out.String(), want, wantOut)
		}
	}
	check(cli.OK, "", db)
	check(cli.OK, "", "--json", db)
	check(cli.ExitUsage, "")
	check(cli.ExitUsage, "", db, db)
	check(cli.ExitUsage, "", "--no-such-flag", db)
	check(cli.ExitError, "", db+".missing")
	check(cli.OK, flags.Find("art-fuse check").Help(), "--help")

	c, err := sqlite3.Open(db)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec("INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('x' || char(10), 1, 9)"); err != nil {
		t.Fatal(err)
	}
	check(cli.ExitError, `inode 9: is not there, but has the name "x\n" in directory 1`+"\n", db)
	check(cli.ExitError, `{"ino":9,"text":"is not there, but has the name \"x\\n\" in directory 1"}`+"\n", db, "--json")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	check(cli.OK, `{"ino":9,"text":"is not there, but has the name \"x\\n\" in directory 1","mended":"the name is gone, unless it is a directory's"}`+"\n"+
		`{"before":"`+db+`.before-repair"}`+"\n", db, "--json", "--repair")
}
