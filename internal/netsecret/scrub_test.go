package netsecret

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

var somePairs = []pair{
	newPair("sk-ant-secretsecret", "sk-ant-placeholderp", 7),
	newPair("aabaabaac", "xxyxxyxxz", 0),
	newPair("sk-ant-secret", "sk-ant-xxxxxx", 7),
}

// pieces is a stream that comes in pieces.
type pieces [][]byte

func (p *pieces) Read(b []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	if (*p)[0] = (*p)[0][n:]; len((*p)[0]) == 0 {
		*p = (*p)[1:]
	}
	return n, nil
}

// However a stream comes in pieces, what is passed on is what it would be in one, and never a secret.
func TestScrubPieces(t *testing.T) {
	word := rapid.SampledFrom([]string{"sk-ant-secretsecret", "aabaabaac", "sk-ant-secret", "sk-ant-", "sk-ant-secr", "aab", "a", "s", "\n", "data: text"})
	rapid.Check(t, func(t *rapid.T) {
		whole := strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "words"), "")
		var p pieces
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			p, rest = append(p, []byte(rest[:n])), rest[n:]
		}
		got, err := io.ReadAll(&scrubber{from: &p, pairs: somePairs})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(whole) {
			t.Fatalf("%q became %q", whole, got)
		}
		for i := range somePairs {
			if bytes.Contains(got, somePairs[i].secret) {
				t.Fatalf("%q became %q", whole, got)
			}
		}
		for i := range got {
			if got[i] != whole[i] && strings.IndexByte("placeholdrxyz", got[i]) < 0 {
				t.Fatalf("%q became %q", whole, got)
			}
		}
	})
}

// What cannot be a secret is passed on before anything follows; so is what secret and placeholder begin with alike.
func TestScrubAtOnce(t *testing.T) {
	for _, c := range []struct{ text, at string }{
		{"data: hello\n\n", "data: hello\n\n"},
		{"it ends in sk-ant-", "it ends in sk-ant-"},
		{"it ends in sk-ant-sec", "it ends in "},
		{"yes", "yes"},
	} {
		r, w := io.Pipe()
		s := &scrubber{from: r, pairs: somePairs[:1]}
		go func() {
			if _, err := io.WriteString(w, c.text); err != nil {
				t.Error(err)
			}
		}()
		got := make([]byte, 100)
		n, err := io.ReadFull(s, got[:len(c.at)])
		if err != nil || string(got[:n]) != c.at {
			t.Errorf("%q: %q, %v", c.text, got[:n], err)
		}
		go w.CloseWithError(errors.New("broken"))
		rest, err := io.ReadAll(s)
		if string(got[:n])+string(rest) != c.text || err == nil || err.Error() != "broken" {
			t.Errorf("%q: %q then %q, %v", c.text, got[:n], rest, err)
		}
	}
}

// What is passed on when tells nothing of a secret's letters: of a right guess and of wrong ones as much is passed on after each piece.
func TestScrubTellsNothing(t *testing.T) {
	passed := func(p pair, guess string) (sizes []int) {
		s := &scrubber{pairs: []pair{p}}
		for _, c := range []byte("data: " + guess) {
			s.forget()
			s.buf = append(s.buf, c)
			s.replace()
			sizes = append(sizes, s.ready-s.said)
			s.said = s.ready
		}
		return sizes
	}
	for _, c := range []struct {
		pair  pair
		wrong string
	}{
		{somePairs[0], "sk-ant-zecretsecret"}, {somePairs[0], "sk-ant-secretsecreX"}, {somePairs[0], "sk-ant-placeholderp"},
		{somePairs[1], "xabaabaac"}, {somePairs[1], "aabaaba7c"}, {newBasicPair("dXNlcjpzZWNy+A==", "dXNlcjpvdGhlcg==", 7), "dXNlcjp/ZWNyb/=="},
		{newPair("sk-abcdefgh_ijk", "sk-abXdefgh_XjX", 3), "sk-abXdefgh_Xjk"},
	} {
		for n := range len(c.pair.secret) {
			right, wrong := passed(c.pair, string(c.pair.secret[:n])), passed(c.pair, c.wrong[:n])
			if !slices.Equal(right, wrong) {
				t.Errorf("%q: %v, %q: %v", c.pair.secret[:n], right, c.wrong[:n], wrong)
			}
		}
	}
}

func TestScrubBytes(t *testing.T) {
	whole := strings.Repeat("x", 40_000) + "aabaabaac" + strings.Repeat("y", 40_000) + "sk-ant-secretsecret"
	want := text(whole, somePairs)
	for name, from := range map[string]io.Reader{
		"one by one": iotest.OneByteReader(strings.NewReader(whole)), "with the end": iotest.DataErrReader(strings.NewReader(whole)),
		"halves": iotest.HalfReader(strings.NewReader(whole)),
	} {
		got, err := io.ReadAll(iotest.OneByteReader(&scrubber{from: from, pairs: somePairs}))
		if err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

func TestScrubHeader(t *testing.T) {
	h := http.Header{"X-Echo": {"Bearer aabaabaac", "other"}, "X-Aabaabaac-Y": {"1"}, "Date": {"today"}}
	scrubHeader(h, somePairs)
	if h.Get("X-Echo") != "Bearer xxyxxyxxz" || h["X-Echo"][1] != "other" || len(h) != 2 {
		t.Errorf("it is %v", h)
	}
}
