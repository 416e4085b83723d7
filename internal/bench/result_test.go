package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// sampled is a report of two workloads; the second has not run on overlayfs.
func sampled() *report {
	r := &report{Systems: []string{hostName, overlayName, artName}}
	add := func(workload, system string, ms ...time.Duration) {
		for _, n := range ms {
			s := sample{Part: workPart, Workload: workload, System: system, Wall: n * time.Millisecond, ToDisk: 2 * n * time.Millisecond}
			if system == artName {
				s.ServerPeak, s.Database = 50e6, 3e6
				s.ServerCPU, s.Requests = 10*time.Millisecond, 15
			}
			r.Samples = append(r.Samples, s)
		}
	}
	add("tar & <go>", hostName, 100, 100, 100)
	add("tar & <go>", overlayName, 100, 300, 200)
	add("tar & <go>", artName, 400, 400, 400)
	add("cp", hostName, 12_340)
	add("cp", artName, 3_085)
	return r
}

func TestBenchmarkFormat(t *testing.T) {
	r := sampled()
	var b bytes.Buffer
	if err := r.writeHeader(&b); err != nil {
		t.Fatal(err)
	}
	if err := r.write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\ngoarch: ", "\ncpus: ",
		"\nBenchmarkTar_&_<go>/system=host 1 100000000 ns/op 200000000 to-disk-ns/op\n",
		"\nBenchmarkCp/system=art 1 3085000000 ns/op 6170000000 to-disk-ns/op 10000000 server-ns/op 50000000 peak-B/op 3000000 database-B/op 15 requests/op\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}

func TestMedian(t *testing.T) {
	for want, times := range map[time.Duration][]time.Duration{250: {9000, 100, 300, 200}, 300: {9000, 100, 300}, 0: nil} {
		if got := median(times); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}

func TestSVG(t *testing.T) {
	var b bytes.Buffer
	if err := sampled().writeSVG(&b, overlayName); err != nil {
		t.Fatal(err)
	}
	svg := b.String()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
	}
	// art takes twice the time of overlayfs: a bar of one seventh of the axis, which is seven
	// doublings long, from the line at 1 to the right. The host takes half: the same to the left.
	for _, want := range []string{
		`<rect x="432.9" y="50" width="74.3" height="8" fill="#0b7285"/>`,
		`<rect x="358.6" y="59" width="74.3" height="8" fill="#adb5bd"/>`,
		`>2.00</text>`, `>0.50</text>`, `tar &amp; &lt;go&gt;`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
	if strings.Contains(svg, ">cp</text>") {
		t.Error("shows a workload that the reference has not run")
	}
}

func TestPositionStaysOnTheAxis(t *testing.T) {
	if l, r := position(1e-9), position(1e9); l != labelWidth || r != labelWidth+chartWidth {
		t.Errorf("the ends are at %v and %v", l, r)
	}
}
