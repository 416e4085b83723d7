package sandbox

import (
	"strings"
	"testing"
	"time"
)

// As long as it is held, nobody can write the exit code; it arrives whole.
func TestReportIsHeld(t *testing.T) {
	for _, first := range []string{"", `{ "child-pid": 5 }` + "\n", `{ "child-pid": 5 }` + strings.Repeat(" ", 4000)} {
		s := &session{}
		w, err := s.newReport()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteString(first); err != nil {
			t.Fatal(err)
		}
		if err := s.exitReport.hold(); err != nil {
			t.Fatal(err)
		}
		written := make(chan error, 1)
		go func() {
			_, err := w.WriteString(`{ "exit-code": 7 }` + "\n")
			w.Close()
			written <- err
		}()
		select {
		case err := <-written:
			t.Fatalf("after %q it was not held: %v", first, err)
		case <-time.After(100 * time.Millisecond):
		}
		s.exitReport.release()
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		s.exitReport.release()
		if code, ok := s.exitReport.exitCode(); code != 7 || !ok {
			t.Errorf("after %q: %d, %v", first, code, ok)
		}
	}
}
