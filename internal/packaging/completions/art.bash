# Completion in bash for art, art-fuse, art-sync and art-trace. bash-completion
# loads it.
#
# Where a function below says cur, it is the word being typed; flag, the flag
# whose value that is, or nothing; args, the arguments before it that are no flags.
# These are variables of the function that completion calls (_art and so on).

# _art_scan FROM STOP VALUED reads COMP_WORDS from index FROM. VALUED are the
# flags that take a value, between spaces. If STOP is not empty, flags end with
# the first argument, and the index of that is in command.
_art_scan() {
	local from=$1 stop=$2 valued=" $3 " ended= i word
	cur=${COMP_WORDS[COMP_CWORD]} flag= args=() command=
	for ((i = from; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ -n $ended || $word != -?* ]]; then
			args+=("$word")
			[[ -n $stop && -z $command ]] && command=$i ended=yes
		elif [[ $word == -- ]]; then
			ended=yes
		elif [[ ${COMP_WORDS[i + 1]} == = ]]; then # readline makes three words of --flag=value
			((i + 2 >= COMP_CWORD)) && flag=$word
			((i + 1 == COMP_CWORD)) && cur=
			((i += 2))
		elif [[ $valued == *" $word "* ]]; then
			((i + 1 == COMP_CWORD)) && flag=$word
			((i += 1))
		fi
	done
	[[ -n $ended && $cur == -* ]] && noflags=yes || noflags=
}

# _art_reply WORD... offers those of the words that begin with cur.
_art_reply() { COMPREPLY=($(compgen -W "$*" -- "$cur")); }

# _art_list WORD... offers words for a list with commas.
_art_list() {
	local done=
	[[ $cur == *,* ]] && done=${cur%,*},
	COMPREPLY=($(compgen -P "$done" -W "$*" -- "${cur##*,}"))
	compopt -o nospace
}

_art_files() {
	compopt -o filenames
	local IFS=$'\n'
	COMPREPLY=($(compgen "$1" -- "$cur"))
}

# _art_command completes the command at index $1 of the line, and its arguments,
# as if it stood alone, with bash-completion, which leaves another line behind.
_art_command() {
	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$1"
	else # before version 2.12
		_command_offset "$1"
	fi
}

# _art_inside DB TOP offers paths inside of a database, below TOP.
_art_inside() {
	local db=${1/#\~\//$HOME/} top=$2 typed=${cur//\\/} dir= name
	typed=${typed#[\"\']}
	[[ $typed == */* ]] && dir=${typed%/*}/
	COMPREPLY=()
	while IFS= read -r name; do
		# A name of control characters comes quoted, and is for nobody to type.
		[[ $name == "${typed##*/}"* && $name != \$\'* ]] && COMPREPLY+=("$(printf %q "$dir$name")")
	done < <(art-fuse ls -p -- "${db//\\/}" "$top/$dir" 2>/dev/null)
	[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace
}

# _art_presets lists the presets.
_art_presets() { art presets 2>/dev/null | cut -d ' ' -f 1; }

# _art_presets_command completes what comes after art presets.
_art_presets_command() {
	_art_scan 2 '' ''
	if [[ $cur == -* && -z $noflags ]]; then
		_art_reply --json --schema --help
	elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == check ]]; then
		_art_reply $(_art_presets)
	else
		_art_reply check
	fi
}

_art() {
	local cur flag args command noflags
	case ${COMP_WORDS[1]} in
	push | pull | diff | reset)
		((COMP_CWORD > 1)) && _art_sync_command 1 && return
		;;
	status | log | list | rm)
		((COMP_CWORD > 1)) && _art_kept && return
		;;
	esac
	local from=1 more=--mode offers=yes
	if ((COMP_CWORD > 1)); then
		case ${COMP_WORDS[1]} in
		run) from=2 more= ;;
		config) from=2 more='--mode --schema --json' offers= ;;
		trust)
			_art_trust
			return
			;;
		agent)
			_art_agent
			return
			;;
		home)
			_art_home
			return
			;;
		presets)
			_art_presets_command
			return
			;;
		doctor) from=2 more='--mode --attack --json' offers= ;;
		esac
	fi
	_art_scan $from stop '-m --mount -d --db --name --home --agent -e --env --preset --see --hide --allow --network --mode --path --trace-log --trace-syscalls --trace-format'
	case $flag in
	-m | --mount) _art_files -d ;;
	-d | --db | --trace-log | --see | --hide) _art_files -f ;;
	-i | --interactive | --trace | -q | --quiet) _art_reply true false ;;
	-e | --env) COMPREPLY=($(compgen -e -- "$cur")) ;;
	--network) _art_reply host none ;;
	--path) _art_reply home host ;;
	--mode) _art_reply direct overlay ;;
	--name) ;;
	--home) _art_homes ;;
	--agent) _art_reply $(_art_agents) ;;
	--preset) _art_reply $(_art_presets) ;;
	--allow) _art_reply io_uring keys namespaces perf sockets userfaultfd ;;
	--trace-syscalls) _art_list %file %desc %network %process %memory %signal %ipc %creds %clock %stat ;;
	--trace-format) _art_reply text json summary report ;;
	'')
		if [[ -n $command ]]; then
			_art_command "$command"
		elif [[ $cur == -* && -z $noflags ]]; then
			_art_reply -m --mount -d --db --name --home --agent --adopt -i --interactive --network --path -e --env --preset --see --hide --allow --trace --trace-log \
				--trace-syscalls --trace-format -q --quiet --version --help $more
		elif [[ -n $offers ]]; then
			local own=
			((COMP_CWORD == 1)) && own=$(compgen -W "run $(_art_presets) $(_art_agents) diff pull push reset status log list rm home agent config trust presets doctor" -- "$cur")
			_art_command "$COMP_CWORD"
			COMPREPLY+=($own)
		fi
		;;
	esac
}

# _art_homes offers the names of homes.
_art_homes() {
	local dir=${XDG_DATA_HOME:-$HOME/.local/share}/art/homes
	COMPREPLY=($(cd "$dir" 2>/dev/null && compgen -d -- "$cur"))
}

# _art_kept completes what comes after art status, log, list and rm.
_art_kept() {
	_art_scan 2 '' '-m --mount -d --db --agent'
	case $flag:$cur in
	--agent:*) _art_reply $(_art_agents) ;;
	-m:* | --mount:*) _art_files -d ;;
	-d:* | --db:*) _art_files -f ;;
	:-*)
		case ${COMP_WORDS[1]} in
		status | log) _art_reply -m --mount -d --db --agent --json --help ;;
		list) _art_reply --json --help ;;
		rm) _art_reply --force -q --quiet --help ;;
		esac
		;;
	*)
		[[ ${COMP_WORDS[1]} == rm ]] && _art_reply "$(art list 2>/dev/null | cut -d ' ' -f 1)"
		;;
	esac
	return 0
}

# _art_agents lists the agents of one's own.
_art_agents() { art agent ls 2>/dev/null | cut -d ' ' -f 1; }

# _art_agent completes what comes after art agent.
_art_agent() {
	local word=${COMP_WORDS[2]}
	_art_scan 2 '' '--preset'
	if [[ $flag == --preset ]]; then
		_art_reply $(_art_presets)
	elif [[ $cur == -* && -z $noflags ]]; then
		case $word in
		new) _art_reply --preset -q --quiet --help ;;
		ls | show) _art_reply --json --help ;;
		rm) _art_reply --force -q --quiet --help ;;
		*) _art_reply --preset --force --json -q --quiet --help ;;
		esac
	elif ((COMP_CWORD == 2)); then
		_art_reply new ls show rm
	elif [[ $word != new ]]; then
		_art_reply $(_art_agents)
	fi
}

# _art_home completes what comes after art home.
_art_home() {
	local word=${COMP_WORDS[2]}
	_art_scan 2 '' ''
	if [[ $cur == -* && -z $noflags ]]; then
		case $word in
		ls) _art_reply --json --help ;;
		rm | seed) _art_reply --force -q --quiet --help ;;
		diff) _art_reply --patch --json --help ;;
		*) _art_reply --force --json --patch -q --quiet --help ;;
		esac
	elif ((COMP_CWORD == 2)); then
		_art_reply ls rm seed diff
	elif ((COMP_CWORD == 3)) || [[ $word == rm ]]; then
		_art_homes
	else
		_art_files -f
	fi
}

# _art_trust completes what comes after art trust.
_art_trust() {
	_art_scan 2 '' '-m --mount'
	if [[ -z $flag && $cur == -* && -z $noflags ]]; then
		_art_reply -m --mount --revoke --dry-run --json --help
	else
		_art_files -d
	fi
}

# _art_sync_command INDEX completes push, pull, diff or reset, which stands at INDEX.
_art_sync_command() {
	local name=${COMP_WORDS[$1]} cur flag args command noflags i dir=. db=
	_art_scan $(($1 + 1)) '' '-m --mount --workspace -d --db --agent --name --exclude --allow'
	case $flag in
	-m | --mount | --workspace) _art_files -d ;;
	-d | --db | --exclude | --allow) _art_files -f ;;
	--agent) _art_reply $(_art_agents) ;;
	--name) ;;
	'')
		if [[ $cur == -* && -z $noflags ]]; then
			local flags='-m --mount --workspace -d --db --agent --name --adopt -q --quiet --help'
			[[ $name == reset ]] || flags+=' --exclude --no-ignored'
			case $name in
			push) _art_reply "$flags" --dry-run --force ;;
			pull) _art_reply "$flags" --dry-run --force --keep-both --allow -p --pick -v --verbose ;;
			diff) _art_reply "$flags" --patch --stat --json ;;
			reset) _art_reply "$flags" --dry-run --force ;;
			esac
		elif [[ $name == push ]]; then
			_art_files -f
		else
			for ((i = $1 + 1; i + 1 < COMP_CWORD; i++)); do
				local value=${COMP_WORDS[i + 1]}
				[[ $value == = ]] && value=${COMP_WORDS[i + 2]}
				case ${COMP_WORDS[i]} in
				-m | --mount | --workspace) dir=$value ;;
				-d | --db) db=$value ;;
				esac
			done
			dir=$(cd -- "${dir/#\~\//$HOME/}" 2>/dev/null && pwd)
			_art_inside "${db:-${ART_DB-}}" "/${dir##*/}"
		fi
		;;
	esac
	return 0
}

_art_sync() {
	case ${COMP_WORDS[1]} in
	push | pull | diff | reset) ((COMP_CWORD > 1)) && _art_sync_command 1 && return ;;
	esac
	local cur=${COMP_WORDS[COMP_CWORD]}
	((COMP_CWORD == 1)) && _art_reply push pull diff reset --version --help
}

_art_fuse() {
	local cur=${COMP_WORDS[COMP_CWORD]} flag args command noflags
	if ((COMP_CWORD == 1)); then
		_art_reply mount ls cat stat tree check backup flatten --version --help
		return
	fi
	_art_scan 2 '' '--base --name --fsname'
	case $flag in
	--base) _art_files -d ;;
	--name | --fsname) ;;
	'')
		if [[ $cur == -* && -z $noflags ]]; then
			case ${COMP_WORDS[1]} in
			mount) _art_reply --base --name --read-write --allow-other --fsname --foreground --help ;;
			ls) _art_reply -l -p --json --help ;;
			cat | flatten) _art_reply --base --name --help ;;
			check) _art_reply --repair --json --help ;;
			stat | tree) _art_reply --json --help ;;
			*) _art_reply --help ;;
			esac
		elif ((${#args[@]} == 0)); then
			_art_files -f
		else
			case ${COMP_WORDS[1]} in
			mount) _art_files -d ;;
			backup) _art_files -f ;;
			ls | cat | stat | tree) _art_inside "${args[0]}" '' ;;
			esac
		fi
		;;
	esac
}

_art_trace() {
	local cur flag args command noflags
	local classes='%file %desc %network %process %memory %signal %ipc %creds %clock %stat'
	_art_scan 1 stop '--log --log-fd --secrets-fd --syscalls --format --attach --deny --filter-by'
	case $flag in
	--log) _art_files -f ;;
	--syscalls | --deny) _art_list $classes ;;
	--format) _art_reply text json summary report ;;
	--filter-by) _art_reply self payload ;;
	--attach) _art_reply "$(cd /proc && echo [0-9]*)" ;;
	'')
		if [[ -n $command ]]; then
			_art_command "$command"
		elif [[ $cur == -* && -z $noflags ]]; then
			_art_reply --log --log-fd --secrets-fd --syscalls --format --summary --report --attach --deny --filter-by --version --help \
				-y --decode-fds -r --relative-timestamps -tt --absolute-timestamps -T --syscall-times
		else
			_art_command "$COMP_CWORD"
		fi
		;;
	esac
}

complete -F _art art
complete -F _art_fuse art-fuse
complete -F _art_sync art-sync
complete -F _art_trace art-trace
