package flags

// IsWord tells whether a word is a command of art. As its first word each is that, and no command for a guest.
func IsWord(word string) bool { return Find(Art.Name+" "+word) != nil }

// Meant returns the command of art that somebody may have meant, who typed it or another word, or "". A letter more, one
// less, or two that have changed places is near enough; in a word of six letters also another letter.
func Meant(typed string) string {
	for _, c := range Art.Commands() {
		if word := c.Name[len(Art.Name)+1:]; typed == word || len(word) > 2 && near(typed, word) {
			return word
		}
	}
	return ""
}

func near(typed, word string) bool {
	same := 0 // bytes that both begin with
	for same < min(len(typed), len(word)) && typed[same] == word[same] {
		same++
	}
	t, w := typed[same:], word[same:]
	switch len(typed) - len(word) {
	case 1:
		return t[1:] == w
	case -1:
		return t == w[1:]
	case 0:
		return len(t) > 1 && t[0] == w[1] && t[1] == w[0] && t[2:] == w[2:] || len(word) > 5 && len(t) > 0 && t[1:] == w[1:]
	}
	return false
}
