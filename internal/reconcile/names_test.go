package reconcile

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
)

// evil are names that tell a terminal what to do, or that look like a line of ours.
var evil = []string{
	"\x1b]0;owned\a\x1b[2J",
	"a\nDEL  everything",
	"b\rFILE harmless",
	"c\u009b2J", // the control character of eight bits that \x1b[ stands for
	"d\u202efdp.exe",
	"e\x7f\x08\x08",
	"f\xff\x9b2J",
}

// ours are the lines that push, pull and diff print.
var ours = regexp.MustCompile(`^(Workspace name: |Files will be stored under: |Exporting from: |FILE |DIR  |LINK |DEL  |CONFLICT |HELD |art-sync: |` +
	`[AMDTR] |[ +@\\-]|diff --git |index |old mode |new mode |new file |deleted file |similarity |rename |GIT binary patch|literal |\{|\d+ files? changed|$)`)

func wantHarmless(t *testing.T, what, text string, terminal bool) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if !terminal && (strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-")) {
			continue // content, which git apply wants as it is
		}
		bad := strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
		if terminal {
			bad = bad || !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) })
		}
		if bad || !ours.MatchString(line) {
			t.Errorf("%s prints %q", what, line)
		}
	}
}

// Whatever names and targets a database holds, nothing raw of them comes to a terminal, and no line
// that is not ours.
func TestNamesArePrintedHarmless(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		b := newBench(t)
		for _, name := range evil {
			for _, suffix := range []string{"-gone", "-both", "-moved", "-dir/x"} {
				b.write(name+suffix, "long enough to be found again elsewhere\n")
			}
		}
		b.push()
		b.guest(func(g *guest) {
			for _, name := range evil {
				g.remove(name + "-gone")
				g.write(name+"-both", "of the guest\n")
				g.write(name+"-new", "new\n")
				g.write(name+"-dir/.envrc", "held back\n")
				g.write(name+"-dir/x", "both changed\n")
				g.rename(name+"-moved", name+"-elsewhere")
				g.patch(name+"-elsewhere", "partly", 5)
				g.symlink("../../"+name, name+"-link")
				g.symlink(name, name+"-inside")
			}
		})
		var hostile strings.Builder
		for i, name := range evil {
			b.write(name+"-both", "of the host\n")
			b.write(name+"-dir/x", "of the host\n")
			b.write(name+"-moved", "replaced: it holds what the guest still needs\n")
			must(t, unix.Mkfifo(b.path(name+"-fifo"), 0o600))
			raw := func(suffix string) string { return "CAST(x'" + hex.EncodeToString([]byte(name+suffix)) + "' AS TEXT)" }
			hostile.WriteString(strings.Replace(entry(0, "NAME", 5000+i, unix.S_IFIFO|0o600), "'NAME'", raw("-device"), 1) +
				strings.Replace(entry(0, "NAME", 6000+i, asFile), "'NAME'", raw("/slash"), 1) +
				strings.Replace(entry(0, "NAME", 7000, asDir), "'NAME'", raw("-twice"), 1))
		}
		b.sql(hostile.String())
		onTerminal := func(o *Options) { o.StdoutTerminal, o.StderrTerminal = terminal, terminal }
		try := func(what string, do func(context.Context, Options) error, want string, change ...func(*Options)) {
			t.Helper()
			what = fmt.Sprintf("%s (terminal %v)", what, terminal)
			out, told, err := b.run(do, b.ws, append(change, onTerminal)...)
			var said strings.Builder
			if err != nil {
				cli.Fprint(&said, "art-sync", err)
			}
			wantHarmless(t, what, out, terminal)
			wantHarmless(t, what, told+said.String(), terminal)
			if !strings.Contains(out+told, want) {
				t.Errorf("%s: no %q in\n%s%s", what, want, out, told)
			}
		}
		diff := func(ctx context.Context, opt Options) error {
			_, err := Diff(ctx, opt)
			return err
		}
		for f, want := range map[Form]string{Names: "D ", Patch: "deleted file", Stat: "changed", JSON: "{"} {
			try(fmt.Sprint("diff ", f), diff, want, func(o *Options) { o.Form = f })
		}
		try("pull --dry-run", Pull, "CONFLICT", dryRun)
		try("push --dry-run", Push, "CONFLICT", dryRun)
		try("pull", Pull, "HELD")
		try("pull --force", Pull, "LINK", force, allow)
		try("push", Push, "named pipe")
		try("push --force", Push, "named pipe", force)
		must(t, os.Rename(b.ws, b.ws+"2"))
		b.ws += "2"
		try("pull elsewhere", Pull, "")
		if !terminal {
			continue
		}
		for _, name := range evil {
			must(t, os.Rename(b.ws, filepath.Join(filepath.Dir(b.ws), name)))
			b.ws = filepath.Join(filepath.Dir(b.ws), name)
			try("push of a workspace of that name", Push, "DIR")
			try("pull of a workspace of that name", Pull, "Exporting")
		}
	}
}
