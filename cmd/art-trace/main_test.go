package main

import (
	"os"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The roles that a test plays have their first thread to themselves.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		roles[role]()
	}
	testscript.Main(m, map[string]func(){
		"art-trace": main,
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}
