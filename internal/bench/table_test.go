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
			s := sample{Workload: workload, System: system, Wall: n * time.Millisecond, ToDisk: 2 * n * time.Millisecond}
			if system == artName {
				s.ServerPeak, s.Database = 50e6, 3e6
				s.ServerCPU, s.ServerTotal, s.Polling = 10*time.Millisecond, 20*time.Millisecond, 5*time.Millisecond
				s.Operations = map[string]int64{"A": 1, "B": 5, "C": 2, "D": 3, "E": 4}
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

func TestTable(t *testing.T) {
	var b bytes.Buffer
	if err := sampled().writeTable(&b); err != nil {
		t.Fatal(err)
	}
	want := `seconds (spread)  host       overlayfs   art        art/host  art/overlayfs
tar & <go>        0.100 ±0%  0.200 ±25%  0.400 ±0%  4.00      2.00
cp                12.3 ±0%   -           3.08 ±0%   0.25      -
geometric mean                                      1.00      2.00

art         to disk    art-fuse CPU  to the end  polling  peak MB  database MB  FUSE operations
tar & <go>  0.800 ±0%  0.010         0.020       0.005    50.0     3.0          15: B 5, E 4, D 3, C 2
cp          6.17 ±0%   0.010         0.020       0.005    50.0     3.0          15: B 5, E 4, D 3, C 2
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTableWithoutArt(t *testing.T) {
	r := sampled()
	r.Systems = []string{hostName, overlayName}
	var b bytes.Buffer
	if err := r.writeTable(&b); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Contains(got, "art") {
		t.Errorf("art is named:\n%s", got)
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
