import { Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { CardCell, CardTable } from '../components/card-table.tsx';
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
    <CardTable label={label} columns={['Field', 'Type', 'Meaning']}>
      {flatten(fields).map((field) => (
        <Table.Tr key={field.name}>
          <CardCell column="Field" heading>
            <span className={classes['field']}>
              {field.name}
              {field.required && (
                <Text component="span" size="xs" c="var(--status-down)" ff="text">
                  {' '}
                  required
                </Text>
              )}
            </span>
          </CardCell>
          <CardCell column="Type">
            <Text component="span" size="xs" ff="monospace">
              {field.type}
            </Text>
          </CardCell>
          <CardCell column="Meaning">
            <span>
              {field.description !== null && (
                <Text size="sm">
                  <Prose text={field.description} />
                </Text>
              )}
              {field.rules.length > 0 && (
                <Text size="xs" c="var(--text-quiet)">
                  {field.rules.join('; ')}
                </Text>
              )}
            </span>
          </CardCell>
        </Table.Tr>
      ))}
    </CardTable>
  );
}

function flatten(fields: readonly FieldRow[], prefix = ''): FieldRow[] {
  return fields.flatMap((field) => [
    { ...field, name: prefix + field.name },
    ...flatten(field.fields, `${prefix}${field.name}${field.type.startsWith('list of') ? '[]' : ''}.`),
  ]);
}
