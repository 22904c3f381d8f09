import type { LoadReport } from '../life/report.ts';

/** Of a run under load in which all was in order. */
export const HEALTHY_LOAD: LoadReport = {
  seed: 1,
  stops: [],
  findings: {
    slots: 10,
    missed: 0,
    missReasons: {},
    repeated: 0,
    events: 12,
    askedOtherwise: [],
    readOtherwise: [],
    statusChanges: 2,
    deliveries: 4,
    received: 4,
    failures: [],
    duplicates: [],
    lost: [],
    strangers: [],
    toldOtherwise: [],
    notStreamed: [],
  },
  api: { answered: 10, refused: 0, notTaken: 0, broken: [], unexpected: [] },
  stream: { opened: 1, unavailable: 0, unexpected: 0, ended: 0, broken: 0, records: 12, resets: 0 },
  logs: { errors: [], warnings: [] },
};
