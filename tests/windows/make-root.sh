#!/usr/bin/env bash
# Makes a root of Debian 13 with Wine 10, as root on Debian: make-root.sh [FOLDER]. It takes about two minutes and
# 1.2 GB, and is whole when it has its name. Prints the folder, which the suite 'windows' takes in PROTORPC_WINE_ROOT.
set -eu
made=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/protorpc/wine-trixie}
mkdir -p "$(dirname "$made")"
# Another run may make it now.
exec 9>"$made.lock"
flock -w 900 9
if [ ! -d "$made/usr" ]; then
    command -v mmdebstrap >/dev/null || apt-get install -q -y --no-install-recommends mmdebstrap >&2
    rm -rf --one-file-system "$made.part"
    timeout --kill-after=30 600 mmdebstrap --quiet --variant=apt --include=wine,wine64,winbind \
        --aptopt='Apt::Install-Recommends "false"' trixie "$made.part" >&2
    mv -T "$made.part" "$made"
fi
echo "$made"
