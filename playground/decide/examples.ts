import { type Draft, draft } from './drafts.ts';

interface Example {
  name: string;
  text: string;
  questions(): Draft[];
}

const SENTIMENT = `positive: I love it, it works great
negative: I am disappointed, it is broken`;

const TOPIC = `sports: Games, athletes, teams and matches
politics: Governments, elections, parties and laws
technology: Computers, software, phones and the internet
food: Cooking, recipes, meals and restaurants`;

const STARS = `1 star: Terrible, it is broken
2 stars: Bad, I have problems with it
3 stars: It is okay
4 stars: Good, I like it
5 stars: Excellent, I love it`;

const TOOL = `weather: Weather forecast and temperature
calendar: Appointments and meetings
translator: Translate words into another language
music: Play songs and albums`;

/** Examples that the embedding model answers rightly: test/browser/playground/decide.test.ts. */
export const EXAMPLES: readonly [Example, ...Example[]] = [
  {
    name: 'Review',
    text: 'I am unhappy with this lamp. It broke on the first day, and I want my money back.',
    questions: () => [draft('choice', 'What is the sentiment of this review?', SENTIMENT)],
  },
  {
    name: 'Topic',
    text: 'Fry the onions in butter until they are golden, then add the mushrooms and a glass of white wine.',
    questions: () => [
      draft('choice', 'What is the topic of this text?', TOPIC),
      draft('predicate', 'This text is a recipe.'),
    ],
  },
  {
    name: 'Message',
    text: 'The lamp arrived broken. Please refund my money.',
    questions: () => [
      draft('score', 'How many stars would the customer give?', STARS),
      draft('predicate', 'The customer asks for a refund.'),
    ],
  },
  {
    name: 'Tool',
    text: 'How do you say good morning in Japanese?',
    questions: () => [draft('choice', 'Which tool is needed for this request?', TOOL)],
  },
];
