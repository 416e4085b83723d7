// Package place reads the URLs of places that copies of databases are kept at. It knows nothing of how they are reached, so that
// art itself can refuse one.
package place

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/riverlytech/art/internal/cli"
)

// Kinds of places.
const (
	File = "file" // a directory of this host
	S3   = "s3"   // what begins with a path in a bucket of a store that speaks S3
	SFTP = "sftp" // a directory of a server that speaks SFTP
)

const example = "it is as s3://BUCKET/PATH, file:///DIRECTORY or sftp://USER@HOST/DIRECTORY"

// parameters are what the URL of a bucket may have behind a question mark.
var parameters = map[string]bool{"endpoint": true, "region": true}

// IsURL tells whether a database is named by the URL of a copy, and not by a path.
func IsURL(database string) bool { return strings.Contains(database, "://") }

// Here makes sure that a database is named by a path, for who does more than to read it.
func Here(database string) error {
	if !IsURL(database) {
		return nil
	}
	return cli.WithHint(fmt.Errorf("open database %s: a copy at another place is only looked into", database), "art restore brings it back as a database here; art run goes on from it")
}

// Parse reads the URL of a place.
func Parse(text string) (*url.URL, error) {
	u, err := ParseAbove(text)
	switch {
	case err == nil && u.Scheme == S3 && strings.Trim(u.Path, "/") == "":
		return nil, refuse(text, "it has to name a bucket, and a path in it")
	case err == nil && u.Scheme == SFTP && Remote(u) == ".":
		return nil, refuse(text, "it has to name a directory below ~")
	}
	return u, err
}

// ParseAbove reads the URL of what places are below: it may be a whole bucket.
func ParseAbove(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		var reason *url.Error
		if errors.As(err, &reason) {
			err = reason.Err // without the URL
		}
		return nil, cli.WithHint(fmt.Errorf("%q is not the URL of a place for copies: %w", text, err), example)
	}
	problem := ""
	switch {
	case u.Scheme == S3 && u.User != nil:
		return nil, refuse(secretless(u), noKeys)
	case u.Scheme == SFTP && hasPassword(u):
		return nil, refuse(secretless(u), "a password does not belong in it: ssh has to be let in without")
	case strings.ContainsFunc(u.Path, unicode.IsControl):
		problem = "its path has a control character"
	case u.Scheme == File && (u.Host != "" && u.Host != "localhost" || !path.IsAbs(u.Path) || path.Clean(u.Path) == "/"):
		problem = "it has to name a directory by its absolute path"
	case u.Scheme == S3 && u.Host == "":
		problem = "it has to name a bucket, and a path in it"
	case u.Scheme == SFTP && (!isName(u.Hostname()) || u.User != nil && !isName(u.User.Username())):
		problem = "it has to name a host, and may name a user before that and an @"
	case u.Scheme == SFTP && (u.Path == "" || path.Clean(u.Path) == "/"):
		problem = "it has to name a directory"
	case u.Scheme != File && u.Scheme != S3 && u.Scheme != SFTP:
		problem = "a place is a bucket (s3://), or a directory of this host (file://) or of a server (sftp://)"
	case u.Fragment != "" || u.Scheme != S3 && u.RawQuery != "":
		problem = "it has more than a path"
	}
	if problem == "" {
		for name := range u.Query() {
			if !parameters[name] {
				problem = fmt.Sprintf("there is no parameter %q: there are endpoint and region", name)
			}
		}
	}
	if endpoint := u.Query().Get("endpoint"); problem == "" && endpoint != "" {
		e, err := url.Parse(endpoint)
		if err == nil && e.User != nil {
			return nil, refuse(secretless(u), noKeys)
		}
		if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" {
			problem = "its endpoint has to be as https://HOST or http://HOST:PORT"
		}
	}
	if problem != "" {
		return nil, refuse(text, problem)
	}
	u.Path, u.RawPath = path.Clean("/"+u.Path), ""
	return u, nil
}

const noKeys = "keys do not belong in it: they come from the environment, from ~/.aws, or from the machine"

func hasPassword(u *url.URL) bool {
	_, has := u.User.Password()
	return has
}

// isName tells whether a host or a user is one that ssh takes for that, and not for an option of its own.
func isName(text string) bool {
	return text != "" && text[0] != '-' && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-:+%", r)
	})
}

// Remote is the path of a place on its server. What begins with /~/ is below the directory that a login begins in.
func Remote(u *url.URL) string {
	if rest, home := strings.CutPrefix(u.Path+"/", "/~/"); home {
		return path.Clean(rest)
	}
	return u.Path
}

// secretless is a URL without what may be secret in it.
func secretless(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }

func refuse(text, problem string) error {
	return cli.WithHint(fmt.Errorf("%q is not the URL of a place for copies: %s", text, problem), example)
}

// Below returns the place of the name name below another one.
func Below(text, name string) (string, error) {
	u, err := ParseAbove(text)
	if err != nil {
		return "", err
	}
	u.Path = path.Join(u.Path, name)
	return u.String(), nil
}
