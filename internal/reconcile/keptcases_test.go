package reconcile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/riverlytech/art/sqlvfs/fsck"
)

// Stories that TestCheckpointsKeepWhatPullsReplace has told, made short. A line is what a side does, a checkpoint, one gone back to, or a
// pull: after each pull both sides have the same, and checkpoints show what they have shown.
var keptCases = map[string]string{
	"a name made after a pull": `
		guest write b one
		checkpoint
		pull
		guest link b d
		checkpoint
		pull
		guest append d two
		checkpoint
		back 1
		pull`,
	"the host renames one of two": `
		host write a one
		host rename a b
		host link b d
		guest write b two
		guest write a three
		guest rename a d
		pull`,
	"the host links, the guest appends and replaces": `
		host write b one
		host write d two
		host link b c
		guest append b three
		guest rename d c
		pull`,
	"written by one of two names that a pull brought": `
		host write b one
		guest link b c
		checkpoint
		pull
		guest write b two
		checkpoint
		pull`,
	"back to before two names were removed": `
		host write b one
		host link b d
		checkpoint
		guest write d two
		guest remove d
		checkpoint
		pull
		back 1
		pull`,
	"moved over, while another is written": `
		host write d one
		host write b two
		host link b c
		checkpoint
		guest rename c d
		guest write a three
		guest rename a b
		checkpoint
		pull`,
	"a name goes with a change of the other's mode": `
		host write a one
		host write d two
		guest mkdir b
		checkpoint
		pull
		guest remove a
		guest write a three
		guest remove b
		guest link a b
		checkpoint
		pull
		guest remove a
		guest chmod b
		checkpoint
		pull
		guest write a four
		guest write b five
		checkpoint
		guest write b six
		checkpoint
		pull`,
	"back to what was removed since": `
		host write a one
		guest write a two
		checkpoint
		guest remove a
		checkpoint
		pull
		back 1
		pull`,
	"one name was replaced, the other appended to": `
		host write d one
		host link d b
		host write c two
		host write b three
		guest write a x
		guest rename c d
		checkpoint
		pull
		guest write b four
		checkpoint
		guest append b five
		guest remove d
		checkpoint
		pull`,
	"exchanged by another name than it was written by": `
		host write a one
		host link a b
		host mkdir c
		guest chmod a
		checkpoint
		guest append b two
		guest exchange c b
		checkpoint
		pull`,
	"back before a rename that was pulled": `
		host write d one
		checkpoint
		guest rename d b
		pull
		back 1
		pull`,
}

func TestCheckpointsAfterPulls(t *testing.T) {
	for name, script := range keptCases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			k := &kept{newStory(false), bench{t, filepath.Join(dir, "ws"), filepath.Join(dir, "ws.db")}, t.Fatalf, map[int64]map[string]string{}}
			must(t, os.Mkdir(k.ws, 0o755))
			k.write("stays", "")
			for line := range strings.Lines(strings.TrimSpace(script)) {
				fmt.Fprint(&k.log, line)
				k.step(strings.Fields(line))
			}
			if found, err := fsck.Check(k.db); err != nil || len(found) > 0 {
				t.Fatalf("the database is damaged: %v %v", found, err)
			}
		})
	}
}

// step does what a line says. Checkpoints are numbered from 1 as they are made.
func (k *kept) step(line []string) {
	switch line[0] {
	case "host":
		do(hostEditor{k.bench}, line[1:])
	case "guest":
		k.guest(func(g *guest) { do(guestEditor{g}, line[1:]) })
	case "checkpoint":
		k.guest(func(g *guest) { k.checkpoint(g) })
	case "back":
		k.goBack(slices.Sorted(maps.Keys(k.shown))[line[1][0]-'1'])
	case "thin":
		k.thin(1)
	case "pull":
		k.pullAll()
	default:
		k.t.Fatalf("no such step: %q", line)
	}
}

// do has a side do one thing.
func do(side editor, line []string) {
	switch line[0] {
	case "write":
		side.write(line[1], line[2])
	case "append":
		side.append(line[1], line[2])
	case "link":
		side.link(line[1], line[2])
	case "rename":
		side.rename(line[1], line[2])
	case "exchange":
		side.exchange(line[1], line[2])
	case "mkdir":
		side.mkdir(line[1])
	case "chmod":
		side.chmod(line[1], 0o755)
	case "remove":
		side.remove(line[1])
	default:
		panic("no such edit: " + line[0])
	}
}
