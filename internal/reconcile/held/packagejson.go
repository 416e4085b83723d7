package held

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// lifecycle are the scripts that a package manager runs by itself in the directory where it installs
// (https://docs.npmjs.com/cli/v11/using-npm/scripts, "Life Cycle Operation Order"; the last one is pnpm's,
// https://pnpm.io/scripts).
var lifecycle = []string{"preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish", "dependencies",
	"pnpm:devPreinstall"}

// deciding are other keys that name programs which are run unasked: by git hooks that are installed
// already, in place of the package manager itself (corepack), or in packages that it installs.
var deciding = []string{"husky", "simple-git-hooks", "gitHooks", "git-hooks", "pre-commit", "pre-push", "lint-staged", "nano-staged",
	"packageManager", "devEngines", "pnpm", "trustedDependencies", "lavamoat"}

// decides are the keys of a package manager's file that decide, and the scripts among those below "scripts".
type decides struct{ keys, scripts []string }

var (
	npm = decides{deciding, lifecycle}

	// Composer runs a script for each event of its own (https://getcomposer.org/doc/articles/scripts.md), and
	// the plugins that the configuration allows.
	composer = decides{[]string{"config"}, []string{"pre-install-cmd", "post-install-cmd", "pre-update-cmd", "post-update-cmd", "pre-status-cmd", "post-status-cmd",
		"pre-archive-cmd", "post-archive-cmd", "pre-autoload-dump", "post-autoload-dump", "post-root-package-install", "post-create-project-cmd",
		"pre-operations-exec", "pre-package-install", "post-package-install", "pre-package-update", "post-package-update", "pre-package-uninstall", "post-package-uninstall",
		"init", "command", "pre-file-download", "post-file-download", "pre-command-run", "pre-pool-create"}}
)

// samePackage reports whether what a package manager runs by itself is the same in two versions of its file. It
// answers no for whatever programs may read in different ways.
func (d decides) samePackage(before, after []byte) bool {
	if bytes.Equal(before, after) {
		return true
	}
	a, ok := d.readPackage(after)
	if !ok || a.odd {
		return false
	}
	b := packageJSON{}
	if len(bytes.TrimSpace(before)) > 0 {
		if b, ok = d.readPackage(before); !ok {
			return false
		}
	}
	return maps.EqualFunc(a.runs, b.runs, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

// packageJSON is what decides about a package.json.
type packageJSON struct {
	runs map[string]json.RawMessage
	odd  bool // keys are there twice, or are another one but for their case
}

// readPackage reads it as JSON.parse does: keys are compared as they are, of several the last one
// counts. A byte order mark is stripped, as npm does.
func (d decides) readPackage(data []byte) (p packageJSON, ok bool) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	top, twice, ok := object(data, append(slices.Clip(d.keys), "scripts"))
	if !ok {
		// Any other value has no scripts; what is no JSON at all may be something to another program.
		return p, json.Valid(data) && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{"))
	}
	p = packageJSON{runs: map[string]json.RawMessage{}, odd: twice}
	for _, key := range d.keys {
		if v, there := top[key]; there {
			p.runs["."+key] = compact(v)
		}
	}
	scripts, twice, isObject := object(top["scripts"], d.scripts)
	if isObject {
		p.odd = p.odd || twice
		for _, name := range d.scripts {
			if v, there := scripts[name]; there {
				p.runs[name] = compact(v)
			}
		}
	}
	return p, true
}

// object decodes a JSON object's keys. twice reports whether two keys are the same but for their case, or
// one is the same as a known one in this way: of such, programs may take one or the other.
func object(data []byte, known []string) (values map[string]json.RawMessage, twice, ok bool) {
	if !json.Valid(data) {
		return nil, false, false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false, false
	}
	values = map[string]json.RawMessage{}
	folded := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		key, isString := t.(string)
		var v json.RawMessage
		if err != nil || !isString || d.Decode(&v) != nil {
			return nil, false, false
		}
		values[key] = v
		fold := strings.ToLower(key)
		twice = twice || folded[fold] || slices.ContainsFunc(known, func(k string) bool { return k != key && strings.EqualFold(k, key) })
		folded[fold] = true
	}
	return values, twice, true
}

// compact is a value without the space that means nothing.
func compact(v json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return v
	}
	return b.Bytes()
}
