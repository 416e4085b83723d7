package inspect

import (
	"fmt"
	"io"
	"path"
	"time"
	"unicode/utf8"

	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/sqlvfs"
)

// object is a path as JSON tells it, one a line. What is not UTF-8 is told byte by byte too, in
// base64. Times are of UTC (RFC 3339).
type object struct {
	Path        string `json:"path"`
	PathBytes   []byte `json:"path_bytes,omitempty"`
	Kind        string `json:"kind"`
	Mode        string `json:"mode"` // type and permission bits, octal
	Ino         uint64 `json:"ino"`  // as programs are shown it
	Links       uint32 `json:"links"`
	UID         uint32 `json:"uid"`
	GID         uint32 `json:"gid"`
	Size        int64  `json:"size"` // bytes
	Modified    string `json:"modified"`
	Target      string `json:"target,omitempty"`
	TargetBytes []byte `json:"target_bytes,omitempty"`
	NotEntered  string `json:"not_entered,omitempty"` // why tree leaves out what is below

	*details
}

// details are what only stat tells.
type details struct {
	Row      sqlvfs.Ino `json:"row"`
	Accessed string     `json:"accessed"`
	Changed  string     `json:"changed"`
	Born     string     `json:"born,omitempty"`
	Origin   *origin    `json:"origin,omitempty"`
	Content  *stored    `json:"content,omitempty"` // of a regular file
	Entries  *int       `json:"entries,omitempty"` // of a directory, in the database
	Deleted  []string   `json:"deleted,omitempty"` // names of the host that it hides
}

// origin is the object on the host that supplies what the database does not hold, and its version.
type origin struct {
	Workspace string `json:"workspace"`
	Path      string `json:"path"`
	Limit     int64  `json:"limit"` // bytes of it that show through
	Device    uint64 `json:"device"`
	Ino       uint64 `json:"ino"`
	Size      int64  `json:"size"`
	Modified  string `json:"modified"`
	Changed   string `json:"changed"`
}

// stored is how much of a file's content is in the database.
type stored struct {
	Bytes  int64 `json:"bytes"`
	Chunks int64 `json:"chunks"`
}

// kinds are the words of `art diff --json`, by the letters of ls(1).
var kinds = map[byte]string{
	'-': "file", 'd': "directory", 'l': "symbolic link", 's': "socket", 'p': "named pipe",
	'b': "device", 'c': "device", '?': "unknown file type",
}

// object describes an entry of the directory dir.
func (it *item) object(dir string) *object {
	a := &it.attr
	o := &object{
		Path: path.Join("/", dir, it.name), Kind: kinds[modeText(a.Mode)[0]], Mode: fmt.Sprintf("%06o", a.Mode), Ino: it.number,
		Links: a.Nlink, UID: a.UID, GID: a.GID, Size: a.Size, Modified: moment(a.Mtime), Target: it.target,
	}
	o.PathBytes, o.TargetBytes = unclear(o.Path), unclear(o.Target)
	return o
}

// unclear returns the bytes of text that JSON cannot hold, and nil for what it can.
func unclear(text string) []byte {
	if utf8.ValidString(text) {
		return nil
	}
	return []byte(text)
}

func moment(t sqlvfs.Timespec) string { return t.Time().UTC().Format(time.RFC3339Nano) }

func newOrigin(o *sqlvfs.Origin) *origin {
	if o == nil {
		return nil
	}
	return &origin{
		Workspace: o.Base, Path: o.Path, Limit: o.Limit, Device: o.Dev, Ino: o.Fingerprint.Ino, Size: o.Size,
		Modified: moment(o.Mtime), Changed: moment(o.Ctime),
	}
}

// printJSON writes a value as one line.
func printJSON(w io.Writer, value any) error {
	text, err := quote.JSON(value)
	if err == nil {
		_, err = fmt.Fprintln(w, text)
	}
	return err
}
