#!/bin/bash
# Stands in for Apptainer where there is none: takes exactly the words that our backend may say, in their order, refuses
# anything else with 64, and really does what they mean, with namespaces of its own. What the real program answers (exit
# codes, JSON, where its logs lie, that a command's end by a signal is the client's too) was written down from Apptainer 1.4.5.
#
# Beside it, one folder up: images/ (what can be fetched), state/ (instances), calls (every call, one a line).
set -u
here=${0%/bin/apptainer}
printf '%s\n' "${*//$'\n'/ }" >>"$here/calls"

refuse() { echo "stand-in: $*" >&2; exit 64; }
fatal() { echo "FATAL:   $*" >&2; exit 255; }
[ -z "${APPTAINER_BIND-}${SINGULARITY_BIND-}${APPTAINERENV_LEAK-}" ] || refuse "its own variables widen what it shows"

# As anybody but root the namespaces are those of a user namespace.
own=() enter=()
if [ "$EUID" != 0 ]; then
  own=(--user --map-root-user)
  enter=(--user --preserve-credentials)
fi

# Sets pid to that of the instance's first process; forgets an instance that has died, as the real list does.
find_pid() {
  local state=$here/state/$1 started stat
  [ -f "$state/pid" ] || return 1
  read -r pid started <"$state/pid"
  if { read -r stat <"/proc/$pid/stat"; } 2>/dev/null; then
    set -- ${stat##*) }
    [ "$1" != Z ] && [ "${20}" = "$started" ] && return 0
  fi
  rm -rf "$state"
  return 1
}

logs=$HOME/.apptainer/instances/logs/$HOSTNAME/somebody

start() {
  local network= overlay= limits=() scratch mount source image name state root
  for word in --containall --no-home --no-privs; do
    [ "${1-}" = $word ] || refuse "instance start: $word expected, not ${1-}"
    shift
  done
  case ${1-} in
  --writable-tmpfs) shift ;;
  --overlay) overlay=$2; shift 2; [ -d "$overlay" ] || fatal "no overlay $overlay" ;;
  *) refuse "instance start: --writable-tmpfs or --overlay expected, not ${1-}" ;;
  esac
  [ "${1-}" = --workdir ] && scratch=$2 && shift 2 || refuse "instance start: --workdir expected, not ${1-}"
  [ "${1-}" = --mount ] && mount=$2 && shift 2 || refuse "instance start: --mount expected, not ${1-}"
  if [ "${1-}" = --net ]; then
    [ "$2 $3" = "--network none" ] || refuse "instance start: --network none expected"
    network=--net
    shift 3
  fi
  while case ${1-} in --memory | --cpus | --pids-limit) true ;; *) false ;; esac do
    limits+=("$1")
    [[ $2 =~ ^[0-9.]+M?$ ]] || refuse "instance start: $1 $2"
    shift 2
  done
  [ $# = 2 ] || refuse "instance start: an image and a name expected, not $*"
  image=$1 name=$2
  [[ $name =~ ^[A-Za-z0-9._-]+$ ]] || refuse "instance start: the name $name"
  # As on a machine without systemd.
  [ ${#limits[@]} = 0 ] || fatal "container creation failed: while applying cgroups config: cannot use cgroups"
  source=$(sed -n 's/^type=bind,"\{0,1\}source=\([^,"]*\)"\{0,1\},destination=\/workspace$/\1/p' <<<"$mount")
  [ -d "$source" ] || refuse "instance start: the mount $mount"
  [ -d "$scratch" ] || refuse "instance start: the workdir $scratch"
  rootfs=$(sed -n 's/^stand-in image of //p' "$image" 2>/dev/null) || fatal "could not open image $image"
  [ -d "$rootfs" ] || fatal "could not open image $image: image format not recognized"
  find_pid "$name" && fatal "instance $name already exists"

  state=$here/state/$name root=$state/root
  mkdir -p "$root" "$scratch/tmp" "$scratch/var_tmp" "$logs"
  chmod 1777 "$scratch/tmp" "$scratch/var_tmp"
  [ -z "$overlay" ] || mkdir -p "$overlay/upper" "$overlay/work"
  env -i PATH="$PATH" setsid unshare "${own[@]}" --mount --pid --ipc ${network:+$network} --fork -- /bin/bash -c '
    set -eu
    state=$1 root=$2 rootfs=$3 overlay=$4 scratch=$5 source=$6
    layers=$state
    if [ -n "$overlay" ]; then layers=$overlay; else mount -t tmpfs none "$state" && mkdir -p "$root" "$state/upper" "$state/work"; fi
    mount -t overlay -o "lowerdir=$rootfs,upperdir=$layers/upper,workdir=$layers/work" none "$root"
    mkdir -p "$root/workspace" "$root/dev" "$root/proc" "$root/sys" "$root/tmp" "$root/var/tmp"
    mount --bind "$source" "$root/workspace"
    mount --bind "$scratch/tmp" "$root/tmp"
    mount --bind "$scratch/var_tmp" "$root/var/tmp"
    mount -t tmpfs -o mode=755 none "$root/dev"
    for device in null zero random urandom; do : >"$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
    ln -s /proc/self/fd "$root/dev/fd"; ln -s fd/1 "$root/dev/stdout"; ln -s fd/2 "$root/dev/stderr"
    mount -t proc none "$root/proc"
    echo ready >"$state.ready"
    exec env -i "$(PATH=$PATH:/usr/sbin command -v chroot)" "$root" /bin/sh -c "trap \"exit 0\" TERM; while :; do sleep 3600 & wait \$!; done"
  ' init "$state" "$root" "$rootfs" "$overlay" "$scratch" "$source" \
    </dev/null >"$logs/$name.out" 2>"$logs/$name.err" &
  local parent=$! child= stat turn
  for turn in $(seq 200); do
    [ -s "$state.ready" ] && break
    [ -d "/proc/$parent" ] || break
    sleep 0.02
  done
  read -r child </proc/$parent/task/$parent/children 2>/dev/null
  if [ ! -s "$state.ready" ] || [ -z "$child" ]; then
    rm -rf "$state" "$state.ready"
    fatal "container creation failed: $(tail -n 1 "$logs/$name.err")"
  fi
  rm -f "$state.ready"
  child=${child%% *}
  read -r stat <"/proc/$child/stat"
  set -- ${stat##*) }
  echo "$child ${20}" >"$state/pid"
  echo "$image" >"$state/image"
}

run_inside() {
  local pid name
  for word in --cleanenv --no-privs --pwd /workspace; do
    [ "${1-}" = $word ] || refuse "exec: $word expected, not ${1-}"
    shift
  done
  [[ ${1-} == instance://* ]] || refuse "exec: instance://… expected, not ${1-}"
  name=${1#instance://}
  shift
  [ $# -gt 0 ] || refuse "exec: no program"
  find_pid "$name" || fatal "While setting image/instance: no instance found with name $name"
  # Without a network of its own it has the machine's, which nobody but root may enter again.
  [ "/proc/$pid/ns/net" -ef /proc/self/ns/net ] || enter+=(--net)
  exec env -i /usr/bin/nsenter --target "$pid" "${enter[@]}" --mount --pid --ipc --root --wd=/ -- \
    /bin/sh -c 'cd /workspace && exec "$@"' sh /bin/env HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C \
    APPTAINER_NAME="$name" "$@"
}

list() {
  local separator= name
  [ "${1-}" = --json ] || refuse "instance list: --json expected"
  [ $# -le 2 ] || refuse "instance list: one name at most"
  printf '{\n\t"instances": ['
  for state in "$here"/state/*/; do
    name=${state%/} name=${name##*/}
    { [ $# = 1 ] || [ "$name" = "$2" ]; } && find_pid "$name" || continue
    printf '%s{"instance": "%s", "pid": %d, "img": "%s", "ip": "", "logErrPath": "%s.err", "logOutPath": "%s.out"}' \
      "$separator" "$name" "$pid" "$(<"$state/image")" "$logs/$name" "$logs/$name"
    separator=,
  done
  printf ']\n}\n'
}

stop() {
  local pid
  [ "${1-} ${2-}" = "--signal KILL" ] && [ $# = 3 ] || refuse "instance stop: --signal KILL NAME expected, not $*"
  find_pid "$3" || { echo "Error for command \"instance\": no instance found" >&2; exit 1; }
  kill -KILL "$pid"
  while find_pid "$3"; do sleep 0.02; done
}

pull() {
  [ $# = 2 ] || refuse "pull: a file and an address expected, not $*"
  [ ! -e "$1" ] || fatal "Image file already exists: $1 - will not overwrite"
  local from=$here/images/${2//[\/:]/_}
  # So that two who fetch at once would meet.
  [ ! -e "$from.slow" ] || sleep 0.5
  [ -f "$from" ] || fatal "While making image from oci registry: $2 was not found"
  echo half >"$1" && cp "$from" "$1"
}

inspect() {
  [ $# = 1 ] || refuse "inspect: one image expected, not $*"
  grep -q '^stand-in image of ' "$1" 2>/dev/null || fatal "Failed to open image $1: image format not recognized"
}

case "$*" in
--version) echo "apptainer version 1.4.5" ;;
"--silent instance start "*) shift 3; start "$@" ;;
"--silent exec "*) shift 2; run_inside "$@" ;;
"instance list "*) shift 2; list "$@" ;;
"--silent instance stop "*) shift 3; stop "$@" ;;
"--silent pull "*) shift 2; pull "$@" ;;
"--silent inspect "*) shift 2; inspect "$@" ;;
*) refuse "unknown: $*" ;;
esac
