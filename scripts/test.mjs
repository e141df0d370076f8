// Runs Vitest: node scripts/test.mjs [options and filters of `vitest run`]. A failed browser test runs once more, alone, when all others have ended.
// Vitest's `retry` does not suffice: it repeats a test at once, beside the files that may have slowed it down.
import { createVitest, parseCLI } from 'vitest/node';

const MAX_FLAKY = 5;
/** Projects without a browser. Their tests never run again. */
const IN_NODE = new Set(['repository', 'unit', 'unit-isolated', 'conformance']);

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)]);
const vitest = await createVitest('test', { ...options, watch: false, run: true });

/** Failures of a file: its failed tests, or the whole file if something else in it failed, such as a hook. */
function failuresOf(module) {
  const outside = [module, ...module.children.allSuites()].flatMap((each) => each.errors());
  if (outside.length > 0) return [{ module, name: module.relativeModuleId, errors: outside }];
  return [...module.children.allTests('failed')].map((test) => ({
    module,
    testIds: [test.id],
    name: `${module.relativeModuleId} > ${test.fullName}`,
    errors: test.result().errors,
  }));
}

/** @returns ids of the tests that passed; none if the failure recurred */
async function repeat({ module, testIds }) {
  const specification = module.project.createSpecification(module.moduleId, { testIds });
  // The result has the modules of earlier runs, too.
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([specification]);
  const again = testModules.find(({ id }) => id === module.id);
  if (!again || unhandledErrors.length > 0 || failuresOf(again).length > 0) return [];
  return [...again.children.allTests('passed')].map(({ id }) => id);
}

const textOf = ({ message, stack, diff }) => [stack || message, diff].filter(Boolean).join('\n');

let lines = ['0 passed, 1 failed'];
try {
  const { testModules, unhandledErrors } = await vitest.start(filter);
  const passed = new Set(
    testModules.flatMap((module) => [...module.children.allTests('passed')]).map(({ id }) => id),
  );
  const failures = testModules.flatMap(failuresOf);
  // A reporter has set it for another reason, such as an outdated table.
  const otherFault = failures.length === 0 && unhandledErrors.length === 0 && process.exitCode === 1;

  const flaky = [];
  const failed = failures.filter(({ module }) => IN_NODE.has(module.project.name));
  const toRepeat = failures.filter((each) => !failed.includes(each));
  for (const failure of toRepeat) {
    const ids = toRepeat.length > MAX_FLAKY ? [] : await repeat(failure);
    for (const id of ids) passed.add(id);
    (ids.length > 0 ? flaky : failed).push(failure);
  }

  const failedCount = failed.length + unhandledErrors.length + (otherFault ? 1 : 0);
  lines = [
    ...(toRepeat.length > MAX_FLAKY
      ? [`${toRepeat.length} browser tests failed: more than ${MAX_FLAKY}, so none runs again.`]
      : []),
    ...flaky.map(({ name, errors }) => `flaky: ${name}\n${errors.map(textOf).join('\n')}\n`),
    ...failed.map(({ name }) => `failed: ${name}`),
    `${passed.size} passed, ${failedCount} failed`,
  ];
  process.exitCode = failedCount > 0 ? 1 : 0;
} catch (error) {
  vitest.logger.printError(error, { fullStack: true });
  process.exitCode = 1;
}
// After the default reporter's own summary.
process.once('exit', () => process.stdout.write(`${lines.join('\n')}\n`));
await vitest.exit();
