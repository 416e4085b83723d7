package reconcile

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// chain is SQL for directories of the same name, each in the one before, and a file in the last.
func chain(levels int, name string) string {
	return fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<%[1]d-1)
		INSERT INTO fs_inode (ino, mode, nlink, size, atime, mtime, ctime) SELECT 1000+i, %[3]d, 2, 0, 1, 1, 1 FROM n;
		INSERT INTO fs_dentry (name, parent_ino, ino) SELECT '%[2]s', CASE ino WHEN 1000 THEN
			(SELECT ino FROM fs_dentry WHERE parent_ino=1 AND name='ws') ELSE ino-1 END, ino FROM fs_inode WHERE ino>=1000;`,
		levels, name, asDir) + entry(999+levels, "bottom", 1000+levels, asFile)
}

// bounded fails the test if f allocates much: a path that is built again for each level above it
// comes to gigabytes.
func bounded(t *testing.T, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 256 {
		t.Errorf("it took %d MiB", n)
	}
}

// A tree too deep for a path is brought as far as paths reach, and what is left out is named.
func TestDeepDatabase(t *testing.T) {
	b := newBench(t)
	b.push()
	b.sql(chain(10_000, "level"))
	b.sql(entry(0, "other", 20_000, asFile))
	dir := b.other()
	for _, again := range []bool{false, true} {
		bounded(t, func() {
			out, told, err := b.run(Pull, dir)
			if !errors.Is(err, ErrIncomplete) || strings.Count(told, errTooLong.Error()) != 1 || len(told) > 2*unix.PathMax {
				t.Errorf("again %v: %v, told %d bytes", again, err, len(told))
			}
			if again == strings.Contains(out, "FILE ws/other") {
				t.Errorf("again %v: printed\n%.1000s", again, out)
			}
		})
	}
	wantContent(t, dir+"/other", "owned")
	found, err := exec.Command("find", dir, "-name", "level", "-printf", "x").Output()
	if want := maxPath / len("level/"); err != nil || len(found) != want {
		t.Errorf("%d levels, want %d (%v)", len(found), want, err)
	}
	bounded(t, func() {
		if _, told, err := b.run(Push, dir, force); err != nil {
			t.Errorf("push: %v\n%.1000s", err, told)
		}
	})
}

// The same of a host's tree: a program in a sandbox can make one too.
func TestDeepHost(t *testing.T) {
	b := newBench(t)
	b.write("other", "1")
	const levels = 2000
	fd, err := unix.Open(b.ws, unix.O_DIRECTORY, 0)
	must(t, err)
	for range levels {
		must(t, unix.Mkdirat(fd, "level", 0o755))
		next, err := unix.Openat(fd, "level", unix.O_DIRECTORY, 0)
		must(t, err)
		unix.Close(fd)
		fd = next
	}
	unix.Close(fd)
	// os.RemoveAll keeps a descriptor for each level.
	t.Cleanup(func() { must(t, exec.Command("rm", "-rf", b.path("level")).Run()) })
	bounded(t, func() {
		_, told, err := b.run(Push, b.ws)
		if !errors.Is(err, ErrIncomplete) || strings.Count(told, errTooLong.Error()) != 1 {
			t.Errorf("%v, told %d bytes", err, len(told))
		}
	})
	if n := b.count("SELECT count(*) FROM fs_dentry"); n != 2+maxPath/int64(len("level/")) {
		t.Errorf("%d entries", n)
	}
}
