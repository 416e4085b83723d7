package escape

// Keep remembers what has come of a sequence that has not ended, from its escape character or the last byte that was kept, without the
// controls that acted already. [Parser.Rest] returns it.
func (z *Parser) Keep(p []byte) {
	for _, c := range p {
		switch {
		case c < ' ' && c != '\x1b':
		case len(z.unended) == 2*MaxString:
			z.long = true
		default:
			z.unended = append(z.unended, c)
		}
	}
}

// Rest returns what a terminal needs to go on in the middle of a sequence. One that is too long to be kept is a string,
// whose rest is to be passed over.
func (z *Parser) Rest() []byte {
	switch {
	case z.state == ground:
		return nil
	case !z.long:
		return z.unended
	case z.state == oscString:
		return []byte("\x1b]9999;")
	case z.state == otherString:
		return []byte("\x1b_")
	case z.state == escapeIntermediate:
		return []byte("\x1b    ")
	}
	return []byte("\x1b[ ?")
}

// Held returns how many bytes are held.
func (z *Parser) Held() int { return cap(z.text) + cap(z.unended) }
