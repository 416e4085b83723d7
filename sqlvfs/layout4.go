package sqlvfs

// layout4Tables came with layout 4. Each table is described where it is used.
const layout4Tables = workspaceTable + sessionTable + journalTable + versionColumns

// notBefore4 are the statements that have nothing to read in a database older than layout 4.
var notBefore4 = []string{qWorkspaces, qSessions, qJournal}
