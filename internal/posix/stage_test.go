package posix

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	_ "github.com/riverlytech/art/fs" // so that `go test` knows when its result is out of date
)

// artFuse is the program under test.
var artFuse string

func run(m *testing.M) (int, error) {
	syscall.Umask(0)
	if bin := os.Getenv("ART_TEST_BIN"); bin != "" {
		artFuse = filepath.Join(bin, "art-fuse")
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "art-posix")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	artFuse = filepath.Join(dir, "art-fuse")
	cmd := exec.Command("go", "build", "-o", artFuse, "github.com/riverlytech/art/cmd/art-fuse")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building art-fuse: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// The sides on which a story is told, and the place of its beginning where that is another.
const (
	host = iota
	overlay
	below // the base
)

const workspace = "ws"

// stage is a directory of the host and an overlay, with the agents who act there.
type stage struct {
	t                     testing.TB
	want, base, mnt, data string // base is empty where there is none
	agents                map[string]*agent
	server                *exec.Cmd
	ended                 chan struct{} // closed when the server has ended
	log                   bytes.Buffer
	since                 int64 // when the stories began
	portraits             []string
}

func newStage(t testing.TB, base bool) *stage {
	t.Helper()
	if os.Geteuid() != 0 {
		// Which internal/packaging/passes does when `make test` is run by an ordinary user.
		t.Skip("only root can act as several users and let them into a mount: `make test` runs it with sudo")
	}
	top := t.TempDir()
	s := &stage{t: t, want: filepath.Join(top, "want"), mnt: filepath.Join(top, "mnt"), data: filepath.Join(top, "a.db")}
	dirs := []string{s.want, s.mnt}
	if base {
		s.base = filepath.Join(top, "base")
		dirs = append(dirs, s.base)
	}
	for _, dir := range dirs {
		s.must(os.Mkdir(dir, 0o755))
	}
	t.Cleanup(s.leave)
	return s
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// enter mounts the overlay.
func (s *stage) enter() {
	s.t.Helper()
	args := []string{"mount", s.data, s.mnt, "--read-write", "--allow-other", "--foreground"}
	if s.base != "" {
		args = append(args, "--base", s.base, "--name", workspace)
	}
	s.log.Reset()
	s.server = exec.Command(artFuse, args...)
	s.server.Stderr = &s.log
	s.must(s.server.Start())
	server, ended := s.server, make(chan struct{})
	s.ended = ended
	go func() { server.Wait(); close(ended) }()
	for {
		var st unix.Statfs_t
		s.must(unix.Statfs(s.mnt, &st))
		if st.Type == unix.FUSE_SUPER_MAGIC {
			break
		}
		select {
		case <-ended:
			s.t.Fatalf("art-fuse: %s", s.log.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
	if s.base == "" {
		if err := os.Mkdir(s.tree(), 0o755); err != nil && !os.IsExist(err) {
			s.t.Fatal(err)
		}
	}
}

// tree is the overlay's counterpart of the host's directory.
func (s *stage) tree() string { return filepath.Join(s.mnt, workspace) }

// hire starts an agent for each of the cast.
func (s *stage) hire(sides ...string) {
	s.t.Helper()
	s.agents = map[string]*agent{}
	for who := range cast {
		a, err := newAgent(who, sides...)
		s.must(err)
		s.agents[who] = a
	}
}

func (s *stage) dismiss() {
	for who, a := range s.agents {
		if err := a.close(); err != nil {
			s.t.Errorf("%s: %v", who, err)
		}
	}
	s.agents = nil
}

// leave ends the session. The server must have had nothing to say, and leave the database sound.
func (s *stage) leave() {
	s.t.Helper()
	s.dismiss()
	if s.server == nil {
		return
	}
	err := unix.Unmount(s.mnt, 0)
	for begin := time.Now(); err == unix.EBUSY && time.Since(begin) < time.Minute; err = unix.Unmount(s.mnt, 0) {
		time.Sleep(5 * time.Millisecond) // the kernel releases what was just closed in its own time
	}
	if err != nil {
		s.t.Errorf("unmount: %v", err)
		s.must(errors.Join(s.server.Process.Kill(), unix.Unmount(s.mnt, unix.MNT_DETACH)))
	}
	select {
	case <-s.ended:
	case <-time.After(2 * time.Minute):
		s.server.Process.Kill()
		s.t.Error("art-fuse does not end")
	}
	if s.log.Len() > 0 {
		s.t.Errorf("art-fuse says: %s", s.log.String())
	}
	s.server = nil
	if out, err := exec.Command(artFuse, "check", s.data).CombinedOutput(); err != nil {
		s.t.Errorf("art-fuse check: %v: %s", err, out)
	}
}

// act has one of the cast act in several stories.
func (s *stage) act(who string, side int, scenes ...scene) [][]string {
	s.t.Helper()
	results, err := s.agents[who].act(request{side, scenes})
	if err != nil {
		s.t.Fatalf("%s on side %d, %q: %v", who, side, scenes, err)
	}
	return results
}

// direct is act for what must not fail.
func (s *stage) direct(side int, scenes ...scene) {
	s.t.Helper()
	for i, results := range s.act("root", side, scenes...) {
		for j, result := range results {
			if result != "ok" {
				s.t.Fatalf("%s on side %d: %q: %s", scenes[i].Dir, side, scenes[i].Calls[j].Args, result)
			}
		}
	}
}

func rootScene(dir, text string) scene { return scene{dir, calls(text, "root")} }

// name is the directory of a story.
func name(i int) string { return fmt.Sprintf("s%05d", i) }

// scenes are one for each story.
func scenes(told []*story, text func(*story) string) []scene {
	list := make([]scene, len(told))
	for i, story := range told {
		list[i] = rootScene(name(i), text(story))
	}
	return list
}

// prepare makes what the stories begin with.
func (s *stage) prepare(told []*story, o origin) {
	s.t.Helper()
	begin := func(side int) {
		for i := range told {
			s.must(os.Mkdir(filepath.Join([]string{s.want, s.tree(), s.base}[side], name(i)), 0o755))
		}
		s.direct(side, scenes(told, func(story *story) string { return join(story.setup, "age") })...)
	}
	if o.base {
		s.hire(s.want, s.want, s.base)
		begin(host)
		begin(below)
		s.dismiss()
		s.enter()
		s.hire(s.want, s.tree())
	} else {
		s.enter()
		s.hire(s.want, s.tree())
		begin(host)
		begin(overlay)
	}
	if o.stored {
		s.leave()
		s.enter()
		s.hire(s.want, s.tree())
	}
	var touches, notes []scene
	for i, paths := range s.act("root", host, scenes(told, func(*story) string { return "paths" })...) {
		list := strings.Trim(paths[0], "[]")
		touches = append(touches, rootScene(name(i), "touch "+list))
		notes = append(notes, rootScene(name(i), "note "+list))
	}
	if o.touch {
		s.direct(overlay, touches...)
	}
	if o.note {
		s.direct(host, notes...)
		s.direct(overlay, notes...)
	}
	time.Sleep(tick)
	s.since = time.Now().UnixNano()
	time.Sleep(tick)
}

// together is how many stories are told at a time: all that is open is open at once.
const together = 500

// tell acts the stories out on both sides, and finds where they differ.
func (s *stage) tell(told []*story) []difference {
	var found []difference
	for i := 0; i < len(told); i += together {
		found = append(found, s.tellSome(i, told[i:min(i+together, len(told))])...)
	}
	return found
}

// part is a scene of one side or the other, and what is yet to come of its story.
type part struct {
	first *difference // found so far
	rest  []call
}

// tellSome tells the stories from number first on, scene by scene: whoever has to act does so in
// all stories before the next one does.
func (s *stage) tellSome(first int, told []*story) []difference {
	parts := make([]part, len(told))
	var holds []scene
	for i, story := range told {
		parts[i].rest = calls(story.do, "")
		holds = append(holds, rootScene(name(first+i), "hold"))
	}
	s.direct(host, holds...)
	for more := true; more; {
		more = false
		for _, who := range people {
			var now []scene
			var whose []int
			for i := range parts {
				rest := parts[i].rest
				n := 0
				for n < len(rest) && rest[n].Who == who {
					n++
				}
				if n > 0 {
					now, whose = append(now, scene{name(first + i), rest[:n]}), append(whose, i)
					parts[i].rest = rest[n:]
					more = true
				}
			}
			if len(now) == 0 {
				continue
			}
			want, got := s.act(who, host, now...), s.act(who, overlay, now...)
			for j, i := range whose {
				for k, c := range now[j].Calls {
					if want[j][k] != got[j][k] && parts[i].first == nil {
						parts[i].first = &difference{told[i], append([]string{who}, c.Args...), want[j][k], got[j][k]}
					}
				}
			}
		}
	}
	want, got := s.draw(host, first, len(told)), s.draw(overlay, first, len(told))
	// To read for one portrait moves access times, which is not to be mistaken for the next session's doing.
	s.portraits = append(s.portraits, s.draw(overlay, first, len(told))...)
	for _, who := range people {
		s.act(who, host, rootScene(".", "end"))
	}
	var found []difference
	for i, story := range told {
		if d := parts[i].first; d != nil {
			found = append(found, *d)
			continue // what follows from that is not worth looking at
		}
		compare(want[i], got[i], drop(` ino=\d+`), func(want, got string) {
			found = append(found, difference{story, nil, want, got})
		})
	}
	return found
}

// draw returns portraits of what n stories have led to.
func (s *stage) draw(side, first, n int) []string {
	var list []scene
	for i := range n {
		list = append(list, rootScene(name(first+i), fmt.Sprint("portrait ", s.since)))
	}
	var portraits []string
	for _, results := range s.act("root", side, list...) {
		portraits = append(portraits, results[0])
	}
	return portraits
}

// tellAgain looks at what the stories left behind once more, in a new session.
func (s *stage) tellAgain(told []*story) []difference {
	s.leave()
	s.enter()
	s.hire(s.want, s.tree())
	// Who shares an inode with whom is in the numbers. The first look may have moved access times.
	const identity = ` (?:was|same)="(?:[^"\\]|\\.)*"`
	plain := drop(identity, ` a=now`, fmt.Sprintf(` a=%d\.%09d`, longAgo[0].Sec, longAgo[0].Nsec))
	directory := drop(identity, ` a=\S+`)
	strip := func(line string) string {
		if strings.Contains(line, `" 04`) {
			return directory(line)
		}
		return plain(line)
	}
	var found []difference
	for i, got := range s.draw(overlay, 0, len(told)) {
		compare(s.portraits[i], got, strip, func(want, got string) {
			found = append(found, difference{told[i], []string{"remount"}, want, got})
		})
	}
	return found
}
