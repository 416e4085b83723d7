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

_art_workspace_paths() {
  local db=${opt_args[-d]:-${opt_args[--db]:-$ART_DB}}
  local dir=${opt_args[-m]:-${opt_args[--mount]:-${opt_args[--workspace]:-.}}}
  dir=${${(Q)dir}/#\~\//$HOME/}
  _art_inside "$db" "/${dir:A:t}"
}

_art_calls() { _values -s , 'system calls' %file %desc %network %process %memory %signal %ipc %creds %clock %stat }

_art_agents() {
  local -a names=(${${(f)"$(_call_program agents art agent ls 2>/dev/null)"}%% *})
  compadd -a names
}

_art_homes() { _path_files -/ -W ${XDG_DATA_HOME:-$HOME/.local/share}/art/homes }

# _art_presets lists the presets.
_art_presets() {
  local -a names=(${${(f)"$(_call_program presets art presets 2>/dev/null)"}%% *})
  compadd -a names
}

_art_run() {
  local curcontext=$curcontext state ret=1
  local -A opt_args
  local -a line more
  local first=$(( CURRENT == 2 )) offers=1
  more=('--mode=[where changes go]:mode:(direct overlay)')
  if [[ $words[2] == (run|config|doctor) ]] && (( CURRENT > 2 )); then
    shift words
    (( CURRENT-- ))
    case $words[1] in
      run) more=() ;;
      config) offers=0 more+=('--schema[print a JSON schema for editors]' '--json[print an object]') ;;
      doctor) offers=0 more+=('--attack[try to break out]' '--json[print an object]') ;;
    esac
  fi
  _arguments -C -S -A '-*' $more \
    '(-m --mount)'{-m,--mount=}'[the workspace]:directory:_files -/' \
    '(-d --db)'{-d,--db=}'[the database that takes what is written]:database:_files' \
    '--name=[name of the workspace]:name: ' \
    '--home=[a home that sessions share]:home:_art_homes' \
    '--agent=[an agent of your own]:agent:_art_agents' \
    '--adopt[the workspace was moved]' \
    '(-i --interactive)'{-i=-,--interactive=-}'[a terminal for the command]:on:(true false)' \
    '--network=[the network of the command]:network:(host none)' \
    '--path=[where the workspace is]:where:(home host)' \
    '*'{-e,--env=}'[pass on or set a variable]:variable:_parameters -g "*export*"' \
    '--preset=[what an agent needs]:preset:_art_presets' \
    '*--see=[show a path of a home]:path:_files' \
    '*--hide=[hide a path of the host]:path:_files' \
    '*--allow=[allow system calls]:calls:(io_uring keys namespaces perf sockets userfaultfd)' \
    '--trace[trace system calls]' \
    '--trace-log=[where the trace goes]:file:_files' \
    '--trace-syscalls=[what to trace]:calls:_art_calls' \
    '--trace-format=[what the trace looks like]:format:(text json summary report)' \
    '(-q --quiet)'{-q,--quiet}'[say nothing but errors]' \
    '(- *)--version[print the version]' \
    '(- *)--help[print help]' \
    '*::command:->command' && ret=0
  if [[ $state == command ]] && (( offers )); then
    local -a own=(
      'run:run a command whose changes stay apart'
      'push:bring what the host changed into a database'
      'pull:bring what the guest changed to the host'
      'diff:show what the guest changed'
      'reset:give up what the guest changed'
      'status:show what is pending'
      'log:show the sessions there were'
      'list:show all databases of workspaces'
      'rm:remove the database of a workspace'
      'agent:agents of your own'
      'home:the homes that sessions share'
      'config:show the settings of a session'
      'presets:list what agents need'
      'trust:allow what the settings of a workspace ask for'
      'doctor:look whether this host has what a session needs'
    )
    (( first )) && _describe -t commands 'command of art' own && ret=0
    (( first )) && _art_presets && ret=0
    (( first )) && _art_agents && ret=0
    _normal && ret=0
  fi
  return ret
}

# _art_sync_command completes push, pull, diff and others, which is the first word.
_art_sync_command() {
  local -A opt_args
  local -a flags=(
    '(-m --mount --workspace)'{-m,--mount=,--workspace=}'[the workspace]:directory:_files -/'
    '(-d --db)'{-d,--db=}'[the database]:database:_files'
    '--agent=[an agent of your own]:agent:_art_agents'
    '--name=[name of the workspace in the database]:name: '
    '--adopt[the workspace was moved]'
    '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
    '(- *)--help[print help]'
  )
  [[ $words[1] == reset ]] || flags+=('*--exclude=[leave paths out]:pattern:_files' '--no-ignored[leave out what git ignores]')
  case $words[1] in
    push)
      _arguments $flags '--dry-run[change nothing]' '--force[take what the host has in a conflict]' '*:path:_files'
      ;;
    pull)
      _arguments $flags '--dry-run[change nothing]' '(--keep-both)--force[take what the guest has in a conflict]' \
        '(--force)--keep-both[write what the guest has as NAME.art in a conflict]' \
        '(-p --pick)'{-p,--pick}'[ask about each change]' '(-v --verbose)'{-v,--verbose}'[name each path that is held back]' \
        '*--allow=[bring what is held back]:pattern:_files' '*:path: _art_workspace_paths'
      ;;
    diff)
      _arguments $flags '(--stat --json)--patch[print a unified diff]' '(--patch --json)--stat[count lines]' \
        '(--patch --stat)--json[print an object a line]' '*:path: _art_workspace_paths'
      ;;
    reset)
      _arguments $flags '--dry-run[change nothing]' '--force[do not ask]' '*:path: _art_workspace_paths'
      ;;
    status | log)
      _arguments '(-m --mount)'{-m,--mount=}'[the workspace]:directory:_files -/' '(-d --db)'{-d,--db=}'[the database]:database:_files' \
        '--agent=[an agent of your own]:agent:_art_agents' '--json[print an object a line]' '(- *)--help[print help]'
      ;;
    list) _arguments '--json[print an object a line]' '(- *)--help[print help]' ;;
    rm)
      _arguments '--force[remove it whatever is in it]' '(-q --quiet)'{-q,--quiet}'[say nothing but errors]' \
        '(- *)--help[print help]' '1:database:(${${(f)"$(_call_program databases art list 2>/dev/null)"}%% *})'
      ;;
    agent)
      _arguments '--preset=[what a new one builds on]:preset:_art_presets' '--force[remove its workspace whatever is in it]' \
        '--json[print an object a line]' '(-q --quiet)'{-q,--quiet}'[say nothing but errors]' '(- *)--help[print help]' \
        '1:word:(new ls show rm)' '2:agent:_art_agents'
      ;;
    home)
      _arguments '--force[ask nothing, copy logins too]' '--patch[print a unified diff]' '--json[print an object a line]' \
        '(-q --quiet)'{-q,--quiet}'[say nothing but errors]' '(- *)--help[print help]' '1:word:(ls rm seed diff)' '2:home:_art_homes' '*:path:_files'
      ;;
    presets)
      _arguments '--json[print an object a line]' '--schema[print a JSON schema for editors]' '(- *)--help[print help]' '1:command:(check)' '2:preset:_art_presets'
      ;;
    trust)
      _arguments '(-m --mount)'{-m,--mount=}'[the workspace]:directory:_files -/' '--revoke[allow it no more]' \
        '--dry-run[only show it]' '--json[print an object a line]' '(- *)--help[print help]' '1:directory:_files -/'
      ;;
  esac
}

_art_fuse() {
  local -a base=('--base=[the workspace on the host]:directory:_files -/' '--name=[the name of the workspace]:name: ')
  local -a help=('(- *)--help[print help]') json=('--json[print an object a line]')
  local database='1:database:_files' paths='*:path: _art_inside "$line[1]" ""'
  local -A opt_args
  local -a line
  case $words[1] in
    mount)
      _arguments $help $base '--read-write[let the tree be changed]' '--allow-other[let other users in]' \
        '--fsname=[the name in the list of mounts]:name: ' '--foreground[do not go to the background]' \
        $database '2:directory:_files -/'
      ;;
    ls) _arguments $help $json '-l[show attributes]' '-p[mark directories with a slash]' $database $paths ;;
    cat) _arguments $help $base $database $paths ;;
    stat | tree) _arguments $help $json $database $paths ;;
    check) _arguments $help $json '--repair[mend what was found]' $database ;;
    backup) _arguments $help $database '2:file:_files' ;;
    flatten) _arguments $help $base $database ;;
  esac
}

_art_trace() {
  _arguments -S -A '-*' \
    '--log=[where the trace goes]:file:_files' \
    '--log-fd=[the descriptor where the trace goes]:descriptor: ' \
    '--secrets-fd=[the descriptor that tells what to hide]:descriptor: ' \
    '--syscalls=[what to trace]:calls:_art_calls' \
    '--format=[what the trace looks like]:format:(text json summary report)' \
    '--summary[count the calls]' \
    '--report[tell what was run, read, written, connected to]' \
    '--attach=[trace a running process]:process:_pids' \
    '*--deny=[let calls fail]:calls:_art_calls' \
    '--filter-by=[who loads the filter]:who:(self payload)' \
    '(-y --decode-fds)'{-y,--decode-fds}'[say what descriptors refer to]' \
    '(-r --relative-timestamps)'{-r,--relative-timestamps}'[the time since the line before]' \
    '(-tt --absolute-timestamps)'{-tt,--absolute-timestamps}'[the time of day]' \
    '(-T --syscall-times)'{-T,--syscall-times}'[the time spent in each call]' \
    '(- *)--version[print the version]' \
    '(- *)--help[print help]' \
    '*:: :_normal'
}

# _art_next COMMANDS... offers the commands of a program that does nothing by itself.
_art_next() {
  _arguments '(- *)--version[print the version]' '(- *)--help[print help]' "1:command:(($*))"
}

_art() {
  case $service in
    art-trace) _art_trace; return ;;
    art)
      [[ $words[2] == (push|pull|diff|reset|status|log|list|rm|home|agent|trust|presets) ]] && (( CURRENT > 2 )) || { _art_run; return }
      ;;
  esac
  if (( CURRENT > 2 )); then
    shift words
    (( CURRENT-- ))
    if [[ $service == art-fuse ]]; then _art_fuse; else _art_sync_command; fi
  elif [[ $service == art-fuse ]]; then
    _art_next 'mount\:"show a database as a directory"' 'ls\:"list a directory"' 'cat\:"print files"' \
      'stat\:"print attributes"' 'tree\:"list everything below a directory"' 'check\:"look for damage, and mend it"' \
      'backup\:"copy a database"' 'flatten\:"make a database self-contained"'
  else
    _art_next 'push\:"bring what the host changed into a database"' \
      'pull\:"bring what the guest changed to the host"' 'diff\:"show what the guest changed"' 'reset\:"give up what the guest changed"'
  fi
}

_art "$@"
