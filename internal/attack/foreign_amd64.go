package attack

import "os"

// foreign are attempts with another architecture's calls.
var foreign = []Attempt{
	{Name: "make a call of another architecture", Needs: Host, try: func(*Target) error {
		return found(getpid32() == os.Getpid())
	}},
}

func init() { area("calls of the kernel", foreign) }

// getpid32 makes the call getpid(2) as a 32-bit program does.
func getpid32() int
