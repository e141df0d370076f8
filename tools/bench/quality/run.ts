import type { Catalog } from '../../../src/catalog/catalog.ts';
import { defaultCatalog } from '../../../src/catalog/default-catalog.ts';
import { withQualityPage } from './quality-page.ts';
import { cities, moods, questions } from './questions.ts';

/** The smallest chat model alone, in the weights that are asked for, twice: as it is, and with its template's own text. */
function catalogOf(weights: string): Catalog {
  const model = defaultCatalog.models.find(({ id }) => id === 'amber-phoenix-4');
  const variant = model?.variants.find(({ name }) => name.endsWith(`-${weights}`));
  if (variant?.engine !== 'wllama') throw new Error(`no weights ${weights}`);
  const { optIn: _, ...always } = variant;
  const modelOf = (id: string, keepTemplateText: boolean) => ({
    id,
    kind: 'chat' as const,
    created: 0,
    variants: [{ ...always, name: `${weights}-${id}`, keepTemplateText }],
  });
  return { ownedBy: 'quality', models: [modelOf('with', true), modelOf('without', false)] };
}

/** Greedy answers of both, and how many are correct. */
export async function measureQuality(weights: string): Promise<void> {
  await withQualityPage(catalogOf(weights), async (page) => {
    const ask = (model: string, contents: readonly string[], more: object): Promise<string[]> =>
      page.evaluate(
        async ([id, texts, extra]) => {
          const { key } = await (await window.localtext).keys.ensure({ label: 'quality' });
          const client = window.client(key);
          const answer = async (content: string): Promise<string> => {
            const { choices } = await client.chat.completions.create({
              model: id,
              messages: [{ role: 'user', content }],
              temperature: 0,
              max_tokens: 24,
              ...extra,
            });
            const call = choices[0]?.message.tool_calls?.[0];
            return call && 'function' in call ? call.function.arguments : (choices[0]?.message.content ?? '');
          };
          const answers: string[] = [];
          for (const text of texts) answers.push(await answer(text));
          return answers;
        },
        [model, contents, more] as const,
      );
    for (const model of ['with', 'without']) {
      const plain = await ask(
        model,
        questions.map(([question]) => question),
        {},
      );
      const right = questions.filter(([, answer], index) => answer.test(plain[index] ?? '')).length;
      const schema = {
        type: 'object',
        properties: { mood: { enum: ['positive', 'negative'] } },
        required: ['mood'],
        additionalProperties: false,
      };
      const classified = await ask(
        model,
        moods.map(([text]) => `Is this review positive or negative? ${text}`),
        { response_format: { type: 'json_schema', json_schema: { name: 'mood', schema, strict: true } } },
      );
      const moodsRight = moods.filter(([, mood], index) => classified[index]?.includes(mood)).length;
      const parameters = {
        type: 'object',
        properties: { city: { type: 'string', maxLength: 20 } },
        required: ['city'],
        additionalProperties: false,
      };
      const calls = await ask(
        model,
        cities.map((city) => `What is the weather in ${city}?`),
        {
          tools: [
            {
              type: 'function',
              function: { name: 'weather', description: 'The weather of a city', parameters },
            },
          ],
          tool_choice: 'required',
        },
      );
      const callsRight = cities.filter((city, index) => calls[index]?.includes(city)).length;
      console.log(
        `${weights}, ${model} the template's own text: ${right} of ${questions.length} questions, ${moodsRight} of ${moods.length} with a schema, ${callsRight} of ${cities.length} with a tool`,
      );
      for (const [index, [question, answer]] of questions.entries())
        if (!answer.test(plain[index] ?? '')) console.log(`  ${question} ${JSON.stringify(plain[index])}`);
    }
  });
}
