package placeholder

import (
	"strings"
	"testing"
)

func TestShape(t *testing.T) {
	for _, c := range []struct{ secret, prefix, alphabet string }{
		{"sk-ant-api03-Qm3xPz81TfLw09aBcDeF_gHiJkLmNoPqRsTuVw-XyZ01AA", "sk-ant-api03-", digits + lower + upper + "-_"},
		{"sk-proj-aB3dE5gH7jK9mN1pQ3sT5vW7yZ9", "sk-proj-", digits + lower + upper},
		{"ghp_16C7e42F292c6912E7710c838347Ae178B4a", "ghp_", digits + lower + upper},
		{"github_pat_11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123456789", "github_pat_", digits + lower + upper + "_"},
		{"AIzaSyA1234567890abcdefghijklmnopqrstuv", "AIza", digits + lower + upper},
		{"0123456789abcdef0123456789abcdef", "0123", digits + "abcdef"},
		{"0123456789ABCDEF0123456789ABCDEF", "0123", digits + "ABCDEF"},
		{"31415926535897932384626433832795", "3141", digits},
		{"correct horse battery", "", lower + " "},
		{"agent:hunter2hunter2", "", digits + lower + ":"},
		{"hunter22", "", digits + lower},
	} {
		p, err := Make(c.secret)
		if err != nil {
			t.Errorf("%s: %v", c.secret, err)
			continue
		}
		if len(p) != len(c.secret) || !strings.HasPrefix(p, c.prefix) || strings.Trim(p[len(c.prefix):], c.alphabet) != "" || p == c.secret {
			t.Errorf("%s became %s", c.secret, p)
		}
		if kept := Prefix(c.secret); kept != len(c.prefix) {
			t.Errorf("of %s, %q is kept", c.secret, c.secret[:kept])
		}
		for i := range c.secret {
			if !isLetterOrDigit(c.secret[i]) && p[i] != c.secret[i] {
				t.Errorf("%s became %s", c.secret, p)
			}
		}
		if again, err := Make(c.secret); err != nil || again == p {
			t.Errorf("%s became %s twice, %v", c.secret, p, err)
		}
	}
}

// Whatever the place of a letter, it tells nothing of what stood there.
func TestAllCharactersEverywhere(t *testing.T) {
	const secret = "sk-aaaaaaaaaaaaaaaaAAAAAAAAAAAA000000000000"
	seen := map[byte]bool{}
	for range 2000 {
		p, err := Make(secret)
		if err != nil {
			t.Fatal(err)
		}
		seen[p[3]] = true
	}
	if len(seen) != len(digits+lower+upper) {
		t.Errorf("in the first place there were %d characters", len(seen))
	}
}

func TestRefused(t *testing.T) {
	for _, secret := range []string{"", "short", "1234567", "a-b-c-d-e-f-g", " leadingspace1", "two\nlines of it", "ключ-ключ-ключ", "----------------"} {
		if p, err := Make(secret); err == nil {
			t.Errorf("%q became %q", secret, p)
		}
	}
}
