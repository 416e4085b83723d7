package registries

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// cargo reads what cargo does (https://doc.rust-lang.org/cargo/reference/config.html), but the files of projects: registries, and what is
// in the place of crates.io. Where an index has its files is in the index itself, of which cargo keeps a copy.
func cargo(u *User) (*found, error) {
	home := u.directory("CARGO_HOME", ".cargo")
	f, c := &found{}, &cargoConfig{}
	if home != "" {
		file := filepath.Join(home, "config") // counts more than the other where both are there
		text, err := u.read(file)
		if err == nil && text == "" {
			file += ".toml"
			text, err = u.read(file)
		}
		if err != nil {
			return nil, err
		}
		c.file = file
		if c.table, err = readTOML(text); err != nil {
			return nil, fmt.Errorf("%s:%w", file, err)
		}
	}
	for _, kv := range u.Environ {
		name, text, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "CARGO_REGISTRIES_") && strings.HasSuffix(name, "_INDEX") && text != "" {
			c.indexes = append(c.indexes, said{text: text, from: "$" + name})
		}
	}
	if err := c.add(f, u.Getenv("CARGO_REGISTRIES_CRATES_IO_PROTOCOL")); err != nil {
		return nil, err
	}
	for _, p := range slices.Clone(f.places) {
		u.downloads(f, home, p)
	}
	return f, nil
}

type cargoConfig struct {
	file    string
	table   table
	indexes []said
}

// at returns what is at the end of a path of tables.
func (c *cargoConfig) at(path ...string) any {
	var v any = c.table
	for _, key := range path {
		t, _ := v.(table)
		v = t[key]
	}
	return v
}

// add adds the indexes.
func (c *cargoConfig) add(f *found, protocol string) error {
	registries, _ := c.table["registries"].(table)
	for name := range registries {
		if index, ok := c.at("registries", name, "index").(string); ok && name != "crates-io" {
			c.indexes = append(c.indexes, said{text: index, from: c.file})
		}
	}
	if said, ok := c.at("registries", "crates-io", "protocol").(string); ok && protocol == "" {
		protocol = said
	}
	// Of sources each may be in the place of another.
	source, seen := "crates-io", map[string]bool{}
	for next, ok := source, true; ok; next, ok = c.at("source", source, "replace-with").(string) {
		if source = next; seen[source] {
			return fmt.Errorf("%s: the source %.40q is in its own place", c.file, source)
		}
		seen[source] = true
	}
	switch index, ok := c.at("source", source, "registry").(string); {
	case ok:
		c.indexes = append(c.indexes, said{text: index, from: c.file})
	case source != "crates-io":
		if git, ok := c.at("source", source, "git").(string); ok {
			c.indexes = append(c.indexes, said{text: git, from: c.file})
		}
	case protocol == "git":
		f.byDefault("github.com", "static.crates.io")
	default:
		f.byDefault("index.crates.io", "static.crates.io")
	}
	slices.SortFunc(c.indexes, func(a, b said) int { return strings.Compare(a.text, b.text) })
	for _, index := range c.indexes {
		if err := f.add(index); err != nil {
			return err
		}
	}
	if proxy, ok := c.at("http", "proxy").(string); ok && proxy != "" {
		f.proxy(said{text: proxy, from: c.file})
	}
	return nil
}

// downloads adds where an index says that its files are. It is the index's word: that place is none of the user's choice.
func (u *User) downloads(f *found, home string, p Place) {
	host, _, _ := strings.Cut(p.Rule, ":")
	if home == "" || !p.Configured || strings.ContainsAny(host, `*?[\`) {
		return
	}
	copies, _ := filepath.Glob(filepath.Join(home, "registry/index", host+"-*", "config.json")) // the pattern is right
	for _, file := range copies[:min(len(copies), 10)] {
		text, err := u.read(file)
		var config struct{ DL string }
		if err != nil || json.Unmarshal([]byte(text), &config) != nil {
			continue
		}
		address, _, _ := strings.Cut(config.DL, "{")
		if d, err := parse(address); err == nil && d != nil && !strings.HasPrefix(d.Rule, "host:") {
			d.From = file
			f.places = append(f.places, *d)
		}
	}
}
