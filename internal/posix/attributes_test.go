package posix

import "fmt"

// attributeStories are chmod and chown of everything by everyone.
func attributeStories(add adder) {
	targets := []string{
		"reg x 0%o %[2]s %[3]s", "dir x 0%o %[2]s %[3]s", "fifo x 0%o %[2]s %[3]s", "sock x 0%o %[2]s %[3]s",
		"chr x 0%o %[2]s %[3]s", "reg y 0%o %[2]s %[3]s; sym x y %[2]s %[3]s",
	}
	for _, target := range targets {
		for _, who := range people {
			for _, group := range []string{"owner", "member", "10105"} {
				for _, mode := range []string{"0000", "0644", "0111", "1777", "2755", "2644", "4755", "6777", "7777"} {
					add(fmt.Sprintf(target, 0o644, "owner", group), fmt.Sprintf("%s chmod x %s", who, mode))
					if who != "owner" {
						add(fmt.Sprintf(target, 0o644, who, group), fmt.Sprintf("%s chmod x %s", who, mode))
					}
				}
			}
			for _, mode := range []int{0o755, 0o6755, 0o2744, 0o4711, 0o7000} {
				for _, ids := range []string{"-1 -1", "owner owner", "owner -1", "-1 owner", "other -1", "-1 other", "many -1", "-1 10105", "root root"} {
					for _, op := range []string{"chown", "lchown"} {
						add(fmt.Sprintf(target, mode, "owner", "owner"), fmt.Sprintf("%s %s x %s", who, op, ids))
					}
					add(fmt.Sprintf(target, mode, "many", "many"), fmt.Sprintf("%s chown x %s", who, ids))
				}
			}
		}
	}
	for _, who := range people {
		for _, open := range []string{"open f x RDONLY", "open f x PATH"} {
			add("reg x 0666 owner owner", fmt.Sprintf("%[1]s %[2]s; %[1]s fchmod f 6711; %[1]s fstat f; %[1]s fchown f -1 owner; %[1]s fstat f", who, open))
		}
	}
	add("reg x 0644; link x y", "root chmod x 0600; root chown y owner owner; root lstat x")
}

// setidStories are what happens to the set-ID bits when a file is changed, and to new objects in
// set-group-ID directories.
func setidStories(add adder) {
	changes := []string{
		"open f x WRONLY; %[1]s write f new; %[1]s fstat f",
		"open f x WRONLY; %[1]s pwrite f 100000 new; %[1]s fstat f",
		"open f x WRONLY|APPEND; %[1]s write f new",
		"open f x RDWR; %[1]s write f \"\"",
		"open f x WRONLY; %[1]s ftruncate f 3",
		"open f x WRONLY; %[1]s ftruncate f 17",
		"open f x WRONLY|TRUNC",
		"open f x WRONLY|CREAT|TRUNC 0644; %[1]s write f new",
		"truncate x 3", "truncate x 17", "truncate x 0",
		"utimens x now now", "open f x RDONLY; %[1]s read f 3", "link x y", "rename x y",
		"open f x WRONLY; root chmod x 6777; %[1]s write f new; root chmod x 6777; %[1]s write f more",
	}
	for _, change := range changes {
		for _, mode := range []string{"6777", "4777", "2777", "2767", "6767", "4666", "7777", "0777"} {
			for _, who := range people {
				for _, owner := range []string{"owner", "many"} {
					add(fmt.Sprintf("reg x %s %s owner", mode, owner), fmt.Sprintf("%[1]s "+change, who))
				}
			}
		}
	}
	for _, mode := range []string{"2777", "3777", "0777", "6777"} {
		for _, who := range people {
			for _, group := range []string{"owner", "other"} {
				for _, op := range []string{
					"mkdir d/x 0755", "mkdir d/x 2755", "mkdir d/x 6777", "mkdir d/x 1777", "mkfifo d/x 6777", "mknod d/x sock 6777",
					"mknod d/x reg 6777", "mknod d/x reg 2767", "open f d/x RDWR|CREAT 6777", "open f d/x RDWR|CREAT 2755", "open f d/x RDWR|CREAT 2700",
					"symlink target d/x", "rename y d/x", "rename z d/x", "link y d/x",
				} {
					add(fmt.Sprintf("dir d %s root %s; reg y 0666 %s %[3]s; dir z 0777 %[3]s %[3]s", mode, group, who), who+" "+op)
				}
			}
		}
	}
}
