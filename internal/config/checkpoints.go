package config

import (
	"strconv"
	"time"
)

// kept are the bounds of history.
var kept = map[string]unit{
	"checkpoints": pieces,
	"days":        pieces,
	"size":        octets,
}

// checkpoints reads whether a session makes checkpoints by itself: "auto", "off", or how often; and whether the guest can ask for some.
func (n *node) checkpoints(into, guest *Entry) error {
	if _, ok := n.value.(string); ok {
		word, err := n.word("auto", "off")
		*into = Entry{Value: word, Origin: n.origin()}
		return err
	}
	origin := n.origin()
	err := n.object(map[string]func(*node) error{
		"every": func(n *node) error {
			seconds, err := n.limit(seconds)
			*into = Entry{Value: (time.Duration(seconds) * time.Second).String(), Origin: origin}
			return err
		},
		"guest": func(n *node) error {
			on, err := n.boolean()
			*guest = Entry{Value: strconv.FormatBool(on), Origin: origin}
			return err
		},
	})
	if err == nil && into.Value == "" && guest.Value == "" {
		err = n.errorf(`it has to say how often: {"every": "5m"}`)
	}
	return err
}

// checkpoints is the entry as it is shown.
func (e Entry) checkpoints() Setting {
	x := Told("checkpoints", e.Value, e.Origin)
	if e.Value != "auto" && e.Value != "off" && e.Value != "" {
		x.Value, x.text = map[string]string{"every": e.Value}, `{"every": `+strconv.Quote(e.Value)+"}"
	}
	return x
}
