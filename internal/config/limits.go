package config

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Limit is the most that a guest may use of something: bytes, seconds or pieces.
type Limit struct {
	Value  uint64
	Origin string // where it was said
}

// unit is what a limit counts.
type unit int

const (
	pieces  unit = iota // a whole number
	octets              // a whole number, or a string such as "512M"
	seconds             // a string such as "90s" or "1h30m"
)

// limits are the limits there are.
var limits = map[string]unit{
	"cpu_time":  seconds,
	"database":  octets,
	"file_size": octets,
	"files":     pieces,
	"kept":      octets,
	"memory":    octets,
	"processes": pieces,
	"time":      seconds,
}

func (n *node) limit(u unit) (uint64, error) {
	wrong := func(want string) (uint64, error) {
		return 0, n.errorf("%s is not a limit: write %s", n.literal(), want)
	}
	switch v := n.value.(type) {
	case json.Number:
		if value, err := strconv.ParseUint(v.String(), 10, 63); err == nil && value > 0 && u != seconds {
			return value, nil
		}
	case string:
		switch u {
		case octets:
			if value, ok := ParseBytes(v); ok {
				return value, nil
			}
		case seconds:
			if d, err := time.ParseDuration(v); err == nil && d >= time.Second && d%time.Second == 0 {
				return uint64(d / time.Second), nil
			}
		}
	}
	switch u {
	case octets:
		return wrong(`a number of bytes, or a string such as "512M" or "2G"`)
	case seconds:
		return wrong(`a time in whole seconds such as "90s" or "1h30m"`)
	}
	return wrong("a whole number from 1")
}

// limits reads limits that each have a unit.
func (n *node) limits(units map[string]unit, into map[string]Limit) error {
	fields := map[string]func(*node) error{}
	for name, unit := range units {
		fields[name] = func(n *node) error {
			value, err := n.limit(unit)
			into[name] = Limit{value, n.origin()}
			return err
		}
	}
	return n.object(fields)
}

func (n *node) literal() string {
	switch v := n.value.(type) {
	case string:
		return strconv.Quote(v)
	case json.Number:
		return v.String()
	}
	return n.kind()
}

// ParseBytes reads a number of bytes with a suffix K, M, G or T, powers of 1024.
func ParseBytes(s string) (uint64, bool) {
	if s == "" {
		return 0, false
	}
	number, shift := s, strings.IndexByte("KMGT", s[len(s)-1])
	if shift >= 0 {
		number = s[:len(s)-1]
	}
	value, err := strconv.ParseUint(number, 10, 63)
	scale := uint64(1) << (10 * (shift + 1))
	if err != nil || value == 0 || value > math.MaxInt64/scale {
		return 0, false
	}
	return value * scale, true
}

// describe returns a limit as one would write it.
func describe(u unit, value uint64) string {
	switch u {
	case seconds:
		return strconv.Quote((time.Duration(value) * time.Second).String())
	case octets:
		for shift, suffix := range []string{"T", "G", "M", "K"} {
			if scale := uint64(1) << (10 * (4 - shift)); value%scale == 0 {
				return fmt.Sprintf("%q", strconv.FormatUint(value/scale, 10)+suffix)
			}
		}
	}
	return strconv.FormatUint(value, 10)
}
