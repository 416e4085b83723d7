package git

import "testing"

// What gitrepository-layout(5) says is each worktree's own is found in its directory.
func TestPerWorktree(t *testing.T) {
	for at, want := range map[string]string{
		"HEAD": "own", "HEAD.lock": "own", "index": "own", "index.lock": "own", "ORIG_HEAD": "own", "MERGE_MSG": "own",
		"rebase-merge/done": "own", "sequencer": "own", "logs/HEAD": "own", "refs/bisect/bad": "own", "refs/worktree/x": "own",
		".": "", "logs": "", "logs/refs/heads/main": "", "logs/HEADS": "", "refs/heads/HEAD": "", "packed-refs": "", "packed-refs.lock": "",
		"objects/pack": "", "worktrees/x/HEAD": "", "config": "", "shallow.lock": "", "info/grafts": "", "tmp_art_X": "",
	} {
		if got := in("worktrees/x", at); got != at != (want == "own") {
			t.Errorf("%s is at %s", at, got)
		}
	}
	if got := in("", "HEAD"); got != "HEAD" {
		t.Errorf("of the main worktree: %s", got)
	}
}
