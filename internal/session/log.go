package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/config"
	"github.com/riverlytech/art/internal/control"
)

const (
	// maxLog is how large a log becomes before it is rotated, once: there are two files at most.
	maxLog = 4 << 20
	// maxLogs is how many logs of sessions that have ended are kept.
	maxLogs   = 20
	logSuffix = ".log"
	oldSuffix = ".1"
)

// Log is the output of a session in the background, in a file that only its user may read. What comes before it is open is
// kept in memory.
type Log struct {
	mu      sync.Mutex
	early   []byte   // GUARDED_BY(mu)
	path    string   // GUARDED_BY(mu)
	kept    kept     // GUARDED_BY(mu)
	file    *os.File // GUARDED_BY(mu)
	size    int      // GUARDED_BY(mu)
	midLine bool     // GUARDED_BY(mu); the last line has no end
}

// logDirectory is where logs are.
func logDirectory(getenv func(string) string) string {
	dir := config.StateDir(getenv)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "logs")
}

// LogPath returns the path of the log of a session.
func LogPath(getenv func(string) string, id string) string {
	return filepath.Join(logDirectory(getenv), id+logSuffix)
}

// Open makes the file of the log of a session in a workspace, and removes those of old ones.
func (l *Log) Open(getenv func(string) string, id, workspace string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	dir := logDirectory(getenv)
	if dir == "" {
		return cli.WithHint(errors.New("make a log of the session: neither XDG_STATE_HOME nor HOME is set"), "set HOME")
	}
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		sweepLogs(dir, Directories(getenv))
		l.path = filepath.Join(dir, id+logSuffix)
		_ = os.Remove(l.path + oldSuffix) // of another one of this id
		l.file, err = os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	}
	if err == nil {
		l.kept = kept{Workspace: workspace, Started: time.Now()}
		err = l.kept.write(keptPath(l.path))
	}
	if err == nil {
		l.size, err = l.file.Write(l.early)
	}
	l.early = nil
	if err != nil {
		return cli.WithHint(fmt.Errorf("make a log of the session in %s: %w", dir, cli.Reason(err)), "make room there, or set XDG_STATE_HOME")
	}
	return nil
}

// sweepLogs removes the oldest logs of sessions that have ended, beyond those that are kept. Who has a socket may still run.
func sweepLogs(dir string, sockets []string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*"+logSuffix))
	files = slices.DeleteFunc(files, func(path string) bool {
		id := strings.TrimSuffix(filepath.Base(path), logSuffix)
		return slices.ContainsFunc(sockets, func(at string) bool {
			_, err := os.Lstat(filepath.Join(at, id+suffix))
			return err == nil
		})
	})
	written := func(path string) (t time.Time) {
		if info, err := os.Stat(path); err == nil {
			t = info.ModTime()
		}
		return t
	}
	slices.SortFunc(files, func(a, b string) int { return written(b).Compare(written(a)) }) // the newest first
	for _, path := range files[min(len(files), maxLogs):] {
		_ = os.Remove(path) // one that is in use stays readable to who has it open
		_ = os.Remove(path + oldSuffix)
		_ = os.Remove(keptPath(path))
	}
}

// Write writes to the log. It never fails: what cannot be kept is lost.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(p)
	return len(p), nil
}

// Tell writes a line of art's own, which does not go on a line of the guest's.
func (l *Log) Tell(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.midLine {
		line = "\n" + line
	}
	l.write([]byte(line + "\n"))
}

// write writes to the log. LOCKS_REQUIRED(l.mu)
func (l *Log) write(p []byte) {
	if len(p) > 0 {
		l.midLine = p[len(p)-1] != '\n'
	}
	if l.file == nil {
		if l.path == "" && len(l.early) < maxLog {
			l.early = append(l.early, p...)
		}
		return
	}
	if l.size > maxLog {
		l.rotate()
	}
	n, _ := l.file.Write(p)
	l.size += n
}

// rotate begins the file anew. The output stays as good as it was where that fails. LOCKS_REQUIRED(l.mu)
func (l *Log) rotate() {
	if err := os.Rename(l.path, l.path+oldSuffix); err != nil {
		_ = l.file.Truncate(0)
		l.size = 0
		return
	}
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err == nil {
		l.file.Close()
		l.file, l.size = file, 0
	}
}

// Path is the path of the file, or "".
func (l *Log) Path() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.path
}

// File opens the file once more.
func (l *Log) File() (*os.File, error) { return os.OpenFile(l.Path(), os.O_WRONLY|os.O_APPEND, 0) }

// End keeps how the session ended, and closes the file.
func (l *Log) End(end *control.SessionEnd) {
	l.mu.Lock()
	if l.file != nil {
		l.kept.End = end
		_ = l.kept.write(keptPath(l.path)) // without it nobody learns of the end later
	}
	l.mu.Unlock()
	l.Close()
}

// Close closes the file.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// PrintLog writes the log of a session, and with follow what comes, until the session has ended.
func PrintLog(w io.Writer, getenv func(string) string, id string, follow bool) error {
	if !IsID(id) {
		return fmt.Errorf("find session %s: that is no id", cli.Printable(id))
	}
	path := LogPath(getenv, id)
	if err := printFile(w, path+oldSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("print the log of session %s: %w", id, cli.Reason(err))
	}
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return cli.WithHint(fmt.Errorf("print the log of session %s: there is none", id), "sessions in the background have one: art run -b; what art try has run, art compare shows")
	}
	for err == nil {
		running := follow && runs(getenv, id) // before the last look
		if _, err = io.Copy(w, file); err != nil || !running {
			break
		}
		time.Sleep(followEvery)
		if next, e := os.Open(path); e == nil { // it may have been rotated
			if sameFile(file, next) {
				next.Close()
				continue
			}
			_, err = io.Copy(w, file) // what came before that
			file.Close()
			file = next
		}
	}
	if file != nil {
		file.Close()
	}
	if err != nil {
		return fmt.Errorf("print the log of session %s: %w", id, cli.Reason(err))
	}
	return nil
}

const followEvery = 200 * time.Millisecond

func printFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

func sameFile(a, b *os.File) bool {
	one, err := a.Stat()
	two, err2 := b.Stat()
	return err == nil && err2 == nil && os.SameFile(one, two)
}

// runs tells whether a session still does.
func runs(getenv func(string) string, id string) bool {
	conn, err := dial(Directories(getenv), id)
	if err == nil {
		conn.Close()
	}
	return err == nil
}
