import { Random } from '../chaos/random.ts';
import { joinBytes } from './join-bytes.ts';

const NUMBERS = [0, 1, 2, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];

export interface HostileSound {
  /** Index of the clip that it was. */
  clip: number;
  file: Uint8Array<ArrayBuffer>;
}

/** One of the clips with some of its bytes changed, repeated, left out or cut off: most where its headers are. */
export function hostileSound(seed: number, index: number, clips: readonly Uint8Array[]): HostileSound {
  const random = new Random(seed * 1_000_003 + index);
  const clip = random.below(clips.length);
  let file = Uint8Array.from(clips[clip] ?? []);
  const place = (): number =>
    Math.min(file.length, random.below(random.pick([16, 64, 300, file.length + 1])));
  const changes: (() => void)[] = [
    () => (file[place()] = random.below(256)),
    () => (file[place()] = random.below(256)),
    () => {
      const [at, size] = [place(), random.pick([2, 4])];
      if (at + size > file.length) return;
      const view = new DataView(file.buffer);
      const isLittle = random.below(2) === 1;
      if (size === 2) view.setUint16(at, random.pick(NUMBERS), isLittle);
      else view.setUint32(at, random.pick(NUMBERS), isLittle);
    },
    () => {
      if (random.below(3) === 0) file = file.slice(0, place());
    },
    () => {
      const [at, length] = [place(), random.below(200)];
      file = joinBytes([file.subarray(0, at + length), file.subarray(at)]);
    },
    () => {
      const [at, length] = [place(), random.below(200)];
      file = joinBytes([file.subarray(0, at), file.subarray(at + length)]);
    },
    () => {
      const at = place();
      file.fill(random.pick([0, 255]), at, at + random.below(200));
    },
    () => {
      const other = clips[random.below(clips.length)] ?? file;
      const at = place();
      file = joinBytes([file.subarray(0, at), other.subarray(Math.min(at, other.length))]);
    },
  ];
  for (let left = random.below(8); left >= 0; left--) random.pick(changes)();
  return { clip, file };
}
