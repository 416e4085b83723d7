package netsecret

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// errPacked is that nobody can look into an answer.
var errPacked = errors.New("the answer is packed")

// scrub has an answer come with the guest's texts in the place of secrets.
func (e *Ender) scrub(r *http.Response) error {
	x := exchangeOf(r.Request.Context())
	r.Status = "" // what stands there is not passed on
	scrubHeader(r.Header, x.pairs)
	scrubHeader(r.Trailer, x.pairs) // the names that are announced
	for _, encoding := range r.Header.Values("Content-Encoding") {
		if !strings.EqualFold(encoding, "identity") && r.Body != http.NoBody && r.Request.Method != http.MethodHead {
			return fmt.Errorf("%w (%.20q), which was not asked for", errPacked, encoding)
		}
	}
	s := &scrubber{from: r.Body, pairs: x.pairs}
	if both, ok := r.Body.(io.ReadWriteCloser); ok { // after an upgrade
		r.Body = upgraded{s, both}
	} else if r.Body != http.NoBody {
		r.Body = scrubbed{s, r.Body}
	}
	return nil
}

type scrubbed struct {
	io.Reader
	io.Closer
}

type upgraded struct {
	from io.Reader
	to   io.ReadWriteCloser
}

func (u upgraded) Read(p []byte) (int, error)  { return u.from.Read(p) }
func (u upgraded) Write(p []byte) (int, error) { return u.to.Write(p) }
func (u upgraded) Close() error                { return u.to.Close() }

// writer writes an answer to the guest, what comes before the answer itself (1xx) too.
type writer struct {
	http.ResponseWriter
	pairs []pair
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(code int) {
	scrubHeader(w.Header(), w.pairs)
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// failed answers a request that the host does not.
func (e *Ender) failed(w http.ResponseWriter, r *http.Request, err error) {
	c := connOf(r.Context())
	var verify *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.Canceled):
		return // nobody waits for it any more
	case errors.As(err, &verify):
		e.refuse(w, c, http.StatusBadGateway, fmt.Sprintf("its certificate is not believed: %.300v", verify.Err))
	case errors.Is(err, errPacked):
		e.refuse(w, c, http.StatusBadGateway, err.Error())
	default:
		http.Error(w, fmt.Sprintf("art: the network: %s: %.300s", c.name, text(err.Error(), e.pairs)), http.StatusBadGateway)
	}
}
