import { Alert, Text } from '@mantine/core';
import { IconPlugConnectedX } from '@tabler/icons-react';
import { useEffect, useState, type ReactNode } from 'react';
import { Time } from '../components/time.tsx';
import { useLiveState, useLiveStream } from './live-provider.tsx';
import classes from './not-live-banner.module.css';

/** An api that is started anew is back sooner, and nothing is missed. */
const SHOW_AFTER_MS = 3_000;

/** Over every page whose figures may be old, for as long as they may: a page that stands still looks like one where all is well. */
export function NotLiveBanner(): ReactNode {
  const isLost = useLiveState() === 'lost';
  const { heardAt } = useLiveStream();
  return (
    <div role="status" className={classes['place']}>
      {isLost && <Banner since={new Date(heardAt).toISOString()} />}
    </div>
  );
}

function Banner({ since }: { readonly since: string }): ReactNode {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SHOW_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!shown) return null;
  return (
    <Alert
      color="red"
      variant="outline"
      icon={<IconPlugConnectedX aria-hidden />}
      className={classes['banner'] ?? ''}
    >
      <Text size="sm">
        <b>Not live</b> since <Time value={since} as="clock" />. What you see is as it was then; what is
        missed comes when the connection is back.
      </Text>
    </Alert>
  );
}
