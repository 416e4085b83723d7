package preset

import (
	"bytes"
	_ "embed"
	"encoding/json"

	"github.com/riverlytech/art/internal/config"
)

//go:embed preset.schema.json
var schema []byte

// Schema describes a preset for editors (https://json-schema.org). What its settings are is described by those of sessions.
func Schema() string {
	type object = map[string]json.RawMessage
	parse := func(text []byte) (o object) {
		if err := json.Unmarshal(text, &o); err != nil {
			panic(err) // a test reads it
		}
		return o
	}
	format := func(v any) json.RawMessage {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return text
	}
	whole, settings := parse(schema), parse([]byte(config.Schema))
	keys := parse(settings["properties"])
	for _, key := range []string{"$schema", "enabled", "home", "workspace", "mode", "db", "notify", "systemd", "commands", "keep", "replicate", "flatten"} { // are not a preset's to say
		delete(keys, key)
	}
	properties := parse(whole["properties"])
	own := parse(properties["settings"])
	own["properties"], own["additionalProperties"] = format(keys), json.RawMessage("false")
	properties["settings"] = format(own)
	whole["properties"] = format(properties)
	var text bytes.Buffer
	if err := json.Indent(&text, format(whole), "", "  "); err != nil {
		panic(err)
	}
	return text.String() + "\n"
}
