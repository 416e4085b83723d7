package held

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// fold returns a path in the form in which names are compared: names that some file system takes for one
// become one. Case does not count in a folding directory of ext4 and others, which fold as Unicode says,
// leave out what is not to be seen, and take a ligature for its letters (kernel,
// Documentation/admin-guide/ext4.rst, casefold); FAT leaves out dots and spaces at the end of a name.
func fold(rel string) string {
	if isASCII(rel) && !strings.Contains(rel, "./") && !strings.Contains(rel, " /") && !strings.HasSuffix(rel, ".") && !strings.HasSuffix(rel, " ") {
		return strings.ToLower(rel)
	}
	names := strings.Split(rel, "/")
	for i, name := range names {
		if short := strings.TrimRight(foldLetters(name), ". "); short != "" { // a name stays one
			names[i] = short
		}
	}
	return strings.Join(names, "/")
}

func foldLetters(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, letters.Replace(name))
	return strings.ToLower(strings.ToUpper(name)) // the long s has no lower case, but an upper one
}

// letters are those that folding writes as several.
var letters = strings.NewReplacer("ß", "ss", "ẞ", "ss", "ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
