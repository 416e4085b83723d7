package fs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// atOnce is how soon a change must show that a watch tells of. It is shorter than what the kernel may
// keep without one.
const atOnce = BaseTTL * 7 / 10

// soon waits until wrong finds nothing wrong any more. A look that begins later than within must find
// nothing. One that takes more than twice as long as the fastest was held up, like the programs that
// it looks for, by what else the machine does: that time does not count.
func soon(t *testing.T, within time.Duration, wrong func() string) {
	t.Helper()
	fastest := within
	for waited := time.Duration(0); ; {
		begin := time.Now()
		what := wrong()
		if what == "" {
			return
		}
		if waited > within {
			t.Fatalf("after %v: %s", waited, what)
		}
		time.Sleep(2 * time.Millisecond)
		took := time.Since(begin)
		fastest = min(fastest, took)
		waited += min(took, 2*fastest)
	}
}

// host is a path in the base.
func (m *mounted) host(path string) string { return filepath.Join(m.base, path) }

// is returns how a file of the mount differs from what it should hold; "-" is no file at all.
func (m *mounted) is(path, want string) string {
	got, err := os.ReadFile(m.at(path))
	switch {
	case errors.Is(err, syscall.ENOENT):
		got = []byte("-")
	case err != nil:
		return err.Error()
	}
	if st, err := os.Lstat(m.at(path)); err == nil && st.Size() != int64(len(got)) {
		return fmt.Sprintf("%s: %d bytes read, size %d", path, len(got), st.Size())
	}
	if string(got) != want {
		return fmt.Sprintf("%s holds %q, want %q", path, got, want)
	}
	return ""
}

func (m *mounted) lists(t *testing.T, path, want string) string {
	if got := m.names(t, path); got != want {
		return fmt.Sprintf("%s lists %q, want %q", path, got, want)
	}
	return ""
}

func TestHostChangesShow(t *testing.T) {
	for name, c := range map[string]struct {
		deaf   bool
		within time.Duration
	}{
		"at once where watched": {false, atOnce},
		"in a second elsewhere": {true, BaseTTL * 6 / 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hostChangesShow(t, newMountedLike(t, &mounted{deaf: c.deaf}), c.within)
		})
	}
}

func hostChangesShow(t *testing.T, m *mounted, within time.Duration) {
	for _, name := range []string{"grows", "replaced", "goes", "same", "twin", "elsewhere"} {
		m.plant(t, "d/"+name, []byte("one"))
	}
	m.plant(t, "d/sub/f", []byte("one"))
	m.plant(t, "out/f", []byte("one"))
	m.must(t, os.Symlink("one", m.host("d/link")))
	m.must(t, os.WriteFile(m.at("ws/d/mine"), nil, 0o644)) // so that the directory has a row
	look := func() {
		for _, dir := range []string{"ws", "ws/d", "ws/d/sub", "ws/out"} {
			for _, name := range strings.Fields(m.names(t, dir)) {
				os.ReadFile(m.at(dir + "/" + name))
			}
		}
		os.Lstat(m.at("ws/d/comes"))
		os.Lstat(m.at("ws/d/linked"))
		os.Readlink(m.at("ws/d/link"))
	}
	look()
	time.Sleep(BaseTTL + 100*time.Millisecond)
	look() // now that the directories are watched, so that all of it stays in the kernel's caches
	open, err := os.Open(m.at("ws/d/same"))
	m.must(t, err)
	defer open.Close()

	m.plant(t, "d/grows", []byte("one and more"))
	m.plant(t, "d/same", []byte("two"))
	m.plant(t, "new", []byte("two"))
	m.must(t, os.Rename(m.host("new"), m.host("d/replaced")))
	m.must(t, os.Remove(m.host("d/goes")))
	m.plant(t, "d/comes", []byte("new"))
	m.must(t, os.Remove(m.host("d/link")))
	m.must(t, os.Symlink("two", m.host("d/link")))
	m.must(t, os.Rename(m.host("d/elsewhere"), m.host("out/here")))
	m.must(t, os.Link(m.host("d/twin"), m.host("d/linked")))
	m.plant(t, "d/linked", []byte("both"))
	m.must(t, os.Chmod(m.host("d/sub"), 0o700))
	m.must(t, os.Rename(m.host("out"), m.host("d/out")))
	m.plant(t, "d/out/f", []byte("two"))

	soon(t, within, func() string {
		for path, want := range map[string]string{
			"d/grows": "one and more", "d/replaced": "two", "d/same": "two", "d/goes": "-", "d/comes": "new",
			"d/elsewhere": "-", "d/out/here": "one", "d/out/f": "two", "out/f": "-", "d/twin": "both", "d/linked": "both",
			"d/sub/f": "one", "d/mine": "",
		} {
			if wrong := m.is("ws/"+path, want); wrong != "" {
				return wrong
			}
		}
		got := make([]byte, 10)
		if n, err := open.ReadAt(got, 0); err != io.EOF || string(got[:n]) != "two" {
			return fmt.Sprintf("the open file holds %q, %v", got[:n], err)
		}
		if to, err := os.Readlink(m.at("ws/d/link")); err != nil || to != "two" {
			return fmt.Sprintf("link -> %q, %v", to, err)
		}
		if e, err := m.lstat("ws/d/sub"); err != nil || e.Attr.Mode&0o777 != 0o700 {
			return fmt.Sprintf("sub has mode %o, %v", e.Attr.Mode, err)
		}
		if e, err := m.lstat("ws/d/twin"); err != nil || e.Attr.Nlink != 2 {
			return fmt.Sprintf("twin has %d names, %v", e.Attr.Nlink, err)
		}
		if wrong := m.lists(t, "ws", "d"); wrong != "" {
			return wrong
		}
		return m.lists(t, "ws/d", "comes grows link linked mine out replaced same sub twin")
	})
}

// What the guest has changed stays as the guest left it.
func TestHostChangesDoNotShowThroughTheDelta(t *testing.T) {
	m := newMounted(t)
	for _, name := range []string{"written", "chmod", "removed", "moved"} {
		m.plant(t, "d/"+name, []byte("base"))
	}
	m.names(t, "ws/d")
	m.must(t, os.WriteFile(m.at("ws/d/written"), []byte("mine"), 0o644))
	m.must(t, os.Remove(m.at("ws/d/removed")))
	m.must(t, os.Rename(m.at("ws/d/moved"), m.at("ws/d/here")))
	m.must(t, os.WriteFile(m.at("ws/d/made"), []byte("mine"), 0o644))
	for _, name := range []string{"written", "removed", "made"} {
		m.plant(t, "d/"+name, []byte("the host's"))
	}
	m.plant(t, "d/last", nil)
	soon(t, atOnce, func() string { return m.lists(t, "ws/d", "chmod here last made written") })
	for path, want := range map[string]string{"written": "mine", "removed": "-", "made": "mine", "here": "base"} {
		if wrong := m.is("ws/d/"+path, want); wrong != "" {
			t.Error(wrong)
		}
	}
}

func TestHostReplacesDirectories(t *testing.T) {
	for name, changed := range map[string]bool{"untouched": false, "with a row": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMounted(t)
			m.plant(t, "a/b/f", []byte("old"))
			m.plant(t, "a/b/gone", []byte("old"))
			look := func() {
				m.names(t, "ws/a")
				m.names(t, "ws/a/b")
				for _, name := range []string{"f", "gone", "comes"} {
					os.ReadFile(m.at("ws/a/b/" + name))
				}
			}
			mine := ""
			if changed {
				m.must(t, os.WriteFile(m.at("ws/a/b/mine"), nil, 0o644))
				mine = " mine"
			}
			look()
			cwd, err := os.Open(m.at("ws/a/b")) // a process may stand there
			m.must(t, err)
			defer cwd.Close()
			fresh := func(content string) {
				m.plant(t, "next/b/f", []byte(content))
				m.plant(t, "next/b/comes", []byte(content))
			}
			shows := func(want string, within time.Duration) {
				t.Helper()
				soon(t, within, func() string {
					for name, want := range map[string]string{"f": want, "comes": want, "gone": "-"} {
						if wrong := m.is("ws/a/b/"+name, want); wrong != "" {
							return wrong
						}
					}
					return m.lists(t, "ws/a/b", "comes f"+mine)
				})
				look()
			}
			empty := func() {
				t.Helper()
				soon(t, atOnce, func() string {
					for _, name := range []string{"f", "comes", "gone"} {
						if wrong := m.is("ws/a/b/"+name, "-"); wrong != "" && !strings.Contains(wrong, "not a directory") {
							return wrong
						}
					}
					return ""
				})
			}
			fresh("second") // the directory above is exchanged
			m.must(t, os.Rename(m.host("a"), m.host("was")))
			m.must(t, os.Rename(m.host("next"), m.host("a")))
			shows("second", atOnce)

			m.must(t, os.RemoveAll(m.host("a")))
			empty()
			m.must(t, os.WriteFile(m.host("a"), nil, 0o644))
			empty()
			m.must(t, os.Remove(m.host("a")))
			m.must(t, os.Symlink("was", m.host("a")))
			if changed {
				empty() // a row says that it is a directory; the link leads elsewhere
			}
			m.must(t, os.Remove(m.host("a")))
			fresh("third")
			m.must(t, os.Rename(m.host("next"), m.host("a")))
			shows("third", BaseTTL*6/5) // there was nothing to watch
		})
	}
}

func TestWorkspaceVanishes(t *testing.T) {
	m := newMounted(t)
	m.plant(t, "d/f", []byte("one"))
	m.reads(t, "ws/d/f", []byte("one"))
	m.names(t, "ws")
	m.must(t, os.WriteFile(m.at("ws/d/mine"), []byte("mine"), 0o644))
	away := t.TempDir() + "/away"
	m.must(t, os.Rename(m.base, away))
	m.reads(t, "ws/d/f", []byte("one")) // it is the directory that counts, not its path
	m.must(t, os.RemoveAll(away))
	soon(t, atOnce, func() string { return m.is("ws/d/f", "-") })
	m.must(t, os.WriteFile(m.at("ws/d/more"), []byte("more"), 0o644))
	if wrong := m.lists(t, "ws/d", "mine more"); wrong != "" {
		t.Error(wrong)
	}
	m.reads(t, "ws/d/mine", []byte("mine"))
	m.must(t, os.Mkdir(m.base, 0o755)) // for the end of the test
}

func TestAsRootMountInTheWorkspaceGoes(t *testing.T) {
	asRoot(t)
	m := newMounted(t)
	m.plant(t, "d/below", []byte("below"))
	m.must(t, unix.Mount("none", m.host("d"), "tmpfs", 0, ""))
	defer unix.Unmount(m.host("d"), unix.MNT_DETACH)
	m.plant(t, "d/above", []byte("above"))
	m.reads(t, "ws/d/above", []byte("above"))
	m.names(t, "ws/d")
	soon(t, time.Minute, func() string { // until the kernel has released what was just closed
		if err := unix.Unmount(m.host("d"), 0); err != nil {
			return err.Error()
		}
		return ""
	})
	// A sandbox that another test starts meanwhile has copies of the host's mounts, which hold up the notification of inotify(7).
	soon(t, time.Minute, func() string {
		if wrong := m.is("ws/d/above", "-"); wrong != "" {
			return wrong
		}
		if wrong := m.is("ws/d/below", "below"); wrong != "" {
			return wrong
		}
		return m.lists(t, "ws/d", "below")
	})
}

// A storm of changes on the host, while the guest walks about in them, leaves nothing stale.
func TestStormOfHostChanges(t *testing.T) {
	m := newMounted(t)
	const dirs, files = 50, 100
	populate := func(round int) {
		for d := range dirs {
			dir := m.host(fmt.Sprintf("d%d", d))
			switch (d + round) % 4 {
			case 0:
				os.RemoveAll(dir)
			case 1:
				os.Rename(dir, m.host(fmt.Sprintf("d%d", d+dirs)))
			}
			os.Mkdir(dir, 0o755)
			for f := range files {
				path := fmt.Sprintf("%s/f%d", dir, f)
				switch (f + d + round) % 3 {
				case 0:
					os.Remove(path)
				case 1:
					os.WriteFile(path+"~", someBytes(f, round), 0o644)
					os.Rename(path+"~", path)
				default:
					os.WriteFile(path, someBytes(f, round+1), 0o644)
				}
			}
		}
	}
	populate(0)
	walk := func(root string) string {
		out, err := exec.Command("sh", "-c", `cd "$0" && find . -type f | LC_ALL=C sort | xargs -r cksum; find . -printf '%p %y %s\n' | grep -v ' d ' | LC_ALL=C sort`, root).CombinedOutput()
		if err != nil {
			return string(out) + err.Error()
		}
		return string(out)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				walk(m.at("ws"))
			}
		}
	}()
	for round := range 4 {
		populate(round)
	}
	close(stop)
	<-stopped
	want := walk(m.base)
	soon(t, BaseTTL*6/5, func() string {
		if got := walk(m.at("ws")); got != want {
			return "the mount differs from the base: " + difference([]byte(got), []byte(want))
		}
		return ""
	})
}

// No event tells of what the host writes through a mapping, until the file is closed.
func TestHostWritesThroughAMapping(t *testing.T) {
	m := newMounted(t)
	m.plant(t, "f", []byte("one"))
	f, err := os.OpenFile(m.host("f"), os.O_RDWR, 0)
	m.must(t, err)
	mem, err := unix.Mmap(int(f.Fd()), 0, 3, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	m.must(t, err)
	m.must(t, f.Close())
	m.reads(t, "ws/f", []byte("one"))
	time.Sleep(BaseTTL + 100*time.Millisecond)
	m.reads(t, "ws/f", []byte("one")) // now that it is watched, so that it stays in the kernel's cache
	copy(mem, "two")
	m.reads(t, "ws/f", []byte("one"))
	m.must(t, unix.Munmap(mem))
	soon(t, atOnce, func() string { return m.is("ws/f", "two") })
}
