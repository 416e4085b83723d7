package posix

import "os"

// hostCan tells whether the file system on which the host's side of the stories is told can do
// something. Where file systems differ, it may be no example for the overlay.
func hostCan(do func(*os.File) error) bool {
	f, err := os.CreateTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	return do(f) == nil
}
