package posix

import (
	"fmt"
	"strconv"
	"strings"
)

// story is something that happens to a few files. Both parts are system calls in the words of
// call_test.go, each preceded by who makes it in do; setup is root's.
type story struct {
	area  string
	setup string // calls, separated by "; "
	do    string // same
}

func (s *story) String() string {
	return fmt.Sprintf("[%s]\n    %s\n    -- then\n    %s", s.area, indent(s.setup), indent(s.do))
}

func indent(calls string) string { return strings.ReplaceAll(calls, "; ", "\n    ") }

// adder adds a story to an area.
type adder func(setup, do string)

// areas are the stories, by what they are about.
var areas = map[string]func(add adder){
	"acl":         aclStories,
	"allocate":    allocateStories,
	"attributes":  attributeStories,
	"create":      createStories,
	"links":       linkStories,
	"open":        openStories,
	"paths":       pathStories,
	"permissions": permissionStories,
	"rename":      renameStories,
	"setid":       setidStories,
	"size":        sizeStories,
	"sticky":      stickyStories,
	"times":       timeStories,
	"unlinked":    unlinkedStories,
	"xattr":       xattrStories,
}

// person is a caller: user and group of that id, and supplementary groups.
type person struct {
	id     int
	groups []int
}

// cast are the callers. A member shares a group with the owner, one of many does so among other
// groups.
var cast = map[string]person{
	"root":   {id: 0},
	"owner":  {id: 10001},
	"other":  {id: 10002},
	"member": {id: 10003, groups: []int{10001}},
	"many":   {id: 10004, groups: append(sequence(10100, 20), 10001)},
}

var people = []string{"root", "owner", "other", "member", "many"}

func sequence(from, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = from + i
	}
	return list
}

// call is one system call by one caller.
type call struct {
	Who  string
	Args []string // the first is its name
}

// calls takes a part of a story apart. who is the caller, if the text does not say.
func calls(text, who string) []call {
	var list []call
	for line := range strings.SplitSeq(text, "; ") {
		if line == "" {
			continue
		}
		c := call{Who: who, Args: words(line)}
		if who == "" {
			c.Who, c.Args = c.Args[0], c.Args[1:]
		}
		list = append(list, c)
	}
	return list
}

// words splits a call at its spaces. A word in Go's double quotes may hold any byte.
func words(line string) []string {
	var list []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " ") {
		word, rest := line, ""
		if line[0] == '"' {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				panic(fmt.Sprintf("%v: %s", err, line))
			}
			rest = line[len(quoted):]
			word, _ = strconv.Unquote(quoted)
		} else {
			word, rest, _ = strings.Cut(line, " ")
		}
		list = append(list, word)
		line = rest
	}
	return list
}

// join puts parts of a story together; empty ones do not count.
func join(parts ...string) string {
	var list []string
	for _, p := range parts {
		if p != "" {
			list = append(list, p)
		}
	}
	return strings.Join(list, "; ")
}
