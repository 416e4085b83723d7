package place

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, says := range map[string]string{
		"s3://bucket/a/b": "",
		"s3://bucket/a?endpoint=http://127.0.0.1:7070&region=eu-west-1": "",
		"file:///mnt/backup/a b":       "",
		"file:///mnt/backup/a%20b":     "",
		"file://localhost/mnt/backup":  "",
		"/mnt/backup":                  "a place is a bucket (s3://)",
		"":                             "a place is a bucket (s3://)",
		"ftp://host/a":                 "a place is a bucket (s3://)",
		"sftp://user@host/a":           "",
		"sftp://host:2222/~/a b":       "",
		"sftp://[fe80::1%25eth0]/a":    "",
		"sftp://user:secret@host/a":    "a password does not belong in it",
		"sftp:///a":                    "has to name a host",
		"sftp://-oProxyCommand=x/a":    "has to name a host",
		"sftp://-oProxyCommand@host/a": "has to name a host",
		"sftp://%20@host/a":            "has to name a host",
		"sftp://@host/a":               "has to name a host",
		"sftp://host":                  "a directory",
		"sftp://host/":                 "a directory",
		"sftp://host/~":                "a directory below ~",
		"sftp://host/~/a/..":           "a directory below ~",
		"sftp://host/a?b=c":            "more than a path",
		"file://host/a":                "absolute path",
		"file:relative":                "absolute path",
		"file:///":                     "absolute path",
		"file:///a/..":                 "absolute path",
		"file:///a?b=c":                "more than a path",
		"s3://bucket":                  "a path in it",
		"s3://bucket/":                 "a path in it",
		"s3:///a":                      "a bucket",
		"s3://key:secret@bucket/a":     "keys do not belong in it",
		"s3://bucket/a?endpont=http:x": `no parameter "endpont"`,
		"s3://bucket/a#b":              "more than a path",
		"file:///a%00b":                "a control character",
		"s3://bucket/a?endpoint=file:///etc/passwd":   "https://HOST",
		"s3://bucket/a?endpoint=host:7070":            "https://HOST",
		"s3://bucket/a?endpoint=http://u:secret@host": "keys do not belong in it",
		"s3://bucket/%zz":                             "invalid URL escape",
		"file:///a\x00":                               "invalid control character",
	} {
		_, err := Parse(text)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("it tells a secret: %v", err)
		}
	}
}

// Places are below a whole bucket, too.
func TestParseAbove(t *testing.T) {
	for text, want := range map[string]string{"s3://bucket": "s3://bucket/a", "s3://bucket/?region=x": "s3://bucket/a?region=x", "file:///": ""} {
		_, err := ParseAbove(text)
		below, berr := Below(text, "a")
		if below != want || (err != nil) != (want == "") || (berr != nil) != (want == "") {
			t.Errorf("%q: %v; below it is %q, %v", text, err, below, berr)
		}
	}
}

// A directory of a server is named from its root, or from where a login begins.
func TestRemote(t *testing.T) {
	for text, want := range map[string]string{"sftp://h/a/b": "/a/b", "sftp://h/~/a/b": "a/b", "sftp://h/~a/b": "/~a/b", "sftp://h/~/../a": "/a"} {
		u, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Remote(u); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestBelow(t *testing.T) {
	for text, want := range map[string]string{
		"s3://b/a/?region=x":  "s3://b/a/ws-1?region=x",
		"sftp://u@h:22/~":     "sftp://u@h:22/~/ws-1",
		"file:///mnt/back up": "file:///mnt/back%20up/ws-1",
		"http://x/":           "",
	} {
		if got, err := Below(text, "ws-1"); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
