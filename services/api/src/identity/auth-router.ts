import { fieldsOf, toFieldErrors } from '@tocsin/contracts/field-errors';
import { signInRoutes, singleSignOnRoutes } from '@tocsin/contracts/identity/routes';
import { methodOf, pathOf } from '@tocsin/contracts/routes/route';
import type { Route, Routes } from '@tocsin/contracts/routes/route';
import { Router } from 'express';
import type { Request, RequestHandler } from 'express';
import { z } from 'zod';
import { requireTrustedOrigin } from '../access/access.ts';
import type { ApiContext } from '../context.ts';
import { invalidFields } from '../http/field-errors.ts';
import { bodyOf, parseJsonBody } from '../http/json-body.ts';
import { notFound, resource } from '../http/resource.ts';
import { keepPrivate } from '../http/response-headers.ts';
import { sendAuthAnswer } from './auth-request.ts';
import type { AuthAsk } from './auth-request.ts';

type Answer = (ask: AuthAsk) => Promise<globalThis.Response>;

const noFields = z.strictObject({});

/** `/api/auth`: signing in and out. What the contracts do not name of better-auth, such as sign-up and linking, is not reachable. */
export function authRouter({ identity, settings }: Pick<ApiContext, 'identity' | 'settings'>): Router {
  const router = Router({ caseSensitive: true });
  router.use(keepPrivate, requireTrustedOrigin(settings.trustedOrigins));
  const addRoutes = (routes: Routes, answer: Answer): void => {
    for (const route of Object.values(routes)) {
      const [method, path] = [methodOf(route), pathOf(route)];
      const handle: RequestHandler = async (req, res) => {
        const fields = fieldsFor(route, req);
        await sendAuthAnswer(res, await answer({ req, path, fields }));
      };
      const stages = method === 'POST' ? [parseJsonBody, handle] : [handle];
      resource(router, path.replace('/api/auth', ''), { [method.toLowerCase()]: stages });
    }
  };
  addRoutes(signInRoutes, (ask) => identity.answer(ask));
  if (identity.hasSingleSignOn) addRoutes(singleSignOnRoutes, (ask) => identity.answerSingleSignOn(ask));
  router.use(notFound);
  return router;
}

/** The fields of the query of a GET, else of the body. @throws AppError validation_failed */
function fieldsFor({ query = noFields, body }: Route, req: Request): Record<string, unknown> {
  const fields = validate(query, req.query);
  return body === undefined ? fields : validate(body, bodyOf(req));
}

function validate(schema: z.ZodType, fields: unknown): Record<string, unknown> {
  const result = schema.safeParse(fields);
  if (result.success) return result.data as Record<string, unknown>;
  const known = schema instanceof z.ZodObject ? fieldsOf(schema) : [];
  throw invalidFields(toFieldErrors(result.error.issues, () => known));
}
