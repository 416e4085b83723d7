package database_test

import (
	"errors"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/sqlvfs/internal/database"
	"github.com/riverlytech/art/sqlvfs/internal/dbtest"
)

// The schema of nearly every database is recognized at a glance.
func TestOwnSchemaIsFamiliar(t *testing.T) {
	c, err := sqlite3.Open(dbtest.Sample(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, own := range []bool{true, false} {
		if list, whole, err := database.Deviations(c); err != nil || whole != own || len(list) > 0 {
			t.Errorf("recognized: %v, want %v; %v, %v", whole, own, list, err)
		}
		if err := c.Exec("CREATE TABLE IF NOT EXISTS x (y)"); err != nil {
			t.Fatal(err)
		}
	}
}

// The library gives up when a connection has no memory left. For the caller, that is an error.
func TestOutOfMemoryIsAnError(t *testing.T) {
	c, err := sqlite3.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	err = func() (err error) {
		defer database.CatchOutOfMemory(&err)
		_, err = database.QueryInt(c, "SELECT length(group_concat(x, '')) FROM (SELECT zeroblob(100000000) AS x UNION ALL SELECT zeroblob(100000000) UNION ALL SELECT zeroblob(100000000))")
		return err
	}()
	if !errors.Is(err, database.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("another panic is kept quiet")
		}
	}()
	func() {
		defer database.CatchOutOfMemory(&err)
		panic(errors.New("something else"))
	}()
}
