#!/bin/sh
# Copies what a service, or the CLI, needs at run time into a folder. The repository must be installed and built. The Dockerfile runs this.
#   infra/images/assemble.sh api|checker|notifier|agent|operator|cli FOLDER
set -eu
service=$1
folder=$2
case $service in
  cli) package=@tocsin-monitor/cli ;;
  *) package=@tocsin/$service ;;
esac
pnpm="npx --yes pnpm@12.21.0"
cd "$(dirname "$0")/../.."

# With the versions of the lockfile, without development dependencies.
pnpm_config_inject_workspace_packages=true CI=true $pnpm --filter "$package" deploy --prod "$folder"

# Only the JavaScript: no sources and no tests.
rm -f "$folder/pnpm-lock.yaml" "$folder/pnpm-workspace.yaml" "$folder/tsconfig.json"
rm -rf "$folder"/node_modules/.pnpm/@types+* "$folder"/node_modules/.pnpm/undici-types@*
for part in "$folder" "$folder"/node_modules/.pnpm/@tocsin*/node_modules/@tocsin/*; do
  [ -d "$part/dist" ] || continue
  rm -rf "$part/src" "$part/test" "$part/tsconfig.json" "$part"/*.ts "$part/dist/test" "$part/dist/testing"
  find "$part/dist" -type f \( -name '*.test.*' -o -name '*.d.ts' -o -name '*.map' -o -name '.tsbuildinfo' \) -delete
done

# For scanners of vulnerabilities and licences.
$pnpm --filter "$package" sbom --prod --sbom-format cyclonedx --sbom-type application --out "$folder/sbom.cdx.json"

if [ "$service" = api ]; then
  # Fails here if the dashboard is not built, not later in production.
  cp -R services/dashboard/dist "$folder/dashboard"
  find "$folder/dashboard" -type f -name '*.map' -delete
  # The API reference page: of Scalar, only the bundle for browsers.
  scalar=node_modules/@scalar/api-reference
  mkdir -p "$folder/$scalar/dist/browser"
  cp "services/api/$scalar/dist/browser/standalone.js" "$folder/$scalar/dist/browser/"
  cp "services/api/$scalar/package.json" "$folder/$scalar/"
fi
