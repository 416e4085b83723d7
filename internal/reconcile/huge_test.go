package reconcile

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// A file may be larger than anybody can read, on a file system that has such files. What there is of
// it is brought, wherever it is, and the rest is a hole.
func TestHugeFile(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	b := newBench(t)
	mountTmpfs(t, b.ws, "")
	b.write("partly", "the host's")
	const size, chunk, far = 1 << 62, 1_000_000_000_000, "far away"
	b.guest(func(g *guest) {
		g.write("new", "begin")
		g.patch("partly", "THE", 0)
	})
	if o := b.origin("partly"); o == nil || o.Limit == 0 {
		t.Fatalf("nothing of the file is the host's: %v", o)
	}
	for _, name := range []string{"new", "partly"} {
		ino := fmt.Sprintf("(SELECT ino FROM fs_dentry WHERE name='%s')", name)
		b.sql(fmt.Sprintf("UPDATE fs_inode SET size=%d, ctime=ctime+1 WHERE ino=%s; INSERT INTO fs_data (ino, chunk_index, data) VALUES (%s, %d, CAST('%s' AS BLOB))",
			int64(size), ino, ino, int64(chunk), far))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pull := func(_ context.Context, opt Options) error { return Pull(ctx, opt) }
	for range 2 {
		if out, told, err := b.run(pull, b.ws); err != nil {
			t.Fatalf("%v\n%s%s", err, out, told)
		}
	}
	for name, begin := range map[string]string{"new": "begin\x00", "partly": "THE host's\x00"} {
		f, err := os.Open(b.path(name))
		must(t, err)
		defer f.Close()
		for at, want := range map[int64]string{0: begin, chunk * sqlvfs.DefaultChunkSize: far + "\x00", size - 3: "\x00\x00\x00"} {
			got := make([]byte, len(want))
			if _, err := f.ReadAt(got, at); err != nil || string(got) != want {
				t.Errorf("%s holds %q at %d, want %q (%v)", name, got, at, want, err)
			}
		}
		st, err := hostfs.Stat(f)
		if must(t, err); st.Size != size || st.Blocks > 1<<10 {
			t.Errorf("%s has %d bytes in %d blocks", name, st.Size, st.Blocks)
		}
		next, err := unix.Seek(int(f.Fd()), 1<<20, unix.SEEK_DATA)
		if err != nil || next > chunk*sqlvfs.DefaultChunkSize {
			t.Errorf("%s: behind its beginning comes %d, %v", name, next, err)
		}
	}
}

// Of a file that is large on the host, what the guest has written is compared, and not all of it.
func TestLargeHostFile(t *testing.T) {
	b := newBench(t)
	b.write("large", "begin")
	const size, far = 1 << 40, 1 << 39
	must(t, os.Truncate(b.path("large"), size))
	for content, want := range map[string]string{"far": "M large\n", "\x00\x00\x00": ""} {
		b.guest(func(g *guest) { g.patch("large", content, far) })
		bounded(t, func() {
			if out := b.diff(); out != want {
				t.Errorf("with %q, the difference is %q, want %q", content, out, want)
			}
		})
	}
}
