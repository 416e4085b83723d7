package main

import (
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

const (
	workspaceName = "ws"
	workerName    = ".worker"
	guestGoroot   = "/opt/go" // where a session sees Go, wherever it lies on the host
)

// fixtureScripts make, with `sh -eu` in an empty directory, what a workload finds as its workspace.
//
//go:embed fixtures/*.sh
var fixtureScripts embed.FS

// fixtures makes and keeps the trees that workloads start from.
type fixtures struct {
	dir                       string // where they are kept
	goroot, modcache, goproxy string // Go's
	repo                      string // this checkout
}

// get returns the directory that holds the workspace of a fixture, which is made if there is none
// of the same script and the same Go yet.
func (f *fixtures) get(name string) (string, error) {
	script, err := fixtureScripts.ReadFile("fixtures/" + name + ".sh")
	if err != nil {
		return "", fmt.Errorf("find the fixture %s: %w", name, err)
	}
	key := sha256.Sum256([]byte(string(script) + runtime.Version() + f.goroot))
	dir := filepath.Join(f.dir, fmt.Sprintf("%s-%x", name, key[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir, f.installWorker(dir)
	}
	old, err := filepath.Glob(filepath.Join(f.dir, name+"-*"))
	if err != nil {
		return "", fmt.Errorf("look for fixtures: %w", err)
	}
	for _, d := range old {
		if err := os.RemoveAll(d); err != nil {
			return "", fmt.Errorf("remove an old fixture: %w", err)
		}
	}
	fmt.Fprintf(os.Stderr, "bench: making the fixture %s\n", name)
	// Complete or not there at all.
	unfinished := dir + ".part"
	if err := f.make(filepath.Join(unfinished, workspaceName), string(script)); err != nil {
		return "", fmt.Errorf("make the fixture %s: %w", name, err)
	}
	if err := os.Rename(unfinished, dir); err != nil {
		return "", fmt.Errorf("keep the fixture: %w", err)
	}
	return dir, f.installWorker(dir)
}

func (f *fixtures) make(ws, script string) error {
	if err := os.MkdirAll(ws, 0o755); err != nil {
		return err
	}
	if err := f.bindGo(ws); err != nil {
		return err
	}
	cmd := exec.Command("/bin/sh", "-euc", script)
	cmd.Dir = ws
	// Git and Go are the caller's; their settings are not.
	cmd.Env = append(environment(filepath.Dir(ws), f.goroot), callerEnv()...)
	cmd.Env = append(cmd.Env, "PATH="+f.goroot+"/bin:"+os.Getenv("PATH"), "GOROOT="+f.goroot, "GOMODCACHE="+f.modcache, "REPO="+f.repo)
	if !hasVariable("GOPROXY") {
		cmd.Env = append(cmd.Env, "GOPROXY="+f.goproxy)
	}
	if !hasVariable("GOFLAGS") {
		cmd.Env = append(cmd.Env, "GOFLAGS=")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func hasVariable(name string) bool {
	_, ok := os.LookupEnv(name)
	return ok
}

// bindGo lets a session see Go, which may lie where a session sees nothing.
func (f *fixtures) bindGo(ws string) error {
	type bind struct {
		Host     string `json:"host"`
		Guest    string `json:"guest"`
		Readonly bool   `json:"readonly"`
	}
	text, err := json.Marshal(map[string][]bind{"binds": {{f.goroot, guestGoroot, true}}})
	if err != nil {
		return err
	}
	dir := filepath.Join(ws, ".art", "config")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "binds.json"), text, 0o644)
}

// installWorker puts this program into a fixture, where every system sees it.
func (f *fixtures) installWorker(dir string) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("install the worker: %w", err)
	}
	defer self.Close()
	name := filepath.Join(dir, workspaceName, workerName)
	if err := os.RemoveAll(name); err != nil {
		return fmt.Errorf("install the worker: %w", err)
	}
	to, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return fmt.Errorf("install the worker: %w", err)
	}
	_, err = io.Copy(to, self)
	if cerr := to.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("install the worker: %w", err)
	}
	return nil
}

// load reads all of a fixture, so that the host has it in memory.
func load(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(io.Discard, f)
		return err
	})
}
