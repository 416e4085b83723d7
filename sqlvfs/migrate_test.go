package sqlvfs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// portrait is what of a tree must survive a migration: names, content, origins and whiteouts.
func portrait(t *testing.T, s *Store) map[string]string {
	t.Helper()
	tree := map[string]string{}
	var walk func(path string, ino Ino)
	walk = func(path string, ino Ino) {
		var in *Inode
		var children []Child
		var whiteouts []string
		must(t, s.View(func(tx *Tx) (err error) {
			in, err = tx.Get(ino)
			must(t, err)
			if in.Attr.IsDir() {
				children, err = tx.Children(in)
				must(t, err)
				whiteouts, err = tx.Whiteouts(in)
			}
			return err
		}))
		defer put(s, in)
		switch {
		case in.Origin != nil:
			tree[path] = strings.Join(append([]string{in.Origin.Path}, whiteouts...), " but ")
		case in.Attr.IsRegular():
			tree[path] = string(content(t, s, in))
		case in.Attr.IsSymlink():
			tree[path] = "-> " + in.target
		}
		for _, c := range children {
			walk(path+"/"+c.Name, c.Ino)
		}
	}
	walk("", RootIno)
	return tree
}

// The newest layout's text is, to the word, what this program writes.
func TestFixtureIsTheNewestLayout(t *testing.T) {
	c, err := sqlite3.Open(fixture(t, SchemaVersion))
	must(t, err)
	defer c.Close()
	if _, whole, err := database.Deviations(c); err != nil || !whole {
		t.Errorf("whole: %v, %v", whole, err)
	}
}

func TestEveryLayoutIsReadAndBroughtUpToDate(t *testing.T) {
	for layout := 1; layout <= SchemaVersion; layout++ {
		t.Run(fmt.Sprint(layout), func(t *testing.T) {
			path := fixture(t, layout)
			look := func(opt Options) {
				t.Helper()
				s, err := Open(path, opt)
				must(t, err)
				if got := portrait(t, s); !maps.Equal(got, fixtureTree) {
					t.Errorf("%+v: the tree is %q", opt, got)
				}
				must(t, s.Close())
			}
			sound := ""
			if layout == 1 { // as its first version made files
				sound = "0 the file has a pointer map (auto_vacuum), which other tools of the format do not maintain and leave damaged\n"
			}
			before := bytesOf(t, path)
			look(Options{ReadOnly: true})
			if got := findings(t, path); got != sound {
				t.Errorf("before: %s", got)
			}
			if bytesOf(t, path) != before {
				t.Error("reading has changed the file")
			}
			look(Options{})
			if got := findings(t, path); got != sound {
				t.Errorf("after: %s", got)
			}
			look(Options{ReadOnly: true})
			look(Options{})
			c, err := sqlite3.Open(path)
			must(t, err)
			defer c.Close()
			if v, err := database.PragmaInt(c, "user_version"); err != nil || v != SchemaVersion {
				t.Errorf("layout is %d, %v", v, err)
			}
		})
	}
}

// A migration that is cut off, by a power cut or by an error on the way, was none.
func TestMigrationIsWholeOrNone(t *testing.T) {
	for layout := 1; layout < 7; layout++ { // layouts 8 to 10 make their tables when they are needed: of layout 7, the number changes alone
		t.Run(fmt.Sprint(layout), func(t *testing.T) {
			path := fixture(t, layout)
			alter(t, path, "PRAGMA journal_mode=WAL")
			c, err := sqlite3.Open(path)
			must(t, err)
			defer c.Close()
			must(t, c.Exec("BEGIN"))
			must(t, migrate(c, int64(layout)))
			must(t, c.Exec(fmt.Sprintf("PRAGMA user_version=%d", SchemaVersion)))
			must(t, c.CacheFlush()) // the log holds all of it but the commit
			cut := filepath.Join(t.TempDir(), "cut.db")
			for _, suffix := range []string{"", "-wal"} {
				data, err := os.ReadFile(path + suffix)
				must(t, err)
				if len(data) == 0 {
					t.Fatalf("nothing is in %q", suffix)
				}
				must(t, os.WriteFile(cut+suffix, data, 0o600))
			}
			isAsItWas(t, cut, layout)

			path = fixture(t, layout)
			alter(t, path, "CREATE INDEX art_old_workspace ON fs_inode (uid)") // in the way of the last step
			if s, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), "bring layout") {
				t.Errorf("opened %v: %v", s, err)
			}
			alter(t, path, "DROP INDEX art_old_workspace")
			isAsItWas(t, path, layout)
		})
	}
}

func isAsItWas(t *testing.T, path string, layout int) {
	t.Helper()
	want := fixture(t, layout)
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	must(t, err)
	defer c.Close()
	if v, err := database.PragmaInt(c, "user_version"); err != nil || v != int64(layout) {
		t.Errorf("layout is %d, %v", v, err)
	}
	if got, want := dump(t, path, "sqlite_schema"), dump(t, want, "sqlite_schema"); got != want {
		t.Errorf("the schema is\n%s\nand was\n%s", got, want)
	}
	s := openTest(t, path)
	if got := portrait(t, s); !maps.Equal(got, fixtureTree) {
		t.Errorf("the tree is %q", got)
	}
	must(t, s.Close())
}
