import { reportRoutes } from '@tocsin/contracts/reports/routes';
import { getAvailabilityReport } from '@tocsin/db/reports/availability-report';
import { closedSignal } from '../http/closed-signal.ts';
import { stopping } from '../http/errors.ts';
import { implement, SENT } from '../http/implement.ts';

export const reportApi = implement(reportRoutes, ({ db, heavyReads, shutdown }) => ({
  getAvailabilityReport: async ({ caller: { accountId }, query, res }) => {
    const signal = AbortSignal.any([closedSignal(res), shutdown]);
    const report = await getAvailabilityReport(db, accountId, query, {
      runSlice: (slice) => heavyReads.run(accountId, signal, slice),
    });
    if (report !== null) return { report };
    if (shutdown.aborted) throw stopping();
    return SENT;
  },
}));
