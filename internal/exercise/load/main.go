// Load has many sessions work side by side, each of which copies its database to one store that speaks S3, and tells what they use, how far
// the copies are behind, what the store is asked, and which limit of this machine is met first. In each, a tree is unpacked and committed by
// git, and lines are appended with fsync. Each copy is brought back at the end, and has to have all of that.
//
// Usage:
//
//	go run ./internal/exercise/load -gateway PROGRAM [flags]
//	go run ./internal/exercise/load -endpoint URL -bucket NAME [flags]
//
// The first starts versitygw on a directory; `make load` builds it. The second needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. A user other
// than root sees neither the memory that is shared nor the descriptors of art-replicate, and is told what was left out.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

type options struct {
	bin, dir, gateway, endpoint, bucket string
	sessions, atOnce, files, check      int
	work, every, sample                 time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "", "`directory` of the programs, instead of PATH")
	flag.StringVar(&o.dir, "dir", "", "work in this `directory`, which is made if need be, instead of a temporary one")
	flag.StringVar(&o.gateway, "gateway", "", "start this `program`, versitygw, as the store")
	flag.StringVar(&o.endpoint, "endpoint", "", "`URL` of a store that runs")
	flag.StringVar(&o.bucket, "bucket", "load", "`name` of the bucket")
	flag.IntVar(&o.sessions, "n", 200, "how many sessions")
	flag.IntVar(&o.atOnce, "at-once", 50, "how many of them at once")
	flag.IntVar(&o.files, "files", 200, "how many files the tree has, of 1 to 16 KiB")
	flag.IntVar(&o.check, "check", 0, "how many copies are brought back; 0 is all")
	flag.DurationVar(&o.work, "work", 20*time.Second, "how long each appends lines, in whole seconds")
	flag.DurationVar(&o.every, "every", time.Second, "time between two lines, in whole seconds")
	flag.DurationVar(&o.sample, "sample", 2*time.Second, "time between two looks at processes")
	flag.Parse()
	if flag.NArg() > 0 || o.sessions < 1 || o.atOnce < 1 || o.files < 1 || o.work < time.Second || o.every < time.Second || (o.gateway == "") == (o.endpoint == "") {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(o *options) (err error) {
	if o.bin == "" {
		art, err := exec.LookPath("art")
		if err != nil {
			return err
		}
		o.bin = filepath.Dir(art)
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "art-load-"); err != nil {
			return err
		}
		defer os.RemoveAll(o.dir)
	}
	for _, path := range []*string{&o.bin, &o.dir} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	l := &load{options: o}
	if err := l.prepare(); err != nil {
		return err
	}
	if o.gateway != "" {
		end, err := l.startGateway()
		if err != nil {
			return err
		}
		defer end()
	}
	if err := l.startProxy(); err != nil {
		return err
	}
	defer l.counted.server.Close()
	l.runAll()
	l.checkAll()
	l.report(os.Stdout)
	if n := len(l.failures()); n > 0 {
		return fmt.Errorf("%d of %d sessions failed", n, o.sessions)
	}
	if len(l.samples) == 0 {
		return errors.New("no session was seen at work: give them more time by -work, or look more often by -sample")
	}
	return nil
}
