/** When and where a monitor is checked. */
export interface MonitorSchedule {
  readonly monitorId: string;
  readonly revision: number;
  readonly intervalSeconds: number;
  readonly regions: readonly string[];
}

/** The regions that check a monitor: an empty list means the default region (specification "Regions"). */
export function effectiveRegions(regions: readonly string[], defaultRegion: string): readonly string[] {
  return regions.length > 0 ? regions : [defaultRegion];
}
