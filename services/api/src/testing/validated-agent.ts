import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import supertest from 'supertest';
import type TestAgent from 'supertest/lib/agent.js';
import { buildDocument, type OpenApiDocument } from '../openapi/document.ts';
import { DocumentValidator } from './document-validator.ts';

let validator: DocumentValidator | undefined;

/** superagent keeps the request here. */
interface SentRequest {
  readonly req: { readonly method: string; readonly path: string };
  readonly request: { readonly _data?: unknown };
}

/**
 * An agent that validates every request and response against the OpenAPI document, and fails the test if one is invalid.
 * @param origin such as `http://127.0.0.1:3000`
 */
export function validatedAgent(origin: string): TestAgent {
  return supertest.agent(origin).use((request: unknown) => {
    (request as supertest.Test).expect(validateResponse);
  });
}

function validateResponse(response: supertest.Response): void {
  const { req, request } = response as unknown as SentRequest;
  const { _data: sent } = request;
  validator ??= new DocumentValidator(readDocument());
  validator.validate({
    method: req.method,
    path: req.path,
    sent,
    status: response.status,
    headers: toText(response.headers),
    text: response.text ?? '',
  });
}

/** Building it takes as long as a hundred requests, so the first test file of a run stores it for the others. */
function readDocument(): OpenApiDocument {
  const folder = process.env['TEST_FOLDER'];
  if (folder === undefined) return buildDocument('https://tocsin.example');
  const path = join(folder, 'openapi.json');
  if (!existsSync(path)) {
    const draft = `${path}.${randomUUID()}`;
    writeFileSync(draft, JSON.stringify(buildDocument('https://tocsin.example')));
    // The file is renamed when it is complete, because other test files may read it at the same time.
    renameSync(draft, path);
  }
  return JSON.parse(readFileSync(path, 'utf8')) as OpenApiDocument;
}

/** Joins repeated headers into one. */
function toText(headers: Readonly<Record<string, string | readonly string[]>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
