#!/bin/bash
# Checks for the tools and installs what can be installed: Debian packages as root, Python packages in a venv.
set -euo pipefail
source "$(dirname "$0")/environment.sh"

missing=()
packages=()
need() { # command, Debian package
  command -v "$1" >/dev/null || packages+=("$2")
}
need gcc gcc
need mvn maven
need python3 python3
find_java17 >/dev/null || packages+=(openjdk-17-jdk-headless)
python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
if [ ${#packages[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing ${packages[*]}"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${packages[@]}" >/dev/null
  else
    missing+=("the packages ${packages[*]} (as root: apt-get install ${packages[*]})")
  fi
fi
command -v cargo >/dev/null || missing+=("Rust 1.95 or later (cargo on the PATH; see https://rustup.rs)")
if [ ${#missing[@]} -gt 0 ]; then
  printf 'missing: %s\n' "${missing[@]}" >&2
  exit 1
fi
mkdir -p "$BSDB_CACHE"
requirements="$root/tests/requirements.txt"
if ! cmp -s "$requirements" "$venv/requirements.txt"; then
  echo "installing Python packages into $venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
  cp "$requirements" "$venv/requirements.txt"
fi
if [ "$("$cargo_deny" --version 2>/dev/null)" != "cargo-deny 0.20.2" ]; then
  echo "installing cargo-deny into $BSDB_CACHE/tools"
  CARGO_TARGET_DIR="$BSDB_CACHE/tools/target" cargo install --quiet --locked --root "$BSDB_CACHE/tools" cargo-deny@0.20.2
  rm -rf "$BSDB_CACHE/tools/target"
fi
