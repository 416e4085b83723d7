package fs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// What an earlier session has renamed out of a directory that is hidden now, or linked, or changed, is
// still the guest's as far as the database holds it. Nothing more of the host's shows through it.
func TestOriginsBelowWhatIsHidden(t *testing.T) {
	s := newSession(t)
	s.plant("keys/key", []byte("secret"))
	s.plant("keys/sub/deep/key", []byte("secret"))
	s.plant("keys/kept", []byte("secret"))
	s.must(os.Symlink("secret", filepath.Join(s.base, "keys/link")))
	s.must(s.rename("ws/keys/sub", "ws/sub"))
	s.must(s.rename("ws/keys/key", "ws/key"))
	s.must(s.link("ws/keys/kept", "ws/kept"))
	s.must(s.rename("ws/keys/link", "ws/link"))
	s.write("ws/sub/own", []byte("own"), 0)
	s.hide = []string{filepath.Join(s.base, "keys")}
	s.remount(t)
	s.plant("keys/sub/new", []byte("secret"))
	s.plant("keys/sub/dir/new", []byte("secret"))

	if names := s.names("ws/sub"); names != "own" {
		t.Errorf("the directory shows %q", names)
	}
	if names := s.names("ws/keys"); names != "kept" { // of which it has a row
		t.Errorf("the hidden directory shows %q", names)
	}
	for _, path := range []string{"keys/key", "keys/sub", "sub/new", "sub/dir", "sub/deep", "sub/deep/key"} {
		s.missing("ws/" + path)
	}
	for _, path := range []string{"ws/key", "ws/kept"} {
		if _, err := content(s, path, 1<<17); err != syscall.EACCES {
			t.Errorf("read %s: %v", path, err)
		}
		part, nothing := int64(3), int64(0)
		if err := s.setattr(path, SetAttr{Size: &part}); err != syscall.EACCES {
			t.Errorf("cut %s: %v", path, err)
		}
		s.must(s.setattr(path, SetAttr{Size: &nothing}))
		s.write(path, []byte("mine"), 0)
		s.reads(path, []byte("mine"))
	}
	// The guest can go on with what it has.
	s.write("ws/sub/another", []byte("x"), 0)
	s.must(s.rename("ws/sub/own", "ws/own"))
	s.must(s.rename("ws/sub", "ws/renamed"))
	if len(s.overlay.Broken()) != 0 {
		t.Errorf("files are said to be broken: %q", s.overlay.Broken())
	}
}

// A directory is hidden wherever the host moves it, and so is what is in it.
func TestHiddenDirectoryIsMoved(t *testing.T) {
	base := t.TempDir()
	keys := filepath.Join(base, "keys")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(keys, "sub/deep"), 0o755))
	must(os.WriteFile(filepath.Join(keys, "sub/deep/key"), []byte("secret"), 0o644))
	must(os.Mkdir(filepath.Join(base, "seen"), 0o755))
	h, err := OpenHost(base, keys)
	must(err)
	defer h.Close()
	must(os.Rename(keys, filepath.Join(base, "seen/moved")))
	if _, _, err := h.Lstat("seen"); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"seen/moved", "seen/moved/sub", "seen/moved/sub/deep/key"} {
		if _, _, err := h.Lstat(path); err != syscall.ENOENT {
			t.Errorf("attributes of %s: %v", path, err)
		}
		if d, err := h.OpenDir(path); err == nil {
			d.Close()
			t.Errorf("%s can be listed", path)
		}
		if f, err := h.Open(path); err == nil {
			f.Close()
			t.Errorf("%s can be read", path)
		}
		if _, err := h.Xattrs(path); err == nil {
			t.Errorf("%s shows its extended attributes", path)
		}
	}
	d, err := h.OpenDir("seen")
	must(err)
	defer d.Close()
	if list, err := d.ReadAll(); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	// What the host puts in its place is hidden too.
	must(os.MkdirAll(filepath.Join(keys, "sub"), 0o755))
	for _, path := range []string{"keys", "keys/sub"} {
		if _, _, err := h.Lstat(path); err != syscall.ENOENT {
			t.Errorf("attributes of %s: %v", path, err)
		}
	}
	must(unix.Symlink("secret", filepath.Join(keys, "link")))
	if _, err := h.Readlink("keys/link"); err != syscall.ENOENT {
		t.Errorf("link: %v", err)
	}
}

// Of a directory of which only some files are shown, these and the way to them are all that there is, also
// of what the host puts there later.
func TestShowOnly(t *testing.T) {
	s := newSession(t)
	s.plant(".art/config/sandbox.json", []byte("settings"))
	for _, path := range []string{".art/config/.env", ".art/config/.env~", ".art/config/sub/key", ".art/key", ".art/other/config/sandbox.json"} {
		s.plant(path, []byte("secret"))
	}
	s.show = []string{".art/config/sandbox.json", ".art/config/binds.json"}
	s.remount(t)
	shows := func(config string) {
		t.Helper()
		for dir, want := range map[string]string{"ws": ".art", "ws/.art": "config", "ws/.art/config": config} {
			if names := s.names(dir); names != want {
				t.Errorf("%s shows %q", dir, names)
			}
		}
		for _, path := range []string{"config/.env", "config/.env~", "config/.env.swp", "config/sub", "config/sub/key", "key", "other", "other/config/sandbox.json"} {
			s.missing("ws/.art/" + path)
		}
	}
	shows("sandbox.json")
	s.reads("ws/.art/config/sandbox.json", []byte("settings"))
	s.missing("ws/.art/config/binds.json")

	// As editors do it.
	s.plant(".art/config/.env.swp", []byte("secret"))
	s.plant(".art/config/sandbox.json~", []byte("new"))
	s.must(os.Rename(filepath.Join(s.base, ".art/config/sandbox.json~"), filepath.Join(s.base, ".art/config/sandbox.json")))
	s.plant(".art/config/binds.json", []byte("binds"))
	s.remount(t)
	shows("binds.json sandbox.json")
	s.reads("ws/.art/config/sandbox.json", []byte("new"))
	s.reads("ws/.art/config/binds.json", []byte("binds"))

	// The guest may change what it sees, but takes no directory along to where more of it would show.
	s.write("ws/.art/config/sandbox.json", []byte("own"), 0)
	s.write("ws/.art/config/.env", []byte("own"), 0)
	s.must(s.mknod("ws/none", syscall.S_IFREG|0o644))
	for _, path := range []string{"ws/.art", "ws/.art/config"} {
		if err := s.rename(path, "ws/moved"); err != syscall.EXDEV {
			t.Errorf("rename %s: %v", path, err)
		}
		if err := s.renameWith("ws/none", path, unix.RENAME_EXCHANGE); err != syscall.EXDEV {
			t.Errorf("exchange with %s: %v", path, err)
		}
	}
	s.must(s.rename("ws/.art/config/binds.json", "ws/binds.json"))
	s.reads("ws/binds.json", []byte("binds"))
	if names := s.names("ws/.art/config"); names != ".env sandbox.json" {
		t.Errorf("the directory shows %q", names)
	}
	s.reads("ws/.art/config/.env", []byte("own"))
}

// What is hidden otherwise stays so.
func TestShowOnlyOfWhatIsHidden(t *testing.T) {
	for hide, want := range map[string]string{"sandbox.json": "binds.json", "": "", "..": "", "link": "binds.json"} {
		s := newSession(t)
		s.plant(".art/config/sandbox.json", []byte("secret"))
		s.plant(".art/config/binds.json", []byte("binds"))
		s.must(os.Link(filepath.Join(s.base, ".art/config/sandbox.json"), filepath.Join(s.base, ".art/config/link")))
		s.hide = []string{filepath.Join(s.base, ".art/config", hide)}
		s.show = []string{".art/config/sandbox.json", ".art/config/binds.json"}
		s.remount(t)
		s.missing("ws/.art/config/sandbox.json")
		if want == "" {
			s.missing("ws/.art/config")
		} else if names := s.names("ws/.art/config"); names != want {
			t.Errorf("without %q there is %q", hide, names)
		}
	}
}

// A directory shows nothing of what it holds where the host moves it.
func TestShowOnlyIsMoved(t *testing.T) {
	for _, moved := range []string{".art", ".art/config"} {
		base := t.TempDir()
		config := filepath.Join(base, ".art/config")
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(os.MkdirAll(filepath.Join(config, "sub"), 0o755))
		must(os.Mkdir(filepath.Join(base, "seen"), 0o755))
		for _, name := range []string{".env", "sandbox.json", "sub/key"} {
			must(os.WriteFile(filepath.Join(config, name), nil, 0o644))
		}
		h, err := OpenHost(base)
		must(err)
		defer h.Close()
		must(h.ShowOnly(".art/config/sandbox.json"))
		if _, _, err := h.Lstat(".art/config/sandbox.json"); err != nil {
			t.Error(err)
		}
		must(os.Rename(filepath.Join(base, moved), filepath.Join(base, "seen/moved")))
		for _, path := range []string{"", "/config", "/.env", "/config/.env", "/sandbox.json", "/config/sandbox.json", "/sub/key", "/config/sub/key"} {
			path = "seen/moved" + path
			if _, _, err := h.Lstat(path); err != syscall.ENOENT {
				t.Errorf("attributes of %s: %v", path, err)
			}
			if d, err := h.OpenDir(path); err == nil {
				d.Close()
				t.Errorf("%s can be listed", path)
			}
			if f, err := h.Open(path); err == nil {
				f.Close()
				t.Errorf("%s can be read", path)
			}
		}
		d, err := h.OpenDir("seen")
		must(err)
		if list, err := d.ReadAll(); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
		d.Close()
		// What the host puts in its place shows as much as that did.
		must(os.MkdirAll(config, 0o755))
		must(os.WriteFile(filepath.Join(config, "sandbox.json"), nil, 0o644))
		must(os.WriteFile(filepath.Join(config, ".env"), nil, 0o644))
		if _, _, err := h.Lstat(".art/config/sandbox.json"); err != nil {
			t.Error(err)
		}
		if _, _, err := h.Lstat(".art/config/.env"); err != syscall.ENOENT {
			t.Error(err)
		}
	}
}
