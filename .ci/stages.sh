# Sourced by tests/run, examples/run and .ci/run: quiet stages, each with a log in build/logs.
cd "$(dirname "$0")/.." || exit 2
passed=0 failed=0
logs=build/logs
mkdir -p "$logs"

# stage NAME COMMAND...: runs it with its output in a log; one line says how it went and how long it took.
stage() {
  local name=$1 begin=$SECONDS result watcher=
  shift
  : >"$logs/$name.log"
  if [ "$1" = ninja ]; then
    progress "$name" &
    watcher=$!
  elif [ -t 2 ]; then
    printf '%s ...\r' "$name" >&2
  fi
  "$@" >"$logs/$name.log" 2>&1
  result=$?
  [ -z "$watcher" ] || { kill $watcher; wait $watcher; } 2>/dev/null
  [ -t 2 ] && printf '\r\e[K' >&2
  if [ $result -eq 0 ]; then
    printf '%-20s ok      %4d s\n' "$name" $((SECONDS - begin))
  else
    printf '%-20s failed  %4d s   %s\n' "$name" $((SECONDS - begin)) "$logs/$name.log"
    tail -n "${LOG_LINES:-60}" "$logs/$name.log"
  fi
  return $result
}

# progress NAME: says on standard error how far a stage is, as long as it lives: on a terminal one line that moves,
# elsewhere a line for each tenth of what ninja counts in the stage's log.
progress() {
  local name=$1 begin=$SECONDS count done=0 all=0 tenths=0 bar text
  while :; do
    sleep 0.5
    count=$(tail -c 4096 "$logs/$name.log" | grep -aoE '^\[[0-9]+/[0-9]+\]' | tail -n 1)
    [[ $count =~ ([0-9]+)/([0-9]+) ]] && done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    if [ -t 2 ]; then
      text=$((SECONDS - begin))' s'
      if [ "$all" -gt 0 ]; then
        printf -v bar '%*s' $((24 * done / all)) ''
        printf -v bar '%-24s' "${bar// /#}"
        text="[${bar// /.}] $done of $all, $text"
      fi
      printf '\r%-20s %s\e[K' "$name" "$text" >&2
    elif [ "$all" -gt 0 ] && [ $((10 * done / all)) -gt $tenths ] && [ "$done" -lt "$all" ]; then
      tenths=$((10 * done / all))
      printf '%-20s %d of %d, %d s\n' "$name" "$done" "$all" $((SECONDS - begin)) >&2
    fi
  done
}

# needed NAME COMMAND...: a stage without which nothing that follows makes sense.
needed() {
  stage "$@" || { failed=$((failed + 1)); finish; }
}

# check NAME COMMAND...: a stage that counts as one check.
check() {
  if stage "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# counted NAME COMMAND...: a stage that closes with a line 'N passed, M failed' itself.
counted() {
  local name=$1 result line
  stage "$@"
  result=$?
  line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed' "$logs/$name.log" | tail -n 1)
  if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    [ $result -eq 0 ] || [ "${BASH_REMATCH[2]}" -gt 0 ] || failed=$((failed + 1))
  else
    failed=$((failed + 1))
  fi
}

# together NAME COMMAND... [-- NAME COMMAND...]...: runs commands beside each other, as many as there are
# processors, in the background; `result_of NAME` waits for one of them, prints what it printed and returns its result.
together() {
  rm -f "$logs"/*.result
  (
    while [ $# -gt 0 ]; do
      name=$1 command=()
      shift
      while [ $# -gt 0 ] && [ "$1" != -- ]; do command+=("$1"); shift; done
      shift
      while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
      (result=0; "${command[@]}" >"$logs/$name.out" 2>&1 || result=$?; echo $result >"$logs/$name.result") &
    done
    wait
  ) &
}
result_of() {
  until [ -s "$logs/$1.result" ] || [ -z "$(jobs -rp)" ]; do sleep 0.1; done
  cat "$logs/$1.out"
  [ -s "$logs/$1.result" ] || { echo 'it has no result'; return 1; }
  return "$(cat "$logs/$1.result")"
}

# configured FOLDER OPTION...: sets the build folder up, or looks for new files and changed options. In a new one headers
# are read once for seventeen files of the core and once for ten tests.
configured() {
  local folder=$1
  shift
  if [ -e "$folder/build.ninja" ]; then
    # `setup --reconfigure` keeps the compiler's arguments as they were.
    { [ $# -eq 0 ] || meson configure "$folder" "$@"; } && meson setup --reconfigure "$folder"
  else
    meson setup -Dunity=on -Dunity_size=17 -Db_pch=true "$@" "$folder"
  fi
}

# newest_instructions: the level of x86-64 (v2, v3, v4) whose kernels this machine would choose; nothing elsewhere.
newest_instructions() {
  local flags level=v2 flag
  [ "$(uname -m)" = x86_64 ] || return
  flags=" $(grep -m 1 '^flags' /proc/cpuinfo) "
  for flag in avx2 bmi1 bmi2 f16c fma movbe; do
    [[ $flags == *" $flag "* ]] || { echo $level; return; }
  done
  level=v3
  for flag in avx512f avx512bw avx512cd avx512dq avx512vl; do
    [[ $flags == *" $flag "* ]] || { echo $level; return; }
  done
  echo v4
}

finish() {
  echo "$passed passed, $failed failed"
  [ $failed -eq 0 ]
  exit
}
