package sqlvfs

import (
	"path/filepath"
	"reflect"
	"testing"
)

func snapshot(t *testing.T, path string) *Snapshot {
	t.Helper()
	s, err := Open(path, Options{ReadOnly: true})
	must(t, err)
	defer s.Close()
	return ask(t, s, (*Tx).Snapshot)
}

func TestSnapshot(t *testing.T) {
	for what, path := range map[string]string{"this layout": sample(t), "layout 1": fixture(t, 1), "layout 2": fixture(t, 2)} {
		t.Run(what, func(t *testing.T) {
			all := snapshot(t, path)
			s, err := Open(path, Options{ReadOnly: true})
			must(t, err)
			defer s.Close()
			for ino := RootIno; ino <= 8; ino++ {
				in := ask(t, s, func(tx *Tx) (*Inode, error) { return tx.Get(ino) })
				n := all.Node(ino)
				if n.Attr != in.Attr || n.Target != in.target || !reflect.DeepEqual(n.Origin, in.Origin) {
					t.Errorf("inode %d: %+v, want %+v", ino, n, in)
				}
				if in.Attr.IsDir() {
					children := ask(t, s, func(tx *Tx) ([]Child, error) { return tx.Children(in) })
					whiteouts := ask(t, s, func(tx *Tx) ([]string, error) { return tx.Whiteouts(in) })
					if len(children) != len(n.Children) || len(whiteouts) != len(n.Whiteouts) {
						t.Errorf("inode %d: entries %v, whiteouts %v", ino, n.Children, n.Whiteouts)
					}
					for _, c := range children {
						if at := all.Child(n, c.Name); at == nil || at.Ino != c.Ino {
							t.Errorf("inode %d: %s leads to %+v", ino, c.Name, at)
						}
					}
				}
			}
			if all.Child(all.Node(RootIno), "none") != nil || len(all.Unseen) != 0 {
				t.Errorf("unseen: %v", all.Unseen)
			}
		})
	}
}

func TestSnapshotOfTheSDK(t *testing.T) {
	all := snapshot(t, sdkDatabase(t, ""))
	link := all.Child(all.Node(RootIno), "link")
	if link == nil || link.Target != "notes/today.txt" {
		t.Errorf("link: %+v", link)
	}
}

// What no directory can show is told apart.
func TestSnapshotOfAHostileDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	must(t, openTest(t, path).Close())
	alter(t, path, `INSERT INTO fs_inode (ino, mode, atime, mtime, ctime) VALUES (2, 33188, 0, 0, 0), (3, 420, 0, 0, 0), (4, 41471, 0, 0, 0);
		INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('..', 1, 2), ('a/b', 1, 2), ('self', 1, 1), ('none', 1, 9), ('type', 1, 3),
			('target', 1, 4), ('fine', 1, 2), ('in a file', 2, 2), ('nowhere', 77, 2)`)
	all := snapshot(t, path)
	var names []string
	for _, u := range all.Unseen {
		names = append(names, u.Name)
	}
	if want := []string{"..", "a/b", "none", "self", "target", "type", "in a file"}; !reflect.DeepEqual(names, want) {
		t.Errorf("unseen: %q, want %q", names, want)
	}
	if got := all.Node(RootIno).Children; len(got) != 1 || got[0].Name != "fine" {
		t.Errorf("seen: %v", got)
	}
}
