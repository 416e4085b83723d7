package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/benbjohnson/litestream"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/sqlvfs"
)

// identityName is the object at a place that says what it holds a copy of. Litestream itself copies into the place of another
// database's copy without a word.
const identityName = "art.json"

// States of what is copied.
const (
	Running = "running" // a session writes it
	Ended   = "ended"   // the copy is all of it
)

// Identity is what a place says that it holds a copy of. Everybody who can write there can have written it.
type Identity struct {
	Format    int       `json:"format"`
	ID        string    `json:"id"` // of the database
	Database  string    `json:"database"`
	Workspace string    `json:"workspace,omitempty"`
	Host      string    `json:"host,omitempty"`
	State     string    `json:"state"`
	Session   int64     `json:"session"` // the newest in the copy
	Changed   time.Time `json:"changed"`
	Size      int64     `json:"size"` // of the database, in bytes
}

const identityFormat = 1

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// identityOf reads that of a database, which a session has open.
func identityOf(path, name string) (*Identity, error) {
	s, err := sqlvfs.Open(path, sqlvfs.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	who := &Identity{Format: identityFormat, Database: name, State: Running, Changed: now()}
	who.Host, _ = os.Hostname()
	err = s.View(func(tx *sqlvfs.Tx) (err error) {
		if who.ID, err = tx.ID(); err != nil {
			return err
		}
		if who.Session, err = tx.NewestSession(); err != nil {
			return err
		}
		known, err := tx.Workspaces()
		for _, w := range known {
			if who.Workspace == "" || w.Whole {
				who.Workspace = w.Path
			}
		}
		return err
	})
	if info, serr := os.Stat(path); serr == nil {
		who.Size = info.Size()
	}
	if err == nil && who.ID == "" {
		err = errors.New("the database has no identity: no session replicates it")
	}
	return who, err
}

// readIdentity returns what is copied to a place; nil: nothing is.
func readIdentity(ctx context.Context, o objects) (*Identity, error) {
	data, err := o.get(ctx, identityName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cli.Reason(err)
	}
	who := &Identity{}
	if err := json.Unmarshal(data, who); err != nil || who.Format < 1 || who.ID == "" {
		return nil, &refused{identityName + " there is damaged", "name another place, or remove what is there"}
	}
	if who.Format > identityFormat {
		return nil, &refused{"a newer art has made the copy there", "install that version, or a later one"}
	}
	return who, nil
}

func (who *Identity) marshal() []byte {
	data, _ := json.MarshalIndent(who, "", "  ") // of texts and numbers
	return append(data, '\n')
}

// claim makes sure that a place holds a copy of this database, of no later state, or nothing at all.
func claim(ctx context.Context, client litestream.ReplicaClient, o objects, mine *Identity) error {
	there, err := readIdentity(ctx, o)
	if err != nil {
		return err
	}
	if there == nil {
		if some, err := holdsAny(ctx, client); err != nil {
			return err
		} else if some {
			return &refused{"there is a copy already, which art has not made", "name another place"}
		}
		if err := o.create(ctx, identityName, mine.marshal()); !errors.Is(err, fs.ErrExist) {
			return cli.Reason(err)
		}
		if there, err = readIdentity(ctx, o); err != nil || there == nil {
			return err
		}
	}
	switch {
	case there.ID != mine.ID:
		return &refused{"it holds the copy of another database: " + there.describe(), "name another place for this one"}
	case there.Session > mine.Session:
		return &refused{
			fmt.Sprintf("the copy there is of a later state than the database: %s, session %d, and the database has session %d", there.describe(), there.Session, mine.Session),
			"art restore brings that back; or name another place",
		}
	}
	return nil
}

// describe says whose copy it is.
func (who *Identity) describe() string {
	text := cli.Printable(who.Database)
	if who.Workspace != "" {
		text = cli.Printable(who.Workspace)
	}
	if who.Host != "" {
		text += " on " + cli.Printable(who.Host)
	}
	return text + ", of " + who.Changed.Local().Format(time.DateTime)
}

// holdsAny tells whether Litestream has put anything at a place.
func holdsAny(ctx context.Context, client litestream.ReplicaClient) (bool, error) {
	for level := range litestream.SnapshotLevel + 1 {
		files, err := client.LTXFiles(ctx, level, 0, false)
		if err != nil {
			return false, explain(err)
		}
		some := files.Next()
		if err := files.Close(); err != nil || some {
			return some, explain(err)
		}
	}
	return false, nil
}
