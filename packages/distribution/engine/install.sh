#!/bin/sh
# Installs Docker and Compose v2 on Debian, as root.
#   install.sh FOLDER    the DOCKER_CONFIG that gets the Compose plugin
set -eu
export DEBIAN_FRONTEND=noninteractive DOCKER_CONFIG="$1"
if ! command -v dockerd || ! command -v docker; then
  apt-get update
  # From Debian 13 on, the command `docker` is in a package of its own.
  apt-get install -y --no-install-recommends docker.io docker-cli ||
    apt-get install -y --no-install-recommends docker.io
fi
docker compose version && exit

# Debian 13 is the first release with Compose v2. Its binary also runs on older releases, so it is copied out of the package. apt works in
# a temporary folder, so the machine's package lists do not change.
cd "$(mktemp -d)"
apt-get update
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' 'Created-By: Packages' | head -n 1)
test -n "$mirror" || { echo 'apt has no mirror of Debian'; exit 1; }
mkdir -p lists/partial cache/archives/partial package "$DOCKER_CONFIG/cli-plugins"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" > sources.list
apt() {
  # Only root can read this folder.
  apt-get -o APT::Sandbox::User=root -o "Dir::Etc::sourcelist=$PWD/sources.list" -o Dir::Etc::sourceparts=- \
    -o "Dir::State::lists=$PWD/lists" -o "Dir::Cache=$PWD/cache" "$@"
}
apt update
apt download docker-compose
dpkg-deb --extract docker-compose_*.deb package
install package/usr/libexec/docker/cli-plugins/docker-compose "$DOCKER_CONFIG/cli-plugins"
