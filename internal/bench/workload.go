package main

import (
	"os"
	"strings"
)

// cache is what is cached when the timed step begins. The host's own pages of the fixture are in
// memory in any case but cold.
type cache int

const (
	fresh cache = iota // nothing through this mount but what the set-up has read
	warm               // the step itself has run once before
	cold               // the kernel's caches have been dropped
)

func (c cache) String() string { return [...]string{"", "warm", "cold"}[c] }

// workload is a session in which something is measured, step by step. Its scripts run by `sh -e` in
// $WS, the workspace of the fixture; see environment for what else they find.
type workload struct {
	fixture string
	setup   string // not timed
	steps   []step
	alone   bool // takes long: only if it is asked for
}

// step is something that is measured.
type step struct {
	name    string
	prepare string // not timed
	script  string
	cache   cache
	untold  bool // only there for what comes after it
	atOnce  bool // begins when the one before it has ended, and not when that is on the disk
}

// title is the name by which a step is chosen and shown.
func (s step) title() string {
	if s.cache == fresh {
		return s.name
	}
	return s.name + ", " + s.cache.String()
}

// String names what is measured.
func (w workload) String() string {
	var titles []string
	for _, s := range w.steps {
		if !s.untold {
			titles = append(titles, s.title())
		}
	}
	return strings.Join(titles, "; ")
}

// only leaves of a workload what must run for the chosen steps; without any it is left out.
func (w workload) only(chosen func(title string) bool) workload {
	var steps []step
	last := 0
	for _, s := range w.steps {
		s.untold = !chosen(s.title())
		if s.untold && s.cache != fresh {
			continue // it only reads
		}
		steps = append(steps, s)
		if !s.untold {
			last = len(steps)
		}
	}
	w.steps = steps[:last]
	return w
}

// environment is what every command finds, besides HOME and WS. Nothing comes from the caller, and
// temporary files lie in memory on all systems, as they do in a session of art.
func environment(home, goroot string) []string {
	ws := home + "/" + workspaceName
	return []string{
		"HOME=" + home, "WS=" + ws, "WORKER=" + ws + "/" + workerName,
		"PATH=" + goroot + "/bin:/usr/local/bin:/usr/bin:/bin",
		"TMPDIR=/dev/shm", "LANG=C.UTF-8",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		// Nothing that git does in the background shall go on into the next measurement.
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=gc.auto", "GIT_CONFIG_VALUE_0=0",
		"GIT_CONFIG_KEY_1=maintenance.auto", "GIT_CONFIG_VALUE_1=false",
		"GIT_AUTHOR_NAME=bench", "GIT_AUTHOR_EMAIL=bench@example.org",
		"GIT_COMMITTER_NAME=bench", "GIT_COMMITTER_EMAIL=bench@example.org",
		"CGO_ENABLED=0", "GOTOOLCHAIN=local", "GOPROXY=off", "GOTELEMETRY=off", "GOFLAGS=-mod=vendor -buildvcs=false -trimpath",
		"GOCACHE=" + home + "/go-cache",
		"npm_config_cache=" + ws + "/npm-cache", "npm_config_logs_max=0", "npm_config_update_notifier=false",
	}
}

// fromCaller are the variables that a host behind a proxy needs to fetch what fixtures are made of.
var fromCaller = []string{
	"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
	"npm_config_registry", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "GOPROXY", "GONOSUMDB", "GOFLAGS",
}

func callerEnv() []string {
	var env []string
	for _, name := range fromCaller {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
