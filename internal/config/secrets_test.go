package config

import (
	"reflect"
	"strings"
	"testing"
)

func readSecrets(t *testing.T, text string) (*Settings, error) {
	t.Helper()
	return (&source{name: "f", dir: "/ws"}).read([]byte(`{"secrets": ` + text + `}`))
}

func TestSecrets(t *testing.T) {
	s, err := readSecrets(t, `{"A": {"hosts": ["Api.Example.Org.", "b.example:8443"], "header": "X-Api-Key"},
		"B": {"hosts": [{"host": "c.example", "methods": ["GET"], "paths": ["/v1"]}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []Secret{
		{"A", []SecretHost{{Name: "api.example.org", Port: 443}, {Name: "b.example", Port: 8443}}, "x-api-key", "f:1"},
		{"B", []SecretHost{{"c.example", 443, []string{"GET"}, []string{"/v1"}}}, "authorization", "f:2"},
	}
	if !reflect.DeepEqual(s.Secrets, want) {
		t.Errorf("they are %v", s.Secrets)
	}
	for text, why := range map[string]string{
		`["A"]`:                                                          "a list stands where an object is expected",
		`{"A": {}}`:                                                      `goes nowhere: name its "hosts"`,
		`{"A": {"hosts": []}}`:                                           `goes nowhere`,
		`{"A=1": {"hosts": ["a.b"]}}`:                                    "is not a variable's name",
		`{"ART_X": {"hosts": ["a.b"]}}`:                                  "art's own",
		`{"A": {"hosts": ["*.a.b"]}}`:                                    "by their whole names",
		`{"A": {"hosts": ["https://a.b"]}}`:                              "no port",
		`{"A": {"hosts": ["10.0.0.1"]}}`:                                 "no name ends in a number",
		`{"A": {"hosts": ["[::1]:3"]}}`:                                  "no port",
		`{"A": {"hosts": ["host:80"]}}`:                                  "loopback",
		`{"A": {"hosts": ["a.localhost"]}}`:                              "loopback",
		`{"A": {"hosts": ["a.b:0"]}}`:                                    "no port",
		`{"A": {"hosts": ["a.b"], "header": "Host"}}`:                    "not a header that a secret can be in",
		`{"A": {"hosts": ["a.b"], "header": "x y"}}`:                     "not a header that a secret can be in",
		`{"A": {"hosts": ["a.b"], "value": "x"}}`:                        `unknown key "value"`,
		`{"A": {"hosts": [{"methods": ["GET"]}]}}`:                       `the key "host" is missing`,
		`{"A": {"hosts": [{"host": "a.b", "methods": ["get"]}]}}`:        "is not a method",
		`{"A": {"hosts": [{"host": "a.b", "paths": ["v1"]}]}}`:           "is not the beginning of a path",
		`{"A": {"hosts": [{"host": "a.b", "paths": ["/v1/../admin"]}]}}`: "is not the beginning of a path",
	} {
		if _, err := readSecrets(t, text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A workspace sends no secret of the user's elsewhere, and gives none to the guest.
func TestWorkspaceNarrowsSecrets(t *testing.T) {
	user, err := readSecrets(t, `{"A": {"hosts": ["a.example", {"host": "b.example", "methods": ["GET", "POST"], "paths": ["/v1"]}]}, "B": {"hosts": ["a.example"]}}`)
	if err != nil {
		t.Fatal(err)
	}
	for text, narrows := range map[string]bool{
		`{}`:                              true,
		`{"A": {"hosts": ["a.example"]}}`: true,
		`{"A": {"hosts": [{"host": "a.example", "methods": ["GET"], "paths": ["/x"]}]}}`:           true,
		`{"A": {"hosts": [{"host": "b.example", "methods": ["GET"], "paths": ["/v1/x", "/v1"]}]}}`: true,
		`{"A": {"hosts": ["b.example"]}}`: false,
		`{"A": {"hosts": [{"host": "b.example", "methods": ["GET", "PUT"], "paths": ["/v1"]}]}}`: false,
		`{"A": {"hosts": [{"host": "b.example", "methods": ["GET"], "paths": ["/v11"]}]}}`:       false,
		`{"A": {"hosts": ["a.example:8443"]}}`:                                                   false,
		`{"A": {"hosts": ["evil.example"]}}`:                                                     false,
		`{"A": {"hosts": ["a.example", "evil.example"]}}`:                                        false,
		`{"A": {"hosts": ["a.example"], "header": "x-echoed"}}`:                                  false,
		`{"C": {"hosts": ["a.example"]}}`:                                                        false,
	} {
		own, err := readSecrets(t, text)
		if err != nil {
			t.Fatal(err)
		}
		out, asks, err := Merge(user, own, "/ws", false)
		if err != nil {
			t.Fatal(err)
		}
		if (len(asks) == 0) != narrows {
			t.Errorf("%s: it asks for %v", text, asks)
		}
		if len(out.Secrets) != 2 {
			t.Errorf("%s: the secrets are %v", text, out.Secrets)
		}
		for i := range out.Secrets {
			s := &out.Secrets[i]
			if !user.Secrets[0].covers(s) && !user.Secrets[1].covers(s) {
				t.Errorf("%s: there is %v", text, s)
			}
		}
		if !narrows {
			if out, _, _ = Merge(user, own, "/ws", true); len(out.Secrets) < 2 || !reflect.DeepEqual(out.Secrets[len(out.Secrets)-1], own.Secrets[0]) {
				t.Errorf("%s: with trust there is %v", text, out.Secrets)
			}
		}
	}
	// Nor does it put another value in its place.
	own := &Settings{Values: []Value{{Name: "B", Value: "another"}}}
	if out, asks, err := Merge(user, own, "/ws", false); err != nil || len(asks) != 1 || len(out.Values) != 0 {
		t.Errorf("%v, %v, %v", out.Values, asks, err)
	}
}

// Nor does a workspace have the user's agent sign for other hosts, or with other keys.
func TestWorkspaceNarrowsSSH(t *testing.T) {
	read := func(text string) *Settings {
		s, err := (&source{name: "f", dir: "/ws"}).read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		user, own string
		narrows   bool
		hosts     int
		keys      []string
	}{
		{`{"ssh": {"hosts": ["a.b", "c.d"]}}`, `{}`, true, 2, nil},
		{`{"ssh": {"hosts": ["a.b", "c.d"]}}`, `{"ssh": {"hosts": ["a.b"], "keys": ["k"]}}`, true, 1, []string{"k"}},
		{`{"ssh": {"hosts": ["a.b"], "keys": ["k"]}}`, `{"ssh": {"hosts": ["A.b:22"]}}`, true, 1, []string{"k"}},
		{`{"ssh": {"hosts": ["a.b"], "keys": ["k"]}}`, `{"ssh": {"hosts": ["a.b"], "keys": ["l"]}}`, false, 1, []string{}},
		{`{"ssh": {"hosts": ["a.b"]}}`, `{"ssh": {"hosts": ["a.b:23"]}}`, false, 0, nil},
		{`{}`, `{"ssh": {"hosts": ["a.b"]}}`, false, 0, nil},
	} {
		out, asks, err := Merge(read(c.user), read(c.own), "/ws", false)
		if err != nil || (len(asks) == 0) != c.narrows || len(out.SSH.Hosts) != c.hosts || (out.SSH.Keys == nil) != (c.keys == nil) || !reflect.DeepEqual(entryValues(out.SSH.Keys), append([]string(nil), c.keys...)) {
			t.Errorf("%s with %s: %v, %v, %v", c.user, c.own, out.SSH, asks, err)
		}
	}
	for text, why := range map[string]string{
		`{"ssh": {}}`: "leads nowhere", `{"ssh": {"hosts": ["*.a.b"]}}`: "whole names", `{"ssh": {"hosts": ["a.b"], "keys": []}}`: "has no keys",
		`{"ssh": ["a.b"]}`: "where an object is expected", `{"ssh": {"hosts": ["10.1.1.1"]}}`: "no name ends in a number",
	} {
		if _, err := (&source{name: "f"}).read([]byte(text)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
