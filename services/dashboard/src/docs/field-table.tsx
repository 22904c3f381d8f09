import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { DataTable } from '../components/data-table.tsx';
import { Quiet } from '../components/quiet.tsx';
import type { FieldRow } from './describe-schema.ts';
import classes from './docs.module.css';
import { Prose } from './prose.tsx';

interface FieldTableProps {
  readonly label: string;
  readonly fields: readonly FieldRow[];
}

/** Fields with those within them, as `assertions.statusCode`. */
export function FieldTable({ label, fields }: FieldTableProps): ReactNode {
  if (fields.length === 0) return null;
  return (
    <DataTable
      label={label}
      rows={flatten(fields)}
      rowKey={({ name }) => name}
      columns={[
        {
          title: 'Field',
          render: ({ name, required }) => (
            <span className={classes['field']}>
              {name}
              {required && (
                <Text component="span" size="xs" c="var(--status-down)" ff="text">
                  {' '}
                  required
                </Text>
              )}
            </span>
          ),
        },
        {
          title: 'Type',
          render: ({ type }) => (
            <Text component="span" size="xs" ff="monospace">
              {type}
            </Text>
          ),
        },
        {
          title: 'Meaning',
          render: ({ description, rules }) => (
            <span>
              {description !== null && (
                <Text size="sm">
                  <Prose text={description} />
                </Text>
              )}
              {rules.length > 0 && <Quiet size="xs">{rules.join('; ')}</Quiet>}
            </span>
          ),
        },
      ]}
    />
  );
}

function flatten(fields: readonly FieldRow[], prefix = ''): FieldRow[] {
  return fields.flatMap((field) => [
    { ...field, name: prefix + field.name },
    ...flatten(field.fields, `${prefix}${field.name}${field.type.startsWith('list of') ? '[]' : ''}.`),
  ]);
}
