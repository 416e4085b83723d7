package sync

import (
	"github.com/riverlytech/art/internal/git"
	"github.com/riverlytech/art/internal/sync/quote"
)

// A repository's part of what the guest changed are references and the commits that come with them.

// refsDiffer tells whether there is anything of that kind.
func (d *comparer) refsDiffer() bool {
	for _, r := range d.sortedRepos() {
		if r.plan == nil || len(r.plan.Refs) > 0 || len(r.plan.Others()) > 0 || len(r.plan.Conflicts) > 0 {
			return true
		}
	}
	return false
}

// commits counts them.
func (d *comparer) commits() (n int) {
	seen := map[git.ID]bool{}
	for _, r := range d.sortedRepos() {
		if r.plan == nil {
			continue
		}
		for _, c := range r.plan.Refs {
			for _, commit := range r.plan.Commits(c) {
				seen[commit.ID] = true
			}
		}
	}
	return len(seen)
}

// showRefs shows references, and below each the commits that the host does not have.
func (d *comparer) showRefs() {
	for _, r := range d.sortedRepos() {
		at := d.report.name(r.dir)
		if r.plan == nil {
			d.report.line("%s %s", d.colour(red, "!"), at+": "+d.report.name(r.err.Error()))
			continue
		}
		for _, c := range r.plan.Refs {
			d.report.line("%s %s", d.colour(cyan, "REF"), at+" "+d.report.name(c.String()))
			for _, commit := range r.plan.Commits(c) {
				d.report.line("    %s", d.report.name(commit.String()))
			}
		}
		for _, other := range r.plan.Others() {
			d.report.line("%s %s", d.colour(cyan, "REF"), at+" "+d.report.name(other))
		}
		for _, text := range r.plan.Conflicts {
			d.report.line("%s %s", d.colour(red, "!"), at+": "+d.report.name(text))
		}
	}
}

// jsonRef is a reference as JSON has it. Where nothing was, or is to be, the name of an object is empty.
type jsonRef struct {
	Status   string       `json:"status"`
	Path     string       `json:"path"`
	Kind     string       `json:"kind"`
	Ref      string       `json:"ref,omitempty"`
	For      string       `json:"for,omitempty"`
	Old      string       `json:"old,omitempty"`
	New      string       `json:"new,omitempty"`
	Rewound  bool         `json:"rewound,omitempty"`
	Commits  []jsonCommit `json:"commits,omitempty"`
	Other    string       `json:"other,omitempty"`
	Conflict bool         `json:"conflict,omitempty"`
	Why      string       `json:"why,omitempty"`
}

type jsonCommit struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
}

func (d *comparer) showJSONRefs() error {
	var list []jsonRef
	for _, r := range d.sortedRepos() {
		if r.plan == nil {
			list = append(list, jsonRef{Status: "M", Path: r.dir, Kind: "repository", Conflict: true, Why: r.err.Error()})
			continue
		}
		for _, c := range r.plan.Refs {
			list = append(list, jsonRefOf(r, c))
		}
		for _, other := range r.plan.Others() {
			list = append(list, jsonRef{Status: "M", Path: r.dir, Kind: "repository", Other: other})
		}
		for _, text := range r.plan.Conflicts {
			list = append(list, jsonRef{Status: "M", Path: r.dir, Kind: "repository", Conflict: true, Why: text})
		}
	}
	for _, o := range list {
		text, err := quote.JSON(o)
		if err != nil {
			return err
		}
		d.report.line("%s", text)
	}
	return nil
}

func jsonRefOf(r *repo, c git.RefChange) jsonRef {
	o := jsonRef{Status: "M", Path: r.dir, Kind: "reference", Ref: c.Name, For: c.For, Rewound: c.Rewound}
	if c.Old.IsZero() {
		o.Status = "A"
	} else {
		o.Old = c.Old.String()
	}
	if c.Deleted() {
		o.Status = "D"
	} else if !c.New.IsZero() {
		o.New = c.New.String()
	}
	for _, commit := range r.plan.Commits(c) {
		o.Commits = append(o.Commits, jsonCommit{commit.ID.String(), commit.Subject})
	}
	return o
}
