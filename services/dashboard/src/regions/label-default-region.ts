/** As `eu-west (default)`; `default` says it by itself. */
export function labelDefaultRegion(region: string): string {
  return region === 'default' ? region : `${region} (default)`;
}
