package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/version"
)

// listening returns a session in a directory whose path is longer than the address of a socket may be.
func listening(t *testing.T, dir string) *Server {
	t.Helper()
	s, err := Listen(dir, func(c *Conn, ask *control.Ask) {
		if ask.Kind != control.AskInfo {
			c.Refuse(errors.New("no"))
			return
		}
		if err := c.Answer(&control.SessionInfo{Workspace: "/ws"}); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func directory(t *testing.T) string {
	t.Helper()
	run := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"XDG_RUNTIME_DIR": run}
	dir, err := Make(func(name string) string { return env[name] })
	if err != nil || dir != filepath.Join(run, "art") {
		t.Fatalf("%s, %v", dir, err)
	}
	return dir
}

func TestAsk(t *testing.T) {
	dir := directory(t)
	s := listening(t, dir)
	if info, err := os.Lstat(s.Path()); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
	var info control.SessionInfo
	conn, err := Dial([]string{"/nonexistent", dir}, s.ID, control.AskInfo, nil, &info)
	if err != nil || info.Workspace != "/ws" {
		t.Fatalf("%+v, %v", info, err)
	}
	conn.Close()
	for kind, want := range map[control.AskKind]string{control.AskKill: "no", 0: "nobody knows", 200: "nobody knows"} {
		if _, err := Dial([]string{dir}, s.ID, kind, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %s", kind, err, want)
		}
	}
	for _, id := range []string{"", "zzzz", "../" + s.ID, s.ID + "\x00", strings.Repeat("a", 100)} {
		if _, err := Dial([]string{dir}, id, control.AskInfo, nil, nil); err == nil {
			t.Errorf("there is a session %q", id)
		}
	}
}

func TestOtherVersion(t *testing.T) {
	dir := directory(t)
	s := listening(t, dir)
	conn, err := dial([]string{dir}, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Send(&control.Ask{Protocol: control.SessionProtocol, Version: "another", Kind: control.AskKill}); err != nil {
		t.Fatal(err)
	}
	if err := conn.Answered(nil); err == nil || !strings.Contains(err.Error(), "it is art "+version.Version+", and this is art another") {
		t.Errorf("answered %v", err)
	}
}

func TestOtherBytes(t *testing.T) {
	dir := directory(t)
	s := listening(t, dir)
	for _, text := range []string{"x", strings.Repeat("x", 60<<10), string(control.Marshal(&control.Message{Kind: control.Go}))} {
		conn, err := dial([]string{dir}, s.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.File.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := conn.Answered(nil); err == nil || !strings.Contains(err.Error(), "read what is asked") {
			t.Errorf("%.20q: answered %v", text, err)
		}
		conn.Close()
	}
}

// What a killed session has left is swept by who looks, and what somebody else has put there is no session.
func TestSweep(t *testing.T) {
	dir := directory(t)
	s := listening(t, dir)
	at, err := openOwn(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)
	const noProcess = 1 << 30 // beyond PID_MAX_LIMIT in include/linux/threads.h
	killed, beginning := temporaryName(noProcess), temporaryName(os.Getpid())
	for _, name := range []string{"dead.sock", killed, beginning} {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Bind(fd, address(at, name))
			unix.Close(fd)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "README"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if list := List([]string{dir}); len(list) != 1 || list[0].ID != s.ID || list[0].Workspace != "/ws" {
		t.Errorf("there are %+v", list)
	}
	for _, name := range []string{"dead.sock", killed} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	s.Close()
	if names, err := os.ReadDir(dir); err != nil || len(names) != 2 || names[0].Name() != beginning {
		t.Errorf("left are %v, %v", names, err)
	}
}

// Nobody else may get at the sockets, nor have put the directory there.
func TestDirectory(t *testing.T) {
	dir := directory(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	fd, err := openOwn(dir)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if _, err := openOwn(link); err == nil {
		t.Error("a link was taken for the directory")
	}
	if os.Getuid() == 0 {
		if err := os.Chown(dir, 1, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := openOwn(dir); err == nil {
			t.Error("the directory of somebody else was taken")
		}
	}
}

// Each session has an id of its own.
func TestIDs(t *testing.T) {
	dir := directory(t)
	seen := map[string]bool{}
	for range 40 {
		s := listening(t, dir)
		if seen[s.ID] || !IsID(s.ID) || len(s.ID) != 4 {
			t.Errorf("the id %q", s.ID)
		}
		seen[s.ID] = true
	}
	if list := List([]string{dir}); len(list) != 40 {
		t.Errorf("%d of 40 sessions are listed", len(list))
	}
}

// What art says of a session in its log is a line of its own.
func TestTell(t *testing.T) {
	state := t.TempDir()
	l := &Log{}
	if err := l.Open(func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }, "bada", "/ws"); err != nil {
		t.Fatal(err)
	}
	for _, piece := range []string{"one", ""} {
		l.Write([]byte(piece))
	}
	l.Tell("two")
	l.Tell("three")
	l.Close()
	if text, err := os.ReadFile(l.Path()); err != nil || string(text) != "one\ntwo\nthree\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// Of what is in the directory of somebody else nothing is listed, nor removed.
func TestSweepNotOwn(t *testing.T) {
	dir := directory(t)
	at, err := openOwn(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)
	left := temporaryName(1 << 30) // of no process
	for _, name := range []string{"bada.sock", left} {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Bind(fd, address(at, name))
			unix.Close(fd)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "art")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if ids := IDs([]string{link}); len(ids) != 0 {
		t.Errorf("%v are listed", ids)
	}
	if _, err := os.Lstat(filepath.Join(dir, left)); err != nil {
		t.Error(err)
	}
	if ids := IDs([]string{dir}); len(ids) != 1 || ids[0] != "bada" {
		t.Errorf("%v are listed, in one's own", ids)
	}
}

// The log of a session that is quiet for long stays while it runs, and does not count among those that are kept.
func TestSweepLogs(t *testing.T) {
	state := t.TempDir()
	getenv := func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }
	dir, err := Make(getenv)
	if err != nil {
		t.Fatal(err)
	}
	s := listening(t, dir)
	logs := logDirectory(getenv)
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	log := func(id string, age time.Duration) string {
		path := LogPath(getenv, id)
		at := time.Now().Add(-age)
		k := kept{Workspace: "/" + id}
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at), k.write(keptPath(path))); err != nil {
			t.Fatal(err)
		}
		return path
	}
	quiet, oldest := log(s.ID, 100*time.Hour), log("oldest", 99*time.Hour)
	for i := range maxLogs {
		log(fmt.Sprint("id", i), time.Duration(i)*time.Hour)
	}
	l := &Log{}
	if err := l.Open(getenv, "bada", "/ws"); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := os.Stat(quiet); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(oldest); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the oldest is left: %v", err)
	}
	if left, err := os.ReadDir(logs); err != nil || len(left) != 2*(maxLogs+2) { // each log, and what is kept beside it
		t.Errorf("%d are left, %v", len(left), err)
	}
}

// How a session in the background ended is kept, and which was the last of a workspace.
func TestEnded(t *testing.T) {
	state := t.TempDir()
	getenv := func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }
	for _, session := range []struct{ id, workspace string }{{"bada", "/ws"}, {"bade", "/ws"}, {"badi", "/ws/deep"}, {"bado", "/"}} {
		l := &Log{}
		if err := l.Open(getenv, session.id, session.workspace); err != nil {
			t.Fatal(err)
		}
		if end, err := Ended(getenv, session.id); !errors.Is(err, errNotKept) {
			t.Errorf("%s runs, and has ended with %v, %v", session.id, end, err)
		}
		if session.id != "badi" {
			l.End(&control.SessionEnd{Code: 3, Why: session.id})
		}
	}
	if end, err := Ended(getenv, "bada"); err != nil || end.Code != 3 || end.Why != "bada" {
		t.Errorf("%+v, %v", end, err)
	}
	for _, id := range []string{"badu", "../bada", ""} {
		if end, err := Ended(getenv, id); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q has ended with %v, %v", id, end, err)
		}
	}
	for here, want := range map[string]string{"/ws": "bade", "/ws/sub": "bade", "/ws/deep/er": "badi", "/wsx": "bado"} {
		if got := Last(getenv, here); got != want {
			t.Errorf("the last of %s is %q, not %q", here, got, want)
		}
	}
	if got := Last(func(string) string { return "" }, "/ws"); got != "" {
		t.Errorf("without a place for logs, %q", got)
	}
}
