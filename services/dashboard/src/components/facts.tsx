import { DataList, type DataListProps } from '@mantine/core';
import type { ReactNode } from 'react';

interface FactsProps extends DataListProps {
  /** Values by label. Null values are omitted. */
  readonly facts: Readonly<Record<string, ReactNode>>;
  /** In pixels. */
  readonly labelWidth?: number;
}

export function Facts({ facts, labelWidth = 120, ...list }: FactsProps): ReactNode {
  return (
    <DataList labelWidth={labelWidth} style={{ overflowWrap: 'anywhere' }} {...list}>
      {Object.entries(facts).map(
        ([label, value]) =>
          value !== null && (
            <DataList.Item key={label}>
              <DataList.ItemLabel flex="none" w={labelWidth}>
                {label}
              </DataList.ItemLabel>
              <DataList.ItemValue flex={1} miw={0}>
                {value}
              </DataList.ItemValue>
            </DataList.Item>
          ),
      )}
    </DataList>
  );
}
