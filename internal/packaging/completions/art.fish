# Completion in fish for art, art-fuse, art-sync and art-trace.

# What a file of completions defines is there once it is loaded; the same file
# stands under the name of each program, since fish looks for it by that.
functions -q __art_inside; and exit

# __art_arguments VALUED... prints the arguments so far that are no flags. VALUED
# are the flags that take a value.
function __art_arguments
    set -l tokens (commandline -opc)[2..]
    set -l skip 0
    for token in $tokens
        if test $skip = 1
            set skip 0
        else if contains -- $token $argv
            set skip 1
        else if not string match -qr '^-.' -- $token
            echo -- $token
        end
    end
end

# __art_payload VALUED... completes the command that comes after the flags, as if it
# stood alone.
function __art_payload
    set -l tokens (commandline -opc)[2..]
    test "$tokens[1]" = run; and set -e tokens[1]
    while string match -q -- '-?*' $tokens[1]
        if test "$tokens[1]" = --
            set -e tokens[1]
            break
        end
        contains -- $tokens[1] $argv; and set -e tokens[1]
        set -e tokens[1]
    end
    complete --do-complete=(string join ' ' -- (string escape -- $tokens) (commandline -ct))
end

# __art_value FLAG... prints the value that one of the flags has so far.
function __art_value
    set -l tokens (commandline -opc)
    for i in (seq 2 (count $tokens))
        if contains -- $tokens[$i] $argv
            echo -- $tokens[(math $i + 1)]
        else if contains -- (string split -m1 = -- $tokens[$i])[1] $argv
            string split -m1 = -- $tokens[$i] | tail -n +2
        end
    end | tail -n 1
end

# __art_inside DB TOP prints paths inside of a database, below TOP.
function __art_inside --argument-names db top
    test -n "$db"; and command -q art-fuse; or return
    set -l db (string replace -r '^~/' "$HOME/" -- $db)
    set -l dir (string replace -r '[^/]*$' '' -- (commandline -ct))
    for name in (art-fuse ls -p -- "$db" "$top/$dir" 2>/dev/null)
        # A name of control characters comes quoted, and is for nobody to type.
        string match -q "\$'*" -- $name; or echo -- $dir$name
    end
end

# Lists of system calls.
function __art_calls
    set -l done (string replace -r '[^,]*$' '' -- (commandline -ct | string replace -r '^--[a-z-]*=' ''))
    for class in %file %desc %network %process %memory %signal %ipc %creds %clock %stat
        echo -- $done$class
    end
end

function __art_agents
    command -q art; and art agent ls 2>/dev/null | string replace -r ' .*' '\tAgent'
end

function __art_homes
    set -l data $XDG_DATA_HOME
    test -n "$data"; or set data ~/.local/share
    path basename -- $data/art/homes/*/
end

# art

set -g __art_valued -m --mount -d --db --name --home --agent -e --env --network --mode --path --preset --see --hide --allow --trace-log --trace-syscalls --trace-format

# __art_runs tells whether a flag of a session may come: none of the commands with
# other flags is there, and none for the guest yet.
function __art_runs
    set -l args (__art_arguments $__art_valued)
    test -z "$args"; or contains -- "$args" run config doctor
end

# __art_presets lists the presets.
function __art_presets
    command -q art; and art presets 2>/dev/null | string replace -r ' .*' '\tPreset'
end

function __art_first
    test (count (commandline -opc)) = 1
end

# __art_is NAME... tells whether the line has one of these commands.
function __art_is
    contains -- "$(commandline -opc)[2]" $argv
end

complete -c art -n 'not __art_is push pull diff reset status log list rm home agent config trust presets doctor' -x -a '(__art_payload $__art_valued)'
complete -c art -n __art_first -a run -d 'Run a command whose changes stay apart'
complete -c art -n __art_first -a '(__art_presets)'
complete -c art -n __art_first -a '(__art_agents)'
complete -c art -n __art_first -a push -d 'Bring what the host changed into a database'
complete -c art -n __art_first -a pull -d 'Bring what the guest changed to the host'
complete -c art -n __art_first -a diff -d 'Show what the guest changed'
complete -c art -n __art_first -a reset -d 'Give up what the guest changed'
complete -c art -n __art_first -a status -d 'Show what is pending'
complete -c art -n __art_first -a log -d 'Show the sessions there were'
complete -c art -n __art_first -a list -d 'Show all databases of workspaces'
complete -c art -n __art_first -a rm -d 'Remove the database of a workspace'
complete -c art -n '__art_is status log list rm' -f
complete -c art -n '__art_is rm' -a "(command -q art; and art list 2>/dev/null | string replace -r ' .*' '')"
complete -c art -n '__art_is rm' -l force -d 'Remove it whatever is in it'
complete -c art -n '__art_is rm' -s q -l quiet -d 'Say nothing but errors'
complete -c art -n '__art_is status log' -s m -l mount -x -a '(__fish_complete_directories)' -d 'The workspace'
complete -c art -n '__art_is status log' -s d -l db -r -F -d 'The database'
complete -c art -n '__art_is status log' -l agent -x -a '(__art_agents)' -d 'An agent of your own'
complete -c art -n '__art_is status log list rm' -l help -d 'Print help'
complete -c art -n __art_first -a agent -d 'Agents of your own'
complete -c art -n '__art_is agent; and test (count (commandline -opc)) = 2' -f -a 'new ls show rm'
complete -c art -n '__art_is agent; and test (count (commandline -opc)) -ge 3' -f -a '(__art_agents)'
complete -c art -n '__art_is agent' -l preset -x -a '(__art_presets)' -d 'What a new one builds on'
complete -c art -n '__art_is agent' -l force -d 'Remove its workspace whatever is in it'
complete -c art -n '__art_is agent' -s q -l quiet -d 'Say nothing but errors'
complete -c art -n '__art_is agent' -l help -d 'Print help'
complete -c art -n __art_first -a home -d 'The homes that sessions share'
complete -c art -n '__art_is home; and test (count (commandline -opc)) = 2' -f -a 'ls rm seed diff'
complete -c art -n '__art_is home; and test (count (commandline -opc)) = 3; and not contains ls (commandline -opc)' -f -a '(__art_homes)'
complete -c art -n '__art_is home' -l force -d 'Ask nothing, copy logins too'
complete -c art -n '__art_is home' -l patch -d 'Print a unified diff'
complete -c art -n '__art_is home' -s q -l quiet -d 'Say nothing but errors'
complete -c art -n '__art_is home' -l help -d 'Print help'
complete -c art -n __art_first -a config -d 'Show the settings of a session'
complete -c art -n __art_first -a trust -d 'Allow what the settings of a workspace ask for'
complete -c art -n __art_first -a doctor -d 'Look whether this host has what a session needs'
complete -c art -n '__art_is config doctor' -f
complete -c art -n __art_first -a presets -d 'List what agents need'
complete -c art -n '__art_is presets' -f -a 'check (__art_presets)'
complete -c art -n '__art_is presets' -l schema -d 'Print a JSON schema for editors'
complete -c art -n '__art_is presets' -l help -d 'Print help'
complete -c art -n '__art_is trust' -f -a '(__fish_complete_directories)'
complete -c art -n '__art_is trust' -s m -l mount -x -a '(__fish_complete_directories)' -d 'The workspace'
complete -c art -n '__art_is trust' -l revoke -d 'Allow it no more'
complete -c art -n '__art_is trust' -l dry-run -d 'Only show it'
complete -c art -n '__art_is trust' -l help -d 'Print help'
complete -c art -n __art_runs -s m -l mount -x -a '(__fish_complete_directories)' -d 'The workspace'
complete -c art -n __art_runs -s d -l db -r -F -d 'The database that takes what is written'
complete -c art -n __art_runs -l name -x -d 'Name of the workspace'
complete -c art -n __art_runs -l home -x -a '(__art_homes)' -d 'A home that sessions share'
complete -c art -n __art_runs -l agent -x -a '(__art_agents)' -d 'An agent of your own'
complete -c art -n __art_runs -l adopt -d 'The workspace was moved'
complete -c art -n __art_runs -s i -l interactive -d 'A terminal for the command'
complete -c art -n __art_runs -l network -x -a 'host none' -d 'The network of the command'
complete -c art -n __art_runs -l path -x -a 'home host' -d 'Where the workspace is'
complete -c art -n '__art_runs; and not __art_is run' -l mode -x -a 'direct overlay' -d 'Where changes go'
complete -c art -n __art_runs -s e -l env -x -a '(set -xn)' -d 'Pass on or set a variable'
complete -c art -n __art_runs -l preset -x -a '(__art_presets)' -d 'What an agent needs'
complete -c art -n __art_runs -l see -r -F -d 'Show a path of a home'
complete -c art -n __art_runs -l hide -r -F -d 'Hide a path of the host'
complete -c art -n __art_runs -l allow -x -a 'io_uring keys namespaces perf sockets userfaultfd' -d 'Allow system calls'
complete -c art -n __art_runs -l trace -d 'Trace system calls'
complete -c art -n __art_runs -l trace-log -r -F -d 'Where the trace goes'
complete -c art -n __art_runs -l trace-syscalls -x -a '(__art_calls)' -d 'What to trace'
complete -c art -n __art_runs -l trace-format -x -a 'text json summary report' -d 'What a trace looks like'
complete -c art -n __art_runs -s q -l quiet -d 'Say nothing but errors'
complete -c art -n __art_runs -l version -d 'Print the version'
complete -c art -n __art_runs -l help -d 'Print help'
complete -c art -n '__art_is config' -l schema -d 'Print a JSON schema for editors'
complete -c art -n '__art_is config trust presets doctor status log list home agent' -l json -d 'Print an object'
complete -c art -n '__art_is doctor' -l attack -d 'Try to break out'

# art push, pull, diff, and the same of art-sync

function __art_workspace_paths
    set -l db (__art_value -d --db)
    set -l dir (__art_value -m --mount --workspace | string replace -r '^~/' "$HOME/")
    test -n "$db"; or set db $ART_DB
    test -n "$dir"; or set dir .
    __art_inside "$db" /(path resolve -- $dir | path basename)
end

for program in art art-sync
    complete -c $program -n '__art_is pull diff reset' -f
    complete -c $program -n '__art_is pull diff reset' -a '(__art_workspace_paths)'
    complete -c $program -n '__art_is push pull diff reset' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'The workspace'
    complete -c $program -n '__art_is push pull diff reset' -s d -l db -r -F -d 'The database'
    complete -c $program -n '__art_is push pull diff reset' -l agent -x -a '(__art_agents)' -d 'An agent of your own'
    complete -c $program -n '__art_is push pull diff reset' -l name -x -d 'Name of the workspace in the database'
    complete -c $program -n '__art_is push pull diff reset' -l adopt -d 'The workspace was moved'
    complete -c $program -n '__art_is push pull diff reset' -s q -l quiet -d 'Say nothing but errors'
    complete -c $program -n '__art_is push pull diff reset' -l help -d 'Print help'
    complete -c $program -n '__art_is push pull reset' -l dry-run -d 'Change nothing'
    complete -c $program -n '__art_is push pull reset' -l force -d 'Settle conflicts, or do not ask'
    complete -c $program -n '__art_is push pull diff' -l exclude -r -F -d 'Leave paths out'
    complete -c $program -n '__art_is push pull diff' -l no-ignored -d 'Leave out what git ignores'
    complete -c $program -n '__art_is pull' -l keep-both -d 'Write what the guest has as NAME.art in a conflict'
    complete -c $program -n '__art_is pull' -s p -l pick -d 'Ask about each change'
    complete -c $program -n '__art_is pull' -s v -l verbose -d 'Name each path that is held back'
    complete -c $program -n '__art_is pull' -l allow -r -F -d 'Bring what is held back'
    complete -c $program -n '__art_is diff' -l patch -d 'Print a unified diff'
    complete -c $program -n '__art_is diff' -l stat -d 'Count lines'
    complete -c $program -n '__art_is diff' -l json -d 'Print an object a line'
end
complete -c art-sync -n __art_first -x -a 'push pull diff reset'
complete -c art-sync -n __art_first -l version -d 'Print the version'
complete -c art-sync -n __art_first -l help -d 'Print help'

# art-fuse

# __art_fuse_at N NAME... tells whether the Nth argument is being typed of one of
# these commands.
function __art_fuse_at
    set -l args (__art_arguments --base --name --fsname)
    test (count $args) = $argv[1]; and contains -- $args[1] $argv[2..]
end

complete -c art-fuse -f
complete -c art-fuse -n __art_first -a mount -d 'Show a database as a directory'
complete -c art-fuse -n __art_first -a ls -d 'List a directory'
complete -c art-fuse -n __art_first -a cat -d 'Print files'
complete -c art-fuse -n __art_first -a stat -d 'Print attributes'
complete -c art-fuse -n __art_first -a tree -d 'List everything below a directory'
complete -c art-fuse -n __art_first -a check -d 'Look for damage, and mend it'
complete -c art-fuse -n __art_first -a backup -d 'Copy a database'
complete -c art-fuse -n __art_first -a flatten -d 'Make a database self-contained'
complete -c art-fuse -n __art_first -l version -d 'Print the version'
complete -c art-fuse -l help -d 'Print help'
complete -c art-fuse -n '__art_fuse_at 1 mount ls cat stat tree check backup flatten' -F
complete -c art-fuse -n '__art_fuse_at 2 mount' -a '(__fish_complete_directories)'
complete -c art-fuse -n '__art_fuse_at 2 backup' -F
complete -c art-fuse -n '__art_is ls cat stat tree; and not __art_fuse_at 1 ls cat stat tree' \
    -a '(__art_inside (__art_arguments --base --name)[2] "")'
complete -c art-fuse -n '__art_is mount cat flatten' -l base -x -a '(__fish_complete_directories)' -d 'The workspace on the host'
complete -c art-fuse -n '__art_is mount cat flatten' -l name -x -d 'The name of the workspace'
complete -c art-fuse -n '__art_is mount' -l read-write -d 'Let the tree be changed'
complete -c art-fuse -n '__art_is mount' -l allow-other -d 'Let other users in'
complete -c art-fuse -n '__art_is mount' -l fsname -x -d 'The name in the list of mounts'
complete -c art-fuse -n '__art_is mount' -l foreground -d 'Do not go to the background'
complete -c art-fuse -n '__art_is ls' -s l -d 'Show attributes'
complete -c art-fuse -n '__art_is ls' -s p -d 'Mark directories with a slash'
complete -c art-fuse -n '__art_is ls stat tree check' -l json -d 'Print an object a line'
complete -c art-fuse -n '__art_is check' -l repair -d 'Mend what was found'

# art-trace

set -g __art_trace_valued --log --log-fd --secrets-fd --syscalls --format --attach --deny --filter-by

function __art_traces
    test -z "$(__art_arguments $__art_trace_valued)"
end

complete -c art-trace -x -a '(__art_payload $__art_trace_valued)'
complete -c art-trace -n __art_traces -l log -r -F -d 'Where the trace goes'
complete -c art-trace -n __art_traces -l log-fd -x -d 'The descriptor where the trace goes'
complete -c art-trace -n __art_traces -l secrets-fd -x -d 'The descriptor that tells what to hide'
complete -c art-trace -n __art_traces -l syscalls -x -a '(__art_calls)' -d 'What to trace'
complete -c art-trace -n __art_traces -l format -x -a 'text json summary report' -d 'What the trace looks like'
complete -c art-trace -n __art_traces -l summary -d 'Count the calls'
complete -c art-trace -n __art_traces -l report -d 'Tell what was run, read, written, connected to'
complete -c art-trace -n __art_traces -l attach -x -a '(__fish_complete_pids)' -d 'Trace a running process'
complete -c art-trace -n __art_traces -l deny -x -a '(__art_calls)' -d 'Let calls fail'
complete -c art-trace -n __art_traces -l filter-by -x -a 'self payload' -d 'Who loads the filter'
complete -c art-trace -n __art_traces -s y -l decode-fds -d 'Say what descriptors refer to'
complete -c art-trace -n __art_traces -s r -l relative-timestamps -d 'The time since the line before'
complete -c art-trace -n __art_traces -o tt -l absolute-timestamps -d 'The time of day'
complete -c art-trace -n __art_traces -s T -l syscall-times -d 'The time spent in each call'
complete -c art-trace -n __art_traces -l version -d 'Print the version'
complete -c art-trace -n __art_traces -l help -d 'Print help'
