package posix

import (
	"fmt"
	"strings"
)

// kinds make an object of each kind there is, and what it takes.
var kinds = []kind{
	{"nothing", ""},
	{"file", "reg {d}{x} 0644 owner owner"},
	{"linked file", "reg {d}{y} 0644 owner owner; link {d}{y} {d}{x}"},
	{"directory", "dir {d}{x} 0755 owner owner"},
	{"full directory", "dir {d}{x} 0755 owner owner; reg {d}{x}/z 0644"},
	{"fifo", "fifo {d}{x} 0644 owner owner"},
	{"socket", "sock {d}{x} 0644 owner owner"},
	{"block device", "blk {d}{x} 0644 owner owner"},
	{"character device", "chr {d}{x} 0644 owner owner"},
	{"link to a file", "reg {d}{y} 0644 owner owner; sym {d}{x} {y}"},
	{"link to a directory", "dir {d}{y} 0755 owner owner; sym {d}{x} {y}"},
	{"dangling link", "sym {d}{x} nowhere owner owner"},
	{"loop", "sym {d}{x} {y}; sym {d}{y} {x}"},
}

type kind struct{ name, template string }

// at makes the object under a name in a directory ("" or "d/"); y is a name for what else it takes.
func (k kind) at(dir, x, y string) string {
	return strings.NewReplacer("{d}", dir, "{x}", x, "{y}", y).Replace(k.template)
}

// make makes the object x in the current directory, and perhaps y.
func (k kind) make() string { return k.at("", "x", "y") }

// onPath are the operations on one path, which is %[1]q.
var onPath = []string{
	"chmod %[1]q 0712",
	"chown %[1]q other other",
	"lchown %[1]q other other",
	"truncate %[1]q 3",
	"mkdir %[1]q 0751",
	"mkfifo %[1]q 0640",
	"mknod %[1]q chr 0640 4 5",
	"mknod %[1]q blk 0640 400 70000",
	"mknod %[1]q sock 0640",
	"mknod %[1]q reg 0640",
	"open f %[1]q RDONLY",
	"open f %[1]q WRONLY",
	"open f %[1]q RDWR|TRUNC",
	"open f %[1]q RDONLY|DIRECTORY",
	"open f %[1]q RDONLY|NOFOLLOW",
	"open f %[1]q PATH; root fstat f",
	"open f %[1]q PATH|NOFOLLOW; root fstat f",
	"open f %[1]q WRONLY|CREAT 0640; root write f new",
	"open f %[1]q RDONLY|CREAT|EXCL 0640",
	"open f %[1]q RDWR|CREAT|TRUNC 0640",
	"open f %[1]q RDWR|CREAT|DIRECTORY 0640",
	"open f %[1]q RDWR|CREAT|NOFOLLOW 0640",
	"rmdir %[1]q",
	"unlink %[1]q",
	"symlink target %[1]q",
	"link %[1]q new",
	"linkat %[1]q new SYMLINK_FOLLOW",
	"link old %[1]q",
	"rename %[1]q new",
	"rename old %[1]q",
	"rename olddir %[1]q",
	"rename %[1]q old",
	"rename %[1]q olddir",
	"utimens %[1]q 7.000000008 9.000000010",
	"utimens %[1]q now omit SYMLINK_NOFOLLOW",
	"stat %[1]q",
	"lstat %[1]q",
	"access %[1]q 4",
	"readlink %[1]q",
	"ls %[1]q",
	"chdir %[1]q",
}

// pathStories are each operation on each kind of object, by each way to spell its name.
func pathStories(add adder) {
	const others = "reg old 0644; dir olddir 0755"
	forms := []string{"x", "x/", "x//", "x/.", "x/..", "x/z", "x/z/", "x/nothing/more", "./x", "x/../x"}
	for _, k := range kinds {
		for _, op := range onPath {
			for _, form := range forms {
				add(join(others, k.make()), "root "+fmt.Sprintf(op, form))
			}
		}
	}
	long := strings.Repeat("n", 255)
	bytes := "\xff\x01\n \\é\xc3"
	for _, path := range []string{
		"", ".", "..", "/", "./", "missing/x",
		long, long + "n", "x/" + long + "n", long + "/", long + "n/",
		bytes, bytes + "/",
		fill("x", 4095), fill("x", 4096), fill("x", 4097), fill("x/", 4095), fill("missing", 4095),
	} {
		for _, op := range onPath {
			do := "root " + fmt.Sprintf(op, path)
			// What these would change is not the story's.
			if strings.HasPrefix(path, "/") || path == ".." && strings.HasPrefix(op, "ch") {
				continue
			}
			add(join(others, "reg x 0644"), do)
			add(join(others, "dir x 0755"), do)
		}
	}
	for _, name := range []string{long, bytes, "-", " ", "*", "\x7f", "..."} {
		for _, k := range []string{"reg %q 0644", "dir %q 0755", "fifo %q 0644", "sym %q target"} {
			make := fmt.Sprintf(k, name)
			add("dir d 0755", "root "+make+"; root ls .")
			add("dir d 0755; "+make, fmt.Sprintf("root rename %q %q; root ls d; root rename %q %q; root ls .",
				name, "d/"+name, "d/"+name, "z"))
		}
	}
}

// fill is a path to name of exactly n bytes.
func fill(name string, n int) string {
	n -= len(name)
	return strings.Repeat("./", n/2) + strings.Repeat("/", n%2) + name
}
