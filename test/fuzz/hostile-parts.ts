import { Random } from '../chaos/random.ts';
import { hostileImage, slowImage } from './hostile-image.ts';
import { dataUrl, pngOf } from '../support/vision/pictures.ts';

const TYPES = [
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/svg+xml',
  'text/html',
  '',
];
const URLS: readonly unknown[] = [
  '',
  'data:',
  'data:image/png;base64',
  'data:image/png;base64,====',
  `data:image/png;base64,${'A'.repeat(100_000)}`,
  `data:${'x;'.repeat(10_000)}base64,AAAA`,
  '//',
  'http://[',
  '/v1/models',
  '/v1/chat/completions',
  'blob:null/x',
  'javascript:1',
  'file:///etc/passwd',
  'https://example.com/a.png',
  'http://user:secret@localhost/a.png',
  '/icons/icon.svg',
  '/icons/icon-192.png',
  '/%00',
  '\ud800',
  '<__media__>',
  null,
  7,
  [],
  {},
  true,
];

/** The body of a chat completion whose content parts are hostile: images that are damaged, cut off, of another type or none. */
export function hostileParts(seed: number, index: number, images: readonly Buffer[]): object {
  const random = new Random(seed * 1_000_003 + index);
  const { below, pick } = {
    below: (limit: number) => random.below(limit),
    pick: <T>(...values: readonly T[]): T => random.pick(values),
  };
  const damaged = (): Buffer => {
    const file = Buffer.from(random.pick(images));
    for (let count = below(4); count > 0; count--) file[below(file.length)] = below(256);
    return file.subarray(0, pick(file.length, below(file.length)));
  };
  const url = (): unknown =>
    pick<() => unknown>(
      () => dataUrl(damaged(), random.pick(TYPES)),
      () => dataUrl(pngOf(below(2 ** 16), pick(0, 1, 600, 2 ** 31), Buffer.alloc(below(99)))),
      () => dataUrl(hostileImage(random).file),
      () => dataUrl(slowImage(random)),
      () => pick(...URLS),
    )();
  const part = (): unknown =>
    pick<() => unknown>(
      () => ({ type: 'image_url', image_url: { url: url(), detail: pick<unknown>('low', 'x', 7) } }),
      () => ({ type: 'image_url', image_url: url() }),
      () => ({
        type: pick<unknown>('image_url', 'input_image', 'text', 'file', '__proto__', 7),
        text: pick<unknown>('a', '<__media__>', null),
        url: url(),
      }),
      () => ({ type: 'image_url', image_url: { url: dataUrl(random.pick(images)) } }),
      () => ({ type: 'text', text: pick('a', '', '<__media__>', '<image>', '\ud800') }),
      () => pick<unknown>(null, 7, 'a', [], {}),
    )();
  const content = Array.from({ length: 1 + below(pick(1, 1, 3, 20)) }, part);
  return {
    messages: [
      { role: pick('user', 'user', 'user', 'user', 'user', 'system', 'assistant', 'tool'), content },
    ],
    max_tokens: 1,
    ...pick<object>({}, {}, { stream: true }, { n: 2 }, { response_format: { type: 'json_object' } }),
  };
}
