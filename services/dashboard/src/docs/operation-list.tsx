import { Accordion, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './docs.module.css';
import type { Operation } from './list-operations.ts';
import type { OpenApi } from './open-api.ts';
import { OperationDetails } from './operation-details.tsx';
import type { useOpenOperation } from './use-open-operation.ts';

interface OperationListProps {
  readonly operations: readonly Operation[];
  readonly document: OpenApi;
  readonly opened: ReturnType<typeof useOpenOperation>;
}

export function OperationList({ operations, document, opened }: OperationListProps): ReactNode {
  return (
    <Accordion
      variant="separated"
      order={3}
      value={opened.id}
      onChange={opened.open}
      classNames={{ item: classes['operation'] ?? '' }}
    >
      {operations.map((operation) => (
        <Accordion.Item key={operation.id} value={operation.id} id={operation.id}>
          <Accordion.Control>
            <span className={classes['head']}>
              <span className={classes['method']} data-method={operation.method}>
                {operation.method}
              </span>
              <span className={classes['path']}>{operation.path}</span>
              <Text component="span" size="sm" c="var(--text-quiet)">
                {operation.summary}
              </Text>
            </span>
          </Accordion.Control>
          <Accordion.Panel>
            {opened.id === operation.id && <OperationDetails operation={operation} document={document} />}
          </Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  );
}
