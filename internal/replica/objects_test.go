package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// answering is a store that answers everything alike.
func answering(t *testing.T, status int, code string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>its own words</Message></Error>", code)
	}))
	t.Cleanup(s.Close)
	return "s3://bucket/path?endpoint=" + s.URL
}

// Credentials are those of the test's, and no machine's are asked for.
func credentials(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	t.Setenv("AWS_CA_BUNDLE", "")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
}

// What a store answers is said in plain words, and what stays so ends the attempts.
func TestAnswers(t *testing.T) {
	credentials(t)
	for _, c := range []struct {
		status     int
		code, says string
		refused    bool
	}{
		{403, "AccessDenied", "the store says: it does not let these credentials do that (AccessDenied)", true},
		{403, "SignatureDoesNotMatch", "the store says: the secret key is not that of the access key (SignatureDoesNotMatch)", true},
		{403, "InvalidAccessKeyId", "the store says: it does not know the access key (InvalidAccessKeyId)", true},
		{400, "ExpiredToken", "the store says: the credentials have expired (ExpiredToken)", true},
		{404, "NoSuchBucket", "the store says: there is no such bucket (NoSuchBucket)", true},
		{404, "Unheard", "the store says: its own words (Unheard)", true},
		{429, "TooManyRequests", "the store says: its own words (TooManyRequests)", false},
		{503, "SlowDown", "the store says: its own words (SlowDown)", false},
	} {
		place, err := open(t.Context(), answering(t, c.status, c.code))
		must(t, err)
		_, _, err = readHead(t.Context(), place.own)
		if err == nil || err.Error() != c.says || errors.As(err, new(*refused)) != c.refused {
			t.Errorf("%d %s: %v", c.status, c.code, err)
		}
	}
	place, err := open(t.Context(), answering(t, 404, "NoSuchKey"))
	must(t, err)
	if _, _, err := place.own.get(t.Context(), headName); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
	place, err = open(t.Context(), answering(t, 412, "PreconditionFailed"))
	must(t, err)
	if _, err := place.own.swap(t.Context(), headName, nil, ""); !errors.Is(err, fs.ErrExist) {
		t.Errorf("what is there: %v", err)
	}
}

// A store that cannot be reached is one that is away.
func TestAway(t *testing.T) {
	credentials(t)
	place, err := open(t.Context(), "s3://bucket/path?endpoint=http://127.0.0.1:1")
	must(t, err)
	_, _, err = readHead(t.Context(), place.own)
	if err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "http") || errors.As(err, new(*refused)) {
		t.Errorf("nobody listens: %v", err)
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	place, err = open(t.Context(), "s3://bucket/path?endpoint="+silent.URL)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err = readHead(ctx, place.own); err == nil || err.Error() != "it does not answer" || errors.As(err, new(*refused)) {
		t.Errorf("it is silent: %v", err)
	}
}

// Without credentials, that is what is said.
func TestNoCredentials(t *testing.T) {
	credentials(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	place, err := open(t.Context(), answering(t, 503, "x"))
	must(t, err)
	if _, _, err = readHead(t.Context(), place.own); err == nil || err.Error() != "there are no credentials for it" || !errors.As(err, new(*refused)) {
		t.Error(err)
	}
}

// A place with nothing is asked once what it has, and one with something for each level.
func TestLastAsksLittle(t *testing.T) {
	credentials(t)
	var asked atomic.Int32
	contents := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		text := contents
		if prefix := r.URL.Query().Get("prefix"); prefix != "path/" && !strings.HasPrefix(prefix, "path/0000") {
			text = ""
		}
		fmt.Fprintf(w, "<ListBucketResult>%s</ListBucketResult>", text)
	}))
	t.Cleanup(s.Close)
	place, err := open(t.Context(), "s3://bucket/path?endpoint="+s.URL)
	must(t, err)
	last, err := place.last(t.Context(), "")
	if err != nil || last != 0 || asked.Load() != 1 {
		t.Errorf("%v %v, asked %d times", last, err, asked.Load())
	}
	const name = "path/0000/0000000000000001-0000000000000007.ltx"
	contents = "<CommonPrefixes><Prefix>path/0000/</Prefix></CommonPrefixes><Contents><Key>" + name + "</Key><Size>9</Size></Contents>"
	if last, err := place.last(t.Context(), ""); err != nil || last != 7 {
		t.Errorf("%v %v", last, err)
	}
}

// A directory that is not there has nothing either.
func TestLastOfNoDirectory(t *testing.T) {
	place, err := open(t.Context(), "file://"+t.TempDir()+"/none")
	must(t, err)
	if last, err := place.last(t.Context(), "generation-A"); err != nil || last != 0 {
		t.Error(last, err)
	}
}
