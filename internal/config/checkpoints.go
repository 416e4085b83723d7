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

// checkpoints reads whether a session makes checkpoints by itself: "auto", "off", or how often.
func (n *node) checkpoints(into *Entry) error {
	*into = Entry{Origin: n.origin()}
	if _, ok := n.value.(string); ok {
		word, err := n.word("auto", "off")
		into.Value = word
		return err
	}
	every := false
	err := n.object(map[string]func(*node) error{"every": func(n *node) error {
		every = true
		seconds, err := n.limit(seconds)
		into.Value = (time.Duration(seconds) * time.Second).String()
		return err
	}})
	if err == nil && !every {
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
