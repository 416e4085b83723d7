package files

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// failer is a test, of either kind.
type failer interface {
	Helper()
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
}

// shared is a home that sessions share, and a host.
type shared struct {
	t                   failer
	home, records, host string
}

func newShared(t failer, dir string) *shared {
	s := &shared{t, filepath.Join(dir, "home"), filepath.Join(dir, "records"), filepath.Join(dir, "host")}
	for _, path := range []string{s.home, s.records, s.host} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *shared) open() *Directory {
	s.t.Helper()
	var dirs [2]*os.File
	for i, path := range []string{s.home, s.records} {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		dirs[i] = os.NewFile(uintptr(fd), path)
	}
	return Shared(dirs[0], dirs[1])
}

// begin begins a session with a file.
func (s *shared) begin(guest string, host HostFile) *Directory {
	s.t.Helper()
	d := s.open()
	if err := d.Add(guest, host); err != nil {
		s.t.Fatal(err)
	}
	d.Follow()
	return d
}

// kill ends a session as SIGKILL does.
func (d *Directory) kill() {
	if d.watch != nil {
		d.watch.close()
	}
	for _, e := range d.entries {
		e.close()
	}
	for _, f := range d.sessions {
		f.Close()
	}
	d.close()
}

func (d *Directory) close() {
	d.home.Close()
	d.records.Close()
}

func (d *Directory) endedWith(t failer, want ...string) {
	t.Helper()
	told := d.End()
	d.close()
	if len(told) != len(want) {
		t.Errorf("told %q, want %q", told, want)
		return
	}
	for i := range want {
		if !strings.Contains(told[i].Error(), want[i]) {
			t.Errorf("told %q, want %q", told[i], want[i])
		}
	}
}

// replaceFile does what programs do to write a file.
func replaceFile(t failer, path, text string) {
	t.Helper()
	err := os.WriteFile(path+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tree lists what is in directories, with the content of files.
func (s *shared) tree(t failer) (list []string) {
	t.Helper()
	for _, dir := range []string{s.home, s.records} {
		_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, _ error) error {
			rel, _ := filepath.Rel(filepath.Dir(dir), path)
			if e.Type().IsRegular() && dir == s.home {
				text, _ := os.ReadFile(path)
				rel += "=" + string(text)
			}
			if path != dir {
				list = append(list, rel)
			}
			return nil
		})
	}
	return list
}

func (s *shared) left(t failer, want ...string) {
	t.Helper()
	if got := s.tree(t); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("left %q, want %q", got, want)
	}
}

func TestDirectoryFollows(t *testing.T) {
	s := newShared(t, t.TempDir())
	guest, host := filepath.Join(s.home, "a/b/file"), filepath.Join(s.host, "file")
	write(t, host, "host")
	d := s.begin("a/b/file", HostFile{host, true})
	is(t, guest, "host")
	if info, err := os.Stat(guest); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	replaceFile(t, guest, "guest")
	is(t, host, "guest")
	if info, err := os.Stat(host); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	write(t, guest, "in place")
	is(t, host, "in place")
	replaceFile(t, host, "again")
	is(t, guest, "again")
	// The directory is another one: what happens in that is heard too.
	if err := os.Rename(filepath.Join(s.home, "a"), filepath.Join(s.home, "c")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(guest), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, guest, "elsewhere")
	is(t, host, "elsewhere")
	replaceFile(t, guest, "last")
	d.endedWith(t)
	is(t, host, "last")
	s.left(t, "home/a", "home/a/b", "home/c", "home/c/b", "home/c/b/file=again") // the directories are the caller's to make
}

func TestDirectoryInMemory(t *testing.T) {
	s := newShared(t, t.TempDir())
	guest, host := filepath.Join(s.home, "a/file"), filepath.Join(s.host, "file")
	write(t, host, "host")
	t.Setenv("TMPDIR", t.TempDir())
	fd, err := unix.Open(s.home, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := InMemory(os.NewFile(uintptr(fd), "home"), Owner{os.Getuid(), os.Getgid()})
	if err := d.Add("a/file", HostFile{host, true}); err != nil {
		t.Fatal(err)
	}
	d.Follow()
	replaceFile(t, guest, "guest")
	is(t, host, "guest")
	os.Remove(host)
	replaceFile(t, guest, "lost?")
	told := d.End()
	saved, _ := filepath.Glob(filepath.Join(os.TempDir(), "art-*-file"))
	if len(told) != 1 || len(saved) != 1 {
		t.Fatalf("told %q, saved %q", told, saved)
	}
	is(t, saved[0], "lost?")
	if names, _ := filepath.Glob(filepath.Join(s.home, ".*")); names != nil {
		t.Errorf("the home has %q", names)
	}
}

func TestDirectoryOverlay(t *testing.T) {
	s := newShared(t, t.TempDir())
	guest, host := filepath.Join(s.home, "file"), filepath.Join(s.host, "file")
	write(t, host, "host")
	d := s.begin("file", HostFile{host, false})
	replaceFile(t, host, "newer")
	is(t, guest, "newer")
	d.endedWith(t)
	s.left(t)
	d = s.begin("file", HostFile{host, false})
	replaceFile(t, guest, "guest")
	d.endedWith(t)
	s.left(t, "home/file=guest")
	d = s.begin("file", HostFile{host, false})
	is(t, guest, "guest")
	d.kill()
	d = s.open()
	d.Sweep()
	s.left(t, "home/file=guest")
	is(t, host, "newer")
}

// Several sessions follow the same file, and the last takes it away.
func TestDirectorySessions(t *testing.T) {
	s := newShared(t, t.TempDir())
	guest, host := filepath.Join(s.home, "file"), filepath.Join(s.host, "file")
	write(t, host, "host")
	one := s.begin("file", HostFile{host, true})
	replaceFile(t, guest, "one")
	two := s.begin("file", HostFile{host, true})
	is(t, guest, "one")
	for _, bad := range []HostFile{{host, false}, {filepath.Join(s.host, "other"), true}} {
		d := s.open()
		if err := d.Add("file", bad); err == nil || !strings.Contains(err.Error(), "another session") {
			t.Errorf("%v: %v", bad, err)
		}
		if err := d.Reserve("file"); err == nil {
			t.Error("mounted")
		}
		d.endedWith(t)
	}
	one.endedWith(t)
	replaceFile(t, guest, "two")
	is(t, host, "two")
	os.Remove(guest)
	three := s.begin("file", HostFile{host, true})
	is(t, guest, "two")
	two.kill()
	three.endedWith(t)
	s.left(t)
}

// What is left of a session that was killed at any point is put right by the next one, and nothing of the guest's is lost.
func TestDirectoryKilled(t *testing.T) {
	for name, c := range map[string]struct {
		guest, host string // what each has written since; "": nothing
		want        string // the host's at the end
		left        []string
	}{
		"nothing":  {"", "", "host", []string{"home/file=own"}},
		"guest":    {"guest", "", "guest", []string{"home/file=own"}},
		"host":     {"", "newer", "newer", []string{"home/file=own"}},
		"both":     {"guest", "newer", "newer", []string{"home/file=guest", "home/file.art=own"}},
		"the same": {"same", "same", "same", []string{"home/file=own"}},
	} {
		s := newShared(t, t.TempDir())
		guest, host := filepath.Join(s.home, "file"), filepath.Join(s.host, "file")
		write(t, host, "host")
		write(t, guest, "own")
		s.begin("file", HostFile{host, true}).kill()
		if c.guest != "" {
			replaceFile(t, guest, c.guest)
		}
		if c.host != "" {
			replaceFile(t, host, c.host)
		}
		d := s.open()
		if told := d.Sweep(); len(told) > 0 != (name == "both") {
			t.Errorf("%s: told %q", name, told)
		}
		d.close()
		is(t, host, c.want)
		s.left(t, c.left...)
	}
}

// What is there after the machine was started again may be less than what was written: it is not the host's.
func TestDirectoryRestarted(t *testing.T) {
	s := newShared(t, t.TempDir())
	guest, host := filepath.Join(s.home, "file"), filepath.Join(s.host, "file")
	write(t, host, "host")
	for _, text := range []string{"", "host"} {
		s.begin("file", HostFile{host, true}).kill()
		path := filepath.Join(s.records, recordName("file"))
		record, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, strings.Replace(string(record), thisBoot(), "another", 1))
		write(t, guest, text)
		d := s.open()
		told := d.Sweep()
		d.close()
		is(t, host, "host")
		if text == "host" {
			s.left(t)
		} else if s.left(t, "home/file="); len(told) != 1 {
			t.Errorf("told %q", told)
		}
		os.Remove(guest)
	}
}

// Whatever was killed at whatever moment, what was kept aside comes back.
func TestDirectoryRescue(t *testing.T) {
	for name, c := range map[string]struct {
		what, text string
		left       []string
	}{
		"own":    {"own", "own", []string{"home/file=own"}},
		"making": {"making", "half", nil},
		"old":    {"old", "guest's", []string{"home/file=guest's"}},
		"agreed": {"old", "host", nil},
		"out":    {"out", "guest's", []string{"home/file=guest's"}},
	} {
		s := newShared(t, t.TempDir())
		host := filepath.Join(s.host, "file")
		write(t, host, "host")
		s.begin("file", HostFile{host, true}).kill()
		os.Remove(filepath.Join(s.home, "file"))
		write(t, filepath.Join(s.records, recordName("file")+"."+c.what), c.text)
		d := s.open()
		d.Sweep()
		if name == "old" || name == "out" { // it was the guest's newest
			is(t, host, "guest's")
			c.left = nil
		}
		d.close()
		s.left(t, c.left...)
	}
}

// The guest of a session that was killed has ended before its file is taken away.
func TestDirectoryAwaitsGuest(t *testing.T) {
	s := newShared(t, t.TempDir())
	guest, host := filepath.Join(s.home, "file"), filepath.Join(s.host, "file")
	write(t, host, "host")
	d := s.begin("file", HostFile{host, true})
	cmd := exec.Command("sh", "-c", "sleep 0.3; echo -n last >"+guest)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go cmd.Wait()
	if err := d.Began(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	live := s.open()
	begun := time.Now()
	live.Sweep()
	if took := time.Since(begun); took > 200*time.Millisecond {
		t.Errorf("a session that lives was waited for: %v", took)
	}
	live.close()
	d.kill()
	next := s.open()
	next.Sweep()
	next.close()
	is(t, host, "last")
	s.left(t)
}

// A record that is damaged keeps what is aside for it.
func TestDirectoryDamaged(t *testing.T) {
	s := newShared(t, t.TempDir())
	host := filepath.Join(s.host, "file")
	write(t, host, "host")
	name := filepath.Join(s.records, recordName("file"))
	for _, text := range []string{"", "x", strings.Repeat("x", 1<<20), strings.Repeat("\x00", 4)} {
		write(t, name, text)
		write(t, name+".own", "own")
		d := s.open()
		d.Sweep()
		is(t, name+".own", "own")
		if err := d.Add("file", HostFile{host, true}); err != nil {
			t.Fatal(err)
		}
		d.endedWith(t)
		s.left(t, "home/file=own")
		os.Remove(filepath.Join(s.home, "file"))
	}
}

// What guests put in the way is neither followed nor opened, and what is not the host's is not deleted.
func TestDirectoryInTheWay(t *testing.T) {
	s := newShared(t, t.TempDir())
	guest, host := filepath.Join(s.home, "d/file"), filepath.Join(s.host, "file")
	outside := filepath.Join(s.host, "outside")
	write(t, host, "host")
	write(t, outside, "outside")
	for kind, make := range map[string]func() error{
		"symbolic link": func() error { return os.Symlink(outside, guest) },
		"named pipe":    func() error { return unix.Mkfifo(guest, 0o600) },
		"socket":        func() error { return unix.Mknod(guest, unix.S_IFSOCK|0o600, 0) },
	} {
		d := s.begin("d/file", HostFile{host, true})
		os.Remove(guest)
		if err := make(); err != nil {
			t.Fatal(err)
		}
		write(t, host, "changed for "+kind)
		time.Sleep(50 * time.Millisecond)
		d.endedWith(t, "made a "+kind+" of its "+host)
		before := s.tree(t)
		d = s.begin("d/file", HostFile{host, true}) // it is aside meanwhile
		is(t, guest, "changed for "+kind)
		d.endedWith(t)
		s.left(t, before...)
		os.Remove(guest)
	}
	os.Mkdir(guest, 0o700)
	d := s.open()
	if err := d.Add("d/file", HostFile{host, true}); err != errDirectory {
		t.Error(err)
	}
	d.endedWith(t)
	os.RemoveAll(filepath.Dir(guest))
	os.Symlink(s.host, filepath.Dir(guest))
	d = s.open()
	if err := d.Add("d/file", HostFile{host, true}); err == nil {
		t.Error("a link was followed")
	}
	d.End()
	is(t, outside, "outside")
}

// What a guest writes to a file that it has open is not lost when the host writes that too.
func TestDirectoryOpen(t *testing.T) {
	s := newShared(t, t.TempDir())
	guest, host := filepath.Join(s.home, "log"), filepath.Join(s.host, "log")
	write(t, host, "begun\n")
	d := s.begin("log", HostFile{host, true})
	log, err := os.OpenFile(guest, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	log.WriteString("guest 1\n")
	is(t, host, "begun\nguest 1\n")
	theirs, err := os.OpenFile(host, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs.WriteString("host\n")
	theirs.Close()
	is(t, guest, "begun\nguest 1\nhost\n")
	log.WriteString("guest 2\n")
	is(t, host, "begun\nguest 1\nhost\nguest 2\n")
	replaceFile(t, host, "short\n")
	is(t, guest, "short\n")
	log.WriteString("guest 3\n")
	d.endedWith(t)
	is(t, host, "short\nguest 3\n")
	s.left(t)
}

// A guest that takes away rights, also those that root does not need, is in nobody's way afterwards.
func TestDirectoryLocked(t *testing.T) {
	s := newShared(t, t.TempDir())
	guest, host := filepath.Join(s.home, "a/b/file"), filepath.Join(s.host, "file")
	write(t, host, "host")
	for _, killed := range []bool{false, true} {
		for _, path := range []string{"a", "a/b", "a/b/file"} {
			d := s.begin("a/b/file", HostFile{host, true})
			is(t, guest, "host")
			if err := os.Chmod(filepath.Join(s.home, path), 0); err != nil {
				t.Fatal(err)
			}
			if killed {
				d.kill()
				next := s.open()
				if told := next.Sweep(); len(told) > 0 {
					t.Error(told)
				}
				next.close()
			} else {
				d.endedWith(t)
			}
			s.left(t, "home/a", "home/a/b")
		}
	}
}

// A guest that writes while its file is being replaced keeps what it has written.
func TestDirectoryExchange(t *testing.T) {
	s := newShared(t, t.TempDir())
	guest, host := filepath.Join(s.home, "file"), filepath.Join(s.host, "file")
	write(t, host, "host")
	d := s.open()
	if err := d.Add("file", HostFile{host, true}); err != nil {
		t.Fatal(err)
	}
	e := d.entries[0]
	h := side{mode: unix.S_IFREG | 0o600, data: []byte("newer"), sum: sha256.Sum256([]byte("newer"))}
	replaceFile(t, guest, "guest")
	if err := d.renew(e, &h); err != nil {
		t.Fatal(err)
	}
	s.left(t, "home/file=guest", "records/"+recordName("file"))
}

// Whatever guests and the host write, and whoever is killed, each text that is last somewhere is there in the end.
func TestDirectoryNothingIsLost(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp("", "files")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s := newShared(r, dir)
		guest, host := filepath.Join(s.home, "file"), filepath.Join(s.host, "file")
		write(t, host, "host")
		own := rapid.Bool().Draw(r, "own")
		if own {
			write(t, guest, "own")
		}
		var sessions []*Directory
		last := "host" // what was written last, on whichever side
		for i := range rapid.IntRange(1, 12).Draw(r, "steps") {
			if len(sessions) == 0 {
				d := s.open()
				d.Sweep()
				sessions = append(sessions, d.with(r, host))
			}
			n := rapid.IntRange(0, len(sessions)-1).Draw(r, "session")
			d := sessions[n]
			switch rapid.IntRange(0, 4).Draw(r, "what") {
			case 0:
				agree(r, d)
				last = fmt.Sprint("guest ", i)
				replaceFile(r, guest, last)
			case 1:
				agree(r, d)
				last = fmt.Sprint("host ", i)
				replaceFile(r, host, last)
			case 2:
				sessions = append(sessions, s.open().with(r, host))
			case 3:
				d.kill()
				sessions = append(sessions[:n], sessions[n+1:]...)
			case 4:
				d.endedWith(r)
				sessions = append(sessions[:n], sessions[n+1:]...)
			}
		}
		for _, d := range sessions {
			d.endedWith(r)
		}
		nothingToSweep(r, s)
		if text, err := os.ReadFile(host); err != nil || string(text) != last {
			r.Errorf("the host has %q, %v, want %q", text, err, last)
		}
		want := ""
		if own {
			want = "home/file=own"
		}
		if got := strings.Join(s.tree(r), " "); got != want {
			r.Errorf("left %q, want %q", got, want)
		}
	})
}

func nothingToSweep(r *rapid.T, s *shared) {
	d := s.open()
	if told := d.Sweep(); len(told) > 0 {
		r.Error(told)
	}
	d.close()
}

// with adds the file of the host that is shared.
func (d *Directory) with(r *rapid.T, host string) *Directory {
	if err := d.Add("file", HostFile{host, true}); err != nil {
		r.Fatal(err)
	}
	return d
}

// agree is to be called before the other side writes: where both do, the guest's counts, or after a kill the host's.
func agree(r *rapid.T, d *Directory) {
	e := d.entries[0]
	if err := e.record.lock(lockWait); err != nil {
		r.Fatal(err)
	}
	_ = d.agree(e, false)
	e.record.unlock()
}

func FuzzRecord(f *testing.F) {
	d := digest{1}
	good := fmt.Sprintf("%x\x00rw\x00a/b\x00/host\x00boot", d)
	for _, text := range []string{good, "", "\x00\x00\x00", strings.Replace(good, "a/b", "../b", 1), good + "\x00"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fields := strings.Split(string(text), "\x00")
		name := ""
		if len(fields) > 2 {
			name = recordName(fields[2])
		}
		u, sum, _ := parseRecord(text, name)
		switch {
		case u == use{} && sum == digest{}:
		case !filepath.IsLocal(u.guest) || !filepath.IsAbs(u.host):
			t.Errorf("%q is %v", text, u)
		}
	})
}
