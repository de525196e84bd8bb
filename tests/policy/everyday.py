"""Lines of everyday work, and the rules that a person who works so would have."""

from __future__ import annotations

from typing import Final

ALLOW: Final = (
    "bash(git *)", "bash(npm *)", "bash(pnpm *)", "bash(yarn *)", "bash(node *)",
    "bash(npx *)", "bash(python *)", "bash(python3 *)", "bash(pip *)", "bash(uv *)",
    "bash(poetry *)", "bash(pytest *)", "bash(ruff *)", "bash(mypy *)", "bash(black *)",
    "bash(make *)", "bash(cargo *)", "bash(go *)", "bash(docker *)", "bash(kubectl get *)",
    "bash(ls *)", "bash(cat *)", "bash(head *)", "bash(tail *)", "bash(grep *)", "bash(rg *)",
    "bash(find *)", "bash(wc *)", "bash(sort *)", "bash(uniq *)", "bash(cut *)", "bash(tr *)",
    "bash(sed *)", "bash(awk *)", "bash(jq *)", "bash(echo *)", "bash(printf *)",
    "bash(mkdir *)", "bash(touch *)", "bash(cp *)", "bash(mv *)", "bash(rm *)",
    "bash(rmdir *)", "bash(ln *)", "bash(chmod *)", "bash(cd *)", "bash(tee *)",
    "bash(diff *)", "bash(du *)", "bash(df *)", "bash(ps *)", "bash(which *)", "bash(tar *)",
    "bash(unzip *)", "bash(curl *)", "bash(jupyter *)", "bash(tree *)", "bash(xxd *)",
    "bash(kill *)", "bash(gh pr *)", "bash(./scripts/* *)", "bash(.venv/bin/python *)",
    "bash(./gradlew *)", "bash(source .venv/bin/activate)", "bash(gzip *)", "bash(zip *)",
    "bash(sqlite3 *)", "bash(free *)", "bash(rustc *)", "write(**)", "read(**)",
)  # fmt: skip
ASK: Final = ("bash(git push --force *)", "bash(docker rm *)")
DENY: Final = ("bash(sudo *)", "bash(git reset --hard *)", "read(**/.env)", "read(~/.ssh/**)")

LINES: Final = [
    line.replace("⏎", "\n").replace("⇥", "\t")
    for line in r"""
git status
git status -s
git status --short --branch
git diff
git diff --stat
git diff HEAD~1
git diff --cached
git diff main...HEAD -- src/
git log
git log --oneline -10
git log --oneline --graph --all
git log -p -1
git log --since="2 weeks ago" --author=ann
git log --pretty=format:'%h %an %s' -n 20
git show
git show HEAD
git show HEAD:README.md
git show --stat HEAD~3
git branch
git branch -a
git branch -vv
git branch feature/login
git checkout main
git checkout -b fix/typo
git switch -c feature
git switch main
git restore README.md
git add .
git add -A
git add -p
git add src/app.py tests/test_app.py
git add *.py
git commit -m "Fix the parser"
git commit -am 'wip'
git commit --amend --no-edit
git commit -m "Add tests" -m "Covers the edge cases (and more)."
git push
git push origin main
git push -u origin feature/login
git pull
git pull --rebase
git fetch --all
git fetch origin
git merge main
git rebase main
git rebase --continue
git stash
git stash pop
git stash list
git tag v1.0.0
git tag -l
git remote -v
git clone https://github.com/example/project.git
git blame src/app.py
git rev-parse HEAD
git rev-parse --abbrev-ref HEAD
git ls-files
git ls-files | wc -l
git grep -n "TODO"
git cherry-pick abc1234
git reset HEAD~1
git clean -n
git worktree list
git config --get user.name
git config user.email
git -C sub status
git --no-pager log -3
git diff --name-only | xargs ls -l
git log --oneline | head -5
git add -A && git commit -m "Update" && git push
git status && git diff
git checkout main && git pull && git checkout -
git shortlog -sn
git describe --tags
git commit -m "$(cat <<'EOF'⏎Fix: handle empty input⏎⏎It failed before.⏎EOF⏎)"
ls
ls -la
ls -lah src
ls src tests
ls *.py
ls -1 | wc -l
ls -t | head -1
ls ~/projects
ls /tmp
cat README.md
cat package.json
cat src/app.py | head -50
cat src/app.py | grep -n "def "
cat pyproject.toml | grep version
cat requirements.txt | sort | uniq
cat a.txt b.txt > c.txt
cat /etc/os-release
cat <<'EOF' > notes.md⏎# Notes⏎- one⏎EOF
cat > config.json <<EOF⏎{"a": 1}⏎EOF
cat <<EOF⏎plain text⏎EOF
cat >> .gitignore <<'EOF'⏎dist/⏎EOF
head -20 src/app.py
head -n 5 data.csv
tail -f app.log
tail -n 100 app.log
tail -5 data.csv | cut -d, -f1
wc -l src/*.py
wc -l README.md
find . -name "*.py"
find . -name '*.py' -not -path './.venv/*'
find . -type f -name "*.ts" | head
find src -type d
find . -name "*.log" -mtime +7
find . -name "*.py" | xargs wc -l
find . -name "*.py" | xargs grep -l import
find . -name "*.pyc" -delete
find . -name "*.tmp" -exec rm {} \;
find . -type f -exec wc -l {} +
find . -name __pycache__ -type d
find . -size +10M
grep -r "TODO" src
grep -rn "import os" --include="*.py" .
grep -i error app.log
grep -c foo data.txt
grep -v "^#" config.ini
grep -E "foo|bar" file.txt
grep -rl old src | xargs sed -i 's/old/new/g'
grep -n "class .*:" src/app.py
grep "a b" file.txt | wc -l
rg TODO
rg -n "def main" src
rg --files | head
rg -l foo -g '*.py'
sed -n '1,20p' src/app.py
sed -n 5,10p README.md
sed 's/foo/bar/' file.txt
sed -i 's/1.0/1.1/' setup.cfg
sed -i 's|http://|https://|g' docs/index.md
sed '/^$/d' file.txt
sed -e 's/a/b/' -e 's/c/d/' file.txt
awk '{print $1}' data.txt
awk -F, '{print $2}' data.csv
awk 'NR==1' data.csv
awk '{sum += $1} END {print sum}' numbers.txt
awk -F: '$3 > 1000 {print $1}' users.txt
sort data.txt
sort -u names.txt
sort -k2 -n data.txt | tail -3
sort data.txt | uniq -c | sort -rn | head
cut -d' ' -f1 access.log | sort | uniq -c
tr 'a-z' 'A-Z' < file.txt
tr -d '\r' < in.txt > out.txt
jq . package.json
jq '.scripts' package.json
jq -r '.version' package.json
cat data.json | jq '.items[] | .name'
curl -s https://api.example.com/status | jq .
curl https://example.com
curl -s -o out.html https://example.com
curl -I https://example.com
curl -X POST -H "Content-Type: application/json" -d '{"a":1}' http://localhost:8000/api
curl -sS http://localhost:8080/health
curl -L https://example.com/file.tar.gz | tar xz
echo hello
echo "hello world"
echo $HOME
echo $PATH
echo "$USER"
echo "value: ${VALUE:-none}"
echo "line" >> file.txt
echo 'export default {}' > index.js
echo "done" && date
echo $?
echo "Version: $(git describe --tags)"
echo "Today is $(date +%F)"
echo -e "a\tb"
printf '%s\n' one two three
printf "%d\n" 5
pwd
cd src
cd src && ls
cd src && ls -la && cd ..
cd tests && pytest -q
cd frontend && npm install
cd frontend && npm run build && cd ..
cd "$(git rev-parse --show-toplevel)" && ls
cd /tmp && ls
mkdir build
mkdir -p src/components/ui
mkdir -p build && cd build && ls
touch src/__init__.py
touch a.txt b.txt
cp a.txt b.txt
cp -r src backup
cp config.example.yml config.yml
mv old.txt new.txt
mv src/a.py src/b.py
rm file.txt
rm -f *.log
rm -rf build
rm -rf build dist *.egg-info
rm -rf node_modules && npm install
rm -r tmp/
rmdir empty
ln -s ../shared shared
chmod +x scripts/run.sh
chmod 644 file.txt
diff a.txt b.txt
diff -u old.py new.py
diff <(sort a.txt) <(sort b.txt)
du -sh .
du -sh * | sort -h
df -h
free -h
ps aux
ps aux | grep python
which python
which node npm
type ls
whoami
id
date
date +%Y-%m-%d
date -u
uname -a
hostname
uptime
nproc
sleep 2
true
test -f README.md && echo yes
[ -f README.md ] && echo yes
[ -d src ] || mkdir src
[[ -n "$CI" ]] && echo ci
[[ -z "$x" ]] || echo set
if [ -f package.json ]; then npm test; fi
if [ -d .git ]; then echo repo; else echo none; fi
for f in *.py; do echo "$f"; done
for i in 1 2 3; do echo $i; done
for i in $(seq 1 5); do echo "run $i"; done
for f in src/*.ts; do wc -l "$f"; done
for d in a b c; do mkdir -p "$d"; done
for i in {1..3}; do echo $i; done
for f in *.txt; do mv "$f" "${f%.txt}.md"; done
while read -r line; do echo "$line"; done < names.txt
python --version
python -c "print(1+1)"
python -c 'import sys; print(sys.version)'
python -m pytest
python -m pytest tests/test_app.py -k name -x
python -m venv .venv
python -m http.server 8000
python -m pip install -e .
python script.py --flag value
python3 script.py > out.txt 2>&1
python3 - <<'EOF'⏎print("hi")⏎EOF
python3 manage.py migrate
python3 -m json.tool data.json
PYTHONUNBUFFERED=1 python train.py
CUDA_VISIBLE_DEVICES=0 python train.py --epochs 3
.venv/bin/python -m pytest -q
source .venv/bin/activate
source .venv/bin/activate && python app.py
pip install requests
pip install -r requirements.txt
pip list
pip list | grep -i torch
pip show numpy
pip freeze > requirements.txt
uv sync
uv run pytest
uv pip install httpx
poetry install
poetry run pytest
pytest
pytest -q
pytest -x --tb=short
pytest tests/unit -k "not slow"
pytest --cov=src --cov-report=term-missing
pytest -n 4
pytest tests/test_a.py::test_b
pytest 2>&1 | tail -20
CI=1 pytest -q
timeout 60 pytest -q
time pytest
ruff check .
ruff check --fix src
ruff format
ruff check . && ruff format --check .
mypy src
mypy --strict agent
black .
black --check src
npm install
npm ci
npm test
npm run build
npm run dev
npm run lint -- --fix
npm test -- --watch=false
npm install --save-dev typescript
npm outdated
npm ls --depth=0
NODE_ENV=production npm run build
npx tsc --noEmit
npx eslint src
npx prettier --check .
npx vitest run
pnpm install
yarn build
node --version
node index.js
node -e "console.log(1)"
make
make test
make -j4
make clean && make
make build 2>&1 | tee build.log
cargo build
cargo test
cargo run --release
cargo clippy -- -D warnings
RUST_BACKTRACE=1 cargo test
go build ./...
go test ./...
go mod tidy
GOOS=linux go build
docker ps
docker ps -a
docker build -t app .
docker run --rm app
docker compose up -d
docker logs -f app
docker images | head
docker exec -it app ls
kubectl get pods
kubectl get pods -n prod | grep app
gh pr list
gh pr view 12
tar czf backup.tar.gz src
tar xzf archive.tar.gz
tar tf archive.tar
unzip archive.zip
gzip -k data.csv
zip -r out.zip src
tree -L 2
tree src
./scripts/build.sh
./scripts/deploy.sh staging
./gradlew test
jupyter nbconvert --to script nb.ipynb
jupyter lab --no-browser
sqlite3 data.db ".tables"
kill 1234
kill -9 1234
nohup python server.py &
python server.py &
ls | tee files.txt
ls nonexistent 2>/dev/null
ls nonexistent 2>/dev/null || echo "none"
ls > files.txt 2>&1
command -v node
xxd file.bin | head
env | grep PATH
export DEBUG=1
export NODE_ENV=test && npm test
x=5; echo $x
count=$(ls | wc -l); echo "$count files"
echo $((1 + 2))
n=3; echo $((n * 2))
wc -l < README.md
grep -q foo file.txt; echo $?
basename src/app.py .py
dirname src/app.py
realpath src
stat README.md
file README.md
md5sum file.txt
sha256sum dist/app.tar.gz
seq 1 10
comm -12 a.txt b.txt
nl README.md
tac app.log | head
column -t data.txt
# list the files⏎ls
ls   # a comment
git status⏎git diff
set -e⏎npm ci⏎npm test
set -euo pipefail; make test
""".strip().splitlines()
]
