package history

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/quote"
	"github.com/riverlytech/art/internal/reconcile/report"
	"github.com/riverlytech/art/sqlvfs"
)

// VerifyOptions are those of [Verify].
type VerifyOptions struct {
	DB     string
	Head   string // the hash of a seal that somebody has noted, in hexadecimal digits; "": none
	Stdout io.Writer
	JSON   bool
}

var (
	// ErrHash is of a Head that is no hash.
	ErrHash    = errors.New("a hash has 64 hexadecimal digits")
	errDiffer  = errors.New("they are not as they were sealed")
	errNoHead  = errors.New("none of its seals has the hash that was noted")
	errNoSeals = errors.New("no session has sealed any")
)

// verification is what JSON has.
type verification struct {
	Sound    bool     `json:"sound"`
	Seals    int      `json:"seals"`
	Records  int      `json:"records"`
	Gone     int      `json:"gone"`
	Unsealed []int64  `json:"unsealed"`
	Nobodys  int      `json:"of_no_session"` // commands
	Differs  []string `json:"differs"`
	Noted    *bool    `json:"noted"`
	Head     string   `json:"head"`
}

// Verify compares what sessions have recorded with their seals, and says what it has found. Without an error they are sound, and with Head
// what was sealed until then is what it was.
func Verify(o VerifyOptions) error {
	var noted sqlvfs.Hash
	if o.Head != "" {
		b, err := hex.DecodeString(o.Head)
		if err != nil || len(b) != len(noted) {
			return ErrHash
		}
		noted = sqlvfs.Hash(b)
	}
	m, err := sqlvfs.OpenMoment(o.DB, "")
	if err != nil {
		return fmt.Errorf("open database %s: %w", o.DB, err)
	}
	defer m.Close()
	v, err := m.Verify()
	if err != nil {
		return err
	}
	found := verification{Sound: v.Sound(), Seals: v.Seals, Records: v.Records, Gone: v.Gone, Unsealed: v.Unsealed, Nobodys: v.Nobodys, Differs: v.Differs}
	if o.Head != "" {
		has := v.Has(noted)
		found.Noted = &has
	}
	switch {
	case !found.Sound:
		err = errDiffer
	case found.Noted != nil && !*found.Noted:
		err = errNoHead
	}
	if v.Seals > 0 {
		found.Head = hex.EncodeToString(v.Head[:])
	} else if err == nil && o.Head == "" {
		err = errNoSeals
	}
	if e := o.tell(v, &found); e != nil {
		return e
	}
	if err != nil {
		err = fmt.Errorf("verify the records of %s: %w", cli.Printable(o.DB), err)
	}
	if errors.Is(err, errNoSeals) {
		err = cli.WithHint(err, "a session that has changed something, or has run for a second, seals at its end what it has recorded")
	}
	return err
}

// tell says what was found.
func (o *VerifyOptions) tell(v *sqlvfs.Verified, found *verification) error {
	if o.JSON {
		if found.Unsealed == nil {
			found.Unsealed = []int64{}
		}
		if found.Differs == nil {
			found.Differs = []string{}
		}
		text, err := quote.JSON(found)
		if err == nil {
			_, err = fmt.Fprintln(o.Stdout, text)
		}
		return err
	}
	var b strings.Builder
	for _, what := range v.Differs {
		fmt.Fprintf(&b, "DIFFERS %s\n", what)
	}
	if v.More > 0 {
		fmt.Fprintf(&b, "DIFFERS %d more\n", v.More)
	}
	if v.Seals > 0 {
		fmt.Fprintf(&b, "%d sealed, the last is session %d: %d records are as they were", v.Seals, v.Last, v.Records)
		if v.Gone > 0 {
			fmt.Fprintf(&b, ", %d are gone, as history drops old ones", v.Gone)
		}
		b.WriteString("\n")
	}
	for _, id := range v.Unsealed {
		fmt.Fprintf(&b, "session %d is not sealed: it runs, or was killed\n", id)
	}
	if v.Nobodys > 0 {
		fmt.Fprintf(&b, "%s of no session, which no seal speaks of: it was killed as it began, or somebody has added what they are said to have done\n", report.Count(v.Nobodys, "command"))
	}
	if v.Older > 0 {
		fmt.Fprintf(&b, "%d without a seal are older than the first one\n", v.Older)
	}
	if v.Seals > 0 {
		fmt.Fprintf(&b, "head %x\n", v.Head)
	}
	_, err := io.WriteString(o.Stdout, b.String())
	return err
}
