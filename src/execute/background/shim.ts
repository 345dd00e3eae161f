// The shim that supervises one local background process: it keeps output and exit code, whoever started it lives or not.
//
// I1. Output goes to `output.0` up to a cap, then round and round through two later pieces (`output.<offset>`): the
//     beginning and the end are always there. Each piece's name says at which byte of the whole output it begins.
// I2. Memory is a shell's and a `dd`'s, whatever is printed; beyond the cap a flood is slowed by its own pipe.
// I3. `exit` holds the command's own code as soon as it ended, also while somebody it left behind holds the pipe.
// I4. TERM for the group is the command's: the shim outlives it, to write down how it ended. Only KILL leaves no word.
// I5. A full disk ends the keeping of output, not the command.

/** Kept from the beginning. Overshoots by at most 4 MB. */
export const FIRST_PIECE_BYTES = 50_000_000;
/** Kept of the end, at least; at most twice that and 8 MB. */
export const LATER_PIECE_BYTES = 1_000_000;

/**
 * Arguments: folder, bytes of the first piece, bytes of later ones, then the command's words. The fifo is opened for
 * writing by a `sleep` all the while, or the command would read an end of file whenever nobody writes; ending that
 * `sleep` closes its stdin. `dd` reads what is there and writes it at once, and never reads more than it writes.
 */
export const SUPERVISOR = `spool=$1 cap=$2 ring=$3
shift 3
umask 077
exec </dev/null >/dev/null 2>&1
trap : TERM INT HUP QUIT
mkfifo "$spool/stdin" || exit 125
sleep 2147483647 >"$spool/stdin" &
keeper=$!
echo "$keeper" >"$spool/keeper"
{
  trap : TERM INT HUP QUIT
  "$@" <"$spool/stdin"
  code=$?
  echo "$code" >"$spool/exit.new" && mv "$spool/exit.new" "$spool/exit"
  kill "$keeper" 2>/dev/null
} 2>&1 | {
  trap '' TERM INT HUP QUIT
  LC_ALL=C
  export LC_ALL
  at=0 limit=$cap previous= file=$spool/output.0
  while :; do
    said=$(dd bs=65536 count=64 2>&1 >>"$file") || break
    reads=\${said%% records in*}
    [ "$((\${reads##*[!0-9+]}))" -ge 64 ] || exit 0
    size=$(($(wc -c <"$file")))
    if [ "$size" -ge "$limit" ]; then
      [ -z "$previous" ] || rm -f "$previous"
      [ "$at" = 0 ] || previous=$file
      at=$((at + size)) limit=$ring
      file=$spool/output.$at
      : >"$file"
    fi
    [ "$at" = 0 ] || sleep 0.2
  done
  exec cat >/dev/null
}
kill "$keeper" 2>/dev/null
exit 0`;
