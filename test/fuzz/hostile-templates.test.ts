import { expect, test } from 'vitest';

import { BoundedTemplate } from '../../src/chat-template/bounded-template.ts';
import { chatPrompt } from '../../src/chat-template/chat-prompt.ts';
import { ServiceError } from '../../src/base/errors/service-error.ts';
import { Random } from '../chaos/random.ts';
import { STEPS_OF_A_SECOND, stepsOf } from '../support/steps-of.ts';
import { hostileConversation } from './hostile-conversation.ts';
import { hostileTemplate } from './hostile-template.ts';
import { seed } from './seed.ts';

const templates = Number(process.env['LOCALTEXT_FUZZ_TEMPLATES'] ?? 60);

const messages = [{ role: 'user', content: 'Hello' }];

test(
  `a template ends, whatever it does (${templates}, seed ${seed})`,
  { timeout: 60_000 + templates * 500 },
  async () => {
    const counts = { rendered: 0, refused: 0 };
    for (let index = 0; index < templates; index++) {
      const source = hostileTemplate(seed, index);
      const steps = await stepsOf(() => {
        try {
          new BoundedTemplate(source).render({ messages });
          counts.rendered++;
        } catch (error) {
          counts.refused++;
          if (!(error instanceof Error)) throw error;
        }
      });
      expect(steps, `template ${index} of seed ${seed}`).toBeLessThan(STEPS_OF_A_SECOND);
    }
    console.log(`${templates} templates, seed ${seed}: ${JSON.stringify(counts)}`);
    // Otherwise the templates are not what they are to be.
    expect(Math.min(counts.rendered, counts.refused)).toBeGreaterThan(0);
  },
);

/** Begin a template that shows its messages, as a model's own does. */
const STARTS = [
  '',
  "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{{ '<|assistant|>' }}",
  "{{ '<|system|>' ~ 'You are helpful.' ~ '<|end|>' }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
  '{% for m in messages %}{{ m.role }}{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}{{ m.content }}{% endfor %}',
  '{% if enable_thinking %}<think>{% else %}<think></think>{% endif %}{{ messages[-1].content }}',
];

test(
  `a prompt is opened or refused, whatever is in the conversation (${templates}, seed ${seed})`,
  { timeout: 60_000 + templates * 500 },
  async () => {
    const counts = { opened: 0, refused: 0 };
    for (let index = 0; index < templates; index++) {
      const random = new Random(seed * 3_000_003 + index);
      const source = random.pick(STARTS) + (random.below(3) > 0 ? hostileTemplate(seed, index) : '');
      const job = hostileConversation(random);
      const bos = random.pick([null, '<s>']);
      const steps = await stepsOf(() => {
        try {
          const { prompt } = chatPrompt(
            source,
            { bos, eos: '</s>', reserved: ['<|end|>', '<s>', '</s>'] },
            random.below(2) === 0,
          ).open(job);
          expect(prompt).not.toMatch(/[\uFDD0-\uFDEF]/);
          counts.opened++;
        } catch (error) {
          // A template that is none is refused by its parser.
          if (!(error instanceof ServiceError && error.wire.status === 400) && !isParserError(error))
            throw new Error(`template ${index} of seed ${seed}`, { cause: error });
          counts.refused++;
        }
      });
      expect(steps, `template ${index} of seed ${seed}`).toBeLessThan(STEPS_OF_A_SECOND);
    }
    console.log(`${templates} conversations, seed ${seed}: ${JSON.stringify(counts)}`);
    expect(Math.min(counts.opened, counts.refused)).toBeGreaterThan(0);
  },
);

/** Whether the constructor refused the template. */
const isParserError = (error: unknown): boolean =>
  error instanceof Error && !(error instanceof TypeError || error instanceof RangeError);
