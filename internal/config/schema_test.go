package config

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/riverlytech/art/internal/seccomp"
)

// object is the part of a schema that says what keys there are.
type object struct {
	Properties map[string]struct {
		object
		Items struct {
			object
			Enum []string
		}
	}
}

// An editor knows just the keys and values that art reads.
func TestSchema(t *testing.T) {
	var schema object
	if err := json.Unmarshal([]byte(Schema), &schema); err != nil {
		t.Fatal(err)
	}
	equal := func(what string, got, want []string) {
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %q, art %q", what, got, want)
		}
	}
	keys := func(o object) []string { return slices.Collect(maps.Keys(o.Properties)) }
	equal("keys", keys(schema), names((&source{user: true}).keys(&Settings{}, new(bool))))
	equal("limits", keys(schema.Properties["limits"].object), names(limits))
	equal("keep", keys(schema.Properties["keep"].object), names(kept))
	equal("mounts", keys(schema.Properties["mounts"].Items.object), []string{"guest", "host", "mode", "optional", "path", "readonly"})
	equal("own", schema.Properties["own"].Items.Enum, OwnWords)
	equal("allow", schema.Properties["allow"].Items.Enum, seccomp.Options)
}
