// Package hostdir has the names of [hostfs] for whoever has not moved there yet.
package hostdir

import "github.com/riverlytech/art/internal/hostfs"

// See hostfs.
var (
	Open     = hostfs.Open
	Create   = hostfs.Create
	Names    = hostfs.Names
	Stat     = hostfs.Stat
	StatAt   = hostfs.StatAt
	Readlink = hostfs.Readlink
	Chmod    = hostfs.Chmod
	Path     = hostfs.Path
	Unwrap   = hostfs.Unwrap
	SetTimes = hostfs.SetTimes
	KindName = hostfs.KindName
)
