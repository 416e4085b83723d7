package history

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
	"github.com/riverlytech/art/sqlvfs"
)

// hostLinked is what a comparison knows of the files of the host that have several names, and one row for all (see sqlvfs/hostlinks.go).
type hostLinked struct {
	rows  map[*sqlvfs.Moment]map[sqlvfs.HostFile]sqlvfs.HostRow // by moment; looked for where a name of such a file is come across
	names map[sqlvfs.HostFile]hostNames                         // those in the workspace; nil: not looked for
	lead  map[string]map[string]bool                            // by directory of the host's, the names that lead to those that may differ
}

// hostNames are the names of a file of the host.
type hostNames struct {
	paths  []string // in the workspace
	beyond int64    // how many there are elsewhere
}

// linkedRow returns the row that a name of the host's leads to without an entry, or nil.
func (d *comparer) linkedRow(m *sqlvfs.Moment, at string, st *unix.Stat_t) (*object, error) {
	if st.Nlink < 2 || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return nil, nil
	}
	rows, err := d.hostRows(m)
	r, ok := rows[d.hostFile(st)]
	if !ok || err != nil {
		return nil, err
	}
	o, err := d.object(m, r.Ino)
	if o != nil {
		if o.linked = true; o.host != "" {
			o.host = at // where it came from, the host may have it no more
		}
	}
	return o, err
}

// hostRows are [sqlvfs.Moment.HostRows], looked for once.
func (d *comparer) hostRows(m *sqlvfs.Moment) (map[sqlvfs.HostFile]sqlvfs.HostRow, error) {
	if rows, ok := d.linked.rows[m]; ok {
		return rows, nil
	}
	rows, err := m.HostRows()
	if err != nil {
		return nil, err
	}
	if d.linked.rows == nil {
		d.linked.rows = map[*sqlvfs.Moment]map[sqlvfs.HostFile]sqlvfs.HostRow{}
	}
	d.linked.rows[m] = rows
	return rows, nil
}

func (d *comparer) hostFile(st *unix.Stat_t) sqlvfs.HostFile {
	f := hostfs.Fingerprint(st)
	return sqlvfs.HostFileOf(d.name, &f)
}

// leadToLinked has the comparison of two moments come by the names that the host alone shows of files which may differ.
func (d *comparer) leadToLinked(from, to *sqlvfs.Moment) error {
	d.linked.lead = map[string]map[string]bool{}
	if d.host == nil {
		return nil
	}
	for _, m := range []*sqlvfs.Moment{from, to} {
		files, err := m.LinkedFiles(d.may)
		if err != nil {
			return err
		}
		for _, f := range files {
			if f.Base != d.name {
				continue
			}
			if err := d.findLinked(); err != nil {
				return err
			}
			for _, at := range d.linked.names[f].paths {
				d.leadTo(at)
			}
		}
	}
	if len(d.linked.lead) == 0 {
		return nil
	}
	for _, m := range []*sqlvfs.Moment{from, to} {
		if err := m.Lead(d.may, d.name, d.linked.lead); err != nil {
			return err
		}
	}
	return nil
}

// leadTo adds what leads to a path of the workspace.
func (d *comparer) leadTo(at string) {
	for at != "." {
		dir := path.Dir(at)
		if d.linked.lead[dir] == nil {
			d.linked.lead[dir] = map[string]bool{}
		}
		d.linked.lead[dir][path.Base(at)] = true
		at = dir
	}
}

// findLinked looks through the workspace once for files that have several names.
func (d *comparer) findLinked() error {
	if d.linked.names != nil {
		return nil
	}
	d.linked.names = map[sqlvfs.HostFile]hostNames{}
	dirs := []string{"."}
	for len(dirs) > 0 {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		at := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		f, err := hostfs.Open(d.host, at, unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			continue // as far as a guest could see
		}
		list, _ := hostfs.Names(f)
		for _, name := range list {
			st, err := hostfs.StatAt(f, name)
			switch {
			case err != nil: // it is gone, or does not show
			case st.Mode&unix.S_IFMT == unix.S_IFDIR:
				dirs = append(dirs, path.Join(at, name))
			case st.Nlink > 1:
				is := d.hostFile(&st)
				n := d.linked.names[is].paths
				n = append(n, path.Join(at, name))
				d.linked.names[is] = hostNames{n, int64(st.Nlink) - int64(len(n))}
			}
		}
		f.Close()
	}
	return nil
}

// leads tells whether what a name in a directory leads to may differ.
func (d *comparer) leads(o *object, name string) bool {
	return o.isDir() && (o.row != nil && d.may.Names[o.row.Ino][name] || d.linked.lead[o.host][name])
}

// linkedNames are a path below the home, and those in a directory there, at which the later moment shows a row by a name of the host's, and
// the earlier one that row or the host's file. What the path leads to itself is was, and is.
func (d *comparer) linkedNames(at string, was, is *object) (list []sqlvfs.LinkedName, err error) {
	add := func(at string, was, is *object) {
		if was != nil && is != nil && is.linked && (was.linked || was.row == nil) && err == nil {
			err = d.findLinked()
			n := d.linked.names[sqlvfs.HostFileOf(d.name, &is.row.Origin.Fingerprint)]
			list = append(list, sqlvfs.LinkedName{Path: at, Ino: int64(is.row.Ino), Beyond: n.beyond})
		}
	}
	if add(at, was, is); err != nil || !was.isDir() || !is.isDir() || is.host == "" || d.host == nil {
		return list, err
	}
	rows, err := d.hostRows(d.to)
	for f, r := range rows {
		if err == nil && f.Base == d.name && r.Links > r.Names {
			err = d.findLinked()
		} else {
			continue
		}
		for _, name := range d.linked.names[f].paths {
			rest, below := strings.CutPrefix(name, is.host+"/")
			if is.host == "." {
				rest, below = name, true
			}
			if !below || err != nil {
				continue
			}
			var old, now *object
			if old, err = d.follow(d.from, path.Join(at, rest)); err == nil {
				now, err = d.follow(d.to, path.Join(at, rest))
			}
			add(path.Join(at, rest), old, now)
		}
	}
	return list, err
}
