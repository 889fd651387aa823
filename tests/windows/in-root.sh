#!/bin/sh
# Runs a command in another root: in-root.sh ROOT REPOSITORY NAME=VALUE... COMMAND ARGUMENT...
# The caller gives it mounts and processes of its own (unshare --mount --pid --fork), which end with it.
# The repository is at the same place in the root, and so is the folder that the command starts in.
set -e
root=$1
repository=$(cd "$2" && pwd -P)
shift 2

[ -d "$root/usr" ] || { echo "There is no root in '$root'."; exit 1; }
# Before the repository, which may be below /tmp.
mount -t tmpfs tmpfs "$root/tmp"
mkdir -p "$root$repository"
mount --rbind "$repository" "$root$repository"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
touch "$root/etc/hosts"
mount --bind /etc/hosts "$root/etc/hosts"
exec chroot "$root" /usr/bin/env -i --chdir "$(pwd -P)" HOME=/root LC_ALL=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
