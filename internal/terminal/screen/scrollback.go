package screen

const (
	maxLines = 1000
	maxBytes = 1 << 20
	maxLine  = 64 << 10 // with links
)

// scrollback are the lines that have left the primary screen at its top, as they are written to a terminal.
type scrollback struct {
	text  []byte
	ends  []int // of lines in text
	first int   // line that is kept; those before are gone
}

// push adds r. What is kept is decided by what comes last alone, which unseen counts on.
func (b *scrollback) push(s *Screen, r *row) {
	begin := len(b.text)
	p := painter{s: s, out: b.text, pen: blank, links: true}
	p.row(r, s.cols)
	if len(p.out)-begin > maxLine {
		p = painter{s: s, out: b.text, pen: blank}
		p.row(r, s.cols)
	}
	b.text = p.out
	b.ends = append(b.ends, len(b.text))
	for len(b.ends)-b.first > maxLines || len(b.text)-b.begin() > maxBytes {
		b.first++
	}
	if begin := b.begin(); b.first > maxLines || begin > maxBytes {
		b.text = b.text[:copy(b.text, b.text[begin:])]
		b.ends = b.ends[:copy(b.ends, b.ends[b.first:])]
		for i := range b.ends {
			b.ends[i] -= begin
		}
		b.first = 0
	}
}

// begin returns where the first line begins.
func (b *scrollback) begin() int {
	if b.first == 0 {
		return 0
	}
	return b.ends[b.first-1]
}

// each calls f with each line.
func (b *scrollback) each(f func(line []byte)) {
	begin := b.begin()
	for _, end := range b.ends[b.first:] {
		f(b.text[begin:end])
		begin = end
	}
}
