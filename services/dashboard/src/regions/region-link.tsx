import type { Region } from '@tocsin/contracts/regions/region';
import type { ReactNode } from 'react';
import { Quiet, TextLink } from '../components/text.tsx';
import type { RegionScope } from './agent-queries.ts';

/** Paths of the pages of agent regions. */
export const REGION_PAGES = {
  dashboard: '/regions/$code',
  operator: '/operator/regions/$code',
} as const;

interface RegionLinkProps {
  readonly scope: RegionScope;
  readonly region: Region;
}

/** Shows the code and name of an agent region, with a link to its page. */
export function RegionLink({ scope, region: { region: code, name } }: RegionLinkProps): ReactNode {
  return (
    <div>
      <TextLink to={REGION_PAGES[scope]} params={{ code }}>
        <code>{code}</code>
      </TextLink>
      {name !== null && <Quiet size="xs">{name}</Quiet>}
    </div>
  );
}
