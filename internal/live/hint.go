package live

import (
	"errors"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/sqlvfs"
)

// Hinted says what to do about an error of checkpoints, or of going back to one.
func Hinted(err error) error {
	hint := ""
	switch {
	case errors.Is(err, sqlvfs.ErrNoCheckpoint):
		hint = "`art log` shows those there are"
	case errors.Is(err, sqlvfs.ErrNothingToUndo):
		hint = "`art checkpoint` makes one, and `art log` shows those there are"
	case errors.Is(err, sqlvfs.ErrNothingToRedo):
		hint = "`art log` shows what there was before an undo: as \"before going back\", if it was no checkpoint yet; `art rewind` takes its number"
	case errors.Is(err, sqlvfs.ErrJournal):
		hint = "`art pull` finishes it"
	case errors.Is(err, sqlvfs.ErrReplaced):
		hint = "`art rewind CHECKPOINT PATH...` goes back for other paths, and art-fuse ls, cat and mount show them with --at"
	case errors.Is(err, sqlvfs.ErrAgreed):
		hint = "art-fuse ls, cat and mount show the tree of a checkpoint with --at"
	case errors.Is(err, sqlvfs.ErrMoved), errors.Is(err, sqlvfs.ErrParent), errors.Is(err, sqlvfs.ErrDeep), errors.Is(err, sqlvfs.ErrOtherNames):
		hint = "`art rewind` takes several paths, and without any goes back for all"
	case errors.Is(err, sqlvfs.ErrLabel):
		hint = "a number is a checkpoint's own name, @ stands before one, and .. between two, as in `art diff A..B`: take another label"
	case errors.Is(err, sqlvfs.ErrLabelTaken):
		hint = "take another label"
	}
	return cli.WithHint(err, hint)
}
