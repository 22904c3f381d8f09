import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';

const PUBLISH_AFTER_MS = 150;

interface TypedText {
  readonly text: string;
  readonly type: (text: string) => void;
}

/** Text of a field that updates the address after a pause in typing. */
export function useTypedText(
  value: string,
  onChange: (text: string) => void,
  pauseMs = PUBLISH_AFTER_MS,
): TypedText {
  const [text, setText] = useState(value);
  const published = useRef(value);
  const publish = useDebouncedCallback((next: string) => {
    published.current = next;
    onChange(next);
  }, pauseMs);
  // The address has changed in another way, for example by going back.
  useEffect(() => {
    if (value === published.current) return;
    published.current = value;
    publish.cancel();
    setText(value);
  }, [value, publish]);
  const type = (next: string): void => {
    setText(next);
    publish(next);
  };
  return { text, type };
}
