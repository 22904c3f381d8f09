#!/bin/sh
# Builds stand-ins for base images from packages of Debian and npm, for machines that cannot reach a registry.
#   build.sh NAME=IMAGE…    for example redis=redis:7
set -eu
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
cp -R "$(dirname "$0")/." "$context"
if ! docker image inspect tocsin-stand-in/debian:bookworm >/dev/null 2>&1; then
  command -v mmdebstrap ||
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends mmdebstrap; }
  mmdebstrap --variant=minbase --include=ca-certificates,netbase bookworm "$context/debian.tar"
  docker import "$context/debian.tar" tocsin-stand-in/debian:bookworm
fi
for stand_in in "$@"; do
  name=${stand_in%%=*}
  image=${stand_in#*=}
  if [ "$name" = node ]; then
    major=${image#*:}
    npm install --no-save --prefix "$context/node" "node-linux-$(node -p process.arch)@${major%%.*}" npm@11
    # Behind a proxy with its own certificate authority, the build of the images needs that authority, too.
    cat "${NODE_EXTRA_CA_CERTS:-/dev/null}" > "$context/node/authorities.pem"
  fi
  docker build --label dev.tocsin.stand-in=true --tag "$image" "$context/$name"
done
