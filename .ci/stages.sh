# Sourced by tests/run, examples/run and .ci/run: quiet stages, each with a log in build/logs.
cd "$(dirname "$0")/.." || exit 2
passed=0 failed=0
logs=build/logs
mkdir -p "$logs"

# stage NAME COMMAND...: runs it with its output in a log; one line says how it went and how long it took.
stage() {
  local name=$1 begin=$SECONDS result
  shift
  [ -t 2 ] && printf '%s ...\r' "$name" >&2
  "$@" >"$logs/$name.log" 2>&1
  result=$?
  if [ $result -eq 0 ]; then
    printf '%-20s ok      %4d s\n' "$name" $((SECONDS - begin))
  else
    printf '%-20s failed  %4d s   %s\n' "$name" $((SECONDS - begin)) "$logs/$name.log"
    tail -n "${LOG_LINES:-60}" "$logs/$name.log"
  fi
  return $result
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

# configured FOLDER OPTION...: sets the build folder up, or looks for new files and changed options.
configured() {
  local folder=$1
  shift
  if [ -e "$folder/build.ninja" ]; then
    meson setup --reconfigure "$@" "$folder"
  else
    meson setup "$@" "$folder"
  fi
}

finish() {
  echo "$passed passed, $failed failed"
  [ $failed -eq 0 ]
  exit
}
