package reconcile

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/riverlytech/art/internal/hostfs"
)

// countAfter is how long a push goes on before it is worth while to count what it has to do.
const countAfter = 500 * time.Millisecond

// expect counts, beside the push, what there is to store, so that progress can tell how much is left.
// Short work, and work that nobody looks at, is not counted. It ends when end has returned.
func (p *pusher) expect() (end func()) {
	if !p.report.Shown() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(p.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ctx.Done():
		case <-time.After(countAfter):
			if files, bytes, err := p.count(ctx); err == nil {
				p.report.Expect(files, bytes)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// count counts what the push will find in the workspace: entries, and the content of those that have
// changed. What cannot be read is left out.
func (p *pusher) count(ctx context.Context) (files int, bytes int64, err error) {
	dirs := []string{"."}
	for len(dirs) > 0 && ctx.Err() == nil {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		f, err := p.host.openDir(dir)
		if err != nil {
			continue
		}
		names, _ := f.Readdirnames(-1)
		files += len(names)
		for _, name := range names {
			st, err := hostfs.StatAt(f, name)
			at := join(dir, name)
			if err != nil || len(at) > maxPath || !p.limit.Meets(at) || skipped(at) != "" || p.filter.By(at, kind(st.Mode) == unix.S_IFDIR) != "" {
				continue
			}
			switch b := p.base[at]; {
			case kind(st.Mode) == unix.S_IFDIR:
				dirs = append(dirs, at)
			case kind(st.Mode) == unix.S_IFREG && (b == nil || b.Fingerprint != hostfs.Fingerprint(&st)):
				bytes += st.Size
			}
		}
		f.Close()
	}
	return files, bytes, ctx.Err()
}
