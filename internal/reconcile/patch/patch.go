// Package patch writes changes of files in git's extended form of unified diffs, which git-apply(1)
// and patch(1) read (git-diff(1), "Generating patch text with -p").
package patch

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"golang.org/x/sys/unix"
)

// Modes of what git keeps (git-fast-import(1), "filemodify").
const (
	None       = 0 // nothing is there
	Regular    = 0o100644
	Executable = 0o100755
	Symlink    = 0o120000 // its content is its target
)

// File is a change of one file. A change of its type is two: the old one goes, the new one comes.
type File struct {
	OldName, NewName string // equal unless it was renamed
	OldMode, NewMode uint32
	Old, New         []byte
}

// Binary reports whether a change is not shown as text: git's own rule is a zero byte near the start. Nor is one of so
// many lines that to compare them takes gigabytes.
func (f *File) Binary() bool { return binary(f.Old) || binary(f.New) }

func binary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 || bytes.Count(data, []byte{'\n'}) > maxLines
}

// maxLines is how many lines a side of a file may have to be compared line by line, which takes some 450 bytes for each.
const maxLines = 500_000

// Similarity is how much of a file is the same on both sides, in percent: lines of text, or all or
// nothing.
func (f *File) Similarity() int {
	if bytes.Equal(f.Old, f.New) {
		return 100
	}
	if f.Binary() {
		return 0
	}
	have := map[string]int{}
	for line := range bytes.Lines(f.Old) {
		have[string(line)] += len(line)
	}
	same := 0
	for line := range bytes.Lines(f.New) {
		if have[string(line)] >= len(line) {
			have[string(line)] -= len(line)
			same += len(line)
		}
	}
	return min(99, same*100/max(len(f.Old), len(f.New), 1))
}

// String is the change as a patch.
func (f *File) String() string {
	var b strings.Builder
	oldName, newName := "a/"+f.OldName, "b/"+f.NewName
	fmt.Fprintf(&b, "diff --git %s %s\n", Quote(oldName), Quote(newName))
	switch {
	case f.OldMode == None:
		fmt.Fprintf(&b, "new file mode %06o\n", f.NewMode)
	case f.NewMode == None:
		fmt.Fprintf(&b, "deleted file mode %06o\n", f.OldMode)
	case f.OldMode != f.NewMode:
		fmt.Fprintf(&b, "old mode %06o\nnew mode %06o\n", f.OldMode, f.NewMode)
	}
	if f.OldName != f.NewName {
		fmt.Fprintf(&b, "similarity index %d%%\nrename from %s\nrename to %s\n", f.Similarity(), Quote(f.OldName), Quote(f.NewName))
	}
	if bytes.Equal(f.Old, f.New) && f.OldMode != None && f.NewMode != None {
		return b.String()
	}
	fmt.Fprintf(&b, "index %s..%s", blob(f.OldMode, f.Old), blob(f.NewMode, f.New))
	if f.OldMode == f.NewMode {
		fmt.Fprintf(&b, " %06o", f.OldMode)
	}
	b.WriteByte('\n')
	switch {
	case len(f.Old) == 0 && len(f.New) == 0:
	case f.Binary():
		b.WriteString("GIT binary patch\n")
		literal(&b, f.New)
		literal(&b, f.Old)
	default:
		b.WriteString(f.unified(oldName, newName))
	}
	return b.String()
}

func (f *File) unified(oldName, newName string) string {
	label := func(name string, mode uint32) string {
		if mode == None {
			return "/dev/null"
		}
		if name = Quote(name); strings.Contains(name, " ") {
			name += "\t" // patch(1) would take what follows a space for a time
		}
		return name
	}
	before, after := string(f.Old), string(f.New)
	text, err := udiff.ToUnified(label(oldName, f.OldMode), label(newName, f.NewMode), before, compared(before, after), context)
	if err != nil {
		panic(err) // edits that were just made of this text fit it
	}
	return text
}

// Count returns how many lines a change adds and takes away. It knows no lines of a binary file.
func (f *File) Count() (added, removed int) {
	if f.Binary() {
		return 0, 0
	}
	for i, line := range strings.Split(f.unified("", ""), "\n") {
		switch {
		case i < 2: // the names
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	return added, removed
}

// blob is the name of content in git's store; of nothing, it is zeros.
func blob(mode uint32, data []byte) string {
	if mode == None {
		return strings.Repeat("0", 2*sha1.Size)
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Quote writes a name as git does: what holds a quote, a backslash, or a byte that is not printable
// ASCII goes into quotes.
func Quote(name string) string {
	plain := func(c byte) bool { return c >= ' ' && c < 0x7f && c != '"' && c != '\\' }
	if !strings.ContainsFunc(name, func(r rune) bool { return r > 0x7e || !plain(byte(r)) }) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteString("\\" + string(c))
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case plain(c):
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// ModeOf is what git makes of a mode.
func ModeOf(mode uint32) uint32 {
	switch {
	case mode&unix.S_IFMT == unix.S_IFLNK:
		return Symlink
	case mode&0o100 != 0:
		return Executable
	}
	return Regular
}

// Split makes two changes of one that is of a file's type, as git has it.
func (f *File) Split() []*File {
	if f.OldMode == None || f.NewMode == None || (f.OldMode == Symlink) == (f.NewMode == Symlink) {
		return []*File{f}
	}
	return []*File{
		{OldName: f.OldName, NewName: f.OldName, OldMode: f.OldMode, Old: f.Old},
		{OldName: f.NewName, NewName: f.NewName, NewMode: f.NewMode, New: f.New},
	}
}
