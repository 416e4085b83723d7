package main

import "os"

// cache is what is cached when the timed step begins. The host's own pages of the fixture are in
// memory in any case but cold.
type cache int

const (
	fresh cache = iota // nothing through this mount but what the set-up has read
	warm               // the step itself has run once before
	cold               // the kernel's caches have been dropped
)

func (c cache) String() string { return [...]string{"", "warm", "cold"}[c] }

// workload is something that is measured. Its scripts run by `sh -e` in $WS, the workspace of the
// fixture; see environment for what else they find.
type workload struct {
	name    string
	fixture string
	setup   string // not timed
	step    string
	cache   cache
}

// title is the name by which a workload is chosen and shown.
func (w workload) title() string {
	if w.cache == fresh {
		return w.name
	}
	return w.name + ", " + w.cache.String()
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
