# What the guest of a load does: work.sh SECONDS EVERY. It says when it has done what, in seconds since the epoch.
set -e
echo "began $(date +%s.%N)"
tar -xf tree.tar
git init -q tree
git -C tree add -A
git -C tree -c user.name=load -c user.email=load@example.org commit -q -m all
n=0 end=$(($(date +%s) + $1))
while :; do
	n=$((n + 1))
	echo $n >>log
	sync log
	echo "synced $(date +%s.%N)"
	left=$((end - $(date +%s)))
	[ $left -gt 0 ] || break
	sleep $((left < $2 ? left : $2))
done
