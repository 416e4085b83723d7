# What zsh offers for the last word of each line in $@ comes out, a line each, and a
# form feed after it. ART_COMPLETION is the text of art.zsh. Only a zsh on a terminal
# completes. With its options O, A and D compadd adds nothing, but tells what it would.
zmodload zsh/zpty
art_dir=$(mktemp -d) || exit
trap 'rm -rf $art_dir' EXIT
print -r -- "$ART_COMPLETION" >$art_dir/_art
zpty shell zsh -f -i
zpty -w shell "art_dir=${(q)art_dir}"'
PS1= PS2= fpath=($art_dir $fpath)
autoload -U compinit && compinit -D -u
compadd() {
  if [[ ! " ${(j: :)@[1,(i)(-|--)]}" =~ " -[a-zA-Z12]*[OAD]" ]]; then
    local -a art_added
    builtin compadd -A art_added "$@"
    print -rl -- $IPREFIX$^art_added >>$art_dir/offers
  fi
  builtin compadd "$@"
}
finish() { BUFFER=; print -r -- "<do""ne>" }
zle -N finish
bindkey "^A" complete-word "^B" finish
print -r -- "<rea""dy>"'
zpty -r -m shell text '*<ready>*'
for line; do
  : >$art_dir/offers
  zpty -n -w shell "$line"$'\x01\x02'
  zpty -r -m shell text '*<done>*'
  cat $art_dir/offers
  print $'\f'
done
zpty -d shell
