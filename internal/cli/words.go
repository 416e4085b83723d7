package cli

import "slices"

// Words are the subcommands of art. As its first word each is that, and no command for a guest.
var Words = []string{"run", "diff", "pull", "push", "status", "log", "list", "reset", "rm", "config", "trust", "doctor", "home", "presets", "agent"}

// Meant returns the word that somebody may have meant, who typed it or another one, or "". A letter more, one less, or two
// that have changed places is near enough; in a word of six letters also another letter.
func Meant(typed string) string {
	i := slices.IndexFunc(Words, func(word string) bool { return typed == word || len(word) > 2 && near(typed, word) })
	if i < 0 {
		return ""
	}
	return Words[i]
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
