// The shell text that carries a program through a service whose streams are lines of text: what it prints as base64,
// what it reads through files.
//
// I1. POSIX sh with dd, base64, tr, mkfifo and tail; checked with bash, dash and busybox.
// I2. On stdout and on stderr, each for itself: `+BASE64` is a piece; `>` says that further pieces stay inside; `=CODE` that
//     their newest are in `kept.o` or `kept.e`; `.` is the stream's end. Anything else is nobody's.
// I3. The program's end follows what it printed, in the streams themselves, as a closing word (trailer.ts). So whoever
//     holds the pipe longer does not hold the call.
// I4. Inside never grows beyond what is kept and 32 MB a stream; what leaves before anybody asks for more is one window.
// I5. The carrier bears no mark of the call: it outlives the call's end and tells it.
// I6. Few programs for a short command: a carrier starts about twenty.

/** Pieces travel at once until so many characters of base64; then they stay inside, or wait for a word to go on. */
export const WINDOW_CHARACTERS = 350_000;
/** Kept beyond what is asked for: the closing word of a session and ours. */
const BEYOND_BYTES = 70_000;

/** Keeps what a stream prints beyond its window inside, the newest of it. */
const spoolText = `spool() {
  piece=100000 oldest=100000 held=0
  while dd bs=65536 count=256 of="$call/$1.$piece" && [ -s "$call/$1.$piece" ]; do
    held=$((held + $(wc -c <"$call/$1.$piece")))
    piece=$((piece + 1))
    while first=$(wc -c <"$call/$1.$oldest") && [ $((held - first)) -ge $((keep + ${BEYOND_BYTES})) ]; do
      rm -f "$call/$1.$oldest"
      held=$((held - first)) oldest=$((oldest + 1))
    done
  done
  : >"$call/$1.end"
}
stay() {
  echo '>'
  exec 8<&0
  spool "$1" <&8 & spooler=$!
  until [ -s "$call/code" ]; do sleep 0.1; done
  turn=0
  until [ -e "$call/$1.end" ] || [ $turn -ge 20 ]; do sleep 0.1; turn=$((turn + 1)); done
  cat "$call/$1".1* | tail -c $((keep + ${BEYOND_BYTES})) >"$call/kept.$1"
  read -r code <"$call/code"
  echo "=$code"
  wait $spooler
}
`;

/** Sends a stream as lines. */
const pumpText = (hasWidth: boolean) => `pump() {
  left=$window
  while text=$(dd bs=49152 count=1 | ${hasWidth ? "base64 -w0" : "base64 | tr -d '\\n'"}) && [ -n "$text" ]; do
    echo "+$text"
    left=$((left - \${#text}))
    if [ $left -gt 0 ]; then :
    elif [ "$keep" -eq 0 ]; then read -r left <"$call/go.$1"
    else
      stay "$1"
      break
    fi
  done
  echo .
}
`;

/** The carrier's text. `hasWidth`: whether base64 inside knows -w0, and spares a program a piece. */
export const carrierText = (hasWidth: boolean) => `run=$1 call=$2 window=$3 keep=$4 word=$5 has_stdin=$6
exec 3>&1 4>&2 2>/dev/null
umask 077
mkdir -p "$call" && mkfifo "$call/o" "$call/e" || exit 97
${spoolText}${pumpText(hasWidth)}[ "$keep" -gt 0 ] || mkfifo "$call/go.o" "$call/go.e" || exit 97
pump o <"$call/o" >&3 3>&- 4>&- & pump_o=$!
pump e <"$call/e" >&4 3>&- 4>&- & pump_e=$!
exec 5>"$call/o" 6>"$call/e"
if [ "$has_stdin" = 1 ]; then
  mkfifo "$call/in" "$call/shut" || exit 97
  { : <"$call/shut"; } 3>&- 4>&- 5>&- 6>&- 7>"$call/in" & holder=$!
  sh "$run" <"$call/in" >&5 2>&6 3>&- 4>&- 5>&- 6>&-
  code=$?
  kill $holder
  for name in in shut; do
    mv "$call/$name" "$call/$name.past"
    : <>"$call/$name.past"
  done
else
  sh "$run" </dev/null >&5 2>&6 3>&- 4>&- 5>&- 6>&-
  code=$?
fi
printf '\\036%s:%s:0:\\036%s\\036' "$word" $code "$word" >&5
printf '\\036%s:%s:0:\\036%s\\036' "$word" $code "$word" >&6
echo $code >"$call/code"
exec 5>&- 6>&-
wait $pump_o $pump_e
set -- "$call"/kept.*
[ -e "$1" ] || rm -rf -- "$call" "$run"
`;

export interface Carried {
  /** Free of quotes: ours. */
  carrierFile: string;
  /** Made by the carrier; everything of the call is in it. */
  callFolder: string;
  /** A file of shell text that becomes the program (I5). */
  runFile: string;
  word: string;
  hasStdin: boolean;
  keepBytes: number | undefined;
}

/** Program and arguments of the carrier. */
export function carrierArgv(call: Carried): string[] {
  return [
    "sh",
    call.carrierFile,
    call.runFile,
    call.callFolder,
    String(WINDOW_CHARACTERS),
    String(call.keepBytes === undefined ? 0 : Math.max(1, call.keepBytes)),
    call.word,
    call.hasStdin ? "1" : "0",
  ];
}

/** Shell text that becomes the program. */
export function runText(argv: readonly string[]): string {
  return `exec ${argv.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ")}\n`;
}

const WAIT_FOR = (name: string) => `turn=0
until [ -p "$1/${name}" ] || [ -e "$1/${name}.past" ] || [ $turn -ge 200 ]; do sleep 0.05; turn=$((turn + 1)); done
`;
/** Shell text that feeds a file ($2) to the call's stdin and removes it. Waits until it is read, or never will be. */
export const FEED = `${WAIT_FOR("in")}[ ! -p "$1/in" ] || cat -- "$2" >"$1/in"; rm -f -- "$2"`;
/** Shell text after which the call's stdin is at its end. */
export const SHUT = `${WAIT_FOR("shut")}[ ! -p "$1/shut" ] || : >"$1/shut"`;
/** Shell text that lets a stream ($2) go on for one window. */
export const GO_ON = `[ ! -p "$1/go.$2" ] || echo ${WINDOW_CHARACTERS} >"$1/go.$2"`;
