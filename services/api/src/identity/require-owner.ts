import { AppError } from '@tocsin/contracts/errors';
import type { RequestHandler } from 'express';
import { callerOf } from '../http/request-state.ts';

/** Lets only owners of the account pass: users, invitations, secrets. An API key is no owner. */
export const requireOwner: RequestHandler = (_req, res, next) => {
  if (callerOf(res).role !== 'owner') {
    throw new AppError('owner_required', 'Ask an owner of the account.');
  }
  next();
};
