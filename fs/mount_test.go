package fs

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// TestMountIsLikeADirectory is TestOverlayIsLikeADirectory with the kernel in between, and fewer
// operations. The kernel lets go of inodes all the time.
func TestMountIsLikeADirectory(t *testing.T) {
	checks := flag.Lookup("rapid.checks").Value.String()
	defer flag.Set("rapid.checks", checks)
	n, err := strconv.Atoi(checks)
	if err != nil {
		t.Fatal(err)
	}
	flag.Set("rapid.checks", strconv.Itoa(max(n/10, 1)))
	compareWithDirectory(t, max(*steps/2, 1), func(rt *rapid.T, base, db string) system {
		dir := base + ".mnt"
		if err := os.Mkdir(dir, 0o755); err != nil {
			rt.Fatal(err)
		}
		m := &mounted{directory: directory(dir), base: base, db: db, nodes: 8}
		m.begin(rt)
		return m
	})
}

func TestSharedMapping(t *testing.T) {
	m := newMounted(t)
	const size = 200_000
	m.plant(t, "f", noise[:size])
	f, err := os.OpenFile(m.at("ws/f"), os.O_RDWR, 0)
	m.must(t, err)
	defer f.Close()
	mem, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	m.must(t, err)
	if !bytes.Equal(mem, noise[:size]) {
		t.Fatal("the mapping: " + difference(mem, noise[:size]))
	}
	want := bytes.Clone(mem)
	for _, at := range []int{0, 65_535, 65_536, 131_072, size - 1} {
		mem[at]++
		want[at]++
	}
	m.reads(t, "ws/f", want) // the page cache is one
	_, err = f.WriteAt([]byte("written"), 100_000)
	m.must(t, err)
	copy(want[100_000:], "written")
	if !bytes.Equal(mem, want) {
		t.Error("the mapping does not show what was written: " + difference(mem, want))
	}
	m.must(t, unix.Msync(mem, unix.MS_SYNC))
	m.must(t, unix.Munmap(mem))
	f.Close()
	m.remount(t)
	m.reads(t, "ws/f", want)
}

func TestAppendThroughTwoDescriptors(t *testing.T) {
	m := newMounted(t)
	m.plant(t, "log", []byte("begin\n"))
	var wg sync.WaitGroup
	const lines = 300
	for who := range 2 {
		f, err := os.OpenFile(m.at("ws/log"), os.O_WRONLY|os.O_APPEND, 0)
		m.must(t, err)
		defer f.Close()
		wg.Go(func() {
			for i := range lines {
				if _, err := fmt.Fprintf(f, "%d %d %s\n", who, i, strings.Repeat("x", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(m.at("ws/log"))
	m.must(t, err)
	got := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		got[line] = true
	}
	if len(got) != 2*lines+1 || !got["begin\n"] {
		t.Errorf("%d different lines, want %d", len(got), 2*lines+1)
	}
	for who := range 2 {
		for i := range lines {
			if line := fmt.Sprintf("%d %d %s\n", who, i, strings.Repeat("x", i)); !got[line] {
				t.Fatalf("line %d of writer %d is lost", i, who)
			}
		}
	}
}

func TestConcurrentWriters(t *testing.T) {
	m := newMounted(t)
	const writers, part = 8, 100_000
	m.plant(t, "shared", make([]byte, writers*part))
	shared, err := os.OpenFile(m.at("ws/shared"), os.O_RDWR, 0)
	m.must(t, err)
	defer shared.Close()
	var wg sync.WaitGroup
	for who := range writers {
		wg.Go(func() {
			own := m.at(fmt.Sprintf("ws/%d", who))
			for i := range 30 {
				data := someBytes(1000+i*5000, who*31+i)
				err := errors.Join(
					os.WriteFile(own+".new", data, 0o644),
					os.Rename(own+".new", own),
				)
				// The parts meet within a chunk.
				_, werr := shared.WriteAt(someBytes(part, who*31+i), int64(who*part))
				got, rerr := os.ReadFile(own)
				if err := errors.Join(err, werr, rerr); err != nil {
					t.Errorf("writer %d: %v", who, err)
					return
				}
				if !bytes.Equal(got, data) {
					t.Errorf("writer %d: %s", who, difference(got, data))
				}
				if i%7 == 3 {
					shared.Sync()
				}
			}
		})
	}
	wg.Wait()
	shared.Close()
	for range 2 {
		var want []byte
		for who := range writers {
			want = append(want, someBytes(part, who*31+29)...)
		}
		m.reads(t, "ws/shared", want)
		m.remount(t)
	}
}

func TestLargeDirectoryListedWhileRemoved(t *testing.T) {
	m := newMounted(t)
	const count = 20_000
	for i := range count / 2 {
		m.plant(t, fmt.Sprintf("d/base%d", i), nil)
	}
	for i := range count / 2 {
		m.must(t, m.mknod(fmt.Sprintf("ws/d/new%d", i), syscall.S_IFREG|0o644))
	}
	seen := map[string]bool{}
	removed := 0
	all, err := m.readdir("ws/d", 100, func(all []DirEntry) {
		for ; removed < len(all); removed++ {
			name := all[removed].Name
			if seen[name] {
				t.Fatalf("%s is listed twice", name)
			}
			seen[name] = true
			if name != "." && name != ".." {
				m.must(t, m.unlink("ws/d/"+name))
			}
		}
	})
	m.must(t, err)
	if len(all) != count+2 {
		t.Errorf("%d entries, want %d", len(all), count+2)
	}
	m.must(t, m.rmdir("ws/d"))
	m.remount(t)
	if got := m.names(t, "ws"); got != "" {
		t.Errorf("ws holds %s", got)
	}
}

// The kernel keeps a file's pages from one open to the next, unless the host has changed it.
func TestCachedPagesAreDroppedWhenTheHostWrites(t *testing.T) {
	m := newMounted(t)
	m.plant(t, "f", noise[:200_000])
	m.reads(t, "ws/f", noise[:200_000])
	m.plant(t, "f", noise[7:200_007]) // of the same size, so that cached attributes do no harm
	m.reads(t, "ws/f", noise[7:200_007])
	m.reads(t, "ws/f", noise[7:200_007])

	want := bytes.Clone(noise[7:200_007])
	copy(want[100_000:], "mine")
	m.must(t, os.Chmod(m.at("ws/f"), 0o600)) // copied up in between
	f, err := os.OpenFile(m.at("ws/f"), os.O_RDWR, 0)
	m.must(t, err)
	_, err = f.WriteAt([]byte("mine"), 100_000)
	m.must(t, errors.Join(err, f.Close()))
	m.reads(t, "ws/f", want)
	m.forget()
	m.reads(t, "ws/f", want)
}

func TestNames(t *testing.T) {
	m := newMounted(t)
	longest := strings.Repeat("é", 127) + "x"
	for _, name := range []string{longest, "\xff\xfe", "a\nb", "-", " ", `\`} {
		m.must(t, os.WriteFile(m.at("ws/"+name), []byte(name), 0o644))
		m.must(t, os.WriteFile(filepath.Join(m.base, name+"2")[:len(m.base)+1+min(len(name)+1, 255)], []byte("base"), 0o644))
	}
	m.remount(t)
	for _, name := range []string{longest, "\xff\xfe", "a\nb", "-", " ", `\`} {
		m.reads(t, "ws/"+name, []byte(name))
	}
	m.reads(t, "ws/\xff\xfe2", []byte("base"))
	tooLong := longest + "y"
	for what, err := range map[string]error{
		"create":  os.WriteFile(m.at(tooLong), nil, 0o644),
		"mkdir":   m.mkdir(tooLong, 0o755),
		"symlink": m.symlink("x", "ws/"+tooLong),
		"rename":  m.rename("ws/-", "ws/"+tooLong),
		"link":    m.link("ws/-", "ws/"+tooLong),
		"unlink":  m.unlink("ws/" + tooLong),
		"stat":    func() error { _, err := os.Stat(m.at("ws/" + tooLong)); return err }(),
	} {
		if !errors.Is(err, syscall.ENAMETOOLONG) {
			t.Errorf("%s: %v, want %v", what, err, syscall.ENAMETOOLONG)
		}
	}
}

func TestSetGroupIDDirectory(t *testing.T) {
	m := newMounted(t)
	m.must(t, m.mkdir("d", 0o755))
	gid := os.Getgid()
	if os.Getuid() == 0 {
		gid = 12
		m.must(t, os.Chown(m.at("d"), 0, gid))
	}
	m.must(t, unix.Chmod(m.at("d"), 0o2775))
	m.must(t, m.mkdir("d/sub", 0o755))
	m.must(t, os.WriteFile(m.at("d/sub/f"), nil, 0o644))
	m.remount(t)
	for path, mode := range map[string]uint32{"d": 0o42775, "d/sub": 0o42755, "d/sub/f": 0o100644} {
		if e, err := m.lstat(path); err != nil || e.Attr.Mode != mode || e.Attr.GID != uint32(gid) {
			t.Errorf("%s: mode %o, group %d, %v; want %o, %d", path, e.Attr.Mode, e.Attr.GID, err, mode, gid)
		}
	}
}

func TestRenameOverAnOpenFile(t *testing.T) {
	m := newMounted(t)
	m.plant(t, "base", noise[:100_000])
	m.plant(t, "changed", noise[:100_000])
	f, err := os.OpenFile(m.at("ws/changed"), os.O_RDWR, 0)
	m.must(t, err)
	_, err = f.WriteAt(noise[:1], 0) // as it was, but copied
	m.must(t, errors.Join(err, f.Close()))
	m.must(t, os.WriteFile(m.at("ws/delta"), noise[:100_000], 0o644))
	for _, name := range []string{"base", "changed", "delta"} {
		t.Run(name, func(t *testing.T) {
			f, err := os.OpenFile(m.at("ws/"+name), os.O_RDWR, 0)
			m.must(t, err)
			defer f.Close()
			m.must(t, os.WriteFile(m.at("ws/new"), []byte("new"), 0o644))
			m.must(t, os.Rename(m.at("ws/new"), m.at("ws/"+name)))
			m.forget()
			m.reads(t, "ws/"+name, []byte("new"))
			_, err = f.WriteAt([]byte("old, written"), 70_000)
			m.must(t, err)
			m.must(t, f.Sync())
			want := bytes.Clone(noise[:100_000])
			copy(want[70_000:], "old, written")
			got := make([]byte, len(want))
			if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
				t.Errorf("the open file: %s, %v", difference(got, want), err)
			}
			m.must(t, f.Truncate(5))
			e, err := descriptor(f.Fd()).stat()
			if err != nil || e.Attr.Nlink != 0 || e.Attr.Size != 5 {
				t.Errorf("the open file has %d links and %d bytes, %v", e.Attr.Nlink, e.Attr.Size, err)
			}
		})
	}
}

// Whenever the server dies, the database is a tree that once was: sound, and with all that was
// there at the last fsync.
func TestKilledServerLeavesASoundDatabase(t *testing.T) {
	m := newMounted(t)
	m.plant(t, "d/f", noise[:300_000])
	for round := range 5 {
		synced := fmt.Sprintf("ws/synced%d", round)
		f, err := os.Create(m.at(synced))
		m.must(t, err)
		_, err = f.Write(someBytes(200_000, round))
		m.must(t, errors.Join(err, f.Sync(), f.Close()))
		time.AfterFunc(time.Duration(50+60*round)*time.Millisecond, func() { m.server.Process.Kill() })
		for i := 0; err == nil; i++ {
			name := fmt.Sprintf("ws/%d", i%50)
			err = errors.Join(
				os.WriteFile(m.at(name), someBytes(i%7*30_000, i), 0o644),
				os.Rename(m.at(name), m.at("ws/d/"+strconv.Itoa(i%20))),
				os.WriteFile(m.at("ws/d/f"), someBytes(100, i), 0o644),
				os.MkdirAll(m.at("x/y/z"), 0o755),
				os.RemoveAll(m.at("x")),
			)
		}
		// ECANCELED: io_uring's error for what its process has not answered.
		if !errors.Is(err, syscall.ENOTCONN) && !errors.Is(err, syscall.ECONNABORTED) && !errors.Is(err, syscall.ECANCELED) {
			t.Errorf("round %d ended with %v", round, err)
		}
		m.server.Wait()
		m.must(t, m.detach())
		sound(t, m.db)
		m.begin(t)
		for earlier := range round + 1 {
			m.reads(t, fmt.Sprintf("ws/synced%d", earlier), someBytes(200_000, earlier))
		}
	}
}
