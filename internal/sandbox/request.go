package sandbox

import "github.com/riverlytech/art/internal/config"

// request is what a session is asked for, and what its start finds out about that.
type request struct {
	Options // the user's, with what was found in the place of what they leave open

	session   bool             // not only to show the settings
	user      *config.Settings // the user's, once they are read
	agent     *config.Agent    // that of Agent, once it is read
	agentLock int              // a descriptor, with which it stays
	preset    *config.Preset   // that of Preset, once it is read
	placed    bool             // the workspace is the agent's
	known     bool             // Database is the one that is kept for Workspace
	remote    string           // the URL that Database was named by, or ""
	token     string           // with it: of the lease that is taken there
	fresh     bool             // with it: it was not there yet
	named     string           // with it: the workspace as the user wrote it, if at all
	database  string           // the absolute path of Database, behind links
	sub       string           // where in Workspace the command starts; "" is its top
	dirs      []string         // for the guest's PATH, of the preset's program
	toolDirs  []string         // for it, too, of the tools
	gitConfig string           // for the guest's git
	denied    []config.Entry   // of the network, by settings in whose place a flag is
}
