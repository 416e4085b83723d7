package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// packageVersion is a build three commits after a tag, and packageName what dpkg
// and rpm, which order versions, are told of it.
const (
	packageVersion = "v1.2.0-3-gabc1234"
	packageName    = "1.2.0+3.gabc1234"
)

// TestPackage makes the packages, installs the one for dpkg, works with it beside
// another version, and removes it.
func TestPackage(t *testing.T) {
	builds(t)
	if testing.Short() {
		t.Skip("it takes several seconds of building")
	}
	tmp := t.TempDir()
	out, again, root := filepath.Join(tmp, "out"), filepath.Join(tmp, "again"), filepath.Join(tmp, "root")
	env := []string{"VERSION=" + packageVersion, "ARCHES=" + runtime.GOARCH, "BIN=" + filepath.Join(tmp, "bin"), "SOURCE_DATE_EPOCH=1600000000"}
	packages(t, out, env...)
	deb := filepath.Join(out, "art_"+packageName+"_"+runtime.GOARCH+".deb")

	t.Run("Reproducible", func(t *testing.T) {
		packages(t, again, append(env, "FORMATS=deb")...)
		if !same(t, deb, filepath.Join(again, filepath.Base(deb))) {
			t.Error("the same commit gives another package")
		}
		for _, program := range []string{"art", "art-fuse", "art-net", "art-replicate", "art-sync", "art-trace"} {
			text := read(t, filepath.Join(tmp, "bin-"+runtime.GOARCH, program))
			if strings.Contains(text, repo) {
				t.Errorf("%s holds the name of the directory that it was built in", program)
			}
		}
	})

	t.Run("Tarball", func(t *testing.T) {
		name := "art-" + packageName + "-linux-" + runtime.GOARCH
		must(t, exec.Command("tar", "-C", tmp, "-xzf", filepath.Join(out, name+".tar.gz")))
		got := must(t, exec.Command(filepath.Join(tmp, name, "bin/art"), "-q", "-m", tmp, "-d", filepath.Join(tmp, "db"), "--", "echo", "found"))
		if got != "found\n" {
			t.Errorf("the unpacked art prints %q", got)
		}
	})

	t.Run("Installed", func(t *testing.T) { installedBeside(t, root, deb) })
}

// installedBeside installs a package in root beside what was installed otherwise, and removes it.
func installedBeside(t *testing.T, root, deb string) {
	dpkg(t, root, "--install", deb)
	for _, dir := range []string{"usr/local/bin", "usr/local/libexec/art"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	must(t, exec.Command("cp", filepath.Join(bin, "art"), filepath.Join(root, "usr/local/bin/")))
	must(t, exec.Command("cp", filepath.Join(bin, "art-fuse"), filepath.Join(root, "usr/local/libexec/art/")))
	got := installed(t, root, `
		art=/usr/bin/art
		mkdir ws && echo old >ws/file
		$art --version
		$art -q -m ws -d ws.db -- sh -c 'echo new >file; cat file'
		cat ws/file
		$art diff -m ws -d ws.db || test $? = 1
		art-fuse ls ws.db /ws
		$art pull -q -m ws -d ws.db
		cat ws/file
		art-trace --log trace true && art-sync --version
		/usr/local/bin/art -q -m ws -d ws.db -- echo the other
		export ART_LIBEXEC_DIR=/usr/local/libexec/art
		$art -q -m ws -d ws.db -- true 2>&1 || true
	`)
	other := strings.TrimPrefix(strings.TrimSpace(must(t, exec.Command("art", "--version"))), "art ")
	if want := "art " + packageVersion + "\nnew\nold\nM file\nfile\nnew\nart-sync " + packageVersion + "\nthe other\n...\n" +
		"art-fuse: start: art-fuse is version " + other + ", its caller is version " + packageVersion + "\n..."; !like(got, want) {
		t.Errorf("the session prints\n%s\nand not\n%s", got, want)
	}
	if err := os.RemoveAll(filepath.Join(root, "usr/local")); err != nil {
		t.Fatal(err)
	}
	for reader, want := range map[string]string{"tmpfiles.d": "\nw- /sys/module/fuse/parameters/enable_uring - - - - Y\n", "modprobe.d": "\noptions fuse enable_uring=1\n"} {
		if text := read(t, filepath.Join(root, "usr/lib", reader, "art.conf")); !strings.Contains(text, want) {
			t.Errorf("the package has for %s %q", reader, text)
		}
	}
	dpkg(t, root, "--remove", "art")
	if left := tree(t, root); len(left) > 0 {
		t.Errorf("removing the package leaves %q", left)
	}
}

// TestPackageParameter has the parameter of FUSE set as at the start of a machine, in a directory that stands for one.
func TestPackageParameter(t *testing.T) {
	readme(t)
	if _, err := exec.LookPath("systemd-tmpfiles"); err != nil {
		t.Skip(err)
	}
	root := t.TempDir()
	dir := filepath.Join(root, "usr/lib/tmpfiles.d")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	must(t, exec.Command("cp", filepath.Join(repo, "internal/packaging/boot/tmpfiles.conf"), filepath.Join(dir, "art.conf")))
	create := func() { must(t, exec.Command("systemd-tmpfiles", "--root="+root, "--create", "art.conf")) }
	create() // an older kernel has no such parameter

	parameter := filepath.Join(root, "sys/module/fuse/parameters/enable_uring")
	if exists(parameter) {
		t.Error("the parameter was made")
	}
	if err := os.MkdirAll(filepath.Dir(parameter), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(parameter, []byte("N\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	create()
	if got := strings.TrimSpace(read(t, parameter)); got != "Y" {
		t.Errorf("the parameter is %q", got)
	}
}

// TestPackageProfile runs the package's scripts as dpkg does for the directory of
// another system.
func TestPackageProfile(t *testing.T) {
	readme(t)
	for parser, want := range map[string]bool{"true": true, "false": false} {
		root, tools := t.TempDir(), t.TempDir()
		profiles, data := filepath.Join(root, "etc/apparmor.d"), filepath.Join(root, "usr/share/art")
		for _, dir := range []string{profiles, data} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		must(t, exec.Command("cp", filepath.Join(repo, "internal/packaging/apparmor"), data))
		path, err := exec.LookPath(parser)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(tools, "apparmor_parser")); err != nil {
			t.Fatal(err)
		}
		script := func(name, action string) {
			t.Helper()
			cmd := exec.Command(filepath.Join(repo, "internal/packaging/deb", name), action)
			cmd.Env = append(os.Environ(), "DPKG_ROOT="+root, "PATH="+tools+":"+os.Getenv("PATH"))
			must(t, cmd)
		}
		script("postinst", "configure")
		if got := exists(filepath.Join(profiles, "art")); got != want {
			t.Errorf("with a parser that says %s, the profile is installed: %v", parser, got)
		}
		script("prerm", "upgrade")
		if got := exists(filepath.Join(profiles, "art")); got != want {
			t.Errorf("with a parser that says %s, the profile is there in an upgrade: %v", parser, got)
		}
		script("prerm", "remove")
		if exists(filepath.Join(profiles, "art")) {
			t.Errorf("with a parser that says %s, the profile stays", parser)
		}
	}
}

// TestVersion has internal/packaging/version say what builds of several trees are called.
func TestVersion(t *testing.T) {
	readme(t)
	dir := filepath.Join(t.TempDir(), "tree")
	version := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(filepath.Join(dir, "internal/packaging/version"), args...)
		cmd.Env = append(os.Environ(), "TZ=Asia/Tokyo")
		return must(t, cmd)
	}
	git := func(at string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", at, "-c", "user.name=a", "-c", "user.email=a@b.c"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-03-01T23:00:00Z", "GIT_AUTHOR_DATE=2026-03-01T23:00:00Z")
		must(t, cmd)
	}
	for name, content := range map[string]string{
		"docs/CHANGELOG.md":          "# Changes\n\n## Unreleased\n\n- new\n\n## v1.2.0, 2026-01-01\n\n- this\n\n## v1.2.0-rc1\n\n- that\n",
		"internal/packaging/version": read(t, filepath.Join(repo, "internal/packaging/version")),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := version(); got != "v1.2.0\n" {
		t.Errorf("without git it is %q", got)
	}
	git(filepath.Dir(dir), "init", "-q")
	git(filepath.Dir(dir), "commit", "-q", "--allow-empty", "-m", "of another")
	if got := version(); got != "v1.2.0\n" {
		t.Errorf("in another's repository it is %q", got)
	}
	git(dir, "init", "-q")
	git(dir, "add", ".")
	git(dir, "commit", "-q", "-m", "first")
	if got := version(); !like(regexp.MustCompile(`g[0-9a-f]{12}`).ReplaceAllString(got, "gHASH"), "v1.2.0-20260301-gHASH") {
		t.Errorf("without a tag it is %q", got)
	}
	git(dir, "tag", "other")
	git(dir, "tag", "v1.2.0")
	git(dir, "commit", "-q", "--allow-empty", "-m", "second")
	if got := version(); !like(regexp.MustCompile(`g[0-9a-f]{12}`).ReplaceAllString(got, "gHASH"), "v1.2.0-1-gHASH") {
		t.Errorf("behind a tag it is %q", got)
	}
	if got := version("notes", "v1.2.0"); got != "- this\n\n" {
		t.Errorf("of v1.2.0 the changelog says %q", got)
	}
	if out, err := exec.Command(filepath.Join(dir, "internal/packaging/version"), "notes", "v1.2.1").CombinedOutput(); err == nil {
		t.Errorf("of a version that it does not name the changelog says %q", out)
	}
}

// packages runs the script behind `make packages`.
func packages(t *testing.T, out string, env ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(repo, "internal/packaging/packages"), out)
	cmd.Env = append(os.Environ(), env...)
	must(t, cmd)
}

// dpkg installs into, or removes from, a directory that stands for a system. It
// does not need root for that, nor what the package depends on.
func dpkg(t *testing.T, root string, args ...string) {
	t.Helper()
	admin := filepath.Join(root, "var/lib/dpkg")
	if err := os.MkdirAll(filepath.Join(admin, "info"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(admin, "updates"), 0o755); err != nil {
		t.Fatal(err)
	}
	status, err := os.OpenFile(filepath.Join(admin, "status"), os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	status.Close()
	must(t, exec.Command("dpkg", append([]string{
		"--root=" + root, "--log=/dev/null", "--force-not-root", "--force-depends", "--force-script-chrootless", "--force-bad-path",
	}, args...)...))
}

// installed runs a script where the programs installed below root are in /usr,
// together with the host's own, and returns what it prints.
func installed(t *testing.T, root, script string) string {
	t.Helper()
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-euc",
		`mount -t overlay -o "lowerdir=$1/usr:/usr" overlay /usr && eval "$2"`, "sh", root, script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME="+cmd.Dir, "LC_ALL=C")
	return must(t, cmd)
}

// tree returns the files below root, but for what dpkg keeps itself.
func tree(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == filepath.Join(root, "var"):
			return filepath.SkipDir
		case path != root:
			names = append(names, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func same(t *testing.T, a, b string) bool {
	t.Helper()
	return read(t, a) == read(t, b)
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// must runs a command and returns what it prints.
func must(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return string(out)
}
