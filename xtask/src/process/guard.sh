# Leads a process group, and kills it when the other end of standard input closes: the system sees
# to that even when the parent was killed with SIGKILL.
trap '' HUP INT TERM
while read -r _; do :; done
kill -s TERM -- "-$$"
sleep 2
kill -s KILL -- "-$$"
