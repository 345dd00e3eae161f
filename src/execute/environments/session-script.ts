// The shell text around every command: it restores the session, runs the command, saves the session, says how it ended.
//
// I1. The command arrives as one argument (or as a file) and is given to `eval`: it is never spliced into other text, so
//     no quote, heredoc or `&` of it can reach the wrapper (hermes#3587, hermes#84402).
// I2. POSIX sh, checked with bash, dash and busybox. Only builtins and no subshell: a call costs no process of ours.
// I3. A state counts once its `ok.` file is there; the caller names those it knows, newest first. Nothing is overwritten.
// I4. The closing word goes to copies of stdout and stderr made before the command began: `exec >file` does not catch it.
// I5. A call's own variables, and all NIGHTSHIFT_*, are never part of the session.

/** Longest command that travels as an argument; Linux takes 128 kB in one. @source execve(2), MAX_ARG_STRLEN */
export const LONGEST_ARGUMENT = 100_000;

/** Arguments from $2 on are those of `sessionArgv`, in its order. */
const PRELUDE = `__ns_dir=$2 __ns_id=$3 __ns_nonce=$6 __ns_names=$7 __ns_command=$9 __ns_mode=\${10} __ns_cwd=
__ns_quote() {
  __ns_rest=$1 __ns_q="'"
  printf "'"
  while :; do
    case $__ns_rest in
    *"$__ns_q"*) printf "%s'%s''" "\${__ns_rest%%"$__ns_q"*}" "\\\\" ;;
    *) break ;;
    esac
    __ns_rest=\${__ns_rest#*"$__ns_q"}
  done
  printf "%s'" "$__ns_rest"
}
__ns_state() {
  IFS=' '
  command cd . 2>/dev/null
  printf '__ns_cwd='
  __ns_quote "\${__ns_stay:-$PWD}"
  echo
  export -p
  for __ns_name in $__ns_names; do
    eval "__ns_value=\\\${__ns_kept_$__ns_name-} __ns_set=\\\${__ns_kept_$__ns_name+x}"
    if [ -n "$__ns_set" ]; then
      printf 'export %s=' "$__ns_name"
      __ns_quote "$__ns_value"
      echo
    else echo "unset $__ns_name"; fi
  done
  # Under allexport ours are exported too.
  echo 'unset __ns_status __ns_flags'
  [ -z "\${BASH_VERSION-}" ] || { declare -f; declare -Fx; }
}
__ns_save() {
  __ns_status=$1
  [ "$__ns_mode" = keep ] || return "$1"
  __ns_flags=$-
  set +eux +a
  __ns_ifs=\${IFS-}
  __ns_state >"$__ns_dir/state.$__ns_id" && : >"$__ns_dir/ok.$__ns_id" && __ns_is_saved=1
  IFS=$__ns_ifs
  for __ns_name in a e u x; do
    case $__ns_flags in *"$__ns_name"*) set "-$__ns_name" ;; esac
  done
  return "$__ns_status"
}
__ns_word() {
  [ -n "$__ns_status" ] || __ns_save "$1"
  printf '\\036%s:%s:%s:%s\\036%s\\036' "$__ns_nonce" "$1" "$__ns_is_saved" "$PWD" "$__ns_nonce" >&7
  printf '\\036%s:%s:%s:%s\\036%s\\036' "$__ns_nonce" "$1" "$__ns_is_saved" "$PWD" "$__ns_nonce" >&8
}
exec 7>&1 8>&2
trap '{ __ns_word "$?"; } 2>/dev/null' EXIT
[ -z "$8" ] || ( command cd "$__ns_dir" && rm -f $8 )
[ ! -f "$__ns_dir/env" ] || . "$__ns_dir/env"
[ ! -f "$__ns_dir/env.$__ns_id" ] || . "$__ns_dir/env.$__ns_id"
export NIGHTSHIFT_CALL_ID="$__ns_id"
for __ns_name in $__ns_names; do
  eval "__ns_call_$__ns_name=\\"\\\${$__ns_name-}\\""
  unset "$__ns_name"
done
for __ns_name in $4; do
  if [ -f "$__ns_dir/ok.$__ns_name" ]; then
    . "$__ns_dir/state.$__ns_name"
    break
  fi
done
for __ns_name in $__ns_names; do
  eval "[ -z \\"\\\${$__ns_name+x}\\" ] || __ns_kept_$__ns_name=\\"\\$$__ns_name\\""
  eval "export $__ns_name=\\"\\$__ns_call_$__ns_name\\""
done
__ns_status= __ns_is_saved=0 __ns_stay=
if [ -n "$5" ]; then
  __ns_stay=\${__ns_cwd:-\${11}}
  command cd -- "$5" || exit 1
elif ! command cd -- "\${__ns_cwd:-\${11}}" 2>/dev/null; then
  [ -z "$__ns_cwd" ] || echo "nightshift: $__ns_cwd is gone; starting in \${11}" >&2
  command cd -- "\${11}" || exit 1
fi
[ -z "\${12}" ] || __ns_command=". '$__ns_dir/\${12}'"
set --`;

/** The prelude is an argument too, so that line numbers in the shell's messages are those of the command. */
const SCRIPT = `eval "$1"; eval "$__ns_command"; { __ns_save "$?"; } 2>/dev/null`;

export interface SessionCall {
  /** Free of quotes: ours. */
  stateFolder: string;
  callId: string;
  /** Calls whose state may be the session's, newest first. */
  candidates: readonly string[];
  /** Empty = the session's directory. */
  cwd: string;
  /** Where a session starts. */
  home: string;
  /** Marks the closing word. */
  nonce: string;
  /** Variables that belong to this call alone. */
  names: readonly string[];
  /** Files of the state folder that nobody needs any more. */
  stale: readonly string[];
  /** The text, or the name of a file in the state folder. */
  command: { text: string } | { file: string };
  /** Whether the session goes on from where this call leaves it. */
  isKept: boolean;
}

/** Program and arguments that run the call inside. */
export function sessionArgv(shell: { path: string; isBash: boolean }, call: SessionCall): string[] {
  return [
    shell.path,
    ...(shell.isBash ? ["--noprofile", "--norc"] : []),
    "-c",
    SCRIPT,
    shell.isBash ? "bash" : "sh",
    PRELUDE,
    call.stateFolder,
    call.callId,
    call.candidates.join(" "),
    call.cwd,
    call.nonce,
    call.names.join(" "),
    call.stale.join(" "),
    "text" in call.command ? call.command.text : "",
    call.isKept ? "keep" : "drop",
    call.home,
    "file" in call.command ? call.command.file : "",
  ];
}
