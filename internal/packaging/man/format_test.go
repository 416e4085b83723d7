package man

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/sqlvfs"
)

// TestDatabasePage holds the tables that art-db(5) describes to those of a new database.
func TestDatabasePage(t *testing.T) {
	described := map[string]string{}
	for _, line := range read(t, "art-db.5") {
		table, columns, found := strings.Cut(strings.TrimPrefix(line, ".It Li "), " ( ")
		if found && strings.HasPrefix(line, ".It Li ") {
			described[table] = strings.ReplaceAll(strings.TrimSuffix(columns, " )"), " ", "")
		}
	}
	// A fork that has a fork, and was used with a network by name by a process that has changed something, and pulled from, has
	// all tables.
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "new.db"), filepath.Join(dir, "fork.db"), filepath.Join(dir, "next.db")}
	for i, path := range paths[:2] {
		store, err := sqlvfs.Open(path, sqlvfs.Options{Create: i == 0, Root: sqlvfs.Attr{Mode: 0o40755, Nlink: 2}})
		if err != nil {
			t.Fatal(err)
		}
		secret := sqlvfs.NewSecret()
		at, err := store.AddFork(paths[i+1], secret, "")
		if err == nil {
			err = store.AddFlows([]sqlvfs.Flow{{Name: "a.example", Times: 1}})
		}
		if err == nil {
			process := store.AddProcess(sqlvfs.Process{Argv: []string{"chmod"}})
			err = store.Update(func(tx *sqlvfs.Tx) error {
				tx.By(process, false)
				tx.ChangedAttributes(tx.Root())
				tx.NoteReleased(sqlvfs.Released{Dir: sqlvfs.RootIno, Name: "name"})
				return nil
			})
		}
		if err == nil {
			err = store.BeginSession(1, []string{"chmod"})
		}
		if err == nil {
			err = store.EndSession(nil, "")
		}
		if err == nil {
			err = store.Close()
		}
		if err == nil {
			err = sqlvfs.MakeFork(path, paths[i+1], secret, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := sqlite3.OpenFlags(paths[1], sqlite3.OPEN_READONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	q, _, err := db.Prepare(`SELECT t.name, group_concat(c.name) FROM sqlite_schema t, pragma_table_info(t.name) c
		WHERE t.type = 'table' AND (t.name LIKE 'fs\_%' ESCAPE '\' OR t.name LIKE 'art\_%' ESCAPE '\') GROUP BY t.name`)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	tables := 0
	for q.Step() {
		tables++
		table, columns := q.ColumnText(0), q.ColumnText(1)
		if described[table] != columns {
			t.Errorf("art-db(5) describes %s as %q, and it is %q", table, described[table], columns)
		}
		delete(described, table)
	}
	if err := q.Err(); err != nil || tables < 10 {
		t.Errorf("%d tables found: %v", tables, err)
	}
	for table := range described {
		t.Errorf("art-db(5) describes %s, which is not there", table)
	}
	version, _, err := db.Prepare("PRAGMA user_version")
	if err != nil {
		t.Fatal(err)
	}
	defer version.Close()
	version.Step()
	now := version.ColumnInt(0)
	for before, want := range map[string]string{
		".Li user_version": fmt.Sprintf("%d, the layout of the", now),
		"tables.":          fmt.Sprintf("Layouts 1 to %d are migrated in one transaction when they are opened for writing; newer", now-1),
		`$ sqlite3 work.db "PRAGMA user_version"`: fmt.Sprint(now),
	} {
		page := read(t, "art-db.5")
		if i := slices.Index(page, before); i < 0 || page[i+1] != want {
			t.Errorf("art-db(5) has not %q after %q", want, before)
		}
	}
}

// TestConfigPage holds the keys that art-config(5) describes to those of the schema.
func TestConfigPage(t *testing.T) {
	var schema struct {
		Properties map[string]struct {
			Properties map[string]any
		}
	}
	if err := json.Unmarshal([]byte(config.Schema), &schema); err != nil {
		t.Fatal(err)
	}
	compare := func(section, prefix string, want map[string]bool) {
		t.Helper()
		lines, err := read(t, "art-config.5").Section(section)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if rest, found := strings.CutPrefix(line, ".It Li "+prefix); found {
				key := rest[:strings.IndexAny(rest+" ", `\ `)]
				if !want[key] {
					t.Errorf("art-config(5) describes a key %q, which is none", key)
				}
				delete(want, key)
			}
		}
		for key := range want {
			t.Errorf("art-config(5) does not describe the key %q", key)
		}
	}
	keys, limits := map[string]bool{}, map[string]bool{}
	for key := range schema.Properties {
		keys[key] = true
	}
	for key := range schema.Properties["limits"].Properties {
		limits[key] = true
	}
	if len(keys) < 5 || len(limits) < 5 {
		t.Fatalf("keys: %v, limits: %v", keys, limits)
	}
	compare("SANDBOX.JSON", `\(dq`, keys)
	compare("LIMITS", "", limits)
}

// TestReferencesOfSections holds .Sx to sections of the same page.
func TestReferencesOfSections(t *testing.T) {
	for _, name := range Names() {
		page := read(t, name)
		for _, line := range page {
			section, found := strings.CutPrefix(line, ".Sx ")
			section = strings.TrimRight(section, " .,;:")
			if found && !slices.Contains(page, ".Sh "+section) && !slices.Contains(page, ".Ss "+section) {
				t.Errorf("%s refers to its section %q, which is not there", name, section)
			}
		}
	}
}
