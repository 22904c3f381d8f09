import type { Route } from '../routes/route.ts';
import { demand } from './finding.ts';

export interface SecretsToKeep {
  /** Of the account that asks. */
  readonly own: Iterable<string>;
  /** Stands in everything another account has. */
  readonly foreignMarker: string;
}

/** @param sent the request, since what was sent may come back in the message of a fault. @throws Finding */
export function judgeSecrets(route: Route | null, text: string, sent: string, keep: SecretsToKeep): void {
  demand(
    !text.includes(keep.foreignMarker) || sent.includes(keep.foreignMarker),
    `something of another account: ${text.slice(0, 500)}`,
  );
  if (route?.showsSecret === true) return;
  for (const secret of keep.own) {
    demand(
      !text.includes(secret) || sent.includes(secret),
      `a secret (${secret.slice(0, 12)}…) in an answer: ${text.slice(0, 300)}`,
    );
  }
  demand(
    !/tocsin_live_[0-9a-f]{48}|whsec_/.test(text) || /tocsin_live_|whsec_/.test(sent),
    `a key or secret in an answer: ${text.slice(0, 300)}`,
  );
}
