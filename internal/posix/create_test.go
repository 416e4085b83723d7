package posix

import "fmt"

// createStories are new objects of all kinds: their modes, owners, and times, and their parent's.
func createStories(add adder) {
	for _, umask := range []string{"0000", "0022", "0077", "0777", "0027"} {
		for _, mode := range []string{"0000", "0644", "0777", "1777", "2755", "4755", "7777", "0151"} {
			for _, who := range []string{"root", "owner", "many"} {
				for _, op := range []string{
					"mkdir d/x %s", "mkfifo d/x %s", "mknod d/x reg %s", "mknod d/x sock %s", "mknod d/x chr %s 1 3", "mknod d/x blk %s 259 70000",
					"open f d/x RDWR|CREAT %s", "open f d/x RDONLY|CREAT|EXCL %s", "open f d/x WRONLY|CREAT|TRUNC %s",
				} {
					op := fmt.Sprintf(op, mode)
					add("dir d 0777", fmt.Sprintf("%[1]s umask %[2]s; %[1]s %[3]s; %[1]s lstat d/x", who, umask, op))
				}
			}
		}
	}
	for _, dev := range []string{"0 0", "1 3", "255 255", "256 256", "4095 1048575", "0 4294967295", "4294967295 0", "300 65536"} {
		add("", "root mknod x chr 0600 "+dev)
		add("", "root mknod x blk 0600 "+dev)
	}
	for _, n := range []int{1, 59, 60, 61, 255, 1023, 1024, 4094, 4095, 4096} {
		target := fill("x", n)
		add("reg x 0644", fmt.Sprintf("root symlink %q s; root readlink s; root lstat s; root stat s; root rename s t; root readlink t", target))
		if n < 4096 {
			add(fmt.Sprintf("reg x 0644; sym s %q", target), "root readlink s; root stat s; root chown s -1 -1; root lchown s owner -1; root readlink s; root rename s t; root readlink t")
		}
	}
	add("", `root symlink "" s`)
	add("", `root symlink "\xff\xfe" s; root readlink s`)
	// The name of something removed is free again, for every kind after every other.
	for _, k := range kinds[1:] {
		for _, op := range []string{"mkdir x 0750", "mkfifo x 0640", "mknod x chr 0640 4 5", "open f x RDWR|CREAT|EXCL 0640", "symlink target x", "link old x", "rename old x", "rename olddir x"} {
			remove := "unlink x"
			switch k.name {
			case "directory":
				remove = "rmdir x"
			case "full directory":
				remove = "unlink x/z; root rmdir x"
			}
			add("reg old 0644; dir olddir 0755; reg olddir/z 0644; "+k.make(), "root "+remove+"; root "+op+"; root ls .")
			add("reg old 0644; dir olddir 0755; reg olddir/z 0644; "+k.make(), "root rename x gone; root "+op+"; root ls x; root ls gone")
		}
	}
}
