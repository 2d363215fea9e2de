import { expect, test, vi } from 'vitest'
import { groups } from '../bench/groups.ts'
import { run, scripts } from './support/run-script.ts'

// A bench refuses its arguments or prints its help before it installs packages.
vi.mock(import('../scripts/own-packages.ts'), async (load) => ({
  ...(await load()),
  installOwnPackages: () => Promise.reject(new Error('packages would be installed')),
}))

test.each([
  [['foo'], 'there is no bench named foo'],
  [['overhead', 'foo'], 'overhead takes no arguments'],
  [['--only', 'overhead,foo'], 'there is no group named foo'],
  [['--only', 'overhead', '--short'], '--short needs --out, since its figures mean little'],
])('npm run bench -- %j names the fault first', async (args, fault) => {
  const { code, stderr } = await run(scripts.bench ?? '', ...args)
  expect({ code, firstLine: stderr.split('\n')[0] }).toEqual({ code: 2, firstLine: `bench: ${fault}` })
})

test.each([...groups.map(({ name }) => name), 'scale'])(
  'npm run bench -- %s --help says what it measures',
  async (name) => {
    const help = await run(scripts.bench ?? '', name, '--help')
    expect(help).toEqual({ code: 0, stdout: expect.stringContaining(`npm run bench -- ${name}`), stderr: '' })
  },
)

test.each(['tabs', 'service', 'scale'])('npm run bench -- %s --foo prints the help of its arguments', async (name) => {
  const wrong = await run(scripts.bench ?? '', name, '--foo')
  expect(wrong).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(`Usage: npm run bench -- ${name}`) })
})
