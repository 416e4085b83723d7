# Completion in bash for art, art-fuse, art-sync and art-trace. bash-completion
# loads it.
#
# Where a function below says cur, it is the word being typed; flag, the flag
# whose value that is, or nothing; args, the arguments before it that are no flags.
# These are variables of _art, as is what _art_spec sets: of a command its flags,
# what is offered for their values and for its words, and the commands it leads to.

# _art_spec COMMAND tells what a command has, and fails if there is none of the name.
_art_spec() {
	# generated: bash
	case $1 in
	'art')
		payload=yes commands='run diff pull push reset status log blame timeline net checkpoint undo redo rewind fork merge bisect try compare gc list rm ps ports exec attach logs kill grant grants wait presets agent home config trust restore doctor' words=''
		flags='-m --mount -d --db --name --home --agent --adopt -i --interactive -b --background --detach-keys --systemd --end --time --notify --network --learn --publish --path -e --env --preset --see --hide --allow --commands --events --replicate --flatten --take-over --trace --trace-log --trace-syscalls --trace-format -q --quiet --version --mode --help'
		offers='-m=directories --mount=directories -d=files --db=files --name=nothing --home=homes --agent=agents -i:true|false --interactive:true|false --detach-keys=nothing --end=kill|wait|ask --time=nothing --network=host|none --publish=nothing --path=home|host -e=variables --env=variables --preset=presets --see=files --hide=files --allow=io_uring|keys|namespaces|perf|sockets|userfaultfd --events=files --replicate=nothing --trace-log=files --trace-syscalls=calls --trace-format=text|json|summary|report --mode=direct|overlay'
		;;
	'art run')
		payload=yes commands='' words=''
		flags='-m --mount -d --db --name --home --agent --adopt -i --interactive -b --background --detach-keys --systemd --end --time --notify --network --learn --publish --path -e --env --preset --see --hide --allow --commands --events --replicate --flatten --take-over --trace --trace-log --trace-syscalls --trace-format -q --quiet --version --help'
		offers='-m=directories --mount=directories -d=files --db=files --name=nothing --home=homes --agent=agents -i:true|false --interactive:true|false --detach-keys=nothing --end=kill|wait|ask --time=nothing --network=host|none --publish=nothing --path=home|host -e=variables --env=variables --preset=presets --see=files --hide=files --allow=io_uring|keys|namespaces|perf|sockets|userfaultfd --events=files --replicate=nothing --trace-log=files --trace-syscalls=calls --trace-format=text|json|summary|report'
		;;
	'art diff')
		payload= commands='' words='in_workspace'
		flags='-m --mount --workspace --agent -d --db --name --adopt --patch --stat --json --exclude --no-ignored -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories --agent=agents -d=files --db=files --name=nothing --exclude=files'
		;;
	'art pull')
		payload= commands='' words='in_workspace'
		flags='-m --mount --workspace --agent -d --db --from -p --pick --name --adopt --force --keep-both --allow --exclude --no-ignored --dry-run --events -q --quiet -v --verbose --help'
		offers='-m=directories --mount=directories --workspace=directories --agent=agents -d=files --db=files --from=databases --name=nothing --allow=files --exclude=files --events=files'
		;;
	'art push')
		payload= commands='' words='files'
		flags='-m --mount --workspace --agent -d --db --name --adopt --force --exclude --no-ignored --dry-run --events -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories --agent=agents -d=files --db=files --name=nothing --exclude=files --events=files'
		;;
	'art reset')
		payload= commands='' words='in_workspace'
		flags='-m --mount --workspace --agent -d --db --dry-run --force --name --adopt -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories --agent=agents -d=files --db=files --name=nothing'
		;;
	'art status')
		payload= commands='' words=''
		flags='-m --mount --workspace -d --db --agent --all --json --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art log')
		payload= commands='' words='in_workspace'
		flags='-m --mount --workspace -d --db --agent --command --verify --head --json --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents --command=nothing --head=nothing'
		;;
	'art blame')
		payload= commands='' words='in_workspace'
		flags='-m --mount --workspace -d --db --agent --json --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art timeline')
		payload= commands='' words=''
		flags='-m --mount --workspace -d --db --agent --command --all --html --json --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents --command=nothing'
		;;
	'art net')
		payload= commands='' words='sessions'
		flags='-m --mount --workspace -d --db --agent -f --follow --live --propose --denied --host --json --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents --host=nothing'
		;;
	'art checkpoint')
		payload= commands='' words=''
		flags='-m --label --mount --workspace -d --db --agent --json -q --quiet --help'
		offers='-m=nothing --label=nothing --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art undo')
		payload= commands='' words=''
		flags='-m --mount --workspace -d --db --agent --json -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art redo')
		payload= commands='' words=''
		flags='-m --mount --workspace -d --db --agent --json -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art rewind')
		payload= commands='' words='nothing in_workspace'
		flags='-m --mount --workspace -d --db --agent --json -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art fork')
		payload= commands='' words='files'
		flags='--at -m --mount --workspace -d --db --agent --json -q --quiet --help'
		offers='--at=nothing -m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art merge')
		payload= commands='' words='files'
		flags='-m --mount --workspace -d --db --agent --dry-run --events --force --ours --json -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents --events=files'
		;;
	'art bisect')
		payload=yes commands='' words=''
		flags='--good --bad -m --mount --workspace -d --db --agent --json -q --quiet --help'
		offers='--good=nothing --bad=nothing -m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art try')
		payload=yes commands='' words=''
		flags='-n --count -j --jobs --at --name -m --mount --workspace -d --db --agent -q --quiet --help'
		offers='-n=nothing --count=nothing -j=nothing --jobs=nothing --at=nothing --name=nothing -m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art compare')
		payload= commands='' words='databases'
		flags='-m --mount --workspace -d --db --agent --json --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art gc')
		payload= commands='' words=''
		flags='-m --mount --workspace -d --db --agent --checkpoints --days --gone --size -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents --checkpoints=nothing --days=nothing --size=nothing'
		;;
	'art list')
		payload= commands='' words=''
		flags='--json --help'
		offers=''
		;;
	'art rm')
		payload= commands='' words='databases'
		flags='--force -q --quiet --help'
		offers=''
		;;
	'art ps')
		payload= commands='' words=''
		flags='--json --pending --watch --help'
		offers=''
		;;
	'art ports')
		payload= commands='' words='sessions'
		flags='--json --help'
		offers=''
		;;
	'art exec')
		payload=yes commands='' words=''
		flags='-e --env -w --cwd -i --interactive --help'
		offers='-e=variables --env=variables -w=nothing --cwd=nothing -i:true|false --interactive:true|false'
		;;
	'art attach')
		payload= commands='' words='sessions'
		flags='--view --detach-keys --help'
		offers='--detach-keys=nothing'
		;;
	'art logs')
		payload= commands='' words='sessions'
		flags='-f --follow --help'
		offers=''
		;;
	'art kill')
		payload= commands='' words='sessions'
		flags='-s --signal --help'
		offers='-s=nothing --signal=nothing'
		;;
	'art grant')
		payload= commands='' words=''
		flags='--once --session --always --deny --id --help'
		offers='--id=sessions'
		;;
	'art grants')
		payload= commands='' words='sessions'
		flags='-w --watch --json --help'
		offers=''
		;;
	'art wait')
		payload= commands='' words='sessions'
		flags='--help'
		offers=''
		;;
	'art presets')
		payload= commands='' words='check presets'
		flags='--json --schema --help'
		offers=''
		;;
	'art agent')
		payload= commands='new ls show rm' words=''
		flags='--help'
		offers=''
		;;
	'art agent new')
		payload= commands='' words=''
		flags='--preset -q --quiet --help'
		offers='--preset=presets'
		;;
	'art agent ls')
		payload= commands='' words=''
		flags='--json --help'
		offers=''
		;;
	'art agent show')
		payload= commands='' words='agents'
		flags='--json --help'
		offers=''
		;;
	'art agent rm')
		payload= commands='' words='agents'
		flags='--force -q --quiet --help'
		offers=''
		;;
	'art home')
		payload= commands='ls rm seed diff' words=''
		flags='--help'
		offers=''
		;;
	'art home ls')
		payload= commands='' words=''
		flags='--json --help'
		offers=''
		;;
	'art home rm')
		payload= commands='' words='homes'
		flags='--force -q --quiet --help'
		offers=''
		;;
	'art home seed')
		payload= commands='' words='homes files'
		flags='--force -q --quiet --help'
		offers=''
		;;
	'art home diff')
		payload= commands='' words='homes files'
		flags='--patch --json --help'
		offers=''
		;;
	'art config')
		payload= commands='' words=''
		flags='-m --mount -d --db --name --home --agent --adopt -i --interactive -b --background --detach-keys --systemd --end --time --notify --network --learn --publish --path -e --env --preset --see --hide --allow --commands --events --replicate --flatten --take-over --trace --trace-log --trace-syscalls --trace-format -q --quiet --mode --json --schema --help'
		offers='-m=directories --mount=directories -d=files --db=files --name=nothing --home=homes --agent=agents -i:true|false --interactive:true|false --detach-keys=nothing --end=kill|wait|ask --time=nothing --network=host|none --publish=nothing --path=home|host -e=variables --env=variables --preset=presets --see=files --hide=files --allow=io_uring|keys|namespaces|perf|sockets|userfaultfd --events=files --replicate=nothing --trace-log=files --trace-syscalls=calls --trace-format=text|json|summary|report --mode=direct|overlay'
		;;
	'art trust')
		payload= commands='' words='directories'
		flags='-m --mount --dry-run --revoke --json --help'
		offers='-m=directories --mount=directories'
		;;
	'art restore')
		payload= commands='' words=''
		flags='-d --db -m --mount --at --help'
		offers='-d=files --db=files -m=directories --mount=directories --at=nothing'
		;;
	'art doctor')
		payload= commands='' words=''
		flags='-m --mount -d --db --name --home --agent --adopt -i --interactive -b --background --detach-keys --systemd --end --time --notify --network --learn --publish --path -e --env --preset --see --hide --allow --commands --events --replicate --flatten --take-over --trace --trace-log --trace-syscalls --trace-format -q --quiet --mode --attack --container --json --help'
		offers='-m=directories --mount=directories -d=files --db=files --name=nothing --home=homes --agent=agents -i:true|false --interactive:true|false --detach-keys=nothing --end=kill|wait|ask --time=nothing --network=host|none --publish=nothing --path=home|host -e=variables --env=variables --preset=presets --see=files --hide=files --allow=io_uring|keys|namespaces|perf|sockets|userfaultfd --events=files --replicate=nothing --trace-log=files --trace-syscalls=calls --trace-format=text|json|summary|report --mode=direct|overlay'
		;;
	'art-fuse')
		payload= commands='ls cat stat tree mount check backup flatten' words=''
		flags='--version --help'
		offers=''
		;;
	'art-fuse ls')
		payload= commands='' words='files in_database'
		flags='-l -p --at --json --help'
		offers='--at=nothing'
		;;
	'art-fuse cat')
		payload= commands='' words='files in_database'
		flags='--base --name --at --help'
		offers='--base=directories --name=nothing --at=nothing'
		;;
	'art-fuse stat')
		payload= commands='' words='files in_database'
		flags='--at --json --help'
		offers='--at=nothing'
		;;
	'art-fuse tree')
		payload= commands='' words='files in_database'
		flags='--at --json --help'
		offers='--at=nothing'
		;;
	'art-fuse mount')
		payload= commands='' words='files directories'
		flags='--base --name --at --read-write --allow-other --fsname --foreground --help'
		offers='--base=directories --name=nothing --at=nothing --fsname=nothing'
		;;
	'art-fuse check')
		payload= commands='' words='files nothing'
		flags='--repair --json --help'
		offers=''
		;;
	'art-fuse backup')
		payload= commands='' words='files files'
		flags='--help'
		offers=''
		;;
	'art-fuse flatten')
		payload= commands='' words='files nothing'
		flags='--base --name --help'
		offers='--base=directories --name=nothing'
		;;
	'art-sync')
		payload= commands='diff pull push reset status log blame timeline net checkpoint undo redo rewind fork merge compare gc list rm' words=''
		flags='--version --help'
		offers=''
		;;
	'art-sync diff')
		payload= commands='' words='in_workspace'
		flags='-m --mount --workspace --agent -d --db --name --adopt --patch --stat --json --exclude --no-ignored -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories --agent=agents -d=files --db=files --name=nothing --exclude=files'
		;;
	'art-sync pull')
		payload= commands='' words='in_workspace'
		flags='-m --mount --workspace --agent -d --db --from -p --pick --name --adopt --force --keep-both --allow --exclude --no-ignored --dry-run --events -q --quiet -v --verbose --help'
		offers='-m=directories --mount=directories --workspace=directories --agent=agents -d=files --db=files --from=databases --name=nothing --allow=files --exclude=files --events=files'
		;;
	'art-sync push')
		payload= commands='' words='files'
		flags='-m --mount --workspace --agent -d --db --name --adopt --force --exclude --no-ignored --dry-run --events -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories --agent=agents -d=files --db=files --name=nothing --exclude=files --events=files'
		;;
	'art-sync reset')
		payload= commands='' words='in_workspace'
		flags='-m --mount --workspace --agent -d --db --dry-run --force --name --adopt -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories --agent=agents -d=files --db=files --name=nothing'
		;;
	'art-sync status')
		payload= commands='' words=''
		flags='-m --mount --workspace -d --db --agent --all --json --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art-sync log')
		payload= commands='' words='in_workspace'
		flags='-m --mount --workspace -d --db --agent --command --verify --head --json --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents --command=nothing --head=nothing'
		;;
	'art-sync blame')
		payload= commands='' words='in_workspace'
		flags='-m --mount --workspace -d --db --agent --json --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art-sync timeline')
		payload= commands='' words=''
		flags='-m --mount --workspace -d --db --agent --command --all --html --json --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents --command=nothing'
		;;
	'art-sync net')
		payload= commands='' words='sessions'
		flags='-m --mount --workspace -d --db --agent -f --follow --live --propose --denied --host --json --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents --host=nothing'
		;;
	'art-sync checkpoint')
		payload= commands='' words=''
		flags='-m --label --mount --workspace -d --db --agent --json -q --quiet --help'
		offers='-m=nothing --label=nothing --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art-sync undo')
		payload= commands='' words=''
		flags='-m --mount --workspace -d --db --agent --json -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art-sync redo')
		payload= commands='' words=''
		flags='-m --mount --workspace -d --db --agent --json -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art-sync rewind')
		payload= commands='' words='nothing in_workspace'
		flags='-m --mount --workspace -d --db --agent --json -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art-sync fork')
		payload= commands='' words='files'
		flags='--at -m --mount --workspace -d --db --agent --json -q --quiet --help'
		offers='--at=nothing -m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art-sync merge')
		payload= commands='' words='files'
		flags='-m --mount --workspace -d --db --agent --dry-run --events --force --ours --json -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents --events=files'
		;;
	'art-sync compare')
		payload= commands='' words='databases'
		flags='-m --mount --workspace -d --db --agent --json --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents'
		;;
	'art-sync gc')
		payload= commands='' words=''
		flags='-m --mount --workspace -d --db --agent --checkpoints --days --gone --size -q --quiet --help'
		offers='-m=directories --mount=directories --workspace=directories -d=files --db=files --agent=agents --checkpoints=nothing --days=nothing --size=nothing'
		;;
	'art-sync list')
		payload= commands='' words=''
		flags='--json --help'
		offers=''
		;;
	'art-sync rm')
		payload= commands='' words='databases'
		flags='--force -q --quiet --help'
		offers=''
		;;
	'art-trace')
		payload=yes commands='' words=''
		flags='-o --log --output --log-fd --syscalls --trace -e --signal --signals --status -P --trace-path -z --successful-only -Z --failed-only --format -c --summary --summary-only -C --with-summary --report --json --entries -p --attach --deny --secrets-fd --filter-by --engine -s --string-limit -x --non-ascii-in-hex -xx --strings-in-hex --all-in-hex -v --no-abbrev -y --decode-fds -yy --decode-sockets -t --timestamps --absolute-timestamps -tt --precise-timestamps -ttt --unix-timestamps -r --relative-timestamps -T --syscall-times -a --columns -q --quiet --silent --silence -qq --no-exits -ff --output-separately -f --follow-forks --seccomp-bpf -V --version --help'
		offers='-o=files --log=files --output=files --log-fd=nothing --syscalls=calls --trace=calls -e=nothing --signal=nothing --signals=nothing --status=successful|failed|unfinished|detached|all|none -P=files --trace-path=files --format=text|json|summary|report -p=processes --attach=processes --deny=calls --secrets-fd=nothing --filter-by=self|payload --engine=auto|ptrace|notify -s=nothing --string-limit=nothing -xx:all|non-ascii|non-ascii-chars|none --strings-in-hex:all|non-ascii|non-ascii-chars|none --all-in-hex:all|non-ascii|non-ascii-chars|none -y:all|path|socket|dev|pidfd|signalfd|none --decode-fds:all|path|socket|dev|pidfd|signalfd|none -t:time|unix|time,ms|time,us|time,ns|unix,us --timestamps:time|unix|time,ms|time,us|time,ns|unix,us --absolute-timestamps:time|unix|time,ms|time,us|time,ns|unix,us -r:s|ms|us|ns --relative-timestamps:s|ms|us|ns -T:s|ms|us|ns --syscall-times:s|ms|us|ns -a=nothing --columns=nothing -q:all|attach|denied|exit|path-resolution|personality|thread-execve|none --quiet:all|attach|denied|exit|path-resolution|personality|thread-execve|none --silent:all|attach|denied|exit|path-resolution|personality|thread-execve|none --silence:all|attach|denied|exit|path-resolution|personality|thread-execve|none'
		;;
	*) return 1 ;;
	esac
	# generated: end
}

# _art_scan FROM reads COMP_WORDS from index FROM. Where the words are a command,
# flags end with the first one, and the index of that is in command.
_art_scan() {
	local i word ended=
	cur=${COMP_WORDS[COMP_CWORD]} flag= args=() command= noflags=
	for ((i = $1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ -n $ended || $word != -?* ]]; then
			args+=("$word")
			[[ -n $payload && -z $command ]] && command=$i ended=yes
		elif [[ $word == -- ]]; then
			ended=yes
		elif [[ ${COMP_WORDS[i + 1]} == = ]]; then # readline makes three words of --flag=value
			((i + 2 >= COMP_CWORD)) && flag=$word
			((i + 1 == COMP_CWORD)) && cur=
			((i += 2))
		elif [[ " $offers " == *" $word="* ]]; then
			((i + 1 == COMP_CWORD)) && flag=$word
			((i += 1))
		fi
	done
	[[ -n $ended || $cur != -* ]] && noflags=yes
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
# Without that there are the names of commands and files.
_art_command() {
	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$1"
	elif declare -F _command_offset >/dev/null; then # before version 2.12
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		COMPREPLY=($(compgen -c -- "$cur"))
	else
		_art_files -f
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

# _art_first COMMAND... lists the first words of what a command prints.
_art_first() { "$@" 2>/dev/null | cut -d ' ' -f 1; }

# _art_databases offers the names of databases, which may have spaces; those are left out that JSON writes with escapes.
_art_databases() {
	local typed=${cur//\\/} name
	typed=${typed#[\"\']}
	COMPREPLY=()
	while IFS= read -r name; do
		[[ $name == "$typed"* ]] && COMPREPLY+=("$(printf %q "$name")")
	done < <(art list --json 2>/dev/null | sed -n 's/^{"name":"\([^"\\]*\)",.*/\1/p')
}

# _art_in_workspace offers paths inside of the database of the workspace.
_art_in_workspace() {
	local i value dir=. db=
	for ((i = 2; i + 1 < COMP_CWORD; i++)); do
		value=${COMP_WORDS[i + 1]}
		[[ $value == = ]] && value=${COMP_WORDS[i + 2]}
		case ${COMP_WORDS[i]} in
		-m | --mount | --workspace) dir=$value ;;
		-d | --db) db=$value ;;
		esac
	done
	dir=$(cd -- "${dir/#\~\//$HOME/}" 2>/dev/null && pwd)
	_art_inside "${db:-${ART_DB-}}" "/${dir##*/}"
}

# _art_offer WHAT offers what _art_spec names, or words between bars.
_art_offer() {
	case $1 in
	nothing | '') ;;
	files) _art_files -f ;;
	directories) _art_files -d ;;
	variables) COMPREPLY=($(compgen -e -- "$cur")) ;;
	agents) _art_reply $(_art_first art agent ls) ;;
	databases) _art_databases ;;
	presets) _art_reply $(_art_first art presets) ;;
	homes) COMPREPLY=($(cd "${XDG_DATA_HOME:-$HOME/.local/share}/art/homes" 2>/dev/null && compgen -d -- "$cur")) ;;
	sessions) _art_reply $(_art_first art ps | sed 1d) ;;
	calls) _art_list %file %desc %network %process %memory %signal %ipc %creds %clock %stat ;;
	processes) _art_reply "$(cd /proc && echo [0-9]*)" ;;
	in_database) _art_inside "${args[0]}" '' ;;
	in_workspace) _art_in_workspace ;;
	*) _art_reply ${1//|/ } ;;
	esac
}

_art() {
	local name=${COMP_WORDS[0]##*/} from=1 cur flag args command noflags flags offers words commands payload offer
	while ((from < COMP_CWORD)) && _art_spec "$name ${COMP_WORDS[from]}"; do
		name+=" ${COMP_WORDS[from]}"
		((from++))
	done
	_art_spec "$name" || return
	_art_scan $from
	if [[ -n $flag ]]; then
		for offer in $offers; do
			[[ $offer == "$flag"[=:]* ]] && _art_offer "${offer#*[=:]}"
		done
	elif [[ -n $command ]]; then
		_art_command "$command"
	elif [[ -z $noflags ]]; then
		_art_reply $flags
	elif [[ -n $payload ]]; then
		local own=
		[[ -n $commands ]] && ((COMP_CWORD == 1)) &&
			own=$(compgen -W "$commands $(_art_first art presets) $(_art_first art agent ls)" -- "$cur")
		_art_command "$COMP_CWORD"
		COMPREPLY+=($own)
	elif [[ -n $commands ]]; then
		_art_reply $commands
	elif [[ -n $words ]]; then
		words=($words)
		local at=${#args[@]}
		((at < ${#words[@]})) || at=$((${#words[@]} - 1))
		_art_offer "${words[at]}"
	fi
}

complete -F _art art art-fuse art-sync art-trace
