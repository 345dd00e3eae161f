// Looking for a call's processes inside a container or on another machine, by shell: who they are, what CPU time they
// used, and their end.
//
// I1. A process is the call's when its environment or its arguments hold the mark, or when it sits in a session that such
//     a one leads. The mark arrives in two halves, so that the looking shell is never among the found.
// I2. TERM, grace, KILL; nothing left is believed only when seen twice. The answer is the number of survivors.
// I3. /proc is looked through where there is one; elsewhere (macOS, BSD) `ps` with the environment is asked. That branch
//     is written after the manuals and has not been exercised.

/**
 * A machine has hundreds of processes: one `grep` looks through all of them, where it can search past a NUL (busybox's
 * cannot; containers have few).
 */
const LOOK = `mark=$1$2 self=$$ found= ticks=0
whole=$(printf 'a\\000b' | grep -F b >/dev/null 2>&1 && echo yes)
marked() {
  if [ -n "$whole" ]; then
    grep -lsF -e "$mark" /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null
    return
  fi
  for dir in /proc/[0-9]*; do
    [ -r "$dir/environ" ] || continue
    text=$({ tr '\\000' '\\n' <"$dir/environ"; tr '\\000' '\\n' <"$dir/cmdline"; } 2>/dev/null)
    case $text in *"$mark"*) echo "$dir/" ;; esac
  done
}
look() {
  found= sessions= ticks=0 named=' '
  if [ ! -r /proc/self/environ ]; then
    found=$(ps -A -E -o pid=,command= 2>/dev/null | awk -v mark="$mark" -v self="$self" 'index($0, mark) && $1 != self && !/awk -v/ {print $1}')
    return
  fi
  for file in $(marked); do
    file=\${file#/proc/}
    named="$named\${file%%/*} "
  done
  for pass in 1 2; do
    for dir in /proc/[0-9]*; do
      pid=\${dir#/proc/}
      [ "$pid" != "$self" ] && [ -r "$dir/environ" ] || continue
      { read -r line <"$dir/stat"; } 2>/dev/null || continue
      set -- \${line##*) }
      case $1 in Z | X) continue ;; esac
      case " $found " in *" $pid "*) continue ;; esac
      if [ $pass = 1 ]; then
        case $named in *" $pid "*) ;; *) continue ;; esac
        [ "$4" != "$pid" ] || sessions="$sessions $4 "
      else
        case $sessions in *" $4 "*) ;; *) continue ;; esac
      fi
      found="$found $pid"
      shift 11
      ticks=$((ticks + $1 + $2 + $3 + $4))
    done
  done
}
`;

/** Prints how many would not go. */
const END = `${LOOK}
grace=$3 turn=0
again() { look; [ -n "$found" ] || look; [ -n "$found" ]; }
again || { echo 0; exit 0; }
if [ "$grace" -gt 0 ]; then
  kill -TERM $found 2>/dev/null
  kill -CONT $found 2>/dev/null
  while [ $turn -lt "$grace" ] && again; do sleep 0.1; turn=$((turn + 1)); done
fi
turn=0
while again && [ $turn -lt 20 ]; do
  kill -KILL $found 2>/dev/null
  sleep 0.1
  turn=$((turn + 1))
done
again
set -- $found
echo $#`;

/**
 * $3 = seconds. Says that it is there, then waits for the end of its input, or until nothing has come for two whole such
 * times: a network that is cut without a word closes nothing. Then it ends everything and removes the state folder.
 */
const GUARD = `umask 077
trap '' HUP PIPE
folder=/tmp/.nightshift-$1$2
mkdir -p "$folder" || exit 1
exec 3<&0
( while read -r beat <&3; do : >"$folder/beat"; done ) &
reader=$!
(
  exec 3<&- >/dev/null 2>&1
  missed=0 sleeper=
  trap 'kill $sleeper; exit 0' TERM
  while [ $missed -lt 2 ]; do
    sleep "$3" &
    sleeper=$!
    wait $sleeper
    if rm "$folder/beat"; then missed=0; else missed=$((missed + 1)); fi
  done
  kill $reader
) &
watcher=$!
echo ready
wait $reader
trap '' TERM INT
kill $watcher
set -- "$1" "$2" 10
( ${END} ) >/dev/null 2>&1
cd / && rm -rf -- "$folder"`;

/** Prints ms of CPU time; a tick is 10 ms wherever /proc is (process-table.ts). */
const CPU = `${LOOK}
look
echo $((ticks * 10))`;

/** Program and arguments that end everything with this mark inside. */
export function endArgv(mark: string, graceMs: number): string[] {
  return ["sh", "-c", END, "sh", mark.slice(0, 1), mark.slice(1), String(Math.ceil(graceMs / 100))];
}

/** The guardian of an environment at the far end of its connection, which hears a line more often than every `beatSeconds`. */
export function guardianArgv(environmentId: string, beatSeconds: number): string[] {
  const halves = [environmentId.slice(0, 1), environmentId.slice(1)];
  return ["sh", "-c", GUARD, "sh", ...halves, String(beatSeconds)];
}

/** Program and arguments that tell the CPU time of everything with this mark inside. */
export function cpuArgv(mark: string): string[] {
  return ["sh", "-c", CPU, "sh", mark.slice(0, 1), mark.slice(1), "0"];
}

/** The number a script printed; undefined when it printed none. */
export function numberOf(text: string): number | undefined {
  return /^\d+$/.test(text.trim()) ? Number(text.trim()) : undefined;
}
