import { undecidedLength } from '#base';
import type { Delta, Events } from '#jobs';
import { RESULT_END, RESULT_START } from './tool-call-text.ts';

/** A mark, with the line break inside. */
const MARK = new RegExp(`${RESULT_START}\\n?|\\n?${RESULT_END}`, 'g');
const MARKS = [`${RESULT_START}\n`, RESULT_END, `\n${RESULT_END}`];

/** A noncharacter, in place of a mark's characters. */
const DROPPED = '\uFFFF';

/** Leaves the marks of tools' results out of a reply: small models repeat those of the prompt. */
export async function* withoutResultMarks(events: Events<'chat'>): Events<'chat'> {
  /** Deltas whose text may end within a mark. */
  const held: Delta[] = [];
  for await (const event of events) {
    if (event.type === 'delta') held.push(event.delta);
    const text = held.map((delta) => delta.text).join('');
    if (event.type === 'delta' && undecidedLength(text, MARKS) > 0) continue;
    let rest = text.replaceAll(MARK, (mark) => DROPPED.repeat(mark.length));
    for (const { logprobs, ...delta } of held.splice(0)) {
      const own = rest.slice(0, delta.text.length).replaceAll(DROPPED, '');
      rest = rest.slice(delta.text.length);
      // A token that is part of a mark has no log probability.
      const isShown = own !== '' || delta.text === '';
      yield { type: 'delta', delta: { ...delta, text: own, ...(logprobs && isShown && { logprobs }) } };
    }
    if (event.type !== 'delta') yield event;
  }
}
