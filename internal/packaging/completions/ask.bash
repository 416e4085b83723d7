# What bash offers for the last word of each line in $@, words without quotes, comes
# out, a line each, and a form feed after it; art.bash has been read.
compopt() { :; } # readline alone knows its options
_command_offset() { # bash-completion's: it completes what is left of the line when words are dropped
	COMP_WORDS=("${COMP_WORDS[@]:$1}")
	((COMP_CWORD -= $1))
	cur=${COMP_WORDS[COMP_CWORD]}
	if ((COMP_CWORD == 0)); then
		COMPREPLY=($(compgen -c -- "$cur"))
	else
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}
for line; do
	IFS=' ' read -ra COMP_WORDS <<<"$line"
	[[ $line == *' ' ]] && COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
	_art
	((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
	printf '\f\n'
done
