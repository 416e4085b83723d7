package posix

import "fmt"

// timeStories are utimensat(2) in all its forms, and reading, which moves access times.
func timeStories(add adder) {
	values := []string{"now", "omit", "0.000000000", "0.000000001", "1.999999999", "1234567890.123456789", "2147483647.000000000", "2147483648.000000005",
		"4294967295.999999999", "4294967296.000000000", "7258118400.000000000", "9223372036.000000000", "-1.000000000", "-1.500000000", "-2147483648.000000000"}
	for _, atime := range values {
		for _, mtime := range values {
			add("reg x 0644 owner owner", fmt.Sprintf("root utimens x %s %s", atime, mtime))
		}
		for _, k := range kinds[1:] {
			add(k.make(), fmt.Sprintf("root utimens x %s 3.000000004", atime))
			add(k.make(), fmt.Sprintf("root utimens x 3.000000004 %s SYMLINK_NOFOLLOW", atime))
		}
	}
	for _, mode := range []string{"0644", "0666", "0444", "0000"} {
		for _, who := range people {
			for _, owner := range people {
				for _, times := range []string{"now now", "now omit", "omit now", "omit omit", "3.000000004 now", "3.000000004 5.000000006", "omit 3.000000004"} {
					add(fmt.Sprintf("reg x %s %s %[2]s", mode, owner), who+" utimens x "+times)
				}
			}
		}
	}
	for _, do := range []string{
		"open f x RDONLY; root read f 5", "open f x RDONLY; root read f 0", "open f x RDWR; root write f new", "open f x RDWR", "open f x RDWR|TRUNC",
		"open f x RDONLY|NOATIME; root read f 5", "truncate x 17", "truncate x 3", "open f x WRONLY; root ftruncate f 17",
		"chmod x 0644", "chown x -1 -1", "chown x root root", "access x 4", "open f e RDWR|TRUNC", "truncate e 0", "open f x RDWR|CREAT 0600",
		"open f e RDONLY; root read f 10", "open f x RDWR; root write f \"\"", "open f x RDONLY; root read f 5; root utimens x 3.000000004 5.000000006; root read f 5",
		"open f x RDWR; root write f new; root read f 3", "open f x RDWR; root write f new; root utimens x 3.000000004 5.000000006; root lseek f 0 0; root read f 3; root close f",
	} {
		add("reg x 0644; open n e WRONLY|CREAT 0644; close n", "root "+do)
	}
}
