import type { Catalog } from '../../../src/catalog/catalog.ts';

import { timed, withCatalog } from './engines.ts';

/** Location of the weights, `<url>/vision`, and the model's id. */
export interface VisionFiles {
  catalog: Catalog;
  url: string;
  model: string;
}

/** Both hand the first token out when the second is computed. */
const TOKENS = 2;

export async function loadVision({ catalog, model }: VisionFiles): Promise<void> {
  const { handle } = await withCatalog(catalog);
  await handle.ready(model);
}

/** Milliseconds to the first token. */
export async function pictureOurs(
  { catalog, model }: VisionFiles,
  url: string,
  text: string,
): Promise<number> {
  const { client } = await withCatalog(catalog);
  const { firstTokenMs } = await timed(async (onDelta) => {
    const stream = await client.chat.completions.create({
      model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url } },
            { type: 'text', text },
          ],
        },
      ],
      max_tokens: TOKENS,
      temperature: 0,
      stream: true,
    });
    for await (const chunk of stream) onDelta(chunk.choices[0]?.delta.content ?? '');
    return TOKENS;
  });
  return firstTokenMs;
}
