package config

import _ "embed"

// Schema describes sandbox.json for editors (https://json-schema.org).
//
//go:embed sandbox.schema.json
var Schema string
