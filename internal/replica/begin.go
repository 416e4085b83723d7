package replica

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/benbjohnson/litestream"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/sqlvfs"
)

// leaseOf is that of this process, for a session that has a database.
func leaseOf(database, token string) Lease {
	l := Lease{Token: token, PID: os.Getpid(), User: strconv.Itoa(os.Getuid())}
	l.Host, _ = os.Hostname()
	if u, err := user.Current(); err == nil {
		l.User = u.Username
	}
	var st unix.Stat_t
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err == nil && unix.Stat(database, &st) == nil {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", boot, st.Dev, st.Ino))
		l.Machine = hex.EncodeToString(sum[:16])
	}
	return l
}

// begin opens the database for Litestream, which copies all of it first, or goes on from the base of the generation. What an earlier process has kept
// is removed before: Litestream goes by the newest file of level 0 alone, and would take what is in the log for what follows that.
func (j *Job) begin() (err error) {
	if err := j.forgetKept(); err != nil {
		return err
	}
	client, err := j.place.generation(j.tenure.says(), j.tenure.generation)
	if err != nil {
		return err
	}
	if j.file, err = os.OpenFile(j.what.Database, os.O_RDWR|unix.O_NOFOLLOW, 0); err != nil {
		return fmt.Errorf("open the database: %w", cli.Reason(err))
	}
	_ = sqlvfs.ForgetLeft(j.file)
	// The log stays as long as somebody has the database open.
	open, err := openSQL(j.what.Database)
	if err == nil {
		defer open.Close()
		err = rememberIn(open, j.tenure.says().Place, j.tenure.generation.ID)
	}
	if err == nil {
		_, err = open.Exec("INSERT OR REPLACE INTO fs_config (key, value) VALUES (?, '')", sqlvfs.KeyCopied+j.what.Place)
	}
	if err != nil {
		j.file.Close()
		return fmt.Errorf("note in the database where it is copied: %w", cli.Reason(err))
	}
	db := litestream.NewDB(j.what.Database)
	db.SetMetaPath(j.what.Kept)
	db.MonitorInterval = 0 // see read
	db.Replica = litestream.NewReplicaWithClient(db, &fenced{client, j.tenure, &j.taken})
	db.Replica.MonitorEnabled = false // see upload
	j.db, j.store = db, litestream.NewStore([]*litestream.DB{db}, litestream.DefaultCompactionLevels)
	j.store.SnapshotRetention = retention
	j.store.L0RetentionCheckInterval = lookForOld
	j.store.CompactionMonitorEnabled = false // see compact
	db.ShutdownSyncTimeout = 0               // NewStore has set it
	j.whole = make(chan struct{})
	if err = j.start(open); err != nil {
		j.file.Close()
	}
	return err
}

// remember has the database at a path say what it continues at a place, durably. In one that is copied that is so before anything is, and so
// whatever is brought back says it too.
func remember(path, place, position string) error {
	db, err := openSQL(path)
	if err != nil {
		return err
	}
	defer db.Close()
	return rememberIn(db, place, position)
}

func rememberIn(db *sql.DB, place, position string) error {
	_, err := db.Exec("INSERT OR REPLACE INTO fs_config (key, value) VALUES (?, ?)", sqlvfs.KeyContinues+place, position)
	return err
}

// openSQL opens a database with Litestream's SQLite.
func openSQL(path string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_pragma=busy_timeout(10000)&_pragma=wal_autocheckpoint(0)&_pragma=synchronous(FULL)")
}

// forgetKept removes what was kept for the place. It is not Kept itself, which is all that this process may write there.
func (j *Job) forgetKept() error {
	if err := os.RemoveAll(filepath.Join(j.what.Kept, "ltx")); err != nil {
		return fmt.Errorf("remove what waits: %w", cli.Reason(err))
	}
	return nil
}
