import { parseArgs } from 'node:util'
import { missing, type SoakSize, soaks } from '../test/soak/index.ts'
import { installOwnPackages } from './own-packages.ts'

const list = soaks.map(({ name, says, rounds }) => `  ${name.padEnd(18)} ${says} (${rounds})`).join('\n')

const reasons = Object.entries(missing)
  .map(([row, reason]) => `  ${row} ${reason}`)
  .join('\n')

const help = `Usage: npm run soak [-- NAME …] [--rounds N] [--nemesis NAME] [--seed SEED]
       npm run soak -- check FILE

The long sizes of what the ordinary tests run small. Without a name all of them, one after the other:

${list}

Not here:

${reasons}

check judges a recorded history, which the soaks of histories write.

  --rounds N      instead of the number in brackets; tests run at least at their ordinary size
  --nemesis NAME  of histories: the only one that strikes (default: each)
  --seed SEED     of histories: repeats the choices of an earlier run
  --help          this text

Exit code 0: all held, 1: one did not, 2: the arguments are wrong.
`

process.exitCode = await main()

/** Checks a history that was recorded. */
async function check(files: readonly string[]): Promise<number> {
  const [file] = files
  if (file === undefined || files.length > 1) {
    process.stderr.write(`check takes one file\n\n${help}`)
    return 2
  }
  const { checkFile } = await import('../test/soak/checker/main.ts')
  return checkFile(file, (text) => process.stdout.write(`${text}\n`))
}

async function main(): Promise<number> {
  const [first, ...files] = process.argv.slice(2)
  if (first === 'check') return check(files)
  const read = readArguments()
  if (typeof read === 'string') {
    process.stderr.write(`${read}\n\n${help}`)
    return 2
  }
  if (read.help) {
    process.stdout.write(help)
    return 0
  }
  await installOwnPackages('tests')
  let failures = 0
  for (const soak of soaks.filter(({ name }) => read.names.length === 0 || read.names.includes(name))) {
    if (!(await run(soak, { ...read, rounds: read.rounds ?? soak.rounds }))) failures += 1
  }
  return failures === 0 ? 0 : 1
}

async function run(soak: (typeof soaks)[number], size: Omit<SoakSize, 'onRound' | 'onPart'>): Promise<boolean> {
  const { rounds } = size
  const startMs = performance.now()
  const seconds = (): string => `${Math.round((performance.now() - startMs) / 1_000)} s`
  let shownMs = startMs
  process.stdout.write(`${soak.name}: ${soak.says}, ${rounds} rounds\n`)
  const onRound = (round: number, of = rounds): void => {
    // A line every ten seconds.
    if (performance.now() - shownMs < 10_000) return
    shownMs = performance.now()
    process.stdout.write(`  ${round} of ${of} after ${seconds()}\n`)
  }
  try {
    process.stdout.write(
      `  held: ${await soak.run({ ...size, onRound, onPart: (says) => void process.stdout.write(`  ${says}\n`) })} (${seconds()})\n`,
    )
    return true
  } catch (error) {
    process.stdout.write(
      `  DID NOT HOLD after ${seconds()}: ${error instanceof Error ? error.message : String(error)}\n`,
    )
    return false
  }
}

interface Arguments extends Pick<SoakSize, 'nemesis' | 'seed'> {
  names: string[]
  rounds: number | undefined
  help: boolean
}

function readArguments(): Arguments | string {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        rounds: { type: 'string' },
        nemesis: { type: 'string' },
        seed: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    const unknown = positionals.find((name) => !soaks.some((soak) => soak.name === name))
    if (unknown !== undefined) return `there is no soak named ${unknown}`
    const rounds = values.rounds === undefined ? undefined : Number(values.rounds)
    if (rounds !== undefined && !(Number.isSafeInteger(rounds) && rounds > 0)) return '--rounds takes a number from 1'
    return { ...values, names: positionals, rounds }
  } catch (error) {
    return error instanceof Error ? error.message : 'unknown arguments'
  }
}
