package posix

import (
	"fmt"
	"math"
	"os"
	"strings"
)

// openStories are open(2) with all its flags, by everyone.
func openStories(add adder) {
	for _, access := range []string{"RDONLY", "WRONLY", "RDWR"} {
		for set := range 64 {
			flags := []string{access}
			for i, f := range []string{"CREAT", "EXCL", "TRUNC", "APPEND", "DIRECTORY", "NOFOLLOW"} {
				if set&(1<<i) != 0 {
					flags = append(flags, f)
				}
			}
			do := "root open f x " + strings.Join(flags, "|") + " 0640; root write f new; root lseek f 0 0; root read f 30; root fstat f"
			for _, k := range kinds {
				// What a fifo's or a device's descriptor does is not the file system's doing.
				if strings.Contains(k.name, "device") || k.name == "fifo" {
					do, _, _ = strings.Cut(do, ";")
				}
				add(k.make(), do)
			}
		}
	}
	for _, who := range people {
		for _, flags := range []string{"RDONLY|CREAT", "WRONLY|CREAT", "RDWR|CREAT", "RDWR|CREAT|TRUNC", "WRONLY|CREAT|EXCL"} {
			for _, mode := range []string{"0000", "0200", "0400", "0644"} {
				add("dir d 0777; reg d/x "+mode+" owner owner", fmt.Sprintf("%[1]s open f d/x %s 0444; %[1]s write f new", who, flags))
				add("dir d 0777", fmt.Sprintf("%[1]s open f d/x %s %s; %[1]s write f new; %[1]s lseek f 0 0; %[1]s read f 10; %[1]s fchmod f 0640", who, flags, mode))
			}
		}
		add("dir d 0777", who+" open f d TMPFILE|RDWR 0600; "+who+" write f new")
	}
	for _, do := range []string{
		"open f x WRONLY|APPEND; root write f one; root open g x RDWR; root write g TWO; root write f three; root read g 100",
		"open f x RDWR; root pwrite f 70000 far; root lseek f 0 2; root fstat f; root ftruncate f 65536; root lseek f 0 2",
		"open f x RDWR; root read f 7; root write f XX; root read f 3; root truncate x 2; root read f 3; root write f end; root fstat f",
		"open f d RDONLY; root fchmod f 0700; root fchown f owner owner; root futimens f 3.000000004 5.000000006; root fstat f; root read f 10; root write f x; root ftruncate f 0",
		"open f x RDONLY; root write f no; root ftruncate f 0; root futimens f now now",
		"open f x WRONLY; root read f 3; root ftruncate f 5",
		"open f s NOFOLLOW|PATH; root fstat f; root fchmod f 0600; root fchown f owner owner; root read f 1",
	} {
		add("reg x 0644; dir d 0755; sym s x", "root "+do)
	}
}

// sizeStories are truncations and extensions, to sizes sensible and not.
func sizeStories(add adder) {
	sizes := []string{"0", "1", "16", "17", "18", "4095", "4096", "65535", "65536", "65537", "1000000", "5000000000", "-1"}
	// tmpfs and XFS have files so large; in the overlay they end with a whole chunk.
	if !hostCan(func(f *os.File) error { return f.Truncate(math.MaxInt64) }) {
		sizes = append(sizes, fmt.Sprint(math.MaxInt64))
	}
	for _, size := range sizes {
		for _, k := range kinds[1:] {
			add(k.make(), "root truncate x "+size)
		}
		add("reg x 0644", "root open f x RDWR; root ftruncate f "+size+"; root fstat f; root truncate x 20; root read f 100")
		add("reg x 0644", "root truncate x 65537; root truncate x "+size+"; root truncate x 10; root truncate x 30")
		add("reg x 0644", "root open f x RDWR; root pwrite f "+size+" end; root fstat f; root truncate x 20")
	}
	for _, who := range people {
		add("reg x 0644 owner owner", who+" truncate x 0")
		add("reg x 0466 owner owner", who+" truncate x 30")
		add("reg x 0666 owner owner", who+" open f x RDWR; root chmod x 0; "+who+" ftruncate f 5; "+who+" write f new")
	}
}

// unlinkedStories are what can be done with objects that have no name any more.
func unlinkedStories(add adder) {
	removals := []string{"unlink x", "rename y x", "rename x y; root unlink y", "link x z; root unlink z; root unlink x", "unlink x; root reg x 0600"}
	uses := []string{
		"fstat f", "write f NEW; %[1]s lseek f 0 0; %[1]s read f 100; %[1]s fstat f", "pwrite f 200000 far; %[1]s fstat f; %[1]s read f 30", "ftruncate f 3; %[1]s fstat f; %[1]s read f 100",
		"fchmod f 4711; %[1]s fstat f", "fchown f -1 -1; %[1]s fstat f", "futimens f 3.000000004 5.000000006; %[1]s fstat f", "linkfd f new; %[1]s fstat f",
		"fchmod f 6777; other fstat f; %[1]s write f more; %[1]s fstat f", "read f 5; %[1]s close f; root ls .",
	}
	for _, remove := range removals {
		for _, use := range uses {
			for _, who := range []string{"root", "owner"} {
				for _, setup := range []string{"reg x 0666 owner owner; reg y 0666", "reg x 0666 owner owner; link x other; reg y 0666"} {
					add(setup, fmt.Sprintf("%[1]s open f x RDWR; root "+remove+"; %[1]s "+use, who))
				}
			}
		}
	}
	for _, do := range []string{
		"rmdir d; root fstat f; root fchmod f 0700; root fstat f; root fchown f owner owner; root futimens f 3.000000004 5.000000006; root fstat f",
		"rmdir d; root mkdir d 0700; root fstat f; root lstat d", "rename e d; root fstat f; root ls d",
		"chdir d; root rmdir ../d; root ls .; root mkdir x 0755; root open g x RDWR|CREAT 0644; root lstat .; root lstat ..; root symlink a b; root link ../s x; root rename ../s x; root chmod . 0700; root utimens . now now",
		"chdir d; root rename ../e ../d; root ls .; root mkdir x 0755; root lstat .",
	} {
		add("dir d 0755; dir e 0755; reg e/z 0644; reg s 0644", "root open f d RDONLY; root "+do)
		add("dir d 0755; dir e 0755; reg s 0644", "root open f d PATH; root "+do)
	}
	for _, k := range kinds[1:] {
		if !strings.Contains(k.name, "directory") || strings.Contains(k.name, "link") {
			add(k.make(), "root open f x PATH|NOFOLLOW; root unlink x; root fstat f; root linkfd f new; root linkat x new EMPTY_PATH")
		}
	}
}
