/** Parameters for fast-check's `configureGlobal`. Every run tries the same values. `PROPERTY_SEED=<integer>` tries others. */
export const PROPERTY_PARAMETERS = { seed: Number(process.env['PROPERTY_SEED'] ?? 1) } as const;
