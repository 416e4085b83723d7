package modelserver

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// A task is what a prompt asks for. The prompt is the script of the conversation, so that the server keeps no state, and serves
// any number of agents at once:
//
//	replace hello by goodbye in greeting.txt, then run [ls -l], then explain in 200 words
//
// The word to replace is a whole line of the file: some programs edit by lines.
type task struct {
	old, new, file string
	command        string
	words          int
}

var taskPattern = regexp.MustCompile(`replace ([\w.-]+) by ([\w.-]+) in ([\w./-]+), then run \[([^\]\n]+)\], then explain in (\d{1,4}) words`)

// Prompt returns the words of a user that ask for such a task.
func Prompt(old, new, file, command string, words int) string {
	return fmt.Sprintf("replace %s by %s in %s, then run [%s], then explain in %d words", old, new, file, command, words)
}

// findTask returns the last task that a text asks for.
func findTask(text string) (task, bool) {
	all := taskPattern.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return task{}, false
	}
	m := all[len(all)-1]
	words, err := strconv.Atoi(m[5])
	if err != nil {
		return task{}, false
	}
	return task{old: m[1], new: m[2], file: m[3], command: m[4], words: words}, true
}

// patch is the edit in the language of the tool apply_patch.
func (t task) patch() string {
	return fmt.Sprintf("*** Begin Patch\n*** Update File: %s\n@@\n-%s\n+%s\n*** End Patch\n", t.file, t.old, t.new)
}

// block is the edit as programs without tools want it, in the text of the answer.
func (t task) block() string {
	return fmt.Sprintf("%s\n```\n<<<<<<< SEARCH\n%s\n=======\n%s\n>>>>>>> REPLACE\n```\n", t.file, t.old, t.new)
}

// shellEdit is the edit for programs that have a shell and no other tool.
func (t task) shellEdit() string {
	return fmt.Sprintf("sed -i 's/^%s$/%s/' %s", t.old, t.new, t.file)
}

var lorem = strings.Fields("the line was replaced as asked and the command ran to its end so that nothing else is left to do here")

// explanation is the long answer: so many words, in numbered paragraphs of fifty. It repeats itself no more than a text does,
// since some programs end what they take for a loop.
func (t task) explanation() string {
	var b strings.Builder
	random := rand.New(rand.NewPCG(1, 2)) // the same text each time
	for i := range t.words {
		switch {
		case i%50 == 0 && i > 0:
			fmt.Fprintf(&b, ".\n\n%d. ", i/50+1)
		case i == 0:
			b.WriteString("1. ")
		default:
			b.WriteByte(' ')
		}
		b.WriteString(lorem[random.IntN(len(lorem))])
	}
	b.WriteString(".\n\nThe explanation is complete.\n")
	return b.String()
}
