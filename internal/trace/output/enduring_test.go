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

// Where nothing of a line was written, none is cut off.
func TestEnduringNothing(t *testing.T) {
	var out bytes.Buffer
	var err error = unix.EMFILE
	e := NewEnduring(writer(func(b []byte) (int, error) {
		if err != nil {
			return 0, err
		}
		return out.Write(b)
	}), func(error) {})
	for range 2 {
		if _, err := e.Write([]byte("a line\n")); err != nil {
			t.Error(err)
		}
		err = nil
	}
	if out.String() != "a line\n" {
		t.Errorf("%q", out.String())
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
