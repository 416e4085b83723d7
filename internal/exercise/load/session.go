package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed work.sh
var workScript []byte

// load is all sessions.
type load struct {
	*options
	counted *counter
	began   time.Time
	took    time.Duration
	all     []*session
	samples []sample

	mu      sync.Mutex
	running map[*session]bool // GUARDED_BY(mu)
}

// session is one of them. What it found is valid when it has ended.
type session struct {
	number  int
	pid     int
	start   time.Duration // until the guest runs
	end     time.Duration // from the guest's last line until art has ended, and with it the copy
	lived   time.Duration
	cpu     time.Duration // of all its processes
	synced  []time.Time   // when each line was on the disk
	checked bool          // its copy was brought back, and has all
	err     error
}

// prepare makes the workspace that all sessions have in common.
func (l *load) prepare() error {
	for _, dir := range []string{"ws", "home", "run", "state", "back"} {
		if err := os.MkdirAll(filepath.Join(l.dir, dir), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(l.dir, "ws", "work.sh"), workScript, 0o600); err != nil {
		return err
	}
	var text bytes.Buffer
	w, source := tar.NewWriter(&text), rand.NewChaCha8([32]byte{})
	sizes := rand.New(source)
	for i := range l.files {
		content := make([]byte, 1<<10+sizes.IntN(15<<10))
		source.Read(content[:len(content)/2]) // the rest squeezes well, as text does
		err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("tree/%d/file-%d", i%20, i), Mode: 0o644, Size: int64(len(content)), ModTime: time.Unix(1e9, 0), Uid: os.Getuid(), Gid: os.Getgid()})
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.dir, "ws", "tree.tar"), text.Bytes(), 0o600)
}

func (l *load) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(l.bin, name), args...)
	cmd.Dir = l.dir
	cmd.Env = append(os.Environ(), "HOME="+l.dir+"/home", "XDG_RUNTIME_DIR="+l.dir+"/run", "XDG_STATE_HOME="+l.dir+"/state", "XDG_CONFIG_HOME="+l.dir+"/home/.config",
		"ART_LIBEXEC_DIR="+l.bin, "AWS_EC2_METADATA_DISABLED=true")
	if l.gateway != "" {
		cmd.Env = append(cmd.Env, "AWS_ACCESS_KEY_ID="+gatewayKey, "AWS_SECRET_ACCESS_KEY="+gatewaySecret)
	}
	return cmd
}

// url is where a session's copy is.
func (l *load) url(endpoint string, number int) string {
	return fmt.Sprintf("s3://%s/%s%d?endpoint=%s", l.bucket, prefix, number, endpoint)
}

// runAll runs all sessions, and looks at them meanwhile.
func (l *load) runAll() {
	l.running, l.began = map[*session]bool{}, time.Now()
	ended, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		l.watch(ended)
	}()
	room := make(chan struct{}, l.atOnce)
	var all sync.WaitGroup
	for i := range l.sessions {
		s := &session{number: i}
		l.all = append(l.all, s)
		room <- struct{}{}
		all.Go(func() {
			s.err = l.session(s)
			<-room
		})
	}
	all.Wait()
	l.took = time.Since(l.began)
	close(ended)
	<-sampled
}

func (l *load) session(s *session) error {
	cmd := l.command("art", "run", "-q", "-i=false", "-m", "ws", "-d", fmt.Sprintf("%d.db", s.number), "--replicate", l.url(l.counted.url, s.number), "--",
		"sh", "work.sh", strconv.Itoa(int(l.work.Seconds())), strconv.Itoa(int(l.every.Seconds())))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	s.pid = cmd.Process.Pid
	l.mu.Lock()
	l.running[s] = true
	l.mu.Unlock()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		what, when, _ := strings.Cut(lines.Text(), " ")
		seconds, err := strconv.ParseFloat(when, 64)
		if err != nil {
			said.WriteString(lines.Text() + "\n")
			continue
		}
		at := time.UnixMicro(int64(seconds * 1e6))
		if what == "began" {
			s.start = at.Sub(began)
		} else {
			s.synced = append(s.synced, at)
		}
	}
	err = cmd.Wait()
	l.mu.Lock()
	delete(l.running, s)
	l.mu.Unlock()
	s.lived = time.Since(began)
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() // art waits for all of them
	switch {
	case err == nil && said.Len() > 0:
		err = errors.New("it complains")
	case err == nil && len(s.synced) == 0:
		err = errors.New("it has done nothing")
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	s.end = time.Since(s.synced[len(s.synced)-1])
	return nil
}

// checkAll brings copies back, those of the first sessions, and has a session look at each.
func (l *load) checkAll() {
	var all sync.WaitGroup
	room := make(chan struct{}, 2)
	for i, s := range l.all {
		if s.err != nil || l.check > 0 && i >= l.check {
			continue
		}
		room <- struct{}{}
		all.Go(func() {
			if err := l.checkCopy(s); err != nil {
				s.err = fmt.Errorf("its copy: %w", err)
			} else {
				s.checked = true
			}
			<-room
		})
	}
	all.Wait()
}

// looking says what is wrong with a tree, or, line by line, what was appended.
const looking = `mkdir new && tar -xf tree.tar -C new && diff -r --exclude=.git new/tree tree >&2 && rm -r new && git -C tree fsck --full --strict --no-progress >&2 && test -z "$(git -C tree status --porcelain)" && cat log`

func (l *load) checkCopy(s *session) error {
	back := filepath.Join("back", fmt.Sprintf("%d.db", s.number))
	defer os.Remove(filepath.Join(l.dir, back))
	if out, err := l.command("art", "restore", l.url(l.endpoint, s.number), "-d", back).CombinedOutput(); err != nil {
		return fmt.Errorf("bring it back: %w: %s", err, out)
	}
	if out, err := l.command("art-fuse", "check", back).CombinedOutput(); err != nil || len(out) > 0 {
		return fmt.Errorf("check: %w: %s", err, out)
	}
	var said bytes.Buffer
	look := l.command("art", "run", "-q", "-i=false", "-m", "ws", "-d", back, "--", "sh", "-c", looking)
	look.Stderr = &said
	lines, err := look.Output()
	if err != nil {
		return fmt.Errorf("look into it: %w: %.500s", err, &said)
	}
	var want strings.Builder
	for i := range s.synced {
		fmt.Fprintln(&want, i+1)
	}
	if string(lines) != want.String() {
		return fmt.Errorf("it has %d lines, and %d were written", strings.Count(string(lines), "\n"), len(s.synced))
	}
	return nil
}

func (l *load) failures() (failed []*session) {
	for _, s := range l.all {
		if s.err != nil {
			failed = append(failed, s)
		}
	}
	return failed
}
