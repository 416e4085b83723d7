package posix

import (
	"fmt"
	"strings"
)

// xattrStories are extended attributes of everything, set, read, listed and removed by everyone.
func xattrStories(add adder) {
	objects := []string{
		"reg x 0644 owner owner", "reg x 0444 owner owner", "reg x 0600 owner owner", "dir x 0755 owner owner", "dir x 1777 root root",
		"fifo x 0666 owner owner", "chr x 0666 owner owner", "sym x y; reg y 0666 owner owner", "sym x nowhere",
	}
	names := []string{"user.a", "user.", "user", "trusted.a", "unknown.a", "\"\"", "user." + strings.Repeat("n", 250), "user." + strings.Repeat("n", 251)}
	for _, object := range objects {
		for _, who := range people {
			for _, name := range names {
				add(object, fmt.Sprintf("%[1]s setxattr x %[2]s value NONE; %[1]s getxattr x %[2]s; %[1]s listxattr x; root listxattr x; %[1]s removexattr x %[2]s; %[1]s removexattr x %[2]s", who, name))
				add(object, fmt.Sprintf("%[1]s lsetxattr x %[2]s value NONE; %[1]s lgetxattr x %[2]s", who, name))
			}
			if !strings.HasPrefix(object, "sym") && !strings.HasPrefix(object, "fifo") && !strings.HasPrefix(object, "chr") {
				add(object+"; setxattr x user.a old NONE; setxattr x trusted.b other NONE", fmt.Sprintf(
					"%[1]s getxattr x user.a; %[1]s getxattr x trusted.b; %[1]s listxattr x; %[1]s setxattr x user.a new XATTR_REPLACE; %[1]s removexattr x user.a; root listxattr x; root getxattr x user.a", who))
			}
		}
	}
	for _, flags := range []string{"NONE", "XATTR_CREATE", "XATTR_REPLACE"} {
		for _, name := range []string{"user.old", "user.new"} {
			for _, value := range []string{"v", "\"\"", strings.Repeat("v", 2000), `"\x00\xff\n"`} {
				for _, then := range []string{"lstat x", "chmod x 0600", "rename x y; root getxattr y " + name, "link x y; root getxattr y " + name, "removexattr x user.old; root removexattr x user.new", "truncate x 2"} {
					add("reg x 0644; setxattr x user.old value NONE", fmt.Sprintf("root setxattr x %s %s %s; root getxattr x %[1]s; root %[4]s; root listxattr x; root listxattr y", name, value, flags, then))
				}
			}
		}
	}
}
