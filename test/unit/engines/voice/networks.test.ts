import type { PreTrainedModel } from '@huggingface/transformers';
import { expect, test, vi } from 'vitest';

import { hibariSound, kokoroSound } from '../../../../src/engines/voice/networks.ts';

// Its tensors need a runtime.
vi.mock('@huggingface/transformers', () => ({ Tensor: Object }));

const floats = (length: number) => ({ type: 'float32', data: new Float32Array(length), dims: [length] });
/** A network with these outputs. */
const giving = (outputs: object) => (async () => outputs) as unknown as PreTrainedModel;

test.each([
  ['no sound', { audio: floats(0) }, 'its output audio is float32[0]'],
  ['whole numbers', { audio: { type: 'int16', data: Int16Array.of(1), dims: [1] } }, 'audio is int16[1]'],
  ['another name', { waveform: floats(9) }, 'the voice gives no audio, but waveform'],
])('a network that gives %s is refused', async (_, outputs, message) => {
  await expect(kokoroSound(giving(outputs), new Float32Array(512), [1], 1)).rejects.toThrow(message);
});

test('a spectrum of fewer frames than its pitch is refused', async () => {
  const speak = (length: number) => {
    const [lh, f0] = [floats(length), floats(2)];
    return hibariSound(giving({ f0, lh, theta: lh, ln: lh, lr: lh, phi: lh }), [1], 1);
  };
  await expect(speak(601)).rejects.toThrow('its output lh is float32[601]');
  expect(await speak(2 * 601)).toHaveLength(600);
});
