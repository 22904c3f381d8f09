/**
 * The parameters of every property test, for fast-check's `configureGlobal`. Each run tries the same values, so that its result
 * does not depend on chance; `PROPERTY_SEED=<integer>` tries others.
 */
export const PROPERTY_PARAMETERS = { seed: Number(process.env['PROPERTY_SEED'] ?? 1) } as const;
