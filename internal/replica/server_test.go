package replica

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"github.com/superfly/ltx"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/replica/ssh"
)

// sftpServer is a connection to OpenSSH's server of SFTP, which runs here.
type sftpServer struct {
	io.Reader
	io.WriteCloser
	cmd *exec.Cmd
}

func (c *sftpServer) Says() string { return "" }

func (c *sftpServer) Close() error {
	_ = c.cmd.Process.Kill()
	return c.WriteCloser.Close()
}

// startServer starts one.
func startServer() (*sftpServer, error) {
	program := ""
	for _, path := range []string{"/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server"} {
		if _, err := os.Stat(path); err == nil {
			program = path
		}
	}
	if program == "" {
		return nil, errors.New("OpenSSH's sftp-server is not installed here")
	}
	c := &sftpServer{cmd: exec.Command(program)}
	var err error
	if c.WriteCloser, err = c.cmd.StdinPipe(); err == nil {
		c.Reader, err = c.cmd.StdoutPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	go func() { _ = c.cmd.Wait() }()
	return c, err
}

// newTestServer is a server of this host. Its connections are kept in all.
func newTestServer(all *[]*sftpServer) *server {
	var mu sync.Mutex
	return newServer("test", func() (connection, error) {
		c, err := startServer()
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		if all != nil {
			*all = append(*all, c)
		}
		return c, nil
	})
}

// reachTest has this process reach sftp://test.
func reachTest(s *server) {
	servers.Lock()
	defer servers.Unlock()
	servers.all = map[ssh.Address]reached{{Host: "test"}: {s, s}}
}

// places are a directory of this host, and one of a server.
func places(t *testing.T) map[string]string {
	t.Helper()
	reachTest(newTestServer(nil))
	return map[string]string{"file": "file://" + t.TempDir(), "sftp": "sftp://test" + t.TempDir()}
}

// An object is swapped in the place of one that it has seen, or not at all.
func TestObjectsOfDirectories(t *testing.T) {
	for kind, url := range places(t) {
		t.Run(kind, func(t *testing.T) {
			s, err := open(t.Context(), url+"/new")
			must(t, err)
			if kind == "file" {
				must(t, os.Mkdir(strings.TrimPrefix(url, "file://")+"/new", 0o700)) // see place.Make
			}
			ctx := t.Context()
			if _, _, err := s.own.get(ctx, headName); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what is not there: %v", err)
			}
			first, err := s.own.swap(ctx, headName, []byte("1"), "")
			must(t, err)
			if _, err := s.own.swap(ctx, headName, []byte("2"), ""); !errors.Is(err, fs.ErrExist) {
				t.Errorf("in the place of none: %v", err)
			}
			second, err := s.own.swap(ctx, headName, []byte("3"), first)
			must(t, err)
			for _, tag := range []string{first, "", "0", `"0"`} {
				if _, err := s.own.swap(ctx, headName, []byte("4"), tag); !errors.Is(err, fs.ErrExist) {
					t.Errorf("in the place of %q: %v", tag, err)
				}
			}
			if data, tag, err := s.own.get(ctx, headName); err != nil || string(data) != "3" || tag != second {
				t.Errorf("it is %q, %q, %v", data, tag, err)
			}
			path := strings.TrimPrefix(strings.TrimPrefix(url, "file://"), "sftp://test") + "/new"
			must(t, os.Rename(path+"/art-2.json", path+"/gone"))
			if _, err := s.own.swap(ctx, headName, []byte("5"), second); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("in the place of one that is gone: %v", err)
			}
			must(t, os.Rename(path+"/gone", path+"/art-2.json"))
			dirs, files, err := s.own.entries(ctx)
			if err != nil || len(dirs) != 0 || !slices.Contains(files, "art-2.json") {
				t.Errorf("there are %v and %v: %v", dirs, files, err)
			}
			for name, want := range map[string]fs.FileMode{path: 0o700, path + "/art-2.json": 0o600} {
				if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s has the mode %v: %v", name, info.Mode(), err)
				}
			}
			missing, err := open(ctx, url+"/none/new")
			must(t, err)
			if _, err := missing.own.swap(ctx, headName, nil, ""); err == nil {
				t.Error("a directory is made in one that does not exist")
			}
		})
	}
}

// Of those that swap an object at once, one has done it, however far the others are behind: also where they make the directory first.
func TestSwapAtOnce(t *testing.T) {
	systems := map[string]func() fileSystem{
		"file": func() fileSystem { return local{} },
		"sftp": func() fileSystem { return newTestServer(nil) },
	}
	for kind, system := range systems {
		t.Run(kind, func(t *testing.T) {
			dir, rounds := t.TempDir(), 100
			if kind == "sftp" {
				dir, rounds = dir+"/new", 30
			}
			var won sync.Map
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					d, tag := directory{system(), dir}, "" // each has a connection
					for range rounds {
						next, err := d.swap(t.Context(), "x.json", []byte(tag), tag)
						if err == nil {
							if _, twice := won.LoadOrStore(next, true); twice {
								t.Errorf("%s was written twice", next)
							}
						} else if !errors.Is(err, fs.ErrExist) {
							t.Error(err)
						}
						if _, tag, err = d.get(t.Context(), "x.json"); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			d := directory{system(), dir}
			_, first, err := d.get(t.Context(), "x.json")
			must(t, err)
			for _, late := range []string{"", "1", "2"} { // which were removed
				if _, err := d.swap(t.Context(), "x.json", nil, late); !errors.Is(err, fs.ErrExist) {
					t.Errorf("after %q: %v", late, err)
				}
			}
			if _, tag, err := d.get(t.Context(), "x.json"); err != nil || tag != first {
				t.Errorf("it was %s, and is %s, %v", first, tag, err)
			}
			_, err = d.swap(t.Context(), "x.json", nil, first) // which removes what those have left that were late
			must(t, err)
			if names, _ := os.ReadDir(dir); len(names) != 1 {
				t.Errorf("there are %v", names)
			}
		})
	}
}

// What Litestream writes to a server, it reads there: all, and in parts. What is written twice is there once.
func TestServerFiles(t *testing.T) {
	url := places(t)["sftp"]
	s, err := open(t.Context(), url)
	must(t, err)
	client, err := s.client("generation-A")
	must(t, err)
	ctx := t.Context()
	if files, err := collect(ctx, client, 0, 0, true); err != nil || len(files) != 0 {
		t.Errorf("there are files: %v, %v", files, err)
	}
	must(t, client.DeleteAll(ctx))
	data := ltxFile(t, 400)
	for range 2 {
		info, err := client.WriteLTXFile(ctx, 0, 1, 1, bytes.NewReader(data))
		if err != nil || info.Size != int64(len(data)) {
			t.Fatalf("written: %+v, %v", info, err)
		}
	}
	dir := strings.TrimPrefix(url, "sftp://test") + "/generation-A/ltx/0"
	must(t, unix.Mkfifo(filepath.Join(dir, ltx.FormatFilename(2, 2)), 0o600))
	must(t, os.Symlink("/dev/zero", filepath.Join(dir, ltx.FormatFilename(3, 3))))
	files, err := collect(ctx, client, 0, 0, true)
	if err != nil || len(files) != 1 || files[0].Size != int64(len(data)) || !files[0].CreatedAt.Equal(time.Unix(1, 0)) {
		t.Fatalf("there are %+v, %v", files, err)
	}
	if files, err := collect(ctx, client, 0, 2, true); err != nil || len(files) != 0 {
		t.Errorf("from the second one on there are %v, %v", files, err)
	}
	for _, c := range []struct{ offset, size int64 }{{0, 0}, {100, 50}, {int64(len(data)) - 10, 10}, {int64(len(data)) - 10, 20}} {
		want := data[c.offset:]
		if c.size > 0 {
			want = want[:min(c.size, int64(len(want)))]
		}
		r, err := client.OpenLTXFile(ctx, 0, 1, 1, c.offset, c.size)
		must(t, err)
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("from %d on, %d bytes: %d bytes, %v", c.offset, c.size, len(got), err)
		}
		must(t, r.Close())
	}
	for _, n := range []ltx.TXID{2, 3} {
		if _, err := client.OpenLTXFile(ctx, 0, n, n, 0, 0); !errors.As(err, new(*refused)) {
			t.Errorf("what is no file is read: %v", err)
		}
	}
	if _, err := client.OpenLTXFile(ctx, 0, 9, 9, 0, 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
	// Who reads no further ends the reading ahead.
	reading, stop := context.WithCancel(ctx)
	r, err := client.OpenLTXFile(reading, 0, 1, 1, 0, 0)
	must(t, err)
	stop()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("read after the end: %v", err)
	}
	must(t, client.DeleteLTXFiles(ctx, files))
	must(t, client.DeleteLTXFiles(ctx, files))
	must(t, client.DeleteAll(ctx))
	if _, err := os.Stat(filepath.Dir(filepath.Dir(dir))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}

// A connection that is lost is made anew, and one that hangs is given up once nobody waits for an answer any more.
func TestServerLost(t *testing.T) {
	var all []*sftpServer
	reachTest(newTestServer(&all))
	s, err := open(t.Context(), "sftp://test"+t.TempDir())
	must(t, err)
	_, err = s.own.swap(t.Context(), headName, []byte("1"), "")
	must(t, err)
	must(t, all[0].cmd.Process.Kill())
	works := func() {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if data, _, err := s.own.get(t.Context(), headName); err == nil && string(data) == "1" {
				return
			} else if time.Now().After(end) {
				t.Fatalf("there is no other connection: %v", err)
			}
		}
	}
	works()
	must(t, all[1].cmd.Process.Signal(unix.SIGSTOP))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := s.own.get(ctx, headName); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that hangs: %v", err)
	}
	works()
}

// Why there is no connection is only in what ssh says.
func TestUnreached(t *testing.T) {
	s := newServer("h.example", nil)
	for says, want := range map[string]string{
		"Host key verification failed.":                                                                   "ssh does not know the key of h.example",
		"u@h.example: Permission denied (publickey,password).":                                            "ssh is not let in: u@h.example: Permission denied (publickey,password).",
		"subsystem request failed on channel 0":                                                           "h.example has no SFTP",
		"No key is known.\r\nHost key verification failed.\r":                                             "ssh does not know the key of h.example",
		"@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key verification failed.": "the key of h.example is not the one that ssh knows: it was set up anew, or another machine answers",
		"config: line 1: Bad configuration option: x\nconfig: terminating, 1 bad configuration options":   "ssh says: config: line 1: Bad configuration option: x",
		"ssh: connect to host h.example port 22: Connection refused":                                      "",
		"": "",
	} {
		err := s.unreached(says, io.ErrUnexpectedEOF)
		var no *refused
		if errors.As(err, &no) != (want != "") || want != "" && no.Error() != want {
			t.Errorf("%q: %v", says, err)
		}
	}
}

// endless is a directory that has entries without end, and some that lead elsewhere.
type endless struct{ long bool }

func (e endless) Filelist(*sftp.Request) (sftp.ListerAt, error) { return e, nil }

func (e endless) ListAt(list []os.FileInfo, offset int64) (int, error) {
	if !e.long && offset > 0 {
		return 0, io.EOF
	}
	if !e.long {
		for i, name := range []string{"", ".", "..", "a/b", "../x", "a"} {
			list[i] = named(name)
		}
		return 6, io.EOF
	}
	for i := range list {
		list[i] = named(strings.Repeat("x", 200) + strconv.FormatInt(offset+int64(i), 10))
	}
	return len(list), nil
}

type named string

func (n named) Name() string       { return string(n) }
func (n named) Size() int64        { return 0 }
func (n named) Mode() fs.FileMode  { return fs.ModeDir | 0o700 }
func (n named) ModTime() time.Time { return time.Time{} }
func (n named) IsDir() bool        { return true }
func (n named) Sys() any           { return nil }

// piped is a connection to a server in this process.
type piped struct{ net.Conn }

func (piped) Says() string { return "" }

// What a server lists is bounded, and leads nowhere else.
func TestHostileServer(t *testing.T) {
	for _, long := range []bool{false, true} {
		s := newServer("h", func() (connection, error) {
			mine, its := net.Pipe()
			go func() { _ = sftp.NewRequestServer(its, sftp.Handlers{FileList: endless{long}}).Serve() }()
			return piped{mine}, nil
		})
		dirs, _, err := directory{s, "/"}.entries(t.Context())
		switch {
		case long && !errors.As(err, new(*refused)):
			t.Errorf("a list without end: %d, %v", len(dirs), err)
		case !long && (err != nil || !slices.Contains(dirs, "a") || slices.ContainsFunc(dirs, func(d string) bool { return strings.Contains("..", d) || strings.Contains(d, "/") })):
			t.Errorf("it leads to %q, %v", dirs, err)
		}
	}
}
