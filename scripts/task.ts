import { spawnSync } from 'node:child_process'

interface Task {
  does: string
  /** Run one after the other, until one fails. */
  steps: string[]
}

/** Commands of the root package that are several steps. */
const tasks: Record<string, Task> = {
  build: {
    does: 'Builds both packages, ESM and type declarations, into dist and service/dist.',
    steps: ['tsup', 'npm run --silent build -w service'],
  },
  'build:js': {
    does: 'Builds the JavaScript of both packages without their types: what demo and service run.',
    steps: ['tsup --no-dts --silent', 'npm run --silent build -w service -- --no-dts --silent'],
  },
  check: {
    does: 'Builds, then checks types, format and lint, and the packages as they would be published.',
    steps: ['npm run --silent build', 'tsc --noEmit -p .', 'biome check .', 'npm run --silent check:packages'],
  },
  'check:packages': {
    does: 'Checks both packages as they would be published; they must have been built.',
    steps: [
      'publint . --strict',
      'publint service --strict',
      'attw --pack . --profile esm-only',
      'attw --pack service --profile esm-only',
    ],
  },
}

const [name = '', ...rest] = process.argv.slice(2)
const task = Object.hasOwn(tasks, name) ? tasks[name] : undefined

if (task === undefined) complain(`there is no task ${JSON.stringify(name)}`)
else if (rest.includes('--help') || rest.includes('-h')) process.stdout.write(helpFor(name, task))
else if (rest.length > 0) complain(`${name} takes no arguments; npm run ${name} -- --help says what it does`)
else process.exitCode = run(task.steps)

function helpFor(task: string, { does, steps }: Task): string {
  const listed = steps.map((step) => `  ${step}\n`).join('')
  return `Usage: npm run ${task}

${does}

${listed}
Exit codes: 0 every step passed, otherwise that of the first step that did not, 2 the arguments are wrong.
`
}

function run(steps: readonly string[]): number {
  for (const step of steps) {
    const { status, error } = spawnSync(step, { stdio: 'inherit', shell: true })
    if (error !== undefined) throw error
    if (status !== 0) {
      process.stderr.write(`${name}: stopped at ${step}\n`)
      return status ?? 1
    }
  }
  return 0
}

function complain(problem: string): void {
  process.stderr.write(`task: ${problem}\n`)
  process.exitCode = 2
}
