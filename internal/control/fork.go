package control

import (
	"encoding/hex"
	"errors"
	"strings"
)

// ForkRequest is a request to know of a fork that is to be made at a path, of a checkpoint by number or label, or of the present if that is "".
func ForkRequest(secret []byte, at, path string) Request {
	return Request{Verb: Fork, What: strings.Join([]string{hex.EncodeToString(secret), at, path}, "\x00")}
}

// ForgetRequest is a request to know of a fork no more.
func ForgetRequest(secret []byte) Request {
	return Request{Verb: Forget, What: hex.EncodeToString(secret)}
}

// AsFork takes a ForkRequest or a ForgetRequest apart.
func (r *Request) AsFork() (secret []byte, at, path string, err error) {
	text, rest, more := strings.Cut(r.What, "\x00")
	secret, err = hex.DecodeString(text)
	if err == nil && more != (r.Verb == Fork) {
		err = errors.New("a request about a fork that makes no sense")
	}
	at, path, _ = strings.Cut(rest, "\x00")
	return secret, at, path, err
}
