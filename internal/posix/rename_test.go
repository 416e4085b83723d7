package posix

import "fmt"

// renameStories are each kind of object renamed onto each other, near and far.
func renameStories(add adder) {
	for _, from := range kinds {
		for _, to := range kinds {
			for _, op := range []string{"rename x t", "rename x t/", "rename x/ t", "renameat2 x t NOREPLACE", "renameat2 x t EXCHANGE"} {
				add(join(from.make(), to.at("", "t", "u")), "root "+op+"; root ls .")
			}
			// Into another directory, and over what is there.
			add(join("dir far 0755", from.make(), to.at("far/", "t", "u")), "root rename x far/t; root ls .; root ls far")
		}
		add(from.make(), "root rename x x")
		add(from.make(), "root rename x x/y")
		add(join("dir d 0755", from.make()), "root rename x d/x; root rename d/x y; root rename y x; root ls d")
		add(join("dir d 0755; dir d/e 0755", from.make()), "root rename x d/e/x; root rename d/e x2; root ls d; root lstat x2/x; root stat x2/x")
		// Under a directory that moves first.
		for _, then := range []string{
			"lstat e/x", "unlink e/x", "rmdir e/x", "rename e/x x", "rename e/x e/w", "chmod e/x 0600", "lchown e/x owner owner",
			"link e/x w", "truncate e/x 2", "mkdir d 0755; root ls d", "mkdir d 0755; root rename e/x d/x", "open f e/x RDONLY; root fstat f",
			"rename e d; root ls d",
		} {
			add(join("dir d 0755", from.at("d/", "x", "y")), "root rename d e; root "+then)
		}
	}
	deep := "dir a 0755; dir a/b 0755; dir a/b/c 0755; reg a/b/c/f 0644; reg a/b/g 0644"
	for _, do := range []string{
		"rename a a/b/x", "rename a a/b", "rename a/b a", "rename a/b/c a", "rename a/b/c/f a/b", "rename a/b/.. x", "rename a/b/. x", "rename . x", "rename x .",
		"rename a/b b; root rename b/c c; root rename c b/d; root ls b", "rename a/b/c c; root rmdir a/b; root unlink a/b/g; root rmdir a/b; root ls a",
		"rename a/b/c a/b/d; root rename a/b a/e; root rename a z; root lstat z/e/d/f; root open f z/e/d/f RDWR; root write f new",
		"unlink a/b/c/f; root rename a/b x; root ls x/c; root mkdir a/b 0755; root ls a/b",
	} {
		add(deep, "root "+do)
	}
	add("reg a 0644; link a b; link a c", "root rename a b; root ls .; root lstat a")
	add("reg a 0644; link a b; reg c 0644", "root rename c a; root lstat b; root ls .")
	add("reg a 0644; link a b; reg c 0644", "root rename a c; root lstat b; root lstat c")
	add("dir d 0755; reg a 0644; link a d/b", "root rename a d/b; root ls d; root lstat a")
	for i := range 4 {
		for _, who := range people {
			add(fmt.Sprintf("dir a 0%d77 owner owner; dir b 0777; reg a/x 0600 owner owner; reg b/x 0600 other other", 7-i*2), who+" rename a/x b/x")
		}
	}
}

// linkStories are names that come and go of objects that have several.
func linkStories(add adder) {
	for _, k := range kinds[1:] {
		for _, do := range []string{
			"link x new", "link x new; root unlink x", "link x new; root rename new x", "link x new; root unlink new; root lstat x",
			"link x new; root link new newer; root unlink x; root lstat newer", "linkat x new SYMLINK_FOLLOW", "linkat x new NONE",
			"link x new; root lchown new other other; root lstat x", "link x new; root truncate new 3; root stat x", "link x x", "link x ./x/",
		} {
			add(k.make(), "root "+do)
		}
	}
	// Names in several directories of one file.
	three := "dir d 0755; dir e 0755; reg x 0644 owner owner; link x d/x; link x e/x"
	for _, do := range []string{
		"unlink x; root lstat d/x", "unlink d/x; root lstat x", "chmod d/x 0600; root lstat e/x; root lstat x", "truncate e/x 1; root lstat x; root unlink e/x; root lstat d/x",
		"rename d/x e/x; root lstat x", "rename d f; root unlink f/x; root lstat x", "rename d f; root chmod f/x 0600; root lstat e/x", "link d/x y; root lstat e/x",
		"open f x WRONLY; root write f NEW; root unlink x; root unlink d/x; root fstat f; root lstat e/x; root unlink e/x; root fstat f",
		"unlink x; root unlink d/x; root unlink e/x; root ls .", "rename d e2; root rename e e3; root rename x e2/y; root lstat e3/x", "lstat d/x; root lstat e/x; root lstat x",
		"rename x d/y; root lstat e/x; root ls d", "open f d/x RDONLY; root unlink d/x; root fstat f; root lstat x; root unlink x; root fstat f; root unlink e/x; root fstat f; root read f 100",
	} {
		add(three, "root "+do)
	}
	for _, who := range people {
		for _, owner := range people {
			for _, object := range []string{"reg d/x 0644", "reg d/x 0666", "reg d/x 4755", "reg d/x 2755", "fifo d/x 0666", "sym d/x target"} {
				add(fmt.Sprintf("dir d 0777; %s %s %[2]s", object, owner), who+" link d/x d/y")
			}
		}
	}
}
