package git

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
)

// Agreed reports whether the host has by now what the guest has at a path of the git directory. What came under another
// name, or did not come, is nothing that both agree about: else the next pull would take the host's for what the guest
// has seen, and move it.
func (p *Plan) Agreed(at string) bool {
	if own := p.host.own; own != "" {
		at = strings.TrimPrefix(at, own+"/")
	}
	switch {
	case strings.HasPrefix(at, "objects/"):
		return true // those never change
	case strings.HasPrefix(at, "refs/"):
		g, gok := p.g.at(at, p.h)
		h, hok, err := p.host.readRef(at)
		return err == nil && g == h && gok == hok
	}
	limit := int64(maxPacked)
	host, err := p.host.read(at, limit)
	if err != nil {
		return false
	}
	switch at {
	case "packed-refs":
		return maps.Equal(parsePacked(host), p.g.packed)
	case "index":
		list, _, err := decodeIndex(host)
		return err == nil && p.co.own && p.co.bad == "" && sameIndex(list, p.co.gIndex)
	}
	guest, err := readGuest(p.guest, at, limit)
	return err == nil && bytes.Equal(host, guest)
}

// errUnseen says that a branch would move to where the host's commits are not, though the guest does not have them.
var errUnseen = errors.New("it stays: the guest does not have the host's commits")

// mayMove reports whether a branch of the host's can become another commit: one that descends from what it is, or
// one that the guest has put in the place of that. Its own reflogs tell, whatever else is known of both sides. That of HEAD does where the
// branch's does not go back so far: the guest has made the branch anew, or has no log of it.
func (p *Plan) mayMove(name string, is value, to ID) (bool, error) {
	if p.force || !strings.HasPrefix(name, "refs/heads/") || is.id.IsZero() || to.IsZero() {
		return true, nil
	}
	forward, err := p.objects.isAncestor(is.id, to)
	if forward || err != nil {
		return forward, err
	}
	host, guest, own := p.logs.of(name)
	if own && cameFrom(guest, is.id) {
		return true, nil
	}
	_, head, ownHead := p.logs.of("HEAD")
	switch anew := own && len(host) > 0 && len(lacks(guest, host)) == len(host); {
	case !ownHead:
		return false, nil
	case anew: // git removes the log with the branch
		return slices.ContainsFunc(head, func(l logLine) bool { return l.from == is.id || l.to == is.id }), nil
	}
	return !own && cameFrom(head, is.id), nil
}
