package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
)

// The commands of the worker are what no usual tool does without a process for each file.

// noise is a source of content that no file system can leave out or squeeze, the same each time.
func noise() *rand.ChaCha8 { return rand.NewChaCha8([32]byte{}) }

// writeFile is "write -size N FILE": N bytes from start to end, a MiB at a time.
func writeFile(args []string) error {
	set := flag.NewFlagSet("write", flag.ContinueOnError)
	size := set.Int64("size", 0, "")
	if err := set.Parse(args); err != nil {
		return err
	}
	f, err := os.Create(set.Arg(0))
	if err != nil {
		return err
	}
	defer f.Close()
	// Made once: the time is to be that of the file system.
	block := make([]byte, 1<<20)
	noise().Read(block)
	for left := *size; left > 0; left -= int64(len(block)) {
		block[0]++
		if _, err := f.Write(block[:min(left, int64(len(block)))]); err != nil {
			return err
		}
	}
	return f.Close()
}

// randomAccess is "random [-write] -n N FILE": N accesses of 4 KiB, anywhere, aligned.
func randomAccess(args []string) error {
	set := flag.NewFlagSet("random", flag.ContinueOnError)
	n, write := set.Int("n", 0, ""), set.Bool("write", false, "")
	if err := set.Parse(args); err != nil {
		return err
	}
	const size = 4096
	f, err := os.OpenFile(set.Arg(0), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Size() < size {
		return fmt.Errorf("%s is too small", f.Name())
	}
	source := noise()
	where, block := rand.New(source), make([]byte, size)
	source.Read(block)
	for range *n {
		off := where.Int64N(st.Size()/size) * size
		if *write {
			block[0]++
			_, err = f.WriteAt(block, off)
		} else {
			_, err = f.ReadAt(block, off)
		}
		if err != nil {
			return err
		}
	}
	return f.Close()
}

// appendSynced is "append -n N FILE": N times 1 KiB at the end, each of which is on the disk before the next one.
func appendSynced(args []string) error {
	set := flag.NewFlagSet("append", flag.ContinueOnError)
	n := set.Int("n", 0, "")
	if err := set.Parse(args); err != nil {
		return err
	}
	f, err := os.OpenFile(set.Arg(0), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 1<<10)
	noise().Read(block)
	for range *n {
		block[0]++
		if _, err := f.Write(block); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return f.Close()
}

const smallSize = 1 << 10

// smallFilesMain is "files -threads N -n FILES create|read|delete DIR". Each thread has a directory of its
// own, and an equal share of the files.
func smallFilesMain(args []string) error {
	set := flag.NewFlagSet("files", flag.ContinueOnError)
	threads, files := set.Int("threads", 1, ""), set.Int("n", 0, "")
	if err := set.Parse(args); err != nil {
		return err
	}
	content := make([]byte, smallSize)
	noise().Read(content)
	do, ok := map[string]func(string) error{
		"create": func(name string) error { return os.WriteFile(name, content, 0o644) },
		"read":   readWhole,
		"delete": os.Remove,
	}[set.Arg(0)]
	if !ok {
		return errors.New("usage: files -threads N -n FILES create|read|delete DIR")
	}
	errs := make([]error, *threads)
	var all sync.WaitGroup
	for i := range *threads {
		all.Go(func() {
			dir := filepath.Join(set.Arg(1), fmt.Sprint(i))
			errs[i] = os.MkdirAll(dir, 0o755)
			for j := 0; j < *files / *threads && errs[i] == nil; j++ {
				errs[i] = do(filepath.Join(dir, fmt.Sprint(j)))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func readWhole(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := io.Copy(io.Discard, f)
	if err == nil && n != smallSize {
		err = fmt.Errorf("%s has %d bytes", name, n)
	}
	return err
}
