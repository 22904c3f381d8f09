import type { RecentChecks } from '@tocsin/contracts/monitors/events';
import { request } from '../../api/request.ts';

/** @param monitorIds 1 to 200 */
export async function loadRecentChecks(monitorIds: readonly string[]): Promise<RecentChecks[]> {
  const path = `/api/dashboard/monitors/recent-checks?monitorIds=${monitorIds.join(',')}`;
  return (await request<{ recentChecks: RecentChecks[] }>('GET', path)).recentChecks;
}
