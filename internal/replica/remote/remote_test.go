package remote

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/sqlvfs"
)

// says has a program in the place of art-replicate say something at once, and something more when it is asked for a page.
func says(t *testing.T, first, then []byte) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"first": first, "then": then, "art-replicate": fmt.Appendf(nil, "#!/bin/sh\ncd %q\ncat first\ntest -s first || exit\nhead -c 4 >/dev/null\ncat then\n", dir),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("ART_LIBEXEC_DIR", dir)
}

func frame(t *testing.T, s control.PagesState) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := control.WriteFrame(&b, &s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What art-replicate does not say, or says wrongly, is an error, and stays one.
func TestOpen(t *testing.T) {
	const size = 512
	good := control.PagesState{PageSize: size, Pages: 2}
	page := bytes.Repeat([]byte{7}, size)
	for what, c := range map[string]struct {
		first, then   []byte
		opens, shorts string // what the errors say; "" is none
	}{
		"all is well":         {first: frame(t, good), then: append(frame(t, good), page...)},
		"it has ended":        {opens: "art-replicate has ended"},
		"it ends":             {first: frame(t, good), shorts: "art-replicate has ended"},
		"half a page":         {first: frame(t, good), then: append(frame(t, good), page[:100]...), shorts: "art-replicate has ended"},
		"it says why":         {first: frame(t, control.PagesState{Why: "no such luck", Hint: "try"}), opens: "no such luck"},
		"it says why later":   {first: frame(t, good), then: frame(t, control.PagesState{Why: "no such luck"}), shorts: "no such luck"},
		"no pages":            {first: frame(t, control.PagesState{PageSize: size}), opens: "makes no sense"},
		"pages of no length":  {first: frame(t, control.PagesState{Pages: 1}), opens: "makes no sense"},
		"of a strange length": {first: frame(t, control.PagesState{PageSize: 1000, Pages: 1}), opens: "makes no sense"},
		"of another length":   {first: frame(t, good), then: frame(t, control.PagesState{PageSize: 1024, Pages: 2}), shorts: "makes no sense"},
		"nonsense":            {first: []byte("nonsense"), opens: "art-replicate has ended"},
	} {
		says(t, c.first, c.then)
		contains := func(err error, text string) bool {
			return text == "" && err == nil || text != "" && err != nil && strings.Contains(err.Error(), "read the copy at file:///copy: ") && strings.Contains(err.Error(), text)
		}
		copied, err := open("file:///copy")
		if !contains(err, c.opens) {
			t.Errorf("%s: open: %v", what, err)
		}
		if err != nil {
			continue
		}
		got := make([]byte, 100)
		_, err = copied.ReadAt(got, size-100)
		if err = copied.explain(err); !contains(err, c.shorts) || err == nil && !bytes.Equal(got, page[:100]) {
			t.Errorf("%s: read: %v", what, err)
		}
		if err != nil {
			if _, err := copied.ReadAt(got, 0); err == nil {
				t.Errorf("%s: it is read again", what)
			}
		} else if _, err := copied.ReadAt(got, 2*size); err != io.EOF {
			t.Errorf("%s: behind the end: %v", what, err)
		}
		copied.Close()
		if sqlvfs.IsRemote("file:///copy") {
			t.Errorf("%s: it is still known", what)
		}
	}
	if end, err := Open("art", "a.db"); err != nil {
		t.Errorf("a path: %v", err)
	} else {
		end(&err)
	}
	if _, err := Open("art", "ftp://x/y"); err == nil || !strings.Contains(err.Error(), "is not the URL of a place for copies") {
		t.Errorf("another URL: %v", err)
	}
}
