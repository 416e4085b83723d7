// Package wire writes lists of strings for another process of the same build to
// read. Paths and arguments are bytes on Linux, any but NUL, so JSON would not
// keep them; and it costs nothing at the start of a process.
package wire

import (
	"bytes"
	"errors"
	"strconv"
)

// Marshal returns the lists as bytes. No string may hold a NUL.
func Marshal(lists ...[]string) []byte {
	var b bytes.Buffer
	for _, list := range lists {
		b.WriteString(strconv.Itoa(len(list)))
		b.WriteByte(0)
		for _, s := range list {
			b.WriteString(s)
			b.WriteByte(0)
		}
	}
	return b.Bytes()
}

var errMalformed = errors.New("malformed message")

// Unmarshal fills the lists with what Marshal wrote; it is an error if there are
// fewer or more of them.
func Unmarshal(data []byte, lists ...*[]string) error {
	next := func() (string, error) {
		s, rest, found := bytes.Cut(data, []byte{0})
		if !found {
			return "", errMalformed
		}
		data = rest
		return string(s), nil
	}
	for _, list := range lists {
		text, err := next()
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > len(data) {
			return errMalformed
		}
		*list = make([]string, n)
		for i := range *list {
			if (*list)[i], err = next(); err != nil {
				return err
			}
		}
	}
	if len(data) > 0 {
		return errMalformed
	}
	return nil
}
