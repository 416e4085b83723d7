package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// worker makes files in every way in which a command can: by itself, by a fork of it that executes nothing, by others that it executes, and
// by a fork that outlives its parent. Each name tells the command that it is of, and the worker. What it is in the end is up to the worker's
// own numbers.
const worker = `id=$1 n=$2 x=$1
i=0
while [ $i -lt $n ]; do
	x=$(((x * 1103515245 + 12345) % 2147483648))
	f=f/$id.$i
	case $((x / 65536 % 6)) in
	0) echo $i >$f.sh.$id ;;
	1) (echo $i >$f.sh.$id) ;;
	2) cp seed $f.cp ;;
	3) touch $f.x; mv $f.x $f.mv ;;
	4) touch $f.chmod; chmod 700 $f.chmod ;;
	5) ( (echo $i >$f.sh.$id) & ) ;;
	esac
	i=$((i + 1))
done
wait
`

// wrong are the files of which the last that did anything to them is another command than their name tells.
const wrong = `SELECT d.name, hex(p.argv) FROM fs_dentry d JOIN fs_dentry f ON f.ino = d.parent_ino AND f.name = 'f'
LEFT JOIN art_change c ON c.ino = d.ino LEFT JOIN art_process p ON p.id = c.process
WHERE d.name <> '.here' GROUP BY d.ino HAVING max(p.id) IS NULL OR NOT CASE
	WHEN d.name GLOB '*.sh.*' THEN max(hex(p.argv) = hex('sh') || '00' || hex('worker') || '00' || hex(substr(d.name, instr(d.name, '.sh.') + 4)) || '00' || hex('%d') || '00')
	ELSE max(instr(p.argv, CAST(d.name AS BLOB)) > 0 AND d.name GLOB '*.' || CAST(p.argv AS TEXT)) END`

// TestWhose has 100 processes write files at once, and knows afterwards whose each of them is.
func TestWhose(t *testing.T) {
	processes, files := 100, 100
	if testing.Short() {
		processes, files = 20, 25
	}
	dir := t.TempDir()
	ws, db := filepath.Join(dir, "ws"), filepath.Join(dir, "a.db")
	for _, made := range []error{
		os.MkdirAll(filepath.Join(ws, "f"), 0o755), os.WriteFile(filepath.Join(ws, "worker"), []byte(worker), 0o644),
		os.WriteFile(filepath.Join(ws, "seed"), []byte("seed"), 0o644),
	} {
		if made != nil {
			t.Fatal(made)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	all := fmt.Sprintf("touch f/.here; for id in $(seq %d); do sh worker $id %d & done; wait; sleep 1", processes, files)
	out, err := exec.Command("art", "--commands", "-q", "-i=false", "-m", ws, "-d", db, "--", "sh", "-c", all).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	ask := func(query string) string {
		out, err := exec.Command("sqlite3", db, query).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", query, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	made := ask("SELECT count(*) FROM fs_dentry d JOIN fs_dentry f ON f.ino = d.parent_ino AND f.name = 'f' WHERE d.name <> '.here'")
	if made != fmt.Sprint(processes*files) {
		t.Fatalf("%s files", made)
	}
	if list := ask(fmt.Sprintf(wrong, files)); list != "" {
		t.Errorf("not of whom they are, out of %s files:\n%s", made, list)
	}
}
