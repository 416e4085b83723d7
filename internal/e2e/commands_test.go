package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/riverlytech/art/internal/attack"
	"github.com/riverlytech/art/internal/processes"
)

// commands are the words our scripts have beside testscript's own.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"code":     cmdCode,
	"nothing":  cmdNothing,
	"retry":    cmdRetry,
	"snapshot": cmdSnapshot,
	"killtree": cmdKillTree,
	"clean":    cmdClean,
	"whole":    cmdWhole,
	"attacked": cmdAttacked,
}

// code N program args...
//
// runs the program, which must exit with exactly N.
func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// nothing FILE
//
// the file (also stdout, stderr) must be empty.
func cmdNothing(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: nothing file")
	}
	if text := ts.ReadFile(args[0]); text != "" {
		ts.Fatalf("%s is not empty:\n%s", args[0], text)
	}
}

// [!] retry SECONDS program args...
//
// runs the program again and again until it succeeds (with !, fails), at most
// for so long.
func cmdRetry(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] retry seconds program args...")
	}
	seconds, err := strconv.Atoi(args[0])
	ts.Check(err)
	for end := time.Now().Add(time.Duration(seconds) * time.Second); (ts.Exec(args[1], args[2:]...) == nil) == neg; {
		if time.Now().After(end) {
			ts.Fatalf("still not so after %d s", seconds)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// poll asks cond until it holds, at most for d, and returns what it said last.
func poll(d time.Duration, cond func() bool) bool {
	for end := time.Now().Add(d); ; time.Sleep(10 * time.Millisecond) {
		if cond() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// snapshot FILE DIR
//
// writes into FILE all that can be seen of the tree at DIR from outside:
// names, types, modes, owners, inode numbers, times and content. Two equal
// snapshots mean that nobody touched the tree: even a change that was undone
// shows in the change time.
func cmdSnapshot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: snapshot file dir")
	}
	list, err := snapshot(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(list), 0o600))
}

func snapshot(dir string) (string, error) {
	var list strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != nil {
			return err
		}
		content := ""
		switch d.Type() {
		case 0:
			if content, err = digest(path); err != nil {
				return err
			}
		case fs.ModeSymlink:
			if content, err = os.Readlink(path); err != nil {
				return err
			}
		}
		rel, err := filepath.Rel(dir, path)
		fmt.Fprintf(&list, "%q ino=%d mode=%o nlink=%d owner=%d:%d size=%d mtime=%d.%09d ctime=%d.%09d %q\n", rel,
			st.Ino, st.Mode, st.Nlink, st.Uid, st.Gid, st.Size, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec, content)
		return err
	})
	return list.String(), err
}

// killtree PIDFILE COMM
//
// sends SIGKILL to the process with command name COMM in the tree below (and
// with) the process whose id is in PIDFILE. Two seconds later, nothing of that
// tree may be alive.
func cmdKillTree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: killtree pidfile comm")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	tree := processes.Tree(pid)
	i := slices.IndexFunc(tree, func(p processes.Process) bool { return p.Comm == args[1] })
	if i < 0 {
		ts.Fatalf("no process %s in %v", args[1], tree)
	}
	ts.Check(syscall.Kill(tree[i].PID, syscall.SIGKILL))
	ts.Logf("killed %v of %v", tree[i], tree)
	poll(2*time.Second, func() bool { return len(processes.Alive(tree)) == 0 })
	if left := processes.Alive(tree); len(left) > 0 {
		ts.Fatalf("alive two seconds after %s was killed: %v", args[1], left)
	}
}

// clean
//
// nothing of a session may be left (two seconds are granted): no process, no
// mount, no temporary file.
func cmdClean(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: clean")
	}
	work := ts.Getenv("WORK")
	var found []string
	poll(2*time.Second, func() bool {
		found = leftovers(work)
		return len(found) == 0
	})
	if len(found) > 0 {
		ts.Fatalf("left behind:\n%s", strings.Join(found, "\n"))
	}
}

// broken lists, for a database of the Agent Filesystem format, each row that
// breaks one of its rules. It is asked of the sqlite3 program, so that the
// answer owes nothing to our own code.
const broken = `
SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok';
SELECT 'entry without inode', * FROM fs_dentry WHERE ino NOT IN (SELECT ino FROM fs_inode);
SELECT 'entry without directory', * FROM fs_dentry
	WHERE parent_ino NOT IN (SELECT ino FROM fs_inode WHERE mode & 0xf000 = 0x4000);
SELECT 'inode without entry', * FROM fs_inode
	WHERE ino <> 1 AND ino NOT IN (SELECT ino FROM fs_dentry) AND ino NOT IN (SELECT ino FROM art_orphan);
SELECT 'directory with two entries', ino FROM fs_dentry JOIN fs_inode USING (ino)
	WHERE mode & 0xf000 = 0x4000 GROUP BY ino HAVING count(*) > 1;
SELECT 'content without file', ino, chunk_index FROM fs_data
	WHERE ino NOT IN (SELECT ino FROM fs_inode WHERE mode & 0xf000 = 0x8000) AND ino NOT IN (SELECT ino FROM art_orphan);
SELECT 'content beyond the end', ino, chunk_index FROM fs_data JOIN fs_inode USING (ino)
	WHERE chunk_index * (SELECT value FROM fs_config WHERE key = 'chunk_size') + length(data) > size;
SELECT 'link without target', ino FROM fs_inode
	WHERE mode & 0xf000 = 0xa000 AND ino NOT IN (SELECT ino FROM fs_symlink) AND ino NOT IN (SELECT ino FROM art_origin);
SELECT 'target without link', ino FROM fs_symlink WHERE ino NOT IN (SELECT ino FROM fs_inode WHERE mode & 0xf000 = 0xa000);
SELECT 'origin without inode', ino FROM art_origin WHERE ino NOT IN (SELECT ino FROM fs_inode);
`

// whole DB
//
// the database must keep every rule of its format.
func cmdWhole(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: whole db")
	}
	// Of a copy: even a reader makes files beside a database.
	copies, err := os.MkdirTemp(ts.Getenv("WORK"), "whole")
	ts.Check(err)
	defer os.RemoveAll(copies)
	files, err := filepath.Glob(ts.MkAbs(args[0]) + "*")
	ts.Check(err)
	for _, file := range files {
		ts.Check(command("cp", file, copies))
	}
	out, err := exec.Command("sqlite3", filepath.Join(copies, filepath.Base(args[0])), broken).CombinedOutput()
	if err != nil || len(out) > 0 {
		ts.Fatalf("%s is not whole: %v\n%s", args[0], err, out)
	}
}

// attacked FILE
//
// the file (also stdout) must be the table of art doctor --attack: what always succeeds
// outside of a sandbox has to do so there, or it proves nothing.
func cmdAttacked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: attacked file")
	}
	cells := map[string][]string{}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if fields := strings.Fields(line); len(fields) > 3 && strings.HasPrefix(line, "  ") {
			cells[strings.Join(fields[:len(fields)-3], " ")] = fields[len(fields)-3:]
		}
	}
	all := attack.All()
	if len(all) < 80 {
		ts.Fatalf("%d attempts are too few", len(all))
	}
	for _, a := range all {
		row := cells[a.Name]
		switch {
		case row == nil:
			ts.Fatalf("%s: was not tried", a.Name)
		case row[0] != "succeeds" && (a.Needs == attack.Nothing || a.Needs == attack.Root && os.Getuid() == 0):
			ts.Fatalf("%s: %s on the host", a.Name, row[0])
		}
	}
}
