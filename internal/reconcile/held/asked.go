package held

import "github.com/riverlytech/art/internal/hold"

// Asked are the patterns that a database remembers of presets: what it is asked to have held back beside the [Table]. It
// may be anybody's word, and so holds more back, and never less.
type Asked struct{ index *index }

// NewAsked returns these patterns. One that no preset can have is left out.
func NewAsked(patterns []hold.Pattern) *Asked {
	x := newIndex(nil)
	for _, p := range patterns[:min(len(patterns), hold.MaxPatterns)] {
		if p.Valid() {
			x.add(p.Text, p.Why, false)
		}
	}
	return &Asked{x}
}

// Why is as the function of that name.
func (a *Asked) Why(rel string) string { return a.index.why(rel) }

// Above is as the function of that name.
func (a *Asked) Above(rel string) string { return a.index.over(rel) }
