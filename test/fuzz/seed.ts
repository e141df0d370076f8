/** Seed of the generated requests and files. */
export const seed = Number(process.env['LOCALTEXT_FUZZ_SEED'] ?? 1);
