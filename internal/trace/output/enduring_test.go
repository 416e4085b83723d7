package output

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"
)

// disk is full for some writes.
type disk struct {
	bytes.Buffer
	full bool
}

func (d *disk) Write(b []byte) (int, error) {
	if d.full {
		n, _ := d.Buffer.Write(b[:len(b)/2])
		return n, unix.ENOSPC
	}
	return d.Buffer.Write(b)
}

func TestEnduring(t *testing.T) {
	d, told := &disk{}, 0
	e := NewEnduring(d, func(error) { told++ })
	for _, full := range []bool{false, true, false, false} {
		d.full = full
		if n, err := e.Write([]byte("a line\n")); n != 7 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if got := d.String(); got != "a line\na l\na line\na line\n" || told != 1 {
		t.Errorf("%q, told %d times", got, told)
	}
}
