package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/jacobsa/fuse"
	"github.com/jacobsa/fuse/fuseops"
	"github.com/jacobsa/fuse/fuseutil"
	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/control"
)

// How the stand-in for art-fuse behaves.
const (
	behaviour   = "ART_TEST_FUSE"
	serves      = "serve"
	refuses     = "refuse"      // says that it cannot serve
	ends        = "end"         // ends without a word
	refusesLate = "refuse late" // refuses when it has the database, and nobody waits for it
	endsLate    = "end late"    // ends without a word then
	dies        = "die"         // is killed while the guest runs
	fails       = "fail"        // cannot save at the end
	leaves      = "leave"       // has saved all, and is waited for before the guest is
)

// fakeFUSE is art-fuse as far as art knows it: the serve protocol, and a file
// system that holds one empty directory, the workspace.
func fakeFUSE(args []string) int {
	var what control.Serve
	err := control.ReadFile(os.NewFile(control.ServeFD, "serve"), &what)
	if errors.Is(err, io.EOF) {
		return 1 // there is no session
	}
	if err == nil {
		err = what.Check()
	}
	if err != nil || len(args) != 2 || args[0] != "serve" {
		panic(err)
	}
	sock := os.NewFile(control.SocketFD, "control")
	mode := os.Getenv(behaviour)
	if mode == ends {
		return 1
	}
	mount, err := control.Receive(sock)
	if err != nil || mount.Kind != control.Mount {
		return 1 // the session ended before it had a mount
	}
	for range what.Layers {
		m, err := control.Receive(sock)
		if err != nil || m.Kind != control.Mount && m.Kind != control.NoMount {
			return 1
		}
	}
	say := func(m control.Message) { _ = control.Send(sock, -1, m) }
	broken := func(what string) {
		say(control.Failure(cli.WithHint(errors.New(what+": it is broken"), "mend it")))
	}
	if mode == refuses {
		broken("open the database")
		return 1
	}
	say(control.Message{Kind: control.Opened})
	if m, err := control.Receive(sock); err != nil || m.Kind != control.GuestSocket {
		return 1 // the session ended
	}
	switch mode {
	case refusesLate:
		time.Sleep(100 * time.Millisecond)
		broken("serve")
		return 1
	case endsLate:
		time.Sleep(100 * time.Millisecond)
		return 1
	}
	root := &oneDirectory{name: what.Name, entered: make(chan struct{})}
	server := fuseutil.NewFileSystemServer(root)
	mfs, err := fuse.Mount(fmt.Sprintf("/dev/fd/%d", mount.FD), server, &fuse.MountConfig{})
	if err != nil {
		panic(err)
	}
	say(control.Message{Kind: control.Ready})
	sock.Close()
	if mode == dies || mode == leaves {
		<-root.entered // on a busy machine, the guest takes long to come
		time.Sleep(300 * time.Millisecond)
	}
	if mode == dies {
		unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	if mode == leaves {
		return 0
	}
	mfs.Join(context.Background())
	if mode == fails {
		return 1
	}
	return 0
}

type oneDirectory struct {
	fuseutil.NotImplementedFileSystem
	name    string
	once    sync.Once
	entered chan struct{} // closed when the workspace is looked for
}

const workspaceInode = fuseops.RootInodeID + 1

func (d *oneDirectory) attributes() fuseops.InodeAttributes {
	return fuseops.InodeAttributes{
		Nlink: 1, Mode: os.ModeDir | 0o755, Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid()),
	}
}

func (d *oneDirectory) GetInodeAttributes(_ context.Context, op *fuseops.GetInodeAttributesOp) error {
	op.Attributes = d.attributes()
	return nil
}

func (d *oneDirectory) LookUpInode(_ context.Context, op *fuseops.LookUpInodeOp) error {
	if op.Parent != fuseops.RootInodeID || op.Name != d.name {
		return fuse.ENOENT
	}
	d.once.Do(func() { close(d.entered) })
	op.Entry.Child = workspaceInode
	op.Entry.Attributes = d.attributes()
	return nil
}

func (d *oneDirectory) ForgetInode(context.Context, *fuseops.ForgetInodeOp) error { return nil }
