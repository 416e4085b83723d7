package pick

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/riverlytech/art/internal/reconcile/patch"
)

const before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n"

var after = strings.NewReplacer("1\n2\n", "1\ntwo\n", "\n5\n", "\nfive\n", "\n13\n", "\n", "20\n", "20\n21\n").Replace(before)

func ask(t *testing.T, answers string, changes ...Change) (taken []bool, texts []string, out string) {
	t.Helper()
	var b strings.Builder
	a := &Asker{In: strings.NewReader(answers), Out: &b, Show: func(s string) { b.WriteString(s) }}
	a.Edit = func(text string) (string, error) {
		if strings.Contains(text, "+21") {
			return "", errors.New("vi: no such file")
		}
		return strings.Replace(text, "+two", "+TWO", 1), nil
	}
	for _, c := range changes {
		ok, picked, err := a.Ask(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		taken, texts = append(taken, ok), append(texts, patch.Apply(before, picked))
	}
	return taken, texts, b.String()
}

func with(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(before) }

func TestAnswers(t *testing.T) {
	file := Change{Head: "file\n", Hunks: patch.Hunks(before, after)}
	two, five, twelve, end := []string{"1\n2\n", "1\ntwo\n"}, []string{"\n5\n", "\nfive\n"}, []string{"\n13\n", "\n"}, []string{"20\n", "20\n21\n"}
	for _, c := range []struct {
		answers string
		want    string
		taken   bool
	}{
		{"y\ny\ny\n", after, true},
		{"n\nn\nn\n", before, false},
		{"", before, false},
		{"q\n", before, false},
		{"a\n", after, true},
		{"d\n", before, false},
		{"n\ny\nn\n", with(twelve...), true},
		{"y\nq\n", with(slices.Concat(two, five)...), true},
		{"n\na\n", with(slices.Concat(twelve, end)...), true},
		{"n\nn\ny\n", with(end...), true},
		{"s\ny\nn\nn\nn\n", with(two...), true},
		{"s\nn\ny\nd\n", with(five...), true},
		{"j\ny\nn\nd\n", with(twelve...), true}, // leaves the first one, and comes back to it
		{"J\nJ\nK\ny\nd\n", with(twelve...), true},
		{"y\nK\nn\nd\n", before, false}, // an answer may be changed
		{"j\nk\ny\nd\n", with(slices.Concat(two, five)...), true},
		{"g3\ny\nd\n", with(end...), true},
		{"g 9\ng\n/21\ny\nd\n", with(end...), true},
		{"/nothing\n/(\nx\n?\n\np\ny\nd\n", with(slices.Concat(two, five)...), true},
		{"e\nd\n", strings.Replace(with(slices.Concat(two, five)...), "two", "TWO", 1), true},
		{"n\nn\ne\ny\n", with(end...), true}, // the editor fails, the question comes again
		{"Y\nN\nn\n", with(slices.Concat(two, five)...), true},
	} {
		taken, texts, out := ask(t, c.answers, file)
		if taken[0] != c.taken || texts[0] != c.want {
			t.Errorf("%q: %v %q, want %q\n%s", c.answers, taken[0], texts[0], c.want, out)
		}
	}
}

func TestPrompts(t *testing.T) {
	file := Change{Head: "head\n", Hunks: patch.Hunks(before, after)}
	_, _, out := ask(t, "y\ns\nq\n", file)
	for _, want := range []string{
		"head\n@@ -1,8 +1,8 @@\n 1\n-2\n",
		"(1/3) Pull this hunk [y,n,q,a,d,j,J,g,/,s,e,p,?]? @@ -10,7 +10,6 @@",
		"(2/3) Pull this hunk [y,n,q,a,d,K,j,J,g,/,e,p,?]? ",
		"\"s\" is no answer here\ny - pull this\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestWholeChanges(t *testing.T) {
	gone, link := Change{Head: "gone\n", What: "deletion"}, Change{Head: "link\n", What: "this link"}
	for _, c := range []struct {
		answers string
		want    []bool
	}{
		{"y\nn\ny\n", []bool{true, false, true}},
		{"n\na\nd\n", []bool{false, true, false}},
		{"y\nq\n", []bool{true, false, false}},
		{"s\ny\n", []bool{true, false, false}},
	} {
		taken, _, out := ask(t, c.answers, gone, link, gone)
		if !slices.Equal(taken, c.want) || !strings.Contains(out, "gone\n(1/1) Pull deletion [y,n,q,a,d,?]? ") {
			t.Errorf("%q: %v\n%s", c.answers, taken, out)
		}
	}
	if _, _, out := ask(t, "q\n", gone, link); strings.Contains(out, "link") {
		t.Errorf("asked on after q:\n%s", out)
	}
}

func TestAnInterruptionEndsTheWaiting(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &Asker{In: r, Out: io.Discard, Show: func(string) {}}
	if _, _, err := a.Ask(ctx, Change{What: "deletion"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
