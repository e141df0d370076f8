import { config } from 'zod/mini';

// Compiled checks need `new Function`: a strict Content-Security-Policy reports even the attempt.
config({ jitless: true });
