#!/bin/sh
# Copies what a service, or the CLI, needs at run time into a folder. The repository must be installed and built. The Dockerfile runs this.
#   infra/images/assemble.sh api|checker|notifier|cli FOLDER
set -eu
service=$1
folder=$2
case $service in
  cli) package=@tocsin-monitor/cli ;;
  *) package=@tocsin/$service ;;
esac
pnpm="npx --yes pnpm@12.21.0"
cd "$(dirname "$0")/../.."

# The versions are those of the lockfile; dependencies of development are left out.
pnpm_config_inject_workspace_packages=true CI=true $pnpm --filter "$package" deploy --prod "$folder"

# The JavaScript alone: neither its sources nor its tests run there.
rm -f "$folder/pnpm-lock.yaml" "$folder/pnpm-workspace.yaml" "$folder/tsconfig.json"
rm -rf "$folder"/node_modules/.pnpm/@types+* "$folder"/node_modules/.pnpm/undici-types@*
for part in "$folder" "$folder"/node_modules/.pnpm/@tocsin*/node_modules/@tocsin/*; do
  [ -d "$part/dist" ] || continue
  rm -rf "$part/src" "$part/test" "$part/tsconfig.json" "$part"/*.ts "$part/dist/test" "$part/dist/testing"
  find "$part/dist" -type f \( -name '*.test.*' -o -name '*.d.ts' -o -name '*.map' -o -name '.tsbuildinfo' \) -delete
done

# What is inside, for scanners of vulnerabilities and licences.
$pnpm --filter "$package" sbom --prod --sbom-format cyclonedx --sbom-type application --out "$folder/sbom.cdx.json"

if [ "$service" = api ]; then
  # Without it the api would answer no page: better to fail here.
  cp -R services/dashboard/dist "$folder/dashboard"
  find "$folder/dashboard" -type f -name '*.map' -delete
  # The API reference page: of Scalar, only the bundle for browsers.
  scalar=node_modules/@scalar/api-reference
  mkdir -p "$folder/$scalar/dist/browser"
  cp "services/api/$scalar/dist/browser/standalone.js" "$folder/$scalar/dist/browser/"
  cp "services/api/$scalar/package.json" "$folder/$scalar/"
fi
