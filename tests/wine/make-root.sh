#!/usr/bin/env bash
# Makes a root of Debian 13 with Wine 10, as root on Debian: make-root.sh [FOLDER]. It takes about two minutes and
# 1.2 GB, and is whole when it has its name. Prints the folder, which the suite 'wine' takes in PROTORPC_WINE_ROOT.
set -eu
made=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/protorpc/wine-trixie}
if [ ! -d "$made" ]; then
    command -v mmdebstrap >/dev/null || apt-get install -q -y --no-install-recommends mmdebstrap >&2
    mkdir -p "$(dirname "$made")"
    rm -rf --one-file-system "$made.part"
    timeout 900 mmdebstrap --quiet --variant=apt --include=wine,wine64,winbind \
        --aptopt='Apt::Install-Recommends "false"' trixie "$made.part" >&2
    mv "$made.part" "$made"
fi
echo "$made"
