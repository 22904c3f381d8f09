import type { ErrorCode } from '../errors.ts';
import type { Operation } from './operation.ts';

/**
 * Every error that a route may answer, in the order in which they are judged (design §3 "Validation"): what its parts bring, and its own
 * refusals.
 * @param route such as `GET /api/cli/monitors/:id`
 */
export function errorsOf(route: string, operation: Operation): readonly ErrorCode[] {
  const { query, body, kind, refusals = [] } = operation;
  const isChange = !route.startsWith('GET ');
  const isForPeople = route.includes(' /api/dashboard/');
  const takesFields = body !== undefined || query !== undefined;
  const codes: (ErrorCode | false)[] = [
    isForPeople && isChange && 'untrusted_origin',
    ...callerErrors(operation),
    body !== undefined && 'body_too_large',
    body !== undefined && 'unsupported_media_type',
    body !== undefined && 'malformed_body',
    (operation.needs === 'write key' || operation.needsWriteIf !== undefined) && 'forbidden',
    operation.needs === 'owner' && 'owner_required',
    kind !== undefined && 'not_found',
    takesFields && 'validation_failed',
    ...refusals,
    'internal',
    (operation.needs !== 'anyone' || body !== undefined) && 'unavailable',
  ];
  return [...new Set(codes.filter((code) => code !== false))];
}

/** Whoever is known is counted. */
function callerErrors({ needs }: Operation): ErrorCode[] {
  if (needs === 'anyone') return [];
  return [needs === 'key' || needs === 'write key' ? 'unauthorized' : 'not_signed_in', 'rate_limited'];
}
