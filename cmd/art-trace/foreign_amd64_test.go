package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// int80 is a program that asks for its id through the 32-bit interface, where
// getpid is 20 (and where 20 of the 64-bit one is writev), and ends with 0.
var int80 = []byte{
	0xb8, 20, 0, 0, 0, // mov eax, 20
	0xcd, 0x80, // int 0x80
	0x31, 0xff, // xor edi, edi
	0xb8, 60, 0, 0, 0, // mov eax, 60
	0x0f, 0x05, // syscall
}

// executable returns a static program of the code.
func executable(code []byte) []byte {
	const base, headers = 0x400000, 64 + 56
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01")
	b.Write(make([]byte, 9))
	put := func(values ...any) {
		for _, v := range values {
			binary.Write(&b, binary.LittleEndian, v)
		}
	}
	put(uint16(2), uint16(62), uint32(1), uint64(base+headers), uint64(64), uint64(0), uint32(0),
		uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0))
	size := uint64(headers + len(code))
	put(uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), size, size, uint64(4096))
	b.Write(code)
	return b.Bytes()
}

// A 32-bit call is reported as such whatever is selected, and not misread.
func TestForeignCall(t *testing.T) {
	cmd := tracer(t, "", []string{"--syscalls", "exit"}, "./int80")
	if err := os.WriteFile(filepath.Join(cmd.Dir, "int80"), executable(int80), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := regexp.MustCompile(`^(\d+) +i386:getpid\((\w+, ){5}\w+\) += \d+
\d+ +exit\(0\) +=` + ` \?
\d+ +\+\+\+ exited with 0 \+\+\+
$`)
	if log := logOf(t, cmd); !want.MatchString(log) {
		t.Errorf("got\n%s", log)
	}
	for _, engine := range []string{"ptrace", "notify"} {
		cmd.Args = append([]string{cmd.Args[0], "--entries", "--engine", engine}, cmd.Args[1:]...)
		again := &exec.Cmd{Path: cmd.Path, Args: cmd.Args, Dir: cmd.Dir, Env: cmd.Env}
		if out, err := again.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		want := regexp.MustCompile(`^\d+ +i386:getpid\((\w+, ){5}\w+\) += \?\n\d+ +exit\(0\) += \?\n$`)
		if log := logOf(t, cmd); !want.MatchString(log) {
			t.Errorf("%s: got\n%s", engine, log)
		}
	}
}
