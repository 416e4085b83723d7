// Command otel turns the events of a session of art into spans of OpenTelemetry: one for the session, one for each command in it.
//
//	art run --events 3 -- npm test 3> >(otel)
//
// It reads the events from its standard input, and sends the spans by OTLP over HTTP to where OTEL_EXPORTER_OTLP_ENDPOINT says,
// http://localhost:4318 without it, as all programs with the standard SDK do.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func main() {
	if err := run(context.Background(), os.Stdin); err != nil {
		fmt.Fprintf(os.Stderr, "otel: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader) error {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return fmt.Errorf("make an exporter: %w", err)
	}
	service := resource.NewSchemaless(attribute.String("service.name", "art"))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(service))
	err = convert(ctx, in, provider.Tracer("art"))
	if e := provider.Shutdown(ctx); err == nil && e != nil {
		err = fmt.Errorf("send spans: %w", e)
	}
	return err
}

// event is what this program knows of events (docs/events.md).
type event struct {
	Version  int       `json:"v"`
	Session  string    `json:"session"`
	Time     time.Time `json:"time"`
	Kind     string    `json:"event"`
	Command  []string  `json:"command"`
	Dir      string    `json:"dir"`
	Process  int64     `json:"process"` // of a session, from 1
	Parent   int64     `json:"parent"`
	Replaces int64     `json:"replaces"`
	ExitCode *int      `json:"exit_code"` // nil: unknown
	Why      string    `json:"why"`
	Call     string    `json:"call"`
	Name     string    `json:"name"`
	Port     int       `json:"port"`
	Allow    string    `json:"allow"`
	Count    int64     `json:"count"`
	Path     string    `json:"path"`
	What     []string  `json:"what"`
	Number   int64     `json:"checkpoint"`
	Label    string    `json:"label"`
}

// session has the spans that have not ended.
type session struct {
	ctx       context.Context // of the span of all of it
	root      trace.Span
	processes map[int64]process
}

type process struct {
	ctx  context.Context
	span trace.Span
}

// convert makes spans of all events up to the end. A session that was killed ends with the last event of it.
func convert(ctx context.Context, in io.Reader, tracer trace.Tracer) error {
	sessions := map[string]*session{}
	var last time.Time
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		if e.Version != 1 {
			return fmt.Errorf("read events: version %d is not known", e.Version)
		}
		last = e.Time
		s := sessions[e.Session]
		if s == nil {
			s = &session{processes: map[int64]process{}}
			s.ctx, s.root = tracer.Start(ctx, "session", trace.WithTimestamp(e.Time), trace.WithNewRoot(),
				trace.WithAttributes(attribute.String("art.session", e.Session)))
			sessions[e.Session] = s
		}
		if s.take(tracer, &e) {
			delete(sessions, e.Session)
		}
	}
	for _, s := range sessions {
		s.end(last)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	return nil
}

// of returns the span that something belongs to: that of a process, or of the session.
func (s *session) of(id int64) (context.Context, trace.Span) {
	if p, ok := s.processes[id]; ok {
		return p.ctx, p.span
	}
	return s.ctx, s.root
}

// take takes one event, and says whether it was the last.
func (s *session) take(tracer trace.Tracer, e *event) (last bool) {
	switch e.Kind {
	case "session.start":
		s.root.SetAttributes(attribute.StringSlice("process.command_args", e.Command))
	case "exec":
		ctx, _ := s.of(e.Parent)
		if p, ok := s.processes[e.Replaces]; ok { // it has become another program
			ctx = p.ctx
			p.span.End(trace.WithTimestamp(e.Time))
			delete(s.processes, e.Replaces)
		}
		name := "?"
		if len(e.Command) > 0 {
			name = path.Base(e.Command[0])
		}
		ctx, span := tracer.Start(ctx, name, trace.WithTimestamp(e.Time), trace.WithAttributes(
			attribute.StringSlice("process.command_args", e.Command), attribute.String("process.working_directory", e.Dir)))
		s.processes[e.Process] = process{ctx, span}
	case "exit":
		if p, ok := s.processes[e.Process]; ok {
			finish(p.span, e)
			delete(s.processes, e.Process)
		}
	case "session.end":
		for _, p := range s.processes {
			p.span.End(trace.WithTimestamp(e.Time))
		}
		finish(s.root, e)
		return true
	default:
		_, span := s.of(e.Process)
		span.AddEvent(e.Kind, trace.WithTimestamp(e.Time), trace.WithAttributes(e.attributes()...))
	}
	return false
}

// finish ends a span with an exit code, if that is known.
func finish(span trace.Span, e *event) {
	if e.ExitCode != nil {
		span.SetAttributes(attribute.Int("process.exit.code", *e.ExitCode))
		if *e.ExitCode != 0 {
			span.SetStatus(codes.Error, strings.TrimSpace(fmt.Sprintf("exit code %d %s", *e.ExitCode, e.Why)))
		}
	}
	span.End(trace.WithTimestamp(e.Time))
}

func (s *session) end(last time.Time) {
	for _, p := range s.processes {
		p.span.End(trace.WithTimestamp(last))
	}
	s.root.End(trace.WithTimestamp(last))
}

// attributes are those of what is said of that has happened at one moment.
func (e *event) attributes() (list []attribute.KeyValue) {
	for key, value := range map[string]string{"call": e.Call, "name": e.Name, "why": e.Why, "allow": e.Allow, "path": e.Path, "what": strings.Join(e.What, ","), "label": e.Label} {
		if value != "" {
			list = append(list, attribute.String("art."+key, value))
		}
	}
	for key, value := range map[string]int64{"port": int64(e.Port), "count": e.Count, "checkpoint": e.Number} {
		if value != 0 {
			list = append(list, attribute.Int64("art."+key, value))
		}
	}
	return list
}
