// Package reconcile moves changes of a workspace between a host directory and a database: [Push] brings
// what the host changed, [Pull] what the guest changed.
//
// # Who changed what
//
// Each path at which the host and the guest (the tree of the database) may differ is an item (item.go): what
// the host has there, what the guest has, and the baseline, which is what both were when they last agreed.
// Push and pull write it down (table art_baseline); of what a session has copied up, the row's origin is the
// baseline; of what it has hidden, the session writes one down; what it has not touched has no row, and no
// question arises. Package classify decides, by these three alone, whose version counts of content, mode,
// owner and extended attributes. What only one side changed goes to the other. What both changed is a
// conflict, unless they are equal; one about the content of a file holds for all of its names (links.go).
// It is left alone and named. Nothing else is ever overwritten or removed: what the host had at the moment
// of planning is looked for once more before it is replaced.
//
// # What stays out
//
// Neither side trusts the other's names. The host directory may change while it is read, and the
// database may have been written by the program that was kept in the sandbox. So every access to
// the host is relative to a descriptor of the workspace and follows no symbolic link (package hostfs);
// the names in a database are checked, a directory is entered once, set-user-ID and set-group-ID
// bits are dropped, and only files, directories and symbolic links are made.
//
// `.art/` at the top of the workspace is what the next session reads as its configuration: it
// takes no part. Neither do the database's own files, nor what a pull that was killed left behind
// (package staging).
//
// What the host would run by itself, and links that point out of the workspace, are held back until
// the user allows them (hold.go, packages held and settings).
//
// # Pull in four steps
//
//  1. gather (gather.go, removal.go, renamed.go, links.go): find the items, walking the rows of the database;
//     the host is asked about these paths only.
//  2. decide (decide.go, operation.go): from each decision, what the user asked for and what is held back,
//     operations follow. A dry run and diff (diff.go) end here. Nothing changes, and nothing will if the
//     host's file system cannot hold all of it (preflight.go, package staging).
//  3. stage (stage.go): write each new file into a hidden directory of the workspace. All content
//     that comes from host files is read now, while they are what the database refers to. A disk
//     that fills up is noticed here, with the workspace still untouched.
//  4. execute (execute.go, place.go): carry out the operations in the order of their dependencies,
//     with a journal by which the next push or pull finds what the guest has after a kill (journal.go,
//     recover.go), and write down the new baselines (commit.go).
//
// # The packages below
//
// What knows nothing of a workspace and its database is apart: classify (who changed what), selection (which
// paths the user means), held and settings (what the host would run), staging (files of the
// host), report, patch, pick and quote (what the user sees).
package reconcile
