package sqlvfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/riverlytech/art/sqlvfs/fsck"
)

// files is a host's directory in memory: what files hold, by path. What paths lead through are directories.
type files map[string][]byte

func (h files) Describe(path string) (*HostObject, error) {
	fp := Fingerprint{Dev: 1, Ino: uint64(len(path)), Size: int64(len(h[path]))}
	if _, ok := h[path]; ok {
		return &HostObject{Attr: Attr{Mode: syscall.S_IFREG | 0o644, Nlink: 1, Size: fp.Size}, Fingerprint: fp}, nil
	}
	if names, _ := h.Names(path); len(names) > 0 {
		return &HostObject{Attr: Attr{Mode: syscall.S_IFDIR | 0o755, Nlink: 2}, Fingerprint: fp, Number: uint64(MaxIno) + fp.Ino}, nil
	}
	return nil, syscall.ENOENT
}

func (h files) Names(dir string) (names []string, err error) {
	for path := range h {
		rest, ok := strings.CutPrefix(path, dir+"/")
		if dir == "." {
			rest, ok = path, true
		}
		name, _, _ := strings.Cut(rest, "/")
		if ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (h files) Inode(path string) (uint32, uint64, error) {
	o, err := h.Describe(path)
	if err != nil {
		return 0, 0, err
	}
	return o.Mode, o.Fingerprint.Ino, nil
}

func (h files) Content(path string) (HostContent, error) {
	o, err := h.Describe(path)
	if err != nil {
		return nil, err
	}
	return openContent{bytes.NewReader(h[path]), o.Fingerprint}, nil
}

type openContent struct {
	io.ReaderAt
	Fingerprint
}

func (c openContent) Version() (Fingerprint, error) { return c.Fingerprint, nil }
func (openContent) Close() error                    { return nil }

var workspace = Tree{Name: "ws"}

// keep copies for checkpoints that all of some paths is about to go.
func keep(s *Store, host HostTree, paths ...string) error {
	var list []HostChange
	for _, path := range paths {
		list = append(list, HostChange{Path: path, Effect: Replaces})
	}
	err := s.KeepHost(workspace, host, list, func(string, int64, error) error { return nil })
	s.EndPull()
	return err
}

// checkpoint makes one, after a change.
func checkpoint(t *testing.T, s *Store) int64 {
	t.Helper()
	put(s, create(t, s, fmt.Sprint("file", s.Dropped(), len(ask(t, s, func(tx *Tx) ([]Child, error) { return tx.Children(tx.Root()) }))), syscall.S_IFREG|0o600))
	c, err := s.Checkpoint(ByUser, "")
	must(t, err)
	return c.ID
}

// at returns what a checkpoint shows in the rows of the workspace: files, and what they hold.
func at(t *testing.T, path string, id int64) files {
	t.Helper()
	s, err := Open(path, Options{At: fmt.Sprint(id)})
	must(t, err)
	defer s.Close()
	root, err := readTree(s)
	must(t, err)
	all := files{}
	var walk func(n *node, at string)
	walk = func(n *node, at string) {
		for name, kid := range n.kids {
			if at := strings.TrimPrefix(at+"/"+name, "/"); kid.isDir() {
				walk(kid, at)
			} else {
				all[at] = kid.data
			}
		}
	}
	if ws := root.kids["ws"]; ws != nil {
		walk(ws, "")
	}
	return all
}

func wantFiles(t *testing.T, got, want files) {
	t.Helper()
	for path, data := range want {
		if is, ok := got[path]; !ok || !bytes.Equal(is, data) {
			t.Errorf("%q has %d bytes (%v), and had %d", path, len(is), ok, len(data))
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are %d files, and were %d", len(got), len(want))
	}
}

// hostile are names that a host's file system takes.
var hostile = []string{"new\nline", "\x1b[31mred", "a b\t\"'`$(x)%s\\", strings.Repeat("n", NameMax), "\xff\xfe\x80 no UTF-8", "-rf", "...", "ws", "*?["}

// What files of the host are called makes no difference to their copies.
func TestCopiesOfHostileNames(t *testing.T) {
	path := filepath.Join(memoryDir(t), "a.db")
	s := openTest(t, path)
	host := files{}
	for _, name := range hostile {
		host[name+"/"+name] = []byte(name)
		host["d/"+name] = random(100_000)
	}
	ids := []int64{checkpoint(t, s), checkpoint(t, s)}
	must(t, keep(s, host, append(slices.Clone(hostile), "d")...))
	must(t, s.Close())
	must(t, checkClean(path))
	for _, id := range ids {
		wantFiles(t, at(t, path, id), host)
	}
	s = openTest(t, path)
	_, err := s.GoBack(To("1"), nil)
	must(t, err)
	must(t, s.Close())
	must(t, checkClean(path))
	s = openTest(t, path)
	now, err := s.Checkpoint(ByUser, "")
	must(t, err)
	must(t, s.Close())
	wantFiles(t, at(t, path, now.ID), host)
}

// On a full disk no checkpoint gives way to copies: they go on to show what was copied, and what was not is said, and keeps the tree from
// going back, whether the room is known before or not.
func TestCopiesOnAFullDisk(t *testing.T) {
	for _, known := range []bool{true, false} {
		path := filepath.Join(memoryDir(t), "a.db")
		s := openFull(t, path, 1<<40, true, Options{})
		for i := range 4 {
			in := create(t, s, "old", syscall.S_IFREG|0o600)
			must(t, s.WriteAt(in, bytes.Repeat([]byte{byte(i + 1)}, 2<<20), 0, nil, Now()))
			put(s, in)
			_, err := s.Checkpoint(ByUser, "")
			must(t, err)
			remove(t, s, "old")
		}
		must(t, s.Close())
		info, err := os.Stat(path)
		must(t, err)
		s = openFull(t, path, info.Size()+3<<20, known, Options{})
		must(t, s.BeginSession(1, []string{"pull"}))
		host, kept, list := files{}, files{}, []HostChange{}
		for i := range 20 {
			name := fmt.Sprint(i)
			host[name] = append(random(256<<10), byte(i))
			kept[name] = host[name]
			list = append(list, HostChange{Path: name, Effect: Replaces})
		}
		must(t, s.KeepHost(workspace, host, list, func(path string, _ int64, lost error) error {
			if lost != nil {
				if delete(kept, path); Errno(lost) != syscall.ENOSPC {
					t.Errorf("%s: %v", path, lost)
				}
			}
			return nil
		}))
		s.EndPull()
		if n := len(kept); n == len(host) || n == 0 && known {
			t.Errorf("%d of %d files are copied", n, len(host))
		}
		all, err := s.Checkpoints()
		must(t, err)
		if len(all) != 4 || s.Dropped() != 0 {
			t.Errorf("%d are said to be dropped, and %d are left", s.Dropped(), len(all))
		}
		put(s, create(t, s, "goes on", syscall.S_IFREG|0o600))
		must(t, s.Close())
		must(t, checkClean(path))
		for _, c := range all {
			wantFiles(t, at(t, path, c.ID), kept)
		}
		s = openTest(t, path)
		if _, err := s.GoBack(To("1"), nil); !errors.Is(err, ErrReplaced) {
			t.Errorf("go back: %v", err)
		}
		must(t, s.Close())
	}
}

// Copies are rows of history as any, which somebody may have written who means harm: a check names what is wrong, going back is refused,
// and what shows is shown without an end or a fault.
func TestHostileCopies(t *testing.T) {
	for _, c := range []struct{ name, sql, want string }{
		{"a copy without a row", "DELETE FROM art_old_inode WHERE ino=(SELECT min(ino) FROM art_old_inode)", ""},
		{"a name that leads to no copy", "UPDATE art_old_dentry SET ino=-77 WHERE ino<0", ""},
		{"a number that is too low", "UPDATE art_old_inode SET ino=-(1<<62) WHERE ino=(SELECT min(ino) FROM art_old_inode); UPDATE art_old_dentry SET ino=-(1<<62) WHERE ino=(SELECT min(ino) FROM art_old_dentry)", "art_old_inode of checkpoint 1 cannot be"},
		{"the lowest number there is", "UPDATE art_old_dentry SET ino=-9223372036854775808 WHERE ino<0", "art_old_dentry of checkpoint 1 cannot be"},
		{"a directory in itself", "INSERT OR REPLACE INTO art_old_dentry (parent_ino, name, checkpoint, there, ino) SELECT ino, 'self', checkpoint, 1, ino FROM art_old_inode WHERE ino<0 AND (mode & 61440)=16384", ""},
		{"directories in one another", `INSERT OR REPLACE INTO art_old_dentry (parent_ino, name, checkpoint, there, ino) SELECT a.ino, 'loop'||b.ino, a.checkpoint, 1, b.ino
			FROM art_old_inode a, art_old_inode b WHERE a.ino<0 AND b.ino<0 AND (a.mode & 61440)=16384 AND (b.mode & 61440)=16384`, ""},
		{"content beyond the end", "UPDATE art_old_inode SET size=10 WHERE ino<0 AND size>10", ""},
		{"content that is too long", "UPDATE art_old_data SET data=zeroblob(1000000) WHERE ino<0", ""},
		{"content where no file reaches", "INSERT INTO art_old_data (ino, chunk_index, checkpoint, there, data) SELECT ino, 1<<55, checkpoint, 1, x'00' FROM art_old_inode WHERE ino<0", "art_old_data of checkpoint 1 cannot be"},
		{"the number of no row", "INSERT INTO art_old_xattr (ino, name, checkpoint, there, value) VALUES (0, 'user.x', 1, 1, x'00'); UPDATE art_old_dentry SET ino=0 WHERE ino<0", "art_old_dentry of checkpoint 1 cannot be"},
		{"the present", "INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('now', 1, -5)", `-5 is not there, but has the name "now" in directory 1`},
		{"the present, too low", "INSERT INTO fs_inode (ino, mode, nlink, size, atime, mtime, ctime) VALUES (-(1<<62), 33188, 1, 0, 0, 0, 0); INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('now', 1, -(1<<62))",
			"-4611686018427387904 inode numbers go from 1 to 2^52-1, and below 0 to -2^52+1"},
		{"a loop of the present", `INSERT INTO fs_inode (ino, mode, nlink, size, atime, mtime, ctime) VALUES (-5, 16877, 2, 0, 0, 0, 0), (-6, 16877, 2, 0, 0, 0, 0);
			INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('a', -5, -6), ('b', -6, -5)`, "-6 directory cannot be reached from the root"},
		{"numbers are used up", "UPDATE art_old_inode SET ino=1-(1<<48) WHERE ino=(SELECT min(ino) FROM art_old_inode)", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(memoryDir(t), "a.db")
			s := openTest(t, path)
			host := files{"f": random(200_000), "d/e/deep": []byte("deep"), "d/x": []byte("x")}
			checkpoint(t, s)
			must(t, keep(s, host, "f", "d"))
			checkpoint(t, s)
			must(t, s.Close())
			alter(t, path, c.sql)
			found := findings(t, path)
			if c.want != "" && !strings.Contains(found, c.want) {
				t.Errorf("want %q, found:\n%s", c.want, found)
			}
			for _, at := range []string{"1", "2"} {
				s, err := Open(path, Options{At: at})
				must(t, err)
				visit(s)
				must(t, s.Close())
			}
			s = openTest(t, path)
			visit(s)
			_, err := s.GoBack(To("1"), nil)
			t.Logf("back: %v; found: %q", err, found)
			if err := keep(s, host, "f", "d"); err != nil {
				t.Logf("another pull: %v", err)
			}
			_, err = s.Thin(Keep{Checkpoints: 1})
			must(t, err)
			put(s, create(t, s, "goes on", syscall.S_IFREG|0o600))
			must(t, s.Close())
			_, err = fsck.Repair(path, func(fsck.Finding) {})
			must(t, err)
			must(t, checkClean(path))
		})
	}
}
