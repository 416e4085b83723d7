package sync

import (
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/sqlvfs"
)

// verb is what pull does to a path.
type verb int

const (
	keep     verb = iota // nothing: it is as it should be
	mkdir                // make a directory
	chmodDir             // set a directory's mode
	write                // write a file
	touch                // set a file's mode and times; its content is right
	hardLink             // make it another name of a file
	symlink              // make a symbolic link
	remove               // remove it
)

// action is what is to be done to one path of the host, so that it becomes what the guest has there.
type action struct {
	do     verb
	path   string  // below the workspace
	in     *action // the directory that holds it; nil for the workspace itself
	attr   sqlvfs.Attr
	target string  // of a symbolic link
	other  *action // of a hard link: the file that it is another name of

	node    *sqlvfs.Node       // nil for what is copied from the host, and for what is removed
	was     *sqlvfs.Baseline   // what both sides last agreed about; nil: nothing
	source  string             // host path that content comes from, or ""
	version sqlvfs.Fingerprint // of the version of it that is meant

	there uint32             // type of what the host has at the path; 0: nothing
	host  sqlvfs.Attr        // of that
	now   sqlvfs.Fingerprint // of that
	tmp   string             // its name in the staging directory, once it is there
	tree  *action            // the new directory that it is staged in, or is; nil: it is staged on its own
	err   error              // why it could not be staged
	is    *unix.Stat_t       // what is in its place when it is done; nil: that is not known yet

	instead *action // removes the directory that it takes the place of

	hash []byte // of its content, once it is staged

	lazy   bool // of a directory: it is made only if something in it is
	beside bool // it goes beside the path that the row has
	agreed bool // keep: both sides are equal now, which is to be written down

	done, failed bool
	incomplete   bool // of a directory: something below failed
	touched      bool // of a directory: an entry was changed
}

// modeBits are what pull takes over of a mode. Set-user-ID and set-group-ID are not among them: on
// the host they would lend the caller's rights to whoever wrote the database.
const modeBits = 0o1777
