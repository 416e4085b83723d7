package dotenv

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// The expected values are what `dotenvx get` prints for the same lines.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"A=b":                    "b",
		"export A=b":             "b",
		"  export\tA = b c  # d": "b c",
		"A=a#b":                  "a",
		"A=":                     "",
		"A=''":                   "",
		"A='it\\n'":              `it\n`,
		`A="a\n\t\r|"`:           "a\n\t\r|",
		`A="say \"x\""`:          `say \"x\"`,
		"A=\"x\" # c":            "x",
		"A=\"multi\nline\"":      "multi\nline",
		"A=`echo \"1\"`":         `echo "1"`,
		`A=\$HOME`:               "$HOME",
		`A="\$HOME"`:             "$HOME",
		`A='$HOME $(id)'`:        "$HOME $(id)",
		`A=5$`:                   "5$",
		`A=\n|`:                  `\n|`,
		`A=a"b`:                  `a"b`,
		"\ufeffA=b\r\n":          "b",
		"# c\n\nA=x":             "x",
		"A='#'":                  "#",
	} {
		vars, err := Parse(".env", text)
		if err != nil || len(vars) != 1 || vars[0].Name != "A" || vars[0].Value != want {
			t.Errorf("%q: %v, %v, want %q", text, vars, err, want)
		}
	}
	vars, err := Parse(".env", "A='1\n2'\nB=\"\"\n\nC=3")
	if want := []Variable{{"A", "1\n2", 1}, {"B", "", 3}, {"C", "3", 5}}; err != nil || !reflect.DeepEqual(vars, want) {
		t.Errorf("%v, %v, want %v", vars, err, want)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, reason := range map[string]string{
		"x\nA":                 ".env:1: it is not of the form",
		"A=1\n1B=2":            ".env:2: it is not of the form",
		"A B=2":                "it is not of the form",
		"=2":                   "it is not of the form",
		"A='x":                 "quotation mark ' is not closed",
		"A=\"x\\\"":            "is not closed",
		"A='x' y":              "something follows",
		"\nA=secret$HOME\nB=1": ".env:2: variables and commands are not expanded",
		"A=secret$(id)":        "not expanded",
		"A=\"${secret}\"":      "not expanded",
		"A=`$secret`":          "not expanded",
	} {
		vars, err := Parse(".env", text)
		if err == nil || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, %v, want %s", text, vars, err, reason)
		}
	}
}

// The files were made by `dotenvx encrypt`, 2.38.2.
func TestDecryptDotenvx(t *testing.T) {
	vars, key := fixture(t)
	if !Encrypted(vars) {
		t.Error("nothing is encrypted")
	}
	vars, err := Decrypt(".env", vars, "  "+strings.Repeat("1", 64)+", "+key)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range vars {
		got[v.Name] = v.Value
	}
	if want := map[string]string{
		"PLAIN": "hello", "SINGLE": "with # and $HOME", "DOUBLE": "two\nlines \\\"q\\\"",
		"UMLAUT": "häßlich", "EMPTY": "", "LONG": strings.Repeat("x", 200),
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDecryptRefuses(t *testing.T) {
	vars, key := fixture(t)
	broken := append([]Variable{}, vars...)
	for i, v := range broken {
		if v.Name == "PLAIN" { // another letter in the middle of the ciphertext
			j := len(v.Value) - 8
			broken[i].Value = v.Value[:j] + map[bool]string{true: "B", false: "A"}[v.Value[j] == 'A'] + v.Value[j+1:]
		}
	}
	for _, test := range []struct {
		vars         []Variable
		keys, reason string
	}{
		{vars, "", "there is no key"},
		{vars, "abc", "is not 32 bytes in hexadecimal"},
		{vars, strings.Repeat("1", 64), "decrypt PLAIN: none of the keys decrypts it"},
		{broken, key, "decrypt PLAIN: none of the keys decrypts it"},
		{[]Variable{{"A", "encrypted:", 7}}, key, ".env:7: decrypt A: none of the keys decrypts it"},
		{[]Variable{{"A", "encrypted:!", 7}}, key, "it is not in base64"},
	} {
		if got, err := Decrypt(".env", test.vars, test.keys); err == nil || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%v, %v, want %s", got, err, test.reason)
		}
	}
}

func fixture(t *testing.T) ([]Variable, string) {
	t.Helper()
	var parsed [2][]Variable
	for i, file := range []string{"testdata/encrypted.env", "testdata/env.keys"} {
		text, err := os.ReadFile(file)
		if err == nil {
			parsed[i], err = Parse(file, string(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return parsed[0], parsed[1][0].Value
}

func FuzzParse(f *testing.F) {
	f.Add("A='x'\nexport B=\"y\\n\" # z\n")
	f.Fuzz(func(t *testing.T, text string) {
		vars, err := Parse(".env", text)
		for _, v := range vars {
			if err != nil || !isName(v.Name) || v.Line < 1 || v.Line > 1+strings.Count(text, "\n") {
				t.Errorf("%q: %+v, %v", text, v, err)
			}
		}
	})
}
