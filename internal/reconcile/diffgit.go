package reconcile

import (
	"github.com/riverlytech/art/internal/git"
	"github.com/riverlytech/art/internal/reconcile/show"
)

// A repository's part of what the guest changed are references and the commits that come with them.

// refLine is what there is to tell of a repository: of a reference that moves, of something else that comes with it, or
// of what is in conflict.
type refLine struct {
	repo     *repo
	ref      *git.RefChange // nil: it is about no reference
	text     string
	conflict bool
}

func (p *planner) refLines() (list []refLine) {
	for _, r := range p.sortedRepos() {
		if r.plan == nil {
			list = append(list, refLine{r, nil, r.err.Error(), true})
			continue
		}
		for i := range r.plan.Refs {
			list = append(list, refLine{r, &r.plan.Refs[i], r.plan.Refs[i].String(), false})
		}
		for _, text := range r.plan.Others() {
			list = append(list, refLine{r, nil, text, false})
		}
		for _, text := range r.plan.Conflicts {
			list = append(list, refLine{r, nil, text, true})
		}
	}
	return list
}

// commits counts them.
func (d *comparer) commits() (n int) {
	seen := map[git.ID]bool{}
	for _, l := range d.refLines() {
		if l.ref != nil {
			for _, commit := range l.repo.plan.Commits(*l.ref) {
				seen[commit.ID] = true
			}
		}
	}
	return len(seen)
}

// showRefs shows references, and below each the commits that the host does not have.
func (d *comparer) showRefs() {
	p := d.printer()
	for _, l := range d.refLines() {
		at, text := d.report.Name(l.repo.dir), d.report.Name(l.text)
		if l.conflict {
			d.report.Line("%s %s", p.Colour(show.Red, "!"), at+": "+text)
			continue
		}
		d.report.Line("%s %s", p.Colour(show.Cyan, "REF"), at+" "+text)
		if l.ref != nil {
			for _, commit := range l.repo.plan.Commits(*l.ref) {
				d.report.Line("    %s", d.report.Name(commit.String()))
			}
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
	for _, l := range d.refLines() {
		o := jsonRef{Status: "M", Path: l.repo.dir, Kind: "repository"}
		switch {
		case l.ref != nil:
			o = jsonRefOf(l.repo, *l.ref)
		case l.conflict:
			o.Conflict, o.Why = true, l.text
		default:
			o.Other = l.text
		}
		if err := d.printer().JSON(o); err != nil {
			return err
		}
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
