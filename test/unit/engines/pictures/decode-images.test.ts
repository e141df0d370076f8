import { expect, test, vi } from 'vitest';

import { decodeImages } from '../../../../src/engines/pictures/decode-images.ts';
import { RestartableHelper } from '../../../../src/engine-kit/restartable-helper.ts';
import type { ChatImage } from '../../../../src/jobs/chat.ts';

const images = Array.from({ length: 16 }, (_, index): ChatImage => ({ at: 0, url: '', param: `${index}` }));

test('one image is decoded at a time, also of several requests', async () => {
  let [running, most, calls] = [0, 0, 0];
  const call = vi.spyOn(RestartableHelper.prototype, 'call').mockImplementation(async () => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
    return { image: ++calls, fault: null };
  });
  const { signal } = new AbortController();
  const decode = () => decodeImages<number>(images, async () => ({ image: 0, fault: null }), signal);
  const [first, second] = await Promise.all([decode(), decode()]);
  expect(most).toBe(1);
  expect([first.length, second.length]).toEqual([16, 16]);
  call.mockRestore();
});
