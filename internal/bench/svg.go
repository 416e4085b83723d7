package main

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
)

// The chart's measures, in pixels.
const (
	labelWidth  = 210
	chartWidth  = 520
	rightMargin = 60 // for the number behind a bar
	barHeight   = 9
	groupGap    = 8
	headHeight  = 50
	footHeight  = 24
)

// The ends of the axis: no bar is drawn further, its number says what it would be.
const (
	leastRatio = 1.0 / 8
	mostRatio  = 16.0
)

const meanTitle = "geometric mean"

var colours = map[string]string{artName: "#0b7285", artDeviceName: "#66a5ad", fuseOverlayName: "#e8590c", overlayName: "#868e96", hostName: "#adb5bd"}

// writeSVG draws the time of each system as a multiple of the reference's, a bar that grows from
// 1 to the left where it is faster and to the right where it is slower, on a logarithmic axis.
func (r *report) writeSVG(w io.Writer, reference string) error {
	systems := slices.DeleteFunc(slices.Clone(r.Systems), func(s string) bool { return s == reference || r.mean(s, reference) == 0 })
	slices.Reverse(systems) // art first
	titles := slices.DeleteFunc(r.workloads(), func(title string) bool {
		return !slices.ContainsFunc(systems, func(s string) bool { _, ok := r.ratio(title, s, reference); return ok })
	})
	titles = append(titles, meanTitle)
	group := len(systems)*barHeight + groupGap
	height := headHeight + len(titles)*group + footHeight
	width := labelWidth + chartWidth + rightMargin

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	text(&b, 10, 18, "start", "#212529", "Time as a multiple of "+reference+"'s (left of 1: faster)")
	x := 10
	for _, s := range systems {
		fmt.Fprintf(&b, `<rect x="%d" y="27" width="10" height="10" fill="%s"/>`+"\n", x, colour(s))
		text(&b, float64(x+14), 36, "start", "#212529", s)
		x += 30 + 7*len(s)
	}
	for ratio := leastRatio; ratio <= mostRatio; ratio *= 2 {
		fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="%s"/>`+"\n", position(ratio), headHeight-4, height-footHeight, gridColour(ratio))
		text(&b, position(ratio), float64(height-footHeight+14), "middle", "#495057", axisLabel(ratio))
	}
	for i, title := range titles {
		top := headHeight + i*group
		text(&b, labelWidth-8, float64(top)+float64(len(systems)*barHeight)/2+4, "end", "#212529", title)
		for j, s := range systems {
			ratio, ok := r.ratio(title, s, reference)
			if title == meanTitle {
				ratio, ok = r.mean(s, reference), true
			}
			if !ok {
				continue
			}
			from, to := position(1), position(ratio)
			y := top + j*barHeight
			fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n",
				min(from, to), y, math.Abs(to-from), barHeight-1, colour(s))
			text(&b, max(from, to)+3, float64(y+barHeight-1), "start", "#495057", fmt.Sprintf("%.2f", ratio))
		}
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// position is the place of a ratio on the axis.
func position(ratio float64) float64 {
	ratio = min(max(ratio, leastRatio), mostRatio)
	return labelWidth + chartWidth*math.Log(ratio/leastRatio)/math.Log(mostRatio/leastRatio)
}

func text(b *strings.Builder, x, y float64, anchor, fill, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>`+"\n", x, y, anchor, fill, html.EscapeString(s))
}

func gridColour(ratio float64) string {
	if ratio == 1 {
		return "#343a40"
	}
	return "#dee2e6"
}

func axisLabel(ratio float64) string {
	if ratio < 1 {
		return fmt.Sprintf("1/%.0f", 1/ratio)
	}
	return fmt.Sprintf("%.0f", ratio)
}

func colour(system string) string {
	if c, ok := colours[system]; ok {
		return c
	}
	return "#5f3dc4"
}
