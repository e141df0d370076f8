import { config } from 'zod/mini';

// Compiled checks need `new Function`: a strict Content-Security-Policy reports even the attempt. Schemas
// read the setting when they are made.
config({ jitless: true });

export * from 'zod/mini';
