import { LIMITS } from '@tocsin/contracts/limits';
import { applySet } from '@tocsin/db/monitor-sets/apply-set';
import type { RequestHandler } from 'express';
import { requireWriteIf } from '../access/access.ts';
import type { ApiContext } from '../context.ts';
import { bodyOf, parseJsonBodyUpTo } from '../http/json-body.ts';
import { boundLargeBodies } from '../http/large-bodies.ts';
import { etagOf, ifMatchOf } from '../http/request-headers.ts';
import { callerOf } from '../http/request-state.ts';
import { hintStatusChanges } from '../monitors/hint-status-changes.ts';
import { parseSet } from './set-fields.ts';

/** The stages of "apply a set" (docs/api.md "Sets of monitors"). */
export function putSetStages(context: ApiContext): RequestHandler[] {
  return [
    boundLargeBodies(),
    parseJsonBodyUpTo(LIMITS.monitorSetBytes),
    // Who may only read may ask what would be done: a pipeline that looks at a branch needs no more.
    requireWriteIf((req) => bodyOf(req)['dryRun'] !== true),
    putSetHandler(context),
  ];
}

function putSetHandler(context: ApiContext): RequestHandler {
  const { defaultRegion, regions } = context.settings;
  return async function answerPutSet(req, res) {
    const set = await parseSet(bodyOf(req), regions);
    const { accountId } = callerOf(res);
    const applied = await applySet(context, accountId, set, defaultRegion, ifMatchOf(req));
    const { result, version, schedules, statusChangeIds } = applied;
    for (const { monitorId, regions } of schedules) context.schedules.touch(monitorId, regions);
    hintStatusChanges(context, statusChangeIds);
    res.set('ETag', etagOf(version)).json(result);
  };
}
