// Package placeholder makes what a guest has in the place of a secret: a text of the same shape, by which nobody gets anywhere.
package placeholder

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// Least is how long a secret has to be, to be told from other text.
const Least = 8

// What a prefix leaves to chance at least, and how long one that many services give their keys can be.
const (
	leastRandom = 16
	mostPrefix  = 24
)

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// Make returns a text as long as a secret, with its prefix, which says what kind of a secret it is, and made of the same characters.
func Make(secret string) (string, error) {
	if err := check(secret); err != nil {
		return "", err
	}
	kept := Prefix(secret)
	rest := secret[kept:]
	alphabet := alphabetOf(rest)
	if len(alphabet) < 2 {
		return "", errors.New("it is made of too few characters")
	}
	for range 100 {
		text := []byte(secret)
		for i := kept; i < len(text); i++ {
			if !isLetterOrDigit(text[i]) {
				continue // what stands between, as in user:password
			}
			n, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
			if err != nil {
				return "", fmt.Errorf("make a placeholder: %w", err)
			}
			text[i] = alphabet[n.Int64()]
		}
		if string(text) != secret {
			return string(text), nil
		}
	}
	return "", errors.New("it is made of too few characters")
}

// check refuses what cannot be the value of a header of HTTP, or could be anything.
func check(secret string) error {
	count := 0
	for i := range len(secret) {
		switch c := secret[i]; {
		case c < ' ' || c > '~':
			return errors.New("it holds what cannot be in a header of HTTP")
		case isLetterOrDigit(c):
			count++
		}
	}
	switch {
	case secret != strings.TrimSpace(secret):
		return errors.New("it begins or ends with a space")
	case count < Least:
		return fmt.Errorf("it has fewer than %d letters and digits, and would be found where it is not meant", Least)
	}
	return nil
}

// Prefix returns how long the beginning is that says of what kind a secret is: words with - or _ after each, such as sk-ant-api03-,
// github_pat_ or xoxb-; or else its first four letters and digits, if it is long. The rest is what is secret about it.
func Prefix(secret string) int {
	most := min(len(secret)-leastRandom, mostPrefix)
	kept, from := 0, 0
	for i := 0; i < most; i++ {
		switch c := secret[i]; {
		case c != '-' && c != '_':
		case isKind(secret[from:i]):
			kept, from = i+1, i+1
		default:
			i = most
		}
	}
	if kept == 0 && most >= 8 {
		return 4
	}
	return kept
}

// isKind says whether a word is one of a prefix: some letters, and few digits after them.
func isKind(word string) bool {
	letters := strings.TrimRight(word, digits)
	return letters != "" && len(letters) <= 10 && len(word)-len(letters) <= 3 &&
		(strings.Trim(letters, lower) == "" || strings.Trim(letters, upper) == "")
}

// alphabetOf returns the letters and digits that a text like this one is made of.
func alphabetOf(text string) string {
	const hex = digits + "abcdef"
	letters := strings.Map(func(r rune) rune {
		if r < 0x80 && isLetterOrDigit(byte(r)) {
			return r
		}
		return -1
	}, text)
	for _, alphabet := range []string{digits, hex, strings.ToUpper(hex)} {
		if strings.Trim(letters, alphabet) == "" {
			return alphabet
		}
	}
	alphabet := ""
	for _, class := range []string{digits, lower, upper} {
		if strings.ContainsAny(letters, class) {
			alphabet += class
		}
	}
	return alphabet
}

func isLetterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
