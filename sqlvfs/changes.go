package sqlvfs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// Changes are what a process has gathered in a store beside the writer (Options.Beside).
type Changes struct {
	Occasion   Occasion // what they are for
	Contents   []Content
	Made       []MadeInode
	Entries    []EntryChange
	Inodes     []InodeChange
	Whiteouts  []NameChange
	Xattrs     []XattrChange
	Baselines  []BaselineChange
	Workspaces []Workspace
	Pulled     []Pulled
	Released   []Released // by what is gathered itself
	SetJournal bool
	Journal    [][]byte
	FirstIno   Ino // the first number that no inode had
	Places     []Place
	Releases   []Release
}

// InodeChange is what an inode is to be, and how it was.
type InodeChange struct {
	Ino       Ino
	Was, Is   Attr
	SetOrigin bool
	WasOrigin []Origin // none, or one
	IsOrigin  []Origin // same
}

// NameChange is a whiteout that is to be, or to be gone.
type NameChange struct {
	Dir  Ino
	Name string
	Gone bool
}

// XattrChange is an extended attribute, and, with Had, how it was.
type XattrChange struct {
	Ino        Ino
	Name       string
	Had        bool
	Was, Value []byte
	Gone       bool
}

// BaselineChange is a baseline that is to be, or, with Gone, not to be; with OnlyIfNone, as of [Tx.AddBaseline].
type BaselineChange struct {
	Tree       Tree
	Path       string
	Baseline   Baseline
	OnlyIfNone bool
	Gone       bool
}

// Pulled is a path of a workspace at which a pull has brought to the host what the tree has, and what is known of that, or nothing.
type Pulled struct {
	Tree Tree
	Path string
	Left []Baseline
}

// ErrNotBeside says that a change is of a kind that is not made beside the writer.
var ErrNotBeside = errors.New("this cannot be changed while a session runs")

// changesOf puts into words what a batch holds.
func (tx *Tx) changesOf(b *batch) (*Changes, error) {
	first := tx.session.firstIno
	c := &Changes{Occasion: tx.occasion, Workspaces: slices.Collect(maps.Values(b.workspaces)), FirstIno: first, Places: b.places, Releases: b.releases,
		Released: slices.Collect(maps.Values(b.released))}
	if err := tx.contentsOf(b, c); err != nil {
		return nil, err
	}
	if b.journal != nil {
		c.SetJournal, c.Journal = true, *b.journal
	}
	was := map[Ino]*Inode{}
	stored := func(ino Ino) (*Inode, error) {
		if was[ino] == nil {
			in := &Inode{Ino: ino, loaded: &nothing}
			if err := tx.load(in); err != nil {
				return nil, err
			}
			was[ino] = in
		}
		return was[ino], nil
	}
	for _, row := range b.rows {
		switch {
		case row.dead || row.attr.Nlink == 0:
			continue // entries say so
		case row.in.Ino >= first && row.origin != nil && !row.attr.IsDir():
			return nil, ErrNotBeside // what a killed pull has left is put together again only between sessions
		case row.in.Ino >= first:
			c.Made = append(c.Made, MadeInode{row.in.Ino, row.attr, row.target, orNone(row.origin)})
			continue
		}
		old, err := stored(row.in.Ino)
		if err != nil {
			return nil, err
		}
		i := InodeChange{Ino: row.in.Ino, Was: old.Attr, Is: row.attr, SetOrigin: row.dirty&dirtyOrigin != 0}
		if i.SetOrigin {
			i.WasOrigin, i.IsOrigin = orNone(old.Origin), orNone(row.origin)
		}
		c.Inodes = append(c.Inodes, i)
	}
	for k, e := range b.dentries {
		change := EntryChange{Dir: k.dir.Ino, Name: k.name, Is: e.value}
		if e.gone {
			change.Is = 0
		}
		if k.dir.Ino < first {
			dir, err := stored(k.dir.Ino)
			if err != nil {
				return nil, err
			}
			was, ok, _, err := tx.Child(dir, k.name)
			if err == nil && ok {
				var old *Inode
				if old, err = stored(was.Ino); err == nil {
					change.Was, change.WasCtime = was.Ino, old.Attr.Ctime
				}
			}
			if err != nil {
				return nil, err
			}
		}
		if change.Was != change.Is {
			c.Entries = append(c.Entries, change)
		}
	}
	slices.SortFunc(c.Made, func(a, b MadeInode) int { return cmp.Compare(a.Ino, b.Ino) })
	for k, e := range b.whiteouts {
		if k.dir.dead || k.dir.Attr.Nlink == 0 {
			continue
		}
		c.Whiteouts = append(c.Whiteouts, NameChange{k.dir.Ino, k.name, e.gone})
	}
	for k, e := range b.xattrs {
		switch {
		case k.in.dead || k.in.Attr.Nlink == 0 || k.in.Ino >= first && e.gone:
			continue
		case k.in.Ino >= first:
			c.Xattrs = append(c.Xattrs, XattrChange{Ino: k.in.Ino, Name: k.name, Value: e.value})
			continue
		}
		old, err := stored(k.in.Ino)
		if err != nil {
			return nil, err
		}
		value, had, err := tx.Xattr(old, k.name)
		if err != nil {
			return nil, err
		}
		c.Xattrs = append(c.Xattrs, XattrChange{k.in.Ino, k.name, had, value, e.value, e.gone})
	}
	for k, left := range b.pulled {
		p := Pulled{Tree: k.tree, Path: k.path}
		if left != nil {
			p.Left = []Baseline{*left}
		}
		c.Pulled = append(c.Pulled, p)
	}
	for k, e := range b.baselines {
		change := BaselineChange{Tree: k.tree, Path: k.path, OnlyIfNone: e.onlyIfNone, Gone: e.Baseline == nil}
		if !change.Gone {
			change.Baseline = *e.Baseline
		}
		c.Baselines = append(c.Baselines, change)
	}
	return c, nil
}

// OnlyContents tells whether there is nothing but content of files that come later.
func (c *Changes) OnlyContents() bool {
	return len(c.Made)+len(c.Entries)+len(c.Inodes)+len(c.Whiteouts)+len(c.Xattrs)+len(c.Baselines)+len(c.Workspaces)+len(c.Pulled)+len(c.Released)+len(c.Places)+len(c.Releases) == 0 && !c.SetJournal && len(c.Contents) > 0
}

// contentsOf is changesOf for content. Only new files have any.
func (tx *Tx) contentsOf(b *batch, c *Changes) error {
	if b.holds != nil {
		return ErrNotBeside
	}
	for in := range b.cuts {
		if in.Ino < c.FirstIno && !in.dead {
			return ErrNotBeside
		}
	}
	for k, chunk := range b.chunks {
		switch {
		case k.in.dead || k.in.Ino >= c.FirstIno && k.in.Attr.Nlink == 0 || chunk.patch == nil && len(chunk.data) == 0:
		case k.in.Ino < c.FirstIno || chunk.patch != nil:
			return ErrNotBeside
		default:
			c.Contents = append(c.Contents, Content{k.in.Ino, k.index * tx.chunkSize, chunk.data})
		}
	}
	return nil
}

func orNone(o *Origin) []Origin {
	if o == nil {
		return nil
	}
	return []Origin{*o}
}

// errChanges says that changes make no sense.
var errChanges = errors.New("changes of the database that cannot be")

// Check returns an error of changes that no store has gathered.
func (c *Changes) Check() error {
	for _, list := range []struct {
		what string
		ok   bool
	}{
		{"occasion", slices.Contains([]Occasion{"", BeforePush, BeforePull, BeforeReset}, c.Occasion)},
		{"entry", c.validTree()},
		{"inode", all(c.Inodes, (*InodeChange).valid)},
		{"whiteout", all(c.Whiteouts, func(n *NameChange) bool { return n.Dir.valid() && ValidName(n.Name) })},
		{"extended attribute", all(c.Xattrs, (*XattrChange).valid)},
		{"baseline", all(c.Baselines, (*BaselineChange).valid)},
		{"path", all(c.Pulled, func(r *Pulled) bool {
			return ValidName(r.Tree.Name) && r.Tree.Birth.Valid() && database.ValidPath(r.Path) && len(r.Left) <= 1 && all(r.Left, (*Baseline).valid)
		})},
		{"released name", all(c.Released, (*Released).valid)},
		{"workspace", all(c.Workspaces, func(w *Workspace) bool { return ValidName(w.Name) && validHostPath(w.Path) && w.Birth.Valid() })},
		{"place", all(c.Places, func(p *Place) bool {
			return ValidName(p.Tree.Name) && p.Tree.Birth.Valid() && p.Was.valid() && p.Is.valid()
		})},
		{"release", all(c.Releases, (*Release).valid)},
		{"number", c.FirstIno >= 0 && c.FirstIno <= MaxIno},
	} {
		if !list.ok {
			return fmt.Errorf("%w: %s", errChanges, list.what)
		}
	}
	return nil
}

func all[T any](list []T, ok func(*T) bool) bool {
	for i := range list {
		if !ok(&list[i]) {
			return false
		}
	}
	return true
}

func (i *InodeChange) valid() bool {
	if !i.Ino.valid() || len(i.WasOrigin) > 1 || len(i.IsOrigin) > 1 {
		return false
	}
	a, b := &i.Was, &i.Is
	same := (a.Mode^b.Mode)&^0o7777 == 0 && a.Rdev == b.Rdev && a.Mode>>16 == 0
	valid := b.Size >= 0 && b.Atime.Valid() && b.Mtime.Valid() && b.Ctime.Valid()
	return same && valid && all(i.WasOrigin, (*Origin).valid) && all(i.IsOrigin, (*Origin).valid)
}

func (o *Origin) valid() bool {
	return ValidName(o.Base) && database.ValidPath(o.Path) && o.Limit >= 0 && o.Size >= 0 && o.Until >= 0 &&
		(o.Hash == "" || len(o.Hash) == 32) && o.Mode>>16 == 0 && validVersion(&o.Fingerprint)
}

func validVersion(f *Fingerprint) bool { return f.Mtime.Valid() && f.Ctime.Valid() }

func (x *XattrChange) valid() bool {
	return x.Ino.valid() && x.Name != "" && len(x.Name) <= XattrNameMax && len(x.Value) <= XattrSizeMax && len(x.Was) <= XattrSizeMax
}

func (b *BaselineChange) valid() bool {
	return ValidName(b.Tree.Name) && b.Tree.Birth.Valid() && database.ValidPath(b.Path) && (b.Gone || b.Baseline.valid())
}

func (is *Baseline) valid() bool {
	return is.Mode>>16 == 0 && is.Size >= 0 && validVersion(&is.Fingerprint) && (len(is.Hash) == 0 || len(is.Hash) == 32) &&
		(is.Row == 0 || is.Row.valid()) && is.RowCtime.Valid()
}
