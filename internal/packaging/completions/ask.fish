# What fish offers for the last word of each line in $argv comes out, a line each with
# a description after a tab, and a form feed after it; art.fish has been read.
for line in $argv
    complete --do-complete=$line
    printf '\f\n'
end
