import { Badge, Group, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { CodeBlock } from '../components/code-block.tsx';
import { type FieldRow, fieldsOf, rulesOf, typeOf } from './describe-schema.ts';
import { FieldTable } from './field-table.tsx';
import type { Operation } from './list-operations.ts';
import type { OpenApi } from './open-api.ts';
import { operationCurl } from './operation-curl.ts';
import { Prose } from './prose.tsx';

interface OperationDetailsProps {
  readonly operation: Operation;
  readonly document: OpenApi;
}

export function OperationDetails({ operation, document }: OperationDetailsProps): ReactNode {
  const { description, credentials, parameters, body, answers } = operation;
  const isRequest = operation.path.startsWith('/');
  return (
    <Stack gap="md">
      {description !== null && (
        <Text size="sm" maw={720} style={{ whiteSpace: 'pre-line' }}>
          <Prose text={description} />
        </Text>
      )}
      {credentials.length > 0 && <Credentials credentials={credentials} />}
      {isRequest && (
        <CodeBlock
          code={operationCurl(operation, window.location.origin, body?.example)}
          what={`the command of ${operation.summary}`}
        />
      )}
      {parameters.length > 0 && (
        <Part title={isRequest ? 'Path, query and headers' : 'Headers'}>
          <FieldTable
            label="Parameters"
            fields={parameters.map((parameter): FieldRow => ({
              name: parameter.name,
              type: parameter.schema ? typeOf(document, parameter.schema) : 'string',
              required: parameter.required === true,
              description: parameter.description ?? parameter.schema?.description ?? null,
              rules: [`in the ${parameter.in}`, ...(parameter.schema ? rulesOf(parameter.schema) : [])],
              fields: [],
            }))}
          />
        </Part>
      )}
      {body && (
        <Part title={`Body: ${typeOf(document, body.schema)}${body.required ? '' : ', optional'}`}>
          <FieldTable label="Body" fields={fieldsOf(document, body.schema)} />
        </Part>
      )}
      {isRequest && (
        <Part title="Answers">
          <Stack gap="sm">
            {answers.map((answer) => (
              <AnswerPart key={answer.status} answer={answer} document={document} />
            ))}
          </Stack>
        </Part>
      )}
    </Stack>
  );
}

function Credentials({ credentials }: Pick<Operation, 'credentials'>): ReactNode {
  return (
    <Group gap="xs">
      <Text size="sm" c="var(--text-quiet)">
        Needs
      </Text>
      {credentials.map((credential) => (
        <Badge key={credential} variant="default" tt="none">
          {credential}
        </Badge>
      ))}
    </Group>
  );
}

function AnswerPart({
  answer: { status, description, mediaType, schema },
  document,
}: {
  readonly answer: Operation['answers'][number];
  readonly document: OpenApi;
}): ReactNode {
  // A problem looks the same whatever is wrong.
  const fields = schema && mediaType !== 'application/problem+json' ? fieldsOf(document, schema) : [];
  return (
    <div>
      <Group gap="sm" wrap="nowrap" align="baseline">
        <Text component="span" fw={600} size="sm" className="tabular">
          {status}
        </Text>
        <Text component="span" size="sm">
          <Prose text={description} />
        </Text>
      </Group>
      {fields.length > 0 && <FieldTable label={`Answer ${status}`} fields={fields} />}
    </div>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactNode {
  return (
    <div>
      <Title order={4} size="h6" mb={4}>
        {title}
      </Title>
      {children}
    </div>
  );
}
