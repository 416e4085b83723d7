#compdef art art-fuse art-sync art-trace

# Completion in zsh for art, art-fuse, art-sync and art-trace.

# _art_inside DB TOP offers paths inside of a database, below TOP.
_art_inside() {
  local db=${${(Q)1}/#\~\//$HOME/} dir=${(Q)PREFIX} name
  local -a dirs files
  [[ $dir == */* ]] && dir=${dir%/*}/ || dir=
  while IFS= read -r name; do
    case $name in
      \$\'*) ;; # a name of control characters comes quoted, and is for nobody to type
      */) dirs+=("${name%/}") ;;
      *) files+=("$name") ;;
    esac
  done < <(_call_program paths art-fuse ls -p -- ${(q)db} ${(q):-$2/$dir} 2>/dev/null)
  compset -P '*/'
  compadd -q -S / -a dirs
  compadd -a files
}

_art_in_database() { _art_inside "$line[1]" "" }

_art_in_workspace() {
  local db=${opt_args[-d]:-${opt_args[--db]:-$ART_DB}}
  local dir=${opt_args[-m]:-${opt_args[--mount]:-${opt_args[--workspace]:-.}}}
  dir=${${(Q)dir}/#\~\//$HOME/}
  _art_inside "$db" "/${dir:A:t}"
}

_art_calls() { _values -s , 'system calls' %file %desc %network %process %memory %signal %ipc %creds %clock %stat }

_art_homes() { _path_files -/ -W ${XDG_DATA_HOME:-$HOME/.local/share}/art/homes }

# _art_first COMMAND... offers the first words of what a command prints.
_art_first() {
  local -a names=(${${(f)"$(_call_program names "$@" 2>/dev/null)"}%% *})
  names=(${names:#ID}) # a heading
  compadd -a names
}

_art_agents() { _art_first art agent ls }
_art_sessions() { _art_first art ps }
_art_databases() {
  local -a names=(${(f)"$(_call_program names art list --json 2>/dev/null | sed -n 's/^{"name":"\([^"\\]*\)",.*/\1/p')"}) # without those that need escapes
  compadd -a names
}
_art_presets() { _art_first art presets }

# _art_spec COMMAND tells what a command has, for _arguments, and fails if there is none of the name.
_art_spec() {
  # generated: zsh
  case $1 in
    'art')
      payload=true
      own=(
        'run:run a command whose changes stay apart'
        'diff:show what the guest changed'
        'pull:bring what the guest changed to the host'
        'push:bring what the host changed into the database'
        'reset:give up what the guest changed'
        'status:show what is pending'
        'log:show the sessions there were, and the checkpoints'
        'blame:show where each line of a file has come from'
        'timeline:show the commands that ran, and what each has changed and reached'
        'net:show what guests did on the network, and what they were denied'
        'checkpoint:remember what the tree is now'
        'undo:go back to before the last change'
        'redo:take back an undo or a rewind'
        'rewind:go back to a checkpoint'
        'fork:make a database that goes on from this one by itself'
        'merge:take what a fork has changed into the database that it was made of'
        'bisect:find the checkpoint at which something broke'
        'try:run a command in several forks side by side'
        'compare:show what came of forks'
        'gc:drop old checkpoints'
        'list:show all databases of workspaces'
        'rm:remove the database of a workspace'
        'ps:list the sessions that run'
        'ports:list the ports of guests that are published'
        'exec:run another program in a session that runs'
        'attach:join the terminal of a session'
        'logs:print the output of a session in the background'
        'kill:send the command of a session a signal'
        'grant:let a session that runs reach more of the network'
        'grants:show what waits to be granted on the network, and answer'
        'wait:wait for the end of a session'
        'presets:list the agents that art knows, and where they are'
        'agent:agents of your own'
        'home:the homes that --home names'
        'config:show the settings of a session, and where each was said'
        'trust:allow what the settings of a workspace ask for'
        'restore:bring back a database that was copied to another place'
        'doctor:look whether this host has what a session needs')
      specs=(
        '(-m --mount)'{-m,--mount=}'[the workspace, a directory of the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database that takes what is written, or the URL of its copy]:DB:_files'
        --name='[what the workspace is called in the guest and in the database]:NAME: '
        --home='[a home that sessions in other workspaces share]:NAME: _art_homes'
        --agent='[an agent of your own]:NAME: _art_agents'
        --adopt'[the workspace was moved here]'
        '(-i --interactive)'{-i=-,--interactive=-}'[a terminal for the command, if there is one]:BOOL:(true false)'
        '(-b --background)'{-b,--background}'[leave the session in the background, and print its id]'
        --detach-keys='[the keys that leave the session to itself]:KEYS: '
        --systemd'[make the session in the background a unit of systemd, for its limits and its own end]'
        --end='[what becomes of processes that the command leaves running when it ends]:WHAT:(kill wait ask)'
        --time='[how long the session may run, such as 90s or 2h]:TIME: '
        --notify'[tell you at your desktop when the session ends, waits for you, or was refused something]'
        --network='[host, none, or names between commas that alone can be reached, and what the agent needs, such as github.com,*.example.org]:WHAT:(host none)'
        --learn'[let it reach all that is public, and say at the end which settings would allow what it has reached]'
        '*'--publish='[have a port of the guest be reached at 127.0.0.1 of the host, at the same port or HOST]:[HOST:]PORT: '
        --path='[with host, the workspace is at its own path on the host too, and the command starts there]:WHERE:(home host)'
        '*'{-e,--env=}'[pass on a variable, or set one]:NAME[=VALUE]:_parameters -g "*export*"'
        --preset='[what the agent NAME needs]:NAME: _art_presets'
        '*'--see='[show a path of the host at its own place, read-only, although homes are hidden]:PATH:_files'
        '*'--hide='[hide a path of the host]:PATH:_files'
        '*'--allow='[system calls that are refused otherwise]:CALLS:(io_uring keys namespaces perf sockets userfaultfd)'
        --commands'[learn which commands run, and which of them changes what]'
        --events='[tell what happens while it happens]:FILE:_files'
        --replicate='[copy the database while the session writes it, to s3]:URL: '
        --flatten'[with --replicate, have the database hold all of the workspace before the command begins]'
        --take-over'[with --replicate, take the copy over from another session that writes there]'
        --trace'[trace system calls with art-trace(1)]'
        --trace-log='[where the trace goes]:FILE:_files'
        --trace-syscalls='[the system calls to trace, between commas]:LIST: _art_calls'
        --trace-format='[text, as strace writes it, json, an object a line]:FORMAT:(text json summary report)'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--version'[print the version]'
        --mode='[direct or overlay, where no database is named]:MODE:(direct overlay)'
        '(- *)'--help'[print help]')
      ;;
    'art run')
      payload=true
      own=()
      specs=(
        '(-m --mount)'{-m,--mount=}'[the workspace, a directory of the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database that takes what is written, or the URL of its copy]:DB:_files'
        --name='[what the workspace is called in the guest and in the database]:NAME: '
        --home='[a home that sessions in other workspaces share]:NAME: _art_homes'
        --agent='[an agent of your own]:NAME: _art_agents'
        --adopt'[the workspace was moved here]'
        '(-i --interactive)'{-i=-,--interactive=-}'[a terminal for the command, if there is one]:BOOL:(true false)'
        '(-b --background)'{-b,--background}'[leave the session in the background, and print its id]'
        --detach-keys='[the keys that leave the session to itself]:KEYS: '
        --systemd'[make the session in the background a unit of systemd, for its limits and its own end]'
        --end='[what becomes of processes that the command leaves running when it ends]:WHAT:(kill wait ask)'
        --time='[how long the session may run, such as 90s or 2h]:TIME: '
        --notify'[tell you at your desktop when the session ends, waits for you, or was refused something]'
        --network='[host, none, or names between commas that alone can be reached, and what the agent needs, such as github.com,*.example.org]:WHAT:(host none)'
        --learn'[let it reach all that is public, and say at the end which settings would allow what it has reached]'
        '*'--publish='[have a port of the guest be reached at 127.0.0.1 of the host, at the same port or HOST]:[HOST:]PORT: '
        --path='[with host, the workspace is at its own path on the host too, and the command starts there]:WHERE:(home host)'
        '*'{-e,--env=}'[pass on a variable, or set one]:NAME[=VALUE]:_parameters -g "*export*"'
        --preset='[what the agent NAME needs]:NAME: _art_presets'
        '*'--see='[show a path of the host at its own place, read-only, although homes are hidden]:PATH:_files'
        '*'--hide='[hide a path of the host]:PATH:_files'
        '*'--allow='[system calls that are refused otherwise]:CALLS:(io_uring keys namespaces perf sockets userfaultfd)'
        --commands'[learn which commands run, and which of them changes what]'
        --events='[tell what happens while it happens]:FILE:_files'
        --replicate='[copy the database while the session writes it, to s3]:URL: '
        --flatten'[with --replicate, have the database hold all of the workspace before the command begins]'
        --take-over'[with --replicate, take the copy over from another session that writes there]'
        --trace'[trace system calls with art-trace(1)]'
        --trace-log='[where the trace goes]:FILE:_files'
        --trace-syscalls='[the system calls to trace, between commas]:LIST: _art_calls'
        --trace-format='[text, as strace writes it, json, an object a line]:FORMAT:(text json summary report)'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--version'[print the version]'
        '(- *)'--help'[print help]')
      ;;
    'art diff')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        '(-d --db)'{-d,--db=}'[the database, or the URL of its copy]:DB:_files'
        --name='[the name of the workspace in the database]:NAME: '
        --adopt'[the workspace was moved here, or is a copy that takes its place]'
        --patch'[a unified diff that "git apply" and "patch -p1" take]'
        --stat'[how many lines changed]'
        --json'[an object a line]'
        '*'--exclude='[leave paths out, in the syntax of gitignore(5)]:PATTERN:_files'
        --no-ignored'[leave out what git ignores]'
        '(-q --quiet)'{-q,--quiet}'[only the exit status]'
        '(- *)'--help'[print help]'
        '*:word: _art_in_workspace')
      ;;
    'art pull')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --from='[pull what a fork of the database has, by its name]:FORK: _art_databases'
        '(-p --pick)'{-p,--pick}'[ask about each change, and about each hunk of a text, as "git add -p" does]'
        --name='[the name of the workspace in the database]:NAME: '
        --adopt'[the workspace was moved here, or is a copy that takes its place]'
        --force'[in a conflict, take what the guest has]'
        --keep-both'[in a conflict, keep what the host has, and write what the guest has as NAME.art]'
        '*'--allow='[bring what is held back and fits the pattern, in the syntax of gitignore(5)]:PATTERN:_files'
        '*'--exclude='[leave paths out, in the syntax of gitignore(5)]:PATTERN:_files'
        --no-ignored'[leave out what git ignores]'
        --dry-run'[say what would be done, and change nothing]'
        --events='[tell of conflicts, as "art run" does of what happens]:FILE:_files'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors, conflicts and what is held back]'
        '(-v --verbose)'{-v,--verbose}'[name each path that is held back, also where many of one directory are, for one reason]'
        '(- *)'--help'[print help]'
        '*:word: _art_in_workspace')
      ;;
    'art push')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --name='[the name of the workspace in the database]:NAME: '
        --adopt'[the workspace was moved here, or is a copy that takes its place]'
        --force'[in a conflict, take what the host has]'
        '*'--exclude='[leave paths out, in the syntax of gitignore(5)]:PATTERN:_files'
        --no-ignored'[leave out what git ignores]'
        --dry-run'[say what would be done, and change nothing]'
        --events='[tell of conflicts, as "art run" does of what happens]:FILE:_files'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors and conflicts]'
        '(- *)'--help'[print help]'
        '*:word:_files')
      ;;
    'art reset')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --dry-run'[say what would be done, and change nothing]'
        --force'[without paths, do not ask]'
        --name='[the name of the workspace in the database]:NAME: '
        --adopt'[the workspace was moved here, or is a copy that takes its place]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]'
        '*:word: _art_in_workspace')
      ;;
    'art status')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database, or the URL of its copy]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --all'[show each path]'
        --json'[print an object]'
        '(- *)'--help'[print help]')
      ;;
    'art log')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database, or the URL of its copy]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --command='[show what the commands that match it have changed and reached, as "art timeline" does]:PATTERN: '
        --verify'[say whether what sessions have recorded is as they have sealed it at their end, and exit with 1 if not]'
        --head='[with --verify, also fail if no seal has this hash, which an earlier --verify has printed]:HASH: '
        --json'[print an object a line]'
        '(- *)'--help'[print help]'
        '*:word: _art_in_workspace')
      ;;
    'art blame')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database, or the URL of its copy]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --json'[print an object for each range of lines]'
        '(- *)'--help'[print help]'
        '1:word: _art_in_workspace')
      ;;
    'art timeline')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database, or the URL of its copy]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --command='[only the commands that match it]:PATTERN: '
        --all'[also commands that have changed nothing, and all paths]'
        --html'[print a page for a browser, which needs nothing else]'
        --json'[print an object for each command]'
        '(- *)'--help'[print help]')
      ;;
    'art net')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database, or the URL of its copy]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        '(-f --follow)'{-f,--follow}'[show what a session that runs has done, and what it does, until it ends]'
        --live'[show what a session that runs has done]'
        --propose'[print the settings that would allow what was reached, and nothing else]'
        --denied'[only what was denied]'
        --host='[only this name or address]:NAME: '
        --json'[print an object a line]'
        '(- *)'--help'[print help]'
        '1:word: _art_sessions')
      ;;
    'art checkpoint')
      payload=false
      own=()
      specs=(
        '(-m --label)'{-m,--label=}'[a name for it, beside its number]:LABEL: '
        '(--mount --workspace)'{--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --json'[print an object]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]')
      ;;
    'art undo')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --json'[print an object]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]')
      ;;
    'art redo')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --json'[print an object]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]')
      ;;
    'art rewind')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --json'[print an object]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]'
        '1:word: '
        '*:word: _art_in_workspace')
      ;;
    'art fork')
      payload=false
      own=()
      specs=(
        --at='[fork what the tree was at a checkpoint, by its number or label]:CHECKPOINT: '
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --json'[print an object]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]'
        '*:word:_files')
      ;;
    'art merge')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --dry-run'[say what would be done, and change nothing]'
        --events='[tell of conflicts, as "art run" does of what happens]:FILE:_files'
        --force'[where both changed something, take what the fork has]'
        --ours'[where both changed something, leave what is there]'
        --json'[print an object a line]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]'
        '1:word:_files')
      ;;
    'art bisect')
      payload=true
      own=()
      specs=(
        --good='[where it was good, by number or label]:CHECKPOINT: '
        --bad='[where it is bad, by number or label]:CHECKPOINT: '
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --json'[print an object, and one for each change]'
        '(-q --quiet)'{-q,--quiet}'[tell nothing of the runs, and hide the command'\''s standard output]'
        '(- *)'--help'[print help]')
      ;;
    'art try')
      payload=true
      own=()
      specs=(
        '(-n --count)'{-n,--count=}'[how many forks, up to 100]:K: '
        '(-j --jobs)'{-j,--jobs=}'[how many run at once]:N: '
        --at='[fork what the tree was at a checkpoint, by its number or label]:CHECKPOINT: '
        --name='[what the forks are called]:NAME: '
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]')
      ;;
    'art compare')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --json'[print an object a line]'
        '(- *)'--help'[print help]'
        '*:word: _art_databases')
      ;;
    'art gc')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --checkpoints='[how many may stay, and as many of the guest'\''s]:N: '
        --days='[how old one without a label may be]:N: '
        --gone'[forget forks that are not where they were made]'
        --size='[how much content may be kept that is not there any more]:SIZE: '
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]')
      ;;
    'art list')
      payload=false
      own=()
      specs=(
        --json'[print an object a line]'
        '(- *)'--help'[print help]')
      ;;
    'art rm')
      payload=false
      own=()
      specs=(
        --force'[remove it whatever is in it]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]'
        '1:word: _art_databases')
      ;;
    'art ps')
      payload=false
      own=()
      specs=(
        --json'[print an object a line]'
        --pending'[count what is pending in each, as art status does]'
        --watch'[show it again every second, until a key is pressed]'
        '(- *)'--help'[print help]')
      ;;
    'art ports')
      payload=false
      own=()
      specs=(
        --json'[print an object a line]'
        '(- *)'--help'[print help]'
        '1:word: _art_sessions')
      ;;
    'art exec')
      payload=true
      own=()
      specs=(
        '*'{-e,--env=}'[pass on a variable, or set one]:NAME[=VALUE]:_parameters -g "*export*"'
        '(-w --cwd)'{-w,--cwd=}'[the directory in the guest to start in]:DIR: '
        '(-i --interactive)'{-i=-,--interactive=-}'[a terminal for the program, if there is one]:BOOL:(true false)'
        '(- *)'--help'[print help]')
      ;;
    'art attach')
      payload=false
      own=()
      specs=(
        --view'[only look]'
        --detach-keys='[the keys that leave the session]:KEYS: '
        '(- *)'--help'[print help]'
        '1:word: _art_sessions')
      ;;
    'art logs')
      payload=false
      own=()
      specs=(
        '(-f --follow)'{-f,--follow}'[go on until the session ends]'
        '(- *)'--help'[print help]'
        '1:word: _art_sessions')
      ;;
    'art kill')
      payload=false
      own=()
      specs=(
        '(-s --signal)'{-s,--signal=}'[which one, by its name or number]:SIGNAL: '
        '(- *)'--help'[print help]'
        '1:word: _art_sessions')
      ;;
    'art grant')
      payload=false
      own=()
      specs=(
        --once'[for one connection]'
        --session'[until the session ends, which is the default]'
        --always'[also for later sessions, by your settings]'
        --deny'[refuse what waits for an answer, and what asks for it later]'
        --id='[the session, as "art ps" lists it]:ID: _art_sessions'
        '(- *)'--help'[print help]')
      ;;
    'art grants')
      payload=false
      own=()
      specs=(
        '(-w --watch)'{-w,--watch}'[show it live on a terminal, and answer by a key]'
        --json'[print an object a line]'
        '(- *)'--help'[print help]'
        '1:word: _art_sessions')
      ;;
    'art wait')
      payload=false
      own=()
      specs=(
        '(- *)'--help'[print help]'
        '1:word: _art_sessions')
      ;;
    'art presets')
      payload=false
      own=()
      specs=(
        --json'[print an object a line]'
        --schema'[print a JSON schema of a preset, for editors]'
        '(- *)'--help'[print help]'
        '1:word:(check)'
        '2:word: _art_presets')
      ;;
    'art agent')
      payload=false
      own=(
        'new:make an agent of your own'
        'ls:list the agents of your own'
        'show:show the settings that hold for an agent'
        'rm:remove an agent, with the workspace that was made for it')
      specs=(
        '(- *)'--help'[print help]')
      ;;
    'art agent new')
      payload=false
      own=()
      specs=(
        --preset='[what a new one builds on]:PRESET: _art_presets'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]')
      ;;
    'art agent ls')
      payload=false
      own=()
      specs=(
        --json'[print an object a line]'
        '(- *)'--help'[print help]')
      ;;
    'art agent show')
      payload=false
      own=()
      specs=(
        --json'[print an object a line]'
        '(- *)'--help'[print help]'
        '1:word: _art_agents')
      ;;
    'art agent rm')
      payload=false
      own=()
      specs=(
        --force'[remove also what is in the workspace]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]'
        '1:word: _art_agents')
      ;;
    'art home')
      payload=false
      own=(
        'ls:list the homes'
        'rm:remove homes, with all that guests keep there'
        'seed:copy files of your own home into a home'
        'diff:show how files in a home differ from your own')
      specs=(
        '(- *)'--help'[print help]')
      ;;
    'art home ls')
      payload=false
      own=()
      specs=(
        --json'[print an object a line]'
        '(- *)'--help'[print help]')
      ;;
    'art home rm')
      payload=false
      own=()
      specs=(
        --force'[ask nothing]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]'
        '*:word: _art_homes')
      ;;
    'art home seed')
      payload=false
      own=()
      specs=(
        --force'[copy logins too, and replace what is there]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]'
        '1:word: _art_homes'
        '*:word:_files')
      ;;
    'art home diff')
      payload=false
      own=()
      specs=(
        --patch'[print a unified diff]'
        --json'[print an object a line]'
        '(- *)'--help'[print help]'
        '1:word: _art_homes'
        '*:word:_files')
      ;;
    'art config')
      payload=false
      own=()
      specs=(
        '(-m --mount)'{-m,--mount=}'[the workspace, a directory of the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database that takes what is written, or the URL of its copy]:DB:_files'
        --name='[what the workspace is called in the guest and in the database]:NAME: '
        --home='[a home that sessions in other workspaces share]:NAME: _art_homes'
        --agent='[an agent of your own]:NAME: _art_agents'
        --adopt'[the workspace was moved here]'
        '(-i --interactive)'{-i=-,--interactive=-}'[a terminal for the command, if there is one]:BOOL:(true false)'
        '(-b --background)'{-b,--background}'[leave the session in the background, and print its id]'
        --detach-keys='[the keys that leave the session to itself]:KEYS: '
        --systemd'[make the session in the background a unit of systemd, for its limits and its own end]'
        --end='[what becomes of processes that the command leaves running when it ends]:WHAT:(kill wait ask)'
        --time='[how long the session may run, such as 90s or 2h]:TIME: '
        --notify'[tell you at your desktop when the session ends, waits for you, or was refused something]'
        --network='[host, none, or names between commas that alone can be reached, and what the agent needs, such as github.com,*.example.org]:WHAT:(host none)'
        --learn'[let it reach all that is public, and say at the end which settings would allow what it has reached]'
        '*'--publish='[have a port of the guest be reached at 127.0.0.1 of the host, at the same port or HOST]:[HOST:]PORT: '
        --path='[with host, the workspace is at its own path on the host too, and the command starts there]:WHERE:(home host)'
        '*'{-e,--env=}'[pass on a variable, or set one]:NAME[=VALUE]:_parameters -g "*export*"'
        --preset='[what the agent NAME needs]:NAME: _art_presets'
        '*'--see='[show a path of the host at its own place, read-only, although homes are hidden]:PATH:_files'
        '*'--hide='[hide a path of the host]:PATH:_files'
        '*'--allow='[system calls that are refused otherwise]:CALLS:(io_uring keys namespaces perf sockets userfaultfd)'
        --commands'[learn which commands run, and which of them changes what]'
        --events='[tell what happens while it happens]:FILE:_files'
        --replicate='[copy the database while the session writes it, to s3]:URL: '
        --flatten'[with --replicate, have the database hold all of the workspace before the command begins]'
        --take-over'[with --replicate, take the copy over from another session that writes there]'
        --trace'[trace system calls with art-trace(1)]'
        --trace-log='[where the trace goes]:FILE:_files'
        --trace-syscalls='[the system calls to trace, between commas]:LIST: _art_calls'
        --trace-format='[text, as strace writes it, json, an object a line]:FORMAT:(text json summary report)'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        --mode='[direct or overlay, where no database is named]:MODE:(direct overlay)'
        --json'[print an object a line]'
        --schema'[print a JSON schema of the settings, for editors]'
        '(- *)'--help'[print help]')
      ;;
    'art trust')
      payload=false
      own=()
      specs=(
        '(-m --mount)'{-m,--mount=}'[the workspace]:DIR:_files -/'
        --dry-run'[only show it]'
        --revoke'[allow it no more]'
        --json'[print an object a line]'
        '(- *)'--help'[print help]'
        '1:word:_files -/')
      ;;
    'art restore')
      payload=false
      own=()
      specs=(
        '(-d --db)'{-d,--db=}'[the database that is made]:DB:_files'
        '(-m --mount)'{-m,--mount=}'[the workspace whose database it is to be, for "art run" there]:DIR:_files -/'
        --at='[as it was then]:TIME: '
        '(- *)'--help'[print help]')
      ;;
    'art doctor')
      payload=false
      own=()
      specs=(
        '(-m --mount)'{-m,--mount=}'[the workspace, a directory of the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database that takes what is written, or the URL of its copy]:DB:_files'
        --name='[what the workspace is called in the guest and in the database]:NAME: '
        --home='[a home that sessions in other workspaces share]:NAME: _art_homes'
        --agent='[an agent of your own]:NAME: _art_agents'
        --adopt'[the workspace was moved here]'
        '(-i --interactive)'{-i=-,--interactive=-}'[a terminal for the command, if there is one]:BOOL:(true false)'
        '(-b --background)'{-b,--background}'[leave the session in the background, and print its id]'
        --detach-keys='[the keys that leave the session to itself]:KEYS: '
        --systemd'[make the session in the background a unit of systemd, for its limits and its own end]'
        --end='[what becomes of processes that the command leaves running when it ends]:WHAT:(kill wait ask)'
        --time='[how long the session may run, such as 90s or 2h]:TIME: '
        --notify'[tell you at your desktop when the session ends, waits for you, or was refused something]'
        --network='[host, none, or names between commas that alone can be reached, and what the agent needs, such as github.com,*.example.org]:WHAT:(host none)'
        --learn'[let it reach all that is public, and say at the end which settings would allow what it has reached]'
        '*'--publish='[have a port of the guest be reached at 127.0.0.1 of the host, at the same port or HOST]:[HOST:]PORT: '
        --path='[with host, the workspace is at its own path on the host too, and the command starts there]:WHERE:(home host)'
        '*'{-e,--env=}'[pass on a variable, or set one]:NAME[=VALUE]:_parameters -g "*export*"'
        --preset='[what the agent NAME needs]:NAME: _art_presets'
        '*'--see='[show a path of the host at its own place, read-only, although homes are hidden]:PATH:_files'
        '*'--hide='[hide a path of the host]:PATH:_files'
        '*'--allow='[system calls that are refused otherwise]:CALLS:(io_uring keys namespaces perf sockets userfaultfd)'
        --commands'[learn which commands run, and which of them changes what]'
        --events='[tell what happens while it happens]:FILE:_files'
        --replicate='[copy the database while the session writes it, to s3]:URL: '
        --flatten'[with --replicate, have the database hold all of the workspace before the command begins]'
        --take-over'[with --replicate, take the copy over from another session that writes there]'
        --trace'[trace system calls with art-trace(1)]'
        --trace-log='[where the trace goes]:FILE:_files'
        --trace-syscalls='[the system calls to trace, between commas]:LIST: _art_calls'
        --trace-format='[text, as strace writes it, json, an object a line]:FORMAT:(text json summary report)'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        --mode='[direct or overlay, where no database is named]:MODE:(direct overlay)'
        --attack'[try to break out of a session, in every way that art knows, and show a table of what is enforced]'
        --container'[in a container, show what it lacks alone, with the flag of docker and podman and the line of a Pod'\''s manifest that give it]'
        --json'[print an object a line]'
        '(- *)'--help'[print help]')
      ;;
    'art-fuse')
      payload=false
      own=(
        'ls:list directories'
        'cat:print files'
        'stat:print attributes'
        'tree:list everything below a directory'
        'mount:show a database as a directory'
        'check:look for damage, and repair it'
        'backup:copy a database'
        'flatten:make a database self-contained')
      specs=(
        '(- *)'--version'[print the version]'
        '(- *)'--help'[print help]')
      ;;
    'art-fuse ls')
      payload=false
      own=()
      specs=(
        -l'[attributes, one line an entry, as "ls -l" shows them]'
        -p'[a slash after the name of a directory]'
        --at='[what was there at a checkpoint, by number or label]:CHECKPOINT: '
        --json'[print an object a line]'
        '(- *)'--help'[print help]'
        '1:word:_files'
        '*:word: _art_in_database')
      ;;
    'art-fuse cat')
      payload=false
      own=()
      specs=(
        --base='[the workspace on the host that the database lies over]:DIR:_files -/'
        --name='[the name of the workspace in the database]:NAME: '
        --at='[what was there at a checkpoint, by number or label]:CHECKPOINT: '
        '(- *)'--help'[print help]'
        '1:word:_files'
        '*:word: _art_in_database')
      ;;
    'art-fuse stat')
      payload=false
      own=()
      specs=(
        --at='[what was there at a checkpoint, by number or label]:CHECKPOINT: '
        --json'[print an object a line]'
        '(- *)'--help'[print help]'
        '1:word:_files'
        '*:word: _art_in_database')
      ;;
    'art-fuse tree')
      payload=false
      own=()
      specs=(
        --at='[what was there at a checkpoint, by number or label]:CHECKPOINT: '
        --json'[print an object a line]'
        '(- *)'--help'[print help]'
        '1:word:_files'
        '*:word: _art_in_database')
      ;;
    'art-fuse mount')
      payload=false
      own=()
      specs=(
        --base='[the workspace on the host that the database lies over]:DIR:_files -/'
        --name='[the name of the workspace in the database]:NAME: '
        --at='[what was there at a checkpoint, by number or label]:CHECKPOINT: '
        --read-write'[let the tree be changed]'
        --allow-other'[let other users in too]'
        --fsname='[the name in the list of mounts]:NAME: '
        --foreground'[do not go to the background]'
        '(- *)'--help'[print help]'
        '1:word:_files'
        '2:word:_files -/')
      ;;
    'art-fuse check')
      payload=false
      own=()
      specs=(
        --repair'[repair what was found, and say what was done]'
        --json'[print an object a line for each violation]'
        '(- *)'--help'[print help]'
        '1:word:_files'
        '2:word: ')
      ;;
    'art-fuse backup')
      payload=false
      own=()
      specs=(
        '(- *)'--help'[print help]'
        '1:word:_files'
        '2:word:_files')
      ;;
    'art-fuse flatten')
      payload=false
      own=()
      specs=(
        --base='[the workspace on the host that the database lies over]:DIR:_files -/'
        --name='[the name of the workspace in the database]:NAME: '
        '(- *)'--help'[print help]'
        '1:word:_files'
        '2:word: ')
      ;;
    'art-sync')
      payload=false
      own=(
        'diff:show what the guest changed'
        'pull:bring what the guest changed to the host'
        'push:bring what the host changed into the database'
        'reset:give up what the guest changed'
        'status:show what is pending'
        'log:show the sessions there were, and the checkpoints'
        'blame:show where each line of a file has come from'
        'timeline:show the commands that ran, and what each has changed and reached'
        'net:show what guests did on the network, and what they were denied'
        'checkpoint:remember what the tree is now'
        'undo:go back to before the last change'
        'redo:take back an undo or a rewind'
        'rewind:go back to a checkpoint'
        'fork:make a database that goes on from this one by itself'
        'merge:take what a fork has changed into the database that it was made of'
        'compare:show what came of forks'
        'gc:drop old checkpoints'
        'list:show all databases of workspaces'
        'rm:remove the database of a workspace')
      specs=(
        '(- *)'--version'[print the version]'
        '(- *)'--help'[print help]')
      ;;
    'art-sync diff')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        '(-d --db)'{-d,--db=}'[the database, or the URL of its copy]:DB:_files'
        --name='[the name of the workspace in the database]:NAME: '
        --adopt'[the workspace was moved here, or is a copy that takes its place]'
        --patch'[a unified diff that "git apply" and "patch -p1" take]'
        --stat'[how many lines changed]'
        --json'[an object a line]'
        '*'--exclude='[leave paths out, in the syntax of gitignore(5)]:PATTERN:_files'
        --no-ignored'[leave out what git ignores]'
        '(-q --quiet)'{-q,--quiet}'[only the exit status]'
        '(- *)'--help'[print help]'
        '*:word: _art_in_workspace')
      ;;
    'art-sync pull')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --from='[pull what a fork of the database has, by its name]:FORK: _art_databases'
        '(-p --pick)'{-p,--pick}'[ask about each change, and about each hunk of a text, as "git add -p" does]'
        --name='[the name of the workspace in the database]:NAME: '
        --adopt'[the workspace was moved here, or is a copy that takes its place]'
        --force'[in a conflict, take what the guest has]'
        --keep-both'[in a conflict, keep what the host has, and write what the guest has as NAME.art]'
        '*'--allow='[bring what is held back and fits the pattern, in the syntax of gitignore(5)]:PATTERN:_files'
        '*'--exclude='[leave paths out, in the syntax of gitignore(5)]:PATTERN:_files'
        --no-ignored'[leave out what git ignores]'
        --dry-run'[say what would be done, and change nothing]'
        --events='[tell of conflicts, as "art run" does of what happens]:FILE:_files'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors, conflicts and what is held back]'
        '(-v --verbose)'{-v,--verbose}'[name each path that is held back, also where many of one directory are, for one reason]'
        '(- *)'--help'[print help]'
        '*:word: _art_in_workspace')
      ;;
    'art-sync push')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --name='[the name of the workspace in the database]:NAME: '
        --adopt'[the workspace was moved here, or is a copy that takes its place]'
        --force'[in a conflict, take what the host has]'
        '*'--exclude='[leave paths out, in the syntax of gitignore(5)]:PATTERN:_files'
        --no-ignored'[leave out what git ignores]'
        --dry-run'[say what would be done, and change nothing]'
        --events='[tell of conflicts, as "art run" does of what happens]:FILE:_files'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors and conflicts]'
        '(- *)'--help'[print help]'
        '*:word:_files')
      ;;
    'art-sync reset')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --dry-run'[say what would be done, and change nothing]'
        --force'[without paths, do not ask]'
        --name='[the name of the workspace in the database]:NAME: '
        --adopt'[the workspace was moved here, or is a copy that takes its place]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]'
        '*:word: _art_in_workspace')
      ;;
    'art-sync status')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database, or the URL of its copy]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --all'[show each path]'
        --json'[print an object]'
        '(- *)'--help'[print help]')
      ;;
    'art-sync log')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database, or the URL of its copy]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --command='[show what the commands that match it have changed and reached, as "art timeline" does]:PATTERN: '
        --verify'[say whether what sessions have recorded is as they have sealed it at their end, and exit with 1 if not]'
        --head='[with --verify, also fail if no seal has this hash, which an earlier --verify has printed]:HASH: '
        --json'[print an object a line]'
        '(- *)'--help'[print help]'
        '*:word: _art_in_workspace')
      ;;
    'art-sync blame')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database, or the URL of its copy]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --json'[print an object for each range of lines]'
        '(- *)'--help'[print help]'
        '1:word: _art_in_workspace')
      ;;
    'art-sync timeline')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database, or the URL of its copy]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --command='[only the commands that match it]:PATTERN: '
        --all'[also commands that have changed nothing, and all paths]'
        --html'[print a page for a browser, which needs nothing else]'
        --json'[print an object for each command]'
        '(- *)'--help'[print help]')
      ;;
    'art-sync net')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database, or the URL of its copy]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        '(-f --follow)'{-f,--follow}'[show what a session that runs has done, and what it does, until it ends]'
        --live'[show what a session that runs has done]'
        --propose'[print the settings that would allow what was reached, and nothing else]'
        --denied'[only what was denied]'
        --host='[only this name or address]:NAME: '
        --json'[print an object a line]'
        '(- *)'--help'[print help]'
        '1:word: _art_sessions')
      ;;
    'art-sync checkpoint')
      payload=false
      own=()
      specs=(
        '(-m --label)'{-m,--label=}'[a name for it, beside its number]:LABEL: '
        '(--mount --workspace)'{--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --json'[print an object]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]')
      ;;
    'art-sync undo')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --json'[print an object]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]')
      ;;
    'art-sync redo')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --json'[print an object]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]')
      ;;
    'art-sync rewind')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --json'[print an object]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]'
        '1:word: '
        '*:word: _art_in_workspace')
      ;;
    'art-sync fork')
      payload=false
      own=()
      specs=(
        --at='[fork what the tree was at a checkpoint, by its number or label]:CHECKPOINT: '
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --json'[print an object]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]'
        '*:word:_files')
      ;;
    'art-sync merge')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --dry-run'[say what would be done, and change nothing]'
        --events='[tell of conflicts, as "art run" does of what happens]:FILE:_files'
        --force'[where both changed something, take what the fork has]'
        --ours'[where both changed something, leave what is there]'
        --json'[print an object a line]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]'
        '1:word:_files')
      ;;
    'art-sync compare')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --json'[print an object a line]'
        '(- *)'--help'[print help]'
        '*:word: _art_databases')
      ;;
    'art-sync gc')
      payload=false
      own=()
      specs=(
        '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace on the host]:DIR:_files -/'
        '(-d --db)'{-d,--db=}'[the database]:DB:_files'
        --agent='[an agent of your own, whose workspace and database these are]:NAME: _art_agents'
        --checkpoints='[how many may stay, and as many of the guest'\''s]:N: '
        --days='[how old one without a label may be]:N: '
        --gone'[forget forks that are not where they were made]'
        --size='[how much content may be kept that is not there any more]:SIZE: '
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]')
      ;;
    'art-sync list')
      payload=false
      own=()
      specs=(
        --json'[print an object a line]'
        '(- *)'--help'[print help]')
      ;;
    'art-sync rm')
      payload=false
      own=()
      specs=(
        --force'[remove it whatever is in it]'
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
        '(- *)'--help'[print help]'
        '1:word: _art_databases')
      ;;
    'art-trace')
      payload=true
      own=()
      specs=(
        '(-o --log --output)'{-o,--log=,--output=}'[where the trace goes]:FILE:_files'
        --log-fd='[write to the open descriptor N instead]:N: '
        '(--syscalls --trace)'{--syscalls=,--trace=}'[what to trace, between commas]:LIST: _art_calls'
        '*'-e'[what strace'\''s -e says]:EXPR: '
        '(--signal --signals)'{--signal=,--signals=}'[trace only these signals, as "-e signal=LIST"]:LIST: '
        --status='[trace only calls that end so]:HOW:(successful failed unfinished detached all none)'
        '*'{-P,--trace-path=}'[trace only calls on this path, by its name or by a descriptor]:PATH:_files'
        '(-z --successful-only)'{-z,--successful-only}'[trace only calls that succeed, each once it has returned]'
        '(-Z --failed-only)'{-Z,--failed-only}'[trace only calls that fail]'
        --format='[text, as strace writes it, json, an object a line, summary or report]:FORMAT:(text json summary report)'
        '(-c --summary --summary-only)'{-c,--summary,--summary-only}'[write only a table at the end]'
        '(-C --with-summary)'{-C,--with-summary}'[write the trace, and that table at its end]'
        --report'[write only a digest at the end]'
        --json'[write json]'
        --entries'[tell only which calls are made, not what they return, nor of signals and ends]'
        '*'{-p,--attach=}'[trace a running process and what it starts, until it ends or art-trace is interrupted]:PID:_pids'
        '*'--deny='[let calls, named as for --syscalls, fail with ERRNO, such as ENOENT]:CALLS[@WHAT][=ERRNO]: _art_calls'
        --secrets-fd='[show what is in the open descriptor N as asterisks]:N: '
        --filter-by='[self]:WHO:(self payload)'
        --engine='[ptrace]:ENGINE:(auto ptrace notify)'
        '(-s --string-limit)'{-s,--string-limit=}'[show up to N bytes of strings and buffers, and N arguments of a program]:N: '
        '(-x --non-ascii-in-hex)'{-x,--non-ascii-in-hex}'[show strings that are no ASCII text as hexadecimal numbers]'
        '(-xx --strings-in-hex --all-in-hex)'{-xx=-,--strings-in-hex=-,--all-in-hex=-}'[show all strings so, or with non-ascii-chars only those characters]:WHICH:(all non-ascii non-ascii-chars none)'
        '(-v --no-abbrev)'{-v,--no-abbrev}'[show structures and environments whole]'
        '(-y --decode-fds)'{-y=-,--decode-fds=-}'[show what descriptors refer to]:KINDS:(all path socket dev pidfd signalfd none)'
        '(-yy --decode-sockets)'{-yy,--decode-sockets}'[show that, and of sockets the protocol and addresses, of devices the numbers]'
        '(-t --timestamps --absolute-timestamps)'{-t=-,--timestamps=-,--absolute-timestamps=-}'[begin each line with the time of day in seconds, or as HOW says]:HOW:(time unix time,ms time,us time,ns unix,us)'
        '(-tt --precise-timestamps)'{-tt,--precise-timestamps}'[begin each line with the time of day in microseconds]'
        '(-ttt --unix-timestamps)'{-ttt,--unix-timestamps}'[begin each line with the seconds and microseconds since 1970]'
        '(-r --relative-timestamps)'{-r=-,--relative-timestamps=-}'[begin each line with the time since the one before, to the microsecond or UNIT]:UNIT:(s ms us ns)'
        '(-T --syscall-times)'{-T=-,--syscall-times=-}'[end each line with the time spent in the call, to the microsecond or UNIT]:UNIT:(s ms us ns)'
        '(-a --columns)'{-a,--columns=}'[write results in this column]:N: '
        '(-q --quiet --silent --silence)'{-q=-,--quiet=-,--silent=-,--silence=-}'[leave out exit, how processes end, thread-execve, or all that strace has]:WHAT:(all attach denied exit path-resolution personality thread-execve none)'
        '(-qq --no-exits)'{-qq,--no-exits}'[leave out how processes end]'
        '(-ff --output-separately)'{-ff,--output-separately}'[write a file for each thread, which is the log'\''s name, a dot and its id]'
        '(-f --follow-forks)'{-f,--follow-forks}'[for those who are used to it]'
        --seccomp-bpf'[for those who are used to it]'
        '(- *)'{-V,--version}'[print the version]'
        '(- *)'--help'[print help]')
      ;;
    *) return 1 ;;
  esac
  # generated: end
}

_art() {
  local curcontext=$curcontext state name=$service payload ret=1
  local -A opt_args
  local -a line specs own
  while (( CURRENT > 2 )) && _art_spec "$name $words[2]"; do
    name+=" $words[2]"
    shift words
    (( CURRENT-- ))
  done
  _art_spec $name || return
  local first=$(( CURRENT == 2 ))
  if [[ $payload == true ]]; then
    _arguments -C -S -A '-*' $specs '*::command:->command' && ret=0
  elif (( $#own )); then
    _arguments -C $specs '1:command:->word' && ret=0
  else
    _arguments $specs && ret=0
  fi
  if [[ -n $state ]] && (( first && $#own )); then
    _describe -t commands command own && ret=0
    [[ $state == command ]] && _art_presets && ret=0
    [[ $state == command ]] && _art_agents && ret=0
  fi
  [[ $state == command ]] && _normal && ret=0
  return ret
}

_art "$@"
