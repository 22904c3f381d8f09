/** Parameters for fast-check's `configureGlobal`. Every run tries the same values. Set `PROPERTY_SEED` to an integer to try others. */
export const PROPERTY_PARAMETERS = { seed: Number(process.env['PROPERTY_SEED'] ?? 1) } as const;
