package sqlvfs

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// A workspace may have more lower layers than its own directory. Each is a directory of the root, beside the
// workspace's, with origins and baselines of its own; the tree in the guest's home does not show it.
const lowerPrefix = ".art-lower-"

// GitLayer is the name in the root of the layer that is the git directory of a workspace, where that lies outside of
// the workspace: a linked worktree's, a submodule's, or that above a directory within a repository.
func GitLayer(workspace string) string { return layerName("git", workspace) }

// TreeLayer is the name in the root of the layer that is the working tree around a directory within a repository.
func TreeLayer(workspace string) string { return layerName("tree", workspace) }

// MountLayer is the name in the root of the layer that is a mount of mode overlay, of the host's path, which has no
// symbolic links.
func MountLayer(path string) string { return layerName(mountKind, path) }

// IsMountLayer tells whether a name in the root is that of such a mount.
func IsMountLayer(name string) bool { return strings.HasPrefix(name, lowerPrefix+mountKind+"-") }

const mountKind = "mount"

// layerName is short, whatever it is of.
func layerName(kind, of string) string {
	sum := sha256.Sum256([]byte(of))
	return lowerPrefix + kind + "-" + hex.EncodeToString(sum[:8])
}

// IsLayer tells whether a name in the root is that of such a layer.
func IsLayer(name string) bool { return strings.HasPrefix(name, lowerPrefix) }
