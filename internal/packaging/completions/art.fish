# Completion in fish for art, art-fuse, art-sync and art-trace.

# What a file of completions defines is there once it is loaded; the same file
# stands under the name of each program, since fish looks for it by that.
functions -q __art_inside; and exit

# __art_line prints the command of the line, and then its arguments so far that are no flags, a line each.
function __art_line
    set -l tokens (commandline -opc)
    set -l name (path basename -- $tokens[1])
    set -e tokens[1]
    while set -q tokens[1]; and contains -- "$name $tokens[1]" $__art_commands
        set name "$name $tokens[1]"
        set -e tokens[1]
    end
    echo -- $name
    set -l skip 0
    for token in $tokens
        if test $skip = 1
            set skip 0
        else if contains -- $token $__art_valued
            set skip 1
        else if not string match -qr '^-.' -- $token
            echo -- $token
        end
    end
end

# __art_at COMMAND [N [more]] tells whether a flag of this command may come; with N, whether its Nth argument, or a later
# one.
function __art_at
    set -l line (__art_line)
    test "$line[1]" = "$argv[1]"; or return
    if set -q argv[2]
        test (count $line) = $argv[2]; or set -q argv[3]; and test (count $line) -ge $argv[2]
    else
        # Where the arguments are a command, flags end with the first.
        not contains -- $line[1] $__art_payloads; or test (count $line) = 1
    end
end

# __art_runs tells whether the arguments of the line are a command.
function __art_runs
    contains -- (__art_line)[1] $__art_payloads
end

# __art_payload completes the command that comes after the flags, as if it stood alone.
function __art_payload
    set -l tokens (commandline -opc)[2..]
    test "$tokens[1]" = run; and set -e tokens[1]
    while string match -q -- '-?*' $tokens[1]
        if test "$tokens[1]" = --
            set -e tokens[1]
            break
        end
        contains -- $tokens[1] $__art_valued; and set -e tokens[1]
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

function __art_in_database
    __art_inside (__art_line)[2] ""
end

function __art_in_workspace
    set -l db (__art_value -d --db)
    set -l dir (__art_value -m --mount --workspace | string replace -r '^~/' "$HOME/")
    test -n "$db"; or set db $ART_DB
    test -n "$dir"; or set dir .
    __art_inside "$db" /(path resolve -- $dir | path basename)
end

# __art_calls prints what a list of system calls may go on with.
function __art_calls
    set -l done (string replace -r '[^,]*$' '' -- (commandline -ct | string replace -r '^--[a-z-]*=' ''))
    for class in %file %desc %network %process %memory %signal %ipc %creds %clock %stat
        echo -- $done$class
    end
end

function __art_agents
    command -q art; and art agent ls 2>/dev/null | string replace -r ' .*' '\tAgent'
end

function __art_databases
    # Names that JSON writes with escapes are left out.
    command -q art; and art list --json 2>/dev/null | string replace -rf '^\{"name":"([^"\\\\]*)",.*' '$1'
end

function __art_presets
    command -q art; and art presets 2>/dev/null | string replace -r ' .*' '\tPreset'
end

function __art_sessions
    command -q art; and art ps 2>/dev/null | string replace -rf '^([a-z]+) .*' '$1'
end

function __art_homes
    set -l data $XDG_DATA_HOME
    test -n "$data"; or set data ~/.local/share
    path basename -- $data/art/homes/*/
end

for program in art art-fuse art-sync art-trace
    complete -c $program -f
    complete -c $program -n __art_runs -x -a '(__art_payload)'
end
complete -c art -n '__art_at art 1' -a '(__art_presets)'
complete -c art -n '__art_at art 1' -a '(__art_agents)'

# generated: fish
set -g __art_commands 'art' 'art run' 'art diff' 'art pull' 'art push' 'art reset' 'art status' 'art log' 'art net' 'art checkpoint' 'art undo' 'art redo' 'art rewind' 'art fork' 'art merge' 'art bisect' 'art try' 'art compare' 'art gc' 'art list' 'art rm' 'art ps' 'art exec' 'art attach' 'art logs' 'art kill' 'art wait' 'art presets' 'art agent' 'art agent new' 'art agent ls' 'art agent show' 'art agent rm' 'art home' 'art home ls' 'art home rm' 'art home seed' 'art home diff' 'art config' 'art trust' 'art doctor' 'art-fuse' 'art-fuse ls' 'art-fuse cat' 'art-fuse stat' 'art-fuse tree' 'art-fuse mount' 'art-fuse check' 'art-fuse backup' 'art-fuse flatten' 'art-sync' 'art-sync diff' 'art-sync pull' 'art-sync push' 'art-sync reset' 'art-sync status' 'art-sync log' 'art-sync net' 'art-sync checkpoint' 'art-sync undo' 'art-sync redo' 'art-sync rewind' 'art-sync fork' 'art-sync merge' 'art-sync compare' 'art-sync gc' 'art-sync list' 'art-sync rm' 'art-trace'
set -g __art_payloads 'art' 'art run' 'art bisect' 'art try' 'art exec' 'art-trace'
set -g __art_valued -m --mount -d --db --name --home --agent --detach-keys --end --time --network --path -e --env --preset --see --hide --allow --trace-log --trace-syscalls --trace-format --mode --workspace --exclude --from --host --label --at --good --bad -n --count -j --jobs --checkpoints --days --size -w --cwd -s --signal --base --fsname --log --log-fd --syscalls --format --attach --deny --secrets-fd --filter-by --string-limit
complete -c art -n '__art_at "art" 1' -a run -d 'run a command whose changes stay apart'
complete -c art -n '__art_at "art" 1' -a diff -d 'show what the guest changed'
complete -c art -n '__art_at "art" 1' -a pull -d 'bring what the guest changed to the host'
complete -c art -n '__art_at "art" 1' -a push -d 'bring what the host changed into the database'
complete -c art -n '__art_at "art" 1' -a reset -d 'give up what the guest changed'
complete -c art -n '__art_at "art" 1' -a status -d 'show what is pending'
complete -c art -n '__art_at "art" 1' -a log -d 'show the sessions there were, and the checkpoints'
complete -c art -n '__art_at "art" 1' -a net -d 'show what guests did on the network, and what they were denied'
complete -c art -n '__art_at "art" 1' -a checkpoint -d 'remember what the tree is now'
complete -c art -n '__art_at "art" 1' -a undo -d 'go back to before the last change'
complete -c art -n '__art_at "art" 1' -a redo -d 'take back an undo or a rewind'
complete -c art -n '__art_at "art" 1' -a rewind -d 'go back to a checkpoint'
complete -c art -n '__art_at "art" 1' -a fork -d 'make a database that goes on from this one by itself'
complete -c art -n '__art_at "art" 1' -a merge -d 'take what a fork has changed into the database that it was made of'
complete -c art -n '__art_at "art" 1' -a bisect -d 'find the checkpoint at which something broke'
complete -c art -n '__art_at "art" 1' -a try -d 'run a command in several forks side by side'
complete -c art -n '__art_at "art" 1' -a compare -d 'show what came of forks'
complete -c art -n '__art_at "art" 1' -a gc -d 'drop old checkpoints'
complete -c art -n '__art_at "art" 1' -a list -d 'show all databases of workspaces'
complete -c art -n '__art_at "art" 1' -a rm -d 'remove the database of a workspace'
complete -c art -n '__art_at "art" 1' -a ps -d 'list the sessions that run'
complete -c art -n '__art_at "art" 1' -a exec -d 'run another program in a session that runs'
complete -c art -n '__art_at "art" 1' -a attach -d 'join the terminal of a session'
complete -c art -n '__art_at "art" 1' -a logs -d 'print the output of a session in the background'
complete -c art -n '__art_at "art" 1' -a kill -d 'send the command of a session a signal'
complete -c art -n '__art_at "art" 1' -a wait -d 'wait for the end of a session'
complete -c art -n '__art_at "art" 1' -a presets -d 'list the agents that art knows, and where they are'
complete -c art -n '__art_at "art" 1' -a agent -d 'agents of your own'
complete -c art -n '__art_at "art" 1' -a home -d 'the homes that --home names'
complete -c art -n '__art_at "art" 1' -a config -d 'show the settings of a session, and where each was said'
complete -c art -n '__art_at "art" 1' -a trust -d 'allow what the settings of a workspace ask for'
complete -c art -n '__art_at "art" 1' -a doctor -d 'look whether this host has what a session needs'
complete -c art -n '__art_at "art"' -s m -l mount -x -a '(__fish_complete_directories)' -d 'the workspace, a directory of the host'
complete -c art -n '__art_at "art"' -s d -l db -r -F -d 'the database that takes what is written'
complete -c art -n '__art_at "art"' -l name -x -d 'what the workspace is called in the guest and in the database'
complete -c art -n '__art_at "art"' -l home -x -a '(__art_homes)' -d 'a home that sessions in other workspaces share'
complete -c art -n '__art_at "art"' -l agent -x -a '(__art_agents)' -d 'an agent of your own'
complete -c art -n '__art_at "art"' -l adopt -d 'the workspace was moved here'
complete -c art -n '__art_at "art"' -s i -l interactive -d 'a terminal for the command, if there is one'
complete -c art -n '__art_at "art"' -s b -l background -d 'leave the session in the background, and print its id'
complete -c art -n '__art_at "art"' -l detach-keys -x -d 'the keys that leave the session to itself'
complete -c art -n '__art_at "art"' -l systemd -d 'make the session in the background a unit of systemd, for its limits and its own end'
complete -c art -n '__art_at "art"' -l end -x -a 'kill wait ask' -d 'what becomes of processes that the command leaves running when it ends'
complete -c art -n '__art_at "art"' -l time -x -d 'how long the session may run, such as 90s or 2h'
complete -c art -n '__art_at "art"' -l notify -d 'tell you at your desktop when the session ends, waits for you, or was refused something'
complete -c art -n '__art_at "art"' -l network -x -a 'host none' -d 'host, none, or names between commas that alone can be reached, such as github.com,*.example.org'
complete -c art -n '__art_at "art"' -l path -x -a 'home host' -d 'with host, the workspace is at its own path on the host too, and the command starts there'
complete -c art -n '__art_at "art"' -s e -l env -x -a '(set -xn)' -d 'pass on a variable, or set one'
complete -c art -n '__art_at "art"' -l preset -x -a '(__art_presets)' -d 'what the agent NAME needs'
complete -c art -n '__art_at "art"' -l see -r -F -d 'show a path of the host at its own place, read-only, although homes are hidden'
complete -c art -n '__art_at "art"' -l hide -r -F -d 'hide a path of the host'
complete -c art -n '__art_at "art"' -l allow -x -a 'io_uring keys namespaces perf sockets userfaultfd' -d 'system calls that are refused otherwise'
complete -c art -n '__art_at "art"' -l trace -d 'trace system calls with art-trace(1)'
complete -c art -n '__art_at "art"' -l trace-log -r -F -d 'where the trace goes'
complete -c art -n '__art_at "art"' -l trace-syscalls -x -a '(__art_calls)' -d 'the system calls to trace, between commas'
complete -c art -n '__art_at "art"' -l trace-format -x -a 'text json summary report' -d 'text, as strace writes it, json, an object a line'
complete -c art -n '__art_at "art"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art"' -l version -d 'print the version'
complete -c art -n '__art_at "art"' -l mode -x -a 'direct overlay' -d 'direct or overlay, where no database is named'
complete -c art -n '__art_at "art"' -l help -d 'print help'
complete -c art -n '__art_at "art run"' -s m -l mount -x -a '(__fish_complete_directories)' -d 'the workspace, a directory of the host'
complete -c art -n '__art_at "art run"' -s d -l db -r -F -d 'the database that takes what is written'
complete -c art -n '__art_at "art run"' -l name -x -d 'what the workspace is called in the guest and in the database'
complete -c art -n '__art_at "art run"' -l home -x -a '(__art_homes)' -d 'a home that sessions in other workspaces share'
complete -c art -n '__art_at "art run"' -l agent -x -a '(__art_agents)' -d 'an agent of your own'
complete -c art -n '__art_at "art run"' -l adopt -d 'the workspace was moved here'
complete -c art -n '__art_at "art run"' -s i -l interactive -d 'a terminal for the command, if there is one'
complete -c art -n '__art_at "art run"' -s b -l background -d 'leave the session in the background, and print its id'
complete -c art -n '__art_at "art run"' -l detach-keys -x -d 'the keys that leave the session to itself'
complete -c art -n '__art_at "art run"' -l systemd -d 'make the session in the background a unit of systemd, for its limits and its own end'
complete -c art -n '__art_at "art run"' -l end -x -a 'kill wait ask' -d 'what becomes of processes that the command leaves running when it ends'
complete -c art -n '__art_at "art run"' -l time -x -d 'how long the session may run, such as 90s or 2h'
complete -c art -n '__art_at "art run"' -l notify -d 'tell you at your desktop when the session ends, waits for you, or was refused something'
complete -c art -n '__art_at "art run"' -l network -x -a 'host none' -d 'host, none, or names between commas that alone can be reached, such as github.com,*.example.org'
complete -c art -n '__art_at "art run"' -l path -x -a 'home host' -d 'with host, the workspace is at its own path on the host too, and the command starts there'
complete -c art -n '__art_at "art run"' -s e -l env -x -a '(set -xn)' -d 'pass on a variable, or set one'
complete -c art -n '__art_at "art run"' -l preset -x -a '(__art_presets)' -d 'what the agent NAME needs'
complete -c art -n '__art_at "art run"' -l see -r -F -d 'show a path of the host at its own place, read-only, although homes are hidden'
complete -c art -n '__art_at "art run"' -l hide -r -F -d 'hide a path of the host'
complete -c art -n '__art_at "art run"' -l allow -x -a 'io_uring keys namespaces perf sockets userfaultfd' -d 'system calls that are refused otherwise'
complete -c art -n '__art_at "art run"' -l trace -d 'trace system calls with art-trace(1)'
complete -c art -n '__art_at "art run"' -l trace-log -r -F -d 'where the trace goes'
complete -c art -n '__art_at "art run"' -l trace-syscalls -x -a '(__art_calls)' -d 'the system calls to trace, between commas'
complete -c art -n '__art_at "art run"' -l trace-format -x -a 'text json summary report' -d 'text, as strace writes it, json, an object a line'
complete -c art -n '__art_at "art run"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art run"' -l version -d 'print the version'
complete -c art -n '__art_at "art run"' -l help -d 'print help'
complete -c art -n '__art_at "art diff" 1 more' -x -a '(__art_in_workspace)'
complete -c art -n '__art_at "art diff"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art diff"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art diff"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art diff"' -l name -x -d 'the name of the workspace in the database'
complete -c art -n '__art_at "art diff"' -l adopt -d 'the workspace was moved here, or is a copy that takes its place'
complete -c art -n '__art_at "art diff"' -l patch -d 'a unified diff that "git apply" and "patch -p1" take'
complete -c art -n '__art_at "art diff"' -l stat -d 'how many lines changed'
complete -c art -n '__art_at "art diff"' -l json -d 'an object a line'
complete -c art -n '__art_at "art diff"' -l exclude -r -F -d 'leave paths out, in the syntax of gitignore(5)'
complete -c art -n '__art_at "art diff"' -l no-ignored -d 'leave out what git ignores'
complete -c art -n '__art_at "art diff"' -s q -l quiet -d 'only the exit status'
complete -c art -n '__art_at "art diff"' -l help -d 'print help'
complete -c art -n '__art_at "art pull" 1 more' -x -a '(__art_in_workspace)'
complete -c art -n '__art_at "art pull"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art pull"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art pull"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art pull"' -l from -x -a '(__art_databases)' -d 'pull what a fork of the database has, by its name'
complete -c art -n '__art_at "art pull"' -s p -l pick -d 'ask about each change, and about each hunk of a text, as "git add -p" does'
complete -c art -n '__art_at "art pull"' -l name -x -d 'the name of the workspace in the database'
complete -c art -n '__art_at "art pull"' -l adopt -d 'the workspace was moved here, or is a copy that takes its place'
complete -c art -n '__art_at "art pull"' -l force -d 'in a conflict, take what the guest has'
complete -c art -n '__art_at "art pull"' -l keep-both -d 'in a conflict, keep what the host has, and write what the guest has as NAME.art'
complete -c art -n '__art_at "art pull"' -l allow -r -F -d 'bring what is held back and fits the pattern, in the syntax of gitignore(5)'
complete -c art -n '__art_at "art pull"' -l exclude -r -F -d 'leave paths out, in the syntax of gitignore(5)'
complete -c art -n '__art_at "art pull"' -l no-ignored -d 'leave out what git ignores'
complete -c art -n '__art_at "art pull"' -l dry-run -d 'say what would be done, and change nothing'
complete -c art -n '__art_at "art pull"' -s q -l quiet -d 'say nothing but errors, conflicts and what is held back'
complete -c art -n '__art_at "art pull"' -s v -l verbose -d 'name each path that is held back, also where many of one directory are, for one reason'
complete -c art -n '__art_at "art pull"' -l help -d 'print help'
complete -c art -n '__art_at "art push" 1 more' -F
complete -c art -n '__art_at "art push"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art push"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art push"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art push"' -l name -x -d 'the name of the workspace in the database'
complete -c art -n '__art_at "art push"' -l adopt -d 'the workspace was moved here, or is a copy that takes its place'
complete -c art -n '__art_at "art push"' -l force -d 'in a conflict, take what the host has'
complete -c art -n '__art_at "art push"' -l exclude -r -F -d 'leave paths out, in the syntax of gitignore(5)'
complete -c art -n '__art_at "art push"' -l no-ignored -d 'leave out what git ignores'
complete -c art -n '__art_at "art push"' -l dry-run -d 'say what would be done, and change nothing'
complete -c art -n '__art_at "art push"' -s q -l quiet -d 'say nothing but errors and conflicts'
complete -c art -n '__art_at "art push"' -l help -d 'print help'
complete -c art -n '__art_at "art reset" 1 more' -x -a '(__art_in_workspace)'
complete -c art -n '__art_at "art reset"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art reset"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art reset"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art reset"' -l dry-run -d 'say what would be done, and change nothing'
complete -c art -n '__art_at "art reset"' -l force -d 'without paths, do not ask'
complete -c art -n '__art_at "art reset"' -l name -x -d 'the name of the workspace in the database'
complete -c art -n '__art_at "art reset"' -l adopt -d 'the workspace was moved here, or is a copy that takes its place'
complete -c art -n '__art_at "art reset"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art reset"' -l help -d 'print help'
complete -c art -n '__art_at "art status"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art status"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art status"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art status"' -l all -d 'show each path'
complete -c art -n '__art_at "art status"' -l json -d 'print an object'
complete -c art -n '__art_at "art status"' -l help -d 'print help'
complete -c art -n '__art_at "art log"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art log"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art log"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art log"' -l json -d 'print an object a line'
complete -c art -n '__art_at "art log"' -l help -d 'print help'
complete -c art -n '__art_at "art net" 1' -x -a '(__art_sessions)'
complete -c art -n '__art_at "art net"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art net"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art net"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art net"' -s f -l follow -d 'show what a session that runs has done, and what it does, until it ends'
complete -c art -n '__art_at "art net"' -l live -d 'show what a session that runs has done'
complete -c art -n '__art_at "art net"' -l denied -d 'only what was denied'
complete -c art -n '__art_at "art net"' -l host -x -d 'only this name or address'
complete -c art -n '__art_at "art net"' -l json -d 'print an object a line'
complete -c art -n '__art_at "art net"' -l help -d 'print help'
complete -c art -n '__art_at "art checkpoint"' -s m -l label -x -d 'a name for it, beside its number'
complete -c art -n '__art_at "art checkpoint"' -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art checkpoint"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art checkpoint"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art checkpoint"' -l json -d 'print an object'
complete -c art -n '__art_at "art checkpoint"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art checkpoint"' -l help -d 'print help'
complete -c art -n '__art_at "art undo"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art undo"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art undo"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art undo"' -l json -d 'print an object'
complete -c art -n '__art_at "art undo"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art undo"' -l help -d 'print help'
complete -c art -n '__art_at "art redo"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art redo"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art redo"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art redo"' -l json -d 'print an object'
complete -c art -n '__art_at "art redo"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art redo"' -l help -d 'print help'
complete -c art -n '__art_at "art rewind" 2 more' -x -a '(__art_in_workspace)'
complete -c art -n '__art_at "art rewind"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art rewind"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art rewind"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art rewind"' -l json -d 'print an object'
complete -c art -n '__art_at "art rewind"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art rewind"' -l help -d 'print help'
complete -c art -n '__art_at "art fork" 1 more' -F
complete -c art -n '__art_at "art fork"' -l at -x -d 'fork what the tree was at a checkpoint, by its number or label'
complete -c art -n '__art_at "art fork"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art fork"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art fork"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art fork"' -l json -d 'print an object'
complete -c art -n '__art_at "art fork"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art fork"' -l help -d 'print help'
complete -c art -n '__art_at "art merge" 1' -F
complete -c art -n '__art_at "art merge"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art merge"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art merge"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art merge"' -l dry-run -d 'say what would be done, and change nothing'
complete -c art -n '__art_at "art merge"' -l force -d 'where both changed something, take what the fork has'
complete -c art -n '__art_at "art merge"' -l ours -d 'where both changed something, leave what is there'
complete -c art -n '__art_at "art merge"' -l json -d 'print an object a line'
complete -c art -n '__art_at "art merge"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art merge"' -l help -d 'print help'
complete -c art -n '__art_at "art bisect"' -l good -x -d 'where it was good, by number or label'
complete -c art -n '__art_at "art bisect"' -l bad -x -d 'where it is bad, by number or label'
complete -c art -n '__art_at "art bisect"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art bisect"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art bisect"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art bisect"' -l json -d 'print an object, and one for each change'
complete -c art -n '__art_at "art bisect"' -s q -l quiet -d 'tell nothing of the runs, and hide the command\'s standard output'
complete -c art -n '__art_at "art bisect"' -l help -d 'print help'
complete -c art -n '__art_at "art try"' -s n -l count -x -d 'how many forks, up to 100'
complete -c art -n '__art_at "art try"' -s j -l jobs -x -d 'how many run at once'
complete -c art -n '__art_at "art try"' -l at -x -d 'fork what the tree was at a checkpoint, by its number or label'
complete -c art -n '__art_at "art try"' -l name -x -d 'what the forks are called'
complete -c art -n '__art_at "art try"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art try"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art try"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art try"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art try"' -l help -d 'print help'
complete -c art -n '__art_at "art compare" 1 more' -x -a '(__art_databases)'
complete -c art -n '__art_at "art compare"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art compare"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art compare"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art compare"' -l json -d 'print an object a line'
complete -c art -n '__art_at "art compare"' -l help -d 'print help'
complete -c art -n '__art_at "art gc"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art -n '__art_at "art gc"' -s d -l db -r -F -d 'the database'
complete -c art -n '__art_at "art gc"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art -n '__art_at "art gc"' -l checkpoints -x -d 'how many may stay'
complete -c art -n '__art_at "art gc"' -l days -x -d 'how old they may be'
complete -c art -n '__art_at "art gc"' -l gone -d 'forget forks that are not where they were made'
complete -c art -n '__art_at "art gc"' -l size -x -d 'how much content may be kept that is not there any more'
complete -c art -n '__art_at "art gc"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art gc"' -l help -d 'print help'
complete -c art -n '__art_at "art list"' -l json -d 'print an object a line'
complete -c art -n '__art_at "art list"' -l help -d 'print help'
complete -c art -n '__art_at "art rm" 1' -x -a '(__art_databases)'
complete -c art -n '__art_at "art rm"' -l force -d 'remove it whatever is in it'
complete -c art -n '__art_at "art rm"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art rm"' -l help -d 'print help'
complete -c art -n '__art_at "art ps"' -l json -d 'print an object a line'
complete -c art -n '__art_at "art ps"' -l pending -d 'count what is pending in each, as art status does'
complete -c art -n '__art_at "art ps"' -l watch -d 'show it again every second, until a key is pressed'
complete -c art -n '__art_at "art ps"' -l help -d 'print help'
complete -c art -n '__art_at "art exec"' -s e -l env -x -a '(set -xn)' -d 'pass on a variable, or set one'
complete -c art -n '__art_at "art exec"' -s w -l cwd -x -d 'the directory in the guest to start in'
complete -c art -n '__art_at "art exec"' -s i -l interactive -d 'a terminal for the program, if there is one'
complete -c art -n '__art_at "art exec"' -l help -d 'print help'
complete -c art -n '__art_at "art attach" 1' -x -a '(__art_sessions)'
complete -c art -n '__art_at "art attach"' -l view -d 'only look'
complete -c art -n '__art_at "art attach"' -l detach-keys -x -d 'the keys that leave the session'
complete -c art -n '__art_at "art attach"' -l help -d 'print help'
complete -c art -n '__art_at "art logs" 1' -x -a '(__art_sessions)'
complete -c art -n '__art_at "art logs"' -s f -l follow -d 'go on until the session ends'
complete -c art -n '__art_at "art logs"' -l help -d 'print help'
complete -c art -n '__art_at "art kill" 1' -x -a '(__art_sessions)'
complete -c art -n '__art_at "art kill"' -s s -l signal -x -d 'which one, by its name or number'
complete -c art -n '__art_at "art kill"' -l help -d 'print help'
complete -c art -n '__art_at "art wait" 1' -x -a '(__art_sessions)'
complete -c art -n '__art_at "art wait"' -l help -d 'print help'
complete -c art -n '__art_at "art presets" 1' -x -a 'check'
complete -c art -n '__art_at "art presets" 2' -x -a '(__art_presets)'
complete -c art -n '__art_at "art presets"' -l json -d 'print an object a line'
complete -c art -n '__art_at "art presets"' -l schema -d 'print a JSON schema of a preset, for editors'
complete -c art -n '__art_at "art presets"' -l help -d 'print help'
complete -c art -n '__art_at "art agent" 1' -a new -d 'make an agent of your own'
complete -c art -n '__art_at "art agent" 1' -a ls -d 'list the agents of your own'
complete -c art -n '__art_at "art agent" 1' -a show -d 'show the settings that hold for an agent'
complete -c art -n '__art_at "art agent" 1' -a rm -d 'remove an agent, with the workspace that was made for it'
complete -c art -n '__art_at "art agent"' -l help -d 'print help'
complete -c art -n '__art_at "art agent new"' -l preset -x -a '(__art_presets)' -d 'what a new one builds on'
complete -c art -n '__art_at "art agent new"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art agent new"' -l help -d 'print help'
complete -c art -n '__art_at "art agent ls"' -l json -d 'print an object a line'
complete -c art -n '__art_at "art agent ls"' -l help -d 'print help'
complete -c art -n '__art_at "art agent show" 1' -x -a '(__art_agents)'
complete -c art -n '__art_at "art agent show"' -l json -d 'print an object a line'
complete -c art -n '__art_at "art agent show"' -l help -d 'print help'
complete -c art -n '__art_at "art agent rm" 1' -x -a '(__art_agents)'
complete -c art -n '__art_at "art agent rm"' -l force -d 'remove also what is in the workspace'
complete -c art -n '__art_at "art agent rm"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art agent rm"' -l help -d 'print help'
complete -c art -n '__art_at "art home" 1' -a ls -d 'list the homes'
complete -c art -n '__art_at "art home" 1' -a rm -d 'remove homes, with all that guests keep there'
complete -c art -n '__art_at "art home" 1' -a seed -d 'copy files of your own home into a home'
complete -c art -n '__art_at "art home" 1' -a diff -d 'show how files in a home differ from your own'
complete -c art -n '__art_at "art home"' -l help -d 'print help'
complete -c art -n '__art_at "art home ls"' -l json -d 'print an object a line'
complete -c art -n '__art_at "art home ls"' -l help -d 'print help'
complete -c art -n '__art_at "art home rm" 1 more' -x -a '(__art_homes)'
complete -c art -n '__art_at "art home rm"' -l force -d 'ask nothing'
complete -c art -n '__art_at "art home rm"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art home rm"' -l help -d 'print help'
complete -c art -n '__art_at "art home seed" 1' -x -a '(__art_homes)'
complete -c art -n '__art_at "art home seed" 2 more' -F
complete -c art -n '__art_at "art home seed"' -l force -d 'copy logins too, and replace what is there'
complete -c art -n '__art_at "art home seed"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art home seed"' -l help -d 'print help'
complete -c art -n '__art_at "art home diff" 1' -x -a '(__art_homes)'
complete -c art -n '__art_at "art home diff" 2 more' -F
complete -c art -n '__art_at "art home diff"' -l patch -d 'print a unified diff'
complete -c art -n '__art_at "art home diff"' -l json -d 'print an object a line'
complete -c art -n '__art_at "art home diff"' -l help -d 'print help'
complete -c art -n '__art_at "art config"' -s m -l mount -x -a '(__fish_complete_directories)' -d 'the workspace, a directory of the host'
complete -c art -n '__art_at "art config"' -s d -l db -r -F -d 'the database that takes what is written'
complete -c art -n '__art_at "art config"' -l name -x -d 'what the workspace is called in the guest and in the database'
complete -c art -n '__art_at "art config"' -l home -x -a '(__art_homes)' -d 'a home that sessions in other workspaces share'
complete -c art -n '__art_at "art config"' -l agent -x -a '(__art_agents)' -d 'an agent of your own'
complete -c art -n '__art_at "art config"' -l adopt -d 'the workspace was moved here'
complete -c art -n '__art_at "art config"' -s i -l interactive -d 'a terminal for the command, if there is one'
complete -c art -n '__art_at "art config"' -s b -l background -d 'leave the session in the background, and print its id'
complete -c art -n '__art_at "art config"' -l detach-keys -x -d 'the keys that leave the session to itself'
complete -c art -n '__art_at "art config"' -l systemd -d 'make the session in the background a unit of systemd, for its limits and its own end'
complete -c art -n '__art_at "art config"' -l end -x -a 'kill wait ask' -d 'what becomes of processes that the command leaves running when it ends'
complete -c art -n '__art_at "art config"' -l time -x -d 'how long the session may run, such as 90s or 2h'
complete -c art -n '__art_at "art config"' -l notify -d 'tell you at your desktop when the session ends, waits for you, or was refused something'
complete -c art -n '__art_at "art config"' -l network -x -a 'host none' -d 'host, none, or names between commas that alone can be reached, such as github.com,*.example.org'
complete -c art -n '__art_at "art config"' -l path -x -a 'home host' -d 'with host, the workspace is at its own path on the host too, and the command starts there'
complete -c art -n '__art_at "art config"' -s e -l env -x -a '(set -xn)' -d 'pass on a variable, or set one'
complete -c art -n '__art_at "art config"' -l preset -x -a '(__art_presets)' -d 'what the agent NAME needs'
complete -c art -n '__art_at "art config"' -l see -r -F -d 'show a path of the host at its own place, read-only, although homes are hidden'
complete -c art -n '__art_at "art config"' -l hide -r -F -d 'hide a path of the host'
complete -c art -n '__art_at "art config"' -l allow -x -a 'io_uring keys namespaces perf sockets userfaultfd' -d 'system calls that are refused otherwise'
complete -c art -n '__art_at "art config"' -l trace -d 'trace system calls with art-trace(1)'
complete -c art -n '__art_at "art config"' -l trace-log -r -F -d 'where the trace goes'
complete -c art -n '__art_at "art config"' -l trace-syscalls -x -a '(__art_calls)' -d 'the system calls to trace, between commas'
complete -c art -n '__art_at "art config"' -l trace-format -x -a 'text json summary report' -d 'text, as strace writes it, json, an object a line'
complete -c art -n '__art_at "art config"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art config"' -l mode -x -a 'direct overlay' -d 'direct or overlay, where no database is named'
complete -c art -n '__art_at "art config"' -l json -d 'print an object a line'
complete -c art -n '__art_at "art config"' -l schema -d 'print a JSON schema of the settings, for editors'
complete -c art -n '__art_at "art config"' -l help -d 'print help'
complete -c art -n '__art_at "art trust" 1' -x -a '(__fish_complete_directories)'
complete -c art -n '__art_at "art trust"' -s m -l mount -x -a '(__fish_complete_directories)' -d 'the workspace'
complete -c art -n '__art_at "art trust"' -l dry-run -d 'only show it'
complete -c art -n '__art_at "art trust"' -l revoke -d 'allow it no more'
complete -c art -n '__art_at "art trust"' -l json -d 'print an object a line'
complete -c art -n '__art_at "art trust"' -l help -d 'print help'
complete -c art -n '__art_at "art doctor"' -s m -l mount -x -a '(__fish_complete_directories)' -d 'the workspace, a directory of the host'
complete -c art -n '__art_at "art doctor"' -s d -l db -r -F -d 'the database that takes what is written'
complete -c art -n '__art_at "art doctor"' -l name -x -d 'what the workspace is called in the guest and in the database'
complete -c art -n '__art_at "art doctor"' -l home -x -a '(__art_homes)' -d 'a home that sessions in other workspaces share'
complete -c art -n '__art_at "art doctor"' -l agent -x -a '(__art_agents)' -d 'an agent of your own'
complete -c art -n '__art_at "art doctor"' -l adopt -d 'the workspace was moved here'
complete -c art -n '__art_at "art doctor"' -s i -l interactive -d 'a terminal for the command, if there is one'
complete -c art -n '__art_at "art doctor"' -s b -l background -d 'leave the session in the background, and print its id'
complete -c art -n '__art_at "art doctor"' -l detach-keys -x -d 'the keys that leave the session to itself'
complete -c art -n '__art_at "art doctor"' -l systemd -d 'make the session in the background a unit of systemd, for its limits and its own end'
complete -c art -n '__art_at "art doctor"' -l end -x -a 'kill wait ask' -d 'what becomes of processes that the command leaves running when it ends'
complete -c art -n '__art_at "art doctor"' -l time -x -d 'how long the session may run, such as 90s or 2h'
complete -c art -n '__art_at "art doctor"' -l notify -d 'tell you at your desktop when the session ends, waits for you, or was refused something'
complete -c art -n '__art_at "art doctor"' -l network -x -a 'host none' -d 'host, none, or names between commas that alone can be reached, such as github.com,*.example.org'
complete -c art -n '__art_at "art doctor"' -l path -x -a 'home host' -d 'with host, the workspace is at its own path on the host too, and the command starts there'
complete -c art -n '__art_at "art doctor"' -s e -l env -x -a '(set -xn)' -d 'pass on a variable, or set one'
complete -c art -n '__art_at "art doctor"' -l preset -x -a '(__art_presets)' -d 'what the agent NAME needs'
complete -c art -n '__art_at "art doctor"' -l see -r -F -d 'show a path of the host at its own place, read-only, although homes are hidden'
complete -c art -n '__art_at "art doctor"' -l hide -r -F -d 'hide a path of the host'
complete -c art -n '__art_at "art doctor"' -l allow -x -a 'io_uring keys namespaces perf sockets userfaultfd' -d 'system calls that are refused otherwise'
complete -c art -n '__art_at "art doctor"' -l trace -d 'trace system calls with art-trace(1)'
complete -c art -n '__art_at "art doctor"' -l trace-log -r -F -d 'where the trace goes'
complete -c art -n '__art_at "art doctor"' -l trace-syscalls -x -a '(__art_calls)' -d 'the system calls to trace, between commas'
complete -c art -n '__art_at "art doctor"' -l trace-format -x -a 'text json summary report' -d 'text, as strace writes it, json, an object a line'
complete -c art -n '__art_at "art doctor"' -s q -l quiet -d 'say nothing but errors'
complete -c art -n '__art_at "art doctor"' -l mode -x -a 'direct overlay' -d 'direct or overlay, where no database is named'
complete -c art -n '__art_at "art doctor"' -l attack -d 'try to break out of a session, in every way that art knows, and show a table of what is enforced'
complete -c art -n '__art_at "art doctor"' -l json -d 'print an object a line'
complete -c art -n '__art_at "art doctor"' -l help -d 'print help'
complete -c art-fuse -n '__art_at "art-fuse" 1' -a ls -d 'list directories'
complete -c art-fuse -n '__art_at "art-fuse" 1' -a cat -d 'print files'
complete -c art-fuse -n '__art_at "art-fuse" 1' -a stat -d 'print attributes'
complete -c art-fuse -n '__art_at "art-fuse" 1' -a tree -d 'list everything below a directory'
complete -c art-fuse -n '__art_at "art-fuse" 1' -a mount -d 'show a database as a directory'
complete -c art-fuse -n '__art_at "art-fuse" 1' -a check -d 'look for damage, and repair it'
complete -c art-fuse -n '__art_at "art-fuse" 1' -a backup -d 'copy a database'
complete -c art-fuse -n '__art_at "art-fuse" 1' -a flatten -d 'make a database self-contained'
complete -c art-fuse -n '__art_at "art-fuse"' -l version -d 'print the version'
complete -c art-fuse -n '__art_at "art-fuse"' -l help -d 'print help'
complete -c art-fuse -n '__art_at "art-fuse ls" 1' -F
complete -c art-fuse -n '__art_at "art-fuse ls" 2 more' -x -a '(__art_in_database)'
complete -c art-fuse -n '__art_at "art-fuse ls"' -s l -d 'attributes, one line an entry, as "ls -l" shows them'
complete -c art-fuse -n '__art_at "art-fuse ls"' -s p -d 'a slash after the name of a directory'
complete -c art-fuse -n '__art_at "art-fuse ls"' -l at -x -d 'what was there at a checkpoint, by number or label'
complete -c art-fuse -n '__art_at "art-fuse ls"' -l json -d 'print an object a line'
complete -c art-fuse -n '__art_at "art-fuse ls"' -l help -d 'print help'
complete -c art-fuse -n '__art_at "art-fuse cat" 1' -F
complete -c art-fuse -n '__art_at "art-fuse cat" 2 more' -x -a '(__art_in_database)'
complete -c art-fuse -n '__art_at "art-fuse cat"' -l base -x -a '(__fish_complete_directories)' -d 'the workspace on the host that the database lies over'
complete -c art-fuse -n '__art_at "art-fuse cat"' -l name -x -d 'the name of the workspace in the database'
complete -c art-fuse -n '__art_at "art-fuse cat"' -l at -x -d 'what was there at a checkpoint, by number or label'
complete -c art-fuse -n '__art_at "art-fuse cat"' -l help -d 'print help'
complete -c art-fuse -n '__art_at "art-fuse stat" 1' -F
complete -c art-fuse -n '__art_at "art-fuse stat" 2 more' -x -a '(__art_in_database)'
complete -c art-fuse -n '__art_at "art-fuse stat"' -l at -x -d 'what was there at a checkpoint, by number or label'
complete -c art-fuse -n '__art_at "art-fuse stat"' -l json -d 'print an object a line'
complete -c art-fuse -n '__art_at "art-fuse stat"' -l help -d 'print help'
complete -c art-fuse -n '__art_at "art-fuse tree" 1' -F
complete -c art-fuse -n '__art_at "art-fuse tree" 2 more' -x -a '(__art_in_database)'
complete -c art-fuse -n '__art_at "art-fuse tree"' -l at -x -d 'what was there at a checkpoint, by number or label'
complete -c art-fuse -n '__art_at "art-fuse tree"' -l json -d 'print an object a line'
complete -c art-fuse -n '__art_at "art-fuse tree"' -l help -d 'print help'
complete -c art-fuse -n '__art_at "art-fuse mount" 1' -F
complete -c art-fuse -n '__art_at "art-fuse mount" 2' -x -a '(__fish_complete_directories)'
complete -c art-fuse -n '__art_at "art-fuse mount"' -l base -x -a '(__fish_complete_directories)' -d 'the workspace on the host that the database lies over'
complete -c art-fuse -n '__art_at "art-fuse mount"' -l name -x -d 'the name of the workspace in the database'
complete -c art-fuse -n '__art_at "art-fuse mount"' -l at -x -d 'what was there at a checkpoint, by number or label'
complete -c art-fuse -n '__art_at "art-fuse mount"' -l read-write -d 'let the tree be changed'
complete -c art-fuse -n '__art_at "art-fuse mount"' -l allow-other -d 'let other users in too'
complete -c art-fuse -n '__art_at "art-fuse mount"' -l fsname -x -d 'the name in the list of mounts'
complete -c art-fuse -n '__art_at "art-fuse mount"' -l foreground -d 'do not go to the background'
complete -c art-fuse -n '__art_at "art-fuse mount"' -l help -d 'print help'
complete -c art-fuse -n '__art_at "art-fuse check" 1' -F
complete -c art-fuse -n '__art_at "art-fuse check"' -l repair -d 'repair what was found, and say what was done'
complete -c art-fuse -n '__art_at "art-fuse check"' -l json -d 'print an object a line for each violation'
complete -c art-fuse -n '__art_at "art-fuse check"' -l help -d 'print help'
complete -c art-fuse -n '__art_at "art-fuse backup" 1' -F
complete -c art-fuse -n '__art_at "art-fuse backup" 2' -F
complete -c art-fuse -n '__art_at "art-fuse backup"' -l help -d 'print help'
complete -c art-fuse -n '__art_at "art-fuse flatten" 1' -F
complete -c art-fuse -n '__art_at "art-fuse flatten"' -l base -x -a '(__fish_complete_directories)' -d 'the workspace on the host that the database lies over'
complete -c art-fuse -n '__art_at "art-fuse flatten"' -l name -x -d 'the name of the workspace in the database'
complete -c art-fuse -n '__art_at "art-fuse flatten"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync" 1' -a diff -d 'show what the guest changed'
complete -c art-sync -n '__art_at "art-sync" 1' -a pull -d 'bring what the guest changed to the host'
complete -c art-sync -n '__art_at "art-sync" 1' -a push -d 'bring what the host changed into the database'
complete -c art-sync -n '__art_at "art-sync" 1' -a reset -d 'give up what the guest changed'
complete -c art-sync -n '__art_at "art-sync" 1' -a status -d 'show what is pending'
complete -c art-sync -n '__art_at "art-sync" 1' -a log -d 'show the sessions there were, and the checkpoints'
complete -c art-sync -n '__art_at "art-sync" 1' -a net -d 'show what guests did on the network, and what they were denied'
complete -c art-sync -n '__art_at "art-sync" 1' -a checkpoint -d 'remember what the tree is now'
complete -c art-sync -n '__art_at "art-sync" 1' -a undo -d 'go back to before the last change'
complete -c art-sync -n '__art_at "art-sync" 1' -a redo -d 'take back an undo or a rewind'
complete -c art-sync -n '__art_at "art-sync" 1' -a rewind -d 'go back to a checkpoint'
complete -c art-sync -n '__art_at "art-sync" 1' -a fork -d 'make a database that goes on from this one by itself'
complete -c art-sync -n '__art_at "art-sync" 1' -a merge -d 'take what a fork has changed into the database that it was made of'
complete -c art-sync -n '__art_at "art-sync" 1' -a compare -d 'show what came of forks'
complete -c art-sync -n '__art_at "art-sync" 1' -a gc -d 'drop old checkpoints'
complete -c art-sync -n '__art_at "art-sync" 1' -a list -d 'show all databases of workspaces'
complete -c art-sync -n '__art_at "art-sync" 1' -a rm -d 'remove the database of a workspace'
complete -c art-sync -n '__art_at "art-sync"' -l version -d 'print the version'
complete -c art-sync -n '__art_at "art-sync"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync diff" 1 more' -x -a '(__art_in_workspace)'
complete -c art-sync -n '__art_at "art-sync diff"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art-sync -n '__art_at "art-sync diff"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art-sync -n '__art_at "art-sync diff"' -s d -l db -r -F -d 'the database'
complete -c art-sync -n '__art_at "art-sync diff"' -l name -x -d 'the name of the workspace in the database'
complete -c art-sync -n '__art_at "art-sync diff"' -l adopt -d 'the workspace was moved here, or is a copy that takes its place'
complete -c art-sync -n '__art_at "art-sync diff"' -l patch -d 'a unified diff that "git apply" and "patch -p1" take'
complete -c art-sync -n '__art_at "art-sync diff"' -l stat -d 'how many lines changed'
complete -c art-sync -n '__art_at "art-sync diff"' -l json -d 'an object a line'
complete -c art-sync -n '__art_at "art-sync diff"' -l exclude -r -F -d 'leave paths out, in the syntax of gitignore(5)'
complete -c art-sync -n '__art_at "art-sync diff"' -l no-ignored -d 'leave out what git ignores'
complete -c art-sync -n '__art_at "art-sync diff"' -s q -l quiet -d 'only the exit status'
complete -c art-sync -n '__art_at "art-sync diff"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync pull" 1 more' -x -a '(__art_in_workspace)'
complete -c art-sync -n '__art_at "art-sync pull"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art-sync -n '__art_at "art-sync pull"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art-sync -n '__art_at "art-sync pull"' -s d -l db -r -F -d 'the database'
complete -c art-sync -n '__art_at "art-sync pull"' -l from -x -a '(__art_databases)' -d 'pull what a fork of the database has, by its name'
complete -c art-sync -n '__art_at "art-sync pull"' -s p -l pick -d 'ask about each change, and about each hunk of a text, as "git add -p" does'
complete -c art-sync -n '__art_at "art-sync pull"' -l name -x -d 'the name of the workspace in the database'
complete -c art-sync -n '__art_at "art-sync pull"' -l adopt -d 'the workspace was moved here, or is a copy that takes its place'
complete -c art-sync -n '__art_at "art-sync pull"' -l force -d 'in a conflict, take what the guest has'
complete -c art-sync -n '__art_at "art-sync pull"' -l keep-both -d 'in a conflict, keep what the host has, and write what the guest has as NAME.art'
complete -c art-sync -n '__art_at "art-sync pull"' -l allow -r -F -d 'bring what is held back and fits the pattern, in the syntax of gitignore(5)'
complete -c art-sync -n '__art_at "art-sync pull"' -l exclude -r -F -d 'leave paths out, in the syntax of gitignore(5)'
complete -c art-sync -n '__art_at "art-sync pull"' -l no-ignored -d 'leave out what git ignores'
complete -c art-sync -n '__art_at "art-sync pull"' -l dry-run -d 'say what would be done, and change nothing'
complete -c art-sync -n '__art_at "art-sync pull"' -s q -l quiet -d 'say nothing but errors, conflicts and what is held back'
complete -c art-sync -n '__art_at "art-sync pull"' -s v -l verbose -d 'name each path that is held back, also where many of one directory are, for one reason'
complete -c art-sync -n '__art_at "art-sync pull"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync push" 1 more' -F
complete -c art-sync -n '__art_at "art-sync push"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art-sync -n '__art_at "art-sync push"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art-sync -n '__art_at "art-sync push"' -s d -l db -r -F -d 'the database'
complete -c art-sync -n '__art_at "art-sync push"' -l name -x -d 'the name of the workspace in the database'
complete -c art-sync -n '__art_at "art-sync push"' -l adopt -d 'the workspace was moved here, or is a copy that takes its place'
complete -c art-sync -n '__art_at "art-sync push"' -l force -d 'in a conflict, take what the host has'
complete -c art-sync -n '__art_at "art-sync push"' -l exclude -r -F -d 'leave paths out, in the syntax of gitignore(5)'
complete -c art-sync -n '__art_at "art-sync push"' -l no-ignored -d 'leave out what git ignores'
complete -c art-sync -n '__art_at "art-sync push"' -l dry-run -d 'say what would be done, and change nothing'
complete -c art-sync -n '__art_at "art-sync push"' -s q -l quiet -d 'say nothing but errors and conflicts'
complete -c art-sync -n '__art_at "art-sync push"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync reset" 1 more' -x -a '(__art_in_workspace)'
complete -c art-sync -n '__art_at "art-sync reset"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art-sync -n '__art_at "art-sync reset"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art-sync -n '__art_at "art-sync reset"' -s d -l db -r -F -d 'the database'
complete -c art-sync -n '__art_at "art-sync reset"' -l dry-run -d 'say what would be done, and change nothing'
complete -c art-sync -n '__art_at "art-sync reset"' -l force -d 'without paths, do not ask'
complete -c art-sync -n '__art_at "art-sync reset"' -l name -x -d 'the name of the workspace in the database'
complete -c art-sync -n '__art_at "art-sync reset"' -l adopt -d 'the workspace was moved here, or is a copy that takes its place'
complete -c art-sync -n '__art_at "art-sync reset"' -s q -l quiet -d 'say nothing but errors'
complete -c art-sync -n '__art_at "art-sync reset"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync status"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art-sync -n '__art_at "art-sync status"' -s d -l db -r -F -d 'the database'
complete -c art-sync -n '__art_at "art-sync status"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art-sync -n '__art_at "art-sync status"' -l all -d 'show each path'
complete -c art-sync -n '__art_at "art-sync status"' -l json -d 'print an object'
complete -c art-sync -n '__art_at "art-sync status"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync log"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art-sync -n '__art_at "art-sync log"' -s d -l db -r -F -d 'the database'
complete -c art-sync -n '__art_at "art-sync log"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art-sync -n '__art_at "art-sync log"' -l json -d 'print an object a line'
complete -c art-sync -n '__art_at "art-sync log"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync net" 1' -x -a '(__art_sessions)'
complete -c art-sync -n '__art_at "art-sync net"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art-sync -n '__art_at "art-sync net"' -s d -l db -r -F -d 'the database'
complete -c art-sync -n '__art_at "art-sync net"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art-sync -n '__art_at "art-sync net"' -s f -l follow -d 'show what a session that runs has done, and what it does, until it ends'
complete -c art-sync -n '__art_at "art-sync net"' -l live -d 'show what a session that runs has done'
complete -c art-sync -n '__art_at "art-sync net"' -l denied -d 'only what was denied'
complete -c art-sync -n '__art_at "art-sync net"' -l host -x -d 'only this name or address'
complete -c art-sync -n '__art_at "art-sync net"' -l json -d 'print an object a line'
complete -c art-sync -n '__art_at "art-sync net"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync checkpoint"' -s m -l label -x -d 'a name for it, beside its number'
complete -c art-sync -n '__art_at "art-sync checkpoint"' -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art-sync -n '__art_at "art-sync checkpoint"' -s d -l db -r -F -d 'the database'
complete -c art-sync -n '__art_at "art-sync checkpoint"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art-sync -n '__art_at "art-sync checkpoint"' -l json -d 'print an object'
complete -c art-sync -n '__art_at "art-sync checkpoint"' -s q -l quiet -d 'say nothing but errors'
complete -c art-sync -n '__art_at "art-sync checkpoint"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync undo"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art-sync -n '__art_at "art-sync undo"' -s d -l db -r -F -d 'the database'
complete -c art-sync -n '__art_at "art-sync undo"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art-sync -n '__art_at "art-sync undo"' -l json -d 'print an object'
complete -c art-sync -n '__art_at "art-sync undo"' -s q -l quiet -d 'say nothing but errors'
complete -c art-sync -n '__art_at "art-sync undo"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync redo"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art-sync -n '__art_at "art-sync redo"' -s d -l db -r -F -d 'the database'
complete -c art-sync -n '__art_at "art-sync redo"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art-sync -n '__art_at "art-sync redo"' -l json -d 'print an object'
complete -c art-sync -n '__art_at "art-sync redo"' -s q -l quiet -d 'say nothing but errors'
complete -c art-sync -n '__art_at "art-sync redo"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync rewind" 2 more' -x -a '(__art_in_workspace)'
complete -c art-sync -n '__art_at "art-sync rewind"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art-sync -n '__art_at "art-sync rewind"' -s d -l db -r -F -d 'the database'
complete -c art-sync -n '__art_at "art-sync rewind"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art-sync -n '__art_at "art-sync rewind"' -l json -d 'print an object'
complete -c art-sync -n '__art_at "art-sync rewind"' -s q -l quiet -d 'say nothing but errors'
complete -c art-sync -n '__art_at "art-sync rewind"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync fork" 1 more' -F
complete -c art-sync -n '__art_at "art-sync fork"' -l at -x -d 'fork what the tree was at a checkpoint, by its number or label'
complete -c art-sync -n '__art_at "art-sync fork"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art-sync -n '__art_at "art-sync fork"' -s d -l db -r -F -d 'the database'
complete -c art-sync -n '__art_at "art-sync fork"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art-sync -n '__art_at "art-sync fork"' -l json -d 'print an object'
complete -c art-sync -n '__art_at "art-sync fork"' -s q -l quiet -d 'say nothing but errors'
complete -c art-sync -n '__art_at "art-sync fork"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync merge" 1' -F
complete -c art-sync -n '__art_at "art-sync merge"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art-sync -n '__art_at "art-sync merge"' -s d -l db -r -F -d 'the database'
complete -c art-sync -n '__art_at "art-sync merge"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art-sync -n '__art_at "art-sync merge"' -l dry-run -d 'say what would be done, and change nothing'
complete -c art-sync -n '__art_at "art-sync merge"' -l force -d 'where both changed something, take what the fork has'
complete -c art-sync -n '__art_at "art-sync merge"' -l ours -d 'where both changed something, leave what is there'
complete -c art-sync -n '__art_at "art-sync merge"' -l json -d 'print an object a line'
complete -c art-sync -n '__art_at "art-sync merge"' -s q -l quiet -d 'say nothing but errors'
complete -c art-sync -n '__art_at "art-sync merge"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync compare" 1 more' -x -a '(__art_databases)'
complete -c art-sync -n '__art_at "art-sync compare"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art-sync -n '__art_at "art-sync compare"' -s d -l db -r -F -d 'the database'
complete -c art-sync -n '__art_at "art-sync compare"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art-sync -n '__art_at "art-sync compare"' -l json -d 'print an object a line'
complete -c art-sync -n '__art_at "art-sync compare"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync gc"' -s m -l mount -l workspace -x -a '(__fish_complete_directories)' -d 'the workspace on the host'
complete -c art-sync -n '__art_at "art-sync gc"' -s d -l db -r -F -d 'the database'
complete -c art-sync -n '__art_at "art-sync gc"' -l agent -x -a '(__art_agents)' -d 'an agent of your own, whose workspace and database these are'
complete -c art-sync -n '__art_at "art-sync gc"' -l checkpoints -x -d 'how many may stay'
complete -c art-sync -n '__art_at "art-sync gc"' -l days -x -d 'how old they may be'
complete -c art-sync -n '__art_at "art-sync gc"' -l gone -d 'forget forks that are not where they were made'
complete -c art-sync -n '__art_at "art-sync gc"' -l size -x -d 'how much content may be kept that is not there any more'
complete -c art-sync -n '__art_at "art-sync gc"' -s q -l quiet -d 'say nothing but errors'
complete -c art-sync -n '__art_at "art-sync gc"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync list"' -l json -d 'print an object a line'
complete -c art-sync -n '__art_at "art-sync list"' -l help -d 'print help'
complete -c art-sync -n '__art_at "art-sync rm" 1' -x -a '(__art_databases)'
complete -c art-sync -n '__art_at "art-sync rm"' -l force -d 'remove it whatever is in it'
complete -c art-sync -n '__art_at "art-sync rm"' -s q -l quiet -d 'say nothing but errors'
complete -c art-sync -n '__art_at "art-sync rm"' -l help -d 'print help'
complete -c art-trace -n '__art_at "art-trace"' -l log -r -F -d 'where the trace goes'
complete -c art-trace -n '__art_at "art-trace"' -l log-fd -x -d 'write to the open descriptor N instead'
complete -c art-trace -n '__art_at "art-trace"' -l syscalls -x -a '(__art_calls)' -d 'what to trace, between commas'
complete -c art-trace -n '__art_at "art-trace"' -l format -x -a 'text json summary report' -d 'text, as strace writes it, json, an object a line, summary or report'
complete -c art-trace -n '__art_at "art-trace"' -l summary -d 'write only a table at the end'
complete -c art-trace -n '__art_at "art-trace"' -l report -d 'write only a digest at the end'
complete -c art-trace -n '__art_at "art-trace"' -l attach -x -a '(__fish_complete_pids)' -d 'trace a running process and what it starts, until it ends or art-trace is interrupted'
complete -c art-trace -n '__art_at "art-trace"' -l deny -x -a '(__art_calls)' -d 'let calls, named as for --syscalls, fail with ERRNO, such as ENOENT'
complete -c art-trace -n '__art_at "art-trace"' -l secrets-fd -x -d 'show what is in the open descriptor N as asterisks'
complete -c art-trace -n '__art_at "art-trace"' -l filter-by -x -a 'self payload' -d 'self'
complete -c art-trace -n '__art_at "art-trace"' -s s -l string-limit -x -d 'show up to N bytes of strings and buffers, and N arguments of a program'
complete -c art-trace -n '__art_at "art-trace"' -s y -l decode-fds -d 'show what descriptors refer to'
complete -c art-trace -n '__art_at "art-trace"' -s r -l relative-timestamps -d 'begin each line with the time since the one before'
complete -c art-trace -n '__art_at "art-trace"' -o tt -l absolute-timestamps -d 'begin each line with the time of day'
complete -c art-trace -n '__art_at "art-trace"' -s T -l syscall-times -d 'end each line with the time spent in the call'
complete -c art-trace -n '__art_at "art-trace"' -l version -d 'print the version'
complete -c art-trace -n '__art_at "art-trace"' -l help -d 'print help'
# generated: end
