package commands

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func openProc(t *testing.T) int {
	t.Helper()
	proc, err := unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(proc) })
	return proc
}

// TestChildren finds more children than the kernel lists at once, started by several threads, of which one is not the first.
func TestChildren(t *testing.T) {
	const each = 700 // which have ended, and nobody has waited for them
	var want []int
	listed := make(chan struct{})
	for range 2 {
		started := make(chan int, each)
		go func() {
			runtime.LockOSThread()
			defer func() {
				close(started)
				<-listed // if the thread ended, its children would be another's
			}()
			for range each {
				c := exec.Command("true")
				if err := c.Start(); err != nil {
					t.Error(err)
					return
				}
				started <- c.Process.Pid
			}
		}()
		for pid := range started {
			want = append(want, pid)
		}
	}
	got := children(openProc(t), os.Getpid())
	close(listed)
	for _, pid := range want {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d children, want %d", len(got), len(want))
	}
}

// TestStatus reads the status of a process with more groups than fit in a page.
func TestStatus(t *testing.T) {
	groups := make([]string, 4000)
	for i := range groups {
		groups[i] = fmt.Sprint(1_000_000 + i)
	}
	text := "Name:\tsh\nTgid:\t7\nPPid:\t3\nGroups:\t" + strings.Join(groups, " ") + "\nNStgid:\t7\t2\n"
	proc := t.TempDir()
	if err := os.MkdirAll(proc+"/7", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(proc+"/7/status", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	dir, err := unix.Open(proc, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	if s, ok := readStatus(dir, 7, 1); !ok || s != (status{tgid: 7, parent: 3, guest: 2}) {
		t.Errorf("%+v, %v", s, ok)
	}
	if n := namespaces(dir, 7); n != 2 {
		t.Errorf("in %d namespaces", n)
	}
}
