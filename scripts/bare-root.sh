#!/usr/bin/env bash
# The half of bare.sh that runs in namespaces of its own: mounts the root, and runs the
# command in it. The mounts and the processes end with this script, however it ends.
set -Eeuo pipefail
trap 'echo "bare.sh: no bare root can be made here: line $LINENO of bare-root.sh failed" >&2; exit 69' ERR

root=$BARE_SCRATCH/root
mount -t tmpfs -o mode=755 bare "$root"
tar -C "$root" --numeric-owner --exclude="./dev/*" -xpf "$BARE_TARBALL"

mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 dev "$root/dev"
mkdir -p "$root"/dev/{pts,shm} "$root"/{go/root,go/modules,var/cache/bare,src}
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
for device in null zero full random urandom tty; do
	touch "$root/dev/$device"
	mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s /proc/self/fd/0 "$root/dev/stdin"
ln -s /proc/self/fd/1 "$root/dev/stdout"
ln -s /proc/self/fd/2 "$root/dev/stderr"

read_only() { # read_only FOLDER TARGET: binds a folder of the machine
	mount --bind "$1" "$2"
	mount -o remount,bind,ro "$2"
}
read_only "$BARE_GOROOT" "$root/go/root"
read_only "$BARE_GOMODCACHE" "$root/go/modules"
mount --bind "$BARE_KEPT" "$root/var/cache/bare"
chmod 1777 "$BARE_SCRATCH/tmp"
mount --bind "$BARE_SCRATCH/tmp" "$root/tmp"
trap 'rm -rf "$BARE_SCRATCH"/tmp/*' EXIT

# The network: names, and whom to trust.
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
mkdir -p "$root/etc/ssl/certs" "$root/etc/apt/keyrings" "$root/usr/local/share/ca-certificates"
[ ! -e /etc/ssl/certs/ca-certificates.crt ] || cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
for folder in /usr/local/share/ca-certificates /etc/apt/keyrings; do
	[ ! -d "$folder" ] || cp -RL "$folder/." "$root$folder/"
done

tar --exclude=./.git --exclude=./bin --exclude=node_modules -cf - . | tar -C "$root/src" --no-same-owner -xf -
environment=(PATH=/go/root/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "USER=$BARE_USER" TERM=dumb
	GOMODCACHE=/go/modules GOTOOLCHAIN=local "GOFLAGS=$BARE_GOFLAGS" GOPROXY=off)
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
	[ -z "${!name-}" ] || environment+=("$name=${!name}")
done
in_root() { chroot "$root" env -i "${environment[@]}" "$@"; }
in_root apt-get -o APT::Update::Error-Mode=any -qq update >&2 # the archive can be reached
enter=(env HOME=/root)
if [ "$BARE_USER" != root ]; then
	in_root useradd --create-home "$BARE_USER"
	echo "$BARE_USER ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$BARE_USER"
	in_root chown -R "$BARE_USER:" /src
	enter=(runuser --user "$BARE_USER" -- env HOME="/home/$BARE_USER")
fi

trap - ERR # from here on it is the command that fails
status=0
# shellcheck disable=SC2016 # the root's shell has the arguments
in_root "${enter[@]}" sh -c 'cd /src && exec "$@"' sh "$@" || status=$?
exit "$status"
