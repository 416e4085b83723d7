package control

import "golang.org/x/sys/unix"

// ReplicaFD is a pipe in which a Replica comes, that art-replicate is to make, once the database is there; or nothing, if there is no session. It
// copies until the other side of its standard input is closed, then copies what is left, and ends; meanwhile it writes ReplicaStates as frames
// to its standard output. Before the end there may be a ReplicaEnd on its standard input.
const ReplicaFD = 3

// ReplicaGiveUp has art-replicate copy nothing more, leave the database as one file, and end.
const ReplicaGiveUp = unix.SIGUSR1

// AsideMark stands in the name of a database, before a time, that does not go on from the copy which was brought back in its place: it may
// hold what was never copied.
const AsideMark = ".left-"

// Replica says what is to be copied, and where to.
type Replica struct {
	// Database is the path of the database, which a session writes, and Name what it is called at the place.
	Database, Name string
	// Workspace is that of the session, which the database may not know yet.
	Workspace string
	// Place is the URL. It is not on the command line, which everybody can read.
	Place string
	// Kept is the directory for what is not copied yet.
	Kept string
	// Token is the session's, by which its processes know the lease of one before.
	Token string
	// TakeOver says not to wait for another session that writes there.
	TakeOver bool
	// LeaveForks says to copy nothing of a database that is a fork.
	LeaveForks bool
}

// ReplicaState is how far the copy is.
type ReplicaState struct {
	// Behind is since when, in milliseconds, something is committed that is not copied; 0: all is.
	Behind uint64
	// Waits is how much that is, in bytes.
	Waits uint64
	// Why is what keeps it from being copied, or "".
	Why string
	// Done changes while the copy goes forward. One that does not is not waited for at the end.
	Done uint64
	// Failed says that art-replicate ends because of that, and Refused that the place has refused it: that stays so until somebody does something about
	// it. Hint is what.
	Failed, Refused bool
	Hint            string
	// Claimed says that the place is the session's from now on, Held that another session may have it, and Left that nothing is copied, and
	// art-replicate ends.
	Claimed, Held, Left bool
}

// ReplicaEnd says how the session ends.
type ReplicaEnd struct {
	// Unused says that no command has run, and Drop that the database is removed, and its copy with it.
	Unused, Drop bool
	// Pending is what is pending in the database, if that was Counted.
	Counted bool
	Pending Pending
}

// Pending counts what is pending in a database, as art status does.
type Pending struct {
	Changed     int `json:"changed"`
	Deleted     int `json:"deleted"`
	Held        int `json:"held"`
	Conflicts   int `json:"conflicts"`
	Directories int `json:"directories"`
}

// Paths is how many there are, without directories.
func (p *Pending) Paths() int { return p.Changed + p.Deleted + p.Held + p.Conflicts }

// pendingMost bounds each number, so that sums do not overflow.
const pendingMost = 1 << 40

// Valid tells whether these can be such numbers: what a store says may be anything.
func (p *Pending) Valid() bool {
	for _, n := range []int{p.Changed, p.Deleted, p.Held, p.Conflicts, p.Directories} {
		if n < 0 || n > pendingMost {
			return false
		}
	}
	return true
}
