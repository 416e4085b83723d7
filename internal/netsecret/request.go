package netsecret

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/riverlytech/art/internal/control"
	"github.com/riverlytech/art/internal/placeholder"
)

// ServeHTTP answers a request of the guest's: with the host's answer, or with why there is none.
func (e *Ender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := connOf(r.Context())
	if c == nil {
		http.Error(w, "art: the network: it is no connection of the guest's", http.StatusInternalServerError)
		return
	}
	select {
	case e.requests <- struct{}{}:
		defer func() { <-e.requests }()
	default:
		// The guest may take its time to read why: nothing is kept meanwhile.
		r.RequestURI, r.URL = "", &url.URL{}
		clear(r.Header)
		e.refuse(w, c, http.StatusServiceUnavailable, fmt.Sprintf("there are %d requests with secrets already", cap(e.requests)))
		return
	}
	for _, host := range []string{r.Host, r.URL.Host} {
		if host != "" && !c.is(host) {
			e.refuse(w, c, http.StatusMisdirectedRequest, fmt.Sprintf("a request is for %q", host))
			return
		}
	}
	if r.Method == http.MethodConnect {
		e.refuse(w, c, http.StatusMethodNotAllowed, "a request is one for a proxy")
		return
	}
	header, own, why := e.fill(c, r)
	if why != "" {
		e.refuse(w, c, http.StatusForbidden, why)
		return
	}
	x := &exchange{pairs: append(own, e.pairs...), header: header, secret: header != nil}
	sw := &writer{ResponseWriter: w, pairs: x.pairs}
	e.proxy.ServeHTTP(sw, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
	scrubHeader(sw.Header(), x.pairs) // trailers
}

// refuse answers instead of the host.
func (e *Ender) refuse(w http.ResponseWriter, c *conn, code int, why string) {
	e.deny(c.name, c.port, why)
	http.Error(w, fmt.Sprintf("art: the network: this connection is to %s, and %s", c.name, why), code)
}

// exchange is a request with its answer.
type exchange struct {
	pairs  []pair
	header map[string][]string // with secrets, what is sent in the place of the guest's
	secret bool
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// fill returns the headers of a request that have secrets in the place of the guest's texts, if any do. Others than the secrets' own
// stay as they are. Where one does not go with such a request, that is why. own are texts that the secrets are part of, as they are sent.
func (e *Ender) fill(c *conn, r *http.Request) (header map[string][]string, own []pair, why string) {
	for i := range e.secrets {
		s := &e.secrets[i]
		hosts := slices.DeleteFunc(slices.Clone(s.Hosts), func(h control.NetSecretHost) bool { return h.Name != c.name || h.Port != int(c.port) })
		if len(hosts) == 0 {
			continue
		}
		name := http.CanonicalHeaderKey(s.Header)
		values, ok := header[name]
		if !ok {
			values = slices.Clone(r.Header[name])
		}
		found := false
		for j, value := range values {
			filled, p := fillValue(value, s)
			if filled == value {
				continue
			}
			found, values[j], own = true, filled, append(own, p...)
		}
		if !found {
			continue
		}
		if !slices.ContainsFunc(hosts, func(h control.NetSecretHost) bool { return goesWith(&h, r) }) {
			return nil, nil, fmt.Sprintf("%s does not go there with %s %.100s", s.Name, r.Method, r.URL.EscapedPath())
		}
		if header == nil {
			header = map[string][]string{}
		}
		header[name] = values
	}
	return header, own, ""
}

// publicOf returns how much of a secret, at its beginning, the guest has too.
func publicOf(s *control.NetSecret) int {
	n := placeholder.Prefix(s.Value)
	if !strings.HasPrefix(s.Placeholder, s.Value[:n]) {
		return 0
	}
	return n
}

// fillValue returns the value of a header with a secret in the place of the guest's text. That may be part of a user and a password
// (RFC 7617), which are encoded together: then it returns a pair for these too.
func fillValue(value string, s *control.NetSecret) (string, []pair) {
	if scheme, encoded, ok := strings.Cut(value, " "); ok && strings.EqualFold(scheme, "basic") {
		encoded = strings.TrimSpace(encoded)
		if text, err := base64.StdEncoding.DecodeString(encoded); err == nil && strings.Contains(string(text), s.Placeholder) {
			filled := base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(string(text), s.Placeholder, s.Value)))
			public := (strings.Index(string(text), s.Placeholder) + publicOf(s)) * 8 / 6 // whole characters
			return scheme + " " + filled, []pair{newBasicPair(filled, encoded, public)}
		}
	}
	return strings.ReplaceAll(value, s.Placeholder, s.Value), nil
}

// goesWith says whether a secret goes to a host with a request. A path that servers understand differently is none of its own.
func goesWith(h *control.NetSecretHost, r *http.Request) bool {
	if len(h.Methods) > 0 && !slices.Contains(h.Methods, r.Method) {
		return false
	}
	if len(h.Paths) == 0 {
		return true
	}
	p := r.URL.Path
	escaped := strings.ToLower(r.URL.EscapedPath())
	if clean := path.Clean(p); clean != p && clean+"/" != p || strings.Contains(p, "\\") || strings.Contains(p, ";") || strings.Contains(p, "%") ||
		strings.Contains(escaped, "%2f") || strings.Contains(escaped, "%2e") || !isPlain(p) {
		return false
	}
	return slices.ContainsFunc(h.Paths, func(prefix string) bool { return within(p, prefix) })
}

// isPlain says whether a path is of printable ASCII, without a part of dots and blanks alone.
func isPlain(p string) bool {
	if strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r > '~' }) {
		return false
	}
	for part := range strings.SplitSeq(p, "/") {
		if part != "" && strings.Trim(part, ". ") == "" {
			return false
		}
	}
	return true
}

// within says whether a path is one or lies below it; below one that ends in a slash is all that begins so.
func within(p, prefix string) bool {
	rest, ok := strings.CutPrefix(p, prefix)
	return ok && (rest == "" || strings.HasSuffix(prefix, "/") || rest[0] == '/')
}

// others are headers by which some servers take a request for one of another method or path; to some, an underscore is a hyphen.
var others = []string{"x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url"}

func isOther(name string, _ []string) bool {
	return slices.Contains(others, strings.ReplaceAll(strings.ToLower(name), "_", "-"))
}

// rewrite makes the request to the host of the guest's.
func (e *Ender) rewrite(p *httputil.ProxyRequest) {
	c, x := connOf(p.In.Context()), exchangeOf(p.In.Context())
	out := p.Out
	out.URL.Scheme, out.URL.Host, out.Host = "https", fmt.Sprintf("%s:%d", c.name, c.port), p.In.Host
	// As the guest has sent them.
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := p.In.Header[name]; ok {
			out.Header[name] = values
		}
	}
	out.URL.RawQuery = p.In.URL.RawQuery
	for name, values := range x.header {
		out.Header[name] = values
	}
	if x.secret {
		// Of an answer in parts each could hold part of a secret.
		out.Header.Del("Range")
		out.Header.Del("If-Range")
		maps.DeleteFunc(out.Header, isOther)
	}
	// What is packed nobody could look into; the transport asks for what it unpacks itself.
	out.Header.Del("Accept-Encoding")
	out.Header.Del("Sec-Websocket-Extensions")
	if upgrade := out.Header.Get("Upgrade"); upgrade != "" && !strings.EqualFold(upgrade, "websocket") {
		out.Header.Del("Upgrade")
		out.Header.Del("Connection")
	}
}
