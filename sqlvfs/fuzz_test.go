package sqlvfs

import (
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/riverlytech/art/sqlvfs/fsck"
	"github.com/riverlytech/art/sqlvfs/internal/database"
	"github.com/riverlytech/art/sqlvfs/internal/dbtest"
)

var executions = flag.Int("executions", 20_000, "how many damaged databases to open")

// hostileRows turn a sound database into ones that no tree should be like. Damage comes on top.
var hostileRows = []string{
	"",
	"UPDATE fs_dentry SET parent_ino=3 WHERE ino=3",
	"INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('loop', 3, 1), ('..', 1, 3), ('.', 1, 3), ('a/b', 1, 2), ('', 1, 2)",
	"INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('x', 99, 2), ('y', 1, 99), ('z', -1, -1), (x'00ff', 1, 2), (zeroblob(300), 1, 2)",
	"UPDATE fs_inode SET size=1<<62",
	"UPDATE fs_inode SET size=-1",
	"UPDATE fs_inode SET mode='dir', nlink=x'01', atime=1e300, mtime_nsec=-5",
	"UPDATE fs_inode SET mode=mode|(1<<40), nlink=-1",
	"UPDATE fs_inode SET mode=16877 WHERE ino>1",
	"UPDATE fs_data SET chunk_index=-chunk_index-1",
	"UPDATE fs_data SET data=zeroblob(5000)",
	"UPDATE fs_data SET data='text', chunk_index=(1<<62)+chunk_index",
	"UPDATE fs_symlink SET target=zeroblob(10000)",
	"UPDATE fs_config SET value='99999999999999999999'",
	"UPDATE fs_config SET value='600'",
	"UPDATE art_origin SET path='../../etc', data_limit=1<<62, base=77",
	"UPDATE fs_origin SET base_ino=2",
	"UPDATE art_xattr SET name=zeroblob(4000), value=zeroblob(9000)",
	"UPDATE art_whiteout SET name='a/b'",
	"INSERT INTO art_orphan SELECT ino FROM fs_inode",
	"DROP TABLE art_xattr",
	"ALTER TABLE fs_inode RENAME COLUMN size TO length",
	"PRAGMA user_version=1",
	"PRAGMA application_id=0",
}

// images are the databases that damage is done to, with small pages and chunks, so that little of
// them is never looked at.
var images = sync.OnceValues(func() (list [][]byte, err error) {
	dir, err := os.MkdirTemp("", "art-fuzz-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for i, sql := range hostileRows {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := makeImage(path, sql); err != nil {
			return nil, fmt.Errorf("%s: %w", sql, err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		list = append(list, data)
	}
	sdk := dbtest.SDKFile()
	sdk[18], sdk[19] = 1, 1 // no log (https://sqlite.org/fileformat2.html, section 1.3.3)
	return append(list, sdk), nil
})

func makeImage(path, sql string) error {
	c, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	defer c.Close()
	err = c.Exec("PRAGMA page_size=512;" + database.FormatTables + database.ArtTables + `
		INSERT INTO fs_config VALUES ('chunk_size', '512');
		INSERT INTO fs_inode (ino, mode, nlink, size, atime, mtime, ctime) VALUES
			(1, 16877, 3, 0, 1, 1, 1), (2, 33188, 2, 1500, 1, 1, 1), (3, 16877, 2, 0, 1, 1, 1),
			(4, 41471, 1, 4, 1, 1, 1), (5, 16877, 2, 0, 1, 1, 1), (6, 33188, 1, 2048, 1, 1, 1);
		INSERT INTO fs_dentry (name, parent_ino, ino) VALUES
			('file', 1, 2), ('dir', 1, 3), ('twin', 3, 2), ('link', 1, 4), ('over', 1, 5), ('part', 3, 6);
		INSERT INTO fs_data VALUES (2, 0, CAST(printf('%.512c', 'a') AS BLOB)), (2, 1, CAST(printf('%.512c', 'b') AS BLOB)), (2, 2, CAST(printf('%.476c', 'c') AS BLOB)), (6, 3, zeroblob(512));
		INSERT INTO fs_symlink VALUES (4, 'file');
		INSERT INTO art_base VALUES (1, 'ws');
		INSERT INTO art_origin (ino, base, path, dev, base_ino, size, mtime, mtime_nsec, ctime, ctime_nsec, data_limit) VALUES
			(5, 1, 'over', 1, 1, 0, 1, 1, 1, 1, 0), (6, 1, 'part', 1, 2, 9, 1, 1, 1, 1, 1024);
		INSERT INTO fs_origin VALUES (5, (1<<52)+1), (6, (1<<52)+2);
		INSERT INTO art_whiteout VALUES (5, 'gone');
		INSERT INTO art_xattr VALUES (2, 'user.a', x'01'), (3, 'user.b', zeroblob(700));` +
		fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d;", ApplicationID, SchemaVersion))
	if err != nil {
		return err
	}
	return c.Exec(sql)
}

// memory is a VFS of one file that changes under its readers' eyes.
type memory struct {
	data []byte
}

func (m *memory) Open(_ string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if flags&vfs.OPEN_MAIN_DB == 0 {
		return nil, flags, sqlite3.CANTOPEN
	}
	return memoryFile{m}, flags, nil
}

func (m *memory) Delete(string, bool) error                                 { return sqlite3.IOERR_DELETE_NOENT }
func (m *memory) Access(string, vfs.AccessFlag) (bool, error)               { return false, nil }
func (m *memory) FullPathname(name string) (string, error)                  { return name, nil }
func (f memoryFile) Close() error                                           { return nil }
func (f memoryFile) Truncate(int64) error                                   { return sqlite3.READONLY }
func (f memoryFile) WriteAt([]byte, int64) (int, error)                     { return 0, sqlite3.READONLY }
func (f memoryFile) Sync(vfs.SyncFlag) error                                { return nil }
func (f memoryFile) Size() (int64, error)                                   { return int64(len(f.data)), nil }
func (f memoryFile) Lock(vfs.LockLevel) error                               { return nil }
func (f memoryFile) Unlock(vfs.LockLevel) error                             { return nil }
func (f memoryFile) CheckReservedLock() (bool, error)                       { return false, nil }
func (f memoryFile) SectorSize() int                                        { return 512 }
func (f memoryFile) DeviceCharacteristics() (none vfs.DeviceCharacteristic) { return }

type memoryFile struct{ *memory }

func (f memoryFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// opener opens damaged databases one after the other. Its connections stay open, because to make one
// takes longer than all that is done with it: what SQLite remembers of the file goes by the header's
// counters, which are never the same.
type opener struct {
	images             [][]byte
	memory             *memory
	query              string
	meta, rows, checks *conn
	counter            uint32
	admitted           bool // the schema that the connections know
	opened             int  // how many were accepted
}

var openers atomic.Int64

func newOpener(t testing.TB) *opener {
	list, err := images()
	must(t, err)
	o := &opener{images: list, memory: &memory{}}
	name := fmt.Sprint("memory", openers.Add(1))
	vfs.Register(name, o.memory)
	o.query = "vfs=" + name
	t.Cleanup(func() {
		o.close()
		vfs.Unregister(name)
	})
	return o
}

func (o *opener) close() {
	for _, c := range []**conn{&o.meta, &o.rows, &o.checks} {
		if *c != nil {
			(*c).Close()
			*c = nil
		}
	}
	o.admitted = false
}

// connection returns a connection that is open already, or a new one.
func (o *opener) connection(c **conn) (_ *conn, err error) {
	if *c == nil {
		*c, err = database.Connect("/a.db", sqlite3.OPEN_READONLY, o.query)
	}
	return *c, err
}

// The first byte of an input says which image is damaged, the second what else is done. Each edit
// behind that has six bytes: what, page, offset, value.
const editSize = 6

const (
	alsoCheck = 1 << iota // run the rules of check
	newSchema             // have the schema read again
	newConnections
)

// interesting numbers, for where lengths, counts and types are.
var interesting = []uint64{0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
	0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0x8080808080808080, 0x0d0a05020d0a0502}

// damage makes a database of an input.
func (o *opener) damage(in []byte) {
	o.memory.data = append(o.memory.data[:0], o.images[int(in[0])%len(o.images)]...)
	data := o.memory.data
	size := int(binary.BigEndian.Uint16(data[16:]))
	pages := len(data) / size
	for edits := in[2:]; len(edits) >= editSize; edits = edits[editSize:] {
		page := data[int(edits[1])%pages*size:][:size]
		at := int(binary.BigEndian.Uint16(edits[2:])) % size
		value := binary.BigEndian.Uint16(edits[4:])
		put := func(p []byte, n int) {
			var b [8]byte
			binary.BigEndian.PutUint64(b[:], interesting[int(value)%len(interesting)])
			copy(p, b[8-n:])
		}
		switch edits[0] % 12 {
		default:
			page[at] = byte(value)
		case 1:
			page[at] ^= 1 << (value % 8)
		case 2:
			copy(page[at:], binary.BigEndian.AppendUint16(nil, value))
		case 3:
			put(page[at:], 4)
		case 4:
			put(page[at:], 8)
		case 5: // a field of the file's header
			put(data[16+at%84:], 1+int(value)%4)
		case 6: // a field of the page's header, or a cell's pointer
			copy(page[at%24:], binary.BigEndian.AppendUint16(nil, value))
		case 7: // one page in the place of another
			copy(page, data[int(value)%pages*size:][:size])
		case 8:
			clear(page[at:])
		case 9: // something of another page
			from := data[int(value)%pages*size:][:size]
			copy(page[at:], from[at:min(at+16, size)])
		case 10: // the page of the same kind that it points to is another
			put(page[at:], 4)
			page[at%size] = byte(value % uint16(pages))
		case 11: // the file ends early
			o.memory.data = data[:max(len(data)-int(value)%size, 100)]
		}
	}
	// SQLite trusts what it has read before while these stand still.
	o.counter++
	header := o.memory.data
	binary.BigEndian.PutUint32(header[24:], o.counter)
	if in[1]&newSchema != 0 {
		binary.BigEndian.PutUint32(header[40:], o.counter)
	}
}

// open does what Open does with a database for reading, and then what a reader does with the tree.
func (o *opener) open(in []byte) error {
	if len(in) < 2 {
		return nil
	}
	o.damage(in)
	if in[1]&newConnections != 0 {
		o.close()
	}
	meta, err := o.connection(&o.meta)
	if err != nil {
		return database.Explain(err)
	}
	s := &Store{fixed: &fixed{tuning: defaults, readOnly: true}}
	s.tx = Tx{fixed: s.fixed, live: map[Ino]*Inode{}, gather: newBatch(1), looked: time.Now().Add(time.Hour), meta: meta}
	if in[1]&newSchema != 0 || !o.admitted {
		err = o.admit(meta)
		o.admitted = err == nil
	}
	if err == nil {
		s.readers = newConnPool(1, func() (*conn, error) { return o.connection(&o.rows) })
		err = s.tx.start()
	}
	if err == nil {
		o.opened++
		o.walk(s)
	}
	if in[1]&alsoCheck != 0 {
		o.check()
	}
	return database.Explain(err)
}

// admit does what depends on the schema, and so is not done again while that is not read again.
func (o *opener) admit(meta *conn) error {
	app, version, err := admit(meta.Conn)
	if err != nil {
		return err
	}
	if subst := substitutes(app, version); len(subst) != len(meta.Subst) {
		meta.Forget()
		meta.Subst = subst
	}
	return nil
}

// walk looks at every inode that can be reached.
func (o *opener) walk(s *Store) {
	buf := make([]byte, 600)
	seen := map[Ino]bool{}
	for queue := []Ino{RootIno}; len(queue) > 0 && len(seen) < 100; queue = queue[1:] {
		if seen[queue[0]] {
			continue
		}
		seen[queue[0]] = true
		var in *Inode
		var children []Child
		err := s.View(func(tx *Tx) (err error) {
			if in, err = tx.Get(queue[0]); err != nil {
				return err
			}
			names, _ := tx.Xattrs(in)
			for _, name := range names {
				tx.Xattr(in, name)
			}
			children, _ = tx.Children(in)
			tx.Whiteouts(in)
			return nil
		})
		if err != nil {
			continue
		}
		for _, c := range children {
			if !ValidName(c.Name) {
				panic(fmt.Sprintf("the directory has an entry %q", c.Name))
			}
			queue = append(queue, c.Ino)
		}
		if in.Attr.IsRegular() {
			for _, off := range []int64{0, in.Attr.Size/2 - 100, in.Attr.Size - 300} {
				s.ReadAt(in, buf, max(off, 0), strings.NewReader("short"))
			}
		}
		put(s, in)
	}
}

func (o *opener) check() {
	c, err := o.connection(&o.checks)
	if err != nil {
		return
	}
	fsck.CheckConn(c)
	c.Exec("ROLLBACK; PRAGMA query_only=OFF") // or there was no transaction
}

// randomDamage is an input with few edits, as most others have damage that is noticed at once.
func randomDamage(rnd *rand.Rand) []byte {
	in := make([]byte, 2+editSize*(1+rnd.IntN(1+rnd.IntN(6))))
	for i := range in {
		in[i] = byte(rnd.Uint32())
	}
	in[1] = 0
	switch p := rnd.IntN(1000); {
	case p < 20:
		in[1] = alsoCheck | newSchema
	case p < 100:
		in[1] = newSchema
	case p == 999:
		in[1] = newConnections
	}
	return in
}

// FuzzOpen has the fuzzer choose the damage.
func FuzzOpen(f *testing.F) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range hostileRows {
		in := randomDamage(rnd)
		in[0] = byte(i)
		f.Add(in)
	}
	o := newOpener(f)
	f.Fuzz(func(t *testing.T, in []byte) { o.open(in[:min(len(in), 200)]) })
}

// However a database is damaged, opening it and looking at all that it holds ends, with an error or
// without, and shows nothing that cannot be.
func TestOpenOfDamagedDatabases(t *testing.T) {
	n := *executions
	if testing.Short() {
		n = min(n, 1000)
	}
	seed := uint64(time.Now().UnixNano())
	workers := runtime.GOMAXPROCS(0)
	t.Logf("seed %d", seed)
	for i := range workers {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			o := newOpener(t)
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			var in []byte
			var begin atomic.Int64
			defer guard(t, &begin, &in)()
			start := time.Now()
			for range n / workers {
				in = randomDamage(rnd)
				begin.Store(time.Now().UnixNano())
				o.open(in)
			}
			t.Logf("%d of %d were accepted, %.0f executions/s", o.opened, n/workers, float64(n/workers)/time.Since(start).Seconds())
		})
	}
}

// guard tells which input it is that does not end, or that panics.
func guard(t *testing.T, begin *atomic.Int64, in *[]byte) (end func()) {
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
			if b := begin.Load(); b != 0 && time.Since(time.Unix(0, b)) > time.Minute {
				panic(fmt.Sprintf("input %x takes longer than a minute", slices.Clone(*in)))
			}
		}
	}()
	return func() {
		close(stop)
		if r := recover(); r != nil {
			t.Logf("input %x", *in)
			panic(r)
		}
	}
}
