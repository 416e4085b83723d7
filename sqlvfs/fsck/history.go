package fsck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/riverlytech/art/sqlvfs/internal/database"
)

// historyRules are the properties of checkpoints, and of the rows that say what the tree was at them. What breaks one cannot be shown;
// without it, the present is whole.
var historyRules = func() []rule {
	const badLabel = `label IS NOT NULL AND (typeof(label) <> 'text' OR length(CAST(label AS BLOB)) NOT BETWEEN 1 AND 200 OR label GLOB '*[' || char(1) || '-' || char(31) || ']*')`
	rules := []rule{
		{"checkpoint %d cannot be",
			`SELECT 0, id FROM art_checkpoint WHERE ` + database.BadCheckpoints,
			"it is gone",
			sql(`DELETE FROM art_checkpoint WHERE ` + database.BadCheckpoints)},
		{"checkpoint %d has the label %q, which cannot be one",
			`SELECT 0, id, label FROM art_checkpoint WHERE ` + badLabel,
			"it has none now",
			sql(`UPDATE art_checkpoint SET label = NULL WHERE ` + badLabel)},
		{"the fork %q is of checkpoint %d, which is not there",
			`SELECT 0, path, checkpoint FROM art_fork WHERE checkpoint NOT IN (SELECT id FROM art_checkpoint)`,
			"it is forgotten",
			sql(`DELETE FROM art_fork WHERE checkpoint NOT IN (SELECT id FROM art_checkpoint)`)},
	}
	for _, k := range database.Everything {
		rules = append(rules, rulesOf(k)...)
	}
	return rules
}()

// optional are columns of history that may be NULL of a row that was there.
var optional = []string{"hash", "birth"}

// rulesOf are the rules of one table of history.
func rulesOf(k *database.Kept) []rule {
	ino, kind := k.Key[0], "integer"
	if k == database.KeptWorkspace {
		kind = "text"
	}
	delete := func(condition string) repairStep { return sql("DELETE FROM " + k.Old + " WHERE " + condition) }
	var incomplete []string
	for _, v := range k.Values {
		if !slices.Contains(optional, v) {
			incomplete = append(incomplete, v+" IS NULL")
		}
	}
	bad := fmt.Sprintf("typeof(%s) <> '%s' OR typeof(checkpoint) <> 'integer' OR typeof(there) <> 'integer' OR there NOT IN (0, 1)", ino, kind)
	bad += " OR there = 1 AND (" + strings.Join(append(incomplete, k.Bad("")), " OR ") + ")"
	if k.Host {
		ino = "0" // it is about none
	}
	// What is of no checkpoint is of no use; a row of an inode that was not there yet is never looked at.
	const stray = "checkpoint NOT IN (SELECT id FROM art_checkpoint)"
	return []rule{
		{"a row of " + k.Old + " of checkpoint %v cannot be",
			fmt.Sprintf("SELECT iif(typeof(%[1]s) = 'integer', %[1]s, 0), checkpoint FROM %[2]s WHERE %[3]s", ino, k.Old, bad),
			"it is gone",
			delete(bad)},
		{"a row of " + k.Old + " is of checkpoint %d, which is not there",
			fmt.Sprintf("SELECT %s, checkpoint FROM %s WHERE %s", ino, k.Old, stray),
			"it is gone",
			delete(stray)},
	}
}
