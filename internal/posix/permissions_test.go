package posix

import "fmt"

// permissionStories are operations by all callers, with every set of permissions for each class.
func permissionStories(add adder) {
	classes := []string{"0%d00", "00%d0", "000%d"}
	inDirectory := []string{
		"open f d/x RDONLY", "open f d/x RDWR", "open f d/new RDWR|CREAT 0644", "open f d/x WRONLY|CREAT 0644",
		"mkdir d/new 0755", "mkfifo d/new 0644", "mknod d/new sock 0644", "mknod d/new chr 0644 1 3",
		"symlink x d/new", "link x d/new", "link d/x new", "unlink d/x", "rmdir d/sub",
		"rename d/x d/new", "rename d/x e/new", "rename e/x d/new", "rename e/x d/x", "rename d/sub e/new", "rename e/sub d/new",
		"stat d/x", "lstat d/nothing", "ls d", "readlink d/s", "chmod d/x 0600", "utimens d/x now now",
		"truncate d/x 3", "access d/x 0", "access d/x 4", "access d/nothing 2", "chdir d", "chdir d/sub",
	}
	for _, class := range classes {
		for bits := range 8 {
			mode := fmt.Sprintf(class, bits)
			for _, who := range people {
				for _, op := range inDirectory {
					add("dir d "+mode+" owner owner; dir e 0777; reg d/x 0666 owner owner; reg e/x 0666 owner owner; reg x 0666 owner owner; "+
						"dir d/sub 0777 owner owner; dir e/sub 0777 owner owner; sym d/s x", who+" "+op)
				}
			}
		}
	}
	onFile := []string{
		"open f x RDONLY", "open f x WRONLY", "open f x RDWR", "open f x RDONLY|TRUNC", "open f x WRONLY|APPEND",
		"open f x RDONLY|NOATIME", "open f x PATH",
		"truncate x 3", "utimens x now now", "utimens x 7.000000008 9.000000010", "utimens x now omit", "utimens x omit omit",
		"access x 1", "access x 2", "access x 4", "access x 7", "chmod x 0640", "chown x -1 -1", "link x new",
	}
	for _, class := range classes {
		for bits := range 8 {
			for _, who := range people {
				for _, op := range onFile {
					add("dir d 0777; "+fmt.Sprintf("reg d/x "+class+" owner owner", bits), who+" chdir d; "+who+" "+op)
				}
			}
		}
	}
	// A directory that moves changes its "..": that takes the right to write to it.
	for _, who := range people {
		for _, mode := range []string{"0755", "0555", "0775", "0777", "0700"} {
			for _, owner := range people {
				add(fmt.Sprintf("dir a 0777; dir b 0777; dir a/x %s %s %s; reg a/x/z 0644", mode, owner, owner), who+" rename a/x b/x")
				add(fmt.Sprintf("dir a 0777; dir a/x %s %s %s", mode, owner, owner), who+" rename a/x a/y")
			}
		}
	}
}

// stickyStories are removals and renames in directories with and without the sticky bit.
func stickyStories(add adder) {
	operations := []string{
		"unlink d/x", "rmdir d/x", "rename d/x d/new", "rename d/x e/new", "rename e/y d/x", "rename d/z d/x", "link d/x d/new",
		"open f d/x WRONLY|CREAT 0644", "open f d/x RDWR|TRUNC", "chmod d/x 0600", "symlink target d/new",
	}
	objects := []string{
		"reg d/x 0666 %[1]s %[1]s; reg d/z 0666 %[2]s %[2]s; reg e/y 0666 %[2]s %[2]s",
		"dir d/x 0777 %[1]s %[1]s; dir d/z 0777 %[2]s %[2]s; dir e/y 0777 %[2]s %[2]s",
		"sym d/x target %[1]s %[1]s; sym d/z target %[2]s %[2]s; fifo e/y 0666 %[2]s %[2]s",
		"fifo d/x 0666 %[1]s %[1]s; sock d/z 0666 %[2]s %[2]s; sym e/y target %[2]s %[2]s",
	}
	for _, mode := range []string{"1777", "0777", "1775", "3777"} {
		for _, dirOwner := range []string{"root", "owner", "other"} {
			for _, objectOwner := range []string{"root", "owner", "other"} {
				for _, who := range []string{"root", "owner", "member"} {
					for _, object := range objects {
						for _, op := range operations {
							add(fmt.Sprintf("dir d %s %s owner; dir e 0777; ", mode, dirOwner)+fmt.Sprintf(object, objectOwner, who),
								who+" "+op)
						}
					}
				}
			}
		}
	}
}
