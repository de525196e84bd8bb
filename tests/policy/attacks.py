"""Shell lines that try to make a file past a rule. MARK is the file; each line really makes it.

``TOUCHING`` lines run ``touch``; ``WRITING`` lines make the file without it.
⏎ is a newline, ⇥ a tab.
"""

from __future__ import annotations

from typing import Final

# {T} is the command that makes the mark.
TEMPLATES: Final = r"""
echo a && {T}
echo a; {T}
echo a || true && {T}
false || {T}
echo a | {T}
echo a & {T}
echo a |& {T}
echo a⏎{T}
cd .. && cd - && {T}
{T} && echo a
{T} | echo a
{T} & wait
{T};
! {T}
echo a;{T}
echo a&&{T}
echo a|{T}
echo a ;⏎⏎ {T}
echo a # b⏎{T}
echo a \⏎; {T}
echo "a # b" ; {T}
echo 'a⏎'; {T}
echo "$({T})"
echo `{T}`
echo "`{T}`"
echo $({T})
echo $(echo $({T}))
echo ${x:-$({T})}
echo "${x:-$({T})}"
echo "${x:=$({T})}"
echo ${x+}${y-`{T}`}
echo "${#x} $({T})"
x=a; echo ${x/a/$({T})}
x=a; echo ${x#$({T})}
x=$({T}) echo a
x=$({T}); echo a
export x=$({T})
declare x=$({T})
echo $((1 + $({T} && echo 1)))
echo $((a[$({T})]))
(( a[$({T})] ))
echo ${a[$({T})]}
a[$({T})]=1
a=($({T})); echo a
cat <({T})
echo a > >({T}); wait; sleep 0.05
echo a | tee >({T}) ; sleep 0.1
cat < <({T})
echo a <<< "$({T})"
cat <<E⏎$({T})⏎E
cat <<E⏎`{T}`⏎E
cat <<-E⏎⇥$({T})⏎⇥E
cat <<'E'⏎a⏎E⏎{T}
cat <<E⏎a⏎E⏎{T}
cat <<'E' ; {T}⏎a⏎E
cat <<'E' && {T}⏎a⏎E
cat <<'E' | {T}⏎a⏎E
cat <<E | sh⏎{T}⏎E
sh <<E⏎{T}⏎E
bash <<'E'⏎{T}⏎E
bash <<< "{T}"
sh -s <<'E'⏎{T}⏎E
echo '{T}' | sh
echo '{T}' | bash -s
printf '%s' '{T}' | bash
( {T} )
(echo a; {T})
{ {T}; }
! { {T}; }
{ echo a; {T}; } > /dev/null
if true; then {T}; fi
if {T}; then echo a; fi
if false; then echo a; else {T}; fi
if false; then echo; elif {T}; then echo a; fi
while {T}; do break; done
while true; do {T}; break; done
until {T}; do break; done
for i in 1; do {T}; done
for i in $({T}); do echo $i; done
for i in a b⏎do⏎{T}⏎done
for ((i=0;i<1;i++)); do {T}; done
case a in a) {T};; esac
case $({T}) in *) echo a;; esac
case a in $({T})) echo a;; *) echo b;; esac
f() { {T}; }; f
f() ( {T} ); f
function f { {T}; }; f
echo() { {T}; }; echo a
[ a = b ] || {T}
[ a = b || {T} ]
[ "$({T})" = a ] && echo b
[[ $({T}) == a ]] && echo b
[[ a == b ]] || {T}
test -n "$({T})"
test a && {T}
A=1 {T}
A=1 B=2 {T}
A="x y" {T}
env {T}
env A=1 {T}
env -i PATH="$PATH" {T}
env -u A {T}
env -- {T}
env -S '{T}'
env - PATH="$PATH" {T}
/usr/bin/env {T}
/usr/bin/env bash -c '{T}'
sudo {T}
sudo -u root {T}
sudo -n -- {T}
sudo A=1 {T}
sudo sh -c '{T}'
doas {T}
doas -u root {T}
time {T}
time -p {T}
nohup {T}
timeout 5 {T}
timeout -s KILL 5 {T}
timeout --signal=KILL 5s {T}
timeout -k 1 5 {T}
nice {T}
nice -n 5 {T}
nice -5 {T}
ionice {T}
ionice -c 3 {T}
stdbuf -o0 {T}
stdbuf -oL -eL {T}
setsid -w {T}
command {T}
command -p {T}
exec {T}
exec -a x {T}
eval {T}
eval '{T}'
eval "{T}"
eval 'eval "{T}"'
eval $'{T}'
coproc {T}; wait; sleep 0.05
sh -c '{T}'
bash -c '{T}'
bash -lc '{T}'
bash -ec '{T}'
bash -c 'echo a; {T}'
bash -o pipefail -c '{T}'
bash --norc -c '{T}'
dash -c '{T}'
zsh -c '{T}'
sh -c "sh -c '{T}'"
sh -c 'eval {T}'
sh -c '"$@"' x {T}
sh -c '$0 $1' {T}
bash -c "$(echo {T})"
watch -n 1 {T}
watch '{T}'
xargs -I{} {T} < f
echo a | xargs -I{} {T}
echo a | xargs -n1 sh -c '{T}'
echo a | xargs env {T}
echo a | xargs -I % sh -c '{T}'
echo '{T}' | xargs env
echo '{T}' | xargs -I{} sh -c '{}'
parallel ::: '{T}'
parallel {T} ::: a
find . -maxdepth 0 -exec {T} \;
find . -maxdepth 0 -execdir {T} \;
find . -maxdepth 0 -exec sh -c '{T}' \;
find . -maxdepth 0 -exec env {T} {} +
find . -maxdepth 0 -exec bash + -c '{T}' \;
trap '{T}' EXIT
trap -- '{T}' EXIT; echo a
shopt -s expand_aliases⏎alias x='{T}'⏎x
alias echo='{T}'; shopt -s expand_aliases⏎echo a
x='{T}'; $x
x='{T}'; eval $x
x='{T}'; eval "$x"
x='{T}'; sh -c "$x"
set -- {T}; "$@"
set -- {T}; $*
x='$({T})'; echo ${x@P}
x='a[$({T})]'; echo $((x))
x='a[$({T})]'; echo ${!x}
x='a[$({T})]'; [[ $x -eq 1 ]]
x='a[$({T})]'; (( x ))
x='a[$({T})]'; let x
y=b; x='a[$({T})]'; echo ${y:x}
x='a[$({T})]'; for ((i=x;i<1;i++)); do echo; done
echo='a[$({T})]'; ! ((echo))
echo='a[$({T})]'; ((echo))
echo='a[$({T})]'; if ((echo)); then echo; fi
echo='a[$({T})]'; f() ((echo)); f
echo='a[$({T})]'; x[echo]=1
echo='a[$({T})]'; echo ${x[echo]}
test -v 'a[$({T})]'
[ -v 'a[$({T})]' ]
[[ -v 'a[$({T})]' ]]
printf -v 'a[$({T})]' x
read 'a[$({T})]' < f
a=(1); unset 'a[$({T})]'
bash -xc 'PS4="\$({T})"; echo a'
GIT_SSH_COMMAND='{T} #' git ls-remote ssh://host/x
git -c core.sshCommand='{T} #' ls-remote ssh://host/x
let 'a[$({T})]=1'
declare -a a; declare 'a[$({T})]=1'
x='a[$({T})]'; read y <<< "$x"; echo $((y))
mapfile -C '{T} #' -c 1 a < f
complete -C '{T}' x; compgen -C '{T}' a
PS4='$({T})'; set -x; echo a
BASH_ENV=<(echo '{T}') bash -c 'echo a'
PROMPT_COMMAND='{T}' bash --norc -ic 'echo a' < /dev/null; echo '{T}' | bash --norc -i
GIT_EXTERNAL_DIFF='{T} #' git diff HEAD~1
export GIT_EXTERNAL_DIFF='{T} #'; git diff HEAD~1
git -c alias.x='!{T}' x
git -c diff.external='{T} #' diff HEAD~1
git -c core.fsmonitor='{T} #' status
git -c core.editor='{T} #' commit --allow-empty
git config alias.x '!{T}'; git x
git rebase -x '{T}' HEAD~1
git rebase --exec '{T}' HEAD~1
git grep -O'{T} #' one
git grep --open-files-in-pager='{T} #' one
git clone -q -u '{T} #' . c
git clone -q --upload-pack='{T} #' . c
git fetch --upload-pack='{T} #' .
git ls-remote --upload-pack='{T} #' .
git bisect start HEAD HEAD~1; git bisect run {T}
git -c protocol.ext.allow=always ls-remote 'ext::{T}'
git difftool -y -x '{T} #' HEAD~1
git submodule foreach '{T}'; {T}
git difftool --extcmd='{T} #' -y HEAD~1
awk 'BEGIN{system("{T}")}'
awk 'BEGIN{"{T}" | getline}'
awk 'BEGIN{print "{T}" | "sh"}'
sed '1e {T}' f
sed 's/.*/{T}/e' f
sed -n '1e {T}' f
perl -e 'system("{T}")'
perl -e '`{T}`'
python3 -c 'import os; os.system("{T}")'
python3 -c 'import subprocess as s; s.run("{T}", shell=True)'
python3 - <<'E'⏎import os; os.system("{T}")⏎E
python3 <<< 'import os; os.system("{T}")'
echo 'import os; os.system("{T}")' | python3
echo 'all:;{T}' | make -f -
make --eval='all:;{T}' all
make -f <(echo 'all:;{T}')
tar cf /dev/null f --checkpoint=1 --checkpoint-action=exec='{T}'
split --filter='{T}' f
ssh -o ProxyCommand='{T}' host
ssh -oProxyCommand='{T}' host
flock f {T}
flock f -c '{T}'
script -qc '{T}' /dev/null
strace -o /dev/null {T}
busybox {T}
ls; {T}
cat f && {T}
pwd && {T}
git status; {T}
source <(echo '{T}')
. <(echo '{T}')
source /dev/stdin <<< '{T}'
. /dev/stdin <<'E'⏎{T}⏎E
$(echo {T})
`echo {T}`
$(echo touch) MARK
"$(echo touch)" MARK
x=touch; $x MARK
x=touch; "$x" MARK
x=tou; ${x}ch MARK
${x:-touch} MARK
"${x:-touch}" MARK
{touch,MARK}
{touch,} MARK
to{uch,} MARK
/usr/bin/tou?h MARK
/usr/bin/[t]ouch MARK
/*/bin/touch MARK
/usr/bin/../bin/touch MARK
hash -p "$(command -v touch)" x; x MARK
cp "$(command -v touch)" x; ./x MARK
ln -s "$(command -v touch)" x; ./x MARK
PATH=.:$PATH; ln -s "$(command -v touch)" ls; ls MARK
exec -c $(command -v touch) MARK
$'\x74ouch' MARK
$'\164ouch' MARK
$'touch' MARK
$"touch" MARK
touc$'h' MARK
echo a >/dev/null;{T}
echo a 2>&1;{T}
echo a 2>&1 && {T}
echo a >&2 & {T}
>/dev/null {T}
2>/dev/null {T}
</dev/null {T}
>/dev/null 2>&1 {T}
echo $[ $({T}) ]
select i in a; do {T}; break; done <<< 1
declare -n r='a[$({T})]'; echo $r
"""

SPELLINGS: Final = r"""
touch  MARK
touch	MARK
 touch MARK
\touch MARK
t\ouch MARK
'touch' MARK
"touch" MARK
t'ouc'h MARK
to""uch MARK
touch -- MARK
touch ./MARK
touch "MARK"
touch M''ARK
/usr/bin/touch MARK
/bin/touch MARK
tou\⏎ch MARK
"""

CORE: Final = (
    "echo a && {T}", "echo a; {T}", "echo a\n{T}", "echo a | {T}", "echo $({T})", "A=1 {T}",
    "env {T}", "( {T} )", "if true; then {T}; fi",
)  # fmt: skip

WRITING: Final = r"""
echo a > MARK
echo a >MARK
echo a>MARK
echo a >> MARK
echo a >| MARK
echo a 1> MARK
echo a 2> MARK
echo a &> MARK
echo a &>> MARK
echo a >& MARK
echo a <> MARK
> MARK
>MARK echo a
2>MARK echo a
echo >MARK a
echo a > "MARK"
echo a > 'MA'RK
echo a > M\ARK
echo a > ./MARK
echo a > "$PWD/MARK"
echo a > $(echo MARK)
x=MARK; echo a > $x
x=MARK; echo a > "$x"
{ echo a; } > MARK
( echo a ) > MARK
for i in 1; do echo a; done > MARK
if true; then echo a; fi > MARK
while true; do echo a; break; done > MARK
f() { echo a; } > MARK; f
f() { echo a > MARK; }; f
echo a | tee MARK
echo a | tee -a MARK
echo a | tee ./MARK
echo a | cat > MARK
cat <<E > MARK⏎a⏎E
cat > MARK <<'E'⏎a⏎E
cat > MARK <<< a
cat f > MARK
[ a > MARK ]
[ b \< a ] || echo a > MARK
exec 3> MARK
exec > MARK; echo a
exec {fd}> MARK
echo a {fd}> MARK
cp f MARK
cp f ./MARK
cp -- f MARK
cp f "MARK"
mv f MARK
ln f MARK
ln -s f MARK
install f MARK
dd if=f of=MARK status=none
sort -o MARK f
sort --output=MARK f
sort -oMARK f
sort --out=MARK f
uniq f MARK
mkdir MARK
mkdir -p MARK
truncate -s 0 MARK
split -b 100000 f MARK; cp f MARK
find . -maxdepth 0 -fprint MARK
find . -maxdepth 0 -fprintf MARK x
find . -maxdepth 0 -fls MARK
find f -exec cp {} MARK \;
git diff --output=MARK HEAD~1
git diff --output MARK HEAD~1
git log --output=MARK -1
git show --output=MARK
git show --output MARK
git archive -o MARK HEAD
git bundle create -q MARK HEAD
git format-patch -1 --stdout > MARK
git config -f MARK a.b c
sed -n 'w MARK' f
sed 's/a/b/w MARK' f
sed -i.MARK s/a/b/ f; mv f.MARK MARK
awk 'BEGIN{print > "MARK"}'
python3 -c 'open("MARK","w")'
perl -e 'open(F,">","MARK")'
tar cf MARK f
gzip -c f > MARK
xxd f MARK || cp f MARK
curl -so MARK file://$PWD/f || cp f MARK
d=d; cd $d; echo a > ../MARK
cd d && echo a > ../MARK
cd d; cp ../f ../MARK
pushd d; echo a > ../MARK
echo a > d/../MARK
echo a > link/../MARK || echo a > MARK
mktemp MARK.XXX > /dev/null; cp f MARK
echo a > M{ARK,ARK}; echo a > MARK
echo a 3>&1 >MARK
echo a >MARK 2>&1
3> MARK echo a > /dev/fd/3
script -qc true MARK
tee MARK < f
tee MARK <<< a
shuf -o MARK f
printf a > MARK
date > MARK
pwd > MARK
ls > MARK
true > MARK
: > MARK
"""


def _lines(text: str) -> list[str]:
    return [line.replace("⏎", "\n").replace("⇥", "\t") for line in text.split("\n") if line.strip()]


def touching() -> list[str]:
    plain = [template.replace("{T}", "touch MARK") for template in _lines(TEMPLATES)]
    spelt = [
        template.replace("{T}", spelling) for template in CORE for spelling in _lines(SPELLINGS)
    ]
    return list(dict.fromkeys([*plain, *spelt]))


def writing() -> list[str]:
    return list(dict.fromkeys(_lines(WRITING)))
