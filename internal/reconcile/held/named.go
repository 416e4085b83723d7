package held

import (
	"path/filepath"
	"slices"
	"strings"
)

// Names are paths of a workspace that the host's own settings name: what git's configuration, a hook, or
// the file of a tool that sets up shells will run or read. Their content is as good as the setting.
type Names struct {
	workspace []string // its absolute path, also without symbolic links
	homes     []string
	resolve   func(string) (string, error) // of symbolic links

	at       map[string]named  // by path below the workspace, folded
	above    map[string]string // directories on the way to one: why
	anywhere []relative        // to any directory
	fits     []relative        // patterns, relative to the workspace
}

type named struct {
	why   string
	below bool // also what is below it
}

type relative struct {
	names []string
	named
}

// NewNames returns an empty set for a workspace and the homes of who works in it. resolve follows symbolic links on the host.
func NewNames(workspace string, homes []string, resolve func(string) (string, error)) *Names {
	n := &Names{workspace: []string{workspace}, homes: homes, resolve: resolve, at: map[string]named{}, above: map[string]string{}}
	if real, err := resolve(workspace); err == nil && real != workspace {
		n.workspace = append(n.workspace, real)
	}
	return n
}

// Why says why a path is held back: it is one of the names, or below one, or, as anything but a directory,
// would take the place of what leads to one.
func (n *Names) Why(rel string, isDir bool) string {
	if isDir {
		return "" // nothing by itself
	}
	rel = fold(rel)
	for end := len(rel); end > 0; end = strings.LastIndexByte(rel[:end], '/') {
		if name, ok := n.at[rel[:end]]; ok && (end == len(rel) || name.below) {
			return name.why
		}
	}
	if why, ok := n.above[rel]; ok {
		return why
	}
	if n.anywhere == nil && n.fits == nil {
		return ""
	}
	names := strings.Split(rel, "/")
	for _, g := range n.fits {
		if rest, ok := prefix(g.names, names); ok && len(rest) == 0 {
			return g.why
		}
	}
	for _, a := range n.anywhere {
		for start := range names {
			rest, ok := prefix(a.names, names[start:])
			if ok && (len(rest) == 0 || a.below) {
				return a.why
			}
		}
	}
	return ""
}

// Add notes a path of the host: absolute, or below the user's home with ~. What it leads to counts as it
// does itself.
func (n *Names) Add(path, why string, below bool) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		for _, home := range n.homes {
			n.Add(filepath.Join(home, rest), why, below)
		}
	}
	if !filepath.IsAbs(path) {
		return
	}
	list := []string{filepath.Clean(path)}
	if real, err := n.resolve(path); err == nil {
		list = append(list, real)
	}
	for _, p := range list {
		for _, top := range n.workspace {
			rel, err := filepath.Rel(top, p)
			if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, "../") {
				continue
			}
			rel = fold(rel)
			if known, ok := n.at[rel]; ok {
				why, below = known.why, below || known.below
			}
			n.at[rel] = named{why, below}
			for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(dir) {
				n.above[dir] = why
			}
		}
	}
}

// AddAnywhere notes a path that counts from whatever directory a program works in.
func (n *Names) AddAnywhere(rel, why string, below bool) {
	rel = fold(filepath.Clean(rel))
	if rel == "." || rel == ".." || strings.HasPrefix(rel, "../") || filepath.IsAbs(rel) {
		return
	}
	a := relative{strings.Split(rel, "/"), named{why, below}}
	if !slices.ContainsFunc(n.anywhere, func(b relative) bool { return a.named == b.named && slices.Equal(a.names, b.names) }) {
		n.anywhere = append(n.anywhere, a)
	}
}

// AddWords notes what the words of a command line name, seen from a directory; an empty one stands for any.
// A word with a slash names a file or a directory; others are looked for in PATH at the beginning of a
// command, and may name a file after it. With paths, the line is known to say where something is, and all
// of them count, as files and as directories.
func (n *Names) AddWords(line, dir, why string, paths bool) {
	expands := strings.Contains(line, "$")
	for i, w := range words(line) {
		slash := strings.Contains(w, "/")
		if slash || paths || i > 0 && !strings.HasPrefix(w, "-") {
			n.addWord(w, dir, why, slash || paths, expands)
		}
	}
}

// addWord notes one word.
func (n *Names) addWord(w, dir, why string, below, expands bool) {
	for _, at := range places(w, dir, expands) {
		if filepath.IsAbs(at) || strings.HasPrefix(at, "~/") {
			n.Add(at, why, below)
		} else {
			n.AddAnywhere(at, why, below)
		}
	}
}

// addGlob notes a pattern of file names: everything in the directory that it names, or, where it names none,
// what fits.
func (n *Names) addGlob(w, dir, why string, expands bool) {
	for _, at := range places(w, dir, expands) {
		list := strings.Split(at, "/")
		first := slices.IndexFunc(list, isGlob)
		before := strings.Join(list[:max(first, 0)], "/")
		switch {
		case first < 0:
		case before != "" && before != filepath.Clean(dir) && !slices.Contains(n.workspace, before):
			n.addWord(before, "", why, true, false)
		case filepath.IsAbs(at):
			for _, top := range n.workspace {
				rel, err := filepath.Rel(top, at)
				if err != nil || !filepath.IsLocal(rel) {
					continue
				}
				rel = fold(rel)
				n.fits = append(n.fits, relative{strings.Split(rel, "/"), named{why, false}})
				for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(dir) {
					n.above[dir] = why
				}
			}
		default:
			n.AddAnywhere(at, why, false)
		}
	}
}

// places returns where a word may lead, seen from a directory: absolute paths, ones below the home, and,
// where the directory is none that is known, relative ones. One that begins with a slash may come after what
// a variable, or a command, stands for.
func places(w, dir string, expands bool) (list []string) {
	if w == "." { // as a path it is all there is, and says nothing
		return nil
	}
	if strings.HasPrefix(w, "/") || strings.HasPrefix(w, "~/") {
		list = append(list, filepath.Clean(w))
		if !expands {
			return list
		}
		w = strings.TrimLeft(w, "/")
	}
	return append(list, filepath.Join(dir, w))
}

// words takes a line apart as a shell would, and in every other way in which it may be meant: as a whole, at
// every space and operator, with and without the quotes. A variable or a command at the beginning of a
// word is left out.
func words(line string) []string {
	const operators = "\t\r\n ;|&()<>\"'`=,[]{}"
	list := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(operators, r) })
	for i, w := range list {
		if strings.HasPrefix(w, "$") {
			_, w, _ = strings.Cut(w, "/")
			list[i] = "./" + w
		}
	}
	list = append(list, shellWords(line)...)
	if whole := strings.TrimSpace(line); strings.ContainsAny(whole, operators) && strings.Contains(whole, "/") {
		list = append(list, whole)
	}
	return slices.DeleteFunc(list, func(w string) bool {
		clean := filepath.Clean(w)
		return w == "" || clean == "." && w != "." /* a command */ || clean == ".." || clean == "/" || strings.Contains(w, "\x00")
	})
}

// shellWords are the words with a space or an operator in them: in quotes, or after a backslash.
func shellWords(line string) (list []string) {
	var word strings.Builder
	quote, quoted := rune(0), false
	end := func() {
		if w := word.String(); quoted && strings.Contains(w, "/") {
			list = append(list, w)
		}
		word.Reset()
		quoted = false
	}
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, quoted = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, quoted = r, true
		case quote == 0 && strings.ContainsRune("\t\n ;|&()<>", r):
			end()
		default:
			word.WriteRune(r)
		}
	}
	end()
	return list
}
