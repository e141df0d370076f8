import type { PageServices } from '#protocol';

/**
 * Services of the page for its engines. The code of each service is imported with its first call.
 * @param gone aborted when the engine worker is gone
 */
export const pageServices = (gone: AbortSignal): Omit<PageServices, 'loads'> => ({
  decodeAudio: async (file) => (await import('./decode-audio.ts')).decodeAudio(file),
  pageModel: {
    availability: async (languages) => (await import('./page-model.ts')).availability(languages),
    prompt: async (request, port) => (await import('./page-model.ts')).runPrompt(request, port, gone),
  },
});
