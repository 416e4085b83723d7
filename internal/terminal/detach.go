package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
)

// Keys are keys that are pressed one after the other. Of each there are the ways in which terminals send it.
type Keys struct {
	ways [][][]byte
	held []byte // what has come of them
}

// DefaultKeys detach a session.
const DefaultKeys = `ctrl-\,d`

// ParseKeys reads keys between commas: characters, and such with ctrl- before them. The empty text is none.
func ParseKeys(text string) (*Keys, error) {
	k := &Keys{}
	if text == "" {
		return k, nil
	}
	for name := range strings.SplitSeq(text, ",") {
		ways, err := waysOf(name)
		if err != nil {
			return nil, cli.WithHint(fmt.Errorf("read the keys \"%s\": %w", cli.Printable(text), err), `they are as in "`+DefaultKeys+`"`)
		}
		k.ways = append(k.ways, ways)
	}
	return k, nil
}

// waysOf returns how terminals send a key: as a byte, by the kitty keyboard protocol, or by modifyOtherKeys (ctlseqs(7)).
func waysOf(name string) ([][]byte, error) {
	char, ctrl := strings.CutPrefix(name, "ctrl-")
	if len(char) != 1 || char[0] <= ' ' || char[0] >= 0x7f {
		return nil, errors.New("each is a letter, a digit or a sign")
	}
	c := char[0]
	if !ctrl {
		return [][]byte{{c}, fmt.Appendf(nil, "\x1b[%du", c)}, nil
	}
	low := bytes.ToLower([]byte{c})[0]
	if c = bytes.ToUpper([]byte{c})[0]; c < '@' || c > '_' {
		return nil, errors.New("ctrl- goes with a letter, or one of @[\\]^_")
	}
	return [][]byte{{c & 0x1f}, fmt.Appendf(nil, "\x1b[%d;5u", low), fmt.Appendf(nil, "\x1b[27;5;%d~", low)}, nil
}

// Look returns of what is typed what is not of the keys, and whether all of them were pressed; what comes behind them is
// dropped. Of what may become them, all from the first key on is held until it is known; Rest returns it.
func (k *Keys) Look(typed []byte) (pass []byte, pressed bool) {
	if len(k.ways) == 0 {
		return typed, false
	}
	typed = append(k.held, typed...)
	k.held = nil
	for i := range typed {
		switch match := k.match(typed[i:]); {
		case match == all:
			return typed[:i], true
		case match == begun:
			k.held = bytes.Clone(typed[i:])
			return typed[:i], false
		}
	}
	return typed, false
}

// Rest returns what is held, if the next key is not going to come.
func (k *Keys) Rest() []byte {
	rest := k.held
	k.held = nil
	return rest
}

// Any tells whether there are keys at all.
func (k *Keys) Any() bool { return len(k.ways) > 0 }

// keyPause is how long the next key may take; then those before it are typed as they are.
const keyPause = time.Second

// Carry gives to what is typed on a terminal, until the keys are pressed, or the terminal is gone: one in raw mode has no
// other end.
func (k *Keys) Carry(from *Terminal, to func([]byte)) (pressed bool) {
	give := func(typed []byte) {
		if len(typed) > 0 {
			to(typed)
		}
	}
	buf := make([]byte, bufferSize)
	for {
		if len(k.held) > 0 {
			in := []unix.PollFd{{Fd: int32(from.fd), Events: unix.POLLIN}}
			if n, err := unix.Poll(in, int(keyPause/time.Millisecond)); n == 0 && err == nil {
				give(k.Rest())
			}
		}
		n, err := from.Read(buf)
		if err != nil || n == 0 {
			return false
		}
		pass, pressed := k.Look(buf[:n])
		give(pass)
		if pressed {
			return true
		}
	}
}

type match int

const (
	none match = iota
	begun
	all
)

// match tells how much of the keys text begins with. Nothing has begun before the first key is complete: an escape character
// must not be held.
func (k *Keys) match(text []byte) match {
	for i, ways := range k.ways {
		n := 0
		for _, way := range ways {
			if bytes.HasPrefix(text, way) {
				n = len(way)
			} else if i > 0 && bytes.HasPrefix(way, text) {
				return begun // also where nothing is left
			}
		}
		if n == 0 {
			return none
		}
		text = text[n:]
	}
	return all
}
