package sandbox

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/files"
)

// In a home that is a plain directory, art itself puts the single files that the guest may write, and follows them. One
// that sessions share has them before this session begins; one in memory, when the stage has made it.

// sharedHome returns the home that sessions share, as one that holds single files.
func (p *prepared) sharedHome() (*files.Directory, error) {
	if p.plainHome != nil {
		return p.plainHome, nil
	}
	records, err := p.home.Records(true)
	if err != nil {
		return nil, fmt.Errorf("open the home %s: %w", p.home.Name, err)
	}
	p.usePlainHome(files.Shared(p.home.Dir(), records))
	return p.plainHome, nil
}

func (p *prepared) usePlainHome(d *files.Directory) {
	p.plainHome = d
	p.onRelease(func() { d.End() })
}

// sweepFiles ends what sessions that were killed have left in the home.
func (p *prepared) sweepFiles() error {
	records, err := p.home.Records(false)
	if err != nil {
		return fmt.Errorf("open the home %s: %w", p.home.Name, err)
	}
	if records != nil {
		for _, err := range files.Shared(p.home.Dir(), records).Sweep() {
			cli.Fail("art", err)
		}
	}
	return nil
}

// reserve keeps a path of the home for a file that is mounted there.
func (p *prepared) reserve(path string) error {
	d, err := p.sharedHome()
	if err == nil {
		err = d.Reserve(path)
	}
	if err != nil {
		err = fmt.Errorf("mount on ~/%s in the home %s: %w", path, p.home.Name, err)
	}
	return err
}

// shareFile puts a file into the home that sessions share.
func (p *prepared) shareFile(f homeFile) error {
	d, err := p.sharedHome()
	if err == nil {
		err = p.home.PlaceFile(f.Path, func() error { return d.Add(f.Path, f.hostFile()) })
	}
	if err != nil {
		err = fmt.Errorf("show it at ~/%s in the home %s: %w", f.Path, p.home.Name, err)
	}
	return err
}

func (f *homeFile) hostFile() files.HostFile {
	return files.HostFile{Path: f.host, Writes: !f.Overlay}
}

// lendFile notes a file for a home that is in memory. What the host does not take would be lost with that.
func (p *prepared) lendFile(f homeFile) error {
	if f.Overlay {
		return cli.WithHint(errors.New("this session has nothing to keep what the guest writes to an overlay"),
			"start one that has: art run, --db DB or --home NAME; or make the mount's mode ro or rw")
	}
	if err := unix.Access(f.host, unix.W_OK); err != nil {
		return cli.WithHint(err, "make the mount's mode ro, if the guest is only to read it")
	}
	p.lent, p.plan.SendHome = append(p.lent, f), true
	return nil
}

// fillHome puts the files into the home that the stage has made, which has all its mount points by now. The guest has not
// begun.
func (s *session) fillHome() error {
	if s.lentHome == nil {
		return nil
	}
	uid, gid := s.hostIDs()
	d := files.InMemory(s.lentHome, files.Owner{UID: uid, GID: gid})
	s.plainHome = d
	for _, f := range s.lent {
		if err := d.Add(f.Path, f.hostFile()); err != nil {
			return fmt.Errorf("show %s at ~/%s: %w", f.host, f.Path, err)
		}
	}
	d.Follow()
	return nil
}
