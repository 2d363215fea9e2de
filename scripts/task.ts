import { spawnSync } from 'node:child_process'
import { isNewer } from './is-newer.ts'

interface Task {
  does: string
  /** Run one after the other, until one fails. */
  steps: Step[]
}

type Step = string | { run: string; makes: Made }

/** A step is left out when all its files are newer than what they are made from. */
interface Made {
  files: string[]
  from: string[]
}

const lock = ['package.json', 'package-lock.json']

/** Commands of the root package that are several steps. */
const tasks: Record<string, Task> = {
  build: {
    does: 'Builds both packages, ESM and type declarations, into dist and service/dist.',
    steps: ['tsup', 'npm run --silent build -w service'],
  },
  'build:js': {
    does: 'Builds the JavaScript of both packages without their types, where it is out of date: what demo and service run.',
    steps: [
      {
        run: 'tsup --no-dts --silent',
        makes: {
          files: ['dist/index.js', 'dist/browser.js', 'dist/react.js'],
          from: [...lock, 'tsup.config.ts', 'src'],
        },
      },
      {
        run: 'npm run --silent build -w service -- --no-dts --silent',
        makes: {
          files: ['service/dist/index.js', 'service/dist/cli.js'],
          from: [...lock, 'service/package.json', 'service/tsup.config.ts', 'service/src'],
        },
      },
    ],
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
  const listed = steps.map((step) => `  ${commandOf(step)}\n`).join('')
  return `Usage: npm run ${task}

${does}

${listed}
Exit codes: 0 every step passed, otherwise that of the first step that did not, 2 the arguments are wrong.
`
}

function commandOf(step: Step): string {
  return typeof step === 'string' ? step : step.run
}

function run(steps: readonly Step[]): number {
  for (const step of steps) {
    if (typeof step !== 'string' && isNewer(step.makes.files, step.makes.from)) continue
    const command = commandOf(step)
    const { status, error } = spawnSync(command, { stdio: 'inherit', shell: true })
    if (error !== undefined) throw error
    if (status !== 0) {
      process.stderr.write(`${name}: stopped at ${command}\n`)
      return status ?? 1
    }
  }
  return 0
}

function complain(problem: string): void {
  process.stderr.write(`task: ${problem}\n`)
  process.exitCode = 2
}
