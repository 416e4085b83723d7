package sandbox

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// Whatever art-net tells, art's memory has room for it.
func TestReportIsBounded(t *testing.T) {
	for text, want := range map[string]string{"abc": "abc", "abcd": "abcd", "abcde": "", "abcdefghijk": ""} {
		b := &bounded{most: 4}
		n, err := io.Copy(struct{ io.Writer }{b}, iotest.OneByteReader(strings.NewReader(text)))
		if int(n) != len(text) || err != nil || b.String() != want {
			t.Errorf("of %q %q is kept, %d, %v", text, b.String(), n, err)
		}
	}
}
