package quote

import "strings"

// Command returns a command as a line for people, quoted for a shell where that is needed, and cut off after so many
// characters.
func Command(args []string, most int) string {
	if len(args) == 0 {
		return "(a shell)"
	}
	var words []string
	for _, arg := range args {
		word := Name(arg, true)
		if word == arg && (arg == "" || strings.ContainsAny(arg, " \"'$`\\&|;<>()*?[]#~!{}")) {
			word = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, word)
	}
	text := []rune(strings.Join(words, " "))
	if len(text) > most {
		return string(text[:most-3]) + "..."
	}
	return string(text)
}
