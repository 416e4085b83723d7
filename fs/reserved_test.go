package fs

import (
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/riverlytech/art/internal/hostfs"
)

// Directories that belong to a pull are not in the tree, wherever they are: what the guest had there would be in no diff. What an
// older session has made there is not lost with the directory above.
func TestDirectoriesOfPullsAreNotThere(t *testing.T) {
	s := newSession(t)
	const staging = hostfs.StagingPrefix + "ABC"
	s.plant(staging+"/1", []byte("staged"))
	s.plant("dir/"+staging, []byte("staged"))
	s.plant("dir/file", []byte("the host's"))
	for _, plus := range []bool{false, true} {
		s.plus = plus
		if names := s.names("ws"); names != "dir" {
			t.Errorf("the workspace shows %q", names)
		}
		if names := s.names("ws/dir"); names != "file" {
			t.Errorf("the directory shows %q", names)
		}
	}
	s.must(s.mkdir("ws/mine", 0o755))
	s.write("ws/mine/file", []byte("mine"), 0)
	for _, dir := range []string{"ws/", "ws/dir/", "ws/mine/"} {
		at := dir + staging
		s.missing(at)
		s.missing(at + "/1")
		for what, err := range map[string]error{
			"mkdir":   s.mkdir(at, 0o755),
			"link":    s.link("ws/mine/file", at),
			"rename":  s.rename("ws/mine/file", at),
			"symlink": s.symlink("to", at),
		} {
			if err != syscall.EPERM {
				t.Errorf("%s %s: %v, want %v", what, at, err, syscall.EPERM)
			}
		}
		for what, err := range map[string]error{"unlink": s.unlink(at), "rmdir": s.rmdir(at), "rename from": s.rename(at, "ws/another")} {
			if err != syscall.ENOENT {
				t.Errorf("%s %s: %v, want %v", what, at, err, syscall.ENOENT)
			}
		}
	}

	s.must(s.mkdir("ws/mine/old", 0o755))
	s.write("ws/mine/old/file", []byte("mine"), 0)
	s.end()
	c, err := sqlite3.Open(s.db)
	s.must(err)
	s.must(c.Exec("UPDATE fs_dentry SET name='" + staging + "' WHERE name='old'"))
	s.must(c.Close())
	s.begin(t)
	s.plus = true
	if names := s.names("ws/mine"); names != "file" {
		t.Errorf("the directory shows %q", names)
	}
	s.missing("ws/mine/" + staging + "/file")
	s.must(s.unlink("ws/mine/file"))
	if err := s.rmdir("ws/mine"); err != syscall.ENOTEMPTY {
		t.Errorf("rmdir: %v, want %v", err, syscall.ENOTEMPTY)
	}
}
