import OpenAI, { BadRequestError } from 'openai-7';

/** What an application does with `openai` 7 that earlier versions lack. */

const model = 'jade-mole-4';

const connect = (apiKey: string): OpenAI =>
  new OpenAI({ apiKey, baseURL: `${location.origin}/v1`, dangerouslyAllowBrowser: true, maxRetries: 0 });

export async function decide(apiKey: string) {
  return connect(apiKey).decisions.create({
    model,
    input: 'Fry the onions in butter until they are golden.',
    questions: [
      {
        type: 'choice',
        name: 'topic',
        instructions: 'What is the topic of this text?',
        choices: [
          { value: 'sports', description: 'Games, athletes, teams and matches' },
          { value: 'food', description: 'Cooking, recipes, meals and restaurants' },
        ],
      },
      { type: 'predicate', instructions: 'It is about cooking.' },
      { type: 'score', instructions: 'How urgent is it?', levels: [{ label: 'low' }, { label: 'high' }] },
    ],
  });
}

export async function refused(apiKey: string) {
  try {
    await connect(apiKey).decisions.create({
      model,
      input: 'Hi',
      questions: [{ type: 'choice', instructions: 'Which?', choices: [{ value: 'one' }] }],
    });
  } catch (error) {
    if (error instanceof BadRequestError) return { status: error.status, param: error.param };
    throw error;
  }
  return null;
}
