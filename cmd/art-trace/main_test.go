package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/riverlytech/art/internal/trace"
)

func TestMain(m *testing.M) {
	// The launcher is the running program, which here is the test.
	if os.Args[0] == trace.LauncherName {
		trace.Launch(os.Args)
	}
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
